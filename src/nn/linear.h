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

#include "base/context.h"
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
    const uint32_t *first; /* [n_texts] number of each text's first token in dropout masks, where pieces of texts stand for
                            * texts; NULL: 0 */
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

/* A low-rank adapter of a linear layer [O,I] (LoRA, Hu et al. 2021, as in Hugging Face PEFT): x w^T + b gets
 * scale * (dropout(x) down^T) up^T on top. */
typedef struct aoei_adapter {
    aoei_tensor down, up;   /* lora_A [r,I], lora_B [O,r] */
    aoei_tensor ddown, dup; /* their gradients, added to; absent in forward */
    double scale;           /* alpha / r */
    aoei_dropout drop;
    const aoei_batch *batch; /* whose tokens x has */
    aoei_tensor low;         /* aoei_room_take(aoei_adapter_low_bytes): [N,r] */
    aoei_tensor dropped;     /* aoei_room_take(aoei_adapter_dropped_bytes): [N,I]; absent without dropout */
} aoei_adapter;
size_t aoei_adapter_low_bytes(size_t N, size_t r);
size_t aoei_adapter_dropped_bytes(size_t N, size_t in);

/* w[O,I] float32 += scale * up[O,r] down[r,I]: the adapter's part of rows of a weight, whatever rows they are. */
void aoei_adapter_merge(const aoe_context *ctx, aoei_tensor w, aoei_tensor down, aoei_tensor up, double scale);

/* Sites of adapters: that of linear layer `index` of layer l. */
static inline uint32_t aoei_adapter_site(size_t layer, size_t index) {
    return (uint32_t)(0x8000 + 8 * layer + index);
}

/* What else happens to x w^T + b before it is stored (kernels.h, aoei_product); zeroed: nothing. */
typedef struct aoei_linear_epilogue {
    aoei_activation activation;
    aoei_tensor pre;             /* [N,O] of y's type: keeps the value before the activation; may be absent */
    aoei_tensor residual;        /* [N,O] of y's type: added last; may be absent */
    aoei_tensor room;            /* packing room (aoei_linear_room); absent: every task packs for itself (not in bf16) */
    const aoei_adapter *adapter; /* NULL: none. Beside an activation y and pre are contiguous, and there is no residual */
} aoei_linear_epilogue;
/* y[N,O] = x[N,I] w[O,I]^T + b[1,O]; b may be absent, e NULL. y is of x's type or float32, both may be column views; w is
 * of any type and its packed form, when it has one, of x's type; without one, and of another type than x, it needs the room. */
void aoei_linear_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b,
                         const aoei_linear_epilogue *e);

/* Gradients of a linear layer; what is absent is not wanted. */
typedef struct aoei_linear_grads {
    aoei_tensor dx; /* [N,I] = dy w; float32, or of dy's type. May be the memory of x: it is written last */
    int accumulate; /* dx += dy w, in float32 */
    aoei_activation activation;
    aoei_tensor gate;            /* [N,I] of dx's type: dx = (dy w) * activation'(gate), the backward of x = activation(gate) */
    aoei_tensor dw;              /* [O,I] += dy^T x, float32 */
    aoei_tensor db;              /* [1,O] += column sums of dy, float32 */
    aoei_tensor room;            /* packing room (aoei_linear_room); absent: every task packs for itself (no dx in bf16) */
    const aoei_adapter *adapter; /* NULL: none */
} aoei_linear_grads;
/* dy[N,O] and x[N,I] of one type, w[O,I] of any. */
void aoei_linear_backward(const aoe_context *ctx, const aoei_linear_grads *g, aoei_tensor dy, aoei_tensor x, aoei_tensor w);
/* Bytes of the packing room that layers [out, in] need for up to N tokens of a type. */
size_t aoei_linear_room(const aoe_context *ctx, aoei_dtype type, size_t N, size_t out, size_t in);
/* A room of so many bytes; absent while measuring. */
aoei_tensor aoei_room_take(aoei_arena *a, size_t bytes);

/* y[N,O] = x[N,I] w[O,I]^T + b[1,O], then tanh where asked for; b may be absent. All float32 and contiguous. */
void aoei_dense_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor w, aoei_tensor b, int with_tanh);
/* dx = the gradient of x; dw and db (may be absent) are added to. dy is changed. x and y: those of the forward. */
void aoei_dense_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dw, aoei_tensor db, aoei_tensor dy, aoei_tensor x,
                         aoei_tensor y, aoei_tensor w, int with_tanh);

