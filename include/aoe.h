/* SPDX-License-Identifier: MIT
 *
 * aoe: angle-optimized embeddings. A library that computes, trains and evaluates text embeddings on CPUs.
 *
 * An embedding model turns a text into a vector of a few hundred float32 values. If two texts have similar meanings,
 * the cosine of their vectors is high. This header begins with the simple use, for which one object is enough: an
 * embedder. Contexts, models, search among vectors and options follow. Each of the other headers includes aoe.h:
 *   aoe_tokenizer.h   tokenizers
 *   aoe_train.h       training, pretraining
 *   aoe_lora.h        adapters
 *   aoe_objective.h   loss functions
 *   aoe_shape.h       sizes of encoders
 *   aoe_plan.h        memory that inference and training use
 *   aoe_convert.h     new and converted models
 *   aoe_experiment.h  grid searches and comparisons (experimental)
 *   aoe_eval.h        evaluation, statistics, benchmarks
 *   aoe_data.h        tables and data tools
 *   aoe_collect.h     training pairs from GitHub issues (experimental)
 *   aoe_hub.h         models on the Hugging Face Hub
 *   aoe_comm.h        communication between the processes of a training run (experimental)
 *   aoe_index.h       search in documents on disk (experimental)
 *   aoe_annotate.h    training data from chat models (experimental)
 *
 * This example prints the similarity of two texts (examples/ contains complete programs):
 *
 *     aoe_embedder *embedder;
 *     aoe_error err;
 *     double cosine;
 *     if (aoe_embedder_open(&embedder, "sentence-transformers/all-MiniLM-L6-v2", &err) ||
 *         aoe_similarity(embedder, aoe_text_of("She cooks rice."), aoe_text_of("She boils rice."), &cosine, &err))
 *         fprintf(stderr, "%s\n", err.message);
 *     else
 *         printf("%.3f\n", cosine);
 *     aoe_embedder_destroy(embedder); // accepts NULL, which aoe_embedder_open sets if it fails
 *
 * Rules for all headers
 * - Errors. Functions that can fail return 0 or a negative AOE_E* code. On failure err->message is one line that says
 *   what happened, where (file and line, byte, tensor or key) and what to do. If a function that creates an object
 *   fails, it sets the pointer to the object to NULL. Every function that returns a code can return AOE_EARG for
 *   invalid arguments and AOE_ENOMEM.
 * - NULL. Pointers must not be NULL unless they are marked AOE_NULLABLE. If any other pointer is NULL, a function that
 *   returns an error code returns AOE_EARG, and the message names the function and the argument. A function that
 *   returns a number or a pointer then returns 0, NaN or NULL. Functions that free an object accept NULL.
 * - Options. Call aoe_NAME_options_defaults, which sets every field, then change some fields. If the pointer to the
 *   options is NULL, the function uses the defaults. The value AOE_AUTO lets the library choose a value from the model,
 *   the data or the machine. The values 0 and NULL switch off an optional limit or feature.
 * - Compatibility. Later versions append fields to the structs that begin with struct_size. All other structs never
 *   change. struct_size is the size of the struct in the headers with which its owner was compiled; the library uses
 *   only the fields that a program's struct has. The defaults functions set it, also in nested structs, and in result
 *   structs the program sets it: aoe_mine_result r = {.struct_size = sizeof r}. The library sets it in structs that it
 *   passes to callbacks.
 * - Other languages. aoe_NAME_defaults is an inline function, which sets struct_size in the struct and in its nested
 *   structs, and then calls the exported function aoe_NAME_fill. Bindings do the same.
 * - Fields. If the comment of a struct field begins with a condition, such as "adapters:" or "pairs:", the field is
 *   used or set only in this case.
 * - Texts. A text has a pointer and a length. It must be valid UTF-8. NUL is an ordinary character.
 * - Ownership. "Borrowed" means that the library keeps or returns a pointer to memory that another object or the caller
 *   owns. Strings and arrays in options are borrowed for the duration of the call. A model borrows its context, and an
 *   embedder borrows its model, unless aoe_embedder_open created it. Destroy the embedder first, then the model, then
 *   the context.
 * - Output. The library never prints, exits or aborts. Its messages are passed to the log callback of the context.
 * - Process. The library does not change signal handlers, the locale, the environment, or the allocation functions of
 *   other libraries. It initializes libcurl at the first request, and SQLite when the first cache is opened. A program
 *   that configures these libraries does so earlier.
 * - Threads. Several threads may use one context, tokenizer, model or embedder at the same time. Results do not depend
 *   on the number of threads. After fork(), the child process can use every object that no other thread was using, and
 *   its results have the same bits. Its first computation with a context starts the threads of the context again.
 * - Shapes. Arrays are row-major: [B, D] has B rows of D values. B is the number of examples, T the number of tokens of
 *   a text, and D the number of components of a vector.
 * - Stability. Sections whose heading says "experimental" may change in any release. Everything else changes only with
 *   a new major version.
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

/* Marks pointer parameters that may be NULL. */
#ifndef AOE_NULLABLE
#define AOE_NULLABLE
#endif

