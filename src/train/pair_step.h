/* SPDX-License-Identifier: MIT
 * One training step on pairs or triplets: forward pass of the encoder, pooling, objectives, and backward pass of the encoder.
 * The trainer and the benchmark use it. All memory is allocated when the step is created.
 *
 * The pooling is followed by the dense layer of the model, if it has one, and the training head of the method, if it has one (a
 * projection with tanh, or a classifier). Both process the whole batch at once.
 *
 * The texts of a batch are stored example by example: x0 y0 x1 y1 ..., or for triplets q0 p0 n0 q1 p1 n1 ...
 *
 * A batch can be processed in chunks (GradCache, Gao et al. 2021), so that the activations of the whole batch need not fit in
 * memory: every chunk is encoded, the objectives are computed from all vectors, and then each chunk is encoded again, followed
 * by its backward pass. Dropout masks depend on the index of a text in the step, not in the chunk. The gradient of each weight
 * is summed in the order of the tokens of the batch. In float32 the results are therefore bit-identical for all chunk sizes.
 */
#ifndef AOEI_TRAIN_PAIR_STEP_H
#define AOEI_TRAIN_PAIR_STEP_H

#include "aoe_train.h"
#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "loss/distill_objective.h"

/* Maximum sizes and settings of a step. */
typedef struct aoei_pair_step_options {
    size_t pairs;       /* maximum number of examples of a batch */
    size_t arity;       /* supported examples; 0: labeled pairs; 2: labeled pairs and positives; 3: labeled pairs, positives and
                           triplets */
    size_t tokens;      /* maximum number of tokens of a batch */
    size_t longest;     /* maximum number of tokens of a text */
    aoei_dtype type;    /* data type of activations and matmuls */
    int recompute;      /* 1: the backward pass recomputes the activations of each layer */
    size_t chunk_pairs; /* number of examples of a chunk; 0: the whole batch is one chunk */
    size_t chunk_tokens; /* maximum number of tokens of a chunk */
} aoei_pair_step_options;

/* The loss that a batch minimizes. */
typedef enum aoei_step_loss {
    AOEI_STEP_BY_LABEL,   /* pair objective for batches with labels, contrastive objective for batches without labels */
    AOEI_STEP_REGRESSION, /* regression objective; the labels are target cosines */
    AOEI_STEP_CLASSES /* classification objective; the labels are class indices, and the head is the classifier [classes, 3 D]
                       */
} aoei_step_loss;

/* Parameters and buffers that all training steps use. B: maximum number of examples of a batch. D: number of components of the
 * vectors from which the loss is computed. */
typedef struct aoei_pair_step {
    aoe_context *ctx;           /* threads and kernels; borrowed */
    aoei_encoder_config config; /* configuration of the encoder */
    aoei_pair_step_options o;   /* maximum sizes and settings */
    aoei_arena arena;           /* memory of parameters, activations and tensors; owned */
    aoei_params params;         /* weights, gradients and AdamW moments; in the arena */
    aoei_encoder_state state;   /* activations of a chunk; in the arena */
    aoei_batch_buffer buffer;   /* token ids of the batch; filled by the caller with aoei_batch_clear and aoei_batch_add */
    size_t arity;               /* texts per example in the buffer; initially 2; the caller may set 3 */
    aoei_step_loss loss;        /* loss of the next batch; set by the caller */
    aoei_distill distill;       /* distillation term; set by the caller if there is a teacher */
    uint32_t *chunk_offsets;    /* [arity * chunk_pairs + 1] offsets of the texts of a chunk; owned */
    aoei_tensor pooled;      /* [arity * B, hidden] float32 pooled vectors; the backward pass replaces them by their gradient */
    aoei_tensor vectors;     /* [arity * B, dims] output of the dense layer; `pooled` itself if there is no dense layer */
    aoei_tensor projected;   /* [arity * B, head_rows] output of the projection; `vectors` itself if there is no projection */
    aoei_tensor d_vectors;   /* [arity * B, dims] gradient of `vectors`; `pooled` itself if there is no dense layer */
    aoei_tensor d_projected; /* [arity * B, head_rows] gradient of `projected`; `d_vectors` itself if there is no projection */
    float *host, *host_grad; /* [arity * B, D] vectors and their gradients in main memory, for the objectives; owned */
    float *host_head;        /* [head_rows * (head_cols + 1)] weights, then biases of the classifier; owned */
    double *head, *d_head;   /* [head_rows * (head_cols + 1)] weights and biases in float64, and their gradient; owned */
    void *workspace;         /* [workspace_bytes] workspace of the objectives; owned */
    size_t workspace_bytes;  /* size of the workspace */
} aoei_pair_step;

/* Allocates all memory. The caller then sets the parameters (aoei_params_load). Errors: AOE_ENOMEM. */
int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoe_error *err);
void aoei_pair_step_destroy(aoei_pair_step *s); /* accepts a zeroed struct */
/* Takes the memory of all tensors from the arena. A measuring arena only computes the size. */
int aoei_pair_step_layout(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c, const aoei_pair_step_options *o,
                          aoei_arena *arena, aoe_error *err);

/* Runs the forward and backward pass for the batch in s->buffer (arity * B texts). Adds the gradient of the loss, multiplied by
 * scale, to the gradients of the parameters. label: [B] labels of the pairs; NULL: no labels. group: [2B] number of the group
 * of identical texts to which each text belongs, or NULL (see aoe_objective). If drop is NULL, there is no dropout. If
 * s->distill.weight is above 0, the distillation term is added to the loss. Errors: those of aoe_objective. */
int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale, aoe_objective_result *result,
                            aoe_error *err);

#endif