/* y = activation(x) element by element; y may be x. Contiguous, of one type. */
void aoei_activation_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_activation activation);
/* dx = dy * activation'(x); dy float32, dx of x's type. Contiguous. */
void aoei_activation_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor x,
                              aoei_activation activation);

/* Gated linear unit (Shazeer 2020): y = activation(gate) * up element by element; y may be gate or up. Contiguous, of one type.
 */
void aoei_gate_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor gate, aoei_tensor up, aoei_activation activation);
/* Its gradients, written over gate and up, from dy. All contiguous and of one type. */
void aoei_gate_backward(const aoe_context *ctx, aoei_tensor gate, aoei_tensor up, aoei_tensor dy, aoei_activation activation);

/* Layer normalisation over each row (Ba et al. 2016), biased variance. stats[N,2] = mean, 1/sqrt(var + eps); absent: not kept.
 * y and x are of one type. y may be x. */
void aoei_layernorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                            aoei_tensor beta, double eps);
/* dx and dy float32, x of either type. dx may be dy; absent: not wanted. dgamma, dbeta [1,D] += ; dgamma absent: neither is
 * wanted. */
void aoei_layernorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta, aoei_tensor dy,
                             aoei_tensor x, aoei_tensor stats, aoei_tensor gamma);

/* RMSNorm over each row (Zhang and Sennrich 2019). stats[N,1] = 1/sqrt(mean x^2 + eps); absent: not kept. Otherwise as layer
 * normalisation. */
void aoei_rmsnorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                          double eps);
void aoei_rmsnorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dy, aoei_tensor x,
                           aoei_tensor stats, aoei_tensor gamma);

/* y = residual + dropout(x) (residual absent: 0), all of one type. y may be x or residual. The backward of the x branch is the
 * same call on the gradient without a residual; there y may be bf16 and x float32. With p = 0 it is an addition (float32
 * only) or a copy. */
void aoei_dropout_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor residual, const aoei_batch *batch,
                      const aoei_dropout *drop);
/* ---- what the recurrent encoder has besides (docs/ran.md); rows may be column views, all of one type but for gradients */

/* y = swish(x) = x sigma(x), then, with positions [N], rotated (Su et al. 2021): the components 2i and 2i + 1 of each head as a
 * pair, by the angle whose cosine and sine are table[position, 2i] and [position, 2i + 1] (float32 [positions, head_dim]). y
 * may be x. */
typedef struct aoei_rotation {
    const uint32_t *position; /* [N], or NULL: none */
    aoei_tensor table;
} aoei_rotation;
void aoei_rotation_table(const aoe_context *ctx, aoei_tensor table, double base);
void aoei_swish_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, const aoei_rotation *r);
/* dx (of x's type) = swish'(x) times dy (float32), rotated back. */
void aoei_swish_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dy, aoei_tensor x, const aoei_rotation *r);

/* y[N,D] = dropout(swish(x)) + t sigma(gate), or without swish and dropout x + t sigma(gate); rounded once. */
typedef struct aoei_gated_sum {
    aoei_tensor gated; /* [N,2D]: t, then the gate */
    aoei_tensor x;     /* [N,D] */
    int swish;
    const aoei_batch *batch; /* what keys the dropout, rows of x being its tokens; NULL: no dropout */
    aoei_dropout drop;
} aoei_gated_sum;
void aoei_gated_sum_forward(const aoe_context *ctx, aoei_tensor y, const aoei_gated_sum *s);
/* From dy (float32): the gradients of `gated` and, with swish, of x, both of their type. */
void aoei_gated_sum_backward(const aoe_context *ctx, aoei_tensor dgated, aoei_tensor dx, aoei_tensor dy,
                             const aoei_gated_sum *s);

/* Layer normalisation divided by sqrt(mean(x^2) + eps) of the x that is not centred, as langml has it; the rest as
 * aoei_layernorm_forward and _backward. */
void aoei_uncentred_norm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor stats, aoei_tensor x, aoei_tensor gamma,
                                 aoei_tensor beta, double eps);
