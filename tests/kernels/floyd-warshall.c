/* All-pairs shortest paths on a dense random digraph (int weights, some edges missing). */
#include <stdio.h>
#include <stdlib.h>

#ifndef N
#ifdef SMALL
#define N 160
#elif defined XLARGE
#define N 2200
#else
#define N 1000
#endif
#endif

#define NO_EDGE 1000000

static void floyd_warshall(int n, int *dist)
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                dist[i * n + j] = dist[i * n + j] < dist[i * n + k] + dist[k * n + j]
                                      ? dist[i * n + j]
                                      : dist[i * n + k] + dist[k * n + j];
}

static void random_graph(int n, int *dist)
{
    unsigned s = 4242u;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s = s * 1664525u + 1013904223u;
            unsigned r = s >> 10;
            if (i == j)
                dist[i * n + j] = 0;
            else if (r % 16 < 13)
                dist[i * n + j] = NO_EDGE;
            else
                dist[i * n + j] = 1 + (int)(r / 16 % 5000);
        }
}

int main(void)
{
    int n = N;
    int *dist = malloc(sizeof(int) * n * n);
    unsigned long long h = 14695981039346656037ULL;
    long long sum = 0;
    if (dist == NULL)
        return 1;

    random_graph(n, dist);
    floyd_warshall(n, dist);

    for (int i = 0; i < n * n; i++) {
        sum += dist[i];
        h = (h ^ (unsigned)dist[i]) * 1099511628211ULL;
    }
    printf("%016llx %lld\n", h, sum);
    free(dist);
    return 0;
}
