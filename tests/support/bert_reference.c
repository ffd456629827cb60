/* SPDX-License-Identifier: MIT
 * Computes an encoder in double precision; see bert_reference.h.
 */
#include "bert_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "encoder/slots.h"
#include "nn/batch.h"
#include "nn/rope.h"
#include "support.h"

static double *doubles(size_t n) {
    double *x = calloc(n ? n : 1, sizeof *x);
    assert_non_null(x);
    return x;
}

void bert_reference_create(bert_reference *r, const aoe_context *ctx, const aoei_encoder_config *c,
                           const aoei_tensor *weights, const aoei_batch *batch, const aoei_encoder_dropout *drop) {
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
    free(r->states);
}

/* Returns the factor by which dropout multiplies an element: 0 or 1 / (1 - p). The position of the element determines
 * the result. site: number of the dropout layer in the encoder; head, text, token, column: indices of the element. */
static double mask(const bert_reference *r, double p, uint32_t site, uint32_t head, size_t text, size_t token,
                   size_t column) {
    if (!r->drop || p <= 0)
        return 1;
    const uint32_t index = r->batch->text_index ? r->batch->text_index[text] : (uint32_t)text;
    const uint32_t counter[4] = {(uint32_t)(column / 64 * 16 + column % 16), (uint32_t)token, index, site << 16 | head};
    uint32_t word[4];
    aoei_philox(word, counter, r->drop->key);
    return word[column % 64 / 16] >= (uint32_t)(p * 4294967296.0) ? 1 / (1 - p) : 0;
}

/* Applies the dropout layer number `site` to x [T, D], the hidden states or the embeddings of one text. */
static void drop_columns(const bert_reference *r, double *x, uint32_t site, size_t text, size_t T, size_t D) {
    for (size_t t = 0; t < T; t++)
        for (size_t c = 0; c < D; c++)
            x[t * D + c] *= mask(r, r->drop ? r->drop->hidden : 0, site, 0, text, t, c);
}

static void drop_rows(const bert_reference *r, double *x, uint32_t site, size_t text, size_t T) {
    drop_columns(r, x, site, text, T, r->config->hidden);
}

/* Computes y[T, O] = x[T, I] w[O, I]^T + b[O]. */
static void linear(double *y, const double *x, const double *w, const double *b, size_t T, size_t I, size_t O) {
    for (size_t t = 0; t < T; t++)
        for (size_t o = 0; o < O; o++) {
            double sum = b ? b[o] : 0;
            for (size_t i = 0; i < I; i++)
                sum += x[t * I + i] * w[o * I + i];
            y[t * O + o] = sum;
        }
}

double bert_reference_activation(double x, aoei_activation form) {
    if (form == AOEI_RELU)
        return x > 0 ? x : 0;
    if (form == AOEI_QUICK_GELU)
        return x / (1 + exp(-1.702 * x));
    if (form == AOEI_SILU)
        return x / (1 + exp(-x));
    if (form == AOEI_GELU_TANH)
        return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    return 0.5 * x * erfc(-x / sqrt(2));
}

/* Computes y [T, D], which is the LayerNorm or RMSNorm of x with weight w[0] and bias w[1]. y may be x. */
static void norm_rows(const bert_reference *r, double *y, const double *x, double *const *w, size_t T, size_t D) {
    for (size_t t = 0; t < T; t++) {
        const double *from = x + t * D;
        double mean = 0, variance = 0;
        for (size_t c = 0; c < D && r->config->norm == AOEI_LAYERNORM; c++)
            mean += from[c] / (double)D;
        for (size_t c = 0; c < D; c++)
            variance += (from[c] - mean) * (from[c] - mean) / (double)D;
        for (size_t c = 0; c < D; c++)
            y[t * D + c] =
                (from[c] - mean) / sqrt(variance + r->config->norm_eps) * (w[0][c] + r->config->norm_plus_one) +
                (w[1] ? w[1][c] : 0);
    }
}

static void norm(const bert_reference *r, double *y, const double *x, double *const *w, size_t T) {
    norm_rows(r, y, x, w, T, r->config->hidden);
}

