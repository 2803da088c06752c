#include <stdlib.h>
#include <string.h>
#include "query.h"

#define NOBODY 0xffffffffu

void scan_days(const struct orders *o, u32 from, u32 to, struct span *s)
{
    u64 rows = 0, sum = 0;
    u32 min = 0xffffffffu, max = 0;

#pragma omp parallel for reduction(+:rows,sum) reduction(min:min) reduction(max:max)
    for (size_t i = 0; i < o->rows; i++) {
        if (o->day[i] >= from && o->day[i] < to) {
            rows++;
            sum += o->amount[i];
            if (o->amount[i] < min)
                min = o->amount[i];
            if (o->amount[i] > max)
                max = o->amount[i];
        }
    }
    s->rows = rows;
    s->sum = sum;
    s->min = min;
    s->max = max;
}

size_t filter_amount(const struct orders *o, u32 least, u32 *out)
{
    size_t n = 0;

    for (size_t i = 0; i < o->rows; i++)
        if (o->amount[i] >= least)
            out[n++] = (u32)i;
    return n;
}

u64 join_regions(const struct orders *o, const struct customers *c,
                 const struct hash *by_key, u32 since,
                 u64 count[REGIONS], u64 revenue[REGIONS])
{
    u64 lost = 0;

    memset(count, 0, REGIONS * sizeof(u64));
    memset(revenue, 0, REGIONS * sizeof(u64));

#pragma omp parallel reduction(+:lost)
    {
        u64 my_count[REGIONS] = { 0 }, my_revenue[REGIONS] = { 0 };

#pragma omp for schedule(dynamic, 65536) nowait
        for (size_t i = 0; i < o->rows; i++) {
            u32 key = o->customer[i];
            u32 slot = hash_of(key) & by_key->mask;

            if (o->day[i] < since)
                continue;
            while (by_key->key[slot] != EMPTY && by_key->key[slot] != key)
                slot = (slot + 1) & by_key->mask;
            if (by_key->key[slot] == EMPTY) {
                lost++;
                continue;
            }
            unsigned char r = c->region[by_key->value[slot]];
            my_count[r]++;
            my_revenue[r] += o->amount[i];
        }

#pragma omp critical
        for (int r = 0; r < REGIONS; r++) {
            count[r] += my_count[r];
            revenue[r] += my_revenue[r];
        }
    }
    return lost;
}

u64 join_over_limit(const struct orders *o, const struct customers *c,
                    const struct hash *by_key, u64 *excess)
{
    u64 over = 0, sum = 0;

#pragma omp parallel for reduction(+:over,sum)
    for (size_t i = 0; i < o->rows; i++) {
        u32 row = hash_find(by_key, o->customer[i], NOBODY);

        if (row != NOBODY && o->amount[i] > c->limit[row]) {
            over++;
            sum += o->amount[i] - c->limit[row];
        }
    }
    *excess = sum;
    return over;
}

int top_products(const struct orders *o, const u32 *rows, size_t n, int best,
                 u32 *product, u64 *revenue)
{
    struct hash group;
    u64 *sums = NULL;
    u32 groups = 0, room = 0;
    u32 *name = NULL;
    int found = 0;

    if (hash_create(&group, 64) != 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        u32 p = o->product[rows[i]];
        u32 *number = hash_get_or_add(&group, p + 1);

        if (*number == 0) {
            if (groups == room) {
                u64 *s;
                u32 *m;

                room = room ? 2 * room : 64;
                s = realloc(sums, room * sizeof *sums);
                if (s)
                    sums = s;
                m = realloc(name, room * sizeof *name);
                if (m)
                    name = m;
                if (!s || !m) {
                    found = -1;
                    goto done;
                }
            }
            name[groups] = p;
            sums[groups++] = 0;
            *number = groups;
        }
        sums[*number - 1] += o->amount[rows[i]];
    }

    while (found < best && (u32)found < groups) {
        u32 at = 0;

        for (u32 g = 1; g < groups; g++)
            if (sums[g] > sums[at] || (sums[g] == sums[at] && name[g] < name[at]))
                at = g;
        product[found] = name[at];
        revenue[found] = sums[at];
        sums[at] = 0;
        found++;
    }
done:
    hash_free(&group);
    free(sums);
    free(name);
    return found;
}

u64 best_window(const struct orders *o, u32 width, u32 length, u32 *start)
{
    static u64 window[DAYS];
    u32 windows = (DAYS + width - 1) / width;
    u64 run = 0, best = 0;

    memset(window, 0, sizeof window);
    for (size_t i = 0; i < o->rows; i++)
        window[o->day[i] / width] += o->amount[i];

    *start = 0;
    for (u32 k = 0; k < windows; k++) {
        run += window[k];
        if (k >= length)
            run -= window[k - length];
        if (run > best) {
            best = run;
            *start = k + 1 >= length ? k + 1 - length : 0;
        }
    }
    return best;
}