/* AOE_OPTIONS(aoe_NAME) declares the functions that set the fields of *o to their defaults. aoe_NAME_defaults also sets
 * struct_size. aoe_NAME_fill requires that struct_size is set, also in nested structs. AOE_OPTIONS_WITH has additional
 * arguments: expressions that set struct_size in nested structs. */
#define AOE_OPTIONS_WITH(type, ...)                                                                                    \
    AOE_API void type##_fill(type *o);                                                                                 \
    static inline void type##_defaults(type *o) {                                                                      \
        if (!o)                                                                                                        \
            return;                                                                                                    \
        o->struct_size = sizeof *o;                                                                                    \
        __VA_ARGS__;                                                                                                   \
        type##_fill(o);                                                                                                \
    }                                                                                                                  \
    AOE_API void type##_fill(type *o)
#define AOE_OPTIONS(type) AOE_OPTIONS_WITH(type, (void)0)

/* If an integer or floating-point option is AOE_AUTO, the library chooses its value. The comment of the option
 * describes the choice. */
#define AOE_AUTO 0x7fffffff

/* -------------------------------------------------------------------- errors */

/* Calls X(name, value, text) for every error code. */
#define AOE_ERROR_LIST(X)                                                                                              \
    X(OK, 0, "no error")                                                                                               \
    X(EARG, -1, "an argument is out of range")                                                                         \
    X(ENOMEM, -2, "out of memory")                                                                                     \
    X(EIO, -3, "input or output failed")                                                                               \
    X(ENOENT, -4, "no such file or directory")                                                                         \
    X(ENOSPC, -5, "no space left on device")                                                                           \
    X(EFORMAT, -6, "a file is malformed")                                                                              \
    X(EUNSUPPORTED, -7, "a feature of the file is not supported")                                                      \
    X(EEXIST, -8, "the output exists")                                                                                 \
    X(ECANCELLED, -9, "cancelled by the caller")                                                                       \
    X(ENUMERIC, -10, "a value is not finite")                                                                          \
    X(EMISMATCH, -11, "a check failed")                                                                                \
    X(ECOMM, -12, "communication with the other processes of a run failed")

typedef enum aoe_code {
#define AOE_X(name, value, text) AOE_##name = value,
    AOE_ERROR_LIST(AOE_X)
#undef AOE_X
} aoe_code;

typedef struct aoe_error {
    int code;           /* an aoe_code */
    char message[1024]; /* one line, NUL-terminated */
} aoe_error;

AOE_API int aoe_version_number(void);        /* AOE_VERSION_NUMBER at the time when the library was compiled */
AOE_API const char *aoe_version(void);       /* AOE_VERSION at the time when the library was compiled; static string */
AOE_API const char *aoe_code_text(int code); /* text of the code in AOE_ERROR_LIST; static string */

/* --------------------------------------------------------------------- texts */

typedef struct aoe_text {
    const char *data; /* [len] UTF-8, borrowed */
    size_t len;       /* bytes */
} aoe_text;

AOE_API aoe_text aoe_text_of(const char *s); /* an aoe_text that points to the C string s; NULL: "" */

/* ---------------------------------------------------------------- simple use */

/* An embedder computes the embeddings of texts, or the scores of pairs if its model is a cross-encoder, and owns the
 * memory for activations. Several threads may use one embedder, or several embedders of one model. Their calls run at
 * the same time. Until it is destroyed, an embedder keeps the memory of as many calls as have run at the
 * same time. */
typedef struct aoe_embedder aoe_embedder;

typedef struct aoe_text_info {
    uint32_t tokens; /* number of tokens after truncation, including special tokens and the prompt; 0 if a static model
                        knows no word of the text */
    uint32_t chunks; /* number of chunks; 1 unless AOE_CHUNK_MEAN divided the text */
    uint8_t truncated; /* 1 if the text was truncated */
} aoe_text_info;

typedef struct aoe_neighbor {
    size_t index; /* row of the neighbor in `vectors`, an argument of aoe_search and aoe_nearest; SIZE_MAX in the last
                     k - n neighbors of a query if k > n */
    double score; /* cosine, in [-1, 1] up to float32 rounding; NaN if index is SIZE_MAX */
} aoe_neighbor;

/* Opens a model with the default options, and creates an embedder that owns it. name: the directory of a model, or its
 * name on the Hugging Face Hub (see aoe_model_open); NULL: the default model. If the directory contains a
 * cross-encoder, the model scores pairs (aoe_score_pairs) and computes no embeddings; any other model computes
 * embeddings and scores no pairs. The messages of the model are discarded. A program that needs options or messages
 * calls aoe_context_create, aoe_model_open and aoe_embedder_create instead. Errors: see aoe_model_open. */
