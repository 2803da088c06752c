#include <math.h>
#include "option.h"

static const char *const type_names[] = {
    "European", "Asian", "lookback", "knock-out", "digital", "American"
};

const char *option_name(const Option *o)
{
    return type_names[o->type];
}

static double plain(const Option *o, double s)
{
    double v = o->side * (s - o->strike);

    return v > 0.0 ? v : 0.0;
}

double payoff(const Option *o, double last, double mean, double low, double high)
{
    switch (o->type) {
    case EUROPEAN:
    case BARRIER_OUT:
    case AMERICAN:
        return plain(o, last);
    case ASIAN:
        return plain(o, mean);
    case LOOKBACK:
        return o->side == CALL ? last - low : high - last;
    case DIGITAL:
        return o->side * (last - o->strike) > 0.0 ? 1.0 : 0.0;
    }
    return 0.0;
}

/* a barrier above the spot is an up-barrier, one below it a down-barrier */
int knocked_out(const Option *o, double s)
{
    if (o->type != BARRIER_OUT)
        return 0;
    if (o->barrier > o->spot)
        return s >= o->barrier;
    return s <= o->barrier;
}
