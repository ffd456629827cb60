/* SPDX-License-Identifier: MIT
 * The option tables of functions that create models: conversion, whitening, flows and models with random weights.
 */
#include "options/create.h"

#include <stddef.h>

#include "aoe_convert.h"
#include "options/model.h"
#include "options/rows.h"

#define CONVERT(field) AOEI_AT(aoe_convert_options, field)

static const aoei_option convert_rows[] = {
    AOEI_ROW_STORAGE("dtype", CONVERT(storage), AOEI_STORAGE_HELP,
                     "f32 for word vectors and if another option changes the model; otherwise required"),
    AOEI_ROW_EMBEDDING_STORAGE(CONVERT(embedding_storage)),
    AOEI_ROW_FORCE(CONVERT(force)),
    {.name = "layers",
     .kind = AOEI_OPTION_SIZE,
     CONVERT(layers),
     .min = 1,
     .max = 1024,
     .help = "keep only the first N layers, for example of a model that was trained with aoe train --adaptive-layers. "
             "Requires a transformer without a norm after its last layer, such as BERT",
     .fallback = "all layers"},
    {.name = "dims",
     .kind = AOEI_OPTION_SIZE,
     CONVERT(dims),
     .min = 1,
     .max = 1e9,
     .help =
         "truncate the embeddings to the first N components, for example of a model that was trained with aoe train "
         "--matryoshka",
     .fallback = "all components"},
    AOEI_ROW_BASE_MODEL(CONVERT(base)),
};

static const aoei_option merge_rows[] = {
    AOEI_ROW_BASE_MODEL(CONVERT(base)),
    AOEI_ROW_STORAGE("dtype", CONVERT(storage), AOEI_STORAGE_HELP, "f32; the other types round the merged weights"),
    AOEI_ROW_EMBEDDING_STORAGE(CONVERT(embedding_storage)),
    AOEI_ROW_FORCE(CONVERT(force)),
};

static const aoei_option convert_vocabulary_rows[] = {
    {.name = "vocabulary",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     CONVERT(vocabulary),
     .excludes = "vocab-size",
     .help =
         "keep only the tokens in FILE, a text file with one token per line as in vocab.txt, and the tokens that are "
         "always kept: special and added tokens, and single characters",
     .fallback = "all tokens"},
    {.name = "vocab-size",
     .kind = AOEI_OPTION_SIZE,
     CONVERT(vocab_size),
     .min = 1,
     .max = 1e7,
     .help = "keep N tokens: the tokens that are always kept, and the tokens that are most frequent in the texts of "
             "--count-on. If fewer than N tokens occur in the texts, other tokens are added in the order of their ids, "
             "[unused...] last",
     .fallback = "all tokens"},
    AOEI_ROW_COLUMNS(CONVERT(table.columns), "NAME,...", "text columns of tables of --count-on",
                     "all text columns with a name listed in docs/data.md, such as sentence1"),
};

#define WHITEN(field) AOEI_AT(aoe_whiten_options, field)

static const aoei_option whiten_rows[] = {
    AOEI_ROW_FORCE(WHITEN(force)),
    {.name = "dims",
     .letter = 'k',
     .kind = AOEI_OPTION_SIZE,
     WHITEN(dims),
     .min = 1,
     .max = 65536,
     .help = "keep the N components with the largest variance",
     .fallback = "all components with nonzero variance"},
};

static const aoei_option whiten_texts_rows[] = {
    AOEI_ROW_COLUMNS(WHITEN(table.columns), "NAME,...", "text columns of tables",
                     "all text columns with a name listed in docs/data.md, such as sentence1"),
    AOEI_ROW_SKIP_BAD_ROWS(WHITEN(table.skip_bad_rows)),
};

#define FLOW(field) AOEI_AT(aoe_flow_options, field)

static const aoei_option flow_rows[] = {
    AOEI_ROW_FORCE(FLOW(force)),
    {.name = "levels",
     .kind = AOEI_OPTION_SIZE,
     FLOW(levels),
     .min = 1,
     .max = 8,
     .help = "number of levels; an embedding must have a multiple of 2^N components"},
    {.name = "depth", .kind = AOEI_OPTION_SIZE, FLOW(depth), .min = 1, .max = 64, .help = "number of steps per level"},
    {.name = "width",
     .kind = AOEI_OPTION_SIZE,
     FLOW(width),
     .min = 1,
     .max = 1024,
     .help = "number of hidden units in the network of a step"},
};

static const aoei_option flow_training_rows[] = {
    {.name = "epochs",
     .kind = AOEI_OPTION_SIZE,
     FLOW(epochs),
     .min = 1,
     .max = 1e6,
     .help = "number of passes over the rows of the input files"},
    {.name = "batch-size",
     .kind = AOEI_OPTION_SIZE,
     FLOW(batch_size),
     .min = 2,
     .max = 1e6,
     .help = "number of rows per optimizer step; the first batch determines the initial parameters"},
    {.name = "lr", .kind = AOEI_OPTION_REAL, FLOW(lr), .most = 1e3, .help = "learning rate, which is constant"},
};

