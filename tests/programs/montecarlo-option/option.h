#ifndef OPTION_H
#define OPTION_H

typedef enum {
    EUROPEAN,
    ASIAN,          /* arithmetic mean over the dates */
    LOOKBACK,       /* against the extreme of the path */
    BARRIER_OUT,    /* worthless once the barrier was touched */
    DIGITAL,        /* pays one unit */
    AMERICAN        /* tree only */
} OptionType;

typedef enum { CALL = 1, PUT = -1 } Side;

typedef struct {
    OptionType type;
    Side side;
    double spot;
    double strike;
    double barrier;
    double expiry;      /* years */
} Option;

typedef struct {
    double rate;
    double dividend;
    double vol;
} Market;

typedef struct {
    double price;
    double error;       /* standard error */
    double delta;
    long alive;         /* paths that reached expiry */
} McResult;

typedef struct {
    double price, delta, gamma, theta;
    long exercised;     /* nodes where early exercise pays */
} TreeResult;

const char *option_name(const Option *o);

/* payoff.c */
double payoff(const Option *o, double last, double mean, double low, double high);
int knocked_out(const Option *o, double s);

/* mc.c */
McResult mc_price(const Option *o, const Market *m, long paths, int dates,
                  unsigned seed);

/* tree.c */
TreeResult tree_price(const Option *o, const Market *m, int steps);

/* blackscholes.c */
double bs_price(const Option *o, const Market *m);
double bs_delta(const Option *o, const Market *m);
double bs_vega(const Option *o, const Market *m);
int implied_vol(const Option *o, const Market *m, double price, double *vol);

#endif
