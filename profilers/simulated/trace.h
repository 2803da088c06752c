/* The simulation behind a traced kernel: every access goes through a cache hierarchy, thread by thread.
 *
 * The text of the kernel follows; the macros below stand in it (see scheduler.codegen.emit_c, `traced`). Set by the
 * includer: PE_LINE (bytes), PE_L1_SETS, PE_L1_WAYS, PE_L2_SETS, PE_L2_WAYS, PE_L3_SETS, PE_L3_WAYS (of the share
 * of one thread), PE_THREADS, PE_BUDGET (accesses), PE_REPORT (file name); PE_COLD: caches are empty at each call.
 *
 * Caches are set-associative, LRU, write-back and write-allocate; L1 and L2 are a thread's own, of the L3 it has
 * its share. There is no prefetching: lines are counted, not latencies. Branches meet a gshare predictor.
 *
 * Of long nests whole iterations of the sampled loops are left out (systematic sampling): windows of iterations,
 * half as many once PE_BUDGET accesses are used up and after each further PE_MORE; a window stands
 * for its whole cycle. */
#include <stdint.h>

/* No other header: a program may have an array y1 or index, names that <math.h> and <string.h> declare. */
extern void *pe_open(const char *, const char *) __asm__("fopen");
extern int pe_print(void *, const char *, ...) __asm__("fprintf");
extern int pe_close(void *) __asm__("fclose");
#ifdef _OPENMP
extern int pe_thread_number(void) __asm__("omp_get_thread_num");
#endif

enum {
    PE_N_READS, PE_N_WRITES, PE_N_FLOPS32, PE_N_FLOPS64, PE_N_BRANCHES, PE_N_MISSES, PE_N_L1_IN, PE_N_L1_OUT,
    PE_N_L2_IN, PE_N_L2_OUT, PE_N_MEMORY_IN, PE_N_MEMORY_OUT, PE_COUNTERS
};

#define PE_HISTORY 12
#define PE_WINDOW 65536 /* accesses that a window has at least once iterations are left out */
#define PE_MORE (PE_BUDGET / 4 > 8 * PE_WINDOW ? PE_BUDGET / 4 : 8 * PE_WINDOW)

struct pe_level {
    uint64_t *tags; /* (line + 1) * 2 + modified, the most recently used first in its set */
    uint64_t sets;
    int ways;
};

struct pe_tracer {
    struct pe_level level[3];
    uint64_t count[PE_COUNTERS]; /* of the window */
    double total[PE_COUNTERS];
    uint64_t iterations, cycle_start, counted_from, period, length;
    uint64_t used, limit; /* accesses since the period last grew, and how many until it does again */
    uint64_t windows; /* that stand for more than themselves */
    double weight2;   /* of those: sum of w*w, where w iterations are stood for */
    double rate2[PE_COUNTERS], square2[PE_COUNTERS], rate1[PE_COUNTERS], weight1; /* w*w*r, w*w*r*r, w*r, w */
    int open;                      /* inside a window, past its warm-up */
    uint32_t history;
    uint8_t predictor[1 << PE_HISTORY];
    int ready;
};

static struct pe_tracer pe_tracers[PE_THREADS];
static _Thread_local struct pe_tracer *pe_self;

static void pe_make_level(struct pe_level *level, uint64_t sets, int ways)
{
    level->sets = sets;
    level->ways = ways;
    level->tags = __builtin_calloc(sets * (uint64_t)ways, sizeof *level->tags);
    if (!level->tags) __builtin_abort();
}

static void pe_attach(void)
{
    int number = 0;
#ifdef _OPENMP
    number = pe_thread_number();
#endif
    if (number >= PE_THREADS) __builtin_abort();
    pe_self = &pe_tracers[number];
    if (!pe_self->ready) {
        pe_make_level(&pe_self->level[0], PE_L1_SETS, PE_L1_WAYS);
        pe_make_level(&pe_self->level[1], PE_L2_SETS, PE_L2_WAYS);
        pe_make_level(&pe_self->level[2], PE_L3_SETS, PE_L3_WAYS);
        pe_self->ready = 1;
    }
}

