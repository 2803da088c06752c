#include <math.h>
#include "option.h"
#include "rng.h"

/* one path and its mirror image; returns the mean of the two payoffs */
static double walk(const Option *o, double s0, double drift, double sdev,
                   int dates, Rng *r, int *alive)
{
    double a = s0, b = s0;
    double sum_a = 0.0, sum_b = 0.0;
    double low_a = s0, low_b = s0, high_a = s0, high_b = s0;
    int dead_a = 0, dead_b = 0;
    int k;

    for (k = 0; k < dates; k++) {
        double z = sdev * rng_normal(r);

        a *= exp(drift + z);
        b *= exp(drift - z);
        if (!dead_a && knocked_out(o, a))
            dead_a = 1;
        if (!dead_b && knocked_out(o, b))
            dead_b = 1;
        if (dead_a && dead_b)
            break;
        sum_a += a;
        sum_b += b;
        low_a = fmin(low_a, a);
        low_b = fmin(low_b, b);
        high_a = fmax(high_a, a);
        high_b = fmax(high_b, b);
    }
    *alive += !dead_a + !dead_b;
    return 0.5 * ((dead_a ? 0.0 : payoff(o, a, sum_a / dates, low_a, high_a))
                  + (dead_b ? 0.0 : payoff(o, b, sum_b / dates, low_b, high_b)));
}

McResult mc_price(const Option *o, const Market *m, long paths, int dates,
                  unsigned seed)
{
    McResult res;
    double dt = o->expiry / dates;
    double drift = (m->rate - m->dividend - 0.5 * m->vol * m->vol) * dt;
    double sdev = m->vol * sqrt(dt);
    double discount = exp(-m->rate * o->expiry);
    double bump = 0.01 * o->spot;
    double sum = 0.0, sum2 = 0.0, up = 0.0, down = 0.0;
    double mean, var;
    long alive = 0, p;

#pragma omp parallel for schedule(static) reduction(+:sum, sum2, up, down, alive)
    for (p = 0; p < paths; p++) {
        Rng r;
        double v;
        int n = 0, unused = 0;

        rng_seed(&r, seed, p);
        v = walk(o, o->spot, drift, sdev, dates, &r, &n);
        sum += v;
        sum2 += v * v;
        alive += n;

        /* the same numbers from a higher and a lower spot, on a few paths */
        if (p % 8 == 0) {
            rng_seed(&r, seed, p);
            up += walk(o, o->spot + bump, drift, sdev, dates, &r, &unused);
            rng_seed(&r, seed, p);
            down += walk(o, o->spot - bump, drift, sdev, dates, &r, &unused);
        }
    }

    mean = sum / paths;
    var = sum2 / paths - mean * mean;
    res.price = discount * mean;
    res.error = discount * sqrt(var / paths);
    res.delta = discount * (up - down) / (2.0 * bump * ((paths + 7) / 8));
    res.alive = alive;
    return res;
}
