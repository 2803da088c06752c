#include <math.h>
#include "ops.h"

void matvec(float *y, const float *w, const float *x, int rows, int cols)
{
    int i;
#pragma omp parallel for private(i)
    for (i = 0; i < rows; i++) {
        const float *row = w + (long)i * cols;
        float acc = 0.0f;
        for (int j = 0; j < cols; j++)
            acc += row[j] * x[j];
        y[i] = acc;
    }
}

void rmsnorm(float *y, const float *x, const float *gain, int n)
{
    float ss = 0.0f;
    for (int i = 0; i < n; i++)
        ss += x[i] * x[i];
    ss = 1.0f / sqrtf(ss / n + 1e-6f);
    for (int i = 0; i < n; i++)
        y[i] = gain[i] * (ss * x[i]);
}

void softmax(float *x, int n)
{
    float max = x[0], sum = 0.0f;
    for (int i = 1; i < n; i++)
        if (x[i] > max)
            max = x[i];
    for (int i = 0; i < n; i++) {
        x[i] = expf(x[i] - max);
        sum += x[i];
    }
    for (int i = 0; i < n; i++)
        x[i] /= sum;
}

void add_to(float *x, const float *y, int n)
{
    for (int i = 0; i < n; i++)
        x[i] += y[i];
}

float silu(float v)
{
    return v / (1.0f + expf(-v));
}

int argmax(const float *x, int n)
{
    int best = 0;
    for (int i = 1; i < n; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}
