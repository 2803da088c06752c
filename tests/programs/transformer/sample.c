#include <math.h>
#include <stdlib.h>
#include "ops.h"
#include "sample.h"

int sampler_init(Sampler *sm, int vocab, float temperature, int top_k, unsigned seed)
{
    sm->temperature = temperature;
    sm->top_k = top_k < vocab ? top_k : vocab;
    sm->state = seed * 0x9E3779B97F4A7C15ULL + 7;
    sm->order = malloc(vocab * sizeof(int));
    sm->prob = malloc(vocab * sizeof(float));
    return sm->order && sm->prob ? 0 : -1;
}

void sampler_free(Sampler *sm)
{
    free(sm->order);
    free(sm->prob);
}

static float draw(Sampler *sm)
{
    sm->state ^= sm->state << 13;
    sm->state ^= sm->state >> 7;
    sm->state ^= sm->state << 17;
    return (float)(sm->state >> 40) / 16777216.0f;
}

int sample(Sampler *sm, const float *logits, int vocab)
{
    if (sm->temperature <= 0.0f)
        return argmax(logits, vocab);

    /* the top_k largest first, by selection */
    for (int i = 0; i < vocab; i++)
        sm->order[i] = i;
    for (int r = 0; r < sm->top_k; r++) {
        int best = r;
        for (int i = r + 1; i < vocab; i++)
            if (logits[sm->order[i]] > logits[sm->order[best]])
                best = i;
        int t = sm->order[r];
        sm->order[r] = sm->order[best];
        sm->order[best] = t;
    }
    for (int r = 0; r < sm->top_k; r++)
        sm->prob[r] = logits[sm->order[r]] / sm->temperature;
    softmax(sm->prob, sm->top_k);

    float u = draw(sm), cumulated = 0.0f;
    for (int r = 0; r < sm->top_k; r++) {
        cumulated += sm->prob[r];
        if (u < cumulated)
            return sm->order[r];
    }
    return sm->order[sm->top_k - 1];
}

double log_prob(const float *logits, int vocab, int token)
{
    float max = logits[argmax(logits, vocab)];
    double sum = 0.0;

    for (int i = 0; i < vocab; i++)
        sum += exp((double)(logits[i] - max));
    return (double)(logits[token] - max) - log(sum);
}
