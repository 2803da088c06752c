#ifndef HASH_H
#define HASH_H

#include "table.h"

/* Open addressing with linear probing.  Key 0 does not occur. */
#define EMPTY 0u

struct hash {
    u32 *key;
    u32 *value;
    u32 mask;           /* slots - 1, slots a power of two */
    u32 used;
};

int  hash_create(struct hash *h, size_t expected);
void hash_free(struct hash *h);
void hash_put(struct hash *h, u32 key, u32 value);
u32 *hash_get_or_add(struct hash *h, u32 key);          /* grows it */
void hash_lengths(const struct hash *h, u32 *longest, u64 *total);

static inline u32 hash_of(u32 key)
{
    key ^= key >> 16;
    key *= 0x7feb352du;
    key ^= key >> 15;
    key *= 0x846ca68bu;
    key ^= key >> 16;
    return key;
}

/* The value of a key, or `missing`. */
static inline u32 hash_find(const struct hash *h, u32 key, u32 missing)
{
    u32 slot = hash_of(key) & h->mask;

    while (h->key[slot] != EMPTY) {
        if (h->key[slot] == key)
            return h->value[slot];
        slot = (slot + 1) & h->mask;
    }
    return missing;
}

#endif
