/* Measures what cost models ask of a machine: bandwidth and latency by level, peak FLOP/s, the cost of threads.
 *
 *   calibration [streams] THREADS SECONDS LINE_BYTES (NAME BYTES)...
 *
 * With `streams` only what schedules of streams ask for: the bandwidth of copies, and the cost of a parallel region.
 * Every thread works on a private set of BYTES for each level NAME; each figure is repeated for about SECONDS. Prints
 * one JSON object: for each figure what one repetition did (`amount`: bytes, floating-point operations, or steps) and
 * how many seconds each repetition took. Judging them is the caller's business. Errors: one line on stderr, code 1.
 *
 * Vectors are explicit GNU vectors of PE_VECTOR_BYTES and the file is compiled without the compiler's own
 * vectorization, so that "scalar" is scalar. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int omp_get_thread_num(void); /* clang may be there without its omp.h */

#ifndef PE_VECTOR_BYTES
#define PE_VECTOR_BYTES 16
#endif

typedef double vector_double __attribute__((vector_size(PE_VECTOR_BYTES), may_alias));
typedef float vector_float __attribute__((vector_size(PE_VECTOR_BYTES), may_alias));
typedef int64_t vector_bits __attribute__((vector_size(PE_VECTOR_BYTES), may_alias));

#define CHUNK (8 * PE_VECTOR_BYTES)
#define STAGGER 1088 /* bytes between two arrays: equal page offsets would let stores block loads */
#define STEPS 16     /* pointers followed in one pass of `chase` */
#define CHAINS 12    /* two units, each with a latency of up to six cycles */

/* Without it loops of stores and copies become calls of memset and memcpy, which may bypass the caches. */
#define FENCE() __asm__ volatile("" ::: "memory")
/* The value has to be computed. Only for copies: a variable whose address is taken would be spilled at each FENCE. */
#define KEEP(value) __asm__ volatile("" : : "m"(value) : "memory")
#define EIGHT(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define TWELVE(X) EIGHT(X) X(8) X(9) X(10) X(11)

/* What one thread works on; padded to stay out of the others' cache lines. */
struct slice {
    char *base, *array[3];
    size_t bytes; /* of each array */
    void **cursor;
    char pad[256];
};

typedef void kernel(struct slice *slice, long passes);

static int threads;
static double seconds_per_figure;
static int only_streams;
static struct slice *slices;
static int printed;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* ---- what is measured ---- */

static __attribute__((noinline)) void load(struct slice *slice, long passes) {
    const char *const a = slice->array[0], *const end = a + slice->bytes;
#define X(k) vector_bits x##k = {0};
    EIGHT(X)
#undef X
    for (long pass = 0; pass < passes; pass++) {
        for (const char *p = a; p < end; p += CHUNK) {
#define X(k) x##k |= ((const vector_bits *)p)[k];
            EIGHT(X)
#undef X
            FENCE();
        }
    }
    vector_bits all = x0 | x1 | x2 | x3 | x4 | x5 | x6 | x7;
    KEEP(all);
}

static __attribute__((noinline)) void store(struct slice *slice, long passes) {
    char *const a = slice->array[0];
    const size_t bytes = slice->bytes;
    const vector_double value = (vector_double){0} + 1.0;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < bytes; i += CHUNK) {
#define X(k) ((vector_double *)(a + i))[k] = value;
            EIGHT(X)
#undef X
            FENCE();
        }
    }
}

static __attribute__((noinline)) void copy(struct slice *slice, long passes) {
    char *const a = slice->array[0];
    const char *const b = slice->array[1];
    const size_t bytes = slice->bytes;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < bytes; i += CHUNK) {
#define X(k) ((vector_double *)(a + i))[k] = ((const vector_double *)(b + i))[k];
            EIGHT(X)
#undef X
            FENCE();
        }
    }
}

static __attribute__((noinline)) void triad(struct slice *slice, long passes) {
    char *const a = slice->array[0];
    const char *const b = slice->array[1], *const c = slice->array[2];
    const size_t bytes = slice->bytes;
    const vector_double scale = (vector_double){0} + 3.0;
    for (long pass = 0; pass < passes; pass++) {
        for (size_t i = 0; i < bytes; i += CHUNK) {
#define B(k) ((const vector_double *)(b + i))[k]
#define C(k) ((const vector_double *)(c + i))[k]
#define X(k) ((vector_double *)(a + i))[k] = B(k) + scale * C(k);
            EIGHT(X)
#undef X
            FENCE();
        }
    }
}