/* Returns the angle in radians by which the rotation of component pair i increases from one token to the next (Su et
 * al. 2021). The scalings are those of modeling_rope_utils.py in transformers. d: components per head; T: tokens of the
 * text. */
static double rope_frequency(const aoei_rope *r, size_t i, size_t d, size_t T) {
    const double exponent = -2.0 * (double)i / (double)d, old = (double)r->positions;
    const double plain = pow(r->theta, exponent), wavelength = 2 * acos(-1) / plain;
    switch (r->scaling) {
    case AOEI_ROPE_LINEAR:
        return plain / r->factor;
    case AOEI_ROPE_DYNAMIC: {
        const double length = (double)T > old ? (double)T : old;
        return pow(r->theta * pow(r->factor * length / old - (r->factor - 1), (double)d / ((double)d - 2)), exponent);
    }
    case AOEI_ROPE_YARN: {
        /* indices of the pairs with `high` and `low` rotations over the original number of positions */
        double bound[2];
        for (int k = 0; k < 2; k++)
            bound[k] = log(old / (2 * acos(-1) * (k ? r->low : r->high))) / log(r->theta) * (double)d / 2;
        const double first = fmax(0, r->fractional ? bound[0] : floor(bound[0]));
        const double last = fmin((double)d - 1, r->fractional ? bound[1] : ceil(bound[1]));
        const double slow = fmin(1, fmax(0, ((double)i - first) / (last == first ? 0.001 : last - first)));
        return plain * (1 - slow + slow / r->factor);
    }
    case AOEI_ROPE_LLAMA3: {
        if (wavelength < old / r->high)
            return plain;
        if (wavelength > old / r->low)
            return plain / r->factor;
        const double smooth = (old / wavelength - r->low) / (r->high - r->low);
        return (1 - smooth) * plain / r->factor + smooth * plain;
    }
    default:
        return plain;
    }
}

/* Applies RoPE to x[T, heads d] in the layer. */
static void rotate(const bert_reference *r, double *x, size_t layer, size_t heads, size_t d, size_t text, size_t T) {
    const aoei_encoder_config *config = r->config;
    const int local = config->rope_local.theta > 0 && aoei_layer_set_has(&config->windowed, layer);
    const aoei_rope *rope = local ? &config->rope_local : &config->rope;
    const size_t rotated = rope->dims ? rope->dims : d;
    const uint32_t *positions = r->batch->positions + r->batch->offsets[text];
    for (size_t t = 0; t < T && rope->theta > 0; t++)
        for (size_t h = 0; h < heads; h++)
            for (size_t i = 0; i < rotated / 2; i++) {
                double *a = x + (t * heads + h) * d + i, *b = a + rotated / 2;
                const double angle = (double)positions[t] * rope_frequency(rope, i, rotated, T), from = *a;
                const double magnitude = rope->magnitude > 0 ? rope->magnitude : 1;
                *a = magnitude * (from * cos(angle) - *b * sin(angle));
                *b = magnitude * (*b * cos(angle) + from * sin(angle));
            }
}

/* Returns 1 if token i attends to token j in the layer. */
static int attends_to(const aoei_encoder_config *c, size_t layer, size_t i, size_t j) {
    const size_t distance = i > j ? i - j : j - i;
    if (c->causal && layer < c->bidirectional_from && j > i)
        return 0;
    const size_t window = aoei_layer_window(c, layer);
    return !window || distance < window;
}

/* Returns the slope of ALiBi of a head, by the recursion of the reference implementation (Press et al. 2022): slopes of
 * a number of heads that is a power of two form a geometric sequence; other numbers interleave two such sequences. */
static double alibi_slope(size_t head, size_t heads) {
    const double level = floor(log2((double)heads));
    const size_t below = (size_t)exp2(level);
    const double ratio = exp2(-exp2(3 - level)), finer = exp2(-exp2(2 - level));
    return head < below ? pow(ratio, (double)(head + 1)) : pow(finer, (double)(2 * (head - below) + 1));
}

