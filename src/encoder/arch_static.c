/* SPDX-License-Identifier: MIT
 * Static models (Model2Vec, the potion models, and the module StaticEmbedding of sentence-transformers). The tensor
 * `embeddings` or `embedding.weight` [V, D] contains one vector per token. The embedding of a text is the mean of the
 * vectors of its tokens. The config.json of these models contains no sizes, so modeldir/static_config.c reads the sizes
 * from the tensor.
 */
#include "encoder/arch_static.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_keys.h"
#include "encoder/static_encoder.h"

#define MAX_TOKENS     ((size_t)1 << 20) /* maximum number of tokens in a text; it is not limited by a position table */
#define DEFAULT_TOKENS ((size_t)512)     /* default maximum length of Model2Vec */

static const char *const prefixes[] = {"", NULL};

/* Reads max_length: the maximum number of tokens in a text, or null for no limit. */
static int read_max_length(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const json_t *v = json_object_get(config, "max_length");
    size_t n = json_is_null(v) ? MAX_TOKENS : 0;
    const int rc = aoei_json_size(config, "max_length", &n, file, err);
    if (!rc && v && !n)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"max_length\" is 0; it must be at least 1, or null for no limit",
                         file);
    c->max_tokens = n < MAX_TOKENS ? n : MAX_TOKENS;
    return rc;
}

static int read_static(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    c->no_embed_norm = 1;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = read_max_length(c, config, file, err)))
        return rc;
    return aoei_json_bool(config, "normalize", &c->normalize, file, err);
}

static int write_static(const aoei_encoder_config *c, json_t *config) {
    json_t *keys = json_pack("{s:s, s:I, s:I, s:b}", "model_type", "model2vec", "hidden_size", (json_int_t)c->hidden,
                             "vocab_size", (json_int_t)c->vocab, "normalize", c->normalize);
    return aoei_keys_add(config, keys);
}

static void name_static(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    (void)layer;
    snprintf(out, size, "%s",
             kind == AOEI_W_WORD && group == AOEI_GROUP_OUTER ? AOEI_STATIC_TENSOR : ""); /* the model has no other
                                                                                             tensor */
}

static void print_static(const aoei_encoder_config *c, char *out, size_t size) {
    snprintf(out, size, "static embeddings of size %zu, mean pooling", c->hidden);
}

static size_t max_length_static(const aoei_encoder_config *c) {
    (void)c;
    return MAX_TOKENS;
}

static void name_sentence(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    (void)layer;
    snprintf(out, size, "%s", kind == AOEI_W_WORD && group == AOEI_GROUP_OUTER ? AOEI_SENTENCE_TENSOR : "");
}

#define STATIC                                                                                                         \
    .model_type = "static", .other_type = "model2vec", .class_name = "StaticModel", .prefixes = prefixes,              \
    .read = read_static, .write = write_static, .print_sizes = print_static, .encoder = &aoei_static_ops,              \
    .max_length = max_length_static, .poolings = AOEI_POOLING_BIT(AOE_POOLING_LAST_AVG),                               \
    .default_pooling = AOE_POOLING_LAST_AVG, .plain_tokens = 1, .allows_no_tokens = 1, .auto_float32 = 1,              \
    .first_module = "StaticEmbedding"

/* The module StaticEmbedding of sentence-transformers. In contrast to Model2Vec, unknown tokens are not dropped, and
 * the length of texts is not limited. */
static const aoei_arch sentence = {STATIC, .name = name_sentence, .keeps_unknown = 1,
                                   .library = AOEI_LIBRARY_STATIC_EMBEDDING};

static const aoei_arch *const layouts[] = {&aoei_arch_static, &sentence, NULL};
const aoei_arch aoei_arch_static = {STATIC, .name = name_static, .layouts = layouts, .default_length = DEFAULT_TOKENS,
                                    .library = AOEI_LIBRARY_MODEL2VEC};
