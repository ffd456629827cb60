/* SPDX-License-Identifier: MIT
 *
 * aoe_train.h: trains and pretrains models. docs/methods.md describes the training methods, and docs/lora.md describes
 * adapters.
 *
 * A training program sets a start model, an output directory and a training file (examples/train.c):
 *
 *     aoe_train_data data; aoe_train_options o;
 *     aoe_train_data_defaults(&data, "train.tsv");
 *     aoe_train_options_defaults(&o);
 *     o.args.model = "models/bert-mini"; o.args.output = "my-model"; o.data = &data; o.n_data = 1;
 *     if (aoe_train(ctx, &o, &err)) fprintf(stderr, "%s\n", err.message);
 */
#ifndef AOE_TRAIN_H
#define AOE_TRAIN_H

#include "aoe.h"
#include "aoe_comm.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_lora.h"
#include "aoe_objective.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ training */

typedef enum aoe_train_event_kind {
    AOE_TRAIN_START,      /* training starts: steps, pairs and ibn_threshold are set */
    AOE_TRAIN_STEP,       /* an optimizer step is complete */
    AOE_TRAIN_EVAL,       /* an evaluation on the dev set is complete; at step 0, the evaluation of the start model */
    AOE_TRAIN_CHECKPOINT, /* a checkpoint is complete on disk: path is set */
    AOE_TRAIN_DONE,       /* the model is in the output directory */
    AOE_TRAIN_EMBED       /* before the first step: a teacher has embedded some of the training texts; texts, all_texts,
                             seconds, seconds_left and path are set */
} aoe_train_event_kind;

/* What the ranks of a distributed run (aoe_training_args.comm) exchanged in the steps of this process. Bytes: the
 * largest number that a rank sent to the other ranks. Seconds: the time of the rank that waited least for the others.
 */
typedef struct aoe_train_traffic {
    size_t struct_size;                /* set by the library */
    size_t ranks, steps;               /* number of ranks; number of steps in which the values were counted */
    uint64_t vectors, gradients, norm; /* bytes: vectors of the texts, or the losses of the shards in
                                          pretraining; partial sums of the gradient; its sums of squares */
    uint64_t weights, agreement;       /* bytes: new values of the parameters; hashes that are compared, and
                                          whether to stop */
    double vectors_seconds, gradients_seconds, norm_seconds, weights_seconds, agreement_seconds;
    double computation_seconds; /* time of all steps without these exchanges, of the slowest rank */
} aoe_train_traffic;

typedef struct aoe_train_event {
    size_t struct_size; /* set by the library */
    aoe_train_event_kind kind;
    size_t step, steps; /* number of completed steps; number of all steps of the run, an estimate if max_minutes is
                           set */
    double epoch;       /* number of completed epochs, with a fraction */
    const aoe_objective_result *loss; /* STEP: mean loss over the batches of the step; EVAL in pretraining: loss on
                                         held-out texts; otherwise all values are 0. Borrowed for the call */
    double accuracy;                  /* STEP, EVAL in pretraining: accuracy on masked tokens; otherwise NaN */
    double lr, grad_norm;             /* STEP: learning rate; gradient norm before clipping */
    double tokens_per_second, pairs_per_second; /* speed since the last event of this kind; in pretraining, a sequence
                                                   is counted as a pair */
    double seconds, seconds_left;               /* elapsed time; estimated remaining time */
    double score, best_score; /* EVAL, DONE: score on the dev set; highest score so far; NaN without a dev set */
    size_t best_step;         /* number of completed steps at best_score; 0: no step is better than the start model */
    double start_score;       /* EVAL, DONE: score of the start model; NaN if it was not evaluated */
    double trained_score; /* EVAL, DONE: highest score after a step, without the start model; NaN if there is none */
    size_t trained_step;  /* number of completed steps at trained_score */
    size_t pairs;         /* START: number of training examples */
    size_t unused_rows;   /* START: number of rows in the training files that are not used; the log has the reasons */
    size_t examples;      /* STEP: number of examples in the step; the last step of an epoch can have fewer */
    double ibn_threshold; /* START: threshold in use */
    size_t texts, all_texts; /* EMBED: number of texts that the teacher has embedded; number of all training texts */
    const char *path; /* CHECKPOINT: directory of the checkpoint; EMBED: directory of the teacher; borrowed for the
                         call. Otherwise NULL */
    const aoe_train_traffic *traffic; /* DONE in a run with several ranks; borrowed for the call. Otherwise NULL */
} aoe_train_event;

