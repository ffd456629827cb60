/* SPDX-License-Identifier: MIT
 * The losses of a training step. A loss takes the vectors of a batch and computes their gradients, and those of the
 * training head if it has one. A training method selects one of these losses (method.h). The objectives are in
 * src/loss.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/context.h"
#include "encoder/training_layers.h"
#include "loss/distill_objective.h"
#include "loss/objective.h"
#include "nn/tensor.h"

/* Maximum sizes of the batches of a step. */
typedef struct aoei_loss_shape {
    size_t examples; /* maximum number of examples in a batch */
    size_t dims;     /* number of components of a vector */
    size_t arity;    /* maximum number of vectors of an example without labels, and of joined pairs; 0: all examples are
                        labeled pairs */
    size_t head_rows; /* rows and columns of the training head; 0: there is no training head */
    size_t head_cols;
    size_t tokens;                        /* maximum number of tokens in a batch */
    const aoei_training_layers *training; /* layers that only training uses, among them the training head */
    size_t teacher_dims;                  /* size of the teacher embeddings; 0: there is no teacher */
} aoei_loss_shape;

/* A batch, and the memory for its loss. All pointers are borrowed. */
typedef struct aoei_loss_batch {
    const aoe_objective_options *o; /* weights and temperatures */
    aoei_example_batch examples;    /* vectors of the examples and their gradients */
    const double *label;            /* [examples.B] labels of the examples; NULL: they have none */
    const uint32_t *group;          /* see aoei_pair_step_gradient */
    const float *const *teacher;    /* [examples.arity * examples.B] teacher embeddings; NULL: there is no teacher */
    size_t teacher_dims;            /* size of the teacher embeddings */
    const aoei_distill *distill;    /* distillation term that is added to the loss; NULL: there is none */
    aoei_tensor head[2], d_head[2]; /* weight and bias of the training head, and their gradients, to which the loss
                                       adds */
    /* training layers, and weights of the projection and their gradients, to which the loss adds; set if there is a
     * training head */
    const aoei_training_layers *training;
    const aoei_tensor *projection, *d_projection; /* [AOEI_MODULE_WEIGHTS * n_projection] */
    double scale; /* factor of the gradients of the training head and of the projection */
    /* Token-level losses: number of texts, and [texts + 1] index of the first token of each text. `examples` contains
     * the vectors of all tokens as examples of one vector */
    size_t texts;
    const uint32_t *offsets;
    void *workspace; /* [workspace_bytes] memory; aligned to AOEI_ALIGN */
    size_t workspace_bytes;
    aoe_context *ctx;
} aoei_loss_batch;

typedef struct aoei_step_loss {
    /* Returns the size in bytes of the workspace, or 0 if it overflows. */
    size_t (*workspace)(const aoei_loss_shape *shape);
    /* Computes the loss and the gradients. Errors: see aoe_objective. */
    int (*compute)(const aoei_loss_batch *b, aoe_objective_result *result, aoe_error *err);
    int of_tokens; /* 1: the loss is computed from the token vectors that are the input of the pooling */
} aoei_step_loss;

/* Computes the loss and the gradients, and adds the distillation term if there is one. Errors: see aoe_objective. */
int aoei_step_loss_compute(const aoei_step_loss *loss, const aoei_loss_batch *b, aoe_objective_result *result,
                           aoe_error *err);
/* Adds weight times the losses in r to *sum, and the numbers of pairs and negatives. */
void aoei_result_add(aoe_objective_result *sum, const aoe_objective_result *r, double weight);
/* Sets the numbers of pairs and negatives in *to to those in *from. Used if several losses of a batch are added. */
void aoei_result_set_counts(aoe_objective_result *to, const aoe_objective_result *from);

/* Batches with labels: pair objective; batches without labels: contrastive objective. */
extern const aoei_step_loss aoei_loss_of_labels;
/* Regression objective; the labels are target cosines. */
extern const aoei_step_loss aoei_loss_of_regression;
/* Classification objective; the labels are class indices, and the training head is the classifier, with one row per
 * class and, for each feature of the options, one column per component of a vector. */
extern const aoei_step_loss aoei_loss_of_classes;
/* The same with a classifier of several linear layers: the projection, which is applied to the features
 * (aoei_training_layers.projects_features), and the training head. */
extern const aoei_step_loss aoei_loss_of_layered_classes;
/* In-batch negatives in the directions of the options (loss/direction_objective.h), for examples without labels;
 * without a guide, and with the teacher as the guide. */
extern const aoei_step_loss aoei_loss_of_directions, aoei_loss_of_guided_directions;
/* Loss of Contrastive Tension (loss/tension_objective.h); the labels are the targets of the pairs. */
extern const aoei_step_loss aoei_loss_of_tension;
/* In-batch negatives in the directions of the options, whose temperature is learned. The training head is its weight,
 * the logarithm of 1 / temperature. */
extern const aoei_step_loss aoei_loss_of_scaled_directions;
/* Losses of ConSERT (loss/view_objective.h). Batches without labels: the vectors of an example are the two views of a
 * text. Batches with labels: two views of both texts of a pair; the labels and the training head are those of
 * aoei_loss_of_classes.
 */
extern const aoei_step_loss aoei_loss_of_views;
/* Loss of IS-BERT (loss/token_objective.h), of token vectors. A batch of one text has no negatives, so its loss is
 * 0. */
extern const aoei_step_loss aoei_loss_of_tokens;
/* Distillation from the teacher embeddings (loss/vector_objective.h), for examples of one text. The training head, if
 * there is one, is the linear map to the teacher embeddings. */
extern const aoei_step_loss aoei_loss_of_vectors;
/* Loss of cross-encoders (loss/score_objective.h); the examples are joined pairs (arity 1). */
extern const aoei_step_loss aoei_loss_of_scores;
