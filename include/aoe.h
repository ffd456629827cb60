/* SPDX-License-Identifier: MIT
 *
 * aoe: angle-optimized embeddings. Train, judge and run text-embedding models.
 *
 *     #include <aoe.h>
 *     aoe_context *ctx; aoe_model *model; aoe_embedder *embedder; aoe_error err;
 *     float v[2][1024];
 *     aoe_text texts[2] = {aoe_text_of("A plane is taking off."), aoe_text_of("An aircraft departs.")};
 *     if (aoe_context_create(&ctx, NULL, &err) || aoe_model_open(&model, ctx, "my-model", NULL, &err) ||
 *         aoe_embedder_create(&embedder, model, NULL, &err) || aoe_embed(embedder, texts, 2, v[0], NULL, &err))
 *         return fprintf(stderr, "%s\n", err.message), 1;       // vectors are [2, aoe_model_dims(model)]
 *     printf("%.4f\n", aoe_cosine(v[0], v[0] + aoe_model_dims(model), aoe_model_dims(model)));
 *     aoe_embedder_destroy(embedder); aoe_model_close(model); aoe_context_destroy(ctx);
 *
 * Rules, once for the whole header:
 * - Functions that can fail return 0 or a negative AOE_E* code. The object they create is the first
 *   parameter and is NULL on failure. An aoe_error pointer may be NULL; on failure its message is one
 *   line that says what, where (file and line, byte, tensor or key) and what to do.
 * - Texts are pointer and length, valid UTF-8; NUL is a character like any other.
 * - Option structs may be NULL (all defaults). Get one from its *_defaults() function and change fields.
 * - The library never prints, exits or aborts; messages go to the context's log callback.
 * - An object that was made from another one borrows it: close it first (embedder, model, context).
 * - Shapes: N packed tokens, B pairs, T tokens of a text, D hidden size, H heads, V vocabulary.
 */
#ifndef AOE_H
#define AOE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AOE_VERSION "0.1.0"

#if defined(__GNUC__) && !defined(AOE_NO_VISIBILITY)
#define AOE_API __attribute__((visibility("default")))
#else
#define AOE_API
#endif

/* ------------------------------------------------------------------ errors */

/* name, value, text */
#define AOE_ERROR_LIST(X)                                                                                                      \
    X(OK, 0, "no error")                                                                                                       \
    X(EARG, -1, "an argument is out of range")                                                                                 \
    X(ENOMEM, -2, "out of memory")                                                                                             \
    X(EIO, -3, "input or output failed")                                                                                       \
    X(ENOENT, -4, "no such file or directory")                                                                                 \
    X(ENOSPC, -5, "no space left on device")                                                                                   \
    X(EFORMAT, -6, "a file is malformed")                                                                                      \
    X(EUNSUPPORTED, -7, "a feature of the file is not supported")                                                              \
    X(EEXIST, -8, "the output exists")                                                                                         \
    X(ECANCELLED, -9, "cancelled by the caller")                                                                               \
    X(ENUMERIC, -10, "a value is not finite")                                                                                  \
    X(EMISMATCH, -11, "a check failed")

typedef enum aoe_code {
#define AOE_X(name, value, text) AOE_##name = value,
    AOE_ERROR_LIST(AOE_X)
#undef AOE_X
} aoe_code;

typedef struct aoe_error {
    int code;           /* an aoe_code */
    char message[1024]; /* one line, NUL-terminated */
} aoe_error;

AOE_API const char *aoe_version(void);       /* AOE_VERSION of the library; static */
AOE_API const char *aoe_code_text(int code); /* the text of the list above; static */

/* ----------------------------------------------------------------- context */

typedef enum aoe_log_level { AOE_LOG_INFO, AOE_LOG_WARNING } aoe_log_level;
typedef void (*aoe_log_fn)(void *user, aoe_log_level level, const char *message);

typedef struct aoe_context_options {
    size_t threads; /* worker threads, the caller included; 0: the CPUs this process may use */
    aoe_log_fn log; /* NULL: messages are dropped; may be called from the thread that calls the library */
    void *log_user; /* first argument of log */
} aoe_context_options;

typedef struct aoe_context aoe_context; /* thread pool, CPU tier, log; safe to share between threads */

AOE_API void aoe_context_options_defaults(aoe_context_options *o);
/* Errors: AOE_EARG (AOE_CPU in the environment names no tier), AOE_ENOMEM. */
AOE_API int aoe_context_create(aoe_context **ctx, const aoe_context_options *o, aoe_error *err);
AOE_API void aoe_context_destroy(aoe_context *ctx); /* NULL accepted */
AOE_API size_t aoe_context_threads(const aoe_context *ctx);
AOE_API const char *aoe_context_tier(const aoe_context *ctx); /* "c", "avx2", "avx512" ...; static */

/* ------------------------------------------------------------------- enums */

typedef enum aoe_dtype { AOE_DTYPE_AUTO, AOE_DTYPE_F32, AOE_DTYPE_BF16 } aoe_dtype;

/* Pooling of the last layer's token vectors h[T,D] into one vector (paper section 4.1). In names, avg = mean over tokens. */
typedef enum aoe_pooling {
    AOE_POOLING_AUTO,           /* what the model directory says */
    AOE_POOLING_CLS,            /* h[0] */
    AOE_POOLING_CLS_LAST_AVG,   /* (h[0] + mean(h)) / 2 */
    AOE_POOLING_LAST_AVG,       /* mean(h) */
    AOE_POOLING_LAST_MAX,       /* max over tokens, a component at a time */
    AOE_POOLING_FIRST_LAST_AVG, /* mean over tokens of (embedding output + h) / 2 */
    AOE_POOLING_LAST_TOKEN,     /* h[T-1] */
    AOE_POOLING_CELL_LAST,      /* from here on of a RAN alone (docs/ran.md): the cell behind the last window */
    AOE_POOLING_CELL_MEAN,      /* mean of the windows' cells */
    AOE_POOLING_CELL_MAX,       /* max over them, a component at a time */
    AOE_POOLING_COUNT
} aoe_pooling;

