/* Times every nest of the program and writes what it saw when the program exits.
 *
 * By the clock that still_clock.c leaves alone. perfembed_tables.h defines PE_RESULT (a path), PE_NESTS, PE_RECORDS and pe_values[] (integers a call). */
#define _GNU_SOURCE
#include "perfembed_tables.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { HEAD = 2 }; /* a record: nanoseconds, call number, the values */

static struct nest {
    unsigned long long calls, stride, foreign;
    long long nanoseconds, inside, slowest, *records, *pending; /* inside: of others; slowest: of another thread */
    struct timespec started;
    int depth, count;
} nests[PE_NESTS + 1];

static int active; /* nests of the main thread */
static __thread struct {
    struct timespec started;
    long long nanoseconds;
    int depth;
} own[PE_NESTS + 1]; /* of another thread */
static __thread int is_main_thread;
static pid_t process;
static long long clock_cost;

static long long between(const struct timespec *from, const struct timespec *to)
{
    return 1000000000LL * (to->tv_sec - from->tv_sec) + (to->tv_nsec - from->tv_nsec);
}

void perfembed_begin(int k, const long long *values)
{
    struct nest *n = &nests[k];
    if (!is_main_thread) {
        __atomic_fetch_add(&n->foreign, 1, __ATOMIC_RELAXED);
        if (!own[k].depth++) clock_gettime(CLOCK_MONOTONIC_RAW, &own[k].started);
        return;
    }
    if (n->depth++) return;
    active++;
    if (pe_values[k] && n->pending) memcpy(n->pending, values, sizeof(long long) * (size_t)pe_values[k]);
    clock_gettime(CLOCK_MONOTONIC_RAW, &n->started);
}

/* Keeps every call until the table is full, then every second, every fourth, ... */
static void record(struct nest *n, int k, long long took)
{
    size_t width = HEAD + (size_t)pe_values[k];
    if (!n->records || (n->calls - 1) % n->stride) return;
    if (n->count == PE_RECORDS) {
        for (int i = 0; i < PE_RECORDS / 2; i++)
            memmove(n->records + (size_t)i * width, n->records + 2 * (size_t)i * width, width * sizeof(long long));
        n->count = PE_RECORDS / 2;
        n->stride *= 2;
        if ((n->calls - 1) % n->stride) return;
    }
    long long *slot = n->records + (size_t)n->count++ * width;
    slot[0] = took;
    slot[1] = (long long)n->calls;
    memcpy(slot + HEAD, n->pending, sizeof(long long) * (size_t)pe_values[k]);
}

void perfembed_end(int k)
{
    struct timespec now;
    struct nest *n = &nests[k];
    clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    if (!is_main_thread) {
        if (--own[k].depth) return;
        own[k].nanoseconds += between(&own[k].started, &now);
        long long most = __atomic_load_n(&n->slowest, __ATOMIC_RELAXED);
        while (most < own[k].nanoseconds
               && !__atomic_compare_exchange_n(&n->slowest, &most, own[k].nanoseconds, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
        return;
    }
    if (--n->depth) return;
    long long took = between(&n->started, &now) - clock_cost;
    if (took < 0) took = 0;
    n->calls++;
    n->nanoseconds += took;
    if (--active) n->inside += took;
    record(n, k, took);
}

void perfembed_leave(const int *nest) { perfembed_end(*nest); }

static void report(void)
{
    if (getpid() != process) return; /* a forked child */
    FILE *f = fopen(PE_RESULT, "w");
    if (!f) return;
    for (int k = 0; k < PE_NESTS; k++) {
        struct nest *n = &nests[k];
        size_t width = HEAD + (size_t)pe_values[k];
        fprintf(f, "nest %d %llu %lld %llu %lld %lld\n", k, n->calls, n->nanoseconds, n->foreign, n->inside, n->slowest);
        for (int i = 0; i < n->count; i++) {
            fprintf(f, "call %d", k);
            for (size_t w = 0; w < width; w++) fprintf(f, " %lld", n->records[(size_t)i * width + w]);
            fputc('\n', f);
        }
    }
    fputs("end\n", f);
    fclose(f);
}

__attribute__((constructor)) static void start(void)
{
    is_main_thread = 1;
    process = getpid();
    for (int k = 0; k < PE_NESTS; k++) {
        nests[k].stride = 1;
        nests[k].records = malloc(sizeof(long long) * PE_RECORDS * (HEAD + (size_t)pe_values[k]));
        nests[k].pending = calloc(1 + (size_t)pe_values[k], sizeof(long long));
        if (!nests[k].pending) nests[k].records = NULL;
    }
    clock_cost = 1000000;
    for (int i = 0; i < 100; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC_RAW, &a);
        clock_gettime(CLOCK_MONOTONIC_RAW, &b);
        if (between(&a, &b) < clock_cost) clock_cost = between(&a, &b);
    }
    atexit(report);
}
