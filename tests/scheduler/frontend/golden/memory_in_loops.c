/* memset and memcpy of numbers are loops. */
#include <string.h>

double a[20][30], b[20][30];

void f(int n, int m, double *p)
{
    for (int i = 0; i < n; i++) {
        memset(p, 0, sizeof(double) * m);
        memcpy(a[i], b[i], sizeof a[i]);
    }
    memset(a, 0, sizeof a);
}

/* after memory_calls
void f(int n, int m, double *p) {
    for (int i = 0; i < n; i++) {
        for (long e = 0; e < m; e++) {
            p[e] = (double)0;
        }
        for (long e = 0; e < 30; e++) {
            a[i][e] = b[i][e];
        }
    }
    for (long e = 0; e < 20; e++) {
        for (long ee = 0; ee < 30; ee++) {
            a[e][ee] = (double)0;
        }
    }
}
*/
