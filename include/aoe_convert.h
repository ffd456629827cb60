/* SPDX-License-Identifier: MIT
 *
 * aoe_convert.h: creates and converts models: new models with random weights, converted and averaged models, static
 * models from word vectors, and models with whitened or flow-transformed embeddings. docs/model-directories.md
 * describes the directories.
 */
#ifndef AOE_CONVERT_H
#define AOE_CONVERT_H

#include "aoe.h"
#include "aoe_data.h"
#include "aoe_shape.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- stored weights */

/* Stored type of weights. It does not affect the data type of computations (docs/model-directories.md). */
typedef enum aoe_storage {
    AOE_STORAGE_F32,
    AOE_STORAGE_BF16, /* rounded to nearest; other programs can read it */
    AOE_STORAGE_INT8  /* matrices are int8 with one float32 scale per row, max|row| / 127; vectors are float32. Only aoe
                         can read this type */
} aoe_storage;

/* Stored type of the token embeddings, which are the largest matrix of many small models. */
typedef enum aoe_embedding_storage {
    AOE_EMBEDDING_STORAGE_AUTO, /* the type of the other weights */
    AOE_EMBEDDING_STORAGE_INT5 /* int5 with one float32 scale per row, 8 values in 5 bytes; requires AOE_STORAGE_INT8 */
} aoe_embedding_storage;

/* ---------------------------------------------------------------- new models */

typedef struct aoe_init_options {
    size_t struct_size; /* set by aoe_init_options_defaults */
    aoe_shape shape; /* sizes of the encoder; default "bert-mini". If shape.vocab is 0 (default), it is the size of the
                        tokenizer's vocabulary */
    const char *const *texts; /* [n_texts] files to train a tokenizer on: .txt or tables, also .gz and .zst */
    size_t n_texts;
    const char *tokenizer_from; /* model directory to copy the tokenizer from; NULL (default): train one on `texts` */
    size_t vocab_size;          /* vocabulary of a trained tokenizer, special tokens included; default 8000 */
    int lowercase;              /* 1 (default): a trained tokenizer lowercases texts */
    aoe_pooling pooling; /* pooling of the new model; AUTO (default): last-token for causal models, cell-mean for RAN
                            models, mean for other models */
    double dropout;      /* written to config.json if the architecture has dropout; default 0.1 */
    uint64_t seed; /* seed of the weights, which are normally distributed with standard deviation 0.02; default 42 */
    aoe_storage storage; /* stored type of the weights; default AOE_STORAGE_F32 */
    int force;           /* 1: replace a model in the output directory */
} aoe_init_options;

typedef struct aoe_init_result {
    size_t struct_size;                       /* set by the caller */
    size_t parameters, hidden, layers, vocab; /* as in aoe_model_info */
} aoe_init_result;

AOE_OPTIONS_WITH(aoe_init_options, o->shape.struct_size = sizeof o->shape);
/* Writes a complete model directory `dir` with random weights. The weights are written in parts, so that they need not
 * fit in memory. Errors: AOE_EEXIST (dir contains a model, and force is 0), AOE_EIO and other errors of files. */
