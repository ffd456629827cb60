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
    /* The following fields are for a run with several ranks (aoe_plan_options.ranks); otherwise 0. */
    size_t exchange; /* buffers for the exchange of gradients and weights; a part of `training` */
    /* Bytes that the rank sends to other ranks in a step whose texts all have `length` tokens: vectors of the texts;
     * partial sums of the gradient; its sums of squares; new values of the parameters; hashes that are compared, and
     * whether to stop. The headers of the network are not included */
    uint64_t sent_vectors, sent_gradients, sent_norm, sent_weights, sent_agreement;
    double tokens_per_second; /* if aoe_plan_options.measure_speed is 1: estimated speed of training on this computer in
                                 one process, with the threads of the context; 0: the model has no linear layers */
    uint64_t sent_check; /* several ranks: bytes that the rank sends after every 100 steps, in addition to those of the
                            steps, to compare the weights of all ranks */
} aoe_memory_plan;

typedef struct aoe_plan_options {
    size_t struct_size;  /* set by aoe_plan_options_defaults */
    size_t n_texts;      /* texts in a batch; a joined pair of CROSS_ENCODER counts as one text; default 64 */
    size_t length;       /* tokens per text; AOE_AUTO (default): the maximum length of the model */
    aoe_dtype dtype;     /* used only by aoe_shape_plan: data type of activations, as in aoe_model_options */
    aoe_storage storage; /* used only by aoe_shape_plan: stored type of the weights; default AOE_STORAGE_BF16 */
    /* Options of the training run, borrowed; NULL (default): the default options. The method with its layers, the
     * adapters, the optimizer and options.layers are used. If lora.r is 0, the adapters of the model are trained; if
     * the model has no adapters, all weights are trained. CROSS_ENCODER trains the head of the model, or a new one if
     * the model has none, or if `classes` is set to another number. The batch size, recompute and the data files have
     * no effect */
    const aoe_train_options *train;
    /* A distributed run: the plan is for rank `rank` of `ranks`, which train together with train->args.shards, at least
     * `ranks`. 0 (default) or 1: one process. The other fields have no effect on the fields for inference */
    size_t rank, ranks;
    size_t batch_texts; /* with several ranks and train->cache_chunk, where n_texts is the number of texts in a chunk:
                           number of texts in the whole batch; 0 (default): n_texts */
    int measure_speed;  /* 1: sets tokens_per_second, which takes about a second for BERT-base; default 0 */
    /* Options of a pretraining run (aoe_pretrain), borrowed; NULL (default): a run of aoe_train. `train` must then be
     * NULL, and the fields for training describe steps of pretrain->batch_size sequences of `length` tokens, of which
     * args.batch_tokens tokens are processed at a time. n_texts is the number of texts only for inference, and
     * batch_texts is not used. args.optimizer and args.shards are used */
    const aoe_pretrain_options *pretrain;
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
