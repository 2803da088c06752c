/* What a child changes in memory before a nest, and what it keeps of it behind; part of fuzz_runtime.c. */

/* The size of the object that an address lies in, 0 where nobody knows it; `begin`: where it begins. */
static size_t object(const char *at, unsigned long known, const char **begin)
{
    char name[8];
    void *first = NULL;
    size_t size = 0;
    *begin = at;
    if (known)
        return known;
    if (__asan_locate_address)
        __asan_locate_address((void *)at, name, sizeof name, &first, &size);
    if (!first || at < (const char *)first || at >= (const char *)first + size)
        return 0;
    *begin = first;
    return size;
}

static size_t size_behind(const void *at, unsigned long known)
{
    const char *begin;
    size_t size = object(at, known, &begin);
    return size ? begin + size - (const char *)at : 0;
}

static int64_t element(const unsigned char *at, int bytes)
{
    int64_t value = 0;
    memcpy(&value, at, bytes);
    return (int64_t)((uint64_t)value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
}

static void draw_indices(unsigned char *at, long count, int bytes)
{
    int how = pick(8);
    uint64_t most = 1 + small(), constant = small();
    uint64_t sum = 0;
    for (long k = 0; k < count; k++) {
        unsigned char *place = at + k * bytes;
        uint64_t value = element(place, bytes);
        switch (how) {
        case 0: return;                                      /* those of the program */
        case 1: value = pick(most); break;                   /* in range, rows of all orders */
        case 2: value = constant; break;                     /* empty rows */
        case 3: value -= 1 + constant % 4; break;            /* below the first */
        case 4: value = pick(most + 4) - 3; break;           /* some of them */
        case 5: value = pick(4) ? value : extreme(); break;
        case 6: value = element(at + pick(count) * bytes, bytes); break; /* not monotone */
        case 7: value = sum, sum += pick(3); break;          /* short rows */
        }
        memcpy(place, &value, bytes);
    }
}

static void draw_numbers(unsigned char *at, long count, const struct array *array)
{
    for (long k = 0; k < count; k++) {
        unsigned char *place = at + k * array->bytes;
        int number = (int)pick(64) - 24;
        if (array->floating && array->bytes == 8)
            *(double *)place = number * 0.125;
        else if (array->floating)
            *(float *)place = number * 0.125f;
        else
            memcpy(place, &(long){number}, array->bytes);
    }
}

/* Not of what is constant. */
static int writable(const void *at)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {(void *)at, 1};
    memcpy(&byte, at, 1);
    return process_vm_writev(getpid(), &here, 1, &there, 1, 0) == 1;
}

void perfembed_before(int k, const void *const *given)
{
    const struct nest *nest = &nests[k];
    memcpy(addresses, given, nest->arrays * sizeof *given);
    outcomes[side].reached = 1;
    for (int a = 0; drawn.contents && a < nest->arrays; a++) {
        const struct array *array = &nest->array[a];
        size_t size = array->fill != KEEP ? size_behind(given[a], array->known) : 0;
        long count = (size < FILLED ? size : FILLED) / array->bytes;
        if (!count || !writable(given[a]))
            continue;
        if (array->fill == INDICES)
            draw_indices((unsigned char *)given[a], count, array->bytes);
        else if (array->fill == NUMBERS && pick(2))
            draw_numbers((unsigned char *)given[a], count, array);
    }
}

static uint64_t mixed(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * 0x9e3779b97f4a7c15ull;
    return hash ^ hash >> 29;
}

static void add(struct outcome *to, int a, const struct array *array, const unsigned char *at, size_t size)
{
    uint64_t hash[4] = {to->hash[a], 1, 2, 3};
    size_t k = 0;
    if (array->floating && array->bytes == 8 && (uintptr_t)at % 8 == 0) {
        for (; k + 8 <= size; k += 8) {
            double value = *(const double *)(at + k);
            uint64_t bits = 0x7ff8000000000000ull; /* every NaN counts as the same */
            if (value == value) {
                memcpy(&bits, at + k, 8);
                to->sum[a] += value, to->magnitude[a] += __builtin_fabs(value);
            }
            hash[k / 8 % 4] = mixed(hash[k / 8 % 4], bits);
        }
    } else if (array->floating && array->bytes == 4 && (uintptr_t)at % 4 == 0) {
        for (; k + 4 <= size; k += 4) {
            float value = *(const float *)(at + k);
            uint32_t bits = 0x7fc00000u;
            if (value == value) {
                memcpy(&bits, at + k, 4);
                to->sum[a] += value, to->magnitude[a] += __builtin_fabs((double)value);
            }
            hash[k / 4 % 4] = mixed(hash[k / 4 % 4], bits);
        }
    }
    for (; k + 8 <= size; k += 8) {
        uint64_t bits;
        memcpy(&bits, at + k, 8);
        hash[k / 8 % 4] = mixed(hash[k / 8 % 4], bits);
    }
    for (; k < size; k++)
        hash[0] = mixed(hash[0], at[k]);
    to->hash[a] = mixed(mixed(mixed(hash[0], hash[1]), hash[2]), hash[3]);
}

static void add_rows(struct outcome *to, int a, const struct array *array, const void *at, int level)
{
    const char *begin;
    size_t size = object(at, level ? 0 : array->known, &begin);
    const void *first = NULL;
    size_t first_size = 0;
    if (!size)
        return;
    if (!level) {
        add(to, a, array, (const unsigned char *)begin, size);
        return;
    }
    at = begin;
    for (size_t k = 0; k + sizeof at <= size; k += sizeof at) {
        const void *row;
        memcpy(&row, (const char *)at + k, sizeof row);
        if (!row || ((const char *)row >= (const char *)first && (const char *)row < (const char *)first + first_size))
            continue; /* rows that lie one behind the other are looked at once */
        first = row, first_size = size_behind(row, 0);
        add_rows(to, a, array, row, level - 1);
    }
}

void perfembed_after(int k)
{
    struct outcome *to = &outcomes[side];
    const struct nest *nest = &nests[k];
    for (int a = 0; a < nest->arrays; a++) {
        const struct array *array = &nest->array[a];
        if (!array->written)
            continue;
        if (array->scalar)
            add(to, a, array, addresses[a], array->bytes);
        else if (!size_behind(addresses[a], array->known))
            to->unseen = 1;
        else
            add_rows(to, a, array, addresses[a], array->rows);
    }
    to->ended = 1;
    _exit(0);
}

void perfembed_fell_back(int k)
{
    if (child && k == target)
        outcomes[side].fell_back = 1;
}

void perfembed_leave(const int *function)
{
    if (child && functions && nests[target].function == *function)
        _exit(0); /* it did not come to the nest */
}