/* Returns the bias of the score of query i and key j. The buckets of distances are those of MPNet: 16 buckets for each
 * direction, 8 of them for distances 0 to 7, and 8 that grow logarithmically up to distance 128. */
static double score_bias(const bert_reference *r, size_t head, size_t i, size_t j) {
    const aoei_encoder_config *c = r->config;
    const double distance = fabs((double)j - (double)i);
    if (c->alibi)
        return -alibi_slope(head, c->heads) * distance;
    if (!c->score_buckets)
        return 0;
    const double logarithmic = fmin(15, 8 + floor(8 * log(fmax(distance, 8) / 8) / log(16) + 1e-9));
    const size_t bucket = (j > i ? 16 : 0) + (size_t)(distance < 8 ? distance : logarithmic);
    return r->weights[AOEI_W_SCORE_BIAS][bucket * c->heads + head];
}

/* The keys and queries [2 S, H d] of the relative positions of DeBERTa in one layer; NULL: scores do not contain their
 * product.
 */
typedef struct relative_positions {
    double *keys, *queries;
} relative_positions;

static relative_positions relative_create(const bert_reference *r, size_t layer) {
    const aoei_encoder_config *c = r->config;
    const size_t n = 2 * c->relative.span, D = c->hidden, Q = aoei_query_width(c);
    double *const *w = r->weights + aoei_layer_slot(aoei_layer_group(r->config, layer), 0), *table = doubles(n * D);
    relative_positions p = {c->relative.keys ? doubles(n * Q) : NULL, c->relative.queries ? doubles(n * Q) : NULL};
    if (c->relative.norm)
        norm(r, table, r->weights[AOEI_W_RELATIVE], r->weights + AOEI_W_RELATIVE_NORM, n);
    else if (n)
        memcpy(table, r->weights[AOEI_W_RELATIVE], n * D * sizeof *table);
    if (p.keys)
        linear(p.keys, table, w[AOEI_LW_K], w[AOEI_LW_K_BIAS], n, D, Q);
    if (p.queries)
        linear(p.queries, table, w[AOEI_LW_Q], w[AOEI_LW_Q_BIAS], n, D, Q);
    free(table);
    return p;
}

/* Returns the row of the relative position of query i and key j. Distances up to half the number of buckets have their
 * own rows, and larger distances are mapped logarithmically. */
static size_t relative_row(const aoei_encoder_config *c, size_t i, size_t j) {
    const double r = (double)i - (double)j, span = (double)c->relative.span,
                 middle = floor((double)c->relative.buckets / 2);
    double size = fabs(r);
    if (c->relative.buckets && size > middle)
        size = middle +
               ceil(log(size / middle) / log(((double)c->relative.max_distance - 1) / middle) * (middle - 1) - 1e-9);
    return (size_t)fmin(fmax(span + (r < 0 ? -size : size), 0), 2 * span - 1);
}

/* Returns the sum of the products of relative positions, for query q [d] and key k [d], which are columns from `col`
 * on. */
static double relative_score(const bert_reference *r, const relative_positions *p, const double *q, const double *k,
                             size_t col, size_t i, size_t j) {
    const size_t Q = aoei_query_width(r->config), d = aoei_head_dim(r->config);
    const size_t at = relative_row(r->config, i, j) * Q + col;
    double sum = 0;
    for (size_t e = 0; e < d; e++)
        sum += (p->keys ? q[e] * p->keys[at + e] : 0) + (p->queries ? k[e] * p->queries[at + e] : 0);
    return sum;
}

