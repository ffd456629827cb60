/* SPDX-License-Identifier: MIT
 *
 * aoe_train.h: trains and pretrains models, creates and converts models, plans memory, runs experiments, and computes loss
 * functions. docs/objectives.md defines the losses, docs/lora.md describes adapters, and docs/experiments.md describes
 * experiments.
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
#include "aoe_data.h"
#include "aoe_eval.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------ loss functions */

/* Formula of the angle score of two vectors x and y, read as complex vectors z and w: the first half of the components are the
 * real parts, the second half the imaginary parts. docs/objectives.md contains both formulas and their gradients. */
typedef enum aoe_angle_form {
    AOE_ANGLE_REFERENCE, /* | sum_k Re + Im of z_k conj(w_k) | / (|x||y|), as in the reference implementation */
    AOE_ANGLE_PHASE      /* -(sum_k m_k |arg(z_k conj(w_k))|) / (sum_k m_k) in radians, where m_k = |z_k||w_k| */
} aoe_angle_form;

/* Directions of in-batch negatives. A direction compares the query or the positive text of each example with candidates of the
 * batch. Documents are the positive and the negative texts. Values can be combined with |. */
typedef enum aoe_direction {
    AOE_QUERY_TO_DOCUMENT = 1,    /* query with all documents */
    AOE_QUERY_TO_QUERY = 2,       /* query with the queries of the other examples */
    AOE_DOCUMENT_TO_QUERY = 4,    /* positive text with all queries */
    AOE_DOCUMENT_TO_DOCUMENT = 8, /* positive text with the documents of the other examples */
    AOE_ALL_DIRECTIONS = 15
} aoe_direction;

/* Features of a pair of vectors (u, v), which the classifier of SBERT_CLASSIFICATION and CONSERT_SUP receives. Each feature has
 * as many components as u. */
typedef enum aoe_pair_feature {
    AOE_FEATURE_U = 1,           /* u */
    AOE_FEATURE_V = 2,           /* v */
    AOE_FEATURE_ABSDIFF = 4,     /* |u - v| */
    AOE_FEATURE_PRODUCT = 8,     /* u v, component by component */
    AOE_FEATURE_MAX_SQUARED = 16 /* max(u, v)^2, component by component */
} aoe_pair_feature;

/* Term of DISTILL that compares the vector of a text, or its image under a linear map, with the vector of the teacher. */
typedef enum aoe_vector_loss {
    AOE_VECTOR_LOSS_COSINE, /* 1 - cosine */
    AOE_VECTOR_LOSS_SQUARES /* mean squared difference of the components */
} aoe_vector_loss;

typedef struct aoe_objective_options {
    size_t struct_size;                    /* set by aoe_objective_options_defaults */
    double w_cosine, w_ibn, w_angle;       /* weights w1, w2 and w3 of equation 8 of the AnglE paper; default 1; 0 switches a
                                              term off */
    double w_cln;                          /* triplets: weight of C(p, n) in aoe_contrastive; default 1 */
    double tau_cosine, tau_ibn, tau_angle; /* temperatures: scores are divided by them; default 0.05, 0.05, 1.0 */
    double hard_negative;      /* triplets: added to the score of a query with its own negatives, as in SimCSE; default 0 */
    int isp;                   /* 1 (default): detect identical sentence pairs (ISP) among in-batch negatives; 0: do not */
    aoe_angle_form angle_form; /* default AOE_ANGLE_REFERENCE */
    double ibn_threshold;      /* lowest label of a positive pair for in-batch negatives; default 1.0. In aoe_train_options, the
                                  default is AOE_AUTO: lowest + 0.8 (highest - lowest), computed from the lowest and the highest
                                  label of the training file */
    /* The following fields are used only by some methods of aoe_train (aoe_method); aoe_objective and aoe_contrastive
     * ignore them. */
    unsigned directions;   /* SYMMETRIC: set of aoe_direction, with AOE_QUERY_TO_DOCUMENT; default AOE_QUERY_TO_DOCUMENT |
                              AOE_DOCUMENT_TO_QUERY */
    int joint;             /* SYMMETRIC: 1: one softmax over the candidates of all directions; 0 (default): one per direction */
    double guide_margin;   /* GIST: a candidate is left out if the guide's cosine of anchor and candidate is above the guide's
                              cosine of query and positive, minus this margin; default 0 */
    int guide_relative;    /* GIST: 1: guide_margin is a fraction of the cosine of query and positive; default 0 */
    unsigned features;     /* methods whose labels are classes: set of aoe_pair_feature; default AOE_FEATURE_U | AOE_FEATURE_V |
                              AOE_FEATURE_ABSDIFF. aoe_train_method_defaults adds AOE_FEATURE_MAX_SQUARED for CONSERT_SUP, and
                              AOE_FEATURE_PRODUCT for INFERSENT and DAN */
    double w_vectors;      /* DISTILL: weight of the term that compares the vectors with those of the teacher; default 1 */
    double w_similarities; /* DISTILL: weight of the term that compares the similarities of the batch; default 1 */
    aoe_vector_loss vector_loss; /* DISTILL: term that compares the vectors; default AOE_VECTOR_LOSS_COSINE */
} aoe_objective_options;

typedef struct aoe_objective_result {
    double total;              /* weighted sum of the terms: equation 8, or the total of aoe_contrastive */
    double cosine, ibn, angle; /* terms before they are multiplied by their weights; 0 if the weight is 0 */
    double contrastive;        /* contrastive term of aoe_contrastive; otherwise 0 */
    double regression;         /* term of AOE_METHOD_SBERT_REGRESSION; otherwise 0 */
    double classification;     /* term of AOE_METHOD_SBERT_CLASSIFICATION or AOE_METHOD_CROSS_ENCODER; otherwise 0 */
    double teacher;   /* distillation term before it is multiplied by w_teacher; 0 without a teacher. `total` includes the
                         weighted term */
    double layers;    /* training with aoe_layer_options: sum of the terms that compare the vectors of hidden states with
                         their targets (adaptive: without weights; ESE: with weights); otherwise 0 */
    double detection; /* loss of the discriminator of AOE_METHOD_DIFFCSE before it is multiplied by w_detection; otherwise
                         0. `total` includes the weighted term */
    double vectors, similarities; /* terms of AOE_METHOD_DISTILL before they are multiplied by their weights; otherwise 0 */
    size_t ordered_pairs;         /* number of (i, j) with label_i < label_j: the comparisons of the cosine and angle terms */
    size_t positive_pairs;        /* number of pairs with label >= ibn_threshold; aoe_contrastive: B */
    size_t negatives; /* AOE_METHOD_GIST: number of negatives of all queries, which are the candidates of their softmax other
                         than the positive; otherwise 0 */
    size_t left_out;  /* AOE_METHOD_GIST: number of these negatives that the guide leaves out; otherwise 0 */
} aoe_objective_result;

AOE_API void aoe_objective_options_defaults(aoe_objective_options *o);
/* Computes the value and the gradient of equations 1 to 8 of the AnglE paper for B labeled pairs. x, y: [B, D] vectors of the
 * first and second texts; row i starts at i * stride. label: [B]. group: [2B] one number per text, in the order x0 y0 x1 y1
 * ...; texts with equal numbers are identical. If group is NULL, all texts differ. grad_x, grad_y: [B, D], also with `stride`;
 * overwritten with the gradients of `total` with respect to x and y. All arithmetic is in double. Errors: AOE_EARG (odd D with
 * w_angle > 0; a temperature <= 0), AOE_ENUMERIC. */
AOE_API int aoe_objective(const aoe_objective_options *AOE_NULLABLE o, const float *x, const float *y, size_t stride,
                          const double *label, const uint32_t *AOE_NULLABLE group, size_t B, size_t D,
                          float *AOE_NULLABLE grad_x, float *AOE_NULLABLE grad_y, aoe_objective_result *AOE_NULLABLE result,
                          aoe_error *AOE_NULLABLE err);
