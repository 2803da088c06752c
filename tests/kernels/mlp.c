/* Two dense layers with ReLU in between and after: float batch inference. */
#include <stdio.h>

#ifdef SMALL
#define SIZE(small, large, xlarge) (small)
#elif defined XLARGE
#define SIZE(small, large, xlarge) (xlarge)
#else
#define SIZE(small, large, xlarge) (large)
#endif
#ifndef BATCH
#define BATCH SIZE(60, 256, 1024)
#endif
#ifndef N_IN
#define N_IN SIZE(256, 1024, 2560)
#endif
#ifndef N_HID
#define N_HID SIZE(200, 1000, 2500)
#endif
#ifndef N_OUT
#define N_OUT SIZE(100, 500, 1200)
#endif

static float x[BATCH][N_IN];
static float w1[N_HID][N_IN], b1[N_HID];
static float w2[N_OUT][N_HID], b2[N_OUT];
static float hid[BATCH][N_HID];
static float out[BATCH][N_OUT];

static inline float relu(float v)
{
    return v > 0.0f ? v : 0.0f;
}

static float noise(unsigned a, unsigned b)
{
    unsigned h = a * 2654435761u ^ b * 2246822519u;
    h ^= h >> 15;
    h *= 3266489917u;
    h ^= h >> 13;
    return (float)(h >> 8) / 16777216.0f - 0.5f;
}

static void init(void)
{
    for (int b = 0; b < BATCH; b++)
        for (int i = 0; i < N_IN; i++)
            x[b][i] = noise(b, i);
    for (int h = 0; h < N_HID; h++) {
        b1[h] = noise(h, 1u << 20);
        for (int i = 0; i < N_IN; i++)
            w1[h][i] = noise(h + 5000, i);
    }
    for (int o = 0; o < N_OUT; o++) {
        b2[o] = noise(o, 1u << 21);
        for (int h = 0; h < N_HID; h++)
            w2[o][h] = noise(o + 10000, h);
    }
}

static void mlp(void)
{
    for (int b = 0; b < BATCH; b++)
        for (int h = 0; h < N_HID; h++) {
            float acc = b1[h];
            for (int i = 0; i < N_IN; i++)
                acc += w1[h][i] * x[b][i];
            hid[b][h] = relu(acc);
        }
    for (int b = 0; b < BATCH; b++)
        for (int o = 0; o < N_OUT; o++) {
            float acc = b2[o];
            for (int h = 0; h < N_HID; h++)
                acc += w2[o][h] * hid[b][h];
            out[b][o] = relu(acc);
        }
}

int main(void)
{
    double sum = 0.0;
    unsigned long long hash = 14695981039346656037ULL;
    const unsigned char *bytes = (const unsigned char *)out;

    init();
    mlp();

    for (int b = 0; b < BATCH; b++)
        for (int o = 0; o < N_OUT; o++)
            sum += out[b][o];
    for (size_t q = 0; q < sizeof out; q++)
        hash = (hash ^ bytes[q]) * 1099511628211ULL;
    printf("%016llx %.17g\n", hash, sum);
    return 0;
}
