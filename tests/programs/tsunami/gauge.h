/* gauge.h - tide gauges: time series of the surface at a few places */
#ifndef GAUGE_H
#define GAUGE_H

#define MAXGAUGE 8
#define MAXSAMPLE 4096

struct gauge {
    const char *name;
    int i, j;
    int n;
    float level[MAXSAMPLE];
    float when[MAXSAMPLE];
};

extern struct gauge gauges[MAXGAUGE];
extern int ngauges;

int gauge_add(const char *name, int i, int j);
void gauge_record(int g, double t, double level);
void gauge_report(void);

#endif