AOE_API int aoe_init(aoe_context *ctx, const char *dir, const aoe_init_options *AOE_NULLABLE o,
                     aoe_init_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

typedef struct aoe_convert_options {
    size_t struct_size;  /* set by aoe_convert_options_defaults */
    aoe_storage storage; /* stored type of the output; default AOE_STORAGE_F32 */
    /* stored type of the token embeddings of the output; default AOE_EMBEDDING_STORAGE_AUTO */
    aoe_embedding_storage embedding_storage;
    int force;        /* 1: replace a model in the output directory */
    int merge;        /* 1: fail if `from` contains no adapters */
    const char *base; /* base model of an adapter directory; NULL (default): named by adapter_config.json */
    size_t layers; /* aoe_convert: number of layers in the output, the first layers of the model; 0 (default): all. Only
                      for transformers without a norm after the last layer */
    size_t dims;   /* aoe_convert: embedding size of the output; 0 (default): all */
    /* aoe_convert: [n_take_layers] indices of the layers of the output among the layers of the model, counted from 0,
     * in ascending order; all other weights are copied. NULL (default): `layers` selects the layers. Only for
     * transformers */
    const size_t *take_layers;
    size_t n_take_layers;
    /* aoe_convert: smaller vocabulary. Special and added tokens and the single characters of texts are kept in addition
     * to the tokens that one of the first two options selects; the embeddings of all other tokens are removed */
    const char *vocabulary; /* text file with one token per line, the tokens to keep; NULL (default): none */
    size_t vocab_size;      /* number of tokens in the output, the most frequent tokens of `count_on`. Equally frequent
                               tokens are selected in the order of their ids, those named [unused...] last; 0 (default):
                               all */
    const char *const *count_on; /* [n_count_on] .txt files or tables, which are read twice. Every line of a .txt file
                                    and every text of a table is used. Required for vocab_size; NULL (default): none */
    size_t n_count_on;
    aoe_table_options table; /* of count_on; only the options columns, input_format and delimiter are used */
} aoe_convert_options;

typedef struct aoe_convert_result {
    size_t struct_size;              /* set by the caller */
    const char *from, *to;           /* stored types of input and output, as aoe_model_info.storage; static strings */
    size_t parameters;               /* parameters of the encoder */
    size_t bytes_from, bytes_stored; /* bytes of the weights, including scales, in the input files and in the output
                                        files */
    size_t vocab_from, vocab; /* tokens of the vocabularies of input and output; 0 if the vocabulary was not reduced */
    size_t texts;             /* texts of options.count_on */
    size_t tokens;            /* tokens of these texts with the tokenizer of the input, without special tokens */
    size_t tokens_kept;       /* those of these tokens that are in the vocabulary of the output */
    size_t tokens_after;      /* tokens of these texts with the tokenizer of the output */
    size_t vocab_found;       /* tokens of the vocabulary of the output that occur among `tokens` */
    size_t layers_from, layers; /* layers of input and output */
    size_t dims_from, dims;     /* components of the embeddings of input and output */
} aoe_convert_result;

AOE_OPTIONS_WITH(aoe_convert_options, aoe_table_options_defaults(&o->table));
/* Writes the model in `from`, with its settings and other files, to `to` with another stored type. Adapters are merged
 * into the weights of their base model. Converting to f32 is exact. If weights are converted from bf16, int8 or int5 to
 * f32 and back, the bytes do not change. Errors: AOE_EARG, AOE_EUNSUPPORTED (the layers or the tokens cannot be
 * selected), AOE_EFORMAT (a line of options.vocabulary is not a token of the model), AOE_EEXIST (`to` contains a model,
 * and force is 0), AOE_EARG (`to` is `from`, and force is 0), AOE_ENUMERIC (the stored type cannot represent a value),
 * the errors of aoe_model_open and of files. */
AOE_API int aoe_convert(aoe_context *ctx, const char *from, const char *to, const aoe_convert_options *AOE_NULLABLE o,
                        aoe_convert_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);
/* Writes a model to `to` whose weights are the mean of the weights of the n models in the directories `from` (model
 * soups, Wortsman et al. 2022); the models must have been trained from one start model. The weights are summed in
 * float64 in the order of `from`, and the mean is rounded once. Settings, tokenizer and other files are copied from
 * from[0]. options.merge and options.base are ignored. Errors: see aoe_convert; AOE_EARG (configurations or
 * vocabularies differ; a directory contains adapters). */
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

AOE_OPTIONS(aoe_word_vectors_options);

typedef struct aoe_word_vectors_result {
    size_t struct_size; /* set by the caller */
    size_t words; /* number of words in the file; the unknown token, which is added to the vocabulary, is not counted */
    size_t dims;  /* components of a vector */
    size_t skipped; /* lines that were skipped: words that contain spaces, and repeated words */
} aoe_word_vectors_result;

/* Converts a text file of word vectors to a static model. In a static model, the embedding of a text is the mean of the
 * vectors of its known words. Each line of the file contains a word and the components of its vector, separated by
 * spaces (the GloVe format). A first line that contains two counts (the word2vec format) is skipped. Files may be
 * compressed (.gz, .zst).
 * Errors: AOE_EFORMAT with file and line, AOE_EEXIST, AOE_EIO and other errors of files. */
AOE_API int aoe_word_vectors(aoe_context *ctx, const char *path, const char *to,
                             const aoe_word_vectors_options *AOE_NULLABLE o,
                             aoe_word_vectors_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

/* ----------------------------------------------------------------- whitening */

typedef struct aoe_whiten_options {
    size_t struct_size;       /* set by aoe_whiten_options_defaults */
    const char *const *texts; /* [n_texts] .txt files or tables. Every line of a .txt file and every text of a table is
                                 used; labels are ignored */
    size_t n_texts;
    aoe_table_options table;         /* columns: "text=NAME"; label_map and allow_empty are ignored */
    int force;                       /* 1: replace a model in the output directory */
    aoe_model_options model_options; /* pooling, prompt, max_length and normalize are stored in the output */
    size_t dims; /* number of components to keep, in order of decreasing variance; AOE_AUTO (default): all components
                    with a variance above 0 */
    size_t batch_tokens; /* maximum tokens per batch, as in aoe_embedder_options; default 4096 */
} aoe_whiten_options;

typedef struct aoe_whiten_result {
    size_t struct_size; /* set by the caller */
    size_t texts;       /* number of texts */
    size_t rank;        /* components with a variance above 0 */
    size_t dims;        /* components that were kept */
    double kept;        /* fraction of the variance in these components */
} aoe_whiten_result;

AOE_OPTIONS_WITH(aoe_whiten_options, aoe_table_options_defaults(&o->table),
                 aoe_model_options_defaults(&o->model_options));
/* Adds a linear layer after the pooling to the model in `from`, and writes the model to `to`. With this layer, the
 * embeddings of the texts have mean 0 and identity covariance (BERT-whitening, Su et al. 2021): y = S^(-1/2) U^T (x -
 * mean), where U S U^T is the covariance of x. Adapters are merged. Errors: see aoe_convert and aoe_embed; AOE_EARG
 * (dims exceeds the rank; the model already has a dense layer). */
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
    const char *const *texts; /* [n_texts] .txt files, tables or folders of SentEval's STS data. Every line of a .txt
                                 file and every text of a table is used; labels are ignored. The texts of a row form an
                                 example */
    size_t n_texts;
    aoe_table_options table; /* columns: "text=NAME"; label_map and allow_empty are ignored */
    size_t levels; /* number of levels, 1 to 8; default 3. The number of components must be a multiple of 2^levels */
    size_t depth;  /* number of steps per level, 1 to 64; default 3 */
    size_t width;  /* number of hidden units of each coupling, 1 to 1024; default 32 */
    size_t epochs; /* number of passes over the examples; default 1 */
    size_t batch_size;   /* examples per optimizer step, at least 2; default 32 */
    double lr;           /* learning rate, which is constant; default 1e-3 */
    uint64_t seed;       /* determines the initial weights and the order of the examples; default 42 */
    size_t batch_tokens; /* maximum tokens per batch of the encoder, as in aoe_embedder_options; default 4096 */
    aoe_model_options model_options; /* pooling, prompt, max_length and normalize are stored in the output */
    int force;                       /* 1: replace a model in the output directory */
    aoe_flow_progress_fn progress;   /* NULL (default): none */
    void *user;                      /* first argument of progress */
} aoe_flow_options;

typedef struct aoe_flow_result {
    size_t struct_size; /* set by the caller */
    size_t texts;       /* number of texts */
    size_t examples;    /* number of rows or lines with these texts */
    size_t dims;        /* embedding size */
    size_t parameters;  /* number of parameters in the flow */
    size_t steps;       /* number of optimizer steps */
    double bits_start;  /* mean over the texts of the negative log-likelihood in bits per component before the first
                           step */
    double bits;        /* the same after the last step, for the saved parameters */
} aoe_flow_result;

AOE_OPTIONS_WITH(aoe_flow_options, aoe_table_options_defaults(&o->table),
                 aoe_model_options_defaults(&o->model_options));
/* Fits a normalizing flow to the embeddings of the texts (BERT-flow, Li et al. 2020), adds it after the pooling to the
 * model in `from`, and writes the model to `to`. The flow maps the embeddings to vectors whose distribution is close to
 * a standard normal distribution. The encoder is not trained: the texts are embedded once, without dropout, and stored
 * in memory (4 bytes per component). The loss of a batch is the mean over its examples of the sum of the losses of
 * their texts. AdamW without bias correction, with epsilon 1e-6 and weight decay 0.01, minimizes it; the norm of the
 * gradient is clipped to 1. The result does not depend on the number of threads. Adapters are merged. Errors: see
 * aoe_convert and aoe_embed; AOE_EARG (the model already has a layer after the pooling; the number of components is not
 * a multiple of 2^levels; a value is not in its range), AOE_EFORMAT (fewer than two texts, or equal embeddings),
 * AOE_ENUMERIC (the loss is not finite), AOE_ECANCELLED. */
AOE_API int aoe_flow(aoe_context *ctx, const char *from, const char *to, const aoe_flow_options *AOE_NULLABLE o,
                     aoe_flow_result *AOE_NULLABLE result, aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