/* Returns 0 to continue. Otherwise training writes a checkpoint, unless it has not started yet (EMBED), and aoe_train
 * returns AOE_ECANCELLED. */
typedef int (*aoe_train_fn)(void *user, const aoe_train_event *event);
/* Sets *score to the score of the model that is being trained, which is the model of the embedder `e`. A higher score
 * is better. Returns 0, or sets *err and returns an error code. */
typedef int (*aoe_dev_fn)(void *user, aoe_embedder *e, double *score, aoe_error *err);

typedef enum aoe_optimizer {
    AOE_OPTIMIZER_ADAMW,   /* AdamW with betas 0.9 and 0.999 (Loshchilov and Hutter 2019) */
    AOE_OPTIMIZER_RMSPROP, /* RMSprop with smoothing constant 0.9 and without momentum, in the form of PyTorch */
    AOE_OPTIMIZER_SGD      /* stochastic gradient descent without momentum */
} aoe_optimizer;

/* Learning rate after the warmup. */
typedef enum aoe_schedule {
    AOE_SCHEDULE_LINEAR,  /* decays linearly to 0 */
    AOE_SCHEDULE_CONSTANT /* constant, except for lr_steps, lr_epoch_factor and lr_divide */
} aoe_schedule;

/* A change of the learning rate: it is `lr` from step `step`, counted from 0. */
typedef struct aoe_lr_step {
    size_t step;
    double lr;
} aoe_lr_step;

enum { AOE_MAX_LR_STEPS = 16 /* maximum number of changes of the learning rate */ };