/* "cls", "cls-last-avg" ...; static, NULL for an unknown value. */
AOE_API const char *aoe_pooling_name(aoe_pooling p);
AOE_API int aoe_pooling_parse(aoe_pooling *p, const char *name, aoe_error *err);

/* ------------------------------------------------------------------- texts */

typedef struct aoe_text {
    const char *data; /* [len] UTF-8, borrowed */
    size_t len;       /* bytes */
} aoe_text;

AOE_API aoe_text aoe_text_of(const char *s); /* of a C string */

/* --------------------------------------------------------------- tokenizer */

typedef struct aoe_tokenizer aoe_tokenizer; /* immutable, safe to share between threads */

typedef struct aoe_encode_options {
    size_t max_length;     /* tokens, specials included; 0: no truncation */
    const char *prompt;    /* template with {text}, or NULL: the text alone. The text is truncated, never the template */
    int no_special_tokens; /* leave the tokens of the post-processor out */
    int drop_unknown;      /* leave unknown tokens out; there may be none left */
} aoe_encode_options;

typedef struct aoe_ids {
    int32_t *id;     /* [n], owned; aoe_ids_free */
    size_t n;        /* tokens */
    size_t capacity; /* of id */
    int truncated;   /* 1: the last text lost tokens to max_length */
} aoe_ids;

/* Reads tokenizer.json, or vocab.txt with tokenizer_config.json, or vocab.json with merges.txt, from a model directory.
 * Errors: AOE_ENOENT, AOE_EFORMAT, AOE_EUNSUPPORTED (the feature is named). */
AOE_API int aoe_tokenizer_open(aoe_tokenizer **t, const char *dir, aoe_error *err);
AOE_API void aoe_tokenizer_close(aoe_tokenizer *t); /* NULL accepted */
/* Replaces the contents of *ids (zero it before the first call) with the ids of one text, exactly as
 * Hugging Face tokenizers gives them. Errors: AOE_EFORMAT (invalid UTF-8, with the byte offset), AOE_EARG
 * (max_length leaves no room beside the template and the specials; a prompt without {text}), AOE_ENOMEM. */
AOE_API int aoe_tokenizer_encode(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                 aoe_error *err);
/* How the model in a directory has its texts tokenized: a static model without specials and unknown tokens, others, and where
 * no model can be recognised, as all zeros say. Opens no weights. Errors: AOE_ENOMEM. */
AOE_API int aoe_encode_options_of(aoe_encode_options *o, const char *dir, aoe_error *err);
AOE_API void aoe_ids_free(aoe_ids *ids);
AOE_API size_t aoe_tokenizer_vocab_size(const aoe_tokenizer *t); /* largest id + 1 */
/* Token text of an id (not NUL-terminated in general), len 0 and NULL when there is none. */
AOE_API aoe_text aoe_tokenizer_token(const aoe_tokenizer *t, int32_t id);
AOE_API const char *aoe_tokenizer_kind(const aoe_tokenizer *t); /* "WordPiece", "BPE" or "Unigram"; static */

/* ------------------------------------------------------------------ models */

typedef struct aoe_model aoe_model; /* immutable after open, safe to share between threads */

typedef struct aoe_model_options {
    aoe_dtype dtype;     /* AUTO: bf16 where the CPU multiplies it natively and the engine has it, else f32 */
    aoe_pooling pooling; /* AUTO: aoe.json, else 1_Pooling, else the architecture's default */
    const char *prompt;  /* NULL: the directory's prompt; "": none */
    size_t max_length;   /* 0: aoe.json, sentence_bert_config.json, else the model's positions */
    int normalize;       /* -1: the directory's; 0, 1: vectors of unit L2 norm */
    int bidirectional; /* causal models: 1: attention goes in both directions from the next field's layer on; 0: the directory's
                          choice, else in no layer */
    size_t bidirectional_from; /* 0: in all layers */
    const char *base; /* of a directory of adapters: that of the model they are for; NULL: the one adapter_config.json names */
} aoe_model_options;

AOE_API void aoe_model_options_defaults(aoe_model_options *o);

/* Opens a Hugging Face or sentence-transformers directory; weights are mapped, not copied. A directory of adapters
 * (adapter_config.json and adapter_model.safetensors, as Hugging Face PEFT writes them) opens as its base model with the
 * adapters merged in; tokenizer and settings are its own where it has them, else the base's.
 * Errors: AOE_ENOENT, AOE_EFORMAT (truncated or oversized header, wrong shape, missing tensor), AOE_ENUMERIC (NaN or
 * infinite weights, tensor named), AOE_EUNSUPPORTED (architecture or module named), AOE_ENOMEM. */
AOE_API int aoe_model_open(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, aoe_error *err);
AOE_API void aoe_model_close(aoe_model *m); /* NULL accepted */

