/* SPDX-License-Identifier: MIT
 * Operations with forward and backward side by side. They check nothing: shapes
 * are the encoder's business. They pick kernels, split work over threads by
 * shape, and never allocate. Gradients of weights, biases, norms and embeddings
 * are ADDED to the stored values, token after token: one chain an element, so
 * accumulation over batches continues the chain exactly.
 *
 * Shape letters: N packed tokens, T tokens of a text, D hidden, I in, O out,
 * V vocabulary, H heads, d = D / H.
 */
#ifndef AOEI_NN_NN_H
#define AOEI_NN_NN_H

#include <stdint.h>

#include "nn/context.h"
#include "nn/tensor.h"

/* A packed batch: all tokens laid end to end. Memory is the caller's. */
typedef struct aoei_batch {
    size_t n_tokens; /* N */
    size_t n_texts;
    size_t longest;            /* tokens of the longest text */
    const int32_t *ids;        /* [N] in [0, V) */
    const uint32_t *positions; /* [N] 0, 1, ... within each text */
    const uint32_t *offsets;   /* [n_texts + 1] first token of each text; offsets[n_texts] = N */
    const uint32_t
        *text_index; /* [n_texts] index of the text in the whole optimiser step: what keys dropout masks; NULL: 0, 1, ... */
} aoei_batch;

/* Dropout of one site in one optimiser step; p = 0 is off. docs/numerics.md "Masks". */
typedef struct aoei_dropout {
    double p;
    uint32_t key[2]; /* aoei_dropout_key(seed, step) */
    uint32_t site;   /* AOEI_SITE_* of the layer */
} aoei_dropout;

/* Sites: 0 is the embedding output; layer l (from 0) has 4 l + 1.. */
enum { AOEI_SITE_EMBEDDING = 0, AOEI_SITE_ATTENTION = 1, AOEI_SITE_ATTENTION_OUTPUT = 2, AOEI_SITE_FFN_OUTPUT = 3 };
static inline uint32_t aoei_site(size_t layer, uint32_t kind) {
    return (uint32_t)(4 * layer) + kind;
}

/* y[N,O] = x[N,I] w[O,I]^T + b[1,O]; b may be absent. y, x may be column views. */
void aoei_linear_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b);
/* pre = x w^T + b, y = gelu(pre) with the exact erf. pre is always written; y may not alias it. */
void aoei_linear_gelu_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor pre, aoei_tensor x, aoei_tensor w,
                              aoei_tensor b);
/* dx = dy w (accumulate_dx: dx += dy w); dw[O,I] += dy^T x; db[1,O] += column sums of dy. dx, dw, db may be absent. */
void aoei_linear_backward(const aoe_context *ctx, aoei_tensor dx, int accumulate_dx, aoei_tensor dw, aoei_tensor db,
                          aoei_tensor dy, aoei_tensor x, aoei_tensor w);

/* dx = dy * gelu'(pre); dx may be dy. All contiguous. */
void aoei_gelu_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor pre);

/* Layer normalisation over each row (Ba et al. 2016), biased variance. stats[N,2] = mean, 1/sqrt(var + eps); absent: not kept.
 */
void aoei_layernorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                            aoei_tensor beta, double eps);
/* dx may be dy; absent: not wanted. dgamma, dbeta [1,D] += . */
void aoei_layernorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta, aoei_tensor dy,
                             aoei_tensor x, aoei_tensor stats, aoei_tensor gamma);

/* y = residual + dropout(x) (residual absent: 0). y may be x or residual. The backward of the x branch is the same call
 * on the gradient without a residual. With p = 0 it is an addition or a copy. */
void aoei_dropout_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor residual, const aoei_batch *batch,
                      const aoei_dropout *drop);
/* y = a + b, contiguous; y may be a or b. */
void aoei_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor a, aoei_tensor b);

typedef struct aoei_attention {
    size_t heads, kv_heads; /* H; grouped heads share keys and values (kv_heads divides heads) */
    size_t head_dim;        /* d */
    int causal;             /* 1: a token sees itself and the ones before it */
    double scale;           /* 1 / sqrt(d) */
    aoei_dropout drop;      /* on the probabilities: (text, head, query, key) */
} aoei_attention;

/* Floats of scratch that both calls need for texts of up to `longest` tokens on this context. */
size_t aoei_attention_scratch(const aoe_context *ctx, const aoei_attention *a, size_t longest);
/* out[N, H d] = dropout(softmax(scale q k^T)) v per text and head. q [N, H d], k, v [N, kv_heads d] may be column views. */
void aoei_attention_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                            const aoei_batch *batch, const aoei_attention *a, aoei_tensor scratch);
/* dq, dk, dv are overwritten. Probabilities are recomputed, so forward keeps nothing. */
void aoei_attention_backward(const aoe_context *ctx, aoei_tensor dq, aoei_tensor dk, aoei_tensor dv, aoei_tensor dout,
                             aoei_tensor q, aoei_tensor k, aoei_tensor v, const aoei_batch *batch, const aoei_attention *a,
                             aoei_tensor scratch);

/* y[N,D] = word[id] + position[pos + position_offset] + token_type[0]; position and token_type may be absent. */
void aoei_embedding_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor word, aoei_tensor position,
                            size_t position_offset, aoei_tensor token_type, const aoei_batch *batch);
void aoei_embedding_backward(const aoe_context *ctx, aoei_tensor dword, aoei_tensor dposition, size_t position_offset,
                             aoei_tensor dtoken_type, aoei_tensor dy, const aoei_batch *batch);

/* out[n_texts, D]: pooling of aoe.h; first (embedding output) is read by first-last-avg only and may be absent otherwise. */
void aoei_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, aoei_tensor first, aoei_tensor last,
                       const aoei_batch *batch);
/* dlast is overwritten; dfirst is overwritten by first-last-avg and left alone otherwise. last-max: the first token that has
 * the maximum gets the gradient. */
void aoei_pool_backward(const aoe_context *ctx, aoei_tensor dfirst, aoei_tensor dlast, aoe_pooling pooling, aoei_tensor dout,
                        aoei_tensor last, const aoei_batch *batch);
/* Rows to unit L2 norm, x / max(|x|, 1e-12); the norm in double. */
void aoei_l2_normalize(const aoe_context *ctx, aoei_tensor t);

/* Optimiser state is flat: one contiguous tensor [1, P] each for values, gradients and moments. */
typedef struct aoei_adamw {
    double lr, beta1, beta2, eps, weight_decay;
    double grad_scale;      /* multiplies the gradient: clipping */
    uint64_t step;          /* 1 at the first update: bias correction */
    const size_t *no_decay; /* [n_no_decay][2] element ranges [begin, end), ascending, that do not decay */
    size_t n_no_decay;
} aoei_adamw;
void aoei_adamw_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                     const aoei_adamw *o);
/* Sum of squares in double over a contiguous tensor: fixed blocks, summed in order. NaN and infinity come through. */
double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t);
/* t *= s. */
void aoei_scale(const aoe_context *ctx, aoei_tensor t, double s);

#endif
