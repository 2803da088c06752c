int f(int n, double *a)
{
    int i = 0;
    while (i < n) {
        a[i] = 0.0;
        i++;
    }
    return i;
}
/* after normalize_loops
int f(int n, double *a) {
    int i = 0;
    while (i < n) {
        a[i] = 0.0;
        i++;
    }
    return i;
}
*/
/* after substitute_inductions
int f(int n, double *a) {
    int i;
    {
        for (int i = 0; i < n; i++) {
            a[i] = 0.0;
        }
        i = (0 < n) ? n : 0;
    }
    return i;
}
*/
