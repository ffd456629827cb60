/* SPDX-License-Identifier: MIT
 *
 * aoe_plan.h: memory that inference and training with a model use.
 */
#ifndef AOE_PLAN_H
#define AOE_PLAN_H

#include "aoe.h"
#include "aoe_convert.h"
#include "aoe_shape.h"
#include "aoe_train.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Numbers of bytes that the embedder and the trainer allocate for a batch of n_texts texts with `length` tokens per
 * text. The memory for the texts of the training files, for a teacher and its embeddings, for a generator, and for the
 * copies of embeddings that Matryoshka losses and losses of layers use is not included. */
typedef struct aoe_memory_plan {
    size_t struct_size; /* set by the caller */
    aoe_dtype dtype; /* data type of activations and packed copies; AOE_DTYPE_INT8 is only for inference: the fields for
                        training then describe training in the data type of the other operations */
    /* inference */
    size_t weights;     /* memory-mapped weights */
    size_t packed;      /* copies of weights in the layout of the kernels */
    size_t activations; /* activations of one batch */
    /* The following fields are for training with batches of n_texts texts. If aoe_train_options.cache_chunk is set,
     * n_texts must be the number of texts in a chunk (aoe_train_batch_texts). */
    size_t frozen;          /* adapters: frozen weights, memory-mapped or converted; otherwise 0 */
    size_t parameters;      /* float32 values of the trained parameters */
    size_t gradients;       /* float32 gradients */
    size_t moments;         /* float32 moments of the optimizer: two of AdamW */
    size_t training_packed; /* bf16 copies of the linear weights, updated in each step; 0 in float32 */
    size_t kept;            /* activations kept from the forward to the backward pass */
    size_t kept_recompute;  /* activations kept from the forward to the backward pass if aoe_training_args.recompute is
                               1 */
    size_t working;         /* gradients of activations and buffers for one layer at a time */
    size_t objectives; /* vectors of the batch after the pooling, in the added layers and in the loss functions, and
                          scores of in-batch negatives */
    size_t training;   /* sum for training without recompute */
    size_t training_recompute; /* sum for training with recompute */
    size_t evaluation;         /* additional memory if there is a dev set: the best parameters and an embedder */
} aoe_memory_plan;

typedef struct aoe_plan_options {
    size_t struct_size;  /* set by aoe_plan_options_defaults */
    size_t n_texts;      /* texts in a batch; a joined pair of CROSS_ENCODER counts as one text; default 64 */
    size_t length;       /* tokens per text; AOE_AUTO (default): the maximum length of the model */
    aoe_dtype dtype;     /* used only by aoe_shape_plan: data type of activations, as in aoe_model_options */
    aoe_storage storage; /* used only by aoe_shape_plan: stored type of the weights; default AOE_STORAGE_BF16 */
    /* Options of the training run, borrowed; NULL (default): the default options. The method with its layers, the
     * adapters, the optimizer and options.layers are used. If lora.r is 0, the adapters of the model are trained; if
     * the model has no adapters, all weights are trained. The batch size, recompute and the data files have no
     * effect */
    const aoe_train_options *train;
} aoe_plan_options;

AOE_OPTIONS(aoe_plan_options);
/* Plans the memory for an open model. Sets *plan. Errors: AOE_EARG, AOE_EUNSUPPORTED (the method does not support the
 * model, or its options, such as the prompt template of PROMPTBERT, do not fit the model), AOE_ENOMEM. */
AOE_API int aoe_model_plan(const aoe_model *m, const aoe_plan_options *AOE_NULLABLE o, aoe_memory_plan *plan,
                           aoe_error *AOE_NULLABLE err);
/* Plans the memory for a model with the sizes in *s. No model needs to exist. */
AOE_API int aoe_shape_plan(aoe_context *ctx, const aoe_shape *s, const aoe_plan_options *AOE_NULLABLE o,
                           aoe_memory_plan *plan, aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
