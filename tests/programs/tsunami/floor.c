/* floor.c - a deep plain, a slope, a shelf with a canyon and an island, a beach */
#include <math.h>
#include "ocean.h"

double sea_floor(int i, int j)
{
    double x = (double)i / NX, y = (double)j / NY;
    double d;

    if (x < 0.6)
        d = 1500.0;
    else if (x < 0.75)
        d = 1500.0 - (x - 0.6) / 0.15 * 1380.0;
    else if (x < 0.93)
        d = 120.0 - (x - 0.75) / 0.18 * 108.0;
    else
        d = 12.0 - (x - 0.93) / 0.07 * 30.0;

    /* canyon across the shelf */
    if (x > 0.65)
        d += 150.0 * exp(-SQR((y - 0.62) / 0.03)) * (x < 0.85 ? 1.0 : MAX(0.0, (0.93 - x) / 0.08));
    /* island */
    d -= 400.0 * exp(-(SQR((x - 0.82) / 0.02) + SQR((y - 0.35) / 0.04)));
    /* ridges of the deep sea */
    if (x < 0.5)
        d += 120.0 * sin(40.0 * x) * cos(17.0 * y);
    return d;
}

double uplift(int i, int j)
{
    double x = (double)i / NX - 0.58, y = (double)j / NY - 0.5;
    double along = exp(-SQR(y / 0.15));

    return along * (3.0 * exp(-SQR(x / 0.02)) - 1.5 * exp(-SQR((x + 0.05) / 0.03)));
}
