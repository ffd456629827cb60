/* SPDX-License-Identifier: MIT
 *
 * aoe: angle-optimized embeddings. A library that computes, trains and evaluates text embeddings on CPUs.
 *
 * An embedding model turns a text into a vector of a few hundred float32 values, so that texts of similar meaning have vectors
 * of high cosine. This header has what every program needs: contexts, tokenizers, models, embeddings and search. The other
 * headers include it: aoe_train.h (loss functions, training, new models), aoe_eval.h (evaluation, statistics, benchmarks),
 * aoe_data.h (tables and data tools) and aoe_annotate.h (training data from chat models; experimental).
 *
 * A search program: the text that is most similar to a question. examples/ has complete programs.
 *
 *     aoe_context *ctx; aoe_model *model; aoe_embedder *embedder; aoe_error err; aoe_neighbor best;
 *     const aoe_text text[3] = {aoe_text_of("She cooks rice."), aoe_text_of("An aircraft departs."), aoe_text_of("It rains.")};
 *     const aoe_text question = aoe_text_of("A plane is taking off.");
 *     if (aoe_context_create(&ctx, NULL, &err) || aoe_model_open(&model, ctx, NULL, NULL, &err) ||    // the default model
 *         aoe_embedder_create(&embedder, model, NULL, &err)) return fprintf(stderr, "%s\n", err.message), 1;
 *     const size_t dims = aoe_model_dims(model);
 *     float *v = malloc(4 * dims * sizeof *v), *q = v + 3 * dims;                                     // v: [3, dims], q:
 * [dims] if (aoe_embed(embedder, text, 3, v, NULL, &err) || aoe_embed(embedder, &question, 1, q, NULL, &err) ||
 *         aoe_nearest(ctx, q, 1, v, 3, dims, 1, &best, &err)) return fprintf(stderr, "%s\n", err.message), 1;
 *     printf("%.3f %s\n", best.score, text[best.index].data);
 *     free(v); aoe_embedder_destroy(embedder); aoe_model_close(model); aoe_context_destroy(ctx);
 *
 * Rules for all headers
 * - Errors. Functions that can fail return 0 or a negative AOE_E* code. On failure err->message is one line that says what
 *   happened, where (file and line, byte, tensor or key) and what to do; the object to create, the first parameter, is NULL.
 *   Every function that returns a code can return AOE_EARG for invalid arguments and AOE_ENOMEM.
 * - NULL. Pointers must not be NULL unless they are marked AOE_NULLABLE. A NULL pointer is reported as AOE_EARG with the names
 *   of the function and the argument; functions without a code return 0, NULL or NaN. Functions that free accept NULL.
 * - Options. Call aoe_x_options_defaults, then change fields. NULL options mean the defaults. struct_size, set by the defaults
 *   function, lets later versions append fields. A struct within another one is part of its size.
 * - Texts are pointer and length, valid UTF-8. NUL is an ordinary character.
 * - Ownership. Strings and arrays in options are borrowed for the call. An object created from another one borrows it: destroy
 *   it first (embedder, then model, then context).
 * - Output. The library never prints, exits or aborts. Its messages are passed to the log callback of the context.
 * - Threads. Contexts, tokenizers and models can be shared between threads; an embedder is used by one thread at a time.
 * - Shapes. Arrays are row-major: [B, D] has B rows of D values. B: examples, T: tokens of a text, D: components of a vector.
 */
#ifndef AOE_H
#define AOE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AOE_VERSION        "0.1.0"
#define AOE_VERSION_NUMBER 100 /* major * 10000 + minor * 100 + patch */

#if defined(__GNUC__) && !defined(AOE_NO_VISIBILITY)
#define AOE_API __attribute__((visibility("default")))
#else
#define AOE_API
#endif

/* Marks pointer parameters that may be NULL. All other pointers must not be NULL: functions that return a code return AOE_EARG
 * and name the argument; other functions return 0, NULL or NaN. */
#ifndef AOE_NULLABLE
#define AOE_NULLABLE
#endif

/* -------------------------------------------------------------------- errors */

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

AOE_API int aoe_version_number(void);        /* AOE_VERSION_NUMBER of the library */
AOE_API const char *aoe_version(void);       /* AOE_VERSION of the library; static */
AOE_API const char *aoe_code_text(int code); /* the text of the list above; static */

/* ------------------------------------------------------------------- context */

typedef enum aoe_log_level { AOE_LOG_INFO, AOE_LOG_WARNING } aoe_log_level;
typedef void (*aoe_log_fn)(void *user, aoe_log_level level, const char *message);

typedef struct aoe_context_options {
    size_t struct_size; /* set by aoe_context_options_defaults */
    size_t threads;     /* worker threads, the caller included; 0: the CPUs this process may use */
    aoe_log_fn log;     /* NULL: messages are dropped; may be called from the thread that calls the library */
    void *log_user;     /* first argument of log */
} aoe_context_options;

