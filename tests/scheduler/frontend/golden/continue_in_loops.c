void f(int n, double *a)
{
    int i = 0;
    while (i < n) {
        if (a[i] > 0.0) {
            a[i] = 1.0;
            i++;
            continue;
        }
        do {
            a[i] = 2.0;
        } while (0);
        i++;
    }
}
/* after lower_control_flow
void f(int n, double *a) {
    int i = 0;
    while (i < n) {
        if (a[i] > 0.0) {
            a[i] = 1.0;
            i++;
        } else {
            a[i] = 2.0;
            i++;
        }
    }
}
*/
