/* The frame around a compiled kernel whose basic blocks count themselves (see blocks.py): the assembly follows.
 *
 * Set by the includer: PE_SITES, PE_THREADS, PE_REPORT (file name). pe_ran[0] is where a counter keeps the register
 * it uses; pe_ran[1 + k] is the k-th counter of a thread. Only the first call counts, and later ones do nothing. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#ifdef _OPENMP
int omp_get_thread_num(void); /* clang may be there without its omp.h */
#endif

_Thread_local uint64_t pe_ran[1 + PE_SITES];
static uint64_t pe_of_thread[PE_THREADS][1 + PE_SITES];

void pe_counted_kernel(void *const *args);
void pe_kernel(void *const *args);

static void pe_gather(void)
{
    int number = 0;
#ifdef _OPENMP
    number = omp_get_thread_num();
#endif
    if (number < PE_THREADS) memcpy(pe_of_thread[number], pe_ran, sizeof pe_ran);
}

void pe_kernel(void *const *args)
{
    static int pe_called;
    if (pe_called++) return;
    pe_counted_kernel(args);
#pragma omp parallel num_threads(PE_THREADS)
    pe_gather();
    FILE *f = fopen(PE_REPORT, "we");
    if (!f) return;
    for (int k = 0; k < PE_THREADS; k++) {
        fputs(k ? ",[" : "[[", f);
        for (int c = 0; c < PE_SITES; c++) fprintf(f, "%s%llu", c ? "," : "", (unsigned long long)pe_of_thread[k][1 + c]);
        fputs("]", f);
    }
    fputs("]\n", f);
    fclose(f);
}
