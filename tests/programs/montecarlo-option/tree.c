/* binomial trees, backward from expiry */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "option.h"

static double intrinsic(const Option *o, double s)
{
    double v = o->side * (s - o->strike);

    return v > 0.0 ? v : 0.0;
}

TreeResult tree_price(const Option *o, const Market *m, int steps)
{
    TreeResult res = { 0.0, 0.0, 0.0, 0.0, 0 };
    double dt = o->expiry / steps;
    double u = exp(m->vol * sqrt(dt)), d = 1.0 / u;
    double q = (exp((m->rate - m->dividend) * dt) - d) / (u - d);
    double df = exp(-m->rate * dt);
    double up = df * q, dn = df * (1.0 - q);
    double *v = calloc(steps + 1, sizeof(double));
    double *s = calloc(2 * steps + 1, sizeof(double));
    double v2[3] = { 0.0, 0.0, 0.0 }, v1[2] = { 0.0, 0.0 };
    int t, k;

    if (!v || !s) {
        fprintf(stderr, "montecarlo-option: out of memory\n");
        exit(1);
    }

    /* all prices of the tree: s[steps + n] after n more ups than downs */
    s[steps] = o->spot;
    for (k = 1; k <= steps; k++) {
        s[steps + k] = s[steps + k - 1] * u;
        s[steps - k] = s[steps - k + 1] * d;
    }

    for (k = 0; k <= steps; k++) {
        double x = s[2 * k];
        switch (o->type) {
        case DIGITAL:
            v[k] = o->side * (x - o->strike) > 0.0 ? 1.0 : 0.0;
            break;
        case BARRIER_OUT:
            v[k] = knocked_out(o, x) ? 0.0 : intrinsic(o, x);
            break;
        default:
            v[k] = intrinsic(o, x);
            break;
        }
    }

    for (t = steps - 1; t >= 0; t--) {
        for (k = 0; k <= t; k++)
            v[k] = up * v[k + 1] + dn * v[k];

        if (o->type == AMERICAN) {
            for (k = 0; k <= t; k++) {
                double now = intrinsic(o, s[steps - t + 2 * k]);
                if (now > v[k]) {
                    v[k] = now;
                    res.exercised++;
                }
            }
        } else if (o->type == BARRIER_OUT) {
            for (k = 0; k <= t; k++)
                if (knocked_out(o, s[steps - t + 2 * k]))
                    v[k] = 0.0;
        }
        if (t == 2)
            for (k = 0; k < 3; k++)
                v2[k] = v[k];
        if (t == 1)
            for (k = 0; k < 2; k++)
                v1[k] = v[k];
    }

    res.price = v[0];
    if (steps >= 2) {
        double hi = (v2[2] - v2[1]) / (s[steps + 2] - s[steps]);
        double lo = (v2[1] - v2[0]) / (s[steps] - s[steps - 2]);
        res.delta = (v1[1] - v1[0]) / (s[steps + 1] - s[steps - 1]);
        res.gamma = (hi - lo) / (0.5 * (s[steps + 2] - s[steps - 2]));
        res.theta = (v2[1] - v[0]) / (2.0 * dt);
    }
    free(v);
    free(s);
    return res;
}
