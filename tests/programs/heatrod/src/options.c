#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "heatrod.h"

static const char *const names[] = { "jacobi", "seidel", "redblack" };

const char *method_name(Method m)
{
    return names[m];
}

int options_parse(Options *o, int argc, char **argv)
{
    int k;

    o->ni = 100;
    o->nj = 80;
    o->steps = 4;
    o->dt = 20.0;
    o->tol = 1e-9;
    o->max_iter = 20000;
    o->method = SOLVE_JACOBI;

    if (argc > 1)
        o->ni = atoi(argv[1]);
    if (argc > 2)
        o->nj = atoi(argv[2]);
    if (argc > 3)
        o->steps = atoi(argv[3]);
    if (argc > 4) {
        for (k = 0; k < 3; k++)
            if (strcmp(argv[4], names[k]) == 0)
                break;
        if (k == 3) {
            fprintf(stderr, "heatrod: unknown method %s\n", argv[4]);
            return 0;
        }
        o->method = (Method)k;
    }
    if (argc > 5)
        o->dt = atof(argv[5]);
    if (argc > 6)
        o->tol = atof(argv[6]);

    if (o->ni < 8 || o->nj < 8 || o->steps < 1 || o->dt <= 0.0) {
        fprintf(stderr,
                "usage: heatrod ni nj steps [jacobi|seidel|redblack] [dt] [tol]\n");
        return 0;
    }
    return 1;
}
