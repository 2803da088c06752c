/* Questions to two tables of columns.
 *
 *     hashjoin customers orders products repeats
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "query.h"

#define BEST 5

int main(int argc, char **argv)
{
    struct customers c;
    struct orders o;
    struct hash by_key;
    u32 *selected;
    u64 count[REGIONS], revenue[REGIONS], total, excess, over, lost;
    u32 longest, product[BEST], start;
    u64 product_revenue[BEST];

    if (argc != 5) {
        fprintf(stderr, "usage: %s customers orders products repeats\n", argv[0]);
        return 2;
    }
    size_t n_customers = strtoul(argv[1], NULL, 10);
    size_t n_orders = strtoul(argv[2], NULL, 10);
    u32 products = (u32)strtoul(argv[3], NULL, 10);
    int repeats = atoi(argv[4]);

    if (n_customers < 10 || n_customers > 100000000 || n_orders < 10 ||
        n_orders > 1000000000 || products < 1 || repeats < 1) {
        fprintf(stderr, "%s: sizes out of range\n", argv[0]);
        return 2;
    }
    if (customers_make(&c, n_customers) != 0 ||
        orders_make(&o, n_orders, &c, products) != 0 ||
        hash_create(&by_key, n_customers) != 0 ||
        (selected = malloc(n_orders * sizeof(u32))) == NULL) {
        fprintf(stderr, "%s: out of memory\n", argv[0]);
        return 1;
    }

    for (size_t i = 0; i < c.rows; i++)
        hash_put(&by_key, c.key[i], (u32)i);
    hash_lengths(&by_key, &longest, &total);
    printf("customers: %u, slots %u, farthest %u, distances %" PRIu64 "\n", by_key.used,
           by_key.mask + 1, longest, total);

    for (int r = 0; r < repeats; r++) {
        u32 from = (u32)(r * 97 % DAYS), to = from + 400;
        struct span s;

        scan_days(&o, from, to, &s);
        printf("days %u to %u: %" PRIu64 " orders, sum %" PRIu64 ", min %u, max %u\n",
               from, to, s.rows, s.sum, s.min, s.max);

        lost = join_regions(&o, &c, &by_key, from / 2, count, revenue);
        int most = 0;
        for (int g = 1; g < REGIONS; g++)
            if (revenue[g] > revenue[most])
                most = g;
        printf("  region %d first with %" PRIu64 " orders, %" PRIu64 "; %" PRIu64
               " without customer\n", most, count[most], revenue[most], lost);

        u32 least = 50000u + 10000u * (u32)(r % 8);
        size_t n = filter_amount(&o, least, selected);
        int found = top_products(&o, selected, n, BEST, product, product_revenue);
        if (found < 0) {
            fprintf(stderr, "%s: out of memory\n", argv[0]);
            return 1;
        }
        printf("  %zu orders of %u or more, products", n, least);
        for (int k = 0; k < found; k++)
            printf(" %u:%" PRIu64, product[k], product_revenue[k]);
        printf("\n");

        over = join_over_limit(&o, &c, &by_key, &excess);
        u64 best = best_window(&o, 7 + (u32)r % 3, 4, &start);
        printf("  %" PRIu64 " over the limit by %" PRIu64 "; best weeks from %u: %" PRIu64 "\n",
               over, excess, start, best);
    }

    printf("all regions:");
    for (int g = 0; g < REGIONS; g++)
        printf(" %" PRIu64, revenue[g]);
    printf("\n");

    free(selected);
    hash_free(&by_key);
    customers_free(&c);
    orders_free(&o);
    return 0;
}
