/* The harness's arguments: element types, storage with guards, filling, comparing. */
#ifndef PERFEMBED_HARNESS_DATA_H
#define PERFEMBED_HARNESS_DATA_H
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { GUARD = 4096, GUARD_BYTE = 0xA5 };
enum fill { FILL_RANDOM, FILL_CONSTANT, FILL_CAPTURED };

struct arg {
    const struct type *type;
    int written, compared, owned; /* owned: by the kernel's own translation unit */
    size_t offset, count, bytes;
    size_t filled, looked; /* elements that have contents, the others are 0; bytes whose results count */
    enum fill fill;
    uint64_t seed;
    double low, high;
    char constant[64];
    long long capture_offset;
    char *capture_path;
    char *data, *pristine;
    unsigned char *before, *after; /* the guard regions around data */
    size_t before_bytes, after_bytes;
    uint64_t hash;
};

static _Noreturn void fail(const char *format, ...);

/* The i-th number of the stream of a seed: splitmix64, so that any element can be made alone. */
static inline uint64_t random_bits(uint64_t seed, uint64_t i)
{
    uint64_t z = seed * 0xD1342543DE82EF95u + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline double random_unit(uint64_t seed, uint64_t i) { return (double)(random_bits(seed, i) >> 11) * 0x1p-53; }

/* An element as a double; reference files do not align their elements. */
#define VALUE(T, NAME)                                                                                   \
    static double value_##NAME(const void *p)                                                            \
    {                                                                                                    \
        T value;                                                                                         \
        memcpy(&value, p, sizeof value);                                                                 \
        return (double)value;                                                                            \
    }

#define FLOAT_TYPE(T, NAME, DOWN)                                                                        \
    static void random_##NAME(struct arg *a)                                                             \
    {                                                                                                    \
        T *p = (T *)a->data;                                                                             \
        for (size_t i = 0; i < a->filled; i++) {                                                         \
            double u = random_unit(a->seed, i);                                                          \
            T value = (T)(a->low * (1 - u) + a->high * u);                                               \
            if ((double)value >= a->high) value = DOWN((T)a->high, (T)-INFINITY);                        \
            if ((double)value < a->low) value = DOWN((T)a->low, (T)INFINITY);                            \
            p[i] = value;                                                                                \
        }                                                                                                \
    }                                                                                                    \
    static void constant_##NAME(struct arg *a)                                                           \
    {                                                                                                    \
        T value = (T)strtod(a->constant, NULL), *p = (T *)a->data;                                       \
        for (size_t i = 0; i < a->filled; i++) p[i] = value;                                             \
    }                                                                                                    \
    VALUE(T, NAME)                                                                                       \
    static void print_##NAME(char *out, const void *p) { snprintf(out, 64, "%a", value_##NAME(p)); }

#define INTEGER_TYPE(T, NAME)                                                                            \
    static void random_##NAME(struct arg *a)                                                             \
    {                                                                                                    \
        T *p = (T *)a->data;                                                                             \
        double low = ceil(a->low), high = ceil(a->high);                                                 \
        for (size_t i = 0; i < a->filled; i++) {                                                         \
            double value = low + floor(random_unit(a->seed, i) * (high - low));                          \
            if (value >= high) value = high - 1;                                                         \
            p[i] = (T)value;                                                                             \
        }                                                                                                \
    }                                                                                                    \
    static void constant_##NAME(struct arg *a)                                                           \
    {                                                                                                    \
        T *p = (T *)a->data;                                                                             \
        T value = a->constant[0] == '-' ? (T)strtoll(a->constant, NULL, 10) : (T)strtoull(a->constant, NULL, 10); \
        for (size_t i = 0; i < a->filled; i++) p[i] = value;                                             \
    }                                                                                                    \
    VALUE(T, NAME)                                                                                       \
    static void print_##NAME(char *out, const void *p)                                                   \
    {                                                                                                    \
        T value;                                                                                         \
        memcpy(&value, p, sizeof value);                                                                 \
        if (value < (T)1 && value != 0) snprintf(out, 64, "%lld", (long long)value);                     \
        else snprintf(out, 64, "%llu", (unsigned long long)value);                                       \
    }

FLOAT_TYPE(float, f32, nextafterf)
FLOAT_TYPE(double, f64, nextafter)
INTEGER_TYPE(unsigned char, bool8) /* _Bool is handled as a byte, so that a broken one can be looked at */
INTEGER_TYPE(char, c)
INTEGER_TYPE(signed char, sc)
INTEGER_TYPE(unsigned char, uc)
INTEGER_TYPE(short, s)
INTEGER_TYPE(unsigned short, us)
INTEGER_TYPE(int, i)
INTEGER_TYPE(unsigned int, ui)
INTEGER_TYPE(long, l)
INTEGER_TYPE(unsigned long, ul)
INTEGER_TYPE(long long, ll)
INTEGER_TYPE(unsigned long long, ull)

static const struct type {
    const char *name;
    size_t size;
    int is_float;
    void (*random)(struct arg *);
    void (*constant)(struct arg *);
    double (*value)(const void *);
    void (*print)(char *, const void *);
} types[] = {
#define TYPE(NAME, T, FLOAT, SUFFIX) \
    {NAME, sizeof(T), FLOAT, random_##SUFFIX, constant_##SUFFIX, value_##SUFFIX, print_##SUFFIX}
    TYPE("float", float, 1, f32),
    TYPE("double", double, 1, f64),
    TYPE("_Bool", _Bool, 0, bool8),
    TYPE("char", char, 0, c),
    TYPE("signed_char", signed char, 0, sc),
    TYPE("unsigned_char", unsigned char, 0, uc),
    TYPE("short", short, 0, s),
    TYPE("unsigned_short", unsigned short, 0, us),
    TYPE("int", int, 0, i),
    TYPE("unsigned_int", unsigned int, 0, ui),
    TYPE("long", long, 0, l),
    TYPE("unsigned_long", unsigned long, 0, ul),
    TYPE("long_long", long long, 0, ll),
    TYPE("unsigned_long_long", unsigned long long, 0, ull),
};

/* Reserves storage: page without access, guard, data at offset modulo 4096, guard, page without access. */
static void allocate(struct arg *a)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t inner = (GUARD + a->offset + a->bytes + GUARD + page - 1) / page * page;
    unsigned char *map = mmap(NULL, inner + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) fail("memory: cannot allocate %zu bytes", a->bytes);
    mprotect(map, page, PROT_NONE);
    mprotect(map + page + inner, page, PROT_NONE);
    a->before = map + page;
    a->before_bytes = GUARD + a->offset;
    a->data = (char *)a->before + a->before_bytes;
    a->after = (unsigned char *)a->data + a->bytes;
    a->after_bytes = inner - a->before_bytes - a->bytes;
    memset(a->before, GUARD_BYTE, a->before_bytes);
    memset(a->after, GUARD_BYTE, a->after_bytes);
}

/* Whether a guard is broken; where: the byte's distance from the start of the data. */
static int guard_broken(const struct arg *a, long long *where)
{
    for (size_t i = a->before_bytes; i-- > 0;)
        if (a->before[i] != GUARD_BYTE) {
            *where = (long long)i - (long long)a->before_bytes;
            return 1;
        }
    for (size_t i = 0; i < a->after_bytes; i++)
        if (a->after[i] != GUARD_BYTE) {
            *where = (long long)(a->bytes + i);
            return 1;
        }
    return 0;
}

/* Storage is 0 where it is new; later on what is looked at and not filled is set. */
static void fill(struct arg *a, int again)
{
    size_t filled = a->filled * a->type->size;
    if (again) memset(a->data + filled, 0, a->looked - filled);
    if (a->fill == FILL_RANDOM) a->type->random(a);
    else if (a->fill == FILL_CONSTANT) a->type->constant(a);
    else {
        int file = open(a->capture_path, O_RDONLY | O_CLOEXEC);
        if (file < 0) fail("capture: cannot open %s: %s", a->capture_path, strerror(errno));
        for (size_t done = 0; done < filled;) {
            ssize_t n = pread(file, a->data + done, filled - done, (off_t)(a->capture_offset + (long long)done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) fail("capture: %s ends before %zu bytes at %lld", a->capture_path, filled, a->capture_offset);
            done += (size_t)n;
        }
        close(file);
    }
}

static uint64_t hash_bytes(const char *p, size_t bytes)
{
    uint64_t h = bytes, word;
    for (; bytes >= 8; bytes -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = ((h << 29 | h >> 35) ^ word) * 0x9E3779B97F4A7C15u;
    }
    for (; bytes; bytes--, p++) h = ((h << 29 | h >> 35) ^ (unsigned char)*p) * 0x9E3779B97F4A7C15u;
    return h;
}

struct difference {
    size_t count, first;
    double absolute, relative;
};

/* Compares two values of one element that differ in their bits; returns whether they count as different. */
static int differs(const struct type *t, const char *x, const char *y, double rel, double abs_, struct difference *d)
{
    double a = t->value(x), b = t->value(y), error = fabs(a - b), larger = fmax(fabs(a), fabs(b)), relative;
    if (isnan(a) || isnan(b)) {
        if (rel >= 0 && isnan(a) && isnan(b)) return 0;
        error = relative = INFINITY;
    } else if (isinf(a) || isinf(b)) {
        if (rel >= 0 && a == b) return 0;
        error = relative = a == b ? 0 : INFINITY;
    } else {
        if (rel >= 0 && t->is_float && (a == b || error <= rel * larger || error <= abs_)) return 0;
        relative = larger > 0 ? error / larger : 0;
    }
    d->absolute = fmax(d->absolute, error);
    d->relative = fmax(d->relative, relative);
    return 1;
}

/* The differences between the argument and the expected bytes; rel < 0 asks for identical bits. */
static struct difference compare(const struct arg *a, const char *expected, double rel, double abs_)
{
    struct difference d = {0, 0, 0, 0};
    size_t size = a->type->size, block = 4096;
    for (size_t start = 0; start < a->looked; start += block) {
        size_t length = a->looked - start < block ? a->looked - start : block;
        if (!memcmp(a->data + start, expected + start, length)) continue;
        for (size_t at = start; at < start + length; at += size)
            if (memcmp(a->data + at, expected + at, size) &&
                differs(a->type, expected + at, a->data + at, rel, abs_, &d) && d.count++ == 0)
                d.first = at / size;
    }
    return d;
}
#endif