/* Options that fine-tuning and pretraining have in common. */
typedef struct aoe_training_args {
    size_t struct_size;              /* set by aoe_training_args_defaults */
    const char *model;               /* directory of the start model; required */
    const char *output;              /* directory of the trained model; required */
    aoe_model_options model_options; /* pooling, prompt, max_length and normalize are stored in the output */
    size_t epochs;                   /* default 1 */
    size_t max_steps;   /* number of steps; if above 0, `epochs` is ignored; 0 (default): `epochs` determines it */
    double max_minutes; /* duration in minutes; if above 0, `epochs` and max_steps are ignored, and the run is not
                           bit-reproducible; 0 (default): no limit */
    int recompute; /* 1: recompute activations in the backward pass to save memory; results are bit-identical; default
                      0 */
    size_t batch_tokens; /* maximum tokens per batch of evaluations and teachers, as in aoe_embedder_options; tokens per
                            batch of the encoder in pretraining; default 4096 */
    double lr;           /* highest learning rate; default 5e-5 */
    double warmup; /* length of the warmup: a value below 1 is a fraction of all steps, other values are numbers of
                      steps; default 0.1 */
    double weight_decay;     /* weight decay of matrices; other parameters have none; default 0.01 */
    double max_grad_norm;    /* gradients are clipped to this norm; default 1.0; 0: no clipping */
    double dropout;          /* dropout probability; AOE_AUTO (default): from config.json */
    uint64_t seed;           /* default 42 */
    size_t save_every;       /* steps between checkpoints; 0 (default): one checkpoint at the end of each epoch */
    size_t keep_checkpoints; /* number of checkpoints kept on disk; default 1 */
    size_t eval_every;       /* steps between evaluations; 0 (default): one evaluation at the end of each epoch */
    size_t patience;         /* training stops after this many consecutive evaluations without improvement; 0 (default):
                                never */
    int resume;              /* 1: continue from the newest complete checkpoint in `output`; default 0 */
    int force;               /* 1: replace the model in `output`; default 0 */
    aoe_train_fn event;      /* receives events; NULL (default): none */
    void *event_user;        /* first argument of event */
    aoe_optimizer optimizer; /* default AOE_OPTIMIZER_ADAMW */
    double optimizer_eps;    /* epsilon of AdamW and RMSprop; default 1e-8 */
    int no_bias_correction;  /* AdamW: 1: the moments are used without bias correction; default 0 */
    int decay_all;           /* 1: weight decay also applies to biases and norms; default 0 */
    aoe_schedule schedule;   /* default AOE_SCHEDULE_LINEAR */
    /* The following fields require AOE_SCHEDULE_CONSTANT. */
    aoe_lr_step lr_steps[AOE_MAX_LR_STEPS]; /* [n_lr_steps] changes of the learning rate, in ascending order of their
                                               steps */
    size_t n_lr_steps;                      /* default 0 */
    double lr_epoch_factor; /* factor of the learning rate at the start of each epoch after the first; default 1 */
    double lr_divide; /* divisor of the learning rate after each evaluation without improvement; default 1. The weights
                         are not changed */
    double min_lr;    /* training stops if the learning rate falls below this value because of lr_divide; default 0:
                         never */
    /* Number of shards of a batch, whose gradients are added in a fixed order: a power of two, at most AOE_MAX_SHARDS;
     * default 1. It changes only the rounding of the gradients. With `comm`, it must be at least the number of ranks,
     * which does not change the result. */
    size_t shards;
    const aoe_comm *comm; /* ranks that train together (aoe_comm.h); all of them call the function with the same
                             options. Only rank 0 writes to `output` and calls `event`. If the function returns
                             AOE_ECOMM, the program must call comm->abort. NULL (default): this process alone */
    double comm_timeout;  /* seconds without progress after which an exchange with other ranks fails; 0: never; default
                             600 */
} aoe_training_args;

enum { AOE_MAX_SHARDS = 1024 /* maximum of aoe_training_args.shards */ };

AOE_OPTIONS_WITH(aoe_training_args, aoe_model_options_defaults(&o->model_options));

enum { AOE_MAX_TEACHERS = 4 /* maximum number of teachers */ };

/* Linear map from the embeddings to the teacher embeddings (DISTILL). It starts from the identity matrix, with zeros
 * where the sizes differ, plus small random values. */
typedef enum aoe_teacher_map {
    AOE_TEACHER_MAP_AUTO,    /* DROPPED if the sizes differ or options.n_matryoshka is not 0; otherwise NONE */
    AOE_TEACHER_MAP_NONE,    /* the embeddings are compared with the teacher embeddings, which must have the same size
                                unless w_vectors is 0 */
    AOE_TEACHER_MAP_DROPPED, /* only the term w_vectors uses the map, and the saved model does not contain it */
    AOE_TEACHER_MAP_KEPT /* the map is a dense layer of the model, whose embeddings then have the size of the teacher
                            embeddings. If the last layer of the model is already such a layer, it is trained further */
} aoe_teacher_map;

/* A training file. The default method trains pairs with the cosine, in-batch negatives and angle losses, positives with
 * the contrastive loss, and triplets with the contrastive, cosine and angle losses (docs/objectives.md). */
typedef struct aoe_train_data {
    size_t struct_size; /* set by aoe_train_data_defaults */
    const char *path;
    aoe_example_kind kind;   /* kind of the examples; default AOE_EXAMPLES_AUTO */
    aoe_table_options table; /* columns, label_map and format of the file */
    double weight; /* number of times that each example is used per epoch; default 1. For example, 2 uses each example
                      twice, and 0.5 uses a random half of the examples */
    const char *prompt;     /* prompt template. It applies to both texts of a pair, and to the query of positives and
                               triplets. "": no prompt; NULL (default): from the model */
    const char *doc_prompt; /* prompt template for positives and negatives; NULL (default): `prompt` */
    double ibn_threshold;   /* pairs: lowest label of a positive pair; AOE_AUTO (default):
                               aoe_train_options.objective.ibn_threshold */
} aoe_train_data;

