/* SPDX-License-Identifier: MIT
 * One training step on pairs: encoder forward, pooling, the objectives, encoder
 * backward. The trainer and the benchmark drive it; it knows no files,
 * no epochs and no schedule. Everything it needs is laid out at creation.
 *
 * Behind the pooling comes the model's dense layer, if any; behind that, of methods with a head in
 * training, a layer with tanh, or the weights of classes. Both see the whole batch at once.
 *
 * Texts of a batch are interleaved: x0 y0 x1 y1 ..., or of triplets q0 p0 n0 q1 p1 n1 ...
 *
 * With chunks (GradCache, Gao et al. 2021) a batch is larger than the activations
 * that fit: every chunk is embedded, the objectives see all vectors, and each chunk
 * is embedded again, this time with its backward. Masks are keyed by a text's index in the step
 * and gradients continue chains token after token, so chunks do not show in float32.
 */
#ifndef AOEI_TRAIN_PAIR_STEP_H
#define AOEI_TRAIN_PAIR_STEP_H

#include "aoe_train.h"
#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "loss/distill_objective.h"

/* Bounds and ways of a step. */
typedef struct aoei_pair_step_options {
    size_t pairs;        /* of a batch, at most; examples, where they are triplets */
    size_t arity;        /* 0: labelled pairs alone; 2: positives too; 3: and triplets */
    size_t tokens;       /* of a batch, at most */
    size_t longest;      /* tokens of a text, at most */
    aoei_dtype type;     /* of activations and products */
    int recompute;       /* backward runs each layer's forward again */
    size_t chunk_pairs;  /* pairs in the encoder at a time; 0: the whole batch */
    size_t chunk_tokens; /* tokens of a chunk, at most */
} aoei_pair_step_options;

/* What the batches of a step minimise. */
typedef enum aoei_step_loss {
    AOEI_STEP_BY_LABEL,   /* with labels aoe_objective, without the contrastive objective */
    AOEI_STEP_REGRESSION, /* labels are the cosines to be had */
    AOEI_STEP_CLASSES     /* labels are classes; the configuration's head, [classes, 3 D] */
} aoei_step_loss;

typedef struct aoei_pair_step {
    aoe_context *ctx; /* borrowed */
    aoei_encoder_config config;
    aoei_pair_step_options o;
    aoei_arena arena;
    aoei_params params;
    aoei_encoder_state state;
    aoei_batch_buffer buffer;           /* the caller fills it: aoei_batch_clear, aoei_batch_add */
    size_t arity;                       /* texts of an example in the buffer: 2, or 3 when the caller says so */
    aoei_step_loss loss;                /* of the next batch; the caller sets it */
    aoei_distill distill;               /* the caller sets it where there is a teacher */
    uint32_t *chunk_offsets;            /* [arity chunk_pairs + 1], owned */
    aoei_tensor pooled;                 /* [arity B, hidden] float32; its gradient afterwards */
    aoei_tensor vectors;                /* [arity B, dims]: `pooled`, or behind the dense layer */
    aoei_tensor projected;              /* [arity B, head_rows]: `vectors`, or behind the head with tanh */
    aoei_tensor d_vectors, d_projected; /* their gradients: `pooled` where nothing lies between */
    float *host, *host_grad;            /* [arity B, D] for the objectives, owned */
    float *host_head;                   /* [head_rows, head_cols + 1] of classes, owned; likewise, weights and biases */
    double *head, *d_head;              /* the same in double, owned */
    void *workspace;                    /* of the objectives, owned */
    size_t workspace_bytes;
} aoei_pair_step;

/* The parameters are not set: aoei_params_load. Errors: AOE_ENOMEM. */
int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoe_error *err);
void aoei_pair_step_destroy(aoei_pair_step *s); /* accepts a zeroed one */
/* Lays the step's tensors out in `arena` (a measuring one plans). */
int aoei_pair_step_layout(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoei_arena *arena, aoe_error *err);

/* Forward and backward of the batch in s->buffer (arity B texts): adds scale * gradient of the weighted sum to the gradients.
 * label: [B] of pairs, group: [2B] or NULL (aoe_objective); label NULL: the contrastive objective of positives or triplets.
 * drop NULL: none. With s->distill.weight above 0 the teacher's term comes on top. Errors: those of aoe_objective. */
int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale, aoe_objective_result *result,
                            aoe_error *err);

#endif
