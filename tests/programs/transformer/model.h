#ifndef MODEL_H
#define MODEL_H

#include <stddef.h>

/* The shape of the network. */
typedef struct {
    int vocab;
    int dim;            /* width of the residual stream */
    int n_layers;
    int n_heads;
    int head_dim;       /* dim / n_heads */
    int hidden;         /* width of the feed-forward part */
    int max_pos;        /* longest sequence */
} Config;

typedef struct {
    float *attn_norm;   /* [dim] */
    float *wq, *wk, *wv, *wo;           /* [dim][dim], rows are outputs */
    float *ffn_norm;    /* [dim] */
    float *w_up, *w_gate;               /* [hidden][dim] */
    float *w_down;      /* [dim][hidden] */
} LayerWeights;

typedef struct {
    float *embedding;   /* [vocab][dim] */
    float *output;      /* [vocab][dim] */
    float *final_norm;  /* [dim] */
    LayerWeights *layer;
    float *block;       /* where all of it lies */
    size_t block_size;
} Weights;

/* What one sequence needs while it runs. */
typedef struct {
    float *x;           /* [dim] residual stream */
    float *xn;          /* [dim] normalized */
    float *q, *k, *v;   /* [dim] */
    float *mix;         /* [dim] output of the heads */
    float *proj;        /* [dim] */
    float *up, *gate;   /* [hidden] */
    float *score;       /* [n_heads][max_pos] */
    float *logits;      /* [vocab] */
    float *k_cache;     /* [n_layers][max_pos][dim] */
    float *v_cache;
} State;

typedef struct {
    Config cfg;
    Weights w;
    State s;
} Model;

int  model_init(Model *m, const Config *cfg, unsigned seed);
void model_free(Model *m);

/* Runs one token at a position; returns the logits of the next token. */
float *model_forward(Model *m, int token, int pos);

#endif
