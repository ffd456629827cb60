/* SPDX-License-Identifier: MIT
 * BERT in double precision: see bert_reference.h.
 */
#include "bert_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support.h"

static double *doubles(size_t n) {
    double *x = calloc(n ? n : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

void bert_reference_create(bert_reference *r, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *weights,
                           const aoei_batch *batch, const aoei_encoder_dropout *drop) {
    const size_t n = aoei_slot_count(c);
    *r = (bert_reference){.config = c, .batch = batch, .drop = drop};
    r->weights = calloc(n, sizeof *r->weights);
    assert_non_null(r->weights);
    for (size_t s = 0; s < n; s++) {
        const size_t count = weights[s].rows * weights[s].cols;
        if (!weights[s].data)
            continue;
        float *host = malloc(count * sizeof *host);
        assert_non_null(host);
        aoei_tensor_read(ctx, host, weights[s]);
        r->weights[s] = doubles(count);
        for (size_t i = 0; i < count; i++)
            r->weights[s][i] = (double)host[i];
        free(host);
    }
    r->first = doubles(batch->n_tokens * c->hidden);
    r->last = doubles(batch->n_tokens * c->hidden);
}

void bert_reference_destroy(bert_reference *r) {
    for (size_t s = 0; s < aoei_slot_count(r->config); s++)
        free(r->weights[s]);
    free(r->weights);
    free(r->first);
    free(r->last);
}

/* What dropout multiplies element `column` by: 0 or 1 / (1 - p). */
static double mask(const bert_reference *r, double p, uint32_t site, uint32_t head, size_t text, size_t token, size_t column) {
    if (!r->drop || p <= 0)
        return 1;
    const uint32_t index = r->batch->text_index ? r->batch->text_index[text] : (uint32_t)text;
    const uint32_t counter[4] = {(uint32_t)(column / 64 * 16 + column % 16), (uint32_t)token, index, site << 16 | head};
    uint32_t word[4];
    aoei_philox(word, counter, r->drop->key);
    return word[column % 64 / 16] >= (uint32_t)(p * 4294967296.0) ? 1 / (1 - p) : 0;
}

/* x[T, D] *= the masks of a site of hidden states. */
static void drop_rows(const bert_reference *r, double *x, uint32_t site, size_t text, size_t T) {
    const size_t D = r->config->hidden;
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < D; c++)
            x[t * D + c] *= mask(r, r->drop ? r->drop->hidden : 0, site, 0, text, t, c);
}

/* y[T, O] = x[T, I] w[O, I]^T + b[O] */
static void linear(double *y, const double *x, const double *w, const double *b, size_t T, size_t I, size_t O) {
    for (size_t t = 0; t < T; t++)
        for (size_t o = 0; o < O; o++) {
            double sum = b[o];
            for (size_t i = 0; i < I; i++)
                sum += x[t * I + i] * w[o * I + i];
            y[t * O + o] = sum;
        }
}

/* GELU (Hendrycks and Gimpel 2016), exact or in the tanh form. */
static double gelu(double x, aoei_activation form) {
    if (form == AOEI_GELU_TANH)
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x / sqrt(2));
}

static void layer_norm(double *x, const double *gamma, const double *beta, double eps, size_t T, size_t D) {
    for (size_t t = 0; t < T; t++) {
        double mean = 0, variance = 0, *row = x + t * D;
        for (size_t c = 0; c < D; c++)
            mean += row[c] / (double)D;
        for (size_t c = 0; c < D; c++)
            variance += (row[c] - mean) * (row[c] - mean) / (double)D;
        for (size_t c = 0; c < D; c++)
            row[c] = (row[c] - mean) / sqrt(variance + eps) * gamma[c] + beta[c];
    }
}

/* out[T, D] of all heads, with dropout on the probabilities. */
static void attention(const bert_reference *r, double *out, const double *q, const double *k, const double *v, size_t layer,
                      size_t text, size_t T) {
    const size_t D = r->config->hidden, H = r->config->heads, d = D / H;
    double *p = doubles(T);
    memset(out, 0, T * D * sizeof *out);
    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < T; i++) {
            double largest = -INFINITY, sum = 0;
            for (size_t j = 0; j < T; j++) {
                p[j] = 0;
                for (size_t c = 0; c < d; c++)
                    p[j] += q[i * D + h * d + c] * k[j * D + h * d + c] / sqrt((double)d);
                largest = p[j] > largest ? p[j] : largest;
            }
            for (size_t j = 0; j < T; j++)
                sum += p[j] = exp(p[j] - largest);
            for (size_t j = 0; j < T; j++) {
                const double share =
                    p[j] / sum * mask(r, r->drop ? r->drop->attention : 0, (uint32_t)(4 * layer + 1), (uint32_t)h, text, i, j);
                for (size_t c = 0; c < d; c++)
                    out[i * D + h * d + c] += share * v[j * D + h * d + c];
            }
        }
    free(p);
}