typedef struct aoe_model_info {
    const char *architecture; /* "bert", "llama", "static" ...; static */
    size_t hidden, layers, heads, intermediate, vocab, positions, token_types;
    size_t parameters; /* of the encoder (pooler and heads not counted) */
    size_t dims;       /* components of a vector */
    const char *dense; /* of the dense layer behind the pooling: "linear" or "tanh"; static; NULL: there is none */
    aoe_pooling pooling;
    const char *pooling_from;    /* "aoe.json", "1_Pooling/config.json", "default", "option" ...; static */
    size_t max_length;           /* tokens, specials included */
    const char *max_length_from; /* likewise */
    const char *prompt;          /* owned by the model; "" when there is none */
    int normalize;
    aoe_dtype dtype;           /* compute type in use */
    const char *storage;       /* "F32", "F16", "BF16", "I8" (int8 rows, vectors F32) or "mixed"; static */
    const char *tokenizer;     /* "WordPiece"; static; NULL: the directory holds none */
    double dropout;            /* hidden_dropout_prob of config.json */
    size_t kv_heads;           /* of keys and values: `heads`, or fewer where heads share them */
    int causal;                /* 1: a token sees itself and those before it in the layers before bidirectional_from */
    size_t bidirectional_from; /* of a causal model; `layers`: it is causal throughout */
    size_t head_size;          /* of a RAN: components of a head; 0 elsewhere, as the next two */
    size_t window, min_window; /* tokens of a window; a last one of fewer than these is part of the one before */
    const char *base;          /* of adapters (LoRA): the base model's directory, owned by the model; NULL: there are none */
    size_t lora_r;             /* their rank; 0 without adapters, as the next two */
    double lora_alpha, lora_dropout;
    const char *lora_targets; /* the layers that have one, comma-separated, owned by the model; "" without */
} aoe_model_info;

AOE_API void aoe_model_get_info(const aoe_model *m, aoe_model_info *info);
AOE_API size_t aoe_model_dims(const aoe_model *m);
AOE_API const aoe_tokenizer *aoe_model_tokenizer(const aoe_model *m); /* borrowed; NULL when the directory has none */

/* Low-rank adapters (LoRA, Hu et al. 2021), trained beside weights that stay as they are; docs/lora.md. Where training starts
 * from a directory of adapters, they go on: r, alpha and targets are theirs and not to be given. */
typedef struct aoe_lora {
    size_t r;            /* rank; 0: no new adapters */
    double alpha;        /* their product is multiplied by alpha / r; NaN: 32 */
    double dropout;      /* on what an adapter sees; NaN: 0.1, or of saved adapters theirs */
    const char *targets; /* "q_proj,v_proj": linear layers by name, or its end behind a dot; NULL: all of the layers' */
    int load_8bit;       /* 1: the weights beside the adapters are held as int8 rows, as aoe_convert stores them */
} aoe_lora;
AOE_API void aoe_lora_defaults(aoe_lora *l);

typedef struct aoe_shape {
    size_t hidden, layers, heads, intermediate, vocab, positions;
    size_t kv_heads;          /* of keys and values; 0: as many as heads */
    const char *architecture; /* "bert", "roberta", "llama" ... as in aoe_model_info; NULL: "bert". Static or the caller's */
    size_t head_size, window; /* of a RAN: components of a head, tokens of a window; positions: the length that longer texts are
                                 cut to; 0 elsewhere */
} aoe_shape;
/* bert-base, bert-large, bert-small, bert-mini, bert-tiny, minilm-l6, minilm-l12, aoe-mini, roberta-base, llama2-7b,
 * tinyllama-1.1b, qwen2.5-0.5b, ran-base, ran-mini. AOE_EARG lists the names. */
AOE_API int aoe_shape_named(aoe_shape *s, const char *name, aoe_error *err);
AOE_API const char *aoe_shape_names(void); /* comma-separated; static */

/* How weights are stored; computing is the same for all (docs/model-directories.md). */
typedef enum aoe_storage {
    AOE_STORAGE_F32,
    AOE_STORAGE_BF16, /* rounded to the nearest; read by other programs too */
    AOE_STORAGE_INT8  /* matrices: int8 and a float32 scale a row, max|row| / 127; vectors float32; read by aoe alone */
} aoe_storage;

