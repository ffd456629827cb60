/* SPDX-License-Identifier: MIT
 *
 * aoe_train.h: loss functions, LoRA, training, pretraining, memory plans, new models
 * and experiments. docs/training.md and docs/experiments.md are the manuals.
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

/* How the angle between complex vectors is scored; docs/objectives.md has both with their gradients. */
typedef enum aoe_angle_form {
    AOE_ANGLE_REFERENCE, /* | sum_k Re + Im of z_k conj(w_k) | / (|x||y|), as the reference implementation has it */
    AOE_ANGLE_PHASE      /* -D, D = sum_k m_k |arg(z_k conj w_k)| / sum_k m_k, m_k = |z_k||w_k|, radians */
} aoe_angle_form;

typedef struct aoe_objective_options {
    size_t struct_size;                    /* set by aoe_objective_options_defaults */
    double w_cosine, w_ibn, w_angle;       /* weights w1 w2 w3 of equation 8; default 1; 0 turns a term off */
    double w_cln;                          /* of the contrastive term with negatives; default 1; pairs have none */
    double tau_cosine, tau_ibn, tau_angle; /* temperatures (divisors); default 0.05, 0.05, 1.0 */
    double hard_negative; /* of triplets: added to the score of a query with its own negative, as SimCSE has it; default 0 */
    int isp;              /* identical-sentence detection in in-batch negatives; default 1 */
    aoe_angle_form angle_form; /* default AOE_ANGLE_REFERENCE */
    double ibn_threshold;      /* labels >= this are positive pairs for in-batch negatives; default 1.0 */
} aoe_objective_options;

typedef struct aoe_objective_result {
    double total;              /* w_cosine cosine + w_ibn ibn + w_angle angle (equation 8), or that of aoe_contrastive */
    double cosine, ibn, angle; /* each term before its weight; 0 when its weight is 0 */
    double contrastive;        /* of aoe_contrastive; else 0 */
    double regression;         /* of AOE_METHOD_SBERT_REGRESSION; else 0 */
    double classification;     /* of AOE_METHOD_SBERT_CLASSIFICATION; else 0 */
    double teacher;            /* of distillation (aoe_train), before its weight; part of total; else 0 */
    size_t ordered_pairs;      /* (i, j) with label_i < label_j: what cosine and angle learn from */
    size_t positive_pairs;     /* pairs with label >= ibn_threshold; of aoe_contrastive: B */
} aoe_objective_result;

AOE_API void aoe_objective_options_defaults(aoe_objective_options *o);
/* Value and gradient of equations 1 to 8. x, y: [B, D] with rows `stride` floats apart; label: [B].
 * group: [2B] identity class of each text, x0 y0 x1 y1 ...: equal numbers are equal texts (NULL: all differ).
 * grad_x, grad_y: [B, D] with the same stride, overwritten with d total / d x; both may be NULL.
 * All arithmetic is in double. Errors: AOE_EARG (odd D with w_angle > 0, a temperature <= 0), AOE_ENUMERIC, AOE_ENOMEM. */
AOE_API int aoe_objective(const aoe_objective_options *AOE_NULLABLE o, const float *x, const float *y, size_t stride,
                          const double *label, const uint32_t *AOE_NULLABLE group, size_t B, size_t D,
                          float *AOE_NULLABLE grad_x, float *AOE_NULLABLE grad_y, aoe_objective_result *AOE_NULLABLE result,
                          aoe_error *AOE_NULLABLE err);
/* Value and gradient for B examples of a query and a positive text (arity 2), or of these and a negative (arity 3).
 * v: [arity B, D], q0 p0 q1 p1 ... or q0 p0 n0 q1 p1 n1 ...; grad: the same shape, overwritten with d total / d v, or NULL.
 * With C(t) the mean over queries of the cross entropy of q_i's positive among the candidates t, scores cos / tau_ibn:
 *     arity 2: total = w_ibn contrastive, contrastive = C(p); no other weight counts
 *     (hard_negative is added to the score of q_i and n_i)
 *     arity 3: total = contrastive + w_cosine cosine + w_angle angle, contrastive = (w_ibn C(p) + w_cln C(p, n)) / 2,
 *              cosine and angle those of aoe_objective over all (q_i, p_i) with label 1 and (q_i, n_i) with label 0
 * isp and ibn_threshold are ignored. All arithmetic is in double. Errors: as aoe_objective; AOE_EARG for another arity. */