AOE_API void aoe_train_data_fill(aoe_train_data *d);
/* Sets d->path to path, and the other fields to their defaults. */
static inline void aoe_train_data_defaults(aoe_train_data *d, const char *path) {
    if (!d)
        return;
    d->struct_size = sizeof *d;
    aoe_table_options_defaults(&d->table);
    aoe_train_data_fill(d);
    d->path = path;
}

/* Training methods (docs/objectives.md). The comment of a method names its kinds of examples, its loss, and the fields
 * of aoe_train_options.objective that it uses. */
typedef enum aoe_method {
    AOE_METHOD_ANGLE,                /* pairs: aoe_objective; positives and triplets: aoe_contrastive; all fields */
    AOE_METHOD_COSENT,               /* pairs, triplets: only the cosine loss; tau_cosine */
    AOE_METHOD_SBERT_CLASSIFICATION, /* pairs: softmax classifier over (u, v, |u - v|), where u and v are the vectors of
                                        the two texts; labels are classes */
    AOE_METHOD_SBERT_REGRESSION,     /* pairs: mean squared difference of cosine and label / label_max */
    AOE_METHOD_SIMCSE_UNSUP, /* texts of any file; each text is its own positive, under another dropout mask; tau_ibn */
    AOE_METHOD_SIMCSE_SUP,   /* triplets, positives, pairs with label >= ibn_threshold; tau_ibn, hard_negative */
    AOE_METHOD_CONTRASTIVE,  /* kinds of examples as for SIMCSE_SUP, but without the dense layer (no_projection); the
                                loss is aoe_contrastive without the cosine and angle terms; tau_ibn, hard_negative,
                                w_ibn, w_cln */
    /* trains a cross-encoder (aoe.h), which scores pairs, instead of an embedding model. pairs: each pair is one
     * example; triplets: the query with its positive has label 1, with its negative label 0; `classes` */
    AOE_METHOD_CROSS_ENCODER,
    /* kinds of examples as for SIMCSE_SUP: in-batch negatives in several directions; directions, joint, tau_ibn */
    AOE_METHOD_SYMMETRIC,
    /* kinds of examples as for SIMCSE_SUP: in-batch negatives, except negatives that a guide considers more similar
     * than the positive; the guide is `teacher`, which is required; guide_margin, guide_relative, tau_ibn */
    AOE_METHOD_GIST,
    /* texts of any file: two encoders with equal start weights. The encoder with the better score on the dev set is
     * saved, or the first encoder; dot products of equal texts and of random texts; negatives */
    AOE_METHOD_CT,
    /* texts of any file: two encoders as for CT, in-batch negatives; tau_ibn is the temperature at the start, which is
     * learned */
    AOE_METHOD_CT_IN_BATCH,
    /* texts of any file; the two copies of a text, transformed by `views`, are a positive pair, and all other copies in
     * the batch are negatives: in-batch negatives as in aoe_objective, without groups; w_ibn, tau_ibn */
    AOE_METHOD_CONSERT,
    /* pairs: cross entropy as for SBERT_CLASSIFICATION, from the first copies, plus the loss of CONSERT for the first
     * texts and for the second texts; labels are classes; features, w_ibn, tau_ibn */
    AOE_METHOD_CONSERT_SUP,
    /* texts of any file; three convolutions follow the encoder and remain in the model; no fields (IS-BERT) */
    AOE_METHOD_IS_BERT,
    /* texts of any file; SIMCSE_UNSUP with a projection of its own, plus a discriminator that detects, given the
     * embedding of a text, which tokens the masked language model `generator` has replaced; the discriminator is not
     * saved; tau_ibn, generator, w_detection, mask_rate */
    AOE_METHOD_DIFFCSE,
    /* pairs: cross entropy as for SBERT_CLASSIFICATION, with a classifier of three linear layers; the model consists of
     * the word embeddings of args.model, which are not trained, a bidirectional LSTM and maximum pooling; labels are
     * classes; features, lstm_dims */
    AOE_METHOD_INFERSENT,
    /* texts of any file; the hidden states of [MASK] in two prompt templates, args.model_options.prompt and
     * second_prompt, are a positive pair; a projection is not saved; second_prompt, tau_ibn */
    AOE_METHOD_PROMPTBERT,
    /* pairs: as INFERSENT, but the model consists of trained word embeddings, hashed bigram embeddings, mean pooling
     * and two dense layers with tanh; labels are classes; features, bigrams */
    AOE_METHOD_DAN,
    /* positives, triplets: the loss of SIMCSE_SUP for the hidden states of [MASK] in the prompt template
     * args.model_options.prompt. The transform of the masked-LM head is applied to them, and the vectors of empty
     * templates are subtracted. The saved model contains the transform and the subtraction; tau_ibn */
    AOE_METHOD_PROMPTBERT_SUP,
    /* texts of any file: the teacher embeddings are targets, and the similarities of the texts in a batch; a teacher is
     * required; teachers, teacher_map, teacher_cache, w_vectors, w_similarities, vector_loss */
    AOE_METHOD_DISTILL,
    AOE_METHOD_COUNT
} aoe_method;

