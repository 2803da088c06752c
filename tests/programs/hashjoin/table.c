#include <stdlib.h>
#include "table.h"

static u32 x = 123456789, y = 362436069, z = 521288629, w = 88675123;

static u32 rnd(void)
{
    u32 t = x ^ (x << 11);

    x = y;
    y = z;
    z = w;
    return w = w ^ (w >> 19) ^ t ^ (t >> 8);
}

static u32 below(u32 n)
{
    return (u32)(((u64)rnd() * n) >> 32);
}

/* A permutation of the 32-bit numbers, so that keys are unique. */
static u32 scatter(u32 i)
{
    i *= 2654435761u;
    i ^= i >> 16;
    i *= 0x45d9f3bu;
    return i;
}

int customers_make(struct customers *c, size_t rows)
{
    c->rows = rows;
    c->key = malloc(rows * sizeof(u32));
    c->region = malloc(rows);
    c->limit = malloc(rows * sizeof(u32));
    if (!c->key || !c->region || !c->limit) {
        customers_free(c);
        return -1;
    }
    for (size_t i = 0; i < rows; i++) {
        u32 r = below(100);

        c->key[i] = scatter((u32)i + 1);
        /* half of all customers live in three regions */
        c->region[i] = r < 20 ? 3 : r < 36 ? 7 : r < 50 ? 11 : (unsigned char)below(REGIONS);
        c->limit[i] = 10000 + below(1000000);
    }
    return 0;
}

int orders_make(struct orders *o, size_t rows, const struct customers *c, u32 products)
{
    o->rows = rows;
    o->customer = malloc(rows * sizeof(u32));
    o->day = malloc(rows * sizeof(u32));
    o->amount = malloc(rows * sizeof(u32));
    o->product = malloc(rows * sizeof(u32));
    if (!o->customer || !o->day || !o->amount || !o->product) {
        orders_free(o);
        return -1;
    }
    for (size_t i = 0; i < rows; i++) {
        u32 who = below((u32)c->rows);

        /* some buy far more often, one in sixteen is gone */
        if (below(4) == 0)
            who = below((u32)c->rows / 64 + 1);
        o->customer[i] = below(16) == 0 ? scatter((u32)c->rows + 1 + who) : c->key[who];
        o->day[i] = (u32)((u64)i * DAYS / rows);
        o->amount[i] = 100 + below(500) * below(400);
        o->product[i] = below(below(products) + 1);
    }
    return 0;
}

void customers_free(struct customers *c)
{
    free(c->key);
    free(c->region);
    free(c->limit);
}

void orders_free(struct orders *o)
{
    free(o->customer);
    free(o->day);
    free(o->amount);
    free(o->product);
}