static __attribute__((noinline)) void chase(struct slice *slice, long passes) {
    void **p = slice->cursor;
    for (long pass = 0; pass < passes; pass++) {
#define X(k) p = *p;
        EIGHT(X) EIGHT(X)
#undef X
    }
    slice->cursor = p;
}

/* Read at run time: nothing can be computed beforehand. x = x * 0.999 + 0.001 stays near 1, without denormals. */
static volatile double factor = 0.999, summand = 0.001;

/* CHAINS independent chains of x * f + s with different starts; one pass is one step of each. */
#define X_START(k) x##k = f + (k);
#define X_STEP(k) x##k = x##k * f + s;
#define X_SUM(k) sum += x##k;
#define FLOPS(name, type, element)                                                     \
    static __attribute__((noinline)) void name(struct slice *slice, long passes) {     \
        (void)slice;                                                                   \
        const type f = (type){0} + (element)factor, s = (type){0} + (element)summand;  \
        type x0, x1, x2, x3, x4, x5, x6, x7, x8, x9, x10, x11, sum = {0};              \
        TWELVE(X_START)                                                                \
        for (long pass = 0; pass < passes; pass++) { TWELVE(X_STEP) }                  \
        TWELVE(X_SUM)                                                                  \
        type kept = sum;                                                               \
        KEEP(kept);                                                                    \
    }
FLOPS(flops_float_scalar, float, float)
FLOPS(flops_double_scalar, double, double)
FLOPS(flops_float_vector, vector_float, float)
FLOPS(flops_double_vector, vector_double, double)

static void barrier(struct slice *slice, long passes) {
    (void)slice;
    for (long pass = 0; pass < passes; pass++) {
#pragma omp barrier
    }
}

static void fork_join(struct slice *slice, long passes) {
    (void)slice;
    for (long pass = 0; pass < passes; pass++) {
#pragma omp parallel num_threads(threads)
        FENCE();
    }
}

/* ---- how ---- */

/* Seconds from before the first thread starts until the last is done. */
static double run(kernel *what, long passes) {
    const double began = now();
    if (what == fork_join) {
        what(NULL, passes);
    } else {
#pragma omp parallel num_threads(threads)
        what(&slices[omp_get_thread_num()], passes);
    }
    return now() - began;
}

/* One interruption must not make a call look long enough. It also warms up. */
static double best_of_three(kernel *what, long passes) {
    double best = run(what, passes);
    for (int n = 0; n < 2; n++) {
        const double again = run(what, passes);
        if (again < best) best = again;
    }
    return best;
}

/* About `repetitions` of them in the time a figure gets, at least 5. `per_pass`: the amount of one pass. */
static void measure(const char *quantity, const char *subject, const char *kind, size_t bytes, double per_pass,
                    kernel *what, int repetitions) {
    long passes = 1;
    while (best_of_three(what, passes) < seconds_per_figure / repetitions && passes < 1L << 40) passes *= 2;
    printf("%s{\"quantity\":\"%s\",\"subject\":\"%s\",\"kind\":\"%s\",\"bytes\":%zu,\"amount\":%.17g,\"seconds\":[",
           printed++ ? ",\n" : "", quantity, subject, kind, bytes, per_pass * (double)passes);
    const double end = now() + seconds_per_figure;
    for (int n = 0; n < repetitions && (n < 5 || now() < end); n++) printf("%s%.9g", n ? "," : "", run(what, passes));
    printf("]}");
}

static void measure_bandwidth(const char *level, const char *kind, size_t bytes, int arrays, kernel *what) {
    size_t each = bytes / (size_t)arrays / CHUNK * CHUNK;
    if (each == 0) each = CHUNK;
    for (int t = 0; t < threads; t++) {
        slices[t].bytes = each;
        for (int k = 0; k < 3; k++) slices[t].array[k] = slices[t].base + (size_t)k * (each + STAGGER);
    }
    measure("bandwidth", level, kind, bytes, (double)threads * arrays * (double)each, what, 20);
}

