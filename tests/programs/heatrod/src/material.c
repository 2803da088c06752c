#include "heatrod.h"

static const Material table[] = {
    { "steel", 45.0, -3.0e-4, 7850.0, 470.0 },
    { "copper", 390.0, -1.5e-4, 8960.0, 385.0 },
    { "ceramic", 2.5, 8.0e-4, 2300.0, 880.0 },
    { "air gap", 0.026, 2.0e-3, 1.2, 1005.0 },
};

int material_count(void)
{
    return sizeof table / sizeof table[0];
}

const Material *material_get(int number)
{
    return &table[number];
}

/* x and y as fractions of the plate */
int material_at(double x, double y)
{
    double dx = x - 0.55, dy = y - 0.5;

    if (dx * dx + dy * dy < 0.02)
        return 2;
    if (y > 0.45 && y < 0.55 && x < 0.35)
        return 1;
    if (x > 0.85)
        return 1;
    if (x > 0.45 && x < 0.46 && y < 0.3)
        return 3;
    return 0;
}

double material_k(const Material *mt, double T)
{
    double f = 1.0 + mt->k1 * (T - 300.0);

    if (f < 0.2)
        f = 0.2;
    return mt->k0 * f;
}
