/* Count primes below N by trial division: the number of divisors of every n, without early exit. */
#include <stdio.h>

#ifndef N
#ifdef SMALL
#define N 2000
#elif defined XLARGE
#define N 100000
#else
#define N 24000
#endif
#endif

static int divisors[N];

int main(void)
{
    int primes = 0;
    long long sum = 0;
    unsigned long long h = 14695981039346656037ULL;

    for (int n = 2; n < N; n++) {
        int count = 0;
        for (int d = 1; d <= n; d++)
            if (n % d == 0)
                count++;
        divisors[n] = count;
        if (count == 2)
            primes++;
    }

    for (int n = 0; n < N; n++) {
        sum += (long long)n * divisors[n];
        h = (h ^ (unsigned)divisors[n]) * 1099511628211ULL;
    }
    printf("%016llx %d %lld\n", h, primes, sum);
    return 0;
}