AOE_API int aoe_embedder_open(aoe_embedder **e, const char *AOE_NULLABLE name, aoe_error *AOE_NULLABLE err);
/* Destroys an embedder and, if aoe_embedder_open created it, its model and context. Embedders that were created with
 * this model must be destroyed earlier. */
AOE_API void aoe_embedder_destroy(aoe_embedder *AOE_NULLABLE e);
/* Returns D, the embedding size that the embedder computes: aoe_model_dims, unless aoe_embedder_set_dims was called.
 * Returns 0 if e is NULL. */
AOE_API size_t aoe_embedder_dims(const aoe_embedder *e);
/* Computes the embeddings of n texts. vectors: [n, D], one row per text, owned by the caller. info: [n], owned by the
 * caller. The function sorts the texts by length and divides them into batches; the rows of `vectors` have the order of
 * `texts`. The vector of a text is bit-identical whether the text is embedded alone or in a batch, and for any number
 * of threads. The vector of a text without tokens is the zero vector in a static model; any other model rejects the
 * text. Errors: AOE_EFORMAT (invalid UTF-8; a text without tokens), AOE_ENUMERIC (a component is not finite), AOE_EARG
 * (a cross-encoder). The message does not contain the index of the text that failed; aoe_embed_failed_text returns
 * it. */
AOE_API int aoe_embed(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors,
                      aoe_text_info *AOE_NULLABLE info, aoe_error *AOE_NULLABLE err);
/* Compute the embeddings of queries, and of the documents among which they are searched, as aoe_embed does, but with
 * the prompt of the model directory for these texts: "query", or the first of "document", "passage" and "corpus" that
 * exists. If there is no such prompt, or if the model was opened with options.prompt or options.prompt_name, the
 * functions are equal to aoe_embed. */
AOE_API int aoe_embed_queries(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors,
                              aoe_text_info *AOE_NULLABLE info, aoe_error *AOE_NULLABLE err);
AOE_API int aoe_embed_documents(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors,
                                aoe_text_info *AOE_NULLABLE info, aoe_error *AOE_NULLABLE err);
/* Sets *cosine to the cosine of the embeddings of two texts (aoe_embed, aoe_cosine). */
AOE_API int aoe_similarity(aoe_embedder *e, aoe_text a, aoe_text b, double *cosine, aoe_error *AOE_NULLABLE err);
/* Finds the k vectors with the largest cosine for each query: embeds the queries with aoe_embed_queries, and calls
 * aoe_nearest, which describes the neighbors and the errors. vectors: [n, D], for example from aoe_embed_documents;
 * neighbors: [n_queries, k]; both are owned by the caller. */
AOE_API int aoe_search(aoe_embedder *e, const aoe_text *queries, size_t n_queries, const float *vectors, size_t n,
                       size_t k, aoe_neighbor *neighbors, aoe_error *AOE_NULLABLE err);
/* Computes the scores of n text pairs with a cross-encoder. Pair i consists of first[i] (the query) and second[i] (the
 * document), which the model reads as one sequence of tokens. If a pair has more tokens than the maximum sequence
 * length, the longer text is truncated first. The prompt of the model is added to the first text. scores: [n, C], where
 * C is aoe_model_classes, owned by the caller, with the activation function of the model applied. info: [n], owned by
 * the caller. As in aoe_embed, the scores of a pair do not depend on the other pairs and on the number of threads.
 * Errors: see aoe_embed; AOE_EARG (an embedding model); aoe_embed_failed_text returns the index of a pair that
 * failed. */
AOE_API int aoe_score_pairs(aoe_embedder *e, const aoe_text *first, const aoe_text *second, size_t n, float *scores,
                            aoe_text_info *AOE_NULLABLE info, aoe_error *AOE_NULLABLE err);
/* Returns the index of the text or pair that caused the last call with this embedder in this thread to fail, or
 * SIZE_MAX if none was the cause, or if the thread has called another embedder since. */
AOE_API size_t aoe_embed_failed_text(const aoe_embedder *e);

/* ------------------------------------------------------------------- context */

/* A context has a thread pool, a CPU tier (the instruction set that the kernels use) and a log callback. Several
 * threads may use it at the same time. */
typedef struct aoe_context aoe_context;
typedef struct aoe_context_options aoe_context_options; /* defined below */

/* Errors: AOE_EARG (options.threads is out of range; the environment variable AOE_CPU is not the name of a CPU
 * tier). */
AOE_API int aoe_context_create(aoe_context **ctx, const aoe_context_options *AOE_NULLABLE o,
                               aoe_error *AOE_NULLABLE err);
AOE_API void aoe_context_destroy(aoe_context *AOE_NULLABLE ctx);
AOE_API size_t aoe_context_threads(const aoe_context *ctx);   /* number of threads, including the calling one */
AOE_API const char *aoe_context_tier(const aoe_context *ctx); /* CPU tier in use: "c", "avx2", "neon" ...; static
                                                                 string */

