/*
 * montecarlo-option PATHS DATES TREE_STEPS
 *
 * Prices a small book of options by simulation and by trees, and the
 * volatility smile of a made-up market.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include "option.h"

static const Option book[] = {
    { EUROPEAN, CALL, 100.0, 105.0, 0.0, 1.0 },
    { EUROPEAN, PUT, 100.0, 95.0, 0.0, 0.5 },
    { ASIAN, CALL, 100.0, 100.0, 0.0, 1.0 },
    { LOOKBACK, PUT, 100.0, 0.0, 0.0, 0.75 },
    { BARRIER_OUT, CALL, 100.0, 100.0, 130.0, 1.0 },
    { BARRIER_OUT, PUT, 100.0, 105.0, 85.0, 0.5 },
    { DIGITAL, CALL, 100.0, 110.0, 0.0, 1.0 },
};
#define BOOK ((int)(sizeof book / sizeof book[0]))

#define STRIKES 24

static void price_book(const Market *m, long paths, int dates)
{
    double total = 0.0;
    int i;

    printf("book, %ld paths of %d dates\n", paths, dates);
    for (i = 0; i < BOOK; i++) {
        McResult r = mc_price(&book[i], m, paths, dates, 77u + (unsigned)i);

        printf("  %-9s %-4s  %.10g +- %.4g  delta %.8g  alive %ld\n",
               option_name(&book[i]), book[i].side == CALL ? "call" : "put",
               r.price, r.error, r.delta, r.alive);
        if (book[i].type == EUROPEAN || book[i].type == DIGITAL) {
            double exact = bs_price(&book[i], m);
            printf("    formula %.10g, %s\n", exact,
                   fabs(exact - r.price) < 4.0 * r.error ? "agrees" : "differs");
        }
        total += r.price;
    }
    printf("  value of the book %.10g\n", total);
}

static void price_trees(const Market *m, int steps)
{
    static const OptionType types[] = { EUROPEAN, AMERICAN, BARRIER_OUT, DIGITAL };
    int i;

    printf("trees of %d steps\n", steps);
    for (i = 0; i < 4; i++) {
        Option o = { types[i], PUT, 100.0, 102.5, 80.3, 1.0 };
        TreeResult r = tree_price(&o, m, steps);

        printf("  %-9s put   %.10g  delta %.8g  gamma %.7g  theta %.7g\n",
               option_name(&o), r.price, r.delta, r.gamma, r.theta);
        if (o.type == AMERICAN)
            printf("    exercised early at %.3g of the nodes\n",
                   (double)r.exercised / (0.5 * steps * (steps + 1.0)));
    }
}

/* American puts over a range of strikes, one tree for each */
static void strike_ladder(const Market *m, int steps)
{
    double premium[STRIKES], value[STRIKES];
    double sum = 0.0, best = 0.0;
    int i, at = 0;

#pragma omp parallel for schedule(dynamic, 1) reduction(+:sum)
    for (i = 0; i < STRIKES; i++) {
        Option o = { AMERICAN, PUT, 100.0, 80.3 + 2.0 * i, 0.0, 1.5 };

        value[i] = tree_price(&o, m, steps).price;
        premium[i] = value[i] - bs_price(&o, m);
        sum += value[i];
    }
    for (i = 0; i < STRIKES; i++)
        if (premium[i] > best) {
            best = premium[i];
            at = i;
        }
    printf("ladder of %d strikes: sum %.10g, largest premium %.7g at %.4g\n", STRIKES, sum,
           best, 80.3 + 2.0 * at);
}

static void smile(const Market *m)
{
    int i, steps = 0;

    printf("smile\n");
    for (i = 0; i < 9; i++) {
        Option o = { EUROPEAN, CALL, 100.0, 80.0 + 5.0 * i, 0.0, 0.5 };
        Market skewed = *m;
        double k = log(o.strike / o.spot), vol;

        skewed.vol = m->vol + 0.4 * k * k - 0.1 * k;
        steps += implied_vol(&o, m, bs_price(&o, &skewed) + 0.01, &vol);
        printf("  strike %5.1f  volatility %.9g  delta %.8g  vega %.8g\n", o.strike, vol,
               bs_delta(&o, &skewed), bs_vega(&o, &skewed));
    }
    printf("  %s\n", steps < 100 ? "found quickly" : "found slowly");
}

int main(int argc, char **argv)
{
    Market m = { 0.03, 0.01, 0.25 };
    long paths = argc > 1 ? atol(argv[1]) : 50000;
    int dates = argc > 2 ? atoi(argv[2]) : 50;
    int steps = argc > 3 ? atoi(argv[3]) : 500;

    if (paths < 2 || dates < 1 || steps < 3) {
        fprintf(stderr, "usage: %s paths dates steps\n", argv[0]);
        return 2;
    }
    price_book(&m, paths, dates);
    price_trees(&m, steps);
    strike_ladder(&m, steps);
    smile(&m);
    return 0;
}
