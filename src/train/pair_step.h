/* SPDX-License-Identifier: MIT
 * One training step on pairs or triplets: forward pass of the encoder, pooling, objectives, and backward pass of the
 * encoder. The trainer and the benchmark use it. All memory is allocated when the step is created.
 * The pooling may be followed by the modules of the model and by a projection of the method (nn/module_chain.h). These
 * layers process the whole batch at once. The texts of a batch are stored example by example: x0 y0 x1 y1 ... for
 * pairs, and q0 p0 n0 q1 p1 n1 ... for triplets. If the activations of the whole batch do not fit in memory, the batch
 * can be processed in chunks (GradCache, Gao et al. 2021). First, each chunk is encoded. Then the objectives are
 * computed from the embeddings of all chunks. Finally, each chunk is encoded again, followed by its backward pass. The
 * dropout mask of a text depends on the index of the text in the step, not on its index in the chunk. The gradient of
 * each weight is summed in the order of the tokens of the batch. Therefore, float32 results are bit-identical for all
 * chunk sizes. If there are two encoders (twin), an example has two texts. The first encoder encodes the first text and
 * the second encoder the second text. The buffer contains the first texts of all examples, followed by the second texts
 * of all examples. If the batch is divided into shards (train/shards.h), a chunk contains texts of one shard, and the
 * gradient of the encoder is computed for each shard of this process alone. The layers after the pooling and the loss
 * process the vectors of the whole batch in every process; their weight gradients belong to shard 0. A method can add a
 * loss with an encoder of its own (train/added_loss.h); the first encoder then encodes all texts.
 */
#pragma once

#include "aoe_objective.h"
#include "aoe_train.h"
#include "model/text_batch.h"
#include "encoder/encoder.h"
#include "encoder/params.h"
#include "loss/distill_objective.h"
#include "train/added_loss.h"
#include "train/gradient_tree.h"
#include "train/layer_loss.h"
#include "train/matryoshka.h"
#include "train/step_loss.h"

/* Maximum sizes and settings of a step. */
typedef struct aoei_pair_step_options {
    size_t pairs;    /* maximum number of examples in a batch */
    size_t arity;    /* kinds of examples that are supported. 0: labeled pairs; 1: joined pairs of cross-encoders; 2:
                        labeled pairs and positives; 2 + k: labeled pairs, positives and examples with up to k
                        negatives; 4 without a teacher: labeled pairs with two views of each text */
    size_t tokens;   /* maximum number of tokens in a batch */
    size_t longest;  /* maximum number of tokens in a text */
    aoei_dtype type; /* data type of activations and matmuls */
    aoei_optimizer_kind optimizer; /* optimizer, which determines the moments of the parameters */
    int twin;                      /* 1: a second encoder encodes the second text of each example */
    int recompute;                 /* 1: the backward pass recomputes the activations of each layer */
    size_t chunk_pairs;            /* number of examples in a chunk; 0: the whole batch is one chunk */
    size_t chunk_tokens;           /* maximum number of tokens in a chunk */
    const aoei_step_loss *loss;    /* loss that the batches minimize; NULL: aoei_loss_of_labels */
    size_t teacher_dims;           /* size of the teacher embeddings; 0: there is no teacher */
    const aoe_prefix *prefixes; /* sizes of the truncated vectors for which the loss is computed (train/matryoshka.h);
                                   NULL: the loss is computed for whole vectors; borrowed */
    const aoe_layer_options *layers; /* loss on the hidden states of all layers (train/layer_loss.h); NULL: there is
                                        none; borrowed */
    size_t references;         /* maximum number of references of a batch (aoei_pair_step.reference); 0: there are none.
                                  `tokens` includes their tokens */
    aoei_added_loss *added;    /* loss that is added; NULL: none; borrowed */
    const aoei_shards *shards; /* shards of the batches; NULL: one shard; borrowed */
    int accumulates;           /* 1: the gradients of several batches are added before the parameters are updated */
} aoei_pair_step_options;

/* Texts that one encoder encodes at a time. */
typedef struct aoei_chunk {
    size_t encoder; /* 0, or 1 for the second encoder */
    size_t first;   /* index of the first text among the texts of the encoder */
    size_t texts;   /* number of texts */
    size_t shard;   /* shard of the texts */
} aoei_chunk;

/* Parameters and buffers that all training steps use. In the shapes, B is the maximum number of examples in a batch,
 * hidden is aoei_pooled_dims(config), dims is the number of components after the last module, and D is the embedding
 * size from which the loss is computed. head_rows and head_cols are the sizes of the training head
 * (encoder/training_layers.h). */