/* -------------------------------------------------------------------- models */

/* An open model. It never changes, and several threads may use it at the same time. Transformers that are not computed
 * in int8 keep a copy of their weights that is created for the second batch of texts, or for the first one if it has
 * more than 256 tokens. This batch takes longer, and the memory of the copy is allocated then. A static model has no
 * encoder: the embedding of a text is the mean of the vectors of its known words. */
typedef struct aoe_model aoe_model;
typedef struct aoe_model_options aoe_model_options; /* defined below */

/* Opens the model directory `dir`, in the format of Hugging Face transformers or sentence-transformers. dir may also be
 * the name of a model on the Hugging Face Hub in the cache (see aoe_model_find). If dir is NULL, opens the default
 * model (see aoe_default_model). Weights are memory-mapped. If `dir` contains adapters in PEFT's format
 * (adapter_config.json and adapter_model.safetensors), the function opens the base model and merges the adapters into
 * its weights. The tokenizer and settings in `dir` take precedence over the tokenizer and settings of the base model.
 * Errors: AOE_ENOENT, AOE_EFORMAT (truncated or oversized header, wrong shape, missing tensor), AOE_ENUMERIC (NaN or
 * infinite weights; names the tensor), AOE_EUNSUPPORTED (names the architecture or module). */
AOE_API int aoe_model_open(aoe_model **m, aoe_context *ctx, const char *AOE_NULLABLE dir,
                           const aoe_model_options *AOE_NULLABLE o, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_model_close(aoe_model *AOE_NULLABLE m);
/* Returns the template of a prompt of the model directory, or NULL if there is no such prompt. The name "document"
 * means the first of the prompts "document", "passage" and "corpus" that exists. The string is owned by the model. */
AOE_API const char *aoe_model_prompt(const aoe_model *m, const char *name);
/* Returns the name of prompt i of the model directory, in the order of the directory, or NULL if there are not more
 * than i prompts. The string is owned by the model. */
AOE_API const char *aoe_model_prompt_name(const aoe_model *m, size_t i);
AOE_API size_t aoe_model_dims(const aoe_model *m); /* D, the embedding size */
/* Sets *fingerprint to a hash of everything in the model that determines the embedding of a text, except the CPU tier:
 * the weights, the adapters, the configuration, the modules, the tokenizer, the settings, and the data type of
 * computation. Programs use it to detect that another model was used. The hash reads all weights, and is not
 * cryptographic. Errors: AOE_ENOMEM. */
AOE_API int aoe_model_fingerprint(const aoe_model *m, uint64_t *fingerprint, aoe_error *AOE_NULLABLE err);
AOE_API aoe_context *aoe_model_context(const aoe_model *m); /* the context of the model; borrowed */

/* Writes the directory of the default model to dir[size], NUL-terminated. The default model is the first of these that
 * exists:
 *   1. the value of the environment variable AOE_MODEL: a directory, or a name as in aoe_model_find
 *   2. the model installed with the program or the library: PREFIX/share/aoe/models/default, or the only model in
 *      PREFIX/share/aoe/models
 *   3. the model in the source tree that contains the program or the library
 *   4. the model installed in aoe/models of a directory in XDG_DATA_DIRS (default: /usr/local/share and /usr/share)
 *   5. the model in the source tree in which libaoe.a was built
 * Errors: AOE_ENOENT (no default model; the message lists the folders that were searched), AOE_EARG (size is too
 * small). */
AOE_API int aoe_default_model(char *dir, size_t size, aoe_error *AOE_NULLABLE err);

/* Writes the directory of a model to dir[size], NUL-terminated, for aoe_model_open. `name` is one of:
 *   1. an existing path, which is copied; it takes precedence over a name
 *   2. ORG/NAME or NAME, optionally followed by @REVISION (a branch, a tag or a commit; default: main): a model of the
 *      Hugging Face Hub in the cache on this machine, which `aoe pull`, aoe_hub_pull or a Python program downloaded.
 *      The cache is $HF_HUB_CACHE, otherwise $HUGGINGFACE_HUB_CACHE, otherwise $HF_HOME/hub; HF_HOME is
 *      $XDG_CACHE_HOME/huggingface or ~/.cache/huggingface if it is not set. NAME is also found as
 *      sentence-transformers/NAME.
 * Any other text is copied; aoe_model_open then reports that it does not exist. The function sends no requests. Errors:
 * AOE_ENOENT (a name that contains '/' or '@' is not in the cache, or only a part of the model is; the message shows
 * the command that downloads it), AOE_EARG (size is too small), AOE_ENOMEM. */
AOE_API int aoe_model_find(char *dir, size_t size, const char *name, aoe_error *AOE_NULLABLE err);

/* --------------------------------------------------------- embedders of models */

typedef struct aoe_embedder_options aoe_embedder_options; /* defined below */

/* Creates an embedder that borrows its model. A server that answers requests in its own threads creates one embedder
 * with options.threads = 1. */
AOE_API int aoe_embedder_create(aoe_embedder **e, aoe_model *m, const aoe_embedder_options *AOE_NULLABLE o,
                                aoe_error *AOE_NULLABLE err);
AOE_API aoe_model *aoe_embedder_model(const aoe_embedder *e); /* the model of the embedder; borrowed */
/* Sets the embedding size of later calls of aoe_embed, from 1 to aoe_model_dims. They are bit-identical to those of a
 * model that was opened with options.dims. No other thread may use the embedder during the call. Errors: AOE_EARG
 * (invalid dims, or a cross-encoder). */
AOE_API int aoe_embedder_set_dims(aoe_embedder *e, size_t dims, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------------ cross-encoders */

/* Function that a cross-encoder applies to its outputs (logits), from config_sentence_transformers.json or config.json;
 * if they contain none, SIGMOID for one output and LOGIT for several. */
typedef enum aoe_score_activation {
    AOE_SCORE_LOGIT,   /* none: the scores are logits */
    AOE_SCORE_SIGMOID, /* 1 / (1 + exp(-x)) */
    AOE_SCORE_SOFTMAX, /* softmax over the outputs of a pair */
    AOE_SCORE_TANH     /* tanh(x) */
} aoe_score_activation;

/* Returns 1 if the model directory contains a cross-encoder: config.json names a class with a classification head, the
 * weights contain the head, and modules.json, if it exists, has no pooling. The result does not depend on
 * options.cross_encoder, so that a program can open a model, and then open it again as a cross-encoder. */
AOE_API int aoe_model_is_cross_encoder(const aoe_model *m);
/* Returns the number of scores per pair of a model that was opened with options.cross_encoder, or 0 for an embedding
 * model. */
AOE_API size_t aoe_model_classes(const aoe_model *m);
/* Returns the activation function of a cross-encoder. */
AOE_API aoe_score_activation aoe_model_activation(const aoe_model *m);
/* Returns the name of output i of a cross-encoder from config.json (id2label), for example "entailment"; borrowed from
 * m. Returns NULL if the output has no name, or if there is no output i. */
AOE_API const char *aoe_model_class_name(const aoe_model *m, size_t i);
/* Returns the name of an activation function: "logit", "sigmoid", "softmax" or "tanh"; static string. NULL: unknown
 * value. */
AOE_API const char *aoe_score_activation_name(aoe_score_activation a);
/* ---------------------------------------------------------- quantized vectors */

/* Type of the components of a vector. The values are the same as in quantize_embeddings of sentence-transformers
 * (sentence_transformers/util/quantization.py, version 6). */
typedef enum aoe_precision {
    AOE_PRECISION_FLOAT32, /* float: the components, unchanged */
    AOE_PRECISION_INT8,    /* int8_t, one per component: the value of UINT8 minus 128 */
    AOE_PRECISION_UINT8, /* uint8_t, one per component: floor((x - min) / step), limited to 0 and 255, where min and max
                            are the range of the component, and step is (max - min) / 255, or 1 if min equals max. Each
                            operation is rounded to float32 */
    AOE_PRECISION_BINARY, /* int8_t, one per 8 components: the value of UBINARY minus 128 */
    AOE_PRECISION_UBINARY /* uint8_t, one per 8 components: each bit is 1 if its component is greater than 0. The
                             highest bit belongs to the first of the 8 components; unused bits of the last byte are 0
                             (numpy.packbits) */
} aoe_precision;

/* Returns the number of bytes of a vector of `dims` components: 4 dims for FLOAT32, dims for INT8 and UINT8, and dims /
 * 8, rounded up, for BINARY and UBINARY. Returns 0 for an unknown value. */
AOE_API size_t aoe_precision_bytes(aoe_precision p, size_t dims);
/* Sets ranges that contain no vector: all minima are infinity, and all maxima are -infinity. ranges: [2, dims], the
 * smallest and the largest value of each component, owned by the caller. */
AOE_API void aoe_ranges_init(float *ranges, size_t dims);
/* Extends ranges, so that they contain n vectors. ranges: [2, dims], set by aoe_ranges_init or an earlier call;
 * vectors: [n, dims]. The vectors must be representative, for example those of at least 100 texts. If the function
 * fails, the ranges are unchanged. Errors: AOE_ENUMERIC (a component is not finite; names the vector and the
 * component). */
AOE_API int aoe_ranges_add(float *ranges, const float *vectors, size_t n, size_t dims, aoe_error *AOE_NULLABLE err);
/* Quantizes n vectors. vectors: [n, dims]; ranges: [2, dims], required for INT8 and UINT8, otherwise ignored; out: [n,
 * aoe_precision_bytes(p, dims)] bytes, owned by the caller, which must not overlap `vectors`. Vectors that are compared
 * with each other, such as queries and documents, need the same ranges. Errors: AOE_EARG (dims is 0; unknown value of
 * p; no ranges; a minimum is greater than its maximum), AOE_ENUMERIC (a component, a range or the size of a range is
 * not finite). */
AOE_API int aoe_quantize(aoe_precision p, const float *vectors, size_t n, size_t dims, const float *AOE_NULLABLE ranges,
                         void *out, aoe_error *AOE_NULLABLE err);

/* -------------------------------------------------------------------- search */

/* Similarity of two embeddings. More similar embeddings always have a larger value, so the value for a distance is
 * minus the distance. */
typedef enum aoe_similarity_function {
    AOE_SIMILARITY_COSINE,    /* aoe_cosine */
    AOE_SIMILARITY_DOT,       /* inner product */
    AOE_SIMILARITY_EUCLIDEAN, /* minus the Euclidean distance */
    AOE_SIMILARITY_MANHATTAN, /* minus the sum of the absolute differences of the components */
    AOE_SIMILARITY_COUNT
} aoe_similarity_function;

/* Cosine of x[dims] and y[dims] in [-1, 1], computed in double precision; 0 if a vector is zero. */
AOE_API double aoe_cosine(const float *x, const float *y, size_t dims);
/* Finds the k vectors with the largest cosine for each query, by exact search. The neighbors of a query are in
 * descending order of the cosine. If two cosines are equal, the lower index comes first. queries: [n_queries, dims],
 * vectors: [n, dims], neighbors: [n_queries, k], all owned by the caller. The cosine with a zero vector is 0. Results
 * do not depend on the number of threads. The function allocates 4 n dims bytes for a copy of the vectors, and a few MB
 * for buffers. Errors: AOE_EARG (dims is 0; n is 2^32 - 1 or more), AOE_ENUMERIC (a value is not finite). */
AOE_API int aoe_nearest(aoe_context *ctx, const float *queries, size_t n_queries, const float *vectors, size_t n,
                        size_t dims, size_t k, aoe_neighbor *neighbors, aoe_error *AOE_NULLABLE err);

/* ------------------------------------------------------- options of the above */

typedef enum aoe_log_level { AOE_LOG_INFO, AOE_LOG_WARNING } aoe_log_level;
/* Receives one message without a line end. The message is borrowed for the call. The function is called on the thread
 * that called the library. */
typedef void (*aoe_log_fn)(void *user, aoe_log_level level, const char *message);

struct aoe_context_options {
    size_t struct_size; /* set by aoe_context_options_defaults */
    size_t threads; /* threads, including the calling one, 1 to 1024; default: one per CPU that the process may use */
    aoe_log_fn log; /* receives each message; NULL (default): messages are discarded */
    void *log_user; /* first argument of log */
};

AOE_OPTIONS(aoe_context_options);

/* Data type of activations and matmuls. AUTO chooses bf16 if the CPU has bf16 instructions, otherwise f32. INT8
 * computes the linear layers of transformer layers, except the values of attention, in int8, and everything else in the
 * type that AUTO chooses. It is only for inference with transformers. The weights are used as they are stored in an
 * int8 model; other weights are quantized as aoe_convert quantizes them (AOE_STORAGE_INT8). AUTO never chooses int8. */
typedef enum aoe_dtype { AOE_DTYPE_AUTO, AOE_DTYPE_F32, AOE_DTYPE_BF16, AOE_DTYPE_INT8 } aoe_dtype;

/* Pooling: how the last hidden states h[T, D] of a text become one vector (section 4.1 of the AnglE paper). "AVG" in a
 * name means the mean over tokens. The CELL modes exist only for RAN models (Recurrent Attention Network, docs/ran.md).
 * A RAN divides a text into windows; the cell of a window is the state vector that it passes to the next window. */
typedef enum aoe_pooling {
    AOE_POOLING_AUTO,           /* from the model directory, else the default of the architecture */
    AOE_POOLING_CLS,            /* h[0] */
    AOE_POOLING_CLS_LAST_AVG,   /* (h[0] + mean(h)) / 2 */
    AOE_POOLING_LAST_AVG,       /* mean(h) */
    AOE_POOLING_LAST_MAX,       /* maximum over tokens, per component */
    AOE_POOLING_FIRST_LAST_AVG, /* mean over tokens of (embedding output + h) / 2 */
    AOE_POOLING_LAST_TOKEN,     /* h[T-1] */
    AOE_POOLING_MEAN_SQRT_LEN,  /* sum(h) / sqrt(T) */
    AOE_POOLING_WEIGHTED_MEAN,  /* sum over t of (t+1) h[t], divided by T (T+1) / 2 */
    AOE_POOLING_CELL_LAST,      /* cell after the last window */
    AOE_POOLING_CELL_MEAN,      /* mean of the cells of all windows */
    AOE_POOLING_CELL_MAX,       /* maximum over the cells of all windows, per component */
    /* The following modes exist only for transformers. The mean of two layers requires at least 2 layers. */
    AOE_POOLING_LAST_TWO_AVG,    /* mean over tokens of (output of the layer before the last + h) / 2 (ConSERT) */
    AOE_POOLING_LAYER1_LAST_AVG, /* mean over tokens of (output of the first layer + h) / 2 (BERT-flow) */
    AOE_POOLING_MASK, /* h[t] of the token [MASK] (PromptBERT), of which every text, with its prompt, must contain
                         exactly one */
    AOE_POOLING_COUNT,
    /* Concatenations of two to six poolings. The value is AOE_POOLING_CONCAT plus the sum of 1 (CLS), 2 (LAST_MAX), 4
       (LAST_AVG), 8 (MEAN_SQRT_LEN), 16 (WEIGHTED_MEAN) and 32 (LAST_TOKEN). The vectors are concatenated in this
       order. */
    AOE_POOLING_CONCAT = 64
} aoe_pooling;

/* Returns the name of a pooling mode as a static string, for example "cls", "mean" or "cls+mean" (a concatenation), or
 * NULL for an unknown value. */
AOE_API const char *aoe_pooling_name(aoe_pooling p);
/* Sets *p to the pooling mode with this name. The names "last-avg" and "last-max" of the AnglE paper are accepted for
 * "mean" and "max". Errors: AOE_EARG (unknown name; the message lists the valid names). */
AOE_API int aoe_pooling_parse(aoe_pooling *p, const char *name, aoe_error *AOE_NULLABLE err);

struct aoe_model_options {
    size_t struct_size;  /* set by aoe_model_options_defaults */
    aoe_dtype dtype;     /* data type of activations; default AOE_DTYPE_AUTO */
    aoe_pooling pooling; /* default AOE_POOLING_AUTO: the first value found in aoe.json, 1_Pooling/config.json and
                            config.json, else the default of the architecture */
    const char *prompt; /* prompt template, in which {text} stands for the text; "": no prompt; NULL (default): from the
                           model directory */
    size_t max_length; /* maximum tokens per text, special tokens included; AOE_AUTO (default): the first value found in
                          aoe.json, sentence_bert_config.json and tokenizer_config.json, or the architecture's
                          default */
    int normalize;     /* 1: scale vectors to unit L2 norm; 0: do not; AOE_AUTO (default): from the model directory */
    size_t bidirectional_from; /* causal models: first layer, counted from 0, in which attention is bidirectional;
                                  AOE_AUTO (default): from the model directory, else no layer */
    const char *base;          /* adapters: base model directory; NULL (default): from adapter_config.json */
    /* Name of a prompt of the model directory, which is used instead of `prompt`; NULL (default): none. The name
     * "document" means the first of the prompts "document", "passage" and "corpus" that exists. The prompts "query" and
     * "document" of a model that has no such prompt are empty, as in sentence-transformers. */
    const char *prompt_name;
    /* 1: open a cross-encoder: a model with a classification head, which scores text pairs (aoe_score_pairs). A model
     * that is opened in this way computes no embeddings; `pooling` and `normalize` must be AUTO. 0 (default): open an
     * embedding model; a classification head is ignored. AOE_AUTO: open a cross-encoder if the directory contains one,
     * otherwise an embedding model */
    int cross_encoder;
    int activation;      /* cross-encoders: an aoe_score_activation that replaces the activation function of the model;
                            AOE_AUTO (default): from the model */
    int prompt_optional; /* 1: if the model directory has no prompt prompt_name, its default prompt is used; 0
                            (default): this is an error */
    size_t layers; /* number of layers that are used, the first layers of the model; 0 (default): all. Fewer layers than
                      the model has are only for transformers without a norm after the last layer */
    size_t dims;   /* embedding size: aoe_embed keeps the first components and, if the model normalizes embeddings,
                      normalizes them again; 0 (default): from the model directory */
};

AOE_OPTIONS(aoe_model_options);

/* Treatment of texts longer than max_length. */
typedef enum aoe_chunk {
    AOE_CHUNK_FIRST, /* truncate the text to its first tokens */
    AOE_CHUNK_MEAN /* divide the text into chunks of at most max_length tokens and add the prompt and special tokens to
                      each chunk; the vector of the text is the mean of the vectors of its chunks */
} aoe_chunk;

struct aoe_embedder_options {
    size_t struct_size;   /* set by aoe_embedder_options_defaults */
    size_t batch_tokens;  /* maximum tokens per batch; default 4096. Smaller batches are used if they are faster. A text
                             with more tokens forms a batch of its own */
    aoe_chunk chunk;      /* default AOE_CHUNK_FIRST */
    size_t chunk_overlap; /* number of tokens that adjacent chunks share; AOE_AUTO (default): an eighth of the number of
                             tokens in a chunk, not counting the prompt and special tokens */
    size_t threads;       /* number of threads that a call uses, from 1 to 1024, including the thread that calls; the
                             others belong to the embedder. AOE_AUTO (default): those of the context of the model. If
                             calls run at the same time, the other threads help with one of them */
};

AOE_OPTIONS(aoe_embedder_options);

/* --------------------------------------------------- information about models */

typedef struct aoe_model_info {
    size_t struct_size;       /* set by the caller */
    const char *architecture; /* "bert", "llama", "static" ...; static string */
    size_t hidden, layers, heads, intermediate, vocab, positions, token_types; /* sizes in config.json; 0: not
                                                                                  applicable */
    size_t parameters;   /* number of parameters in the encoder and of the modules before and after the pooling, without
                            the pooler and adapters */
    size_t dims;         /* components of an embedding */
    const char *modules; /* modules before and after the pooling, comma-separated: "LSTM before the pooling",
                            "convolutions before the pooling", "dense (tanh)", "layer norm", "batch norm", "dropout",
                            "normalize", "flow"; after a layer with a residual connection, " with residual". The last
                            element is "minus the empty prompt" if the model subtracts the embedding of its empty
                            prompt. Owned by the model; NULL: no modules */
    aoe_pooling pooling; /* pooling in use, never AUTO */
    const char *pooling_from;    /* source of the pooling: "aoe.json", "1_Pooling/config.json", "default" ...; static
                                    string */
    size_t max_length;           /* tokens per text after truncation, special tokens included */
    const char *max_length_from; /* source of max_length; static string */
    size_t longest;              /* largest max_length that the model supports; SIZE_MAX: unlimited */
    const char *prompt;          /* prompt template, owned by the model; "": no prompt */
    int normalize;               /* 1: embeddings are scaled to unit L2 norm */
    aoe_dtype dtype;             /* data type in use, never AUTO */
    const char *computed; /* data types of the operations: "f32", "bf16" or, with int8, the type of linear layers and
                             that of the other operations: "int8 and f32" or "int8 and bf16"; static string */
    const char *tier;     /* CPU tier (instruction set) in use, for example "avx2"; static string */
    const char *storage; /* stored type of the weights: "F32", "F16", "BF16", "I8" (int8 matrices, float32 vectors), the
                            same with int5 token embeddings: "I8, token embeddings I5", or "mixed"; static string */
    const char *tokenizer;     /* kind of the tokenizer, for example "WordPiece"; static string; NULL: no tokenizer */
    double dropout;            /* hidden_dropout_prob of config.json */
    size_t kv_heads;           /* number of heads of keys and values; less than `heads` in grouped-query attention */
    int causal;                /* 1: attention is causal in the layers before bidirectional_from */
    size_t bidirectional_from; /* causal models: first layer with bidirectional attention; `layers` if there is none */
    size_t head_size;          /* RAN: components of a head; otherwise 0 */
    size_t window, min_window; /* RAN: tokens per window, minimum tokens of the last of several windows; otherwise 0 */
    const char *base;          /* adapters: base model directory, owned by the model; NULL: no adapters */
    size_t lora_r;             /* adapters: rank; otherwise 0 */
    double lora_alpha, lora_dropout; /* adapters: alpha (see aoe_lora) and dropout probability; otherwise 0 */
    const char *lora_targets;        /* adapters: adapted layers, comma-separated, owned by the model; otherwise "" */
    const char *similarity; /* similarity for which the model was trained: "cosine", "dot", "euclidean" or "manhattan";
                               only the evaluations of aoe_eval.h can compute others than the cosine; static string */
    int chat_template;      /* 1: texts are rendered with the chat template of the tokenizer (aoe_encode_options) */
} aoe_model_info;

/* Sets *info. Its strings remain valid until the model is closed. */
AOE_API void aoe_model_get_info(const aoe_model *m, aoe_model_info *info);
/* Writes one line that names the pooling and the data type of the model and the CPU tier of its context, each with the
 * reason for the choice. text: [size] bytes, NUL-terminated, truncated if size is too small. */
AOE_API void aoe_model_describe(const aoe_model *m, char *text, size_t size);

typedef struct aoe_model_setting {
    size_t struct_size; /* set by the library */
    const char *name;   /* "pooling", "encoder.hidden_size", "2_Dense.activation_function" ... */
    const char *value;  /* in use, as JSON */
    const char *file;   /* path of the file that contains the value; NULL: no file */
    const char *key;    /* key in this file; NULL: not a value of a key, such as the type of the stored weights */
    const char *reason; /* without a file: "option", "default", or another short text; otherwise NULL */
} aoe_model_setting;

typedef void (*aoe_model_setting_fn)(void *user, const aoe_model_setting *setting);
/* Calls fn for every setting that affects the results of the model. The strings are valid during the call. Errors:
 * AOE_ENOMEM. */
AOE_API int aoe_model_explain(const aoe_model *m, aoe_model_setting_fn fn, void *AOE_NULLABLE user,
                              aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
