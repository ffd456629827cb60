/* SPDX-License-Identifier: MIT
 * RAN, the Recurrent Attention Network (Li et al. 2023): windows of a text one after the other, with a cell that goes from
 * window to window and from layer to layer. docs/ran.md is the definition. It stands behind the functions of encoder.h,
 * which hand over to it where the configuration has windows.
 */
#ifndef AOEI_ENCODER_RAN_H
#define AOEI_ENCODER_RAN_H

#include "encoder/encoder.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"

/* Slots of a layer. D hidden, H heads * head_size. */
enum {
    /* attention in a window: [H,D] three times, [D,H], each with its bias */
    AOEI_RW_Q,
    AOEI_RW_Q_BIAS,
    AOEI_RW_K,
    AOEI_RW_K_BIAS,
    AOEI_RW_V,
    AOEI_RW_V_BIAS,
    AOEI_RW_O,
    AOEI_RW_O_BIAS,
    /* gated linear units: [D,D], [1,D] of the linear half, the same of the gate */
    AOEI_RW_GLU,
    AOEI_RW_GLU_BIAS,
    AOEI_RW_GLU_GATE,
    AOEI_RW_GLU_GATE_BIAS,
    AOEI_RW_NORM, /* [1,D] after it */
    AOEI_RW_NORM_BIAS,
    AOEI_RW_WINDOW_NORM, /* [1,D] of the cell and the tokens before it */
    AOEI_RW_WINDOW_NORM_BIAS,
    /* what a cell keeps of the one before */
    AOEI_RW_CELL_GLU,
    AOEI_RW_CELL_GLU_BIAS,
    AOEI_RW_CELL_GLU_GATE,
    AOEI_RW_CELL_GLU_GATE_BIAS,
    AOEI_RW_CELL_NORM,
    AOEI_RW_CELL_NORM_BIAS,
    AOEI_RW_FIRST_CELL, /* [1,D] of the first layer alone: what a text begins with */
    /* memory review: [D,D] four times, and as above */
    AOEI_RW_REVIEW_Q,
    AOEI_RW_REVIEW_Q_BIAS,
    AOEI_RW_REVIEW_K,
    AOEI_RW_REVIEW_K_BIAS,
    AOEI_RW_REVIEW_V,
    AOEI_RW_REVIEW_V_BIAS,
    AOEI_RW_REVIEW_O,
    AOEI_RW_REVIEW_O_BIAS,
    AOEI_RW_REVIEW_GLU,
    AOEI_RW_REVIEW_GLU_BIAS,
    AOEI_RW_REVIEW_GLU_GATE,
    AOEI_RW_REVIEW_GLU_GATE_BIAS,
    AOEI_RW_REVIEW_NORM,
    AOEI_RW_REVIEW_NORM_BIAS,
    AOEI_RW_COUNT
};

/* Dropout sites: 0 is the embedding output; layer l (from 0) has 8 l + 1..; 8 layers is the input of the masked-LM head. */
enum {
    AOEI_RAN_SITE_WINDOW = 1,    /* the normalised cell and tokens */
    AOEI_RAN_SITE_ATTENTION = 2, /* attention probabilities */
    AOEI_RAN_SITE_OUTPUT = 3,    /* the attention's projection */
    AOEI_RAN_SITE_STEP = 4,      /* the window's cell and outputs */
    AOEI_RAN_SITE_CELL = 5,      /* the cell that goes on to the next window */
    AOEI_RAN_SITE_REVIEW = 6,    /* memory review's projection */
    AOEI_RAN_SITE_FIRST = 7,     /* what a text begins with */
    AOEI_RAN_SITES = 8
};

/* As aoei_encoder_layout, _forward and _backward. */
int aoei_ran_layout(aoei_encoder_state *s, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                    size_t n_tokens, size_t n_texts, size_t longest, aoei_encoder_mode mode, aoe_error *err);
aoei_tensor aoei_ran_forward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                             const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop);
void aoei_ran_backward(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w, const aoei_tensor *grads,
                       const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, int with_first);

/* Pooling of the last forward's cells (pooling: a cell-*), out [n_texts, D]; and its backward, which also says that the last
 * hidden state has no gradient. */
void aoei_ran_pool_forward(const aoe_context *ctx, aoei_tensor out, aoe_pooling pooling, const aoei_batch *batch,
                           const aoei_encoder_state *s);
void aoei_ran_pool_backward(const aoe_context *ctx, aoe_pooling pooling, aoei_tensor dout, const aoei_batch *batch,
                            aoei_encoder_state *s);

/* The configuration's norm: textbook layer normalisation or langml's. */
void aoei_ran_norm_forward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor stats,
                           aoei_tensor x, aoei_tensor gamma, aoei_tensor beta);
void aoei_ran_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx, aoei_tensor dgamma,
                            aoei_tensor dbeta, aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma);

/* ---- shared by ran.c, ran_layer.c and ran_backward.c */

/* One layer of one pass. */
typedef struct aoei_ran_pass {
    const aoe_context *ctx;
    const aoei_encoder_config *c;
    const aoei_tensor *w; /* the layer's weights */
    const aoei_tensor *g; /* their gradients (backward) */
    const aoei_batch *batch;
    aoei_encoder_state *s;
    const aoei_encoder_dropout *drop;
    size_t layer;
    aoei_ran_layer l;       /* of the batch's sizes */
    aoei_tensor cells_from; /* [C, D] by turn: where the layer below left its cells; absent in the first */
    size_t N, C, D, H;
} aoei_ran_pass;

aoei_ran_limits aoei_ran_limits_of(const aoei_encoder_config *c, int training);
aoei_tensor aoei_ran_part(aoei_tensor t, size_t first, size_t n); /* rows of a tensor; absent stays absent */
aoei_ran_rows aoei_ran_rows_part(const aoei_ran_rows *r, size_t first, size_t n);
aoei_ran_pass aoei_ran_pass_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                               const aoei_batch *batch, aoei_encoder_state *s, const aoei_encoder_dropout *drop, size_t layer);
aoei_dropout aoei_ran_dropout(const aoei_ran_pass *p, uint32_t site); /* p 0 when there is none */
aoei_attention aoei_ran_attention(const aoei_ran_pass *p);
aoei_attention aoei_ran_review_attention(const aoei_ran_pass *p);
/* The layer's output from its input x [N, D], which it may overwrite. */
void aoei_ran_layer_forward(aoei_ran_pass *p, aoei_tensor x);
/* On entry d [N, D] is the gradient of the layer's output, on return that of its input x; d_first likewise of the cells. */
void aoei_ran_layer_backward(aoei_ran_pass *p, aoei_tensor x, aoei_tensor d);

#endif