/* Looks a line up and makes it the most recently used one. Returns what fell out (0: nothing), or 1 on a hit. */
static inline uint64_t pe_lookup(struct pe_level *level, uint64_t line, uint64_t modified)
{
    uint64_t *set = level->tags + line % level->sets * (uint64_t)level->ways, key = (line + 1) << 1;
    int way = 0;
    while (way < level->ways && (set[way] & ~(uint64_t)1) != key) way++;
    int hit = way < level->ways;
    uint64_t old = hit ? set[way] : set[level->ways - 1];
    if (!hit) way = level->ways - 1;
    for (; way > 0; way--) set[way] = set[way - 1];
    set[0] = key | modified | (hit ? old & 1 : 0);
    return hit ? 1 : old & ~(uint64_t)1 ? old : 0;
}

static void pe_level_write(struct pe_tracer *t, int number, uint64_t line);

/* A line that fell out of a level: counted and handed down where it was modified. */
static void pe_fell_out(struct pe_tracer *t, int number, uint64_t old)
{
    if (old > 1 && (old & 1)) {
        t->count[PE_N_L1_OUT + 2 * number]++;
        if (number < 2) pe_level_write(t, number + 1, (old >> 1) - 1);
    }
}

static void pe_level_write(struct pe_tracer *t, int number, uint64_t line)
{
    pe_fell_out(t, number, pe_lookup(&t->level[number], line, 1));
}

static __attribute__((noinline)) void pe_slow(struct pe_tracer *t, uint64_t line, uint64_t modified)
{
    for (int number = 0; number < 3; number++) {
        uint64_t old = pe_lookup(&t->level[number], line, number == 0 ? modified : 0);
        if (old == 1) return;
        t->count[PE_N_L1_IN + 2 * number]++;
        pe_fell_out(t, number, old);
    }
}

static inline void pe_touch(const volatile void *address, uint64_t modified)
{
    struct pe_tracer *t = pe_self;
    uint64_t line = (uintptr_t)address / PE_LINE;
    uint64_t *set = t->level[0].tags + line % PE_L1_SETS * PE_L1_WAYS;
    if ((*set & ~(uint64_t)1) == (line + 1) << 1)
        *set |= modified;
    else
        pe_slow(t, line, modified);
}

static inline void *pe_read(const volatile void *address)
{
    pe_self->count[PE_N_READS]++;
    pe_touch(address, 0);
    return (void *)(uintptr_t)address;
}

static inline void *pe_write(const volatile void *address)
{
    pe_self->count[PE_N_WRITES]++;
    pe_touch(address, 1);
    return (void *)(uintptr_t)address;
}

static inline void *pe_update(const volatile void *address, int bits)
{
    struct pe_tracer *t = pe_self;
    t->count[PE_N_READS]++;
    t->count[PE_N_WRITES]++;
    if (bits) t->count[bits == 32 ? PE_N_FLOPS32 : PE_N_FLOPS64]++;
    pe_touch(address, 1);
    return (void *)(uintptr_t)address;
}

static inline int pe_branch(uint32_t site, int taken)
{
    struct pe_tracer *t = pe_self;
    uint8_t *state = &t->predictor[(t->history ^ site * 2654435761u >> 20) & ((1u << PE_HISTORY) - 1)];
    t->count[PE_N_BRANCHES]++;
    t->count[PE_N_MISSES] += (*state >= 2) != taken;
    *state = (uint8_t)(taken ? *state + (*state < 3) : *state - (*state > 0));
    t->history = t->history << 1 | (uint32_t)taken;
    return taken;
}

static uint64_t pe_accesses(const struct pe_tracer *t) { return t->count[PE_N_READS] + t->count[PE_N_WRITES]; }

/* The window's counts, for all iterations of its cycle. */
static void pe_close_cycle(struct pe_tracer *t)
{
    uint64_t seen = t->iterations < t->cycle_start + t->length ? t->iterations : t->cycle_start + t->length;
    double counted = (double)(seen - t->counted_from), stands_for = (double)(t->iterations - t->cycle_start);
    if (counted > 0) {
        for (int k = 0; k < PE_COUNTERS; k++) t->total[k] += (double)t->count[k] * stands_for / counted;
        if (t->period > 1) {
            double w = stands_for;
            t->windows++;
            t->weight1 += w;
            t->weight2 += w * w;
            for (int k = 0; k < PE_COUNTERS; k++) {
                double rate = (double)t->count[k] / counted;
                t->rate1[k] += w * rate;
                t->rate2[k] += w * w * rate;
                t->square2[k] += w * w * rate * rate;
            }
        }
    }
    t->used += pe_accesses(t);
    __builtin_memset(t->count, 0, sizeof t->count);
}

