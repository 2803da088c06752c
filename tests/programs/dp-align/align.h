#ifndef ALIGN_H
#define ALIGN_H

#define MAX2(a, b)       ((a) > (b) ? (a) : (b))
#define MIN2(a, b)       ((a) < (b) ? (a) : (b))
#define MAX3(a, b, c)    MAX2(MAX2(a, b), c)
#define MAX4(a, b, c, d) MAX2(MAX2(a, b), MAX2(c, d))

#define NEG_INF (-1000000000)

#define ALPHABET 20

typedef struct {
    int len;
    char *name;
    char *res;        /* letters, with a closing zero */
    char *code;       /* the same as 0 .. ALPHABET-1 */
} Seq;

typedef struct {
    int gap_open;     /* positive costs */
    int gap_extend;
    int score[ALPHABET][ALPHABET];
} Scoring;

typedef struct {
    int score;
    int beg_a, end_a; /* aligned part, half open */
    int beg_b, end_b;
    int columns;
    int identical;
    int positive;
    int gaps;
    unsigned long path_hash;
} Alignment;

/* seqs.c */
Seq *make_family(int n, int length, unsigned seed);
void free_family(Seq *s, int n);
void make_scoring(Scoring *sc, int open, int extend);

/* table.c */
int **table_new(int rows, int cols);
void table_free(int **t);
char **dir_new(int rows, int cols);
void dir_free(char **t);

/* global.c: all of a against all of b */
Alignment align_global(const Seq *a, const Seq *b, const Scoring *sc);

/* local.c: the best pair of parts; no more than `band` off the diagonal
   when band > 0 */
Alignment align_local(const Seq *a, const Seq *b, const Scoring *sc, int band);

/* filter.c */
int longest_common_diagonal(const Seq *a, const Seq *b, const Scoring *sc,
                            int xdrop, int *diagonal);

/* tree.c */
double build_tree(double **dist, int n, Seq *s, char *out, int room);

#endif