AOE_API const char *aoe_method_name(aoe_method m); /* "angle", "cosent" ...; static string, NULL for an unknown value */
/* Returns a short description of the method with its source. Static string, NULL for an unknown value. */
AOE_API const char *aoe_method_describe(aoe_method m);
/* Returns the data that the method usually reads, such as "plain texts", which groups the methods in the help. Methods
 * of the same group have equal strings. Static string, NULL for an unknown value. */
AOE_API const char *aoe_method_group(aoe_method m);
AOE_API int aoe_method_parse(aoe_method *m, const char *name, aoe_error *AOE_NULLABLE err);

/* A size of truncated embeddings for Matryoshka representation learning: the first `dims` components, and the weight of
 * their loss. */
typedef struct aoe_prefix {
    size_t dims;
    double weight; /* above 0 */
} aoe_prefix;

enum { AOE_MAX_PREFIXES = 16 /* maximum number of sizes */ };

/* A view: a transformation of a copy of a text (CONSERT, CONSERT_SUP). Cutoffs apply to the output of the embedding
 * layer. Nothing is rescaled. */
typedef enum aoe_view_kind {
    AOE_VIEW_PLAIN,       /* no transformation */
    AOE_VIEW_SHUFFLE,     /* the positions of the tokens are permuted; the order of the tokens does not change */
    AOE_VIEW_FEATURE_CUT, /* floor(rate D) of the D columns are 0 for all tokens of the text */
    AOE_VIEW_TOKEN_CUT /* floor(rate n) of the n tokens are 0; special tokens are counted and drawn like other tokens */
} aoe_view_kind;

typedef struct aoe_view {
    aoe_view_kind kind;
    double rate; /* FEATURE_CUT, TOKEN_CUT: fraction of columns or tokens, above 0 and below 1; otherwise ignored */
} aoe_view;

enum { AOE_VIEWS = 2 /* copies of a text */ };

/* Parses a view: "none", "shuffle", "feature-cut:RATE" or "token-cut:RATE". Errors: AOE_EARG. */
AOE_API int aoe_view_parse(aoe_view *v, const char *text, aoe_error *AOE_NULLABLE err);

/* Weight of the loss of hidden state i (0: embedding output): 1, 1 / (1 + ln(1 + i)), or 1 / (1 + i). */
typedef enum aoe_layer_prior { AOE_LAYER_PRIOR_UNIFORM, AOE_LAYER_PRIOR_LOG, AOE_LAYER_PRIOR_LINEAR } aoe_layer_prior;

