void f(int n, double *a, const double *b)
{
    int k = 0;
    for (int i = 0; i < n; i++)
        if (b[i] > 0.0)
            a[k++] = b[i];
}
/* after hoist_side_effects
void f(int n, double *a, const double *b) {
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (b[i] > 0.0) {
            a[k] = b[i];
            k++;
        }
    }
}
*/