static const aoei_option flow_texts_rows[] = {
    AOEI_ROW_COLUMNS(FLOW(table.columns), "NAME,...", "text columns of tables",
                     "all text columns with a name listed in docs/data.md, such as sentence1"),
    AOEI_ROW_SKIP_BAD_ROWS(FLOW(table.skip_bad_rows)),
};

#define INIT(field) AOEI_AT(aoe_init_options, field)

static const aoei_option init_rows[] = {
    AOEI_ROW_STORAGE("dtype", INIT(storage), AOEI_STORAGE_HELP, "f32"),
    AOEI_ROW_FORCE(INIT(force)),
    {.name = "pooling",
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME[+NAME]",
     INIT(pooling),
     .parse = aoei_parse_pooling,
     .choice = aoei_pooling_choice,
     .help = AOEI_POOLING_HELP,
     .fallback = AOEI_DEFAULT_POOLING},
    {.name = "dropout",
     .kind = AOEI_OPTION_REAL,
     .value = "P",
     INIT(dropout),
     .max = AOEI_BELOW_1,
     .most = 0.99,
     .help = "dropout probability for training, stored in config.json"},
};

static const aoei_option init_vocabulary_rows[] = {
    {.name = "vocab-size",
     .kind = AOEI_OPTION_SIZE,
     INIT(vocab_size),
     .min = 10,
     .max = 1e7,
     .help = "size of the trained vocabulary, special tokens included"},
    {.name = "cased",
     .kind = AOEI_OPTION_FLAG,
     INIT(lowercase),
     .clears = 1,
     .help = "keep case and accents in the trained vocabulary"},
    {.name = "tokenizer",
     .kind = AOEI_OPTION_TEXT,
     .value = "DIR",
     INIT(tokenizer_from),
     .excludes = "vocab-from",
     .help = "copy the tokenizer of this model instead of training one"},
};

#define SIZE_OPTION(option, field, most, text, absent)                                                                 \
    {                                                                                                                  \
        .name = option, .kind = AOEI_OPTION_SIZE, AOEI_AT(aoe_shape, field), .min = 1, .max = most, .help = text,      \
        .fallback = absent                                                                                             \
    }

static const aoei_option shape_rows[] = {
    SIZE_OPTION("hidden", hidden, 65536, "hidden size", "from --shape; required without --shape"),
    SIZE_OPTION("layers", layers, 1024, "number of layers", "from --shape; required without --shape"),
    SIZE_OPTION(
        "heads", heads, 1024, "number of attention heads",
        "hidden size / 64, rounded down and at least 1, if there is no --shape, or if --hidden changes the size of a "
        "shape that is not a RAN model; otherwise from --shape"),
    SIZE_OPTION("kv-heads", kv_heads, 1024, "number of key and value heads (grouped-query attention)",
                "the number of attention heads if --hidden or --heads is given, otherwise from --shape"),
    SIZE_OPTION(
        "intermediate", intermediate, 1048576, "intermediate size of the feed-forward network",
        "4 x hidden size if there is no --shape, or if --hidden changes the size of a shape that is not a RAN model; "
        "otherwise from --shape"),
    SIZE_OPTION("head-size", head_size, 65536, "RAN models: size of an attention head", "from --shape"),
    SIZE_OPTION("window", window, 65536, "RAN models: number of tokens per window", "from --shape"),
    SIZE_OPTION("positions", positions, 1048576,
                "maximum sequence length in tokens, special tokens included, at least 3",
                "from --shape, otherwise 512"),
};

const aoei_option_group aoei_shape_sizes_rows = AOEI_GROUP("sizes", aoe_shape, shape_rows);
const aoei_option_group aoei_merge_rows = AOEI_GROUP("merging", aoe_convert_options, merge_rows);
const aoei_option_group aoei_convert_model_rows = AOEI_GROUP("conversion", aoe_convert_options, convert_rows);
const aoei_option_group aoei_convert_vocabulary_rows =
    AOEI_GROUP("vocabulary", aoe_convert_options, convert_vocabulary_rows);
const aoei_option_group aoei_whiten_rows = AOEI_GROUP("whitening", aoe_whiten_options, whiten_rows);
const aoei_option_group aoei_whiten_texts_rows = AOEI_GROUP("texts", aoe_whiten_options, whiten_texts_rows);
const aoei_option_group aoei_flow_rows = AOEI_GROUP("flow", aoe_flow_options, flow_rows);
const aoei_option_group aoei_flow_training_rows = AOEI_GROUP("training", aoe_flow_options, flow_training_rows);
const aoei_option_group aoei_flow_texts_rows = AOEI_GROUP("texts", aoe_flow_options, flow_texts_rows);
const aoei_option_group aoei_init_rows = AOEI_GROUP("output", aoe_init_options, init_rows);
const aoei_option_group aoei_init_vocabulary_rows = AOEI_GROUP("vocabulary", aoe_init_options, init_vocabulary_rows);