/* Losses on the hidden states of all layers of a transformer. With `adaptive` (AdaptiveLayerLoss of
 * sentence-transformers), the loss of the method is also computed for hidden states before the last one, which are
 * drawn for each step. Their embeddings are trained to match the distribution of the final embeddings. With `ese`
 * (Espresso sentence embeddings, Li et al. 2024), it is computed for the first ese_dims components of the vectors of
 * the hidden states. The trained model can then be truncated to its first layers. At most one of them may be set. */
typedef struct aoe_layer_options {
    size_t struct_size;    /* set by aoe_layer_options_defaults */
    int adaptive;          /* 1: adaptive layers; default 0 */
    size_t per_step;       /* adaptive: number of hidden states that are drawn for each step; default 1 */
    aoe_layer_prior prior; /* adaptive: default AOE_LAYER_PRIOR_UNIFORM */
    double temperature;    /* adaptive: temperature of the distributions; default 0.3 */
    double w_last;         /* adaptive: weight of the loss of the embeddings; default 1 */
    double w_layers;       /* adaptive: weight of the mean loss of the drawn hidden states; default 1 */
    double w_kl;           /* adaptive: weight of the divergence of the distributions; default 1 */
    int ese;               /* 1: ESE; default 0 */
    size_t ese_dims;       /* ese: number of components; default 128 */
} aoe_layer_options;

AOE_OPTIONS(aoe_layer_options);

typedef struct aoe_train_options {
    size_t struct_size; /* set by aoe_train_options_defaults */
    aoe_training_args args;
    const aoe_train_data *data; /* [n_data] training files. All examples of a batch are from one file. The batches of
                                   all files are in random order */
    size_t n_data;
    aoe_method method;               /* default AOE_METHOD_ANGLE */
    aoe_objective_options objective; /* weights and temperatures of the losses; its ibn_threshold is AOE_AUTO */
    double label_max; /* SBERT_REGRESSION: label that corresponds to a cosine of 1; AOE_AUTO (default): highest label of
                         the file */
    size_t classes; /* SBERT_CLASSIFICATION: number of classes; AOE_AUTO (default): highest label + 1. CROSS_ENCODER: 1
                       (AUTO, default): one score per pair; the loss is the binary cross entropy, and a label divided by
                       label_max is the target. 2 or more: labels are classes; the loss is the cross entropy */
    aoe_view views[AOE_VIEWS]; /* CONSERT, CONSERT_SUP: transformations of the copies of each text. Default: PLAIN;
                                  aoe_train_method_defaults sets a feature cutoff of 0.2 and SHUFFLE for CONSERT, and
                                  PLAIN and a token cutoff of 0.1 for CONSERT_SUP */
    int new_head; /* CROSS_ENCODER: 1: replace the classification head of the start model by a new one; default 0 */
    int no_projection;    /* SIMCSE methods: 1: train without the dense layer with tanh after the pooling; default 0 */
    int allow_duplicates; /* 1: a text may occur several times in a contrastive batch; default 0 */
    size_t batch_size;    /* examples per batch; default 32 */
    size_t accumulate;    /* batches per optimizer step, whose gradients are accumulated; default 1 */
    size_t cache_chunk;   /* number of examples that the encoder processes at a time (GradCache); 0 (default): the whole
                             batch. The losses are always computed over the whole batch */
    /* Model directories of teachers; the list ends at the first NULL. Default: none, no distillation. The target of a
     * text is the teacher embedding. With several teachers, it is the concatenation of their embeddings, each
     * normalized to unit length, so that the cosine of two texts is the mean of the teachers' cosines */
    const char *teachers[AOE_MAX_TEACHERS];
    /* Directory in which the teacher embeddings are stored as bf16, so that later runs do not compute them again. It is
     * created if it does not exist. NULL (default): they are kept in memory as float32 */
    const char *teacher_cache;
    aoe_teacher_map teacher_map; /* DISTILL: default AOE_TEACHER_MAP_AUTO */
    double w_teacher; /* weight of the distillation loss; default 1; 0: no distillation. If it is above 0, all weights
                         of `objective` may be 0. DISTILL: ignored */
    aoe_distill distill; /* default AOE_DISTILL_COSINE */
    aoe_lora lora;       /* adapters to train instead of all weights */
    /* [n_matryoshka] Matryoshka representation learning: the loss is the weighted sum of the losses of the embeddings
     * truncated to these sizes. NULL (default): the loss of whole embeddings. matryoshka_per_step: number of sizes that
     * are drawn for each step; 0 (default): all */
    const aoe_prefix *matryoshka;
    size_t n_matryoshka, matryoshka_per_step;
    aoe_layer_options layers; /* losses on the hidden states of all layers; default: none */
    /* CT: number of random pairs that are added to each text as negatives; default 7 */
    size_t negatives;
    const char *generator; /* DIFFCSE: model directory of a masked language model with the vocabulary of the model,
                              which replaces tokens; required; NULL (default): none */
    double w_detection;    /* DIFFCSE: weight of the loss of the discriminator; default 0.005 */
    double mask_rate;      /* DIFFCSE: probability that a token is selected for masking, above 0 and at most 1; default
                              0.3 */
    const char *second_prompt; /* PROMPTBERT: second prompt template; required; NULL (default): none */
    size_t lstm_dims;    /* INFERSENT: number of outputs of each direction of the LSTM; AOE_AUTO (default): from the
                            model, or 2048 if it has no LSTM */
    size_t bigrams;      /* DAN: number of bigram embeddings, a power of two of at most 2^24, or 0 for none; AOE_AUTO
                            (default): from the model, or 65536 if the model has no dense layers of an earlier run */
    aoe_dev_fn evaluate; /* computes the dev score of the model, before the first step and every args.eval_every steps;
                            the model with the highest score is kept: the start model, if no step is better. NULL
                            (default): the last model is kept */
    void *evaluate_user; /* first argument of evaluate */
    uint64_t dev_fingerprint; /* aoe_pairs_fingerprint of the dev set. A run cannot be resumed with another value. 0
                                 (default): not checked */
    const char *dev_name;     /* name of the dev set in aoe.json; NULL without a dev set */
    const char *dev_metric;   /* name of the dev score in train-log.jsonl, for example "spearman"; NULL (default): not
                                 written */
} aoe_train_options;

