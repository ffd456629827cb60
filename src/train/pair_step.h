/* SPDX-License-Identifier: MIT
 * One training step on pairs or triplets: encoder forward, pooling, the objectives, encoder
 * backward. The trainer and the benchmark use it. All its memory is allocated at creation.
 *
 * The model's dense layer, if it has one, follows the pooling. For methods that train a head,
 * a layer with tanh or the weights of the classes follow. Both process the whole batch at once.
 *
 * Texts of a batch are interleaved: x0 y0 x1 y1 ..., or for triplets q0 p0 n0 q1 p1 n1 ...
 *
 * With chunks (GradCache, Gao et al. 2021), a batch may be larger than the activations that
 * fit in memory: every chunk is encoded, the objectives use all vectors, and each chunk is
 * encoded again, this time with its backward. Dropout masks depend on the index of a text in
 * the step and gradients are accumulated token after token, so in float32 the chunk size does
 * not change a bit of the result.
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
    size_t pairs;        /* most examples of a batch */
    size_t arity;        /* 0: labelled pairs only; 2: also positives; 3: also triplets */
    size_t tokens;       /* most tokens of a batch */
    size_t longest;      /* most tokens of a text */
    aoei_dtype type;     /* of activations and matmuls */
    int recompute;       /* 1: backward recomputes the activations of each layer */
    size_t chunk_pairs;  /* examples per chunk; 0: the whole batch */
    size_t chunk_tokens; /* most tokens of a chunk */
} aoei_pair_step_options;

/* The loss that a batch minimises. */
typedef enum aoei_step_loss {
    AOEI_STEP_BY_LABEL,   /* with labels the pair objective, without labels the contrastive objective */
    AOEI_STEP_REGRESSION, /* labels are the target cosines */
    AOEI_STEP_CLASSES     /* labels are classes; the head of the configuration is [classes, 3 D] */
} aoei_step_loss;

typedef struct aoei_pair_step {
    aoe_context *ctx; /* borrowed */
    aoei_encoder_config config;
    aoei_pair_step_options o;
    aoei_arena arena;
    aoei_params params;
    aoei_encoder_state state;
    aoei_batch_buffer buffer;           /* the batch; filled by the caller: aoei_batch_clear, aoei_batch_add */
    size_t arity;                       /* texts per example in the buffer: 2, or 3 if the caller sets it */
    aoei_step_loss loss;                /* of the next batch; set by the caller */
    aoei_distill distill;               /* set by the caller if there is a teacher */
    uint32_t *chunk_offsets;            /* [arity chunk_pairs + 1], owned */
    aoei_tensor pooled;                 /* [arity B, hidden] float32; its gradient afterwards */
    aoei_tensor vectors;                /* [arity B, dims]: `pooled`, or the output of the dense layer */
    aoei_tensor projected;              /* [arity B, head_rows]: `vectors`, or the output of the head with tanh */
    aoei_tensor d_vectors, d_projected; /* their gradients; equal to `pooled` without a layer in between */
    float *host, *host_grad;            /* [arity B, D] vectors and gradients of the objectives, owned */
    float *host_head;                   /* [head_rows, head_cols + 1] weights and biases of the classes, owned */
    double *head, *d_head;              /* host_head and its gradient in double, owned */
    void *workspace;                    /* of the objectives, owned */
    size_t workspace_bytes;
} aoei_pair_step;

/* The parameters are not set: aoei_params_load. Errors: AOE_ENOMEM. */
int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoe_error *err);
void aoei_pair_step_destroy(aoei_pair_step *s); /* accepts a zeroed struct */
/* Lays the step's tensors out in `arena` (or measures them, if the arena measures). */
int aoei_pair_step_layout(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoei_arena *arena, aoe_error *err);

/* Runs forward and backward of the batch in s->buffer (arity * B texts): adds scale * gradient of the weighted sum to the
 * gradients. label: [B] of pairs; group: [2B] or NULL (aoe_objective); label NULL: the contrastive objective of positives or
 * triplets. drop NULL: no dropout. With s->distill.weight above 0 the term of the teacher is added. Errors: those of
 * aoe_objective. */
int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale, aoe_objective_result *result,
                            aoe_error *err);

#endif
