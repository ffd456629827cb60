/* SPDX-License-Identifier: MIT
 * Computes a recurrent attention network (RAN) in double precision; see ran_reference.h.
 */
#include "ran_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "encoder/arch.h"
#include "encoder/ran_slots.h"
#include "encoder/slots.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "support.h"

static double *doubles(size_t n) {
    double *x = calloc(n ? n : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

aoei_encoder_config ran_tiny_config(void) {
    return (aoei_encoder_config){.arch = &aoei_arch_ran,
                                 .hidden = 16,
                                 .layers = 2,
                                 .heads = 2,
                                 .vocab = 30,
                                 .norm_eps = 1e-7,
                                 .hidden_dropout = 0.1,
                                 .attention_dropout = 0.1,
                                 .ran = {.window = 4, .min_window = 2, .head_size = 6}};
}

void ran_reference_create(ran_reference *r, const aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_tensor *weights, const aoei_batch *batch, const aoei_encoder_dropout *drop) {
    const size_t n = aoei_slot_count(c), D = c->hidden;
    *r = (ran_reference){.config = c, .batch = batch, .drop = drop};
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
    r->first = doubles(batch->n_tokens * D);
    r->last = doubles(batch->n_tokens * D);
    r->cells = doubles(batch->n_tokens * D);
    r->last_cell = doubles(batch->n_texts * D);
    r->windows = calloc(batch->n_texts, sizeof *r->windows);
    assert_non_null(r->windows);
}

void ran_reference_destroy(ran_reference *r) {
    for (size_t s = 0; s < aoei_slot_count(r->config); s++)
        free(r->weights[s]);
    free(r->weights);
    free(r->first);
    free(r->last);
    free(r->cells);
    free(r->last_cell);
    free(r->windows);
}

size_t ran_reference_windows(const aoei_encoder_config *c, size_t tokens, size_t *begin, size_t *end) {
    const size_t W = c->ran.window, last = W * ((tokens - 1) / W);
    size_t n = 0;
    if (tokens <= W) {
        begin[0] = 0;
        end[0] = tokens;
        return 1;
    }
    for (size_t start = 0; start + W <= last; start += W) {
        begin[n] = start;
        end[n++] = start + W;
    }
    if (tokens - last < c->ran.min_window) {
        end[n - 1] = tokens;
    } else {
        begin[n] = last;
        end[n++] = tokens;
    }
    return n;
}

/* The layer that the functions below evaluate, and the text for which they evaluate it. */
typedef struct text_in_layer {
    const ran_reference *r;
    size_t text, layer;
    double *const *w; /* weights of the layer */
} text_in_layer;

static double swish(double x) {
    return x / (1 + exp(-x));
}

/* Applies dropout to one element x. Returns 0 or x / (1 - p). site: the dropout operation inside the layer
 * (AOEI_RAN_SITE_*); head, column: indices of x; number: index of the row of x among all rows of the text to which this
 * operation is applied. */
static double dropped(const text_in_layer *p, double x, uint32_t site, size_t head, size_t number, size_t column) {
    const aoei_encoder_dropout *drop = p->r->drop;
    const double probability = !drop ? 0 : site == AOEI_RAN_SITE_ATTENTION ? drop->attention : drop->hidden;
    if (probability == 0)
        return x;
    const uint32_t counter[4] = {(uint32_t)(column / 64 * 16 + column % 16), (uint32_t)number,
                                 p->r->batch->text_index[p->text],
                                 ((uint32_t)(8 * p->layer) + site) << 16 | (uint32_t)head};
    uint32_t word[4];
    aoei_philox(word, counter, drop->key);
    return word[column % 64 / 16] >= (uint32_t)(probability * 4294967296.0) ? x / (1 - probability) : 0;
}

static void drop_row(const text_in_layer *p, double *x, uint32_t site, size_t number) {
    for (size_t i = 0; i < p->r->config->hidden; i++)
        x[i] = dropped(p, x[i], site, 0, number, i);
}

/* Computes y[out] = w x + b. */
static void linear(double *y, const double *x, const double *w, const double *b, size_t out, size_t in) {
    for (size_t o = 0; o < out; o++) {
        y[o] = b ? b[o] : 0;
        for (size_t i = 0; i < in; i++)
            y[o] += w[o * in + i] * x[i];
    }
}

/* Computes y[out] = swish(w x + b). */
static void swish_linear(double *y, const double *x, double *const *w, size_t out, size_t in) {
    linear(y, x, w[0], w[1], out, in);
    for (size_t o = 0; o < out; o++)
        y[o] = swish(y[o]);
}

/* Normalizes x[D] in place with the LayerNorm that c selects. gamma and beta may be NULL. */
static void norm(const aoei_encoder_config *c, double *x, const double *gamma, const double *beta) {
    const size_t D = c->hidden;
    double mean = 0, square = 0, variance = 0;
    for (size_t i = 0; i < D; i++)
        mean += x[i] / (double)D;
    for (size_t i = 0; i < D; i++) {
        square += x[i] * x[i] / (double)D;
        variance += (x[i] - mean) * (x[i] - mean) / (double)D;
    }
    const double divisor = sqrt((c->ran.langml_norm ? square : variance) + c->norm_eps);
    for (size_t i = 0; i < D; i++)
        x[i] = (x[i] - mean) / divisor * (gamma ? gamma[i] : 1) + (beta ? beta[i] : 0);
}

/* Adds GLU(x) to y. w[0] and w[1] are the weight and bias of the linear half; w[2] and w[3] are the weight and bias of
 * the gate. */
static void add_glu(const text_in_layer *p, double *y, const double *x, double *const *w) {
    const size_t D = p->r->config->hidden;
    double *t = doubles(D), *g = doubles(D);
    linear(t, x, w[0], w[1], D, D);
    linear(g, x, w[2], w[3], D, D);
    for (size_t i = 0; i < D; i++)
        y[i] += t[i] / (1 + exp(-g[i]));
    free(t);
    free(g);
}

/* Rotates the component pair (2i, 2i + 1) of each head by the angle position * 10000^(-2i / head size). */
static void rotate(const aoei_encoder_config *c, double *x, size_t position) {
    const size_t d = c->ran.head_size;
    for (size_t h = 0; h < c->heads; h++)
        for (size_t i = 0; i < d; i += 2) {
            const double angle = (double)position * pow(10000.0, -(double)i / (double)d);
            const double a = x[h * d + i], b = x[h * d + i + 1];
            x[h * d + i] = a * cos(angle) - b * sin(angle);
            x[h * d + i + 1] = b * cos(angle) + a * sin(angle);
        }
}

/* Computes out[d], which is the attention of the query q[d] to n keys k and values v of d components. The row stride of
 * k and v is `row`. head, number: indices of the head and of the query for dropout; if `head` is negative, no dropout
 * is applied. */
static void attend(const text_in_layer *p, double *out, const double *q, const double *k, const double *v, size_t n,
                   size_t row, size_t d, int head, size_t number) {
    double *a = doubles(n), most = -INFINITY, sum = 0;
    for (size_t j = 0; j < n; j++) {
        for (size_t i = 0; i < d; i++)
            a[j] += q[i] * k[j * row + i] / sqrt((double)d);
        most = fmax(most, a[j]);
    }
    for (size_t j = 0; j < n; j++)
        sum += a[j] = exp(a[j] - most);
    memset(out, 0, d * sizeof *out);
    for (size_t j = 0; j < n; j++) {
        const double share = a[j] / sum;
        const double kept = head < 0 ? share : dropped(p, share, AOEI_RAN_SITE_ATTENTION, (size_t)head, number, j);
        for (size_t i = 0; i < d; i++)
            out[i] += kept * v[j * row + i];
    }
    free(a);
}

/* Computes u[n, D] = pMHSA(z[n, D]), the attention inside one window. number: index of the first row of z among all
 * rows of the text. */
static void window_attention(const text_in_layer *p, double *u, const double *z, size_t n, size_t number) {
    const aoei_encoder_config *c = p->r->config;
    const size_t D = c->hidden, d = c->ran.head_size, H = c->heads * d;
    double *q = doubles(n * H), *k = doubles(n * H), *v = doubles(n * H), *heads = doubles(H);
    for (size_t i = 0; i < n; i++) {
        swish_linear(q + i * H, z + i * D, p->w + AOEI_RW_Q, H, D);
        swish_linear(k + i * H, z + i * D, p->w + AOEI_RW_K, H, D);
        swish_linear(v + i * H, z + i * D, p->w + AOEI_RW_V, H, D);
        rotate(c, q + i * H, i);
        rotate(c, k + i * H, i);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t h = 0; h < c->heads; h++)
            attend(p, heads + h * d, q + i * H + h * d, k + h * d, v + h * d, n, H, d, (int)h, number + i);
        swish_linear(u + i * D, heads, p->w + AOEI_RW_O, D, H);
        drop_row(p, u + i * D, AOEI_RAN_SITE_OUTPUT, number + i);
        add_glu(p, u + i * D, z + i * D, p->w + AOEI_RW_GLU);
        norm(c, u + i * D, p->w[AOEI_RW_NORM], p->w[AOEI_RW_NORM_BIAS]);
    }
    free(q);
    free(k);
    free(v);
    free(heads);
}

/* Replaces x[L, D] by SelfAtt(x, s) (docs/ran.md), in which the L tokens of the text attend to the cells s[n, D] of the
 * n windows. */
static void review(const text_in_layer *p, double *x, const double *s, size_t L, size_t n) {
    const aoei_encoder_config *c = p->r->config;
    const size_t D = c->hidden;
    double *q = doubles(D), *k = doubles(n * D), *v = doubles(n * D), *a = doubles(D), *o = doubles(D);
    for (size_t j = 0; j < n; j++) {
        swish_linear(k + j * D, s + j * D, p->w + AOEI_RW_REVIEW_K, D, D);
        swish_linear(v + j * D, s + j * D, p->w + AOEI_RW_REVIEW_V, D, D);
    }
    for (size_t t = 0; t < L; t++) {
        swish_linear(q, x + t * D, p->w + AOEI_RW_REVIEW_Q, D, D);
        attend(p, a, q, k, v, n, D, D, -1, 0);
        swish_linear(o, a, p->w + AOEI_RW_REVIEW_O, D, D);
        drop_row(p, o, AOEI_RAN_SITE_REVIEW, t);
        add_glu(p, o, q, p->w + AOEI_RW_REVIEW_GLU);
        norm(c, o, p->w[AOEI_RW_REVIEW_NORM], p->w[AOEI_RW_REVIEW_NORM_BIAS]);
        memcpy(x + t * D, o, D * sizeof *o);
    }
    free(q);
    free(k);
    free(v);
    free(a);
    free(o);
}

/* Computes the cell c[D] that window t of n windows passes to window t + 1. s [n, D]: the cells g_0 to g_t
 * (docs/ran.md). */
static void next_cell(const text_in_layer *p, double *c, const double *s, size_t t, size_t n) {
    const size_t D = p->r->config->hidden;
    memcpy(c, s + t * D, D * sizeof *c);
    if (t == 0)
        return;
    add_glu(p, c, s + (t - 1) * D, p->w + AOEI_RW_CELL_GLU);
    norm(p->r->config, c, p->w[AOEI_RW_CELL_NORM], p->w[AOEI_RW_CELL_NORM_BIAS]);
    if (t + 1 < n)
        drop_row(p, c, AOEI_RAN_SITE_CELL, t);
}

/* Replaces x[L, D] by the output of the layer. c[D] contains the initial cell, and on return the last cell. Writes the
 * cells g_t of all windows (docs/ran.md) to s[windows, D]. Returns the number of windows. */
static size_t layer(const text_in_layer *p, double *x, double *c, double *s, size_t L) {
    const size_t D = p->r->config->hidden;
    size_t *begin = calloc(L, sizeof *begin), *end = calloc(L, sizeof *end), number = 0;
    assert_true(begin && end);
    const size_t n = ran_reference_windows(p->r->config, L, begin, end);
    for (size_t t = 0; t < n; t++) {
        const size_t rows = 1 + end[t] - begin[t];
        double *z = doubles(rows * D), *u = doubles(rows * D);
        memcpy(z, c, D * sizeof *z);
        memcpy(z + D, x + begin[t] * D, (rows - 1) * D * sizeof *z);
        for (size_t i = 0; i < rows; i++) {
            norm(p->r->config, z + i * D, p->w[AOEI_RW_WINDOW_NORM], p->w[AOEI_RW_WINDOW_NORM_BIAS]);
            drop_row(p, z + i * D, AOEI_RAN_SITE_WINDOW, number + i);
        }
        window_attention(p, u, z, rows, number);
        for (size_t i = 0; i < rows; i++) {
            norm(p->r->config, u + i * D, NULL, NULL);
            drop_row(p, u + i * D, AOEI_RAN_SITE_STEP, number + i);
            memcpy(i ? x + (begin[t] + i - 1) * D : s + t * D, u + i * D, D * sizeof *u);
        }
        next_cell(p, c, s, t, n);
        number += rows;
        free(z);
        free(u);
    }
    review(p, x, s, L, n);
    free(begin);
    free(end);
    return n;
}

static void embed(const ran_reference *r, size_t text, double *x) {
    const size_t D = r->config->hidden, begin = r->batch->offsets[text], L = r->batch->offsets[text + 1] - begin;
    const text_in_layer outside = {.r = r, .text = text};
    for (size_t t = 0; t < L; t++) {
        memcpy(x + t * D, r->weights[AOEI_W_WORD] + (size_t)r->batch->ids[begin + t] * D, D * sizeof *x);
        norm(r->config, x + t * D, r->weights[AOEI_W_EMBED_NORM], r->weights[AOEI_W_EMBED_NORM_BIAS]);
        drop_row(&outside, x + t * D, AOEI_SITE_EMBEDDING, t);
    }
}

void ran_reference_forward(ran_reference *r) {
    const size_t D = r->config->hidden;
    size_t at = 0;
    for (size_t text = 0; text < r->batch->n_texts; text++) {
        const size_t begin = r->batch->offsets[text], L = r->batch->offsets[text + 1] - begin;
        double *x = r->last + begin * D, *cell = r->last_cell + text * D;
        embed(r, text, x);
        memcpy(r->first + begin * D, x, L * D * sizeof *x);
        for (size_t l = 0; l < r->config->layers; l++) {
            const text_in_layer p = {r, text, l, r->weights + aoei_slot_of_layer(r->config, l, 0)};
            if (l == 0) { /* CellInit(0) is the bias of its LayerNorm */
                memcpy(cell, p.w[AOEI_RW_FIRST_CELL], D * sizeof *cell);
                drop_row(&p, cell, AOEI_RAN_SITE_FIRST, 0);
            }
            r->windows[text] = layer(&p, x, cell, r->cells + at * D, L);
        }
        at += r->windows[text];
    }
}

/* Reduces x[n, D] to out[D]. `which` selects the mean (0), the maximum (1), the first row (2), the last row (3), the
 * sum divided by the square root of n (4) or the mean weighted with 1, 2, 3 ... (5). */
static void reduce(double *out, const double *x, size_t n, size_t D, int which) {
    for (size_t i = 0; i < D; i++) {
        double sum = 0, most = -INFINITY, weighted = 0;
        for (size_t t = 0; t < n; t++) {
            sum += x[t * D + i] / (double)n;
            most = fmax(most, x[t * D + i]);
            weighted += (double)(t + 1) * x[t * D + i] / ((double)n * (double)(n + 1) / 2);
        }
        if (which > 3)
            out[i] = which == 4 ? sum * sqrt((double)n) : weighted;
        else
            out[i] = which == 0 ? sum : which == 1 ? most : x[(which == 2 ? 0 : n - 1) * D + i];
    }
}

void ran_reference_pool(const ran_reference *r, aoe_pooling pooling, double *out) {
    const size_t D = r->config->hidden;
    double *other = doubles(D);
    size_t at = 0;
    for (size_t text = 0; text < r->batch->n_texts; text++, out += D) {
        const size_t begin = r->batch->offsets[text], L = r->batch->offsets[text + 1] - begin;
        const double *last = r->last + begin * D, *cells = r->cells + at * D;
        at += r->windows[text];
        if (pooling == AOE_POOLING_CELL_LAST)
            memcpy(out, r->last_cell + text * D, D * sizeof *out);
        else if (pooling == AOE_POOLING_CELL_MEAN || pooling == AOE_POOLING_CELL_MAX)
            reduce(out, cells, r->windows[text], D, pooling == AOE_POOLING_CELL_MAX);
        else if (pooling == AOE_POOLING_LAST_MAX || pooling == AOE_POOLING_CLS || pooling == AOE_POOLING_LAST_TOKEN)
            reduce(out, last, L, D, pooling == AOE_POOLING_LAST_MAX ? 1 : pooling == AOE_POOLING_CLS ? 2 : 3);
        else
            reduce(out, last, L, D,
                   pooling == AOE_POOLING_MEAN_SQRT_LEN   ? 4
                   : pooling == AOE_POOLING_WEIGHTED_MEAN ? 5
                                                          : 0);
        if (pooling == AOE_POOLING_CLS_LAST_AVG || pooling == AOE_POOLING_FIRST_LAST_AVG) {
            reduce(other, pooling == AOE_POOLING_CLS_LAST_AVG ? last : r->first + begin * D, L, D,
                   pooling == AOE_POOLING_CLS_LAST_AVG ? 2 : 0);
            for (size_t i = 0; i < D; i++)
                out[i] = (out[i] + other[i]) / 2;
        }
    }
    free(other);
}

/* Returns the cross entropy of the token id `target`. The logits are W h + bias, where W is the token embedding
 * matrix. */
static double cross_entropy(const ran_reference *r, const double *h, int32_t target) {
    const size_t D = r->config->hidden, V = r->config->vocab;
    const double *bias = r->weights[aoei_head_slot(r->config, AOEI_HW_DECODER_BIAS)];
    double *logits = doubles(V), sum = 0;
    linear(logits, h, r->weights[AOEI_W_WORD], bias, V, D);
    for (size_t v = 0; v < V; v++)
        sum += exp(logits[v]);
    const double loss = log(sum) - logits[target];
    free(logits);
    return loss;
}

double ran_reference_mlm_loss(const ran_reference *r, const uint32_t *token, const int32_t *target, size_t n) {
    const size_t D = r->config->hidden;
    double *const *w = r->weights + aoei_head_slot(r->config, 0);
    double *x = doubles(D), *h = doubles(D), sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t text = 0;
        while (token[i] >= r->batch->offsets[text + 1])
            text++;
        const text_in_layer head = {.r = r, .text = text, .layer = r->config->layers};
        memcpy(x, r->last + token[i] * D, D * sizeof *x);
        drop_row(&head, x, 0, token[i] - r->batch->offsets[text]);
        swish_linear(h, x, w + AOEI_HW_TRANSFORM, D, D);
        norm(r->config, h, w[AOEI_HW_NORM], w[AOEI_HW_NORM_BIAS]);
        sum += cross_entropy(r, h, target[i]);
    }
    free(x);
    free(h);
    return sum;
}