/* Begins an iteration of a sampled loop; true where it is left out. */
static inline int pe_skip(void)
{
    if (!pe_self) pe_attach();
    struct pe_tracer *t = pe_self;
    uint64_t at = t->iterations - t->cycle_start;
    if (at == t->length * t->period) {
        uint64_t before = pe_accesses(t);
        pe_close_cycle(t);
        if (t->used > t->limit) {
            uint64_t each = before / t->length + 1;
            t->period *= 2;
            if (t->length * each < PE_WINDOW) t->length = (PE_WINDOW + each - 1) / each;
            t->used = 0;
            t->limit = PE_MORE;
        }
        t->cycle_start = t->counted_from = t->iterations;
        at = 0;
    }
    t->iterations++;
    if (at >= t->length) return 1;
    if (t->period > 1 && at == t->length / 4) { /* what came before warmed the caches up */
        t->used += pe_accesses(t);
        __builtin_memset(t->count, 0, sizeof t->count);
        t->counted_from = t->iterations - 1;
    }
    t->count[PE_N_BRANCHES]++;
    return 0;
}

/* Begins an iteration of a parallel loop that is not sampled itself. */
static inline void pe_enter(void)
{
    if (!pe_self) pe_attach();
    pe_self->count[PE_N_BRANCHES]++;
}

static void pe_begin(void)
{
    pe_attach();
    for (int k = 0; k < PE_THREADS; k++) {
        struct pe_tracer *t = &pe_tracers[k];
        __builtin_memset(t->count, 0, sizeof t->count);
        __builtin_memset(t->total, 0, sizeof t->total);
        t->iterations = t->cycle_start = t->counted_from = t->used = t->windows = 0;
        t->weight1 = t->weight2 = 0;
        __builtin_memset(t->rate1, 0, sizeof t->rate1);
        __builtin_memset(t->rate2, 0, sizeof t->rate2);
        __builtin_memset(t->square2, 0, sizeof t->square2);
        t->period = t->length = 1;
        t->limit = PE_BUDGET;
#ifdef PE_COLD
        for (int l = 0; t->ready && l < 3; l++)
            __builtin_memset(t->level[l].tags, 0, t->level[l].sets * (uint64_t)t->level[l].ways * sizeof *t->level[l].tags);
#endif
    }
}

/* Standard error of a total: the spread of the windows' rates, each weighted with what it stands for. */
static double pe_error(const struct pe_tracer *t, int c)
{
    if (t->windows < 2) return t->windows ? t->total[c] : 0; /* of a single window nothing is known */
    double n = (double)t->windows, mean = t->rate1[c] / t->weight1;
    double spread = t->square2[c] - 2 * mean * t->rate2[c] + mean * mean * t->weight2;
    return spread > 0 ? __builtin_sqrt(spread * n / (n - 1)) : 0;
}

static void pe_end(void)
{
    void *f = pe_open(PE_REPORT, "we");
    if (!f) return;
    pe_print(f, "[");
    for (int k = 0; k < PE_THREADS; k++) {
        struct pe_tracer *t = &pe_tracers[k];
        if (t->iterations > t->cycle_start) pe_close_cycle(t);
        for (int c = 0; c < PE_COUNTERS; c++) t->total[c] += (double)t->count[c]; /* outside the sampled loops */
        pe_print(f, "%s{\"period\":%llu,\"counts\":[", k ? "," : "", (unsigned long long)t->period);
        for (int c = 0; c < PE_COUNTERS; c++) pe_print(f, "%s%.17g", c ? "," : "", t->total[c]);
        pe_print(f, "],\"errors\":[");
        for (int c = 0; c < PE_COUNTERS; c++) pe_print(f, "%s%.6g", c ? "," : "", pe_error(t, c));
        pe_print(f, "]}");
    }
    pe_print(f, "]\n");
    pe_close(f);
}

#define PE_READ(x) (*(__typeof__(x) *)pe_read(&(x)))
#define PE_WRITE(x) (*(__typeof__(x) *)pe_write(&(x)))
#define PE_UPDATE(bits, x) (*(__typeof__(x) *)pe_update(&(x), bits))
#define PE_FLOP(bits, e) (pe_self->count[(bits) == 32 ? PE_N_FLOPS32 : PE_N_FLOPS64]++, (e))
#define PE_CALL(bits, e) PE_FLOP(bits, e)
#define PE_BRANCH(e) pe_branch(__COUNTER__, (e) != 0)
#define PE_SKIP() pe_skip()
#define PE_ENTER() pe_enter()

#define pe_kernel pe_traced_kernel