/* Computes the value and the gradient of the contrastive loss for B examples. arity: texts per example, 2 (query, positive) or
 * more (query, positive, negatives). v: [arity B, D] vectors; the order is q0 p0 q1 p1 ... for arity 2, and q0 p0 n0 q1 p1 n1
 * ... for arity 3. grad: [arity B, D], overwritten with the gradient of `total` with respect to v. C(p) is the mean cross
 * entropy over the queries: the candidates of q_i are all positives, the correct one is p_i, and the scores are cosine /
 * tau_ibn. C(p, n) has all positives and all negatives of all examples as candidates, and hard_negative is added to the scores
 * of q_i and its own negatives. The fields of *result depend on arity:
 * - arity 2: contrastive = C(p), total = w_ibn contrastive. The other weights are ignored.
 * - arity 3 and more: contrastive = (w_ibn C(p) + w_cln C(p, n)) / 2, total = contrastive + w_cosine cosine + w_angle angle.
 *   cosine and angle are the terms of aoe_objective over all pairs (q_i, p_i) with label 1, and all pairs of q_i and one of its
 *   negatives with label 0.
 * The options isp and ibn_threshold are ignored. All arithmetic is in double. Errors: those of aoe_objective; AOE_EARG (arity
 * is below 2). */
AOE_API int aoe_contrastive(const aoe_objective_options *AOE_NULLABLE o, const float *v, size_t arity, size_t B, size_t D,
                            float *AOE_NULLABLE grad, aoe_objective_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);
/* Returns the angle score of one pair before it is divided by the temperature. x, y: [D]. Returns NaN if D is odd. */
AOE_API double aoe_angle_score(const float *x, const float *y, size_t D, aoe_angle_form form);

/* ---------------------------------------------------------------------- LoRA */

/* Low-rank adapters (LoRA, Hu et al. 2021; docs/lora.md). Only the adapters and the layers after the pooling, such as a
 * classification head, are trained; all other weights are frozen. If the start model is a directory of adapters, these adapters
 * are trained further, and r, alpha and targets cannot be changed. */
typedef struct aoe_lora {
    size_t struct_size;  /* set by aoe_lora_defaults */
    size_t r;            /* rank of new adapters; 0 (default): no new adapters */
    double alpha;        /* the output of an adapter is scaled by alpha / r; AOE_AUTO (default): 32 for new adapters */
    double dropout;      /* dropout probability of the input of an adapter; AOE_AUTO (default): the value saved with the
                            adapters, 0.1 for new adapters */
    const char *targets; /* comma-separated names of linear layers, or the last parts of their names, for example
                            "q_proj,v_proj"; NULL (default): all linear layers */
    int load_8bit;       /* 1: keep the frozen weights in memory as int8 (see AOE_STORAGE_INT8); default 0 */
} aoe_lora;

AOE_API void aoe_lora_defaults(aoe_lora *l);

/* Stored type of weights. It does not affect the data type of computations (docs/model-directories.md). */
typedef enum aoe_storage {
    AOE_STORAGE_F32,
    AOE_STORAGE_BF16, /* rounded to nearest; other programs can read it */
    AOE_STORAGE_INT8 /* matrices are int8 with one float32 scale per row, max|row| / 127; vectors are float32. Only aoe can read
                        this type */
} aoe_storage;

/* Stored type of the token embeddings, which are the largest matrix of many small models. */
typedef enum aoe_embedding_storage {
    AOE_EMBEDDING_STORAGE_AUTO, /* the type of the other weights */
    AOE_EMBEDDING_STORAGE_INT5  /* int5 with one float32 scale per row, 8 values in 5 bytes; requires AOE_STORAGE_INT8 */
} aoe_embedding_storage;

/* ------------------------------------------------------------------ training */

typedef enum aoe_train_event_kind {
    AOE_TRAIN_START,      /* training starts: steps, pairs and ibn_threshold are set */
    AOE_TRAIN_STEP,       /* an optimizer step is complete */
    AOE_TRAIN_EVAL,       /* an evaluation on the dev set is complete; at step 0, the evaluation of the start model */
    AOE_TRAIN_CHECKPOINT, /* a checkpoint is complete on disk: path is set */
    AOE_TRAIN_DONE,       /* the model is in the output directory */
    AOE_TRAIN_EMBED /* before the first step: a teacher has embedded some of the training texts; texts, all_texts, seconds,
                       seconds_left and path are set */
} aoe_train_event_kind;

typedef struct aoe_train_event {
    aoe_train_event_kind kind;
    size_t step, steps; /* number of completed steps; number of all steps of the run, an estimate if max_minutes is set */
    double epoch;       /* number of completed epochs, with a fraction */
    aoe_objective_result loss; /* STEP: mean loss over the batches of the step; EVAL in pretraining: loss on held-out texts */
    double accuracy;           /* STEP, EVAL in pretraining: accuracy on masked tokens; otherwise NaN */
    double lr, grad_norm;      /* STEP: learning rate; gradient norm before clipping */
    double tokens_per_second,
        pairs_per_second;         /* speed since the last event of this kind; in pretraining, a sequence is counted as a pair */
    double seconds, seconds_left; /* elapsed time; estimated remaining time */
    double score, best_score;     /* EVAL, DONE: score on the dev set; highest score so far; NaN without a dev set */
    size_t best_step;             /* number of completed steps at best_score; 0: no step is better than the start model */
    double start_score;           /* EVAL, DONE: score of the start model; NaN if it was not evaluated */
    double trained_score;         /* EVAL, DONE: highest score after a step, without the start model; NaN if there is none */
    size_t trained_step;          /* number of completed steps at trained_score */
    size_t pairs;                 /* START: number of training examples */
    size_t unused_rows;           /* START: number of rows of the training files that are not used; the log has the reasons */
    size_t examples;              /* STEP: number of examples of the step; the last step of an epoch can have fewer */
    double ibn_threshold;         /* START: threshold in use */
    size_t texts, all_texts;      /* EMBED: number of texts that the teacher has embedded; number of all training texts */
    const char *path; /* CHECKPOINT: directory of the checkpoint; EMBED: directory of the teacher; borrowed for the call.
                         Otherwise NULL */
} aoe_train_event;

/* Returns 0 to continue. Otherwise training writes a checkpoint, unless it has not started yet (EMBED), and aoe_train returns
 * AOE_ECANCELLED. */
typedef int (*aoe_train_fn)(void *user, const aoe_train_event *event);
/* Sets *score to the score of the model that is being trained, which is the model of the embedder `e`. A higher score is
 * better. Returns 0, or sets *err and returns an error code. */
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

/* A change of the learning rate: from step `step` on, counted from 0, it is `lr`. */
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
    size_t max_steps;                /* number of steps; if above 0, `epochs` is ignored; 0 (default): `epochs` determines it */
    double max_minutes;              /* duration in minutes; if above 0, `epochs` and max_steps are ignored, and the run is not
                                        bit-reproducible; 0 (default): no limit */
    int recompute; /* 1: recompute activations in the backward pass to save memory; results are bit-identical; default 0 */
    size_t batch_tokens;     /* maximum tokens per batch of evaluations and teachers, as in aoe_embedder_options; tokens per
                                batch of the encoder in pretraining; default 4096 */
    double lr;               /* highest learning rate; default 5e-5 */
    double warmup;           /* length of the warmup: a value below 1 is a fraction of all steps, other values are numbers of
                                steps; default 0.1 */
    double weight_decay;     /* weight decay of matrices; other parameters have none; default 0.01 */
    double max_grad_norm;    /* gradients are clipped to this norm; default 1.0; 0: no clipping */
    double dropout;          /* dropout probability; AOE_AUTO (default): from config.json */
    uint64_t seed;           /* default 42 */
    size_t save_every;       /* steps between checkpoints; 0 (default): one checkpoint at the end of each epoch */
    size_t keep_checkpoints; /* number of checkpoints kept on disk; default 1 */
    size_t eval_every;       /* steps between evaluations; 0 (default): one evaluation at the end of each epoch */
    size_t patience;         /* training stops after this many evaluations in a row without improvement; 0 (default): never */
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
    aoe_lr_step lr_steps[AOE_MAX_LR_STEPS]; /* [n_lr_steps] changes of the learning rate, in ascending order of their steps */
    size_t n_lr_steps;                      /* default 0 */
    double lr_epoch_factor; /* factor of the learning rate at the start of each epoch after the first; default 1 */
    double lr_divide; /* divisor of the learning rate after each evaluation without improvement; default 1. The weights are
                         not changed */
    double min_lr;    /* training stops if the learning rate falls below this value because of lr_divide; default 0: never */
} aoe_training_args;