AOE_API int aoe_contrastive(const aoe_objective_options *AOE_NULLABLE o, const float *v, size_t arity, size_t B, size_t D,
                            float *AOE_NULLABLE grad, aoe_objective_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);
/* The angle score of one pair, before the temperature. x, y: [D], D even (else NaN). */
AOE_API double aoe_angle_score(const float *x, const float *y, size_t D, aoe_angle_form form);

/* ---------------------------------------------------------------------- LoRA */

/* Low-rank adapters (LoRA, Hu et al. 2021), trained beside weights that stay as they are; docs/lora.md. Where training starts
 * from a directory of adapters, they go on: r, alpha and targets are theirs and not to be given. */
typedef struct aoe_lora {
    size_t struct_size;  /* set by aoe_lora_defaults */
    size_t r;            /* rank; 0: no new adapters */
    double alpha;        /* their product is multiplied by alpha / r; NaN: 32 */
    double dropout;      /* on what an adapter sees; NaN: 0.1, or of saved adapters theirs */
    const char *targets; /* "q_proj,v_proj": linear layers by name, or its end behind a dot; NULL: all of the layers' */
    int load_8bit;       /* 1: the weights beside the adapters are held as int8 rows, as aoe_convert stores them */
} aoe_lora;
AOE_API void aoe_lora_defaults(aoe_lora *l);

/* --------------------------------------------------------------- memory plan */

/* How weights are stored; computing is the same for all (docs/model-directories.md). */
typedef enum aoe_storage {
    AOE_STORAGE_F32,
    AOE_STORAGE_BF16, /* rounded to the nearest; read by other programs too */
    AOE_STORAGE_INT8  /* matrices: int8 and a float32 scale a row, max|row| / 127; vectors float32; read by aoe alone */
} aoe_storage;

/* Memory plan, bytes, of a batch of n_texts texts of `length` tokens: what the embedder and the trainer will allocate. The
 * texts of a training file, and a teacher's vectors of them, come on top, and with an evaluation what `evaluation` says. */
typedef struct aoe_memory_plan {
    aoe_dtype dtype; /* of activations and packed copies: the one the model was opened for */
    /* inference */
    size_t weights;     /* as stored (mapped) */
    size_t packed;      /* copies laid out for the kernels */
    size_t activations; /* of one batch */
    /* training of n_texts / 2 pairs (with aoe_train_options.cache_chunk: plan for the texts of a chunk) */
    size_t frozen;             /* with adapters: the weights beside them, in the file or converted; else 0 */
    size_t parameters;         /* float32 values of what is trained */
    size_t gradients;          /* float32 */
    size_t moments;            /* AdamW's two, float32 */
    size_t training_packed;    /* bf16 copies of the linear weights, refreshed by every step; 0 in float32 */
    size_t kept;               /* activations kept from forward to backward */
    size_t kept_recompute;     /* the same with aoe_train_options.recompute */
    size_t working;            /* gradients of activations and scratch, of one layer at a time */
    size_t objectives;         /* the batch's vectors in the objectives, and the scores of in-batch negatives */
    size_t training;           /* the sum, without recompute */
    size_t training_recompute; /* the sum, with it */
    size_t evaluation;         /* with a dev set: the best parameters so far, and an embedder */
} aoe_memory_plan;

typedef struct aoe_plan_options {
    size_t struct_size; /* set by aoe_plan_options_defaults */
    size_t n_texts, length;
    aoe_lora lora;       /* of training; r 0: of adapters that go on theirs, else all weights are trained */
    aoe_dtype dtype;     /* of a shape: as in aoe_model_options */
    aoe_storage storage; /* of a shape: how its weights are stored */
} aoe_plan_options;

/* 64 texts of 32 tokens, no adapters, weights of a shape stored as bf16. */
AOE_API void aoe_plan_options_defaults(aoe_plan_options *o);
AOE_API int aoe_model_plan(const aoe_model *m, const aoe_plan_options *AOE_NULLABLE o, aoe_memory_plan *plan,
                           aoe_error *AOE_NULLABLE err);