/* Computes out [T, H d], which is the attention output of all heads. Dropout is applied to the probabilities. */
static void attention(const bert_reference *r, double *out, const double *q, const double *k, const double *v,
                      size_t layer, size_t text, size_t T) {
    const aoei_encoder_config *c = r->config;
    const size_t H = c->heads, kv = aoei_kv_heads(c), d = aoei_head_dim(c), Q = H * d, K = kv * d;
    const double scale = c->attention_scale > 0 ? c->attention_scale : 1 / sqrt((double)d);
    double *p = doubles(T);
    const relative_positions relative = relative_create(r, layer);
    memset(out, 0, T * Q * sizeof *out);
    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < T; i++) {
            const size_t kh = h / (H / kv);
            double largest = -INFINITY, sum = 0;
            for (size_t j = 0; j < T; j++) {
                p[j] = attends_to(c, layer, i, j) ? score_bias(r, h, i, j) : -INFINITY;
                for (size_t e = 0; e < d; e++)
                    p[j] += q[i * Q + h * d + e] * k[j * K + kh * d + e] * scale;
                if (c->relative.span)
                    p[j] += scale * relative_score(r, &relative, q + i * Q + h * d, k + j * K + kh * d, h * d, i, j);
                largest = p[j] > largest ? p[j] : largest;
            }
            for (size_t j = 0; j < T; j++)
                sum += p[j] = exp(p[j] - largest);
            for (size_t j = 0; j < T; j++) {
                const double share =
                    p[j] / sum *
                    mask(r, r->drop ? r->drop->attention : 0, (uint32_t)(4 * layer + 1), (uint32_t)h, text, i, j);
                for (size_t e = 0; e < d; e++)
                    out[i * Q + h * d + e] += share * v[j * K + kh * d + e];
            }
        }
    free(relative.keys);
    free(relative.queries);
    free(p);
}

/* Computes y [T, D], which is the self-attention of x, including the output projection and its dropout. */
static void attend(const bert_reference *r, double *y, const double *x, size_t layer, size_t text, size_t T) {
    const aoei_encoder_config *c = r->config;
    const size_t D = c->hidden, Q = aoei_query_width(c), K = aoei_key_width(c), d = aoei_head_dim(c);
    double *const *w = r->weights + aoei_layer_slot(aoei_layer_group(r->config, layer), 0);
    double *q = doubles(T * Q), *k = doubles(T * K), *v = doubles(T * K), *heads = doubles(T * Q);
    linear(q, x, w[AOEI_LW_Q], w[AOEI_LW_Q_BIAS], T, D, Q);
    linear(k, x, w[AOEI_LW_K], w[AOEI_LW_K_BIAS], T, D, K);
    linear(v, x, w[AOEI_LW_V], w[AOEI_LW_V_BIAS], T, D, K);
    if (c->qk_norm) {
        const int whole = c->qk_norm == AOEI_QK_LAYERNORM;
        norm_rows(r, q, q, w + AOEI_LW_Q_NORM, whole ? T : T * c->heads, whole ? Q : d);
        norm_rows(r, k, k, w + AOEI_LW_K_NORM, whole ? T : T * aoei_kv_heads(c), whole ? K : d);
    }
    rotate(r, q, layer, c->heads, d, text, T);
    rotate(r, k, layer, aoei_kv_heads(c), d, text, T);
    attention(r, heads, q, k, v, layer, text, T);
    linear(y, heads, w[AOEI_LW_O], w[AOEI_LW_O_BIAS], T, Q, D);
    if (c->branch_norms)
        norm(r, y, y, w + AOEI_LW_NORM3, T);
    drop_rows(r, y, (uint32_t)(4 * layer + 2), text, T);
    free(q);
    free(k);
    free(v);
    free(heads);
}

/* Computes y [T, D], which is the output of the feed-forward block for x. */
static void feed_forward(const bert_reference *r, double *y, const double *x, size_t layer, size_t text, size_t T) {
    const aoei_encoder_config *c = r->config;
    const size_t D = c->hidden, I = c->intermediate;
    double *const *w = r->weights + aoei_layer_slot(aoei_layer_group(r->config, layer), 0);
    double *up = doubles(T * I), *gate = doubles(T * I);
    linear(up, x, w[AOEI_LW_UP], w[AOEI_LW_UP_BIAS], T, D, I);
    if (c->gated)
        linear(gate, x, w[AOEI_LW_GATE], w[AOEI_LW_GATE_BIAS], T, D, I);
    for (size_t i = 0; i < T * I; i++)
        up[i] = c->gated ? bert_reference_activation(gate[i], c->activation) * up[i]
                         : bert_reference_activation(up[i], c->activation);
    linear(y, up, w[AOEI_LW_DOWN], w[AOEI_LW_DOWN_BIAS], T, I, D);
    if (c->branch_norms)
        norm(r, y, y, w + AOEI_LW_NORM4, T);
    drop_rows(r, y, (uint32_t)(4 * layer + 3), text, T);
    free(up);
    free(gate);
}

