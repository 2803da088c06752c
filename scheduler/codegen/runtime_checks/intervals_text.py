"""C functions of the run-time test of ranges (`scheduler.codegen.runtime_checks.ranges`)."""

from __future__ import annotations

DEFINITION = """/* The numbers from low to high, none where low > high. An end of long stands for all beyond. */
struct pe_range { long pe_low, pe_high; };
#define pe_hi ((long)(~0ul >> 1))
#define pe_lo (-pe_hi - 1)
static inline __attribute__((__unused__)) struct pe_range pe_between(long pe_low, long pe_high)
{
    struct pe_range pe_r = { pe_low, pe_high };
    return pe_r;
}
static inline __attribute__((__unused__)) int pe_open(struct pe_range pe_a)
{
    return pe_a.pe_low == pe_lo || pe_a.pe_high == pe_hi;
}
static inline __attribute__((__unused__)) int pe_empty(struct pe_range pe_a) { return pe_a.pe_low > pe_a.pe_high; }
static inline __attribute__((__unused__)) struct pe_range pe_sum(struct pe_range pe_a, struct pe_range pe_b)
{
    struct pe_range pe_r;
    if (pe_empty(pe_a) || pe_empty(pe_b))
        return pe_between(0, -1);
    if (pe_open(pe_a) || pe_open(pe_b) || __builtin_add_overflow(pe_a.pe_low, pe_b.pe_low, &pe_r.pe_low)
        || __builtin_add_overflow(pe_a.pe_high, pe_b.pe_high, &pe_r.pe_high))
        return pe_between(pe_lo, pe_hi);
    return pe_r;
}
static inline __attribute__((__unused__)) struct pe_range pe_product(struct pe_range pe_a, struct pe_range pe_b)
{
    long pe_ends[4];
    struct pe_range pe_r = { pe_hi, pe_lo };
    if (pe_empty(pe_a) || pe_empty(pe_b))
        return pe_between(0, -1);
    if (pe_open(pe_a) || pe_open(pe_b) || __builtin_mul_overflow(pe_a.pe_low, pe_b.pe_low, &pe_ends[0])
        || __builtin_mul_overflow(pe_a.pe_low, pe_b.pe_high, &pe_ends[1])
        || __builtin_mul_overflow(pe_a.pe_high, pe_b.pe_low, &pe_ends[2])
        || __builtin_mul_overflow(pe_a.pe_high, pe_b.pe_high, &pe_ends[3]))
        return pe_between(pe_lo, pe_hi);
    for (int pe_k = 0; pe_k < 4; pe_k++) {
        pe_r.pe_low = pe_ends[pe_k] < pe_r.pe_low ? pe_ends[pe_k] : pe_r.pe_low;
        pe_r.pe_high = pe_ends[pe_k] > pe_r.pe_high ? pe_ends[pe_k] : pe_r.pe_high;
    }
    return pe_r;
}
static inline __attribute__((__unused__)) struct pe_range pe_times(long pe_n, struct pe_range pe_a)
{
    return pe_product(pe_between(pe_n, pe_n), pe_a);
}
/* Rounds towards 0, or (floored) towards minus infinity. */
static inline __attribute__((__unused__)) struct pe_range pe_over(struct pe_range pe_a, long pe_n, int pe_floored)
{
    if (pe_empty(pe_a))
        return pe_a;
    if (pe_open(pe_a))
        return pe_between(pe_lo, pe_hi);
    return pe_between(pe_a.pe_low / pe_n - (pe_floored && pe_a.pe_low % pe_n < 0),
                      pe_a.pe_high / pe_n - (pe_floored && pe_a.pe_high % pe_n < 0));
}
/* Quotients by positive numbers, rounded towards 0. */
static inline __attribute__((__unused__)) struct pe_range pe_ratio(struct pe_range pe_a, struct pe_range pe_n)
{
    if (pe_empty(pe_a) || pe_empty(pe_n))
        return pe_between(0, -1);
    if (pe_open(pe_a) || pe_open(pe_n) || pe_n.pe_low < 1)
        return pe_between(pe_lo, pe_hi);
    return pe_between(pe_a.pe_low / (pe_a.pe_low < 0 ? pe_n.pe_low : pe_n.pe_high),
                      pe_a.pe_high / (pe_a.pe_high < 0 ? pe_n.pe_high : pe_n.pe_low));
}
/* The remainders of a division by 1 to most, rounded towards 0. */
static inline __attribute__((__unused__)) struct pe_range pe_rest(struct pe_range pe_a, struct pe_range pe_n)
{
    if (pe_empty(pe_a) || pe_empty(pe_n))
        return pe_between(0, -1);
    if (pe_open(pe_n) || pe_n.pe_low < 1)
        return pe_between(pe_lo, pe_hi);
    long pe_m = pe_n.pe_high - 1;
    return pe_between(pe_a.pe_low >= 0 ? 0 : pe_a.pe_low > -pe_m ? pe_a.pe_low : -pe_m,
                      pe_a.pe_high <= 0 ? 0 : pe_a.pe_high < pe_m ? pe_a.pe_high : pe_m);
}
static inline __attribute__((__unused__)) struct pe_range pe_join(struct pe_range pe_a, struct pe_range pe_b)
{
    if (pe_empty(pe_a) || pe_empty(pe_b))
        return pe_empty(pe_a) ? pe_b : pe_a;
    return pe_between(pe_a.pe_low < pe_b.pe_low ? pe_a.pe_low : pe_b.pe_low,
                      pe_a.pe_high > pe_b.pe_high ? pe_a.pe_high : pe_b.pe_high);
}
/* What is left of numbers of which it is known that they lie between two others. */
static inline __attribute__((__unused__)) struct pe_range pe_cut(struct pe_range pe_a, long pe_low, long pe_high)
{
    return pe_between(pe_a.pe_low > pe_low ? pe_a.pe_low : pe_low, pe_a.pe_high < pe_high ? pe_a.pe_high : pe_high);
}
/* Numbers converted to a type that holds those from low to high. */
static inline __attribute__((__unused__)) struct pe_range pe_held(struct pe_range pe_a, long pe_low, long pe_high)
{
    return pe_empty(pe_a) || (pe_a.pe_low >= pe_low && pe_a.pe_high <= pe_high) ? pe_a : pe_between(pe_low, pe_high);
}
/* Numbers of an unsigned type of 64 bits, as far as they stand for themselves: others are taken for any. */
static inline __attribute__((__unused__)) struct pe_range pe_natural(struct pe_range pe_a)
{
    return pe_empty(pe_a) || (pe_a.pe_low >= 0 && !pe_open(pe_a)) ? pe_a : pe_between(pe_lo, pe_hi);
}
/* Those of a with some number of b that is (by at least d) greater, or less; of 64 bits without a sign (u), or with. */
static inline __attribute__((__unused__)) struct pe_range
pe_below(struct pe_range pe_a, struct pe_range pe_b, int pe_d, int pe_u)
{
    if (pe_empty(pe_a) || pe_empty(pe_b))
        return pe_between(0, -1);
    if (pe_b.pe_high == pe_hi || pe_b.pe_high < pe_lo + pe_d || (pe_u && pe_b.pe_low < 0))
        return pe_a;
    if (pe_u)
        return pe_a.pe_low < 0 ? pe_between(0, pe_b.pe_high - pe_d) : pe_cut(pe_a, 0, pe_b.pe_high - pe_d);
    return pe_cut(pe_a, pe_lo, pe_b.pe_high - pe_d);
}
static inline __attribute__((__unused__)) struct pe_range
pe_above(struct pe_range pe_a, struct pe_range pe_b, int pe_d, int pe_u)
{
    if (pe_empty(pe_a) || pe_empty(pe_b))
        return pe_between(0, -1);
    if (pe_b.pe_low == pe_lo || pe_b.pe_low > pe_hi - pe_d || (pe_u && (pe_a.pe_low < 0 || pe_b.pe_low < 0)))
        return pe_a;
    return pe_cut(pe_a, pe_b.pe_low + pe_d, pe_hi);
}
typedef signed char pe_number1 __attribute__((__may_alias__));
typedef short pe_number2 __attribute__((__may_alias__));
typedef int pe_number4 __attribute__((__may_alias__));
typedef long pe_number8 __attribute__((__may_alias__));
typedef unsigned char pe_natural1 __attribute__((__may_alias__));
typedef unsigned short pe_natural2 __attribute__((__may_alias__));
typedef unsigned pe_natural4 __attribute__((__may_alias__));
#define pe_each(pe_type) \\
    { \\
        const pe_type *pe_p = (const pe_type *)pe_from; \\
        pe_type pe_least = pe_p[pe_at.pe_low], pe_most = pe_least; \\
        for (long pe_k = pe_at.pe_low + 1; pe_k <= pe_at.pe_high; pe_k++) { \\
            pe_least = pe_p[pe_k] < pe_least ? pe_p[pe_k] : pe_least; \\
            pe_most = pe_p[pe_k] > pe_most ? pe_p[pe_k] : pe_most; \\
        } \\
        return pe_between((long)pe_least, (long)pe_most); \\
    }
/* The least and the greatest of the numbers in an array, of so many bytes (negative: without a sign) each. */
static __attribute__((__unused__)) struct pe_range pe_found(const void *pe_from, struct pe_range pe_at, int pe_bytes)
{
    if (pe_empty(pe_at))
        return pe_at;
    if (pe_open(pe_at))
        return pe_between(pe_lo, pe_hi);
    switch (pe_bytes) {
    case 1: pe_each(pe_number1)
    case 2: pe_each(pe_number2)
    case 4: pe_each(pe_number4)
    case -1: pe_each(pe_natural1)
    case -2: pe_each(pe_natural2)
    case -4: pe_each(pe_natural4)
    default: pe_each(pe_number8)
    }
}
#define pe_climbs(pe_type) \\
    { \\
        const pe_type *pe_p = (const pe_type *)pe_from; \\
        int pe_good = 1; \\
        for (long pe_k = pe_at.pe_low; pe_k < pe_at.pe_high; pe_k++) \\
            pe_good &= pe_p[pe_k] <= pe_p[pe_k + 1]; \\
        return pe_good ? pe_between((long)pe_p[pe_at.pe_low], (long)pe_p[pe_at.pe_high] - 1) \\
                       : pe_between(pe_lo, pe_hi); \\
    }
/* The numbers from the first in an array to below the last where each is at least the one before; else any. */
static __attribute__((__unused__)) struct pe_range pe_rising(const void *pe_from, struct pe_range pe_at, int pe_bytes)
{
    if (pe_empty(pe_at))
        return pe_at;
    if (pe_open(pe_at))
        return pe_between(pe_lo, pe_hi);
    switch (pe_bytes) {
    case 1: pe_climbs(pe_number1)
    case 2: pe_climbs(pe_number2)
    case 4: pe_climbs(pe_number4)
    case -1: pe_climbs(pe_natural1)
    case -2: pe_climbs(pe_natural2)
    case -4: pe_climbs(pe_natural4)
    case -8:
        if (((const pe_number8 *)pe_from)[pe_at.pe_low] < 0) /* too large for a long */
            return pe_between(pe_lo, pe_hi);
        __attribute__((__fallthrough__));
    default: pe_climbs(pe_number8)
    }
}
/* The memory of so many elements from that with the lowest number on; none where that is not known. */
struct pe_span { const char *pe_first, *pe_end; int pe_known; };
static inline __attribute__((__unused__)) struct pe_span
pe_spanned(const void *pe_from, struct pe_range pe_a, long pe_bytes)
{
    struct pe_span pe_s = { 0, 0, 1 };
    long pe_first, pe_end;
    if (pe_empty(pe_a))
        return pe_s;
    pe_s.pe_known = !pe_open(pe_a) && (long)pe_from > 0 && !__builtin_mul_overflow(pe_a.pe_low, pe_bytes, &pe_first)
        && !__builtin_mul_overflow(pe_a.pe_high, pe_bytes, &pe_end)
        && !__builtin_add_overflow(pe_first, (long)pe_from, &pe_first)
        && !__builtin_add_overflow(pe_end, (long)pe_from, &pe_end)
        && !__builtin_add_overflow(pe_end, pe_bytes, &pe_end) && pe_first > 0;
    if (pe_s.pe_known) {
        pe_s.pe_first = (const char *)pe_first;
        pe_s.pe_end = (const char *)pe_end;
    }
    return pe_s;
}"""