/* The same for a model that need not exist. */
AOE_API int aoe_shape_plan(aoe_context *ctx, const aoe_shape *s, const aoe_plan_options *AOE_NULLABLE o, aoe_memory_plan *plan,
                           aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------------ training */

typedef enum aoe_train_event_kind {
    AOE_TRAIN_START,      /* plan is known: steps, pairs, ibn_threshold */
    AOE_TRAIN_STEP,       /* an optimiser step was taken */
    AOE_TRAIN_EVAL,       /* dev score is known */
    AOE_TRAIN_CHECKPOINT, /* a checkpoint is complete on disk: path */
    AOE_TRAIN_DONE        /* the model is in the output directory */
} aoe_train_event_kind;

typedef struct aoe_train_event {
    aoe_train_event_kind kind;
    size_t step, steps;                         /* done so far; of the whole run (with max_minutes as its pace has it) */
    double epoch;                               /* step in epochs */
    aoe_objective_result loss;                  /* STEP: mean over the step's batches; EVAL of pretraining: held out */
    double accuracy;                            /* STEP, EVAL of pretraining: of masked words; else NaN */
    double lr, grad_norm;                       /* STEP: rate used; norm before clipping */
    double tokens_per_second, pairs_per_second; /* since the last event of this kind; in pretraining a pair is a sequence */
    double seconds, seconds_left;
    double score, best_score; /* EVAL, DONE: dev score, best so far (NaN without dev) */
    size_t best_step;
    size_t pairs;         /* START: training pairs */
    double ibn_threshold; /* START: in use */
    const char *path;     /* CHECKPOINT: directory; else NULL */
} aoe_train_event;

/* Returns 0 to go on; else a checkpoint is written and aoe_train returns AOE_ECANCELLED. */
typedef int (*aoe_train_fn)(void *user, const aoe_train_event *event);
/* Scores the model in training; higher is better. */
typedef int (*aoe_dev_fn)(void *user, aoe_embedder *e, double *score, aoe_error *err);

/* What every kind of training has in common. */
typedef struct aoe_training_args {
    size_t struct_size;              /* set by aoe_training_args_defaults */
    const char *model;               /* directory to start from */
    const char *output;              /* directory of the result */
    aoe_model_options model_options; /* pooling, prompt, max length, normalize: stored in the output */
    size_t epochs;                   /* 1 */
    size_t max_steps;                /* 0: epochs decide */
    double max_minutes;              /* 0: steps decide; else the time does, whatever epochs says: not bit-reproducible */
    int recompute;                   /* 1: keep less of the forward pass and compute it again; same result */
    size_t batch_tokens;             /* 4096: of evaluation batches and a teacher's; of pretraining, in the encoder at a time */
    double lr;                       /* 5e-5, peak */
    double warmup;                   /* 0.1: below 1 a share of the steps, else steps */
    double weight_decay;             /* 0.01, on matrices only */
    double max_grad_norm;            /* 1.0; 0: no clipping */
    double dropout;                  /* negative: config.json */
    uint64_t seed;                   /* 42 */
    size_t save_every;               /* steps between checkpoints; 0: each epoch's end */
    size_t keep_checkpoints;         /* newest kept; 1 */
    size_t eval_every;               /* steps between evaluations; 0: each epoch's end */
    size_t patience;                 /* evaluations without improvement before stopping; 0: never */
    int resume;                      /* go on from the newest complete checkpoint in output */
    int force;                       /* replace a model in output */
    aoe_train_fn event;              /* NULL: none */
    void *event_user;
} aoe_training_args;

AOE_API void aoe_training_args_defaults(aoe_training_args *o);

/* What of a teacher's vectors is learned; docs/objectives.md has the formulas. */
typedef enum aoe_distill {
    AOE_DISTILL_COSINE, /* the cosine of x and y, query and positive, query and negative: mean squared difference */
    AOE_DISTILL_KL      /* the softmax over components: Kullback-Leibler divergence; both models of the same width */
} aoe_distill;

/* A training file. By the default method pairs get the cosine, in-batch negatives and angle objectives; positives and triplets
 * the contrastive one, triplets with cosine and angle (docs/objectives.md). */
typedef struct aoe_train_data {
    const char *path;
    aoe_example_kind kind;
    aoe_table_options table;
    double weight;          /* 1: every example once an epoch; 2 twice, 0.5 a random half */
    const char *prompt;     /* template for the texts (of positives and triplets: the query); NULL: the model's, "": none */
    const char *doc_prompt; /* for what is not the query; NULL: as prompt */
    double ibn_threshold;   /* of pairs; NaN: the objective's */
} aoe_train_data;
AOE_API void aoe_train_data_defaults(aoe_train_data *d, const char *path);

/* What is minimised, by the form of a file (docs/objectives.md). Of `objective` below a method takes what it names. */
typedef enum aoe_method {
    AOE_METHOD_ANGLE,                /* pairs: aoe_objective; positives and triplets: aoe_contrastive; with all weights */
    AOE_METHOD_COSENT,               /* pairs, triplets: the cosine objective alone; tau_cosine */
    AOE_METHOD_SBERT_CLASSIFICATION, /* pairs: softmax over u, v, |u - v|; labels are classes */
    AOE_METHOD_SBERT_REGRESSION,     /* pairs: mean squared difference of cosine and label / label_max */
    AOE_METHOD_SIMCSE_UNSUP,         /* texts, of any file: each with itself under other dropout masks; tau_ibn */
    AOE_METHOD_SIMCSE_SUP,           /* triplets, positives, and pairs from ibn_threshold on; tau_ibn, hard_negative */
    AOE_METHOD_CONTRASTIVE,          /* the same: aoe_contrastive without cosine and angle; w_ibn, w_cln as well */
    AOE_METHOD_COUNT
} aoe_method;
AOE_API const char *aoe_method_name(aoe_method m); /* "angle", "cosent" ...; static, NULL for an unknown value */
AOE_API int aoe_method_parse(aoe_method *m, const char *name, aoe_error *AOE_NULLABLE err);

typedef struct aoe_train_options {
    size_t struct_size; /* set by aoe_train_options_defaults */
    aoe_training_args args;
    const aoe_train_data *data; /* [n_data]; a batch is of one file, the order of batches random */
    size_t n_data;
    aoe_method method;               /* AOE_METHOD_ANGLE */
    aoe_objective_options objective; /* ibn_threshold NaN: lowest label + 0.8 x range of a file */
    double label_max;                /* of regression: the label of a cosine of 1; NaN: the highest of a file */
    size_t classes;                  /* of classification; 0: the highest label + 1 */
    int no_projection;               /* 1: SimCSE without its dense layer with tanh behind the pooling */
    int allow_duplicates;            /* 1: a contrastive batch may have a text twice */
    size_t batch_size;               /* 32 examples */
    size_t accumulate;               /* 1 batches a step */
    size_t cache_chunk;              /* pairs in the encoder at a time, objectives over the whole batch; 0: all */
    const char *teacher;             /* directory of a model to learn from, with its own tokenizer and settings; NULL: none */
    double w_teacher;                /* 1: weight of that; above 0, all weights of `objective` may be 0; 0: no teacher */
    aoe_distill distill;             /* AOE_DISTILL_COSINE */
    aoe_lora lora;                   /* adapters are trained, and saved, instead of all weights */
    aoe_dev_fn evaluate;             /* NULL: no dev set; the last model is kept */
    void *evaluate_user;
    uint64_t dev_fingerprint; /* aoe_pairs_fingerprint of the dev set: resuming with another one is refused; 0: not checked */
    const char *dev_name;     /* for the record; NULL without dev */
} aoe_train_options;

AOE_API void aoe_train_options_defaults(aoe_train_options *o);
/* Fine-tunes args.model on o->data into args.output. Same seed, same bits, for any number of threads and after resume.
 * Where args.model is a directory of adapters, or o->lora asks for new ones, these alone are trained and saved, in PEFT's
 * layout; the model that they are for stays as it is and where it is.
 * A teacher's vectors of all texts are made once, before the first step; they must be the same when a run is resumed.
 * Errors: AOE_EFORMAT (data: file, line, column; or labels that give no ordered pair while cosine or angle is on),
 * AOE_EEXIST (a model or checkpoints in output without force or resume), AOE_EARG, AOE_ENUMERIC (loss not finite), I/O. */
AOE_API int aoe_train(aoe_context *ctx, const aoe_train_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------- pretraining */

typedef struct aoe_pretrain_options {
    size_t struct_size;       /* set by aoe_pretrain_options_defaults */
    aoe_training_args args;   /* lr 5e-4; max length: of a sequence, and of texts later on; evaluation: the held-out loss */
    const char *const *texts; /* [n_texts] .txt (a text a line) or tables with a column `text`, .gz and .zst too */
    size_t n_texts;
    aoe_table_options table; /* columns: "text=NAME" */
    size_t batch_size;       /* 256 sequences a step; args.batch_tokens of them are in the encoder at a time */
    int pack;                /* 1: texts are joined up to the maximum length; 0: each is a sequence of its own */
    double mask_rate;        /* 0.15 of the tokens, in whole words */
    size_t shuffle;          /* 131072 sequences in the shuffle buffer */
    double held_out;         /* 0.005 of the texts, chosen by content, for evaluation; 0: none, and the last model is kept */
} aoe_pretrain_options;

AOE_API void aoe_pretrain_options_defaults(aoe_pretrain_options *o);
/* Masked-language-model pretraining (Devlin et al. 2019, section 3.1; whole words) of args.model into args.output, from
 * random weights (aoe_init) or going on from a checkpoint. The output is that of transformers' BertForMaskedLM; aoe_train
 * starts from it. Events: loss.total is the mean loss of masked tokens in nats, `accuracy` the share of them predicted,
 * score = -loss of the held-out texts. Same seed, same bits, for any number of threads and after resume.
 * Errors: those of aoe_train; AOE_EFORMAT (no [MASK] token; no text). */
AOE_API int aoe_pretrain(aoe_context *ctx, const aoe_pretrain_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);

/* ---------------------------------------------------------------- new models */

typedef struct aoe_init_options {
    size_t struct_size;       /* set by aoe_init_options_defaults */
    aoe_shape shape;          /* vocab 0: as many as the tokenizer has */
    const char *const *texts; /* [n_texts] files to train the vocabulary on: .txt or tables, .gz and .zst too */
    size_t n_texts;
    const char *tokenizer_from; /* or a model directory to copy the tokenizer from; NULL: train one */
    size_t vocab_size;          /* of a trained vocabulary, specials included; default 8000 */
    int lowercase;              /* default 1 */
    aoe_pooling pooling; /* stored in the directory; AUTO: last-avg, since a first token with random weights says little, of
                            causal models last-token, of a RAN cell-mean */
    double dropout;      /* written to config.json; default 0.1; architectures without dropout have none */
    uint64_t seed;       /* of the weights: normal, sd 0.02; default 42 */
    aoe_storage storage; /* default F32 */
    int force;           /* replace a model that is there */
} aoe_init_options;

typedef struct aoe_init_result {
    size_t parameters, hidden, layers, vocab; /* as in aoe_model_info */
} aoe_init_result;

AOE_API void aoe_init_options_defaults(aoe_init_options *o);
/* Writes a complete model directory with random weights, some of which are in memory at a time. result may be NULL.
 * Errors: AOE_EEXIST (without force), AOE_EARG, I/O. */
AOE_API int aoe_init(aoe_context *ctx, const char *dir, const aoe_init_options *AOE_NULLABLE o,
                     aoe_init_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

typedef struct aoe_convert_options {
    size_t struct_size;  /* set by aoe_convert_options_defaults */
    aoe_storage storage; /* default F32 */
    int force;           /* replace a model that is there */
    int merge;           /* 1: it is an error when `from` holds no adapters */
    const char *base;    /* as in aoe_model_options */
} aoe_convert_options;

typedef struct aoe_convert_result {
    const char *from, *to;           /* as aoe_model_info.storage; static */
    size_t parameters;               /* of the encoder */
    size_t bytes_from, bytes_stored; /* its weights in the file, scales included */
} aoe_convert_result;

AOE_API void aoe_convert_options_defaults(aoe_convert_options *o);
/* Writes the model in `from`, with all its settings and files, into `to` with its weights stored in another form. Adapters
 * are merged into the weights of the model they are for.
 * result may be NULL. f32 keeps every bit of any form; what was read from bf16 or int8 is stored in it with the same bytes
 * again. Errors: AOE_EEXIST and AOE_EARG (`to` holds a model, or is `from`, without force), AOE_ENUMERIC (a value that the form
 * cannot hold), those of aoe_model_open, I/O. */
AOE_API int aoe_convert(aoe_context *ctx, const char *from, const char *to, const aoe_convert_options *AOE_NULLABLE o,
                        aoe_convert_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);
/* Writes into `to` a model whose weights are the mean of those in the n directories `from`, as fine-tuning runs from one start
 * leave them (model soups, Wortsman et al. 2022); sums in float64, in the order given, rounded once. Settings, tokenizer and
 * other files are those of from[0]. merge and base of the options are not looked at. Errors: those of aoe_convert, and
 * AOE_EARG: configurations or vocabularies that differ, adapters. */
AOE_API int aoe_average(aoe_context *ctx, const char *const *from, size_t n, const char *to,
                        const aoe_convert_options *AOE_NULLABLE o, aoe_convert_result *AOE_NULLABLE result,
                        aoe_error *AOE_NULLABLE err);

typedef struct aoe_word_vectors_options {
    size_t struct_size;  /* set by aoe_word_vectors_options_defaults */
    aoe_storage storage; /* F32 */
    int lowercase;       /* 1: texts are lowered first, for vectors of lower-case words */
    int force;           /* replace a model that is there */
} aoe_word_vectors_options;

AOE_API void aoe_word_vectors_options_defaults(aoe_word_vectors_options *o);

typedef struct aoe_word_vectors_result {
    size_t words, dims; /* words of the file; the unknown one comes on top */
    size_t skipped;     /* lines: words with spaces in them, or a second time */
} aoe_word_vectors_result;

/* Word vectors in a text file (a word, then its numbers, a line, as GloVe's; a first line of two counts is passed over; .gz and
 * .zst too) as a static model: the mean of a text's words, looked up as they are written, unknown ones passed over.
 * options NULL: all zeros; result may be NULL. Errors: AOE_EFORMAT with file and line, AOE_EEXIST, AOE_ENOMEM, I/O. */
AOE_API int aoe_word_vectors(aoe_context *ctx, const char *path, const char *to, const aoe_word_vectors_options *AOE_NULLABLE o,
                             aoe_word_vectors_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ----------------------------------------------------------------- whitening */

typedef struct aoe_whiten_options {
    size_t struct_size; /* set by aoe_whiten_options_defaults */
    const char *const
        *texts; /* [n_texts] files of any kind: the lines of .txt, all texts of tables; labels are not looked at */
    size_t n_texts;
    aoe_table_options table;         /* columns: "text=NAME"; label_map and allow_empty are ignored */
    size_t dims;                     /* components kept, those of the largest variance; 0: all that vary */
    size_t batch_tokens;             /* 4096 */
    aoe_model_options model_options; /* pooling, prompt, max length, normalize: stored in the output */
    int force;                       /* replace a model that is there */
} aoe_whiten_options;

typedef struct aoe_whiten_result {
    size_t texts; /* whose vectors were looked at */
    size_t rank;  /* components that vary */
    size_t dims;  /* kept */
    double kept;  /* share of the variance in them */
} aoe_whiten_result;

AOE_API void aoe_whiten_options_defaults(aoe_whiten_options *o);
/* Writes the model in `from` into `to` with a linear layer behind its pooling that makes the vectors of these texts of mean 0
 * and covariance 1 (BERT-whitening, Su et al. 2021): y = S^(-1/2) U^T (x - mean), covariance = U S U^T. Adapters are merged.
 * result may be NULL. Errors: those of aoe_convert and aoe_embed; AOE_EARG (more components than vary; the model has a dense
 * layer already). */
AOE_API int aoe_whiten(aoe_context *ctx, const char *from, const char *to, const aoe_whiten_options *AOE_NULLABLE o,
                       aoe_whiten_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------- experiments */

/* An experiment trains several configurations with several seeds, evaluates the models, and records every run in a
 * directory (docs/experiments.md). aoe_grid ranks configurations; aoe_compare tests whether they differ from one of them by
 * more than chance. Runs are child processes of the calling process: fork() is called while these functions work, so no
 * thread of the caller may hold a lock that the library needs. Calling the function again with the same options resumes:
 * finished runs are not repeated, and interrupted ones continue from their newest checkpoint. */

/* A table of pairs or a SentEval folder on which models are evaluated (Spearman correlation of cosine and gold score). */
typedef struct aoe_evaluation_file {
    const char *path;
    aoe_table_options table; /* from aoe_table_options_defaults */
} aoe_evaluation_file;

/* A way of training. Not used in `train`: output, seed, resume, force, event, evaluate and what belongs to them; the
 * experiment sets these for each run. */
typedef struct aoe_configuration {
    const char *name;        /* unique; part of the directory name of each run */
    const char *label;       /* name in messages; NULL: `name` */
    const char *values;      /* aoe_grid: JSON object that is recorded with each run, {"lr":1e-05}; NULL: {} */
    aoe_train_options train; /* resolved options; train.args.model is required */
    int untrained;           /* 1: the start model is evaluated once, nothing is trained */
} aoe_configuration;

typedef enum aoe_keep {
    AOE_KEEP_NONE, /* no trained model stays on disk */
    AOE_KEEP_BEST, /* the model of the run with the highest score */
    AOE_KEEP_ALL
} aoe_keep;

typedef enum aoe_experiment_event_kind {
    AOE_EXPERIMENT_NOTE,     /* message: for example that the directory is locked by another process */
    AOE_EXPERIMENT_START,    /* all inputs were checked, and runs start now */
    AOE_EXPERIMENT_PROGRESS, /* several times per second */
    AOE_EXPERIMENT_FINISHED, /* a run has a record: label, score, seconds */
    AOE_EXPERIMENT_FAILED    /* a run failed: label, message, seconds */
} aoe_experiment_event_kind;

typedef struct aoe_experiment_event {
    aoe_experiment_event_kind kind;
    size_t runs, finished, failed; /* of the whole experiment; finished runs of earlier calls included */
    size_t running;                /* PROGRESS: processes at work */
    double done;                   /* finished and failed runs, and the finished fractions of the running ones */
    size_t jobs, threads;          /* runs at a time; threads per run */
    const char *label;             /* name of the run; NULL: the event is not about a run */
    const double *score;           /* FINISHED: [n_scores], NaN where undefined; else NULL */
    size_t n_scores;
    double seconds;
    const char *message; /* NOTE, FAILED: one line; else NULL. All pointers are valid during the call */
} aoe_experiment_event;

/* Returns 0 to continue; otherwise running trainings write a checkpoint, and the function returns AOE_ECANCELLED. */
typedef int (*aoe_experiment_fn)(void *user, const aoe_experiment_event *event);

typedef struct aoe_experiment_options {
    const char *output;                      /* directory; required */
    const aoe_configuration *configurations; /* [n_configurations] */
    size_t n_configurations;
    const aoe_train_options *shared; /* options before the changes of each configuration: a later call in the same directory
                                        must have equal ones; NULL: not compared */
    const uint64_t *seeds;           /* [n_seeds] distinct; default {42} */
    size_t n_seeds;
    const aoe_evaluation_file *dev;   /* pairs on which each run chooses its best model; NULL: the last model is used */
    const aoe_evaluation_file *files; /* [n_files] evaluation files for the finished models */
    size_t n_files;
    size_t jobs;             /* runs at a time; default 1 */
    size_t threads;          /* of all runs together; 0: the CPUs this process may use */
    size_t memory;           /* bytes of all runs together; a run that does not fit waits. 0: the free memory */
    aoe_keep keep;           /* default: aoe_grid AOE_KEEP_BEST, aoe_compare AOE_KEEP_NONE */
    aoe_experiment_fn event; /* NULL: none */
    void *event_user;
} aoe_experiment_options;

typedef struct aoe_grid_options {
    size_t struct_size;                /* set by the defaults function */
    aoe_experiment_options experiment; /* at most one evaluation file; without one the score is the best one on `dev` */
} aoe_grid_options;

typedef struct aoe_grid_row {
    size_t configuration;
    const double *score;          /* [n_seeds] in the order of options.seeds; NaN: no score */
    aoe_t_test_result statistics; /* n, mean and sd of the scores that are defined */
} aoe_grid_row;

typedef struct aoe_grid_result {
    aoe_grid_row *rows; /* [n] one per configuration, highest mean first, configurations without a score last */
    size_t n;
    size_t best;                /* row with the highest mean among those with a score for every seed; n: there is none */
    size_t best_seed;           /* index of the seed with the highest score in that row */
    const char *best_run_label; /* run with the highest score whose model is on disk; NULL: there is none. The best run may
                                   belong to another configuration than the best row */
    size_t best_run_configuration;
    uint64_t best_run_seed;
    double best_run_score;
    const char *best_run_model;    /* its model directory */
    size_t runs, finished, failed; /* failed: in this call */
    void *memory;                  /* private */
} aoe_grid_result;

AOE_API void aoe_grid_options_defaults(aoe_grid_options *o);
/* Trains every configuration with every seed and ranks the configurations by their mean score. The result is filled
 * once the directory is open, also if runs fail or AOE_ECANCELLED is returned; aoe_grid_result_free it in any case.
 * Errors: AOE_EARG, AOE_EEXIST (the directory is in use or not that of an experiment), those of the input files and of the
 * start models, AOE_ECANCELLED, I/O. A failing run is not an error: result.failed counts it. */
AOE_API int aoe_grid(const aoe_grid_options *AOE_NULLABLE o, aoe_grid_result *result, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_grid_result_free(aoe_grid_result *AOE_NULLABLE r); /* accepts NULL and a zeroed one */

typedef struct aoe_compare_options {
    size_t struct_size;                /* set by the defaults function */
    aoe_experiment_options experiment; /* at least two configurations and one evaluation file */
    size_t against;                    /* index of the configuration that the others are compared with; default 0 */
    aoe_bootstrap_options bootstrap;
} aoe_compare_options;

typedef enum aoe_verdict {
    AOE_VERDICT_NONE,        /* of the configuration that the others are compared with */
    AOE_VERDICT_BETTER,      /* p < 0.05, and the interval of the difference is above 0 */
    AOE_VERDICT_WORSE,       /* p < 0.05, and the interval is below 0 */
    AOE_VERDICT_INCONCLUSIVE /* all other cases */
} aoe_verdict;

typedef struct aoe_compare_row {
    size_t file, configuration;
    const double *scores; /* [n_scores] one per seed, NaN: no score; of an untrained configuration one */
    size_t n_scores;
    aoe_t_test_result score;      /* n, mean and sd of the scores that are defined; sd NaN for an untrained configuration */
    aoe_interval mean;            /* bootstrap interval of the mean, over pairs and seeds */
    aoe_t_test_result difference; /* from the configuration `against`, paired by seed; NaN for that configuration itself */
    aoe_interval shift;           /* bootstrap interval of the difference */
    aoe_verdict verdict;
} aoe_compare_row;

typedef struct aoe_compare_result {
    aoe_compare_row *rows; /* [n] all configurations of the first evaluation file, then of the next */
    size_t n;
    size_t runs, finished, failed; /* failed: in this call */
    void *memory;                  /* private */
} aoe_compare_result;

AOE_API void aoe_compare_options_defaults(aoe_compare_options *o);
/* Trains every configuration with every seed, evaluates the models on every file, and tests the differences from one
 * configuration. The result is filled as by aoe_grid; aoe_compare_result_free it in any case. Errors: those of aoe_grid. */
AOE_API int aoe_compare(const aoe_compare_options *AOE_NULLABLE o, aoe_compare_result *result, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_compare_result_free(aoe_compare_result *AOE_NULLABLE r); /* accepts NULL and a zeroed one */
AOE_API const char *aoe_verdict_name(aoe_verdict v); /* "-", "better", "worse", "inconclusive"; static, NULL if unknown */

#ifdef __cplusplus
}
#endif

#endif