/* Replaces x[T, D] by the output of the layer. */
static void layer_forward(const bert_reference *r, double *x, size_t layer, size_t text, size_t T) {
    const aoei_encoder_config *c = r->config;
    const size_t D = c->hidden;
    double *const *w = r->weights + aoei_layer_slot(aoei_layer_group(r->config, layer), 0);
    double *in = doubles(T * D), *branch = doubles(T * D);
    for (int part = 0; part < 2; part++) {
        double *const *weights = w + (part ? AOEI_LW_NORM2 : AOEI_LW_NORM1);
        if (c->pre_norm && (part || layer || !c->no_first_norm))
            norm(r, in, x, weights, T);
        else
            memcpy(in, x, T * D * sizeof *in);
        (part ? feed_forward : attend)(r, branch, in, layer, text, T);
        for (size_t i = 0; i < T * D; i++)
            x[i] += branch[i];
        if (!c->pre_norm)
            norm(r, x, x, weights, T);
        for (size_t i = 0; i < T * D && c->second_norm && !part; i++)
            x[i] += in[i];
        if (c->second_norm && !part)
            norm(r, x, x, w + AOEI_LW_NORM3, T);
    }
    free(in);
    free(branch);
}

/* Computes x [T, D], the output of the embedding of a text of T tokens. If there is a projection, the tables have E
 * columns. */
static void embedding(const bert_reference *r, double *x, size_t text, size_t T) {
    const aoei_encoder_config *c = r->config;
    const size_t E = aoei_embed_width(c), begin = r->batch->offsets[text];
    const double *position = r->weights[AOEI_W_POSITION]; /* NULL: no position embeddings */
    double *e = c->embed_width ? doubles(T * E) : x;
    for (size_t t = 0; t < T; t++)
        for (size_t k = 0; k < E; k++)
            e[t * E + k] = r->weights[AOEI_W_WORD][(size_t)r->batch->ids[begin + t] * E + k] *
                               (c->embed_scale > 0 ? (double)(float)c->embed_scale : 1) +
                           (position ? position[(r->batch->positions[begin + t] + c->position_offset) * E + k] : 0) +
                           (c->token_types ? r->weights[AOEI_W_TOKEN_TYPE][k] : 0);
    if (!c->no_embed_norm)
        norm_rows(r, e, e, r->weights + AOEI_W_EMBED_NORM, T, E);
    drop_columns(r, e, 0, text, T, E);
    for (size_t i = 0; r->batch->cutoffs && i < r->batch->cutoffs[text].n; i++) {
        const size_t at = r->batch->cutoffs[text].index[i];
        if (r->batch->cutoffs[text].tokens)
            memset(e + at * E, 0, E * sizeof *e);
        for (size_t t = 0; t < T && !r->batch->cutoffs[text].tokens; t++)
            e[t * E + at] = 0;
    }
    if (!c->embed_width)
        return;
    linear(x, e, r->weights[AOEI_W_EMBED_PROJECTION], r->weights[AOEI_W_EMBED_PROJECTION_BIAS], T, E, c->hidden);
    free(e);
}

/* Adds hidden state `index`, x[n], to mean[n], the weighted mean of hidden states. */
static void add_to_mean(const bert_reference *r, double *mean, const double *x, size_t index, size_t n) {
    const aoei_encoder_config *c = r->config;
    const size_t first = c->layers + 1 - c->modules.layer_weights;
    const double *w = c->modules.layer_weights ? r->weights[aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS)] : NULL;
    double sum = 0, factor = index == c->modules.paired_state || index == c->layers ? 0.5 : 0;
    for (size_t i = 0; i < c->modules.layer_weights; i++)
        sum += w[i];
    if (w)
        factor = index >= first ? w[index - first] / sum : 0;
    for (size_t i = 0; i < n; i++)
        mean[i] += factor * x[i];
}