AOE_API void aoe_training_args_defaults(aoe_training_args *o);

/* Loss of distillation from a teacher model; docs/objectives.md contains the formulas. */
typedef enum aoe_distill {
    AOE_DISTILL_COSINE, /* squared difference of the cosines of student and teacher for each pair of texts of an example */
    AOE_DISTILL_KL /* KL divergence of the softmax over the components of the teacher's and the student's vectors, which must
                      have equal dimensions */
} aoe_distill;

enum { AOE_MAX_TEACHERS = 4 /* maximum number of teachers */ };

/* Linear map from the embeddings to the vectors of the teacher (DISTILL). It starts from the identity matrix, with zeros where
 * the sizes differ, plus small random values. */
typedef enum aoe_teacher_map {
    AOE_TEACHER_MAP_AUTO, /* DROPPED if the sizes differ or options.n_matryoshka is not 0; otherwise NONE */
    AOE_TEACHER_MAP_NONE, /* the embeddings are compared with the vectors of the teacher, which must have the same size unless
                             w_vectors is 0 */
    AOE_TEACHER_MAP_DROPPED, /* only the term of the vectors uses the map, and the saved model does not contain it */
    AOE_TEACHER_MAP_KEPT /* the map is a dense layer of the model, whose embeddings then have the size of the vectors. If the
                            last layer of the model is already such a layer, it is trained further */
} aoe_teacher_map;

/* A training file. The default method trains pairs with the cosine, in-batch negatives and angle losses, positives with the
 * contrastive loss, and triplets with the contrastive, cosine and angle losses (docs/objectives.md). */
typedef struct aoe_train_data {
    const char *path;
    aoe_example_kind kind;   /* kind of the examples; default AOE_EXAMPLES_AUTO */
    aoe_table_options table; /* columns, label_map and format of the file */
    double weight; /* number of times that each example is used per epoch; default 1. For example, 2 uses each example twice,
                      and 0.5 uses a random half of the examples */
    const char *prompt; /* prompt template. It applies to both texts of a pair, and to the query of positives and triplets. "":
                           no prompt; NULL (default): from the model */
    const char *doc_prompt; /* prompt template for positives and negatives; NULL (default): `prompt` */
    double ibn_threshold;   /* pairs: lowest label of a positive pair; AOE_AUTO (default):
                               aoe_train_options.objective.ibn_threshold */
} aoe_train_data;

AOE_API void aoe_train_data_defaults(aoe_train_data *d, const char *path);

/* Training methods (docs/objectives.md). The comment of a method names its kinds of examples, its loss, and the fields of
 * aoe_train_options.objective that it uses. */
typedef enum aoe_method {
    AOE_METHOD_ANGLE,                /* pairs: aoe_objective; positives and triplets: aoe_contrastive; all fields */
    AOE_METHOD_COSENT,               /* pairs, triplets: only the cosine loss; tau_cosine */
    AOE_METHOD_SBERT_CLASSIFICATION, /* pairs: softmax classifier over (u, v, |u - v|), where u and v are the vectors of the two
                                        texts; labels are classes */
    AOE_METHOD_SBERT_REGRESSION,     /* pairs: mean squared difference of cosine and label / label_max */
    AOE_METHOD_SIMCSE_UNSUP,         /* texts of any file; each text is its own positive, under another dropout mask; tau_ibn */
    AOE_METHOD_SIMCSE_SUP,           /* triplets, positives, pairs with label >= ibn_threshold; tau_ibn, hard_negative */
    AOE_METHOD_CONTRASTIVE, /* kinds of examples as for SIMCSE_SUP, but without the dense layer (no_projection); the loss is
                               aoe_contrastive without the cosine and angle terms; tau_ibn, hard_negative, w_ibn, w_cln */
    /* trains a cross-encoder (aoe.h), which scores pairs, instead of an embedding model. pairs: each pair is one example;
     * triplets: the query with its positive has label 1, with its negative label 0; `classes` */
    AOE_METHOD_CROSS_ENCODER,
    /* kinds of examples as for SIMCSE_SUP: in-batch negatives in several directions; directions, joint, tau_ibn */
    AOE_METHOD_SYMMETRIC,
    /* kinds of examples as for SIMCSE_SUP: in-batch negatives, of which those that a guide considers more similar than the
     * positive are left out; the guide is `teacher`, which is required; guide_margin, guide_relative, tau_ibn */
    AOE_METHOD_GIST,
    /* texts of any file: two encoders with equal start weights, of which one is saved: the one with the better score on the dev
     * set, or the first; scalar products of equal texts and of random texts; negatives */
    AOE_METHOD_CT,
    /* texts of any file: two encoders as for CT, in-batch negatives; tau_ibn is the temperature at the start, which is learned
     */
    AOE_METHOD_CT_IN_BATCH,
    /* texts of any file; the two copies of a text, transformed by `views`, are a positive pair, and all other copies in the
     * batch are negatives: in-batch negatives as in aoe_objective, without groups; w_ibn, tau_ibn */
    AOE_METHOD_CONSERT,
    /* pairs: cross entropy as for SBERT_CLASSIFICATION, from the first copies, plus the loss of CONSERT for the first texts and
     * for the second texts; labels are classes; features, w_ibn, tau_ibn */
    AOE_METHOD_CONSERT_SUP,
    /* texts of any file; three convolutions follow the encoder and remain in the model; no fields (IS-BERT) */
    AOE_METHOD_IS_BERT,
    /* texts of any file; SIMCSE_UNSUP with a projection of its own, plus a discriminator that detects, given the embedding of a
     * text, which tokens the masked language model `generator` has replaced; the discriminator is not saved; tau_ibn,
     * generator, w_detection, mask_rate */
    AOE_METHOD_DIFFCSE,
    /* pairs: cross entropy as for SBERT_CLASSIFICATION, with a classifier of three linear layers; the model consists of the
     * word embeddings of args.model, which are not trained, a bidirectional LSTM and maximum pooling; labels are classes;
     * features, lstm_dims */
    AOE_METHOD_INFERSENT,
    /* texts of any file; the states of [MASK] in two prompt templates, args.model_options.prompt and second_prompt, are a
     * positive pair; a projection is not saved; second_prompt, tau_ibn */
    AOE_METHOD_PROMPTBERT,
    /* pairs: as INFERSENT, but the model consists of trained word embeddings, embeddings of hashed bigrams, mean pooling and
     * two dense layers with tanh; labels are classes; features, bigrams */
    AOE_METHOD_DAN,
    /* positives, triplets: the loss of SIMCSE_SUP for the states of [MASK] in the prompt template of args.model_options.prompt,
     * to which the transform of the masked-LM head is applied, and from which the vectors of empty templates are subtracted.
     * The saved model contains the transform and the subtraction; tau_ibn */
    AOE_METHOD_PROMPTBERT_SUP,
    /* texts of any file: the vectors of the teachers, which are required, are targets, and so are the similarities of the
     * texts of a batch; teachers, teacher_map, teacher_cache, w_vectors, w_similarities, vector_loss */
    AOE_METHOD_DISTILL,
    AOE_METHOD_COUNT
} aoe_method;

