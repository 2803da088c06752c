/* Pulse compression: a received signal, a known pulse, and where it is. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "fft.h"
#include "signal.h"

#define PEAKS 6

static uint64_t seed = 12345;

static double noise(void)
{
    double s = 0.0;

    for (int i = 0; i < 4; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        s += (double)(seed >> 40) / (double)(1u << 24) - 0.5;
    }
    return s;
}

static void make_pulse(struct complex *pulse, size_t n, size_t length)
{
    for (size_t i = 0; i < n; i++)
        pulse[i] = cnum(0.0, 0.0);
    for (size_t i = 0; i < length; i++) {
        double t = (double)i / (double)length - 0.5;
        double phase = 0.35 * M_PI * (double)length * t * t;
        double window = 0.54 + 0.46 * cos(2.0 * M_PI * t);

        pulse[i] = cnum(window * cos(phase), window * sin(phase));
    }
}

static void add_echo(struct complex *signal, const struct complex *pulse,
                     size_t n, size_t length, struct echo e)
{
    for (size_t i = 0; i < length && i + e.delay < n; i++)
        signal[i + e.delay] = cadd(signal[i + e.delay],
                                   cscale(e.amplitude, pulse[i]));
}

/* out = sum over i of signal[i + lag] * conj(pulse[i]) */
static struct complex direct(const struct complex *signal,
                             const struct complex *pulse,
                             size_t n, size_t length, size_t lag)
{
    struct complex s = { 0.0, 0.0 };

    for (size_t i = 0; i < length; i++)
        s = cadd(s, cmul(signal[(i + lag) % n], cconj(pulse[i])));
    return s;
}

static void correlate(const struct fft_plan *plan, const struct complex *signal,
                      const struct complex *pulse_hat, struct complex *out)
{
    size_t n = plan->n;

    for (size_t i = 0; i < n; i++)
        out[i] = signal[i];
    fft(plan, out, FFT_FORWARD);
    for (size_t i = 0; i < n; i++)
        out[i] = cmul(out[i], cconj(pulse_hat[i]));
    fft(plan, out, FFT_INVERSE);
}

static void print_peaks(const struct complex *c, size_t n, size_t length)
{
    size_t found[PEAKS];
    int count = 0;

    while (count < PEAKS) {
        double best = 0.0;
        size_t where = n;

        for (size_t i = 0; i < n; i++) {
            double p = cabs2(c[i]);
            int near = 0;

            if (p <= best)
                continue;
            for (int k = 0; k < count && !near; k++) {
                size_t d = i > found[k] ? i - found[k] : found[k] - i;
                near = d < length / 2;
            }
            if (!near) {
                best = p;
                where = i;
            }
        }
        if (where == n)
            break;
        found[count++] = where;
        printf("  peak %d at %zu, %.9g\n", count, where, sqrt(best));
    }
}

int radar(size_t n, int passes)
{
    struct fft_plan plan;
    size_t length = n / 64;
    struct complex *signal, *pulse, *pulse_hat, *out;
    double *power;
    int status = -1;

    if (fft_plan_create(&plan, n) != 0)
        return -1;
    signal = malloc(n * sizeof *signal);
    pulse = malloc(n * sizeof *pulse);
    pulse_hat = malloc(n * sizeof *pulse_hat);
    out = malloc(n * sizeof *out);
    power = calloc(n, sizeof *power);
    if (!signal || !pulse || !pulse_hat || !out || !power)
        goto done;

    make_pulse(pulse, n, length);
    for (size_t i = 0; i < n; i++)
        pulse_hat[i] = pulse[i];
    fft(&plan, pulse_hat, FFT_FORWARD);

    for (int pass = 0; pass < passes; pass++) {
        struct echo echoes[] = {
            { n / 7, 0.9 }, { n / 3 + 11, 0.55 }, { n / 2 + 5, 0.35 },
            { 4 * n / 5, 0.2 }
        };

        for (size_t i = 0; i < n; i++) {
            signal[i].re = noise();
            signal[i].im = noise();
        }
        for (size_t k = 0; k < sizeof echoes / sizeof echoes[0]; k++)
            add_echo(signal, pulse, n, length, echoes[k]);
        correlate(&plan, signal, pulse_hat, out);
        for (size_t i = 0; i < n; i++)
            power[i] += cabs2(out[i]);
    }

    double worst = 0.0;
    for (int k = 0; k < 8; k++) {
        size_t lag = (size_t)k * (n / 8) + 3;
        struct complex d = csub(direct(signal, pulse, n, length, lag), out[lag]);
        double e = sqrt(cabs2(d));
        if (e > worst)
            worst = e;
    }
    printf("radar: %zu samples, pulse of %zu, %d passes\n", n, length, passes);
    printf("  FFT agrees with the direct sum: %s\n",
           worst < 1e-9 * (double)length ? "yes" : "NO");
    double total = 0.0;
    for (size_t i = 0; i < n; i++)
        total += power[i];
    printf("  mean power %.9g\n", total / (double)n / passes);
    print_peaks(out, n, length);
    status = 0;

done:
    free(signal);
    free(pulse);
    free(pulse_hat);
    free(out);
    free(power);
    fft_plan_destroy(&plan);
    return status;
}
