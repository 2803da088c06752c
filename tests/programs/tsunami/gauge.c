#include <math.h>
#include <stdio.h>
#include "gauge.h"

struct gauge gauges[MAXGAUGE];
int ngauges;

int gauge_add(const char *name, int i, int j)
{
    if (ngauges == MAXGAUGE)
        return -1;
    gauges[ngauges].name = name;
    gauges[ngauges].i = i;
    gauges[ngauges].j = j;
    gauges[ngauges].n = 0;
    return ngauges++;
}

void gauge_record(int g, double t, double level)
{
    struct gauge *p = &gauges[g];

    if (p->n < MAXSAMPLE) {
        p->level[p->n] = (float)level;
        p->when[p->n] = (float)t;
        p->n++;
    }
}

void gauge_report(void)
{
    for (int g = 0; g < ngauges; g++) {
        const struct gauge *p = &gauges[g];
        double rms = 0.0;
        int top = 0, arrival = -1;

        if (p->n == 0)
            continue;
        for (int k = 0; k < p->n; k++) {
            rms += (double)p->level[k] * p->level[k];
            if (p->level[k] > p->level[top])
                top = k;
            if (arrival < 0 && fabs(p->level[k]) > 0.05)
                arrival = k;
        }
        printf("gauge %-8s rms %.6f m", p->name, sqrt(rms / p->n));
        if (arrival < 0)
            printf(", the wave has not come\n");
        else
            printf(", arrival %.0f s, highest %.5f m at %.0f s\n", p->when[arrival],
                   p->level[top], p->when[top]);
    }
}
