#ifndef QUERY_H
#define QUERY_H

#include "hash.h"

struct span {
    u64 rows;
    u64 sum;
    u32 min, max;
};

/* select count, sum, min, max of amount where from <= day < to */
void scan_days(const struct orders *o, u32 from, u32 to, struct span *s);

/* row numbers where amount >= least; returns how many */
size_t filter_amount(const struct orders *o, u32 least, u32 *out);

/* per region: orders and revenue since a day, of customers joined by key;
 * returns how many orders had no customer */
u64 join_regions(const struct orders *o, const struct customers *c,
                 const struct hash *by_key, u32 since,
                 u64 count[REGIONS], u64 revenue[REGIONS]);

/* orders above the credit of the customer */
u64 join_over_limit(const struct orders *o, const struct customers *c,
                    const struct hash *by_key, u64 *excess);

/* revenue per product into a table of sums, then the best ones */
int top_products(const struct orders *o, const u32 *rows, size_t n, int best,
                 u32 *product, u64 *revenue);

/* revenue per window of days, and the best run of `length` windows */
u64 best_window(const struct orders *o, u32 width, u32 length, u32 *start);

#endif