/* x[T, D] becomes the layer's output. */
static void layer_forward(const bert_reference *r, double *x, size_t layer, size_t text, size_t T) {
    const aoei_encoder_config *c = r->config;
    const size_t D = c->hidden, I = c->intermediate;
    double *const *w = r->weights + aoei_layer_slot(layer, 0);
    double *q = doubles(T * D), *k = doubles(T * D), *v = doubles(T * D), *heads = doubles(T * D), *wide = doubles(T * I);
    linear(q, x, w[AOEI_LW_Q], w[AOEI_LW_Q_BIAS], T, D, D);
    linear(k, x, w[AOEI_LW_K], w[AOEI_LW_K_BIAS], T, D, D);
    linear(v, x, w[AOEI_LW_V], w[AOEI_LW_V_BIAS], T, D, D);
    attention(r, heads, q, k, v, layer, text, T);
    linear(q, heads, w[AOEI_LW_O], w[AOEI_LW_O_BIAS], T, D, D);
    drop_rows(r, q, (uint32_t)(4 * layer + 2), text, T);
    for (size_t i = 0; i < T * D; i++)
        x[i] += q[i];
    layer_norm(x, w[AOEI_LW_NORM1], w[AOEI_LW_NORM1_BIAS], c->norm_eps, T, D);
    linear(wide, x, w[AOEI_LW_UP], w[AOEI_LW_UP_BIAS], T, D, I);
    for (size_t i = 0; i < T * I; i++)
        wide[i] = gelu(wide[i], c->activation);
    linear(q, wide, w[AOEI_LW_DOWN], w[AOEI_LW_DOWN_BIAS], T, I, D);
    drop_rows(r, q, (uint32_t)(4 * layer + 3), text, T);
    for (size_t i = 0; i < T * D; i++)
        x[i] += q[i];
    layer_norm(x, w[AOEI_LW_NORM2], w[AOEI_LW_NORM2_BIAS], c->norm_eps, T, D);
    free(q);
    free(k);
    free(v);
    free(heads);
    free(wide);
}

void bert_reference_forward(bert_reference *r) {
    const aoei_encoder_config *c = r->config;
    const size_t D = c->hidden;
    for (size_t text = 0; text < r->batch->n_texts; text++) {
        const size_t begin = r->batch->offsets[text], T = r->batch->offsets[text + 1] - begin;
        double *x = r->last + begin * D;
        for (size_t t = 0; t < T; t++)
            for (size_t k = 0; k < D; k++)
                x[t * D + k] = r->weights[AOEI_W_WORD][(size_t)r->batch->ids[begin + t] * D + k] +
                               r->weights[AOEI_W_POSITION][(t + c->position_offset) * D + k] +
                               (c->token_types ? r->weights[AOEI_W_TOKEN_TYPE][k] : 0);
        layer_norm(x, r->weights[AOEI_W_EMBED_NORM], r->weights[AOEI_W_EMBED_NORM_BIAS], c->norm_eps, T, D);
        drop_rows(r, x, 0, text, T);
        memcpy(r->first + begin * D, x, T * D * sizeof *x);
        for (size_t l = 0; l < c->layers; l++)
            layer_forward(r, x, l, text, T);
    }
}

void bert_reference_pool(const bert_reference *r, aoe_pooling pooling, double *out) {
    const size_t D = r->config->hidden;
    for (size_t text = 0; text < r->batch->n_texts; text++) {
        const size_t begin = r->batch->offsets[text], T = r->batch->offsets[text + 1] - begin;
        const double *h = r->last + begin * D, *h0 = r->first + begin * D;
        for (size_t c = 0; c < D; c++) {
            double mean = 0, mean0 = 0, largest = h[c];
            for (size_t t = 0; t < T; t++) {
                mean += h[t * D + c] / (double)T;
                mean0 += h0[t * D + c] / (double)T;
                largest = h[t * D + c] > largest ? h[t * D + c] : largest;
            }
            out[text * D + c] = pooling == AOE_POOLING_CLS              ? h[c]
                                : pooling == AOE_POOLING_CLS_LAST_AVG   ? (h[c] + mean) / 2
                                : pooling == AOE_POOLING_LAST_AVG       ? mean
                                : pooling == AOE_POOLING_LAST_MAX       ? largest
                                : pooling == AOE_POOLING_FIRST_LAST_AVG ? (mean0 + mean) / 2
                                                                        : h[(T - 1) * D + c];
        }
    }
}
