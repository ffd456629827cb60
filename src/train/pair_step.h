/* SPDX-License-Identifier: MIT
 * One training step on pairs or triplets: encoder forward pass, pooling, objectives, encoder
 * backward pass. The trainer and the benchmark use it. All memory is allocated at creation.
 *
 * The pooling is followed by the dense layer of the model, if it has one, and by the head of the
 * method, if it trains one (a projection with tanh, or a classifier). Both process the whole batch
 * at once.
 *
 * Texts of a batch are interleaved: x0 y0 x1 y1 ..., or for triplets q0 p0 n0 q1 p1 n1 ...
 *
 * With chunks (GradCache, Gao et al. 2021), the activations of the whole batch need not fit in
 * memory: every chunk is encoded, the objectives use all vectors, and each chunk is encoded again,
 * followed by its backward pass. Dropout masks depend on the index of a text in the step, and
 * gradients are accumulated token by token, so in float32 the results are bit-identical for all
 * chunk sizes.
 */
#ifndef AOEI_TRAIN_PAIR_STEP_H
#define AOEI_TRAIN_PAIR_STEP_H

#include "aoe_train.h"
#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "loss/distill_objective.h"

/* Sizes and modes of a step. */
typedef struct aoei_pair_step_options {
    size_t pairs;        /* maximum examples of a batch */
    size_t arity;        /* 0: labelled pairs only; 2: also positives; 3: also triplets */
    size_t tokens;       /* maximum tokens of a batch */
    size_t longest;      /* maximum tokens of a text */
    aoei_dtype type;     /* data type of activations and matmuls */
    int recompute;       /* 1: the backward pass recomputes the activations of each layer */
    size_t chunk_pairs;  /* examples per chunk; 0: the whole batch is one chunk */
    size_t chunk_tokens; /* maximum tokens of a chunk */
} aoei_pair_step_options;

/* The loss that a batch minimizes. */
typedef enum aoei_step_loss {
    AOEI_STEP_BY_LABEL,   /* pair objective for batches with labels, contrastive objective for batches without */
    AOEI_STEP_REGRESSION, /* regression objective; labels are the target cosines */
    AOEI_STEP_CLASSES     /* classification objective; labels are classes and the head is a classifier [classes, 3 D] */
} aoei_step_loss;

typedef struct aoei_pair_step {
    aoe_context *ctx; /* borrowed */
    aoei_encoder_config config;
    aoei_pair_step_options o;
    aoei_arena arena; /* memory of parameters, state and tensors; owned */
    aoei_params params;
    aoei_encoder_state state;
    aoei_batch_buffer buffer; /* the batch; filled by the caller with aoei_batch_clear and aoei_batch_add */
    size_t arity;             /* texts per example in the buffer; initially 2, the caller may set 3 */
    aoei_step_loss loss;      /* loss of the next batch; set by the caller */
    aoei_distill distill;     /* distillation; set by the caller if there is a teacher */
    uint32_t *chunk_offsets;  /* [arity * chunk_pairs + 1], owned; offsets of the texts of a chunk */
    aoei_tensor pooled;       /* [arity * B, hidden] float32; replaced by its gradient */
    aoei_tensor vectors;      /* [arity * B, dims], output of the dense layer; equals `pooled` without one */
    aoei_tensor projected;    /* [arity * B, head_rows], output of the projection; equals `vectors` without one */
    aoei_tensor d_vectors;    /* [arity * B, dims], gradient of `vectors`; equals `pooled` without a dense layer */
    aoei_tensor d_projected;  /* [arity * B, head_rows], gradient of `projected`; equals `d_vectors` without a projection */
    float *host, *host_grad;  /* [arity * B, D], owned; vectors and their gradients for the objectives */
    float *host_head;         /* [head_rows, head_cols + 1], owned; weights and biases of the classifier */
    double *head, *d_head;    /* [head_rows, head_cols + 1], owned; the classifier and its gradient in double */
    void *workspace;          /* [workspace_bytes], owned; workspace of the objectives */
    size_t workspace_bytes;
} aoei_pair_step;

/* Allocates all memory. The caller sets the parameters (aoei_params_load). Errors: AOE_ENOMEM. */
int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoe_error *err);
void aoei_pair_step_destroy(aoei_pair_step *s); /* accepts a zeroed struct */
/* Takes the memory of all tensors from `arena`, which may be a measuring arena. */
int aoei_pair_step_layout(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoei_arena *arena, aoe_error *err);

/* Runs the forward and backward pass of the batch in s->buffer (arity * B texts). Adds scale * gradient of the loss to the
 * gradients. label: [B], labels of pairs; NULL: no labels. group: [2B] or NULL, see aoe_objective. drop NULL: no dropout. If
 * s->distill.weight is above 0, the distillation term is added to the loss. Errors: see aoe_objective. */
int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale, aoe_objective_result *result,
                            aoe_error *err);

#endif