void aoei_uncentred_norm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta, aoei_tensor dy,
                                  aoei_tensor x, aoei_tensor stats, aoei_tensor gamma);

/* y = a + b, contiguous; y may be a or b. */
void aoei_add(const aoe_context *ctx, aoei_tensor y, aoei_tensor a, aoei_tensor b);

/* Rotary positions (Su et al. 2021) and the ways they are stretched to longer texts. */
typedef enum aoei_rope_scaling {
    AOEI_ROPE_PLAIN,
    AOEI_ROPE_LINEAR,  /* positions / factor */
    AOEI_ROPE_DYNAMIC, /* theta grows with the length T of a text of more than `positions` tokens, by
                          (factor T / positions - factor + 1) ^ (d / (d - 2)) */
    AOEI_ROPE_LLAMA3   /* wavelengths above positions / low are multiplied by factor, below positions / high left alone,
                          those between by a mixture */
} aoei_rope_scaling;
typedef struct aoei_rope {
    double theta; /* component pair i turns by position * theta^(-2 i / d) */
    aoei_rope_scaling scaling;
    double factor, low, high;
    size_t positions; /* what theta was chosen for */
} aoei_rope;
/* table[N, d] float32: the cosines of every token's d / 2 angles, then the sines. */
void aoei_rope_table(const aoe_context *ctx, aoei_tensor table, const aoei_rope *r, const aoei_batch *batch);
/* Turns the pairs (i, i + d / 2) of every head of x [N, heads d] by the angles of its token, or back. x may be a column view,
 * of either type. Turning a gradient back is the backward. */
void aoei_rope_turn(const aoe_context *ctx, aoei_tensor x, aoei_tensor table, int back);

typedef struct aoei_attention {
    size_t heads, kv_heads; /* H; grouped heads share keys and values (kv_heads divides heads) */
    size_t head_dim;        /* d */
    int causal;             /* 1: a token sees itself and the ones before it */
    size_t window;          /* a token sees those at a distance below this; 0: all */
    double scale;           /* 1 / sqrt(d) */
    aoei_dropout drop;      /* on the probabilities: (text, head, query, key) */
} aoei_attention;

/* Bytes of scratch that both calls need for texts of up to `longest` tokens on this context. */
size_t aoei_attention_scratch(const aoe_context *ctx, const aoei_attention *a, aoei_dtype type, size_t longest);
/* out[N, H d] = dropout(softmax(scale q k^T)) v per text and head. q [N, H d], k, v [N, kv_heads d] may be column views. All
 * of one type; in bf16 scores and softmax are float32 and probabilities are rounded where they meet the values. scratch: an
 * aoei_room_take. */
void aoei_attention_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                            const aoei_batch *batch, const aoei_attention *a, aoei_tensor scratch);
/* dq, dk, dv are overwritten. Probabilities are recomputed, so forward keeps nothing. */
void aoei_attention_backward(const aoe_context *ctx, aoei_tensor dq, aoei_tensor dk, aoei_tensor dv, aoei_tensor dout,
                             aoei_tensor q, aoei_tensor k, aoei_tensor v, const aoei_batch *batch, const aoei_attention *a,
                             aoei_tensor scratch);

/* Attention of some rows to others: rows [q_first, q_first + q_rows) of q and out, [k_first, k_first + k_rows) of k and v. */
typedef struct aoei_attention_span {
    uint32_t q_first, q_rows, k_first, k_rows;
    uint32_t text, number; /* what keys dropout masks: the index of the text, the first query's number in it */
} aoei_attention_span;
size_t aoei_attention_spans_scratch(const aoe_context *ctx, const aoei_attention *a, aoei_dtype type, size_t most_queries,
                                    size_t most_keys);
/* The same for spans [n] in place of a batch, not causal; the bits of a query's row are those of a batch's. */
void aoei_attention_spans_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                                  const aoei_attention_span *spans, size_t n, const aoei_attention *a, aoei_tensor scratch);
/* dq of either type is overwritten; dk and dv are float32 and ADDED to: their chains go on with the span's queries. No key is
 * in two spans. */
