#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "ops.h"

/* ---- memory and weights ---------------------------------------------- */

static uint64_t lcg;

static float lcg_uniform(void)          /* in [-1, 1) */
{
    lcg = lcg * 6364136223846793005ULL + 1442695040888963407ULL;
    return (float)((int32_t)(lcg >> 32)) / 2147483648.0f;
}

static void fill_uniform(float *p, size_t n, float scale)
{
    for (size_t i = 0; i < n; i++)
        p[i] = scale * lcg_uniform();
}

static void fill_gain(float *p, int n)
{
    for (int i = 0; i < n; i++)
        p[i] = 1.0f + 0.1f * lcg_uniform();
}

static float *take(float **at, size_t n)
{
    float *p = *at;
    *at += n;
    return p;
}

static int weights_init(Weights *w, const Config *c, unsigned seed)
{
    size_t dd = (size_t)c->dim * c->dim;
    size_t dh = (size_t)c->dim * c->hidden;
    size_t per_layer = 2 * (size_t)c->dim + 4 * dd + 3 * dh;
    float *at, sd = 1.7f / sqrtf((float)c->dim);

    w->block_size = 2 * (size_t)c->vocab * c->dim + c->dim
                  + (size_t)c->n_layers * per_layer;
    w->block = malloc(w->block_size * sizeof(float));
    w->layer = malloc((size_t)c->n_layers * sizeof(LayerWeights));
    if (!w->block || !w->layer)
        return -1;

    lcg = seed * 2654435761ULL + 1;
    at = w->block;
    w->embedding = take(&at, (size_t)c->vocab * c->dim);
    fill_uniform(w->embedding, (size_t)c->vocab * c->dim, 1.0f);
    w->output = take(&at, (size_t)c->vocab * c->dim);
    fill_uniform(w->output, (size_t)c->vocab * c->dim, 3.0f * sd);
    w->final_norm = take(&at, c->dim);
    fill_gain(w->final_norm, c->dim);

    for (int l = 0; l < c->n_layers; l++) {
        LayerWeights *lw = &w->layer[l];

        lw->attn_norm = take(&at, c->dim);
        fill_gain(lw->attn_norm, c->dim);
        lw->wq = take(&at, dd);
        lw->wk = take(&at, dd);
        lw->wv = take(&at, dd);
        lw->wo = take(&at, dd);
        fill_uniform(lw->wq, dd, sd);
        fill_uniform(lw->wk, dd, sd);
        fill_uniform(lw->wv, dd, sd);
        fill_uniform(lw->wo, dd, sd);
        lw->ffn_norm = take(&at, c->dim);
        fill_gain(lw->ffn_norm, c->dim);
        lw->w_up = take(&at, dh);
        lw->w_gate = take(&at, dh);
        lw->w_down = take(&at, dh);
        fill_uniform(lw->w_up, dh, sd);
        fill_uniform(lw->w_gate, dh, sd);
        fill_uniform(lw->w_down, dh, 1.7f / sqrtf((float)c->hidden));
    }
    return 0;
}

static int state_init(State *s, const Config *c)
{
    size_t cache = (size_t)c->n_layers * c->max_pos * c->dim;

    s->x = calloc(c->dim, sizeof(float));
    s->xn = calloc(c->dim, sizeof(float));
    s->q = calloc(c->dim, sizeof(float));
    s->k = calloc(c->dim, sizeof(float));
    s->v = calloc(c->dim, sizeof(float));
    s->mix = calloc(c->dim, sizeof(float));
    s->proj = calloc(c->dim, sizeof(float));
    s->up = calloc(c->hidden, sizeof(float));
    s->gate = calloc(c->hidden, sizeof(float));
    s->score = calloc((size_t)c->n_heads * c->max_pos, sizeof(float));
    s->logits = calloc(c->vocab, sizeof(float));
    s->k_cache = calloc(cache, sizeof(float));
    s->v_cache = calloc(cache, sizeof(float));
    if (!s->x || !s->xn || !s->q || !s->k || !s->v || !s->mix || !s->proj ||
        !s->up || !s->gate || !s->score || !s->logits || !s->k_cache ||
        !s->v_cache)
        return -1;
    return 0;
}

