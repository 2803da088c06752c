/* init.c - initial conditions */
#include <math.h>
#include <string.h>
#include "euler.h"
#include "gas.h"

static const double PI = 3.14159265358979323846;

typedef struct prim (*init_fn)(double x, double y);

/* four quadrants that meet in one point and send out shocks and contacts */
static struct prim init_quad(double x, double y)
{
    if (x >= 0.8 && y >= 0.8)
        return (struct prim){ 1.5, 0.0, 0.0, 1.5 };
    if (x < 0.8 && y >= 0.8)
        return (struct prim){ 0.5323, 1.206, 0.0, 0.3 };
    if (x < 0.8)
        return (struct prim){ 0.138, 1.206, 1.206, 0.029 };
    return (struct prim){ 0.5323, 0.0, 1.206, 0.3 };
}

/* a hot bubble in a closed box, off centre */
static struct prim init_blast(double x, double y)
{
    double r = hypot(x - 0.4, y - 0.55);

    if (r < 0.1)
        return (struct prim){ 1.0, 0.0, 0.0, 10.0 };
    if (r < 0.12)
        return (struct prim){ 1.0, 0.0, 0.0, 10.0 - 9.9 * (r - 0.1) / 0.02 };
    return (struct prim){ 1.0, 0.0, 0.0, 0.1 };
}

/* a jet in a periodic box, with a small kick across it */
static struct prim init_shear(double x, double y)
{
    double jet = tanh((y - 0.25) / 0.03) - tanh((y - 0.75) / 0.03) - 1.0;
    struct prim w;

    w.rho = 1.5 + 0.5 * jet;
    w.u = 0.5 * jet;
    w.v = 0.02 * sin(4.0 * PI * x);
    w.p = 2.5;
    return w;
}

static const struct {
    const char *name;
    init_fn fn;
    enum bc bcx, bcy;
} cases[] = {
    { "quad", init_quad, BC_OUTFLOW, BC_OUTFLOW },
    { "blast", init_blast, BC_WALL, BC_WALL },
    { "shear", init_shear, BC_PERIODIC, BC_PERIODIC },
};

int init_case(struct grid *g, const char *name)
{
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        if (strcmp(cases[c].name, name) != 0)
            continue;
        g->bcx = cases[c].bcx;
        g->bcy = cases[c].bcy;
        for (int j = 0; j < g->ny; j++)
            for (int i = 0; i < g->nx; i++) {
                double x = g->x0 + (i + 0.5) * g->dx;
                double y = g->y0 + (j + 0.5) * g->dy;
                g->cell[CELL(g, i, j)] = to_cons(cases[c].fn(x, y));
            }
        return 1;
    }
    return 0;
}