typedef struct aoei_pair_step {
    aoe_context *ctx;           /* context for computations; borrowed */
    aoei_encoder_config config; /* configuration of the encoder */
    aoei_pair_step_options o;   /* maximum sizes and settings */
    aoei_arena arena;           /* memory of parameters, activations and tensors; owned */
    aoei_params params;         /* weights, gradients and AdamW moments; their memory is in `arena` */
    aoei_encoder_state state;   /* activations of a chunk; their memory is in `arena` */
    aoei_batch_buffer buffer;   /* token ids of the batch; filled by the caller with aoei_batch_clear and
                                   aoei_batch_add */
    size_t arity;               /* number of texts per example in `buffer`: 2 initially; the caller changes it */
    /* References (PromptBERT): texts in `buffer` after the texts of the examples. Their vectors are subtracted from the
     * vectors of the examples, after the modules and before the projection. n_references: their number, set by the
     * caller for each batch. reference: [arity * B] row of the reference of each text, filled by the caller; owned;
     * NULL if o.references is 0 */
    size_t n_references;
    uint32_t *reference;
    float *referenced;       /* [arity * B + o.references, dims] workspace: vectors or their gradients; owned */
    aoei_tensor difference;  /* [arity * B + o.references, dims] vectors minus those of their references; absent without
                                them */
    aoei_distill distill;    /* distillation term; set by the caller if there is a teacher */
    uint32_t *chunk_offsets; /* [arity * chunk_pairs + 1] offsets of the texts in a chunk; owned */
    aoei_shards shards;      /* shards of the batches */
    aoei_gradient_tree tree; /* gradients of the shards; its memory is in `arena` */
    /* [shards.n + 1] each: first example, and first reference, of each shard of the batch; owned */
    size_t *shard_first, *shard_first_reference;
    uint32_t *example_tokens; /* [B] number of tokens of each example of the batch; owned */
    aoei_chunk *chunks;       /* [arity * B + o.references] chunks of the batch that this process computes; the first
                                 n_chunks elements are used; owned */
    size_t n_chunks;
    float *gathered;         /* [arity * B + o.references, hidden] or, for token-level losses, NULL: rows that the ranks
                                exchange; NULL if there is one rank; owned */
    double *shard_loss;      /* [shards.n] sums of the added loss of each shard; owned */
    aoei_module_chain chain; /* modules between the pooling and the loss; their tensors are in `arena` */
    aoei_tensor pooled;      /* [arity * B, hidden] float32 output of the pooling; the backward pass replaces it by its
                                gradient */
    aoei_tensor vectors; /* [arity * B, dims] output of the last module; equal to `pooled` if there are no modules */
    aoei_module_chain projection; /* modules between the embeddings and the loss (encoder/training_layers.h); their
                                     tensors are in `arena` */
    /* [arity * B, D] output of the projection; without a projection, equal to `vectors`, or to `difference` with
     * references */
    aoei_tensor projected;
    aoei_tensor d_vectors; /* [arity * B, dims] gradient of `vectors`; equal to `pooled` if there are no modules */
    /* [arity * B, D] gradient of `projected`; equal to `d_vectors` if there is no projection */
    aoei_tensor d_projected;
    /* [arity * B, D], or for token-level losses [tokens, D]: embeddings or token vectors in main memory, the input of
     * the objectives, and their gradients; both owned */
    float *host, *host_grad;
    aoei_matryoshka matryoshka; /* buffers of the loss of truncated vectors; the caller chooses the sizes of each step
                                   with aoei_matryoshka_choose if o.prefixes is set */
    aoei_layer_loss layers; /* buffers of the loss on hidden states; the caller chooses the hidden states of each step
                               with aoei_layer_loss_choose if o.layers is set */
    /* [layers.max + 1] each [arity * B, hidden]: pooled vectors of the hidden states of the step, which the backward
     * pass replaces by their gradients, and a copy of `pooled` while the modules are applied to them; in `arena` */
    aoei_tensor *tap_pooled;
    aoei_tensor *tap_grad;  /* [config.layers] rows of tap_pooled of a chunk, by hidden state (aoei_encoder_taps); in
                               `arena` */
    void *workspace;        /* [workspace_bytes] workspace of the objectives; owned */
    size_t workspace_bytes; /* size of `workspace` in bytes */
} aoei_pair_step;

/* Allocates all memory of a step. After this call, the caller sets the parameters (aoei_params_load). Errors:
 * AOE_ENOMEM. */
int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_pair_step_options *o, aoe_error *err);
void aoei_pair_step_destroy(aoei_pair_step *s); /* accepts a zeroed struct */
/* Takes the memory of all tensors from the arena. If the arena is a measuring arena, only the size is computed. */
int aoei_pair_step_layout(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_pair_step_options *o, aoei_arena *arena, aoe_error *err);

/* Returns the maximum number of tokens in a chunk: the whole batch, o->chunk_tokens, or the largest possible shard. */
size_t aoei_pair_step_chunk_tokens(const aoei_pair_step_options *o);
/* Returns the number of bytes of vectors that this rank sends for a batch, in which every text has `length` tokens.
 * arity: texts per example; first, first_reference: [shards.n + 1] the first example and the first reference of each
 * shard. The memory of the step is not used. */
uint64_t aoei_pair_step_sent(const aoei_pair_step *s, size_t arity, const size_t *first, const size_t *first_reference,
                             size_t length);

/* Sets *arena_bytes to the memory that aoei_pair_step_create takes from the arena, and *other_bytes to the memory of
 * the embeddings and the workspace of the loss, which are not in the arena. Errors: AOE_ENOMEM (a size exceeds
 * SIZE_MAX). */
int aoei_pair_step_measure(size_t *arena_bytes, size_t *other_bytes, aoe_context *ctx, const aoei_encoder_config *c,
                           const aoei_pair_step_options *o, aoe_error *err);

/* Runs the forward and the backward pass for the n examples of the batch in s->buffer. The gradient of the loss is
 * multiplied by scale and added to the gradients of the parameters.
 * - label: [n] labels of the pairs, or NULL if the batch has no labels
 * - group: [2n] for each text of labeled pairs, the number of its group of identical texts (see aoe_objective), or
 *   NULL; not used if the batch has no labels
 * - drop: dropout, or NULL for none
 * If s->distill.weight is above 0, the distillation term is added to the loss. With several shards, the gradients are
 * added to those of the shards in s->tree, and aoei_partitioned_step_update adds them up. Errors: see aoe_objective;
 * AOE_ECOMM, AOE_EMISMATCH. */
int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale,
                            aoe_objective_result *result, aoe_error *err);
