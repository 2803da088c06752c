/* average linkage: the two nearest groups are joined until one is left */
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "align.h"

double build_tree(double **dist, int n, Seq *s, char *out, int room)
{
    int *size = malloc(n * sizeof(int));
    double *height = malloc(n * sizeof(double));
    char **label = malloc(n * sizeof(char *));
    int left = n, i, j;
    double total = 0.0;

    if (!size || !height || !label) {
        fprintf(stderr, "dp-align: out of memory\n");
        exit(1);
    }
    for (i = 0; i < n; i++) {
        size[i] = 1;
        height[i] = 0.0;
        label[i] = malloc(room);
        if (!label[i]) {
            fprintf(stderr, "dp-align: out of memory\n");
            exit(1);
        }
        snprintf(label[i], room, "%s", s[i].name);
    }

    while (left > 1) {
        double best = DBL_MAX;
        int p = -1, q = -1;
        char *joined;

        for (i = 0; i < n; i++) {
            if (size[i] == 0)
                continue;
            for (j = i + 1; j < n; j++) {
                if (size[j] == 0)
                    continue;
                if (dist[i][j] < best) {
                    best = dist[i][j];
                    p = i;
                    q = j;
                }
            }
        }
        total += best - height[p] / 2 - height[q] / 2;
        joined = malloc(room);
        if (!joined) {
            fprintf(stderr, "dp-align: out of memory\n");
            exit(1);
        }
        strcpy(joined, "(");
        strncat(joined, label[p], room - strlen(joined) - 1);
        strncat(joined, ",", room - strlen(joined) - 1);
        strncat(joined, label[q], room - strlen(joined) - 1);
        strncat(joined, ")", room - strlen(joined) - 1);
        free(label[p]);
        label[p] = joined;
        for (i = 0; i < n; i++) {
            if (size[i] == 0 || i == p || i == q)
                continue;
            dist[p][i] = dist[i][p] =
                (size[p] * dist[p][i] + size[q] * dist[q][i]) / (size[p] + size[q]);
        }
        size[p] += size[q];
        size[q] = 0;
        height[p] = best;
        left--;
    }

    for (i = 0; i < n; i++) {
        if (size[i])
            snprintf(out, room, "%s", label[i]);
        free(label[i]);
    }
    free(label);
    free(size);
    free(height);
    return total;
}
