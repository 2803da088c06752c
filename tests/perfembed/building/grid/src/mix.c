#include "grid.h"

unsigned long mix(grid a)
{
    unsigned long sum = 5381;
    const unsigned char *bytes = (const unsigned char *)a;
    while (bytes < (const unsigned char *)(a + N)) sum = sum * 33 + *bytes++;
    return sum;
}
