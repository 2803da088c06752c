/* Which values a nest is tried on; part of fuzz_runtime.c. */

static uint64_t extreme(void)
{
    static const uint64_t some[] = {0, 1, 2, ~0ull, ~1ull, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x7ffffffe, 0x80000000,
                                    0x80000001, 0xffffffff, 0xfffffffe, 0x100000000, 0x7fffffffffffffff, 0x7ffffffffffffffe,
                                    0x8000000000000000, 0x8000000000000001};
    uint64_t at = pick(sizeof some / sizeof *some + extreme_count);
    return at < sizeof some / sizeof *some ? some[at] : (uint64_t)extents[at - sizeof some / sizeof *some] + pick(3) - 1;
}

static uint64_t small(void)
{
    static const unsigned char some[] = {0, 1, 2, 3, 5, 7, 8, 13, 17, 31};
    return some[pick(sizeof some)];
}

static uint64_t truncated(uint64_t value, const struct perfembed_value *of)
{
    int shift = 64 - 8 * (int)(of->bytes < 8 ? of->bytes : 8);
    value <<= shift;
    return of->kind == 2 ? (uint64_t)((int64_t)value >> shift) : value >> shift;
}

/* What is tried, some of each kind in turn. */
static int planned(int k, struct draw *draws, const struct perfembed_value *values)
{
    static struct draw kinds[KINDS][DRAWS];
    int made[KINDS] = {0}, kind = 0;
    static const unsigned char sizes[] = {7, 31, 1, 2, 0, 13, 3};
    static const uint64_t edges[] = {0x7fffffffffffffff, 0x7fffffff, ~0ull, 0xffffffff, 0};
    const struct nest *nest = &nests[k];
    const int count = nest->function >= 0 ? functions[nest->function].values : 0;
    const int pairs = nest->function >= 0 ? functions[nest->function].pairs : 0;
    struct draw base = {{0}, 0, 0, 0, 0};
    int integers = 0, indices = 0, n = 0;
    for (int v = 0; v < count; v++) {
        base.value[v] = 0;
        if (values[v].at && values[v].kind) {
            memcpy(&base.value[v], values[v].at, values[v].bytes < 8 ? values[v].bytes : 8);
            base.value[v] = truncated(base.value[v], &values[v]);
            integers++;
        }
    }
    for (int a = 0; a < nest->arrays; a++)
        indices += nest->array[a].fill == INDICES;
#define FOR_EACH for (int v = 0; v < count; v++) if (values[v].kind)
#define SET(v, x) (draw->value[v] = truncated(x, &values[v]))
#define NEXT                                                                                                           \
    struct draw *draw = &kinds[kind][made[kind]++];                                                                    \
    *draw = base;                                                                                                      \
    draw->contents = pick(2)
    for (unsigned s = 0; integers && s < sizeof sizes; s++) {
        NEXT;
        FOR_EACH SET(v, sizes[s]);
    }
    kind++;
    for (int s = 0; integers > 1 && s < 14; s++) { /* also offsets beyond sizes */
        NEXT;
        FOR_EACH SET(v, small());
    }
    kind++;
    for (int s = 0; indices && s < 16; s++) {
        NEXT;
        draw->contents = 1;
        uint64_t all = small();
        FOR_EACH if (base.value[v] > 64 || s % 2) SET(v, all);
    }
    kind++;
    for (int s = 0; integers && s < 20; s++) { /* near where types end: up to there, or beyond */
        NEXT;
        int at = 0;
        draw->far = 1;
        FOR_EACH SET(v, edges[s % 5] + (s % 2 ? pick(27) - 13 : ++at == integers ? 0 : -pick(14)));
    }
    kind++;
    for (int s = 0; integers && s < 6 + 4 * integers && s < 18; s++) { /* one extreme, the others small or as they are */
        NEXT;
        int chosen = pick(integers), at = 0, kept = pick(3) == 0;
        draw->far = 1;
        FOR_EACH SET(v, at++ == chosen ? extreme() : kept ? base.value[v] : small());
    }
    kind++;
    for (int p = 0; p < pairs; p++) {
        NEXT;
        draw->pair = p + 1;
        FOR_EACH SET(v, small());
    }
    kind++;
    for (int s = 0; s < 4; s++) { /* the program's own values, or nearly */
        NEXT;
        draw->contents = s > 0;
        if (s > 1)
            FOR_EACH SET(v, s == 2 ? base.value[v] / 2 : base.value[v] - 1);
    }
    const int own = kind;
    for (int number = 0; number < DRAWS; number++) /* some of each kind in turn, the program's own values last */
        for (kind = 0; kind < own && n < DRAWS; kind++)
            if (number < made[kind])
                kinds[kind][number].kind = kind, draws[n++] = kinds[kind][number];
    for (int number = 0; number < made[own] && n < DRAWS; number++)
        kinds[own][number].kind = own, draws[n++] = kinds[own][number];
    return n;
}
