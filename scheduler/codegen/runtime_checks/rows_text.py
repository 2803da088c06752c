"""C functions of the run-time test of rows (`scheduler.codegen.runtime_checks.rows`)."""

from __future__ import annotations

DEFINITION = """/* An area from first to end, or (levels > 0) that part of each row that tables of pointers lead to. */
struct pe_rows {
    const void *pe_table;
    int pe_levels, pe_written, pe_area; /* the areas are numbered from 0; parts of one stand together */
    unsigned long pe_skip; /* areas that need not be apart from this one, a bit each */
    long pe_from[2], pe_to[2], pe_step[2]; /* the pointers of each level that are followed, none where from > to */
    long pe_first, pe_end; /* bytes from what the last pointer leads to */
};
static inline __attribute__((__unused__)) const char *pe_follow(const void *pe_table, long pe_k)
{
    const char *pe_row;
    __builtin_memcpy(&pe_row, (const char *)pe_table + pe_k * (long)sizeof pe_row, sizeof pe_row);
    return pe_row;
}
static inline __attribute__((__unused__)) unsigned long pe_count(const struct pe_rows *pe_a)
{
    unsigned long pe_n = 1;
    for (int pe_l = 0; pe_l < pe_a->pe_levels; pe_l++)
        if (pe_a->pe_to[pe_l] < pe_a->pe_from[pe_l])
            pe_n = 0;
        else
            pe_n *= (unsigned long)((pe_a->pe_to[pe_l] - pe_a->pe_from[pe_l]) / pe_a->pe_step[pe_l] + 1);
    return pe_n;
}
static __attribute__((__unused__)) void pe_sift(unsigned long *pe_at, unsigned long pe_root, unsigned long pe_n)
{
    for (unsigned long pe_child; (pe_child = 2 * pe_root + 1) < pe_n; pe_root = pe_child) {
        pe_child += pe_child + 1 < pe_n && pe_at[pe_child] < pe_at[pe_child + 1];
        if (pe_at[pe_root] >= pe_at[pe_child])
            return;
        unsigned long pe_value = pe_at[pe_root];
        pe_at[pe_root] = pe_at[pe_child];
        pe_at[pe_child] = pe_value;
    }
}
/* The addresses where the parts begin. */
static __attribute__((__unused__)) void pe_list(const struct pe_rows *pe_a, unsigned long *pe_at)
{
    if (pe_a->pe_levels == 0)
        *pe_at = (unsigned long)pe_a->pe_table + (unsigned long)pe_a->pe_first;
    else if (pe_count(pe_a))
        for (long pe_i = pe_a->pe_from[0]; pe_i <= pe_a->pe_to[0]; pe_i += pe_a->pe_step[0]) {
            const char *pe_row = pe_follow(pe_a->pe_table, pe_i);
            if (pe_a->pe_levels == 1)
                *pe_at++ = (unsigned long)pe_row + (unsigned long)pe_a->pe_first;
            else
                for (long pe_j = pe_a->pe_from[1]; pe_j <= pe_a->pe_to[1]; pe_j += pe_a->pe_step[1])
                    *pe_at++ = (unsigned long)pe_follow(pe_row, pe_j) + (unsigned long)pe_a->pe_first;
        }
}
/* Puts addresses in order; whether each is at least so many bytes behind the one before. */
static __attribute__((__unused__)) int pe_ordered(unsigned long *pe_at, unsigned long pe_n, unsigned long pe_size)
{
    int pe_sorted = 1;
    for (unsigned long pe_k = 1; pe_k < pe_n; pe_k++)
        pe_sorted &= pe_at[pe_k - 1] <= pe_at[pe_k];
    if (!pe_sorted) {
        for (unsigned long pe_k = pe_n / 2; pe_k-- > 0;)
            pe_sift(pe_at, pe_k, pe_n);
        for (unsigned long pe_k = pe_n; pe_k-- > 1;) {
            unsigned long pe_value = pe_at[0];
            pe_at[0] = pe_at[pe_k];
            pe_at[pe_k] = pe_value;
            pe_sift(pe_at, 0, pe_k);
        }
    }
    for (unsigned long pe_k = 1; pe_k < pe_n; pe_k++)
        if (pe_at[pe_k] - pe_at[pe_k - 1] < pe_size)
            return 0;
    return 1;
}
/* Whether no memory is in two areas of which one is written, or twice in one that is. */
static __attribute__((__unused__)) int pe_rows_apart(const struct pe_rows *pe_parts, int pe_n)
{
    unsigned long *pe_at[65], pe_all = 0, *pe_memory;
    const struct pe_rows *pe_areas[64];
    int pe_good = 1, pe_number = 0;
    for (int pe_k = 0; pe_k < pe_n; pe_k++)
        pe_all += pe_count(&pe_parts[pe_k]);
    pe_memory = pe_all > ~0ul / sizeof *pe_memory ? 0 : __builtin_malloc(pe_all * sizeof *pe_memory + 1);
    if (!pe_memory)
        return 0;
    pe_at[0] = pe_memory;
    for (int pe_k = 0; pe_k < pe_n && pe_good; pe_number++) {
        unsigned long *pe_to = pe_at[pe_number];
        pe_areas[pe_number] = &pe_parts[pe_k];
        for (; pe_k < pe_n && pe_parts[pe_k].pe_area == pe_number; pe_k++) {
            pe_list(&pe_parts[pe_k], pe_to);
            pe_to += pe_count(&pe_parts[pe_k]);
        }
        const struct pe_rows *pe_a = pe_areas[pe_number];
        unsigned long pe_size = pe_a->pe_written ? (unsigned long)(pe_a->pe_end - pe_a->pe_first) : 0;
        pe_at[pe_number + 1] = pe_to;
        pe_good = pe_ordered(pe_at[pe_number], (unsigned long)(pe_to - pe_at[pe_number]), pe_size);
    }
    for (int pe_k = 0; pe_k < pe_number && pe_good; pe_k++)
        for (int pe_l = pe_k + 1; pe_l < pe_number && pe_good; pe_l++) {
            const struct pe_rows *pe_a = pe_areas[pe_k], *pe_b = pe_areas[pe_l];
            if (!(pe_a->pe_written || pe_b->pe_written) || pe_a->pe_skip >> pe_l & 1)
                continue;
            unsigned long pe_sa = (unsigned long)(pe_a->pe_end - pe_a->pe_first);
            unsigned long pe_sb = (unsigned long)(pe_b->pe_end - pe_b->pe_first);
            unsigned long *pe_x = pe_at[pe_k], *pe_y = pe_at[pe_l];
            while (pe_x < pe_at[pe_k + 1] && pe_y < pe_at[pe_l + 1] && pe_good)
                if (*pe_x <= *pe_y) {
                    pe_good = *pe_y - *pe_x >= pe_sa;
                    pe_x++;
                } else {
                    pe_good = *pe_x - *pe_y >= pe_sb;
                    pe_y++;
                }
        }
    __builtin_free(pe_memory);
    return pe_good;
}"""
