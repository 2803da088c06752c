/* Smith-Waterman with linear gaps, directions kept for the way back */
#include <string.h>
#include "align.h"

enum { STOP, DIAG, UP, LEFT };

Alignment align_local(const Seq *a, const Seq *b, const Scoring *sc, int band)
{
    int n = a->len, m = b->len;
    int gap = sc->gap_extend + 7;
    int **H = table_new(n + 1, m + 1);
    char **dir = dir_new(n + 1, m + 1);
    int best = 0, best_i = 0, best_j = 0;
    int i, j;
    Alignment r;

    for (i = 0; i <= n; i++)
        for (j = 0; j <= m; j++) {
            H[i][j] = 0;
            dir[i][j] = STOP;
        }

    for (i = 1; i <= n; i++) {
        int from = 1, to = m;

        if (band > 0) {
            int middle = (int)((long)i * m / n);
            from = MAX2(1, middle - band);
            to = MIN2(m, middle + band);
        }
        for (j = from; j <= to; j++) {
            int diag = H[i - 1][j - 1] + sc->score[(int)a->code[i - 1]][(int)b->code[j - 1]];
            int up = H[i - 1][j] - gap;
            int left = H[i][j - 1] - gap;
            int h = MAX4(0, diag, up, left);

            H[i][j] = h;
            if (h == 0)
                dir[i][j] = STOP;
            else if (h == diag)
                dir[i][j] = DIAG;
            else if (h == up)
                dir[i][j] = UP;
            else
                dir[i][j] = LEFT;
            if (h > best) {
                best = h;
                best_i = i;
                best_j = j;
            }
        }
    }

    memset(&r, 0, sizeof r);
    r.score = best;
    i = r.end_a = best_i;
    j = r.end_b = best_j;
    while (dir[i][j] != STOP) {
        r.columns++;
        r.path_hash = (r.path_hash * 31 + dir[i][j]) & 0xffffff;
        switch (dir[i][j]) {
        case DIAG:
            i--;
            j--;
            if (a->code[i] == b->code[j])
                r.identical++;
            if (sc->score[(int)a->code[i]][(int)b->code[j]] > 0)
                r.positive++;
            break;
        case UP:
            i--;
            r.gaps++;
            break;
        case LEFT:
            j--;
            r.gaps++;
            break;
        }
    }
    r.beg_a = i;
    r.beg_b = j;

    table_free(H);
    dir_free(dir);
    return r;
}