AOE_OPTIONS_WITH(aoe_train_options, aoe_training_args_defaults(&o->args), aoe_objective_options_defaults(&o->objective),
                 aoe_lora_defaults(&o->lora), aoe_layer_options_defaults(&o->layers));
/* Sets o->method to m, and the options whose defaults for this method differ from those of aoe_train_options_defaults
 * to the values of the method's paper (docs/objectives.md). Does nothing if m is unknown. */
AOE_API void aoe_train_method_defaults(aoe_train_options *o, aoe_method m);
/* Returns the number of texts that the encoder processes at a time in training, for aoe_plan_options.n_texts. This is
 * the number of examples per batch (or cache_chunk, if it is lower), times the number of texts that the method encodes
 * per example. texts_per_example: texts per example in the training files: 2 for pairs and positives, 3 for triplets.
 * Methods that train on plain texts ignore it. The two texts of a pair count as one text for CROSS_ENCODER, which
 * encodes them together. Returns 0 if the method is unknown. */
AOE_API size_t aoe_train_batch_texts(const aoe_train_options *o, size_t texts_per_example);
/* Fine-tunes args.model on the training files and writes the model to args.output. With equal seeds, the trained
 * weights are bit-identical for any number of threads and after resuming. If args.model is an adapter directory, or
 * options.lora requests new adapters, only the adapters are trained and saved, in PEFT's format; the base model is
 * neither changed nor copied. The teacher embeddings are computed once, before the first step; a resumed run checks
 * that they are unchanged. Errors: AOE_EFORMAT (training file: file, line and column; labels without an ordered pair if
 * the cosine or angle loss is on), AOE_EEXIST (args.output contains a model or checkpoints, and neither force nor
 * resume is set), AOE_ENUMERIC (the loss is not finite), AOE_ECANCELLED, AOE_EIO and other errors of files. */
