/*
 * dp-align SEQUENCES LENGTH SEED
 *
 * Aligns every pair of a made-up protein family: a quick filter first, then
 * a local alignment (banded when the filter found a good diagonal near the
 * middle), and a global one for the pairs that look related.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "align.h"

#define TREE_ROOM 4096

typedef struct {
    int a, b;
    int seed_score, seed_diag;
    int related;
    Alignment local, global;
} Pair;

static void show_ends(const Seq *s, int beg, int end)
{
    int k;

    printf("    %s %5d ", s->name, beg + 1);
    for (k = beg; k < MIN2(beg + 24, end); k++)
        putchar(s->res[k]);
    printf("%s %d\n", end - beg > 24 ? "..." : "", end);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 10;
    int length = argc > 2 ? atoi(argv[2]) : 500;
    unsigned seed = argc > 3 ? (unsigned)atoi(argv[3]) : 11u;
    int npairs, i, j, k, p, best = 0, related = 0, banded = 0;
    long cells = 0, local_sum = 0, global_sum = 0;
    unsigned long hash = 0;
    double **dist, height;
    Scoring sc;
    Seq *s;
    Pair *pair;
    char tree[TREE_ROOM];

    if (n < 2 || n > 1000 || length < 20) {
        fprintf(stderr, "usage: %s sequences length seed\n", argv[0]);
        return 1;
    }
    s = make_family(n, length, seed);
    make_scoring(&sc, 10, 1);

    npairs = n * (n - 1) / 2;
    pair = malloc(npairs * sizeof(Pair));
    dist = malloc(n * sizeof(double *));
    if (!pair || !dist)
        return 1;
    for (i = 0; i < n; i++)
        if (!(dist[i] = calloc(n, sizeof(double))))
            return 1;
    p = 0;
    for (i = 0; i < n; i++)
        for (j = i + 1; j < n; j++) {
            pair[p].a = i;
            pair[p].b = j;
            p++;
        }

#pragma omp parallel for schedule(dynamic, 1) reduction(+:cells, local_sum, global_sum, related, banded)
    for (p = 0; p < npairs; p++) {
        Pair *q = &pair[p];
        const Seq *a = &s[q->a], *b = &s[q->b];
        int band = 0;

        q->seed_score = longest_common_diagonal(a, b, &sc, 15, &q->seed_diag);
        if (q->seed_score > 150 && abs(q->seed_diag) < a->len / 8) {
            band = MAX2(64, a->len / 4);
            banded++;
        }
        q->local = align_local(a, b, &sc, band);
        local_sum += q->local.score;
        cells += (long)a->len * b->len;
        q->related = 10 * q->local.identical > 3 * q->local.columns
            && q->local.columns > MIN2(a->len, b->len) / 4;
        if (q->related) {
            related++;
            q->global = align_global(a, b, &sc);
            global_sum += q->global.score;
        }
    }

    for (p = 0; p < npairs; p++) {
        const Pair *q = &pair[p];
        double d;

        hash = (hash * 131 + q->local.path_hash) % 1000003;
        if (q->related) {
            hash = (hash * 131 + q->global.path_hash) % 1000003;
            d = 1.0 - (double)q->global.identical / q->global.columns;
        } else {
            d = 1.0 + 1.0 / (1.0 + q->local.score);
        }
        dist[q->a][q->b] = dist[q->b][q->a] = d;
        if (q->local.score > pair[best].local.score)
            best = p;
    }

    printf("%d sequences, %d pairs, %ld cells\n", n, npairs, cells);
    printf("banded %d, related %d\n", banded, related);
    printf("sum of scores: local %ld, global %ld; paths %lu\n", local_sum, global_sum, hash);
    for (p = 0; p < npairs; p += MAX2(1, npairs / 12)) {
        const Alignment *l = &pair[p].local;
        printf("  %s %s seed %5d local %6d  %5d columns %5.1f%% identical %4d gaps\n",
               s[pair[p].a].name, s[pair[p].b].name, pair[p].seed_score, l->score,
               l->columns, l->columns ? 100.0 * l->identical / l->columns : 0.0, l->gaps);
    }
    k = best;
    printf("best pair: %s and %s, %d identical of %d columns\n", s[pair[k].a].name,
           s[pair[k].b].name, pair[k].local.identical, pair[k].local.columns);
    show_ends(&s[pair[k].a], pair[k].local.beg_a, pair[k].local.end_a);
    show_ends(&s[pair[k].b], pair[k].local.beg_b, pair[k].local.end_b);

    height = build_tree(dist, n, s, tree, TREE_ROOM);
    printf("tree %.10g %s\n", height, tree);

    for (i = 0; i < n; i++)
        free(dist[i]);
    free(dist);
    free(pair);
    free_family(s, n);
    return 0;
}
