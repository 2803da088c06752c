#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdint.h>

typedef struct {
    float temperature;      /* 0: always the likeliest token */
    int top_k;
    uint64_t state;
    int *order;             /* [vocab] scratch */
    float *prob;            /* [vocab] scratch */
} Sampler;

int  sampler_init(Sampler *sm, int vocab, float temperature, int top_k, unsigned seed);
void sampler_free(Sampler *sm);
int  sample(Sampler *sm, const float *logits, int vocab);

/* log probability of a token */
double log_prob(const float *logits, int vocab, int token);

#endif