AOE_API int aoe_train(aoe_context *ctx, const aoe_train_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);
/* Checks the options as aoe_train does, without opening a file. Errors: AOE_EARG. */
AOE_API int aoe_train_check(const aoe_train_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);

/* Computes the teacher embeddings for part `part` of `parts` of the training texts, writes them to
 * options.teacher_cache, which is required, and returns without training. args.output is not used. When all parts have
 * been computed, aoe_train with the same options reads the embeddings from this directory. Part i of n consists of the
 * blocks of 4096 texts whose number modulo n is i; blocks that are in the directory are not computed again. Several
 * processes may compute parts at the same time. Errors: AOE_EARG (no teacher, no options.teacher_cache, a part that
 * does not exist), and those of aoe_train. */
AOE_API int aoe_train_embed_part(aoe_context *ctx, const aoe_train_options *AOE_NULLABLE o, size_t part, size_t parts,
                                 aoe_error *AOE_NULLABLE err);

/* Sizes of the training data of a run. */
typedef struct aoe_train_sizes {
    size_t struct_size; /* set by the caller */
    size_t length;      /* maximum number of tokens in a text, or of a text pair for a cross-encoder */
    size_t texts;       /* maximum number of texts that are encoded per example, including copies and random pairs */
} aoe_train_sizes;

/* Checks all that aoe_train checks before the first step, except args.output: the options, the start model, the
 * training files, the teacher and the generator. Nothing is trained or written, and the teacher embeds no texts. Sets
 * *sizes. Errors: see aoe_train. */
AOE_API int aoe_train_check_data(aoe_context *ctx, const aoe_train_options *AOE_NULLABLE o, aoe_train_sizes *sizes,
                                 aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------- pretraining */

typedef struct aoe_pretrain_options {
    size_t struct_size;       /* set by aoe_pretrain_options_defaults */
    aoe_training_args args;   /* shared options, with two differences: the default of lr is 5e-4, and
                                 model_options.max_length is the number of tokens per sequence. An evaluation is scored
                                 by the negative loss on held-out texts */
    const char *const *texts; /* [n_texts] .txt files with one text per line, or tables; also .gz and .zst */
    size_t n_texts;
    aoe_table_options table; /* options of all files. columns: "text=NAME" selects the column of the texts; default: the
                                column text or sentence */
    size_t batch_size; /* sequences per step; default 256. The encoder processes args.batch_tokens tokens at a time */
    int pack;          /* 1 (default): join texts up to the maximum length; 0: one sequence per text */
    double mask_rate;  /* fraction of tokens that are masked, in whole words; default 0.15 */
    size_t shuffle;    /* sequences in the shuffle buffer; default 131072 */
    double held_out;   /* fraction of texts that are used only for evaluation, chosen by a hash of the text; default
                          0.005; 0: no evaluation, and the last model is kept */
} aoe_pretrain_options;

AOE_OPTIONS_WITH(aoe_pretrain_options, aoe_training_args_defaults(&o->args), aoe_table_options_defaults(&o->table));
/* Pretrains args.model as a masked language model (Devlin et al. 2019, section 3.1; whole-word masking) and writes the
 * result to args.output. args.model may have random weights (aoe_init) or be a pretrained model. The output has the
 * format of transformers' BertForMaskedLM; aoe_train accepts it as a start model. In events, loss.total is the mean
 * loss of masked tokens in nats, `accuracy` is the fraction of masked tokens that are predicted correctly, and `score`
 * is the negative loss on held-out texts. With equal seeds, the weights are bit-identical for any number of threads and
 * after resuming. Errors: see aoe_train; AOE_EFORMAT (no [MASK] token; no text). */
AOE_API int aoe_pretrain(aoe_context *ctx, const aoe_pretrain_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