int model_init(Model *m, const Config *cfg, unsigned seed)
{
    memset(m, 0, sizeof *m);
    m->cfg = *cfg;
    if (weights_init(&m->w, cfg, seed) != 0 || state_init(&m->s, cfg) != 0) {
        model_free(m);
        return -1;
    }
    return 0;
}

void model_free(Model *m)
{
    State *s = &m->s;

    free(m->w.block);
    free(m->w.layer);
    free(s->x);
    free(s->xn);
    free(s->q);
    free(s->k);
    free(s->v);
    free(s->mix);
    free(s->proj);
    free(s->up);
    free(s->gate);
    free(s->score);
    free(s->logits);
    free(s->k_cache);
    free(s->v_cache);
    memset(m, 0, sizeof *m);
}

/* ---- forward pass ------------------------------------------------------ */

/* All heads of one layer.  Positions enter by a penalty on distance, steeper
 * for the first heads. */
static void attention(Model *m, int l, int pos)
{
    const Config *c = &m->cfg;
    State *s = &m->s;
    const float *keys = s->k_cache + (size_t)l * c->max_pos * c->dim;
    const float *values = s->v_cache + (size_t)l * c->max_pos * c->dim;
    float scale = 1.0f / sqrtf((float)c->head_dim);
    int h;

#pragma omp parallel for private(h)
    for (h = 0; h < c->n_heads; h++) {
        const float *q = s->q + h * c->head_dim;
        float *score = s->score + (size_t)h * c->max_pos;
        float *out = s->mix + h * c->head_dim;
        float slope = powf(2.0f, -8.0f * (h + 1) / c->n_heads);

        for (int t = 0; t <= pos; t++) {
            const float *k = keys + (size_t)t * c->dim + h * c->head_dim;
            float dot = 0.0f;

            for (int i = 0; i < c->head_dim; i++)
                dot += q[i] * k[i];
            score[t] = dot * scale - slope * (pos - t);
        }
        softmax(score, pos + 1);
        for (int i = 0; i < c->head_dim; i++)
            out[i] = 0.0f;
        for (int t = 0; t <= pos; t++) {
            const float *v = values + (size_t)t * c->dim + h * c->head_dim;
            float p = score[t];

            for (int i = 0; i < c->head_dim; i++)
                out[i] += p * v[i];
        }
    }
}

static void feed_forward(Model *m, const LayerWeights *lw)
{
    const Config *c = &m->cfg;
    State *s = &m->s;

    matvec(s->up, lw->w_up, s->xn, c->hidden, c->dim);
    matvec(s->gate, lw->w_gate, s->xn, c->hidden, c->dim);
    for (int i = 0; i < c->hidden; i++)
        s->up[i] *= silu(s->gate[i]);
    matvec(s->proj, lw->w_down, s->up, c->dim, c->hidden);
}

float *model_forward(Model *m, int token, int pos)
{
    const Config *c = &m->cfg;
    State *s = &m->s;

    memcpy(s->x, m->w.embedding + (size_t)token * c->dim,
           c->dim * sizeof(float));

    for (int l = 0; l < c->n_layers; l++) {
        const LayerWeights *lw = &m->w.layer[l];
        size_t slot = ((size_t)l * c->max_pos + pos) * c->dim;

        rmsnorm(s->xn, s->x, lw->attn_norm, c->dim);
        matvec(s->q, lw->wq, s->xn, c->dim, c->dim);
        matvec(s->k, lw->wk, s->xn, c->dim, c->dim);
        matvec(s->v, lw->wv, s->xn, c->dim, c->dim);
        memcpy(s->k_cache + slot, s->k, c->dim * sizeof(float));
        memcpy(s->v_cache + slot, s->v, c->dim * sizeof(float));
        attention(m, l, pos);
        matvec(s->proj, lw->wo, s->mix, c->dim, c->dim);
        add_to(s->x, s->proj, c->dim);

        rmsnorm(s->xn, s->x, lw->ffn_norm, c->dim);
        feed_forward(m, lw);
        add_to(s->x, s->proj, c->dim);
    }

    rmsnorm(s->xn, s->x, m->w.final_norm, c->dim);
    matvec(s->logits, m->w.output, s->xn, c->vocab, c->dim);
    return s->logits;
}