typedef struct aoe_init_options {
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
AOE_API int aoe_init(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoe_init_result *result, aoe_error *err);

typedef struct aoe_convert_options {
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
AOE_API int aoe_convert(aoe_context *ctx, const char *from, const char *to, const aoe_convert_options *o,
                        aoe_convert_result *result, aoe_error *err);
/* Writes into `to` a model whose weights are the mean of those in the n directories `from`, as fine-tuning runs from one start
 * leave them (model soups, Wortsman et al. 2022); sums in float64, in the order given, rounded once. Settings, tokenizer and
 * other files are those of from[0]. merge and base of the options are not looked at. Errors: those of aoe_convert, and
 * AOE_EARG: configurations or vocabularies that differ, adapters. */
AOE_API int aoe_average(aoe_context *ctx, const char *const *from, size_t n, const char *to, const aoe_convert_options *o,
                        aoe_convert_result *result, aoe_error *err);

typedef struct aoe_word_vectors_options {
    aoe_storage storage; /* F32 */
    int lowercase;       /* 1: texts are lowered first, for vectors of lower-case words */
    int force;           /* replace a model that is there */
} aoe_word_vectors_options;

typedef struct aoe_word_vectors_result {
    size_t words, dims; /* words of the file; the unknown one comes on top */
    size_t skipped;     /* lines: words with spaces in them, or a second time */
} aoe_word_vectors_result;

/* Word vectors in a text file (a word, then its numbers, a line, as GloVe's; a first line of two counts is passed over; .gz and
 * .zst too) as a static model: the mean of a text's words, looked up as they are written, unknown ones passed over.
 * options NULL: all zeros; result may be NULL. Errors: AOE_EFORMAT with file and line, AOE_EEXIST, AOE_ENOMEM, I/O. */
AOE_API int aoe_word_vectors(aoe_context *ctx, const char *path, const char *to, const aoe_word_vectors_options *options,
                             aoe_word_vectors_result *result, aoe_error *err);

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
    size_t n_texts, length;
    aoe_lora lora;       /* of training; r 0: of adapters that go on theirs, else all weights are trained */
    aoe_dtype dtype;     /* of a shape: as in aoe_model_options */
    aoe_storage storage; /* of a shape: how its weights are stored */
} aoe_plan_options;

/* 64 texts of 32 tokens, no adapters, weights of a shape stored as bf16. */
AOE_API void aoe_plan_options_defaults(aoe_plan_options *o);
AOE_API int aoe_model_plan(const aoe_model *m, const aoe_plan_options *o, aoe_memory_plan *plan, aoe_error *err);
/* The same for a model that need not exist. */
AOE_API int aoe_shape_plan(aoe_context *ctx, const aoe_shape *s, const aoe_plan_options *o, aoe_memory_plan *plan,
                           aoe_error *err);

/* --------------------------------------------------------------- embedding */

typedef struct aoe_embedder aoe_embedder; /* a session: one arena; one thread at a time */

/* What becomes of a text of more than max_length tokens. */
typedef enum aoe_chunk {
    AOE_CHUNK_FIRST, /* its first tokens are embedded, the rest is cut */
    AOE_CHUNK_MEAN   /* windows of max_length tokens over all of it, each with prompt and specials; the mean of their vectors */
} aoe_chunk;

typedef struct aoe_embedder_options {
    size_t batch_tokens;  /* packed tokens of a batch; default 4096; a longer text is a batch of its own */
    aoe_chunk chunk;      /* default AOE_CHUNK_FIRST */
    size_t chunk_overlap; /* tokens of a text that neighbouring windows share; default (size_t)-1: an eighth of what a window
                             holds */
} aoe_embedder_options;

typedef struct aoe_text_info {
    uint32_t tokens;   /* specials and prompt included, after truncation; 0 in static models where no word is known */
    uint32_t chunks;   /* chunks that the text was embedded in; 1 unless AOE_CHUNK_MEAN divided it */
    uint8_t truncated; /* 1: tokens were cut */
} aoe_text_info;

AOE_API void aoe_embedder_options_defaults(aoe_embedder_options *o);
AOE_API int aoe_embedder_create(aoe_embedder **e, aoe_model *m, const aoe_embedder_options *o, aoe_error *err);
AOE_API void aoe_embedder_destroy(aoe_embedder *e); /* NULL accepted */
/* vectors: [n, dims] row-major, caller's. info: [n] or NULL. Texts are batched by length inside; the
 * vector of a text is bit-identical alone, in any batch and for any number of threads. That of a text
 * without tokens is zero in a static model; in others it is an error.
 * Errors: AOE_EFORMAT (invalid UTF-8; no token), AOE_ENUMERIC, AOE_ENOMEM. aoe_embed_failed_text returns the index of the
 * text that failed; the message does not repeat the index. */
AOE_API int aoe_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *info, aoe_error *err);
/* The index of the text in the last failed aoe_embed, or (size_t)-1. */
AOE_API size_t aoe_embed_failed_text(const aoe_embedder *e);
AOE_API aoe_model *aoe_embedder_model(const aoe_embedder *e); /* borrowed */

/* x, y: [dims]. Cosine in [-1, 1], computed in double; 0 when a vector is zero. */
AOE_API double aoe_cosine(const float *x, const float *y, size_t dims);

/* -------------------------------------------------------------- objectives */

/* How the angle between complex vectors is scored; docs/objectives.md has both with their gradients. */
typedef enum aoe_angle_form {
    AOE_ANGLE_REFERENCE, /* | sum_k Re + Im of z_k conj(w_k) | / (|x||y|), as the reference implementation has it */
    AOE_ANGLE_PHASE      /* -D, D = sum_k m_k |arg(z_k conj w_k)| / sum_k m_k, m_k = |z_k||w_k|, radians */
} aoe_angle_form;