void aoei_attention_spans_backward(const aoe_context *ctx, aoei_tensor dq, aoei_tensor dk, aoei_tensor dv, aoei_tensor dout,
                                   aoei_tensor q, aoei_tensor k, aoei_tensor v, const aoei_attention_span *spans, size_t n,
                                   const aoei_attention *a, aoei_tensor scratch);

/* y[N,D] (float32 or bf16; tables of any type, gradients float32) = word[id] + position[pos + position_offset] + token_type[0];
 * position and token_type may be absent. */
void aoei_embedding_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor word, aoei_tensor position,
                            size_t position_offset, aoei_tensor token_type, const aoei_batch *batch);
void aoei_embedding_backward(const aoe_context *ctx, aoei_tensor dword, aoei_tensor dposition, size_t position_offset,
                             aoei_tensor dtoken_type, aoei_tensor dy, const aoei_batch *batch);

/* out[n_texts, D] float32, first and last [N, D] of one type: pooling of aoe.h; first (embedding output) is read by
 * first-last-avg only and may be absent otherwise. */
void aoei_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, aoei_tensor first, aoei_tensor last,
                       const aoei_batch *batch);
/* All gradients float32. dlast is overwritten; dfirst is overwritten by first-last-avg and left alone otherwise. last-max: the
 * first token that has the maximum gets the gradient. */
void aoei_pool_backward(const aoe_context *ctx, aoei_tensor dfirst, aoei_tensor dlast, aoe_pooling pooling, aoei_tensor dout,
                        aoei_tensor last, const aoei_batch *batch);
/* Rows to unit L2 norm, x / max(|x|, 1e-12); the norm in double. */
void aoei_l2_normalize(const aoe_context *ctx, aoei_tensor t);

/* to[i] = from[index[i]] for every row of `to`; one type. AOEI_NO_ROW: zeros. */
#define AOEI_NO_ROW UINT32_MAX
void aoei_rows_gather(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* to = 0 but for to[index[i]] = from[i]; one type, no index twice. */
void aoei_rows_scatter(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* to[index[i]] = from[i], the other rows stay; likewise. AOEI_NO_ROW: nowhere. */
void aoei_rows_put(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);
/* to[index[i]] += from[i], float32; no index twice. */
void aoei_rows_add(const aoe_context *ctx, aoei_tensor to, aoei_tensor from, const uint32_t *index);

/* Cross entropy of logits [M,V] (float32) with target[M] in [0, V): loss[M] in nats, best[M] 1 where no logit is above the
 * target's. The logits become scale times their gradient, which is also written to `grad` [M,V] when that is bf16; else
 * grad is logits. */
void aoei_cross_entropy(const aoe_context *ctx, aoei_tensor grad, aoei_tensor logits, const int32_t *target, double scale,
                        double *loss, uint8_t *best);

/* Optimiser state is flat: one contiguous float32 tensor [1, P] each for values, gradients and moments. It is cut into
 * segments, ascending and without gaps. */
typedef struct aoei_adamw_segment {
    size_t begin, end;   /* elements of the flat tensors */
    int decay;           /* 1: weight decay applies */
    aoei_tensor *weight; /* the view of this segment whose packed form follows the values, or NULL */
    size_t first_task;   /* set by aoei_adamw_plan */
} aoei_adamw_segment;
/* Divides the segments into the tasks of aoei_adamw_step; returns their number. */
size_t aoei_adamw_plan(aoei_adamw_segment *segments, size_t n);

typedef struct aoei_adamw {
    double lr, beta1, beta2, eps, weight_decay;
    double grad_scale;                  /* multiplies the gradient: clipping */
    uint64_t step;                      /* 1 at the first update: bias correction */
    const aoei_adamw_segment *segments; /* [n_segments], planned */
    size_t n_segments, n_tasks;
} aoei_adamw;
/* One pass over everything: values and moments are updated, gradients become 0, packed forms are made anew. */
void aoei_adamw_step(const aoe_context *ctx, aoei_tensor value, aoei_tensor grad, aoei_tensor m, aoei_tensor v,
                     const aoei_adamw *o);
/* Sum of squares in double over a contiguous tensor: fixed blocks, summed in order. NaN and infinity come through. */
double aoei_sum_squares(const aoe_context *ctx, aoei_tensor t);
/* t *= s. */
void aoei_scale(const aoe_context *ctx, aoei_tensor t, double s);

#endif
