#include <math.h>
#include "option.h"

static double cdf(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440);
}

static double density(double x)
{
    return 0.39894228040143267794 * exp(-0.5 * x * x);
}

static double d1(const Option *o, const Market *m)
{
    return (log(o->spot / o->strike)
            + (m->rate - m->dividend + 0.5 * m->vol * m->vol) * o->expiry)
           / (m->vol * sqrt(o->expiry));
}

double bs_price(const Option *o, const Market *m)
{
    double x = d1(o, m), y = x - m->vol * sqrt(o->expiry);
    double df = exp(-m->rate * o->expiry), qf = exp(-m->dividend * o->expiry);

    switch (o->type) {
    case DIGITAL:
        return df * cdf(o->side * y);
    default:
        return o->side * (o->spot * qf * cdf(o->side * x) - o->strike * df * cdf(o->side * y));
    }
}

double bs_delta(const Option *o, const Market *m)
{
    return o->side * exp(-m->dividend * o->expiry) * cdf(o->side * d1(o, m));
}

double bs_vega(const Option *o, const Market *m)
{
    return o->spot * exp(-m->dividend * o->expiry) * density(d1(o, m)) * sqrt(o->expiry);
}

/* volatility that explains a price: Newton, kept inside a bracket */
int implied_vol(const Option *o, const Market *m, double price, double *vol)
{
    Market t = *m;
    double lo = 1e-4, hi = 4.0;
    int steps = 0;

    t.vol = 0.3;
    while (hi - lo > 1e-12 && steps < 200) {
        double diff = bs_price(o, &t) - price;
        double vega = bs_vega(o, &t);
        double next;

        if (fabs(diff) < 1e-13 * price)
            break;
        if (diff > 0.0)
            hi = t.vol;
        else
            lo = t.vol;
        next = vega > 1e-10 ? t.vol - diff / vega : 0.5 * (lo + hi);
        if (next <= lo || next >= hi)
            next = 0.5 * (lo + hi);
        t.vol = next;
        steps++;
    }
    *vol = t.vol;
    return steps;
}