typedef struct aoe_objective_options {
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
AOE_API int aoe_objective(const aoe_objective_options *o, const float *x, const float *y, size_t stride, const double *label,
                          const uint32_t *group, size_t B, size_t D, float *grad_x, float *grad_y, aoe_objective_result *result,
                          aoe_error *err);
/* Value and gradient for B examples of a query and a positive text (arity 2), or of these and a negative (arity 3).
 * v: [arity B, D], q0 p0 q1 p1 ... or q0 p0 n0 q1 p1 n1 ...; grad: the same shape, overwritten with d total / d v, or NULL.
 * With C(t) the mean over queries of the cross entropy of q_i's positive among the candidates t, scores cos / tau_ibn:
 *     arity 2: total = w_ibn contrastive, contrastive = C(p); no other weight counts
 *     (hard_negative is added to the score of q_i and n_i)
 *     arity 3: total = contrastive + w_cosine cosine + w_angle angle, contrastive = (w_ibn C(p) + w_cln C(p, n)) / 2,
 *              cosine and angle those of aoe_objective over all (q_i, p_i) with label 1 and (q_i, n_i) with label 0
 * isp and ibn_threshold are ignored. All arithmetic is in double. Errors: as aoe_objective; AOE_EARG for another arity. */
AOE_API int aoe_contrastive(const aoe_objective_options *o, const float *v, size_t arity, size_t B, size_t D, float *grad,
                            aoe_objective_result *result, aoe_error *err);
/* The angle score of one pair, before the temperature. x, y: [D], D even (else NaN). */
AOE_API double aoe_angle_score(const float *x, const float *y, size_t D, aoe_angle_form form);

/* ------------------------------------------------------------------- pairs */

typedef struct aoe_table_options {
    const char *columns;   /* "text1=a,text2=b,label=c"; NULL: recognised names */
    const char *label_map; /* "entailment=1,neutral=drop"; NULL: the defaults of the manual */
    int skip_bad_rows;     /* count bad rows instead of failing */
    int allow_empty;       /* empty texts are fine (evaluation), else a bad row (training) */
} aoe_table_options;

/* The kind of examples in a file. In .jsonl a text may be a list of alternatives: one of them is drawn each epoch (for a
 * positive: one that differs from the query). Functions that take training data accept the first four values. */
typedef enum aoe_example_kind {
    AOE_EXAMPLES_AUTO,      /* the first kind below whose columns the file has: pairs, triplets, positives */
    AOE_EXAMPLES_PAIRS,     /* columns text1, text2, label */
    AOE_EXAMPLES_POSITIVES, /* columns query, positive */
    AOE_EXAMPLES_TRIPLETS,  /* columns query, positive, negative */
    AOE_EXAMPLES_TEXTS,     /* column text */
    AOE_EXAMPLES_GROUPS     /* columns group, text: texts of one group belong together */
} aoe_example_kind;

typedef struct aoe_pairs aoe_pairs; /* labelled pairs in memory, immutable */

/* Reads form A (text1, text2, label) from .tsv, .csv, .jsonl, each also .gz or .zst.
 * Errors: AOE_EFORMAT with file, line and column; AOE_ENOENT; AOE_EIO. */
AOE_API int aoe_pairs_load(aoe_pairs **p, const char *path, const aoe_table_options *o, aoe_error *err);
AOE_API void aoe_pairs_free(aoe_pairs *p); /* NULL accepted */
AOE_API size_t aoe_pairs_count(const aoe_pairs *p);
AOE_API aoe_text aoe_pairs_text1(const aoe_pairs *p, size_t i); /* borrowed */
AOE_API aoe_text aoe_pairs_text2(const aoe_pairs *p, size_t i);
AOE_API double aoe_pairs_label(const aoe_pairs *p, size_t i);
AOE_API size_t aoe_pairs_line(const aoe_pairs *p, size_t i); /* line in the file, from 1 */
AOE_API size_t aoe_pairs_skipped(const aoe_pairs *p);        /* bad rows left out (skip_bad_rows) */
AOE_API uint64_t aoe_pairs_fingerprint(const aoe_pairs *p);  /* of all texts and labels, in order */
AOE_API size_t aoe_pairs_dropped(const aoe_pairs *p);        /* rows whose label the map drops */

/* Called with each text, borrowed for the call. Returns 0, or the code that reading is to end with and, in err, why. */
typedef int (*aoe_text_fn)(void *user, aoe_text text, aoe_error *err);
/* Gives fn the texts of a file in their order: the lines of .txt; of a table, row after row, every column with a recognised
 * name of a text, or those that `columns` names ("a,b"; NULL: recognised ones); of a list of alternatives each. Also .gz and
 * .zst. Errors: AOE_EFORMAT with file, line and column, AOE_ENOENT, AOE_EIO; fn's, with the place in front of the message. */
AOE_API int aoe_texts_read(const char *path, const char *columns, aoe_text_fn fn, void *user, aoe_error *err);

/* -------------------------------------------------------------- evaluation */

/* Correlations of x[n] and y[n]; Spearman with average ranks for ties. NaN when n < 2, a side is constant or a value NaN. */
AOE_API double aoe_pearson(const double *x, const double *y, size_t n);
AOE_API double aoe_spearman(const double *x, const double *y, size_t n); /* NaN also when memory ran out */

typedef enum aoe_sts_row { AOE_STS_FILE, AOE_STS_SUBSET, AOE_STS_FOLDER, AOE_STS_ALL } aoe_sts_row;

typedef struct aoe_sts_result {
    aoe_sts_row row;  /* a table; a subset of a SentEval folder; the folder's total; all inputs together */
    const char *name; /* borrowed for the call */
    size_t pairs;     /* scored pairs */
    size_t skipped;   /* unscored lines, gold files without input, bad rows */
    size_t empty;     /* texts that were empty */
    size_t truncated; /* texts that were cut to the maximum length */
    double spearman;  /* of cosine and gold, in [-1, 1] */
    double pearson;
    const double *cosine, *gold; /* [pairs] borrowed for the call of an aoe_sts_fn; NULL in what aoe_eval_pairs returns */
} aoe_sts_result;

typedef void (*aoe_sts_fn)(void *user, const aoe_sts_result *result);

/* Called while an evaluation works, with how many pairs, triplets or texts of all are embedded. Not 0: the evaluation ends
 * with AOE_ECANCELLED. */
typedef int (*aoe_eval_progress_fn)(void *user, size_t done, size_t total);

typedef struct aoe_sts_options {
    aoe_table_options table;       /* allow_empty is ignored: empty texts are fine */
    aoe_eval_progress_fn progress; /* pairs; NULL: none */
    void *user;                    /* of progress */
} aoe_sts_options;

/* Semantic textual similarity of tables (form A) and SentEval folders (STSxx-en-test). Reports in the order given,
 * subsets before their folder's total (the `all` setting), and a row for all inputs together when there are several. */
AOE_API int aoe_eval_sts(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_table_options *o,
                         aoe_sts_fn report, void *user, aoe_error *err);
/* The same with progress. */
AOE_API int aoe_eval_sts_with(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_sts_options *o,
                              aoe_sts_fn report, void *user, aoe_error *err);
/* Reads and checks what aoe_eval_sts would, without a model (so not whether a text has tokens): 0 when models can be compared
 * on each of the inputs; AOE_EFORMAT also where all gold scores of a table or folder are equal. o: NULL: defaults. */
AOE_API int aoe_sts_check(const char *const *paths, size_t n_paths, const aoe_table_options *o, aoe_error *err);
AOE_API int aoe_eval_pairs(aoe_embedder *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *err);

/* The settings in which SentEval scores a year of STS: all subsets as one, the mean of the subsets' coefficients, and that
 * mean weighted with their pairs (docs/evaluation.md). */
typedef enum aoe_setting { AOE_SETTING_ALL, AOE_SETTING_MEAN, AOE_SETTING_WMEAN, AOE_SETTING_COUNT } aoe_setting;
AOE_API const char *aoe_setting_name(aoe_setting s); /* "all", "mean", "wmean"; static, NULL for an unknown value */

typedef enum aoe_suite_row { AOE_SUITE_SUBSET, AOE_SUITE_SET, AOE_SUITE_AVERAGE } aoe_suite_row;

typedef struct aoe_suite_result {
    aoe_suite_row row;
    const char *name;       /* "STS12/MSRpar", "STS12", "STS-B", "SICK-R" or "average"; borrowed for the call, as the next */
    const char *path;       /* of a set: where it was found; NULL: nowhere, and no figure below is one */
    size_t parts;           /* subsets of a set (of STS-B and SICK-R 1); sets of the average */
    size_t pairs;           /* scored pairs */
    size_t published_pairs; /* of a set and a subset: how many the published one has */
    size_t skipped;         /* unscored lines, subsets and gold files that do not count, bad rows */
    size_t empty;           /* texts that were empty */
    size_t truncated;       /* texts that were cut to the maximum length */
    double spearman[AOE_SETTING_COUNT], pearson[AOE_SETTING_COUNT]; /* in [-1, 1]; of one part thrice the same */
} aoe_suite_result;

typedef void (*aoe_suite_fn)(void *user, const aoe_suite_result *result);

typedef struct aoe_suite_options {
    int skip_bad_rows;             /* as in aoe_table_options */
    aoe_eval_progress_fn progress; /* pairs; NULL: none */
    void *user;                    /* of progress */
} aoe_suite_options;

/* The seven sets of the paper's table 2: STS12 to STS16, STS-B (test) and SICK-R (test), looked for in the folders in turn as
 * SentEval has them (docs/evaluation.md). Reports all seven in this order, subsets before their set, sets that were not found
 * too, and last the average over those that were. Errors: AOE_ENOENT (none found), AOE_EFORMAT (a year lacks a subset). */
AOE_API int aoe_eval_suite(aoe_embedder *e, const char *const *dirs, size_t n_dirs, const aoe_suite_options *o,
                           aoe_suite_fn report, void *user, aoe_error *err);

/* How well scores tell positive from negative, over all thresholds: from the threshold on a pair counts as positive. Of
 * thresholds that are as good the highest; it lies midway between the scores that it parts. */
typedef struct aoe_binary_metrics {
    size_t positives;
    double accuracy, accuracy_threshold;              /* share judged rightly, at its best */
    double f1, f1_threshold, f1_precision, f1_recall; /* 2 precision recall / (precision + recall), at its best */
    double average_precision; /* sum over thresholds of (recall - the recall before) precision. Without positives, NaN here
                                 and in the four above */
} aoe_binary_metrics;

/* score[n], positive[n] 0 or 1. Equal scores are judged alike. Errors: AOE_EARG (n is 0), AOE_ENUMERIC (a score is NaN),
 * AOE_ENOMEM. */
AOE_API int aoe_binary(aoe_binary_metrics *m, const double *score, const uint8_t *positive, size_t n, aoe_error *err);

typedef struct aoe_binary_options {
    aoe_table_options table;
    double positive_from;          /* labels from here on are positive; NaN: labels are 0 and 1, another one is an error */
    aoe_eval_progress_fn progress; /* pairs; NULL: none */
    void *user;                    /* of progress */
} aoe_binary_options;

typedef struct aoe_binary_result {
    const char *name; /* borrowed for the call */
    size_t pairs, skipped, empty, truncated;
    double spearman, pearson;   /* of cosine and label */
    aoe_binary_metrics metrics; /* of the cosines */
} aoe_binary_result;

typedef void (*aoe_binary_fn)(void *user, const aoe_binary_result *result);

AOE_API void aoe_binary_options_defaults(aoe_binary_options *o);
/* Paraphrases, duplicates, answers: tables of form A with labels of two classes. A report for each table, in their order. */
AOE_API int aoe_eval_binary(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_binary_options *o,
                            aoe_binary_fn report, void *user, aoe_error *err);

typedef struct aoe_triplet_options {
    aoe_table_options table;       /* columns: query, positive, negative */
    aoe_eval_progress_fn progress; /* two pairs a triplet; NULL: none */
    void *user;                    /* of progress */
} aoe_triplet_options;

typedef struct aoe_triplet_result {
    const char *name; /* borrowed for the call */
    size_t triplets, skipped, empty, truncated;
    double accuracy;                       /* share of triplets with cos(query, positive) > cos(query, negative) */
    double ties;                           /* share with equal cosines */
    double positive_score, negative_score; /* mean cosines with the query */
} aoe_triplet_result;

typedef void (*aoe_triplet_fn)(void *user, const aoe_triplet_result *result);

/* Tables of form C. A report for each, in their order. */
AOE_API int aoe_eval_triplets(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_triplet_options *o,
                              aoe_triplet_fn report, void *user, aoe_error *err);

/* Which text of a group is its query. */
typedef enum aoe_query_choice { AOE_QUERY_RANDOM, AOE_QUERY_FIRST, AOE_QUERY_ALL } aoe_query_choice;

enum { AOE_RECALL_MAX = 8 };

typedef struct aoe_retrieval_options {
    aoe_table_options table;          /* of groups: columns "group=image,text=caption" */
    const char *split;                /* of a BEIR folder: qrels/SPLIT.tsv; "test" */
    size_t recall_at[AOE_RECALL_MAX]; /* [n_recall] 1, 5, 10 */
    size_t n_recall;
    size_t top;                    /* 10: how far down MRR and nDCG look */
    aoe_query_choice query;        /* AOE_QUERY_RANDOM: one of each group, drawn with the seed */
    uint64_t seed;                 /* 42 */
    int count_query;               /* 1: in groups, the query itself is one of the texts to be found */
    aoe_embedder *doc_embedder;    /* of what is searched, where its prompt is another one; NULL: e */
    aoe_eval_progress_fn progress; /* texts; NULL: none */
    void *user;                    /* of progress */
} aoe_retrieval_options;

typedef struct aoe_retrieval_result {
    const char *name; /* borrowed for the call */
    size_t texts;     /* what is searched */
    size_t queries;
    size_t without;   /* queries left out, nothing being relevant to them (groups of one text) */
    size_t skipped;   /* bad rows; of a BEIR folder also judgements of texts that are not there */
    size_t empty;     /* texts that were empty */
    size_t truncated; /* texts, and queries of their own, that were cut to the maximum length */
    double strict; /* of groups: share of queries whose g nearest texts, themselves included, are their group's g; else NaN */
    double recall[AOE_RECALL_MAX]; /* mean share of the relevant texts among the nearest recall_at[i] */
    double mrr, ndcg;              /* at `top`; all means over queries, in [0, 1] */
} aoe_retrieval_result;

typedef void (*aoe_retrieval_fn)(void *user, const aoe_retrieval_result *result);

AOE_API void aoe_retrieval_options_defaults(aoe_retrieval_options *o);
/* Exact search by cosine over tables of groups (captions of an image) and BEIR folders (corpus.jsonl, queries.jsonl, qrels);
 * of equal cosines the text that comes first is nearer. All vectors of an input are in memory. A report for each, in their
 * order. docs/evaluation.md has the formulas. */
AOE_API int aoe_eval_retrieval(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_retrieval_options *o,
                               aoe_retrieval_fn report, void *user, aoe_error *err);

/* ----------------------------------------------------------- distributions */

/* Gaussian kernel density estimate: density[j] = 1/(n h) sum over i of phi((at[j] - x[i]) / h), h the bandwidth, in double.
 * Where x cannot be below low or above high (-INFINITY, INFINITY: it can), what a kernel puts beyond is reflected there
 * (Silverman 1986, section 2.10), so that the density integrates to 1 between them, and outside it is 0. density: [m].
 * Errors: AOE_EARG (n 0; a bandwidth that is not above 0; an x that is not finite or not between low and high). */
AOE_API int aoe_density(const double *x, size_t n, double bandwidth, double low, double high, const double *at, size_t m,
                        double *density, aoe_error *err);
/* Silverman's rule of thumb (1986, equation 3.31) for it: 0.9 min(sd, interquartile range / 1.34) n^(-1/5), of sd alone where
 * the quartiles are equal. NaN when n < 2, all x are equal or one is not finite; also when memory ran out. */
AOE_API double aoe_bandwidth(const double *x, size_t n);
/* The q-quantile of x[n], 0 <= q <= 1, linear between the two order statistics about (n - 1) q (Hyndman and Fan's type 7).
 * NaN when n is 0, an x is NaN or q is out of range; also when memory ran out. */
AOE_API double aoe_quantile(const double *x, size_t n, double q);

/* ---------------------------------------------------------------- training */

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
AOE_API int aoe_method_parse(aoe_method *m, const char *name, aoe_error *err);

typedef struct aoe_train_options {
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
AOE_API int aoe_train(aoe_context *ctx, const aoe_train_options *o, aoe_error *err);

/* --------------------------------------------------------------- whitening */

typedef struct aoe_whiten_options {
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
AOE_API int aoe_whiten(aoe_context *ctx, const char *from, const char *to, const aoe_whiten_options *o,
                       aoe_whiten_result *result, aoe_error *err);

/* ------------------------------------------------------------- pretraining */

typedef struct aoe_pretrain_options {
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
AOE_API int aoe_pretrain(aoe_context *ctx, const aoe_pretrain_options *o, aoe_error *err);

/* ---------------------------------------------------------- hard negatives */

typedef enum aoe_mine_stage { AOE_MINE_EMBED /* texts */, AOE_MINE_SEARCH /* rows */ } aoe_mine_stage;

typedef struct aoe_mined {
    const aoe_text *query;    /* [n_query] as the row has it: one text, or its alternatives. All borrowed for the call */
    const aoe_text *positive; /* [n_positive] likewise */
    size_t n_query, n_positive;
    aoe_text negative;
    double positive_score, negative_score; /* cosines with the query; of alternatives the highest */
} aoe_mined;

/* Each returns 0 to go on; else aoe_mine returns AOE_ECANCELLED. */
typedef int (*aoe_mine_fn)(void *user, const aoe_mined *mined);
typedef int (*aoe_mine_progress_fn)(void *user, aoe_mine_stage stage, size_t done, size_t total);

typedef struct aoe_mine_options {
    const char *const *files; /* [n_files] training files, as aoe_train reads them */
    size_t n_files;
    aoe_example_kind kind;     /* of all of them; AUTO */
    aoe_table_options table;   /* likewise; allow_empty is ignored */
    double threshold;          /* pairs with a label from here on are positives; NaN: lowest + 0.8 x range of a file */
    const char *const *corpus; /* [n_corpus] files of texts, the candidates: .txt or tables; none: those below */
    size_t n_corpus;
    aoe_table_options corpus_table; /* columns: "text=NAME" */
    int from_queries;               /* 1: queries (text1) are candidates; else the files' positives and negatives (text2) are */
    size_t negatives;               /* 1: of a row, a triplet each */
    size_t range;                   /* 50: so many nearest candidates are looked at */
    size_t skip;                    /* 0: the first of these are passed over */
    double margin;                  /* a candidate above the positive's cosine less this is passed over; NaN: none is */
    double min_score, max_score;    /* candidates of other cosines are passed over; NaN: none */
    int sample;                     /* 1: drawn at random from what is left; else the nearest */
    uint64_t seed;                  /* 42: of that */
    int for_tsv;                    /* 1: lists of alternatives, and texts with TABs or line ends, are an error */
    aoe_mine_fn report;             /* called for every triplet, in the order of the rows, nearest first; NULL: none */
    aoe_mine_progress_fn progress;  /* NULL: none */
    void *user;                     /* of both */
} aoe_mine_options;

typedef struct aoe_mine_result {
    size_t rows;           /* with a query and a positive */
    size_t without;        /* of these, left without a negative: no triplet is reported */
    size_t triplets;       /* reported */
    size_t texts;          /* distinct ones, token by token: what was embedded */
    size_t truncated;      /* of these, cut to the maximum length */
    size_t candidates;     /* of these, what could be a negative */
    size_t below;          /* pairs below the threshold: no positives, but their text2 are candidates */
    size_t skipped;        /* bad rows left out */
    size_t dropped;        /* rows whose label is dropped */
    double positive_score; /* mean cosine of query and positive, of rows with a negative; NaN: there is none */
    double negative_score; /* of query and negative, of triplets; likewise */
} aoe_mine_result;

AOE_API void aoe_mine_options_defaults(aoe_mine_options *o);
/* Looks for hard negatives: for each row of the files the candidates that are most similar to its query (cosine, exact
 * search). Never a negative of a row: a text that stands with one of its queries, as query or positive, in any row. Texts of
 * equal tokens, prompt included and truncated, are one text. Takes the vectors of all distinct texts in memory, and beside
 * them a few MB. The same triplets for any number of threads. A query that a static model knows no word of has no negative.
 * Errors: AOE_EFORMAT (file, line, column; no positive), AOE_EARG, AOE_ECANCELLED, those of aoe_embed. */
AOE_API int aoe_mine(aoe_embedder *e, const aoe_mine_options *o, aoe_mine_result *result, aoe_error *err);

/* ------------------------------------------------------------ significance */

typedef struct aoe_t_test_result {
    size_t n;
    double mean; /* of x, or of the differences x[i] - y[i]; NaN when n is 0 */
    double sd;   /* of the same, with n - 1; NaN when n < 2, as the next three */
    double t;    /* mean / (sd / sqrt(n)); 0 when all differences are 0, infinite when all are the same other value */
    double df;   /* n - 1 */
    double p;    /* two-sided: how often chance alone gives a |t| as large. 1 when all differences are 0 */
} aoe_t_test_result;

/* Student's t test of paired values, as of runs with the same seeds: is the mean of x[i] - y[i] other than 0? y NULL: that of
 * x[i]. Assumes differences that are about normal. */
AOE_API void aoe_t_test(const double *x, const double *y, size_t n, aoe_t_test_result *result);
/* P(|T| >= |t|) of Student's t with df > 0 degrees of freedom, through the incomplete beta function; NaN for a NaN. */
AOE_API double aoe_student_t_p(double t, double df);

typedef struct aoe_bootstrap_options {
    size_t replicates; /* 2000 */
    double confidence; /* 0.95 */
    uint64_t seed;     /* 42 */
} aoe_bootstrap_options;

typedef struct aoe_interval {
    double low, high; /* NaN when every replicate is undefined */
    size_t undefined; /* replicates left out: a side was constant in what was drawn */
} aoe_interval;

AOE_API void aoe_bootstrap_options_defaults(aoe_bootstrap_options *o);
/* Percentile interval of a mean of Spearman correlations over runs, or with y of the mean difference x - y of paired runs.
 * gold: [n_pairs]; x, y: [n_runs, n_pairs] scores of the pairs by each run, y may be NULL. A replicate draws n_pairs pairs, the
 * same for every run and side, and n_runs runs, both with replacement. Quantiles are interpolated linearly.
 * Errors: AOE_EARG (fewer than 2 pairs, no run, options out of range), AOE_ENUMERIC (a NaN), AOE_ENOMEM. */
AOE_API int aoe_bootstrap_spearman(const double *gold, size_t n_pairs, const double *x, const double *y, size_t n_runs,
                                   const aoe_bootstrap_options *o, aoe_interval *interval, aoe_error *err);

/* ------------------------------------------------------- verify, benchmark */

typedef struct aoe_verify_result {
    const char *name; /* "bert/hidden", "objectives/cosine" ...; borrowed for the call */
    double error;     /* worst relative (or absolute, see golden cases) error */
    double tolerance;
    size_t checks; /* values or tensors compared */
    int passed;    /* error <= tolerance; a NaN fails */
} aoe_verify_result;
typedef void (*aoe_verify_fn)(void *user, const aoe_verify_result *result);

/* Checks golden cases: a folder of one architecture, or the parent that holds several and objectives.json.
 * Errors: AOE_EMISMATCH when a check failed; AOE_ENOENT when there is nothing to check; those of aoe_model_open. */
AOE_API int aoe_verify(aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_verify_fn report, void *user, aoe_error *err);

typedef enum aoe_bench_mode {
    AOE_BENCH_INFER,   /* the encoder and its vectors */
    AOE_BENCH_TRAIN,   /* a training step of texts/2 pairs, cls, three objectives, dropout 0.1, AdamW */
    AOE_BENCH_PRETRAIN /* a step of masked-language-model training: 15% of the tokens masked, dropout 0.1, AdamW */
} aoe_bench_mode;

typedef struct aoe_bench_options {
    aoe_shape shape; /* random weights */
    aoe_bench_mode mode;
    size_t texts;          /* 64 */
    const size_t *lengths; /* [texts] tokens of each text, or NULL: all `length` */
    size_t length;         /* 32 */
    aoe_dtype dtype;
    size_t runs; /* 7, after one warm-up; at least 5 */
    uint64_t seed;
} aoe_bench_options;

typedef struct aoe_bench_result {
    size_t tokens;            /* of one run */
    size_t layers_timed;      /* fewer than the shape has where its weights are too large: times are those of one layer, without
                                 the vocabulary, multiplied by the number of layers */
    double ms, ms_min;        /* median and fastest */
    double tokens_per_second; /* at the median */
    double tflops;            /* matrix products only, at the median, 1e12/s */
    double peak_rss_mb;
    aoe_dtype dtype; /* in use */
} aoe_bench_result;

AOE_API void aoe_bench_options_defaults(aoe_bench_options *o);
AOE_API int aoe_bench(aoe_context *ctx, const aoe_bench_options *o, aoe_bench_result *result, aoe_error *err);

#ifdef __cplusplus
}
#endif

#include "aoe_data.h"

#include "aoe_chat.h"

#endif
