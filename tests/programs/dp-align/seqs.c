/* a family of sequences that descend from one ancestor, and the scores */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "align.h"

static const char letters[ALPHABET + 1] = "ACDEFGHIKLMNPQRSTVWY";

/* rough classes of residues: small, acid, aromatic, basic, aliphatic, polar */
static const char group[ALPHABET + 1] = "SSAARSBLBLLPSPBPPLRR";

static unsigned rng;

static unsigned next_random(unsigned below)
{
    rng = rng * 1664525u + 1013904223u;
    return (rng >> 8) % below;
}

void make_scoring(Scoring *sc, int open, int extend)
{
    int i, j;

    sc->gap_open = open;
    sc->gap_extend = extend;
    for (i = 0; i < ALPHABET; i++)
        for (j = 0; j < ALPHABET; j++) {
            if (i == j)
                sc->score[i][j] = 4 + (i * 7) % 5;
            else if (group[i] == group[j])
                sc->score[i][j] = 1;
            else
                sc->score[i][j] = -1 - (i + j) % 4;
        }
}

static void seq_set(Seq *s, const char *code, int len, int number)
{
    int i;

    s->len = len;
    s->name = malloc(16);
    s->res = malloc(len + 1);
    s->code = malloc(len + 1);
    if (!s->name || !s->res || !s->code) {
        fprintf(stderr, "dp-align: out of memory\n");
        exit(1);
    }
    sprintf(s->name, "p%03d", number % 1000);
    for (i = 0; i < len; i++) {
        s->code[i] = code[i];
        s->res[i] = letters[(int)code[i]];
    }
    s->res[len] = '\0';
    s->code[len] = 0;
}

/* copies src with substitutions, deletions and insertions; returns length */
static int mutate(const char *src, int len, char *dst, int room, int percent)
{
    int i, n = 0;

    for (i = 0; i < len && n < room - 12; i++) {
        unsigned dice = next_random(1000);

        if (dice < 3u * percent / 4) {
            i += next_random(6);                 /* deletion */
        } else if (dice < 3u * percent / 2) {
            int k = 1 + next_random(8);          /* insertion */
            while (k-- > 0)
                dst[n++] = next_random(ALPHABET);
            dst[n++] = src[i];
        } else if (dice < 10u * percent) {
            dst[n++] = next_random(ALPHABET);    /* substitution */
        } else {
            dst[n++] = src[i];
        }
    }
    if (n == 0)
        dst[n++] = 0;
    return n;
}

Seq *make_family(int n, int length, unsigned seed)
{
    Seq *s = malloc(n * sizeof(Seq));
    int room = 2 * length + 32, i, k;
    char *work = malloc(room);

    if (!s || !work) {
        fprintf(stderr, "dp-align: out of memory\n");
        exit(1);
    }
    rng = seed;
    for (k = 0; k < length; k++)
        work[k] = next_random(ALPHABET);
    seq_set(&s[0], work, length, 0);
    for (i = 1; i < n; i++) {
        if (i % 7 == 6) {
            /* a stranger */
            int len = length / 2 + next_random(length);
            for (k = 0; k < len; k++)
                work[k] = next_random(ALPHABET);
            seq_set(&s[i], work, len, i);
        } else {
            const Seq *parent = &s[(i - 1) / 2];
            int len = mutate(parent->code, parent->len, work, room, 4 + next_random(14));
            seq_set(&s[i], work, len, i);
        }
    }
    free(work);
    return s;
}

void free_family(Seq *s, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        free(s[i].name);
        free(s[i].res);
        free(s[i].code);
    }
    free(s);
}
