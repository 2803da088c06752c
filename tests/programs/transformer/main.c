/* Text from an untrained transformer: scores a prompt, then goes on from it.
 *
 *     transformer dim layers heads tokens [temperature]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#else
#include <time.h>
#endif

#include "model.h"
#include "ops.h"
#include "sample.h"

static const char prompt[] = "the tide rose over the stones and the boats ";
static const char *syllables[] = {
    "an", "be", "co", "du", "el", "fi", "go", "ha", "in", "jo", "ka", "lu",
    "mi", "no", "or", "pe", "qua", "ri", "so", "tu", "us", "ve", "wo", "xi",
    "ye", "zo"
};

static double now(void)
{
#ifdef _OPENMP
    return omp_get_wtime();
#else
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return t.tv_sec + 1e-9 * t.tv_nsec;
#endif
}

static int tokenize(const char *text, int *tokens, int max, int vocab)
{
    int n = 0;
    unsigned h = 5381;

    /* one token per word, by a hash of it */
    for (const char *p = text; *p && n < max; p++) {
        if (*p == ' ') {
            tokens[n++] = (int)(h % (unsigned)vocab);
            h = 5381;
        } else {
            h = h * 33 + (unsigned char)*p;
        }
    }
    return n;
}

static void print_token(int token)
{
    int n = (int)(sizeof syllables / sizeof syllables[0]);

    printf("%s", syllables[token % n]);
    if (token / n)
        printf("%s", syllables[(token / n) % n]);
    putchar(token % 7 == 0 ? '.' : ' ');
}

int main(int argc, char **argv)
{
    Config cfg;
    Model model;
    Sampler sampler;
    int tokens[64], n_prompt, steps, token, pos;
    float temperature, *logits = NULL;
    double lp = 0.0, lp_prompt = 0.0, largest_sum = 0.0, start;

    if (argc < 5) {
        fprintf(stderr, "usage: %s dim layers heads tokens [temperature]\n", argv[0]);
        return 2;
    }
    cfg.dim = atoi(argv[1]);
    cfg.n_layers = atoi(argv[2]);
    cfg.n_heads = atoi(argv[3]);
    steps = atoi(argv[4]);
    temperature = argc > 5 ? (float)atof(argv[5]) : 0.0f;
    if (cfg.dim < 8 || cfg.n_layers < 1 || cfg.n_heads < 1 ||
        cfg.dim % cfg.n_heads != 0 || steps < 1 || steps > 4096) {
        fprintf(stderr, "%s: bad shape\n", argv[0]);
        return 2;
    }
    cfg.vocab = 1024;
    cfg.head_dim = cfg.dim / cfg.n_heads;
    cfg.hidden = 8 * cfg.dim / 3;
    n_prompt = tokenize(prompt, tokens, 64, cfg.vocab);
    cfg.max_pos = n_prompt + steps;

    if (model_init(&model, &cfg, 11u) != 0 ||
        sampler_init(&sampler, cfg.vocab, temperature, 40, 5u) != 0) {
        fprintf(stderr, "%s: out of memory\n", argv[0]);
        return 1;
    }
    printf("%d layers, width %d, %d heads, %zu parameters\n", cfg.n_layers,
           cfg.dim, cfg.n_heads, model.w.block_size);

    start = now();
    for (pos = 0; pos < n_prompt; pos++) {
        if (pos > 0)
            lp_prompt += log_prob(logits, cfg.vocab, tokens[pos]);
        logits = model_forward(&model, tokens[pos], pos);
    }
    printf("prompt of %d tokens, log probability %.7g\n", n_prompt, lp_prompt);

    for (int s = 0; s < steps; s++, pos++) {
        token = sample(&sampler, logits, cfg.vocab);
        lp += log_prob(logits, cfg.vocab, token);
        print_token(token);
        if (s % 16 == 15 || s == steps - 1)
            putchar('\n');
        logits = model_forward(&model, token, pos);

        double max = logits[argmax(logits, cfg.vocab)];
        largest_sum += max;
    }
    fprintf(stderr, "%.1f tokens/s\n", (n_prompt + steps) / (now() - start));

    printf("log probability %.7g, perplexity %.7g\n", lp, exp(-lp / steps));
    printf("mean largest logit %.7g\n", largest_sum / steps);

    sampler_free(&sampler);
    model_free(&model);
    return 0;
}
