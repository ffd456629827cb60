/* SPDX-License-Identifier: MIT
 * One layer of a recurrent attention network (RAN, docs/ran.md) for one batch: its tensors, its forward pass, and
 * functions that the forward and the backward pass use.
 */
#pragma once

#include "encoder/encoder_ops.h"
#include "encoder/ran_slots.h"
#include "encoder/ran_state.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "nn/dropout.h"
#include "nn/tensor.h"

/* One layer in one forward or backward pass. */
typedef struct aoei_ran_pass {
    const aoe_context *ctx;
    const aoei_encoder_config *c;
    const aoei_tensor *w; /* [AOEI_RW_COUNT] weights of the layer */
    const aoei_tensor *g; /* [AOEI_RW_COUNT] weight gradients; NULL in the forward pass */
    const aoei_batch *batch;
    aoei_encoder_mode mode;
    aoei_ran_state *s;
    const aoei_encoder_dropout *drop; /* dropout of the optimizer step; NULL: no dropout */
    size_t layer;                     /* index of the layer */
    aoei_ran_layer l;                 /* tensors of the layer, limited to the rows of the batch */
    /* [C, D] cells after each window in the previous layer, in step order (ran_windows.h); absent in the first layer */
    aoei_tensor cells_from;
    size_t N, C, D, H; /* number of tokens in the batch; number of windows in the batch; hidden size; heads *
                          head_size */
} aoei_ran_pass;

/* Returns the arguments with which the functions of this file compute layer `layer` in a forward pass. w contains the
 * aoei_slot_count weights of the whole encoder. The member g of the result is NULL. */
aoei_ran_pass aoei_ran_pass_of(const aoe_context *ctx, const aoei_encoder_config *c, const aoei_tensor *w,
                               const aoei_batch *batch, const aoei_encoder_state *s, const aoei_encoder_dropout *drop,
                               size_t layer);
/* Computes p->l.out, the output of the layer, from its input x [N, D]. */
void aoei_ran_layer_forward(aoei_ran_pass *p, aoei_tensor x);

/* Return rows [first, first + n) of a tensor, or of each tensor in *r. If a tensor is absent, the result is absent. */
aoei_tensor aoei_ran_part(aoei_tensor t, size_t first, size_t n);
aoei_ran_rows aoei_ran_rows_part(const aoei_ran_rows *r, size_t first, size_t n);
/* Returns the parameters of dropout at a site (AOEI_RAN_SITE_*) of the layer. If there is no dropout, the probability p
 * of the result is 0. */
aoei_dropout aoei_ran_dropout(const aoei_ran_pass *p, uint32_t site);
/* Return the options of the attention within windows (aoei_ran_attention) and of the attention of memory review
 * (aoei_ran_review_attention). */
aoei_attention aoei_ran_attention(const aoei_ran_pass *p);
aoei_attention aoei_ran_review_attention(const aoei_ran_pass *p);
/* Computes y = norm(x). The configuration selects LayerNorm or the norm of langml. stats[n, 2] receives the statistics
 * for the backward pass; if stats is absent, they are not stored. */
void aoei_ran_norm_forward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor y, aoei_tensor stats,
                           aoei_tensor x, aoei_tensor gamma, aoei_tensor beta);
/* The backward pass of aoei_ran_norm_forward. Computes dx from dy, and adds the gradients of the parameters to dgamma
 * and dbeta. Absent gradients are not computed. */
void aoei_ran_norm_backward(const aoe_context *ctx, const aoei_encoder_config *c, aoei_tensor dx, aoei_tensor dgamma,
                            aoei_tensor dbeta, aoei_tensor dy, aoei_tensor x, aoei_tensor stats, aoei_tensor gamma);
