#include "grid.h"
#include <stdio.h>

static grid a, b, c;

int main(int argc, char **argv)
{
    int steps = argc > 1 ? argv[1][0] - '0' : 9;
    start(a, 1);
    start(b, 2);
    product(c, a, b);
    report("product", c);
    relax(c, a, 10 * steps);
    report("relaxed", c);
    for (int k = 0; k < 2 * steps; k++) {
        turn(b, c);
        turn(c, b);
        scale(c, 0.75);
    }
    report("turned", b);
    printf("trace %.10g norm %.10g\n", trace(b), norm(b));
    return 0;
}
