/* SPDX-License-Identifier: MIT
 * Scaled dot-product attention (Vaswani et al. 2017) of packed texts. In the shapes, N is the number of tokens, H is
 * the number of query heads, and d is the number of components per head.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"
#include "kernels/kernels.h"
#include "nn/batch.h"
#include "nn/disentangled.h"
#include "nn/dropout.h"
#include "nn/score_bias.h"
#include "nn/tensor.h"

typedef struct aoei_attention {
    size_t heads;         /* H, number of query heads */
    size_t kv_heads;      /* number of key and value heads; a divisor of `heads` (grouped-query attention) */
    size_t head_dim;      /* d, number of components per head */
    int causal;           /* 1: a token attends to itself and to earlier tokens only */
    size_t window;        /* a token attends only to tokens at a distance of less than `window`; 0: the distance is not
                             limited */
    double scale;         /* factor of the scores, usually 1 / sqrt(d) */
    aoei_dropout drop;    /* dropout of the probabilities; the mask depends on text, head, query and key */
    aoei_score_bias bias; /* biases that are added to the scaled scores; zeros: there are no biases */
    aoei_disentangled relative; /* relative positions of disentangled attention; zeros: there are none */
} aoei_attention;

/* Returns the size in bytes of the scratch tensor for texts of up to `longest` tokens. The forward and the backward
 * pass need scratch tensors of this size. */
size_t aoei_attention_scratch(const aoe_context *ctx, const aoei_attention *a, aoei_dtype type, size_t longest);
/* Computes out[N, H d] = dropout(softmax(scale q k^T + bias)) v for each text and head. q is [N, H d]; k and v are [N,
 * kv_heads d]. q, k and v have one type and may be column views. In bf16, scores and softmax are float32, and
 * probabilities are rounded to bf16 before they are multiplied by v. scratch is allocated by aoei_workspace_take. */
void aoei_attention_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                            const aoei_batch *batch, const aoei_attention *a, aoei_tensor scratch);
/* Computes dq, dk and dv, the gradients of q, k and v, from dout, the gradient of out. dq, dk and dv are overwritten.
 * If a->bias.grads is not NULL, the gradients of the biases are added to it. The
 * backward pass recomputes the probabilities, so the forward pass stores nothing for it. */
void aoei_attention_backward(const aoe_context *ctx, aoei_tensor dq, aoei_tensor dk, aoei_tensor dv, aoei_tensor dout,
                             aoei_tensor q, aoei_tensor k, aoei_tensor v, const aoei_batch *batch,
                             const aoei_attention *a, aoei_tensor scratch);

/* A span is a set of queries that attend to one set of keys: each query in rows [q_first, q_first + q_rows) of q and
 * out attends to all keys in rows [k_first, k_first + k_rows) of k and v. */
typedef struct aoei_attention_span {
    uint32_t q_first, q_rows, k_first, k_rows; /* rows of the queries; rows of the keys */
    uint32_t text;     /* number of the text, which selects dropout masks (text_index of aoei_batch) */
    uint32_t position; /* position of the first query in its text, which selects dropout masks */
} aoei_attention_span;
/* Returns the size in bytes of the scratch tensor for spans of up to max_queries queries and max_keys keys. */
size_t aoei_attention_spans_scratch(const aoe_context *ctx, const aoei_attention *a, aoei_dtype type,
                                    size_t max_queries, size_t max_keys);
/* Computes the attention of spans[n], without a causal mask, a window, biases or relative positions. The other
 * arguments are the same as in aoei_attention_forward. The output of a query is bit-identical to the output that
 * aoei_attention_forward computes if the query attends to these keys. */
void aoei_attention_spans_forward(const aoe_context *ctx, aoei_tensor out, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                                  const aoei_attention_span *spans, size_t n, const aoei_attention *a,
                                  aoei_tensor scratch);
/* Computes the gradients for spans[n]. dq is float32 or bf16 and is overwritten. dk and dv are float32, and the
 * gradients of all queries are added to them. A row of k and v belongs to at most one span. */
void aoei_attention_spans_backward(const aoe_context *ctx, aoei_tensor dq, aoei_tensor dk, aoei_tensor dv,
                                   aoei_tensor dout, aoei_tensor q, aoei_tensor k, aoei_tensor v,
                                   const aoei_attention_span *spans, size_t n, const aoei_attention *a,
                                   aoei_tensor scratch);