typedef struct aoe_context aoe_context; /* thread pool, CPU tier, log; safe to share between threads */

AOE_API void aoe_context_options_defaults(aoe_context_options *o);
/* Errors: AOE_EARG (AOE_CPU in the environment names no tier), AOE_ENOMEM. */
AOE_API int aoe_context_create(aoe_context **ctx, const aoe_context_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_context_destroy(aoe_context *AOE_NULLABLE ctx); /* NULL accepted */
AOE_API size_t aoe_context_threads(const aoe_context *ctx);
AOE_API const char *aoe_context_tier(const aoe_context *ctx); /* "c", "avx2", "avx512" ...; static */

/* --------------------------------------------------------------------- enums */

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
AOE_API int aoe_pooling_parse(aoe_pooling *p, const char *name, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------------------- texts */

typedef struct aoe_text {
    const char *data; /* [len] UTF-8, borrowed */
    size_t len;       /* bytes */
} aoe_text;

AOE_API aoe_text aoe_text_of(const char *s); /* of a C string */

/* ----------------------------------------------------------------- tokenizer */

typedef struct aoe_tokenizer aoe_tokenizer; /* immutable, safe to share between threads */

typedef struct aoe_encode_options {
    size_t struct_size;    /* set by aoe_encode_options_defaults */
    size_t max_length;     /* tokens, specials included; 0: no truncation */
    const char *prompt;    /* template with {text}, or NULL: the text alone. The text is truncated, never the template */
    int no_special_tokens; /* leave the tokens of the post-processor out */
    int drop_unknown;      /* leave unknown tokens out; there may be none left */
} aoe_encode_options;

AOE_API void aoe_encode_options_defaults(aoe_encode_options *o);

typedef struct aoe_ids {
    int32_t *id;     /* [n], owned; aoe_ids_free */
    size_t n;        /* tokens */
    size_t capacity; /* of id */
    int truncated;   /* 1: the last text lost tokens to max_length */
} aoe_ids;

/* Reads tokenizer.json, or vocab.txt with tokenizer_config.json, or vocab.json with merges.txt, from a model directory.
 * Errors: AOE_ENOENT, AOE_EFORMAT, AOE_EUNSUPPORTED (the feature is named). */
AOE_API int aoe_tokenizer_open(aoe_tokenizer **t, const char *AOE_NULLABLE dir, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_tokenizer_close(aoe_tokenizer *AOE_NULLABLE t); /* NULL accepted */
/* Replaces the contents of *ids (zero it before the first call) with the ids of one text, exactly as
 * Hugging Face tokenizers gives them. Errors: AOE_EFORMAT (invalid UTF-8, with the byte offset), AOE_EARG
 * (max_length leaves no room beside the template and the specials; a prompt without {text}), AOE_ENOMEM. */
AOE_API int aoe_tokenizer_encode(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *AOE_NULLABLE o, aoe_ids *ids,
                                 aoe_error *AOE_NULLABLE err);
/* How the model in a directory has its texts tokenized: a static model without specials and unknown tokens, others, and where
 * no model can be recognised, as all zeros say. Opens no weights. Errors: AOE_ENOMEM. */
AOE_API int aoe_encode_options_of(aoe_encode_options *o, const char *AOE_NULLABLE dir, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_ids_free(aoe_ids *AOE_NULLABLE ids);
AOE_API size_t aoe_tokenizer_vocab_size(const aoe_tokenizer *t); /* largest id + 1 */
/* Token text of an id (not NUL-terminated in general), len 0 and NULL when there is none. */
AOE_API aoe_text aoe_tokenizer_token(const aoe_tokenizer *t, int32_t id);
AOE_API const char *aoe_tokenizer_kind(const aoe_tokenizer *t); /* "WordPiece", "BPE" or "Unigram"; static */

/* -------------------------------------------------------------------- models */

typedef struct aoe_model aoe_model; /* immutable after open, safe to share between threads */

typedef struct aoe_model_options {
    size_t struct_size;  /* set by aoe_model_options_defaults */
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
/* Writes the path of the default model's directory, NUL-terminated, into dir[size]: the value of AOE_MODEL in the environment;
 * else the model installed with the program or the library: "default" in PREFIX/share/aoe/models, or the only model there; else
 * the model of the source tree that holds the program. Errors: AOE_ENOENT (there is none), AOE_EARG (size is too small). */
AOE_API int aoe_default_model(char *dir, size_t size, aoe_error *AOE_NULLABLE err);

/* Opens a Hugging Face or sentence-transformers directory; weights are mapped, not copied. A directory of adapters
 * (adapter_config.json and adapter_model.safetensors, as Hugging Face PEFT writes them) opens as its base model with the
 * adapters merged in; tokenizer and settings are its own where it has them, else the base's.
 * Errors: AOE_ENOENT, AOE_EFORMAT (truncated or oversized header, wrong shape, missing tensor), AOE_ENUMERIC (NaN or
 * infinite weights, tensor named), AOE_EUNSUPPORTED (architecture or module named), AOE_ENOMEM. */
AOE_API int aoe_model_open(aoe_model **m, aoe_context *ctx, const char *AOE_NULLABLE dir,
                           const aoe_model_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_model_close(aoe_model *AOE_NULLABLE m); /* NULL accepted */

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
/* Writes one line about how the model computes vectors: pooling, data type and CPU tier, each with the reason for the choice.
 * text: [size] bytes, NUL-terminated, truncated if size is too small. */
AOE_API void aoe_model_describe(const aoe_model *m, char *text, size_t size);
AOE_API size_t aoe_model_dims(const aoe_model *m);
AOE_API const aoe_tokenizer *aoe_model_tokenizer(const aoe_model *m); /* borrowed; NULL when the directory has none */

typedef struct aoe_shape {
    size_t hidden, layers, heads, intermediate, vocab, positions;
    size_t kv_heads;          /* of keys and values; 0: as many as heads */
    const char *architecture; /* "bert", "roberta", "llama" ... as in aoe_model_info; NULL: "bert". Static or the caller's */
    size_t head_size, window; /* of a RAN: components of a head, tokens of a window; positions: the length that longer texts are
                                 cut to; 0 elsewhere */
} aoe_shape;
/* bert-base, bert-large, bert-small, bert-mini, bert-tiny, minilm-l6, minilm-l12, aoe-mini, roberta-base, llama2-7b,
 * tinyllama-1.1b, qwen2.5-0.5b, ran-base, ran-mini. AOE_EARG lists the names. */
AOE_API int aoe_shape_named(aoe_shape *s, const char *name, aoe_error *AOE_NULLABLE err);
AOE_API const char *aoe_shape_names(void); /* comma-separated; static */

/* ----------------------------------------------------------------- embedding */

typedef struct aoe_embedder aoe_embedder; /* a session: one arena; one thread at a time */

/* What becomes of a text of more than max_length tokens. */
typedef enum aoe_chunk {
    AOE_CHUNK_FIRST, /* its first tokens are embedded, the rest is cut */
    AOE_CHUNK_MEAN   /* windows of max_length tokens over all of it, each with prompt and specials; the mean of their vectors */
} aoe_chunk;

typedef struct aoe_embedder_options {
    size_t struct_size;   /* set by aoe_embedder_options_defaults */
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
AOE_API int aoe_embedder_create(aoe_embedder **e, aoe_model *m, const aoe_embedder_options *AOE_NULLABLE o,
                                aoe_error *AOE_NULLABLE err);
AOE_API void aoe_embedder_destroy(aoe_embedder *AOE_NULLABLE e); /* NULL accepted */
/* vectors: [n, dims] row-major, caller's. info: [n] or NULL. Texts are batched by length inside; the
 * vector of a text is bit-identical alone, in any batch and for any number of threads. That of a text
 * without tokens is zero in a static model; in others it is an error.
 * Errors: AOE_EFORMAT (invalid UTF-8; no token), AOE_ENUMERIC, AOE_ENOMEM. aoe_embed_failed_text returns the index of the
 * text that failed; the message does not repeat the index. */
AOE_API int aoe_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, aoe_text_info *AOE_NULLABLE info,
                      aoe_error *AOE_NULLABLE err);
/* The index of the text in the last failed aoe_embed, or (size_t)-1. */
AOE_API size_t aoe_embed_failed_text(const aoe_embedder *e);
AOE_API aoe_model *aoe_embedder_model(const aoe_embedder *e); /* borrowed */

/* x, y: [dims]. Cosine in [-1, 1], computed in double; 0 when a vector is zero. */
AOE_API double aoe_cosine(const float *x, const float *y, size_t dims);

/* ------------------------------------------------------------------ search */

typedef struct aoe_neighbor {
    size_t index; /* row of the vector; SIZE_MAX if there are fewer than k vectors */
    double score; /* cosine, in [-1, 1] up to float32 rounding; NaN if there are fewer than k vectors */
} aoe_neighbor;

/* Exact search: for each of the n_queries queries the k vectors with the largest cosine, in descending order; if cosines are
 * equal, the lower index comes first. queries: [n_queries, dims], vectors: [n, dims], neighbors: [n_queries, k], all row-major
 * and owned by the caller. The cosine with a zero vector is 0. Results do not depend on the number of threads. Copies the
 * vectors: needs 4 n dims bytes of memory and a few MB.
 * Errors: AOE_EARG (dims is 0; n is 2^32 - 1 or more), AOE_ENUMERIC (a value is not finite), AOE_ENOMEM. */
AOE_API int aoe_nearest(aoe_context *ctx, const float *queries, size_t n_queries, const float *vectors, size_t n, size_t dims,
                        size_t k, aoe_neighbor *neighbors, aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
