/* A program of its own that calls the library. */
#include "grid.h"
#include <stdio.h>

static grid a, b, c;

int main(void)
{
    start(a, 3);
    start(b, 4);
    product(c, a, b);
    report("check", c);
    return 0;
}
