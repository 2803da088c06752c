/* ungapped extension along every diagonal, given up `xdrop` below the best */
#include "align.h"

int longest_common_diagonal(const Seq *a, const Seq *b, const Scoring *sc,
                            int xdrop, int *diagonal)
{
    int d, best = 0;

    *diagonal = 0;
    for (d = -(a->len - 1); d < b->len; d++) {
        int i = d < 0 ? -d : 0;
        int j = d < 0 ? 0 : d;

        while (i < a->len && j < b->len) {
            int run = 0, top = 0, k;

            for (k = 0; i + k < a->len && j + k < b->len; k++) {
                run += sc->score[(int)a->code[i + k]][(int)b->code[j + k]];
                if (run > top)
                    top = run;
                if (run < top - xdrop || run < 0)
                    break;
            }
            if (top > best) {
                best = top;
                *diagonal = d;
            }
            i += k + 1;
            j += k + 1;
        }
    }
    return best;
}
