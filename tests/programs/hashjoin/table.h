#ifndef TABLE_H
#define TABLE_H

#include <stdint.h>
#include <stddef.h>

typedef uint32_t u32;
typedef uint64_t u64;

/* Columns, all of the same length. */
struct customers {
    size_t rows;
    u32 *key;           /* unique, in no order */
    unsigned char *region;
    u32 *limit;         /* credit, in cents */
};

struct orders {
    size_t rows;
    u32 *customer;      /* key of a customer; some have left */
    u32 *day;           /* since the first day */
    u32 *amount;        /* cents */
    u32 *product;
};

#define REGIONS 16
#define DAYS 2000

int  customers_make(struct customers *c, size_t rows);
int  orders_make(struct orders *o, size_t rows, const struct customers *c, u32 products);
void customers_free(struct customers *c);
void orders_free(struct orders *o);

#endif