AOE_API const char *aoe_method_name(aoe_method m); /* "angle", "cosent" ...; static string, NULL for an unknown value */
/* Returns a short description of the method with its source. Static string, NULL for an unknown value. */
AOE_API const char *aoe_method_describe(aoe_method m);
/* Returns the data that the method usually reads, such as "plain texts", which groups the methods in the help. Methods of the
 * same group have equal strings. Static string, NULL for an unknown value. */
AOE_API const char *aoe_method_group(aoe_method m);
AOE_API int aoe_method_parse(aoe_method *m, const char *name, aoe_error *AOE_NULLABLE err);

/* A prefix of the embeddings for Matryoshka representation learning: their first `dims` components, and the weight of the loss
 * of these prefixes. */
typedef struct aoe_prefix {
    size_t dims;
    double weight; /* above 0 */
} aoe_prefix;

enum { AOE_MAX_PREFIXES = 16 /* maximum number of prefixes */ };

/* A view: a transformation of a copy of a text (CONSERT, CONSERT_SUP). Cuts apply to the output of the embedding layer. Nothing
 * is rescaled. */
typedef enum aoe_view_kind {
    AOE_VIEW_PLAIN,       /* no transformation */
    AOE_VIEW_SHUFFLE,     /* the positions of the tokens are permuted; the order of the tokens does not change */
    AOE_VIEW_FEATURE_CUT, /* floor(rate D) of the D columns are 0 for all tokens of the text */
    AOE_VIEW_TOKEN_CUT    /* floor(rate n) of the n tokens are 0; special tokens are counted and drawn like other tokens */
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

/* Losses on the hidden states of all layers of a transformer. With `adaptive` (AdaptiveLayerLoss of sentence-transformers), the
 * loss of the method is also computed for hidden states before the last one, which are drawn for each step, and their vectors
 * learn the distribution of the embeddings. With `ese` (Espresso sentence embeddings, Li et al. 2024), it is computed for the
 * first ese_dims components of the vectors of the hidden states. The trained model can then be truncated to its first layers.
 * At most one of both may be set. */
typedef struct aoe_layer_options {
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

typedef struct aoe_train_options {
    size_t struct_size; /* set by aoe_train_options_defaults */
    aoe_training_args args;
    const aoe_train_data *data; /* [n_data] training files. All examples of a batch are from one file. The batches of all files
                                   are in random order */
    size_t n_data;
    aoe_method method;               /* default AOE_METHOD_ANGLE */
    aoe_objective_options objective; /* weights and temperatures of the losses; its ibn_threshold is AOE_AUTO */
    double label_max; /* SBERT_REGRESSION: label that corresponds to a cosine of 1; AOE_AUTO (default): highest label of the
                         file */
    size_t classes;   /* SBERT_CLASSIFICATION: number of classes; AOE_AUTO (default): highest label + 1. CROSS_ENCODER: 1
                         (AUTO, default): one score per pair; the loss is the binary cross entropy, and a label divided by
                         label_max is the target. 2 or more: labels are classes; the loss is the cross entropy */
    aoe_view views[AOE_VIEWS]; /* CONSERT, CONSERT_SUP: transformations of the copies of each text. Default: PLAIN;
                                  aoe_train_method_defaults sets a feature cut of 0.2 and SHUFFLE for CONSERT, and PLAIN and a
                                  token cut of 0.1 for CONSERT_SUP */
    int new_head;         /* CROSS_ENCODER: 1: replace the classification head of the start model by a new one; default 0 */
    int no_projection;    /* SIMCSE methods: 1: train without the dense layer with tanh after the pooling; default 0 */
    int allow_duplicates; /* 1: a text may occur several times in a contrastive batch; default 0 */
    size_t batch_size;    /* examples per batch; default 32 */
    size_t accumulate;    /* batches per optimizer step, whose gradients are accumulated; default 1 */
    size_t cache_chunk;   /* number of examples that the encoder processes at a time (GradCache); 0 (default): the whole batch.
                             The losses are always computed over the whole batch */
    /* Model directories of teachers; the list ends at the first NULL. Default: none, no distillation. The vector of a text is
     * the embedding of the teacher. With several teachers, it is the concatenation of their embeddings, each normalized to unit
     * length, so that the cosine of two texts is the mean of the teachers' cosines */
    const char *teachers[AOE_MAX_TEACHERS];
    /* Directory in which the embeddings of the teachers are stored as bf16, so that later runs do not compute them again. It is
     * created if it does not exist. NULL (default): they are kept in memory as float32 */
    const char *teacher_cache;
    aoe_teacher_map teacher_map; /* DISTILL: default AOE_TEACHER_MAP_AUTO */
    double w_teacher;            /* weight of the distillation loss; default 1; 0: no distillation. If it is above 0, all
                                    weights of `objective` may be 0. DISTILL: ignored */
    aoe_distill distill;         /* default AOE_DISTILL_COSINE */
    aoe_lora lora;               /* adapters to train instead of all weights */
    /* [n_matryoshka] Matryoshka representation learning: the loss is the weighted sum of the losses of these prefixes of the
     * embeddings. NULL (default): the loss of whole embeddings. matryoshka_per_step: number of prefixes that are drawn for each
     * step; 0 (default): all */
    const aoe_prefix *matryoshka;
    size_t n_matryoshka, matryoshka_per_step;
    aoe_layer_options layers; /* losses on the hidden states of all layers; default: none */
    /* CT: number of random pairs that are added to each text as negatives; default 7 */
    size_t negatives;
    const char *generator; /* DIFFCSE: model directory of a masked language model with the vocabulary of the model, which
                              replaces tokens; required; NULL (default): none */
    double w_detection;    /* DIFFCSE: weight of the loss of the discriminator; default 0.005 */
    double mask_rate;      /* DIFFCSE: probability that a token is selected for masking, above 0 and at most 1; default 0.3 */
    const char *second_prompt; /* PROMPTBERT: second prompt template; required; NULL (default): none */
    size_t lstm_dims;          /* INFERSENT: number of outputs of each direction of the LSTM; AOE_AUTO (default): that of the
                                  model, or 2048 if it has no LSTM */
    size_t bigrams; /* DAN: number of embeddings of bigrams, a power of two of at most 2^24, or 0 for none; AOE_AUTO (default):
                       that of the model, or 65536 if the model has no dense layers of an earlier run */
    aoe_dev_fn evaluate;      /* computes the dev score of the model, before the first step and every args.eval_every steps; the
                                 model      with the highest score is kept, which is the start model if no step is better. NULL
                                 (default):      the      last model is kept */
    void *evaluate_user;      /* first argument of evaluate */
    uint64_t dev_fingerprint; /* aoe_pairs_fingerprint of the dev set. A run cannot be resumed with another value. 0 (default):
                                 not checked */
    const char *dev_name;     /* name of the dev set in aoe.json; NULL without a dev set */
    const char *dev_metric; /* name of the dev score in train-log.jsonl, for example "spearman"; NULL (default): not written */
} aoe_train_options;

AOE_API void aoe_train_options_defaults(aoe_train_options *o);
/* Sets o->method to m, and the options whose defaults for this method differ from those of aoe_train_options_defaults to the
 * values of the method's paper (docs/objectives.md). Does nothing if m is unknown. */
AOE_API void aoe_train_method_defaults(aoe_train_options *o, aoe_method m);
/* Returns the number of texts that the encoder processes at a time in training, for aoe_plan_options.n_texts: the number of
 * examples of a batch, or cache_chunk if it is lower, times the number of texts that the method encodes for an example.
 * texts_per_example: number of texts of an example of the training files, 2 for pairs and positives, 3 for triplets; methods
 * that read the texts of any file ignore it. The two texts of a pair count as one text for CROSS_ENCODER, which encodes them
 * together. Returns 0 if the method is unknown. */
AOE_API size_t aoe_train_batch_texts(const aoe_train_options *o, size_t texts_per_example);
/* Fine-tunes args.model on the training files and writes the model to args.output. With equal seeds, the trained weights are
 * bit-identical for any number of threads and after resuming. If args.model is a directory of adapters, or options.lora
 * requests new adapters, only the adapters are trained and saved, in PEFT's format; the base model is neither changed nor
 * copied. The vectors of a teacher are computed once, before the first step; a resumed run checks that they are unchanged.
 * Errors: AOE_EFORMAT (training file: file, line and column; labels without an ordered pair if the cosine or angle loss is on),
 * AOE_EEXIST (args.output contains a model or checkpoints, and neither force nor resume is set), AOE_ENUMERIC (the loss is not
 * finite), AOE_ECANCELLED, AOE_EIO and other errors of files. */
AOE_API int aoe_train(aoe_context *ctx, const aoe_train_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);
/* Checks the options as aoe_train does, without opening a file. Errors: AOE_EARG. */
AOE_API int aoe_train_check(const aoe_train_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);

/* Sizes of the training data of a run. */
typedef struct aoe_train_sizes {
    size_t length; /* maximum number of tokens of a text, or of a pair of texts for a cross-encoder */
    size_t texts;  /* maximum number of texts that are encoded per example, including copies and random pairs */
} aoe_train_sizes;

/* Checks all that aoe_train checks before the first step, except args.output: the options, the start model, the training files,
 * the teacher and the generator. Nothing is trained or written, and the teacher embeds no texts. Sets *sizes. Errors: those of
 * aoe_train. */
AOE_API int aoe_train_check_data(aoe_context *ctx, const aoe_train_options *AOE_NULLABLE o, aoe_train_sizes *sizes,
                                 aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------- memory plans */

/* Numbers of bytes that the embedder and the trainer allocate for a batch of n_texts texts with `length` tokens per text. The
 * memory for the texts of the training files, for a teacher and its vectors, for a generator, and for the copies of embeddings
 * that Matryoshka losses and losses of layers use is not included. */
typedef struct aoe_memory_plan {
    aoe_dtype dtype; /* data type of activations and packed copies; AOE_DTYPE_INT8 is only for inference: the fields for
                        training are then those of training in the data type of the other operations */
    /* inference */
    size_t weights;     /* memory-mapped weights */
    size_t packed;      /* copies of weights in the layout of the kernels */
    size_t activations; /* activations of one batch */
    /* The following fields are for training with batches of n_texts texts. If aoe_train_options.cache_chunk is set, n_texts
     * must be the number of texts in a chunk (aoe_train_batch_texts). */
    size_t frozen;             /* adapters: frozen weights, memory-mapped or converted; otherwise 0 */
    size_t parameters;         /* float32 values of the trained parameters */
    size_t gradients;          /* float32 gradients */
    size_t moments;            /* float32 moments of the optimizer: two of AdamW */
    size_t training_packed;    /* bf16 copies of the linear weights, updated in each step; 0 in float32 */
    size_t kept;               /* activations kept from the forward to the backward pass */
    size_t kept_recompute;     /* activations kept from the forward to the backward pass if aoe_training_args.recompute is 1 */
    size_t working;            /* gradients of activations and buffers for one layer at a time */
    size_t objectives;         /* vectors of the batch after the pooling, in the added layers and in the loss functions, and
                                  scores of in-batch negatives */
    size_t training;           /* sum for training without recompute */
    size_t training_recompute; /* sum for training with recompute */
    size_t evaluation;         /* additional memory if there is a dev set: the best parameters and an embedder */
} aoe_memory_plan;

typedef struct aoe_plan_options {
    size_t struct_size;  /* set by aoe_plan_options_defaults */
    size_t n_texts;      /* texts in a batch; a joined pair of CROSS_ENCODER counts as one text; default 64 */
    size_t length;       /* tokens per text; AOE_AUTO (default): the maximum length of the model */
    aoe_dtype dtype;     /* used only by aoe_shape_plan: data type of activations, as in aoe_model_options */
    aoe_storage storage; /* used only by aoe_shape_plan: stored type of the weights; default AOE_STORAGE_BF16 */
    /* Options of the training run, borrowed; NULL (default): those of aoe_train_options_defaults. The method with its layers,
     * the adapters, the optimizer and options.layers are used. If lora.r is 0, the adapters of the model are trained; if the
     * model has no adapters, all weights are trained. The batch size, recompute and the data files have no effect */
    const aoe_train_options *train;
} aoe_plan_options;

AOE_API void aoe_plan_options_defaults(aoe_plan_options *o);
/* Plans the memory for an open model. Sets *plan. Errors: AOE_EARG, AOE_EUNSUPPORTED (the method does not support the model, or
 * its options, such as the prompt template of PROMPTBERT, do not fit the model), AOE_ENOMEM. */
AOE_API int aoe_model_plan(const aoe_model *m, const aoe_plan_options *AOE_NULLABLE o, aoe_memory_plan *plan,
                           aoe_error *AOE_NULLABLE err);
/* Plans the memory for a model with the sizes in *s. No model needs to exist. */
AOE_API int aoe_shape_plan(aoe_context *ctx, const aoe_shape *s, const aoe_plan_options *AOE_NULLABLE o, aoe_memory_plan *plan,
                           aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------- pretraining */

typedef struct aoe_pretrain_options {
    size_t struct_size; /* set by aoe_pretrain_options_defaults */
    aoe_training_args
        args; /* shared options, with two differences: the default of lr is 5e-4, and model_options.max_length is the number of
                 tokens per sequence. An evaluation is scored by the negative loss on held-out texts */
    const char *const *texts; /* [n_texts] .txt files with one text per line, or tables; also .gz and .zst */
    size_t n_texts;
    aoe_table_options table; /* options of all files. columns: "text=NAME" selects the column of the texts; default: the column
                                text or sentence */
    size_t batch_size;       /* sequences per step; default 256. The encoder processes args.batch_tokens tokens at a time */
    int pack;                /* 1 (default): join texts up to the maximum length; 0: one sequence per text */
    double mask_rate;        /* fraction of tokens that are masked, in whole words; default 0.15 */
    size_t shuffle;          /* sequences in the shuffle buffer; default 131072 */
    double held_out; /* fraction of texts that are used only for evaluation, chosen by a hash of the text; default 0.005; 0: no
                        evaluation, and the last model is kept */
} aoe_pretrain_options;

AOE_API void aoe_pretrain_options_defaults(aoe_pretrain_options *o);
/* Pretrains args.model as a masked language model (Devlin et al. 2019, section 3.1; whole-word masking) and writes the result
 * to args.output. args.model may have random weights (aoe_init) or be a pretrained model. The output has the format of
 * transformers' BertForMaskedLM; aoe_train accepts it as a start model. In events, loss.total is the mean loss of masked tokens
 * in nats, `accuracy` is the fraction of masked tokens that are predicted correctly, and `score` is the negative loss on
 * held-out texts. With equal seeds, the weights are bit-identical for any number of threads and after resuming. Errors: those
 * of aoe_train; AOE_EFORMAT (no [MASK] token; no text). */
AOE_API int aoe_pretrain(aoe_context *ctx, const aoe_pretrain_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);

/* ---------------------------------------------------------------- new models */

typedef struct aoe_init_options {
    size_t struct_size;       /* set by aoe_init_options_defaults */
    aoe_shape shape;          /* sizes of the encoder; default "bert-mini". If shape.vocab is 0 (default), it is the size of the
                                 tokenizer's vocabulary */
    const char *const *texts; /* [n_texts] files to train a tokenizer on: .txt or tables, also .gz and .zst */
    size_t n_texts;
    const char *tokenizer_from; /* model directory to copy the tokenizer from; NULL (default): train one on `texts` */
    size_t vocab_size;          /* vocabulary of a trained tokenizer, special tokens included; default 8000 */
    int lowercase;              /* 1 (default): a trained tokenizer lowercases texts */
    aoe_pooling pooling; /* pooling of the new model; AUTO (default): last-token for causal models, cell-mean for RAN models,
                            mean for other models */
    double dropout;      /* written to config.json if the architecture has dropout; default 0.1 */
    uint64_t seed;       /* seed of the weights, which are normally distributed with standard deviation 0.02; default 42 */
    aoe_storage storage; /* stored type of the weights; default AOE_STORAGE_F32 */
    int force;           /* 1: replace a model in the output directory */
} aoe_init_options;

typedef struct aoe_init_result {
    size_t parameters, hidden, layers, vocab; /* as in aoe_model_info */
} aoe_init_result;

AOE_API void aoe_init_options_defaults(aoe_init_options *o);
/* Writes a complete model directory `dir` with random weights. The weights are written in parts, so that they need not fit in
 * memory. Errors: AOE_EEXIST (dir contains a model, and force is 0), AOE_EIO and other errors of files. */
AOE_API int aoe_init(aoe_context *ctx, const char *dir, const aoe_init_options *AOE_NULLABLE o,
                     aoe_init_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

typedef struct aoe_convert_options {
    size_t struct_size;  /* set by aoe_convert_options_defaults */
    aoe_storage storage; /* stored type of the output; default AOE_STORAGE_F32 */
    /* stored type of the token embeddings of the output; default AOE_EMBEDDING_STORAGE_AUTO */
    aoe_embedding_storage embedding_storage;
    int force;        /* 1: replace a model in the output directory */
    int merge;        /* 1: fail if `from` contains no adapters */
    const char *base; /* base model of a directory of adapters; NULL (default): named by adapter_config.json */
    size_t layers;    /* aoe_convert: number of layers of the output, the first layers of the model; 0 (default): all. Only for
                         transformers without a norm after the last layer */
    size_t dims;      /* aoe_convert: number of components of the embeddings of the output; 0 (default): all */
    /* aoe_convert: [n_take_layers] indices of the layers of the output among the layers of the model, counted from 0, in
     * ascending order; all other weights are copied. NULL (default): `layers` selects the layers. Only for transformers */
    const size_t *take_layers;
    size_t n_take_layers;
    /* aoe_convert: smaller vocabulary. Special and added tokens and the single characters of texts are kept in addition to the
     * tokens that one of the first two options selects; the embeddings of all other tokens are removed */
    const char *vocabulary; /* text file with one token per line, the tokens to keep; NULL (default): none */
    size_t vocab_size; /* number of tokens of the output, the most frequent tokens of `count_on`. Equally frequent tokens are
                          selected in the order of their ids, those named [unused...] last; 0 (default): all */
    const char *const *count_on; /* [n_count_on] .txt files or tables, which are read twice. Every line of a .txt file and every
                                    text of a table is used. Required for vocab_size; NULL (default): none */
    size_t n_count_on;
    aoe_table_options table; /* of count_on; only the options columns, input_format and delimiter are used */
} aoe_convert_options;

typedef struct aoe_convert_result {
    const char *from, *to;           /* stored types of input and output, as aoe_model_info.storage; static strings */
    size_t parameters;               /* parameters of the encoder */
    size_t bytes_from, bytes_stored; /* bytes of the weights, including scales, in the input files and in the output files */
    size_t vocab_from, vocab;        /* tokens of the vocabularies of input and output; 0 if the vocabulary was not reduced */
    size_t texts;                    /* texts of options.count_on */
    size_t tokens;                   /* tokens of these texts with the tokenizer of the input, without special tokens */
    size_t tokens_kept;              /* those of these tokens that are in the vocabulary of the output */
    size_t tokens_after;             /* tokens of these texts with the tokenizer of the output */
    size_t vocab_found;              /* tokens of the vocabulary of the output that occur among `tokens` */
    size_t layers_from, layers;      /* layers of input and output */
    size_t dims_from, dims;          /* components of the embeddings of input and output */
} aoe_convert_result;

AOE_API void aoe_convert_options_defaults(aoe_convert_options *o);
/* Writes the model in `from`, with its settings and other files, to `to` with another stored type. Adapters are merged into the
 * weights of their base model. Converting to f32 is exact. If weights are converted from bf16, int8 or int5 to f32 and back,
 * the bytes do not change. Errors: AOE_EARG, AOE_EUNSUPPORTED (the layers or the tokens cannot be selected), AOE_EFORMAT (a
 * line of options.vocabulary is not a token of the model), AOE_EEXIST (`to` contains a model, and force is 0), AOE_EARG (`to`
 * is `from`, and force is 0), AOE_ENUMERIC (the stored type cannot represent a value), the errors of aoe_model_open and of
 * files. */
AOE_API int aoe_convert(aoe_context *ctx, const char *from, const char *to, const aoe_convert_options *AOE_NULLABLE o,
                        aoe_convert_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);
/* Writes a model to `to` whose weights are the mean of the weights of the n models in the directories `from` (model soups,
 * Wortsman et al. 2022); the models must have been trained from one start model. The weights are summed in float64 in the order
 * of `from`, and the mean is rounded once. Settings, tokenizer and other files are copied from from[0]. options.merge and
 * options.base are ignored. Errors: those of aoe_convert; AOE_EARG (configurations or vocabularies differ; a directory contains
 * adapters). */
AOE_API int aoe_average(aoe_context *ctx, const char *const *from, size_t n, const char *to,
                        const aoe_convert_options *AOE_NULLABLE o, aoe_convert_result *AOE_NULLABLE result,
                        aoe_error *AOE_NULLABLE err);

typedef struct aoe_word_vectors_options {
    size_t struct_size;  /* set by aoe_word_vectors_options_defaults */
    aoe_storage storage; /* stored type of the output; default AOE_STORAGE_F32 */
    /* stored type of the token embeddings of the output; default AOE_EMBEDDING_STORAGE_AUTO */
    aoe_embedding_storage embedding_storage;
    int lowercase; /* 1: lowercase texts before words are looked up; default 0 */
    int force;     /* 1: replace a model in the output directory */
} aoe_word_vectors_options;

AOE_API void aoe_word_vectors_options_defaults(aoe_word_vectors_options *o);

typedef struct aoe_word_vectors_result {
    size_t words;   /* number of words in the file; the unknown token, which is added to the vocabulary, is not counted */
    size_t dims;    /* components of a vector */
    size_t skipped; /* lines that were skipped: words that contain spaces, and repeated words */
} aoe_word_vectors_result;

/* Converts a text file of word vectors to a static model. In a static model, the embedding of a text is the mean of the vectors
 * of its known words. Each line of the file contains a word and the components of its vector, separated by spaces (the GloVe
 * format). A first line that contains two counts (the word2vec format) is skipped. Files may be compressed (.gz, .zst).
 * Errors: AOE_EFORMAT with file and line, AOE_EEXIST, AOE_EIO and other errors of files. */
AOE_API int aoe_word_vectors(aoe_context *ctx, const char *path, const char *to, const aoe_word_vectors_options *AOE_NULLABLE o,
                             aoe_word_vectors_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ----------------------------------------------------------------- whitening */

typedef struct aoe_whiten_options {
    size_t struct_size;       /* set by aoe_whiten_options_defaults */
    const char *const *texts; /* [n_texts] .txt files or tables. Every line of a .txt file and every text of a table is used;
                                 labels are ignored */
    size_t n_texts;
    aoe_table_options table; /* columns: "text=NAME"; label_map and allow_empty are ignored */
    size_t dims;         /* number of components to keep, in order of decreasing variance; AOE_AUTO (default): all components
                            with a variance above 0 */
    size_t batch_tokens; /* maximum tokens per batch, as in aoe_embedder_options; default 4096 */
    aoe_model_options model_options; /* pooling, prompt, max_length and normalize are stored in the output */
    int force;                       /* 1: replace a model in the output directory */
} aoe_whiten_options;

typedef struct aoe_whiten_result {
    size_t texts; /* number of texts */
    size_t rank;  /* components with a variance above 0 */
    size_t dims;  /* components that were kept */
    double kept;  /* fraction of the variance in these components */
} aoe_whiten_result;

AOE_API void aoe_whiten_options_defaults(aoe_whiten_options *o);
/* Adds a linear layer after the pooling to the model in `from`, and writes the model to `to`. With this layer, the embeddings
 * of the texts have mean 0 and identity covariance (BERT-whitening, Su et al. 2021): y = S^(-1/2) U^T (x - mean), where U S U^T
 * is the covariance of x. Adapters are merged. Errors: those of aoe_convert and aoe_embed; AOE_EARG (dims exceeds the rank; the
 * model already has a dense layer). */
AOE_API int aoe_whiten(aoe_context *ctx, const char *from, const char *to, const aoe_whiten_options *AOE_NULLABLE o,
                       aoe_whiten_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ---------------------------------------------------------------------- flow */

typedef enum aoe_flow_stage {
    AOE_FLOW_EMBED, /* progress counts texts; `total` is 0, because the number of texts is unknown */
    AOE_FLOW_TRAIN  /* progress counts optimizer steps */
} aoe_flow_stage;

/* Receives the progress. Returns 0 to continue; otherwise aoe_flow returns AOE_ECANCELLED and writes nothing. */
typedef int (*aoe_flow_progress_fn)(void *user, aoe_flow_stage stage, size_t done, size_t total);

typedef struct aoe_flow_options {
    size_t struct_size;       /* set by aoe_flow_options_defaults */
    const char *const *texts; /* [n_texts] .txt files, tables or folders of SentEval's STS data. Every line of a .txt file and
                                 every text of a table is used; labels are ignored. The texts of a row form an example */
    size_t n_texts;
    aoe_table_options table; /* columns: "text=NAME"; label_map and allow_empty are ignored */
    size_t levels;           /* number of levels, 1 to 8; default 3. The number of components must be a multiple of 2^levels */
    size_t depth;            /* number of steps per level, 1 to 64; default 3 */
    size_t width;            /* number of hidden units of each coupling, 1 to 1024; default 32 */
    size_t epochs;           /* number of passes over the examples; default 1 */
    size_t batch_size;       /* examples per optimizer step, at least 2; default 32 */
    double lr;               /* learning rate, which is constant; default 1e-3 */
    uint64_t seed;           /* determines the initial weights and the order of the examples; default 42 */
    size_t batch_tokens;     /* maximum tokens per batch of the encoder, as in aoe_embedder_options; default 4096 */
    aoe_model_options model_options; /* pooling, prompt, max_length and normalize are stored in the output */
    int force;                       /* 1: replace a model in the output directory */
    aoe_flow_progress_fn progress;   /* NULL (default): none */
    void *user;                      /* first argument of progress */
} aoe_flow_options;

typedef struct aoe_flow_result {
    size_t texts;      /* number of texts */
    size_t examples;   /* number of rows or lines with these texts */
    size_t dims;       /* number of components of an embedding */
    size_t parameters; /* number of parameters of the flow */
    size_t steps;      /* number of optimizer steps */
    double bits_start; /* mean over the texts of the negative log-likelihood in bits per component before the first step */
    double bits;       /* the same after the last step, for the saved parameters */
} aoe_flow_result;

AOE_API void aoe_flow_options_defaults(aoe_flow_options *o);
/* Fits a normalizing flow to the embeddings of the texts (BERT-flow, Li et al. 2020), adds it after the pooling to the model in
 * `from`, and writes the model to `to`. The flow maps the embeddings to vectors whose distribution is close to a standard
 * normal distribution. The encoder is not trained: the texts are embedded once, without dropout, and stored in memory (4 bytes
 * per component). The loss of a batch is the mean over its examples of the sum of the losses of their texts. AdamW without bias
 * correction, with epsilon 1e-6 and weight decay 0.01, minimizes it; the norm of the gradient is clipped to 1. The result does
 * not depend on the number of threads. Adapters are merged. Errors: those of aoe_convert and aoe_embed; AOE_EARG (the model
 * already has a layer after the pooling; the number of components is not a multiple of 2^levels; a value is not in its range),
 * AOE_EFORMAT (fewer than two texts, or equal embeddings), AOE_ENUMERIC (the loss is not finite), AOE_ECANCELLED. */
AOE_API int aoe_flow(aoe_context *ctx, const char *from, const char *to, const aoe_flow_options *AOE_NULLABLE o,
                     aoe_flow_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------- experiments (experimental) */

/* An experiment trains several configurations with several seeds, evaluates the models, and records every run in a directory. A
 * run is the training and evaluation of one configuration with one seed (docs/experiments.md). aoe_grid ranks configurations.
 * aoe_compare tests whether their scores differ significantly from the scores of one configuration, the baseline. Runs are
 * child processes of the calling process, which are created with fork(). While these functions run, no other thread of the
 * caller may therefore hold a lock that the library needs, such as the lock of malloc. To resume an experiment, call the
 * function again with equal options. Finished runs are not repeated, and interrupted runs continue from their newest
 * checkpoint. */

/* A table of pairs or a SentEval folder on which models are evaluated (Spearman correlation of cosine and gold score). */
typedef struct aoe_evaluation_file {
    const char *path;
    aoe_table_options table; /* from aoe_table_options_defaults */
} aoe_evaluation_file;

/* A configuration: training options that are compared with the options of other configurations. The experiment sets these
 * fields of `train` for each run and ignores their values: args.output, args.seed, args.resume, args.force, args.event,
 * args.event_user, evaluate, evaluate_user, dev_name and dev_fingerprint. */
typedef struct aoe_configuration {
    const char *name;        /* unique; part of the directory name of each run */
    const char *label;       /* name of the configuration in messages; NULL: `name` */
    const char *values;      /* aoe_grid: JSON object that is recorded with each run, for example {"lr":1e-05}; NULL: {} */
    aoe_train_options train; /* training options; train.args.model is required */
    int untrained;           /* 1: evaluate the start model once, without training */
} aoe_configuration;

typedef enum aoe_keep {
    AOE_KEEP_NONE, /* delete all trained models */
    AOE_KEEP_BEST, /* keep only the model of the run with the highest score */
    AOE_KEEP_ALL   /* keep all trained models */
} aoe_keep;

typedef enum aoe_experiment_event_kind {
    AOE_EXPERIMENT_NOTE,     /* a message, for example that another process has locked the directory */
    AOE_EXPERIMENT_START,    /* all inputs were checked, and runs start now */
    AOE_EXPERIMENT_PROGRESS, /* several times per second */
    AOE_EXPERIMENT_FINISHED, /* a run is finished and recorded: label, score and seconds are set */
    AOE_EXPERIMENT_FAILED    /* a run failed: label, message and seconds are set */
} aoe_experiment_event_kind;

typedef struct aoe_experiment_event {
    aoe_experiment_event_kind kind;
    size_t runs, finished, failed; /* number of all runs; number of finished runs, including runs of earlier calls; number of
                                      runs that failed in this call */
    size_t running;                /* PROGRESS: number of running processes */
    double done;                   /* number of finished and failed runs, plus the completed fractions of the running runs */
    size_t jobs, threads;          /* number of concurrent runs; number of threads per run */
    const char *label;             /* name of the run; NULL: the event is not about a run */
    const double *score;           /* FINISHED: [n_scores] one score per evaluation file, NaN if undefined; otherwise NULL */
    size_t n_scores;
    int start_is_best;   /* FINISHED: 1: no step had a higher score on the dev set than the start model, which was kept */
    double seconds;      /* FINISHED, FAILED: duration of the run */
    const char *message; /* NOTE, FAILED: one line; otherwise NULL. All pointers are borrowed for the call */
} aoe_experiment_event;

/* Returns 0 to continue. Otherwise the running runs write checkpoints, and aoe_grid or aoe_compare returns AOE_ECANCELLED. */
typedef int (*aoe_experiment_fn)(void *user, const aoe_experiment_event *event);

typedef struct aoe_experiment_options {
    size_t struct_size;                      /* set by aoe_experiment_options_defaults */
    const char *output;                      /* directory; required */
    const aoe_configuration *configurations; /* [n_configurations] */
    size_t n_configurations;
    const aoe_train_options *shared; /* options that all configurations have in common. A later call with this output directory
                                        must have equal values. NULL (default): not compared */
    const uint64_t *seeds;           /* [n_seeds] distinct seeds; default {42} */
    size_t n_seeds;
    const aoe_evaluation_file *dev;   /* dev set on which each run chooses its best model; NULL (default): the last model is
                                         used */
    const aoe_evaluation_file *files; /* [n_files] evaluation files for the finished models */
    size_t n_files;
    size_t jobs;    /* concurrent runs; default 1 */
    size_t threads; /* total number of threads of all concurrent runs; AOE_AUTO (default): one per CPU that the process
                       may use */
    size_t memory;  /* maximum memory in bytes for all concurrent runs together. A run that would exceed it waits. AOE_AUTO
                       (default, 0x7fffffff): the free memory of the machine */
    aoe_keep keep;  /* trained models to keep; default AOE_KEEP_BEST for aoe_grid, AOE_KEEP_NONE for aoe_compare */
    aoe_experiment_fn event; /* receives events; NULL (default): none */
    void *event_user;        /* first argument of event */
} aoe_experiment_options;

AOE_API void aoe_experiment_options_defaults(aoe_experiment_options *o);

typedef struct aoe_grid_options {
    size_t struct_size; /* set by aoe_grid_options_defaults */
    aoe_experiment_options
        experiment; /* options of the experiment, with at most one evaluation file; without it, the score of
                       a run is its highest score on experiment.dev, which includes the score of the start model */
} aoe_grid_options;

typedef struct aoe_grid_row {
    size_t configuration;         /* index in options.configurations */
    const double *score;          /* [n_seeds] scores in the order of options.seeds; NaN: no score */
    aoe_t_test_result statistics; /* n, mean and sd of the scores that are not NaN */
} aoe_grid_row;

typedef struct aoe_grid_result {
    aoe_grid_row *rows;         /* [n] one row per configuration, sorted by descending mean; rows without a score are last */
    size_t n;                   /* number of rows */
    size_t best;                /* index of the row with the highest mean among the rows that have a score for every seed; n if
                                   there is no such row */
    size_t best_seed;           /* index in options.seeds of the seed with the highest score in row `best` */
    const char *best_run_label; /* label of the best run; NULL: no model is on disk. The best run is the run with the highest
                                   score among the runs whose models are on disk. Its configuration can differ from the
                                   configuration of row `best` */
    size_t best_run_configuration; /* index of the best run's configuration in options.configurations */
    uint64_t best_run_seed;
    double best_run_score;
    const char *best_run_model;    /* model directory of the best run */
    size_t runs, finished, failed; /* as in aoe_experiment_event */
    void *memory;                  /* private */
} aoe_grid_result;

AOE_API void aoe_grid_options_defaults(aoe_grid_options *o);
/* Trains every configuration with every seed and ranks the configurations by their mean score. The result is valid even if runs
 * fail or AOE_ECANCELLED is returned; free it with aoe_grid_result_free in all cases. A run that fails is not an error:
 * result.failed counts it. The options, the models and the files of all configurations are checked before the first run.
 * Errors: AOE_EEXIST (another process uses the directory, or it does not belong to an experiment), AOE_ECANCELLED, the errors
 * of aoe_train that occur before the first step, and the errors of the evaluation files and the file system. */
AOE_API int aoe_grid(const aoe_grid_options *AOE_NULLABLE o, aoe_grid_result *result, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_grid_result_free(aoe_grid_result *AOE_NULLABLE r); /* accepts a zeroed struct */

/* Corrections of the p-values of aoe_compare for the number of tests. The tests of one call are one family: every configuration
 * other than the baseline, on every evaluation file. Tests without a p-value (fewer than two seeds with a score) are not part
 * of the family. */
typedef enum aoe_correction {
    AOE_CORRECTION_HOLM, /* the step-down procedure of Holm (1979); see aoe_holm */
    AOE_CORRECTION_NONE  /* no correction */
} aoe_correction;

typedef struct aoe_compare_options {
    size_t struct_size;                /* set by aoe_compare_options_defaults */
    aoe_experiment_options experiment; /* options of the experiment, with at least two configurations and one evaluation file */
    size_t against;                    /* index of the baseline in options.configurations; default 0. All other configurations
                                          are compared with it */
    aoe_bootstrap_options bootstrap;   /* options of the bootstrap intervals */
    aoe_correction correction;         /* correction of the p-values for the number of tests; default AOE_CORRECTION_HOLM */
} aoe_compare_options;

typedef enum aoe_verdict {
    AOE_VERDICT_NONE,        /* the row is the baseline */
    AOE_VERDICT_BETTER,      /* the corrected p is below 0.05, and the interval of the difference is above 0 */
    AOE_VERDICT_WORSE,       /* the corrected p is below 0.05, and the interval of the difference is below 0 */
    AOE_VERDICT_INCONCLUSIVE /* all other cases */
} aoe_verdict;

typedef struct aoe_compare_row {
    size_t file, configuration; /* index in options.files; index in options.configurations */
    const double *scores; /* [n_scores] one score per seed, NaN for a missing score; an untrained configuration has one score */
    size_t n_scores;
    aoe_t_test_result score;      /* n, mean and sd of the scores that are not NaN; sd is NaN for an untrained configuration */
    aoe_interval mean;            /* bootstrap interval of the mean score over seeds; pairs and seeds are resampled */
    aoe_t_test_result difference; /* t test of the differences from the baseline, paired by seed; NaN for the baseline itself.
                                     difference.p is not corrected */
    double p_corrected;           /* difference.p corrected by options.correction; NaN if difference.p is NaN */
    aoe_interval shift;           /* bootstrap interval of the mean difference from the baseline */
    aoe_verdict verdict;
} aoe_compare_row;

typedef struct aoe_compare_result {
    aoe_compare_row *rows; /* [n] one row for each evaluation file and configuration, sorted by file, then by configuration */
    size_t n;
    size_t runs, finished, failed; /* as in aoe_experiment_event */
    void *memory;                  /* private */
} aoe_compare_result;

AOE_API void aoe_compare_options_defaults(aoe_compare_options *o);
/* Trains every configuration with every seed, evaluates the models on every file, and tests the differences from the baseline.
 * The result is valid even if runs fail or AOE_ECANCELLED is returned; free it with aoe_compare_result_free in all cases.
 * Errors: those of aoe_grid. */
AOE_API int aoe_compare(const aoe_compare_options *AOE_NULLABLE o, aoe_compare_result *result, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_compare_result_free(aoe_compare_result *AOE_NULLABLE r); /* accepts a zeroed struct */
AOE_API const char *
aoe_verdict_name(aoe_verdict v); /* "-", "better", "worse" or "inconclusive"; static string, NULL for an unknown value */

#ifdef __cplusplus
}
#endif

#endif