/* One random cycle through all lines (Sattolo's algorithm): no prefetcher knows the next one. */
static void link_lines(struct slice *slice, size_t lines, size_t line_bytes, uint64_t seed) {
#define LINE(i) (*(void **)(slice->base + (i) * line_bytes))
    for (size_t i = 0; i < lines; i++) LINE(i) = &LINE(i);
    for (size_t i = lines - 1; i > 0; i--) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        const size_t j = seed % i;
        void *const swapped = LINE(i);
        LINE(i) = LINE(j);
        LINE(j) = swapped;
    }
    slice->cursor = &LINE(0);
}

static void measure_level(const char *level, size_t bytes, size_t line_bytes) {
    const size_t lines = bytes / line_bytes, room = bytes + 3 * (STAGGER + CHUNK);
    int failed = 0;
#pragma omp parallel num_threads(threads) reduction(| : failed)
    { /* memory belongs near the thread that touches it first */
        struct slice *mine = &slices[omp_get_thread_num()];
        void *base = NULL;
        failed = posix_memalign(&base, 4096, room) != 0;
        mine->base = base;
        for (size_t i = 0; !failed && i < room / sizeof(double); i++) ((double *)base)[i] = 1.0;
    }
    if (failed) die("not enough memory for the working sets");
    if (!only_streams) {
        measure_bandwidth(level, "load", bytes, 1, load);
        measure_bandwidth(level, "store", bytes, 1, store);
    }
    measure_bandwidth(level, "copy", bytes, 2, copy);
    if (!only_streams) {
        measure_bandwidth(level, "triad", bytes, 3, triad);
#pragma omp parallel num_threads(threads)
        {
            const int t = omp_get_thread_num();
            link_lines(&slices[t], lines, line_bytes, 0x9E3779B97F4A7C15u + (uint64_t)t);
        }
        run(chase, (long)(lines / STEPS) + 1); /* once around: every line lies where it will lie */
        measure("latency", level, "", bytes, STEPS, chase, 20);
    }
    for (int t = 0; t < threads; t++) free(slices[t].base);
}

static long number(const char *text, long most) {
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (errno || *end || end == text || value < 1 || value > most) die("a number is out of range");
    return value;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "streams") == 0) only_streams = 1, argc--, argv++;
    if (argc < 6 || argc % 2) die("usage: calibration [streams] THREADS SECONDS LINE_BYTES (NAME BYTES)...");
    threads = (int)number(argv[1], 1 << 16);
    seconds_per_figure = atof(argv[2]);
    const size_t line_bytes = (size_t)number(argv[3], 1 << 16);
    slices = calloc((size_t)threads, sizeof *slices);
    if (slices == NULL) die("not enough memory");
    int got = 0;
#pragma omp parallel num_threads(threads) reduction(+ : got)
    got = 1;
    if (got != threads) die("the OpenMP runtime did not start all threads");

    for (const double end = now() + 2 * seconds_per_figure; now() < end;) run(flops_double_vector, 1 << 18);
    const double step = 2.0 * CHAINS * threads; /* a multiplication and an addition */
    printf("{\"threads\":%d,\"figures\":[\n", threads);
    if (!only_streams) {
        measure("flops", "float", "scalar", 0, step, flops_float_scalar, 20);
        measure("flops", "double", "scalar", 0, step, flops_double_scalar, 20);
        measure("flops", "float", "vector", 0, step * PE_VECTOR_BYTES / sizeof(float), flops_float_vector, 20);
        measure("flops", "double", "vector", 0, step * PE_VECTOR_BYTES / sizeof(double), flops_double_vector, 20);
    }
    /* Short repetitions, many of them: one interruption must not reach the median. */
    measure("fork_join", "", "", 0, 1, fork_join, 1000);
    if (!only_streams) measure("barrier", "", "", 0, 1, barrier, 1000);
    for (int i = 4; i < argc; i += 2) {
        const size_t bytes = (size_t)number(argv[i + 1], 1L << 46);
        if (bytes < 2 * line_bytes) die("a level is smaller than two lines");
        measure_level(argv[i], bytes, line_bytes);
    }
    printf("\n]}\n");
    return 0;
}
