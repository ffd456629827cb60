/* SPDX-License-Identifier: MIT
 * Word embeddings, the module WordEmbeddings of sentence-transformers. The tensor `emb_layer.weight` [V, D] contains
 * one vector per token. A module CNN or LSTM and a pooling follow. In contrast to static models, special and unknown
 * tokens are not dropped. The vectors are trained only if update_embeddings is true in config.json. The key bigrams,
 * which only aoe has, is the number of rows in the tensor `bigrams.weight`, the bigram embeddings (nn/bigrams.h).
 */
#include "encoder/arch_words.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_keys.h"
#include "encoder/static_encoder.h"

#define MAX_BIGRAMS ((size_t)1 << 24)
#define MAX_TOKENS  ((size_t)1 << 20) /* maximum number of tokens in a text; it is not limited by a position table */

static const char *const prefixes[] = {"", NULL};

static int read_words(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc, update = 0;
    c->no_embed_norm = 1;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)))
        return rc;
    if ((rc = aoei_json_bool(config, "update_embeddings", &update, file, err)) ||
        (rc = aoei_json_size(config, "bigrams", &c->bigrams, file, err)))
        return rc;
    c->frozen_words = !update;
    if (c->bigrams > MAX_BIGRAMS || (c->bigrams & (c->bigrams - 1)))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"bigrams\" is %zu, but must be a power of two of at most %zu", file,
                         c->bigrams, MAX_BIGRAMS);
    return 0;
}

static int write_words(const aoei_encoder_config *c, json_t *config) {
    json_t *keys =
        json_pack("{s:s, s:I, s:I, s:b}", "model_type", "word_embeddings", "hidden_size", (json_int_t)c->hidden,
                  "vocab_size", (json_int_t)c->vocab, "update_embeddings", !c->frozen_words);
    if (keys && c->bigrams && json_object_set_new(keys, "bigrams", json_integer((json_int_t)c->bigrams))) {
        json_decref(keys);
        keys = NULL;
    }
    return aoei_keys_add(config, keys);
}

static void name_words(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    (void)layer;
    snprintf(out, size, "%s",
             group != AOEI_GROUP_OUTER ? ""
             : kind == AOEI_W_WORD     ? AOEI_WORDS_TENSOR
             : kind == AOEI_W_BIGRAM   ? AOEI_BIGRAMS_TENSOR
                                       : "");
}

static void print_words(const aoei_encoder_config *c, char *out, size_t size) {
    int n = snprintf(out, size, "word embeddings of size %zu%s", c->hidden,
                     c->frozen_words ? ", which training does not change" : "");
    if (c->bigrams && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, ", and embeddings of %zu hashed bigrams", c->bigrams);
}

static size_t max_length_words(const aoei_encoder_config *c) {
    (void)c;
    return MAX_TOKENS;
}

const aoei_arch aoei_arch_words = {
    .model_type = "word_embeddings",
    .class_name = "WordEmbeddings",
    .first_module = "WordEmbeddings",
    .prefixes = prefixes,
    .read = read_words,
    .write = write_words,
    .name = name_words,
    .print_sizes = print_words,
    .encoder = &aoei_static_ops,
    .max_length = max_length_words,
    .poolings = AOEI_TOKEN_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .allows_no_tokens = 1,
    .truncates_end = 1,
    .auto_float32 = 1,
    .library = AOEI_LIBRARY_SENTENCE_TRANSFORMERS,
};
