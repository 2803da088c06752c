/* Included before the user's file: what the inserted calls need, and nothing that could change the file. */
#ifndef PERFEMBED_FUZZ_H
#define PERFEMBED_FUZZ_H
struct perfembed_value {
    void *at;
    unsigned long bytes;
    int kind; /* 0: no integer, 1: unsigned, 2: signed */
};
int perfembed_way(int nest); /* 1: as written, 2: what it leaves is kept */
void perfembed_before(int nest, const void *const *addresses);
void perfembed_after(int nest);
void perfembed_fell_back(int nest);
void perfembed_enter(int function, const struct perfembed_value *values);
void perfembed_leave(const int *function);
#define PERFEMBED_KIND(x)                                                                                              \
    _Generic((x), signed char: 2, short: 2, int: 2, long: 2, long long: 2, unsigned char: 1, unsigned short: 1,        \
             unsigned: 1, unsigned long: 1, unsigned long long: 1, default: 0)
#define PERFEMBED_VALUE(x) {(void *)&(x), sizeof(x), PERFEMBED_KIND(x)}
#endif
