/* Needleman-Wunsch with affine gaps: three tables and the way back */
#include <string.h>
#include "align.h"

enum { IN_M, IN_X, IN_Y };

Alignment align_global(const Seq *a, const Seq *b, const Scoring *sc)
{
    int n = a->len, m = b->len;
    int **M = table_new(n + 1, m + 1);   /* ends in a pair */
    int **X = table_new(n + 1, m + 1);   /* ends with a gap in b */
    int **Y = table_new(n + 1, m + 1);   /* ends with a gap in a */
    int open = sc->gap_open, ext = sc->gap_extend;
    int i, j, where;
    Alignment r;

    M[0][0] = 0;
    X[0][0] = Y[0][0] = NEG_INF;
    for (i = 1; i <= n; i++) {
        M[i][0] = Y[i][0] = NEG_INF;
        X[i][0] = -open - (i - 1) * ext;
    }
    for (j = 1; j <= m; j++) {
        M[0][j] = X[0][j] = NEG_INF;
        Y[0][j] = -open - (j - 1) * ext;
    }

    for (i = 1; i <= n; i++) {
        const int *row = sc->score[(int)a->code[i - 1]];
        for (j = 1; j <= m; j++) {
            M[i][j] = row[(int)b->code[j - 1]]
                    + MAX3(M[i - 1][j - 1], X[i - 1][j - 1], Y[i - 1][j - 1]);
            X[i][j] = MAX2(M[i - 1][j] - open, X[i - 1][j] - ext);
            Y[i][j] = MAX3(M[i][j - 1] - open, X[i][j - 1] - open, Y[i][j - 1] - ext);
        }
    }

    memset(&r, 0, sizeof r);
    r.end_a = n;
    r.end_b = m;
    r.score = MAX3(M[n][m], X[n][m], Y[n][m]);
    where = r.score == M[n][m] ? IN_M : r.score == X[n][m] ? IN_X : IN_Y;

    i = n;
    j = m;
    while (i > 0 || j > 0) {
        r.path_hash = (r.path_hash * 31 + where + 1) & 0xffffff;
        r.columns++;
        if (where == IN_M) {
            int best, s = sc->score[(int)a->code[i - 1]][(int)b->code[j - 1]];

            r.identical += a->res[i - 1] == b->res[j - 1];
            r.positive += s > 0;
            i--;
            j--;
            best = MAX3(M[i][j], X[i][j], Y[i][j]);
            where = best == M[i][j] ? IN_M : best == X[i][j] ? IN_X : IN_Y;
        } else if (where == IN_X) {
            r.gaps++;
            if (i == 1 && j == 0)
                where = IN_M;
            else if (X[i][j] == M[i - 1][j] - open)
                where = IN_M;
            i--;
        } else {
            r.gaps++;
            if (i == 0 && j == 1)
                where = IN_M;
            else if (Y[i][j] == M[i][j - 1] - open)
                where = IN_M;
            else if (Y[i][j] == X[i][j - 1] - open)
                where = IN_X;
            j--;
        }
    }

    table_free(M);
    table_free(X);
    table_free(Y);
    return r;
}