/* Copies hidden state `index` of a text, x [T, D], to r->states. */
static void store_state(const bert_reference *r, size_t index, size_t text, const double *x) {
    const size_t D = r->config->hidden, begin = r->batch->offsets[text], end = r->batch->offsets[text + 1];
    if (r->states)
        memcpy(r->states + (index * r->batch->n_tokens + begin) * D, x, (end - begin) * D * sizeof *x);
}

void bert_reference_forward(bert_reference *r) {
    const aoei_encoder_config *c = r->config;
    const size_t D = c->hidden;
    for (size_t text = 0; text < r->batch->n_texts; text++) {
        const size_t begin = r->batch->offsets[text], T = r->batch->offsets[text + 1] - begin;
        double *x = r->last + begin * D;
        embedding(r, x, text, T);
        if (r->first_vectors)
            memcpy(x, r->first_vectors + text * D, D * sizeof *x);
        memcpy(r->first + begin * D, x, T * D * sizeof *x);
        double *mean = aoei_pools_mean_state(c) ? calloc(T * D, sizeof *mean) : NULL;
        for (size_t l = 0; l < c->layers; l++) {
            store_state(r, l, text, x);
            if (mean)
                add_to_mean(r, mean, x, l, T * D);
            layer_forward(r, x, l, text, T);
        }
        if (c->pre_norm)
            norm(r, x, x, r->weights + AOEI_W_FINAL_NORM, T);
        store_state(r, c->layers, text, x);
        if (mean) {
            add_to_mean(r, mean, x, c->layers, T * D);
            memcpy(x, mean, T * D * sizeof *x);
        }
        free(mean);
    }
}

void bert_reference_pool(const bert_reference *r, aoe_pooling pooling, double *out) {
    const size_t D = r->config->hidden;
    for (size_t text = 0; text < r->batch->n_texts; text++) {
        const size_t begin = r->batch->offsets[text], T = r->batch->offsets[text + 1] - begin;
        const double *h = r->last + begin * D, *h0 = r->first + begin * D;
        size_t mask = 0;
        while (pooling == AOE_POOLING_MASK && r->batch->ids[begin + mask] != r->config->mask_id)
            mask++;
        for (size_t c = 0; c < D; c++) {
            double mean = 0, mean0 = 0, largest = h[c], weighted = 0;
            for (size_t t = 0; t < T; t++) {
                mean += h[t * D + c] / (double)T;
                mean0 += h0[t * D + c] / (double)T;
                weighted += (double)(t + 1) * h[t * D + c] / ((double)T * (double)(T + 1) / 2);
                largest = h[t * D + c] > largest ? h[t * D + c] : largest;
            }
            out[text * D + c] = pooling == AOE_POOLING_CLS               ? h[c]
                                : pooling == AOE_POOLING_CLS_LAST_AVG    ? (h[c] + mean) / 2
                                : pooling == AOE_POOLING_LAST_AVG        ? mean
                                : pooling == AOE_POOLING_LAST_TWO_AVG    ? mean
                                : pooling == AOE_POOLING_LAYER1_LAST_AVG ? mean
                                : pooling == AOE_POOLING_MASK            ? h[mask * D + c]
                                : pooling == AOE_POOLING_LAST_MAX        ? largest
                                : pooling == AOE_POOLING_FIRST_LAST_AVG  ? (mean0 + mean) / 2
                                : pooling == AOE_POOLING_MEAN_SQRT_LEN   ? mean * sqrt((double)T)
                                : pooling == AOE_POOLING_WEIGHTED_MEAN   ? weighted
                                : pooling == AOE_POOLING_LAST_TOKEN      ? h[(T - 1) * D + c]
                                                                         : NAN;
        }
    }
}
