#include <stdio.h>
#include <stdlib.h>
#include "hash.h"

int hash_create(struct hash *h, size_t expected)
{
    size_t slots = 16;

    while (slots < 2 * expected)
        slots *= 2;
    h->key = calloc(slots, sizeof(u32));
    h->value = calloc(slots, sizeof(u32));
    h->mask = (u32)(slots - 1);
    h->used = 0;
    if (!h->key || !h->value) {
        hash_free(h);
        return -1;
    }
    return 0;
}

void hash_free(struct hash *h)
{
    free(h->key);
    free(h->value);
    h->key = h->value = NULL;
}

static u32 slot_of(const struct hash *h, u32 key)
{
    u32 slot = hash_of(key) & h->mask;

    while (h->key[slot] != EMPTY && h->key[slot] != key)
        slot = (slot + 1) & h->mask;
    return slot;
}

void hash_put(struct hash *h, u32 key, u32 value)
{
    u32 slot = slot_of(h, key);

    if (h->key[slot] == EMPTY) {
        h->key[slot] = key;
        h->used++;
    }
    h->value[slot] = value;
}

static void grow(struct hash *h)
{
    struct hash bigger;

    if (hash_create(&bigger, (size_t)h->mask + 1) != 0) {
        fprintf(stderr, "hashjoin: out of memory\n");
        exit(1);
    }
    for (size_t i = 0; i <= h->mask; i++)
        if (h->key[i] != EMPTY)
            hash_put(&bigger, h->key[i], h->value[i]);
    hash_free(h);
    *h = bigger;
}

u32 *hash_get_or_add(struct hash *h, u32 key)
{
    u32 slot;

    if (h->used > h->mask / 2)
        grow(h);
    slot = slot_of(h, key);
    if (h->key[slot] == EMPTY) {
        h->key[slot] = key;
        h->value[slot] = 0;
        h->used++;
    }
    return &h->value[slot];
}

/* How far the keys are from where they should be. */
void hash_lengths(const struct hash *h, u32 *longest, u64 *total)
{
    u32 most = 0;
    u64 sum = 0;

    for (size_t i = 0; i <= h->mask; i++) {
        u32 d;

        if (h->key[i] == EMPTY)
            continue;
        d = ((u32)i - hash_of(h->key[i])) & h->mask;
        sum += d;
        if (d > most)
            most = d;
    }
    *longest = most;
    *total = sum;
}
