/* SPDX-License-Identifier: MIT
 * DeBERTa-v2 and DeBERTa-v3 (He et al. 2021; modeling_deberta_v2.py of the library transformers). They differ from BERT
 * in these points:
 * - Attention scores depend on the distance between query and key (nn/disentangled.h). The query and key layers of
 *   every layer compute the queries and keys of the distances from one table of embeddings.
 * - Most models have neither a position table nor token types.
 * - Tensors have other names.
 */
#include "encoder/arch.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "deberta.", NULL};

#define MIN_BUCKETS   4 /* with fewer buckets, the logarithmic mapping is not defined */
#define MAX_DISTANCES ((size_t)1 << 20)

static void defaults_deberta(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->token_types = 0;
    c->norm_eps = 1e-7;
    c->no_position_table = 1;
    c->relative =
        (aoei_relative_config){.span = 256, .buckets = 256, .max_distance = 512, .keys = 1, .queries = 1, .norm = 1};
}

/* Returns 1 if the value of a key, a list of names or a string of names separated by "|", contains `name`. */
static int has_name(const json_t *config, const char *key, const char *name) {
    const json_t *v = json_object_get(config, key);
    const char *at = json_string_value(v);
    const size_t len = strlen(name);
    for (size_t i = 0; i < json_array_size(v); i++) {
        const char *element = json_string_value(json_array_get(v, i));
        if (element && !strcmp(element, name))
            return 1;
    }
    while (at && *at) {
        at += strspn(at, " |");
        const size_t n = strcspn(at, " |");
        if (n == len && !strncmp(at, name, len))
            return 1;
        at += n;
    }
    return 0;
}

/* Reads an integer that may be -1, which means that the option is off, and then sets *out to 0. */
static int read_optional(const json_t *config, const char *key, size_t *out, const char *file, aoe_error *err) {
    const json_t *v = json_object_get(config, key);
    if (json_is_integer(v) && json_integer_value(v) < 0) {
        *out = 0;
        return 0;
    }
    return aoei_json_size(config, key, out, file, err);
}

/* Rejects the variants that are not supported. Missing keys have the values that transformers uses. */
static int check_variants(const aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t conv = 0, embedding = c->hidden;
    int relative = 0, shared = 0, rc;
    if ((rc = aoei_json_bool(config, "relative_attention", &relative, file, err)) ||
        (rc = aoei_json_bool(config, "share_att_key", &shared, file, err)) ||
        (rc = read_optional(config, "conv_kernel_size", &conv, file, err)) ||
        (rc = aoei_json_size(config, "embedding_size", &embedding, file, err)))
        return rc;
    if (!relative || !shared)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s is not true; other values are not supported", file,
                         relative ? "share_att_key" : "relative_attention");
    if (conv)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: conv_kernel_size %zu is not supported (supported: 0)", file, conv);
    if (embedding != c->hidden)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: embedding_size %zu is not supported (supported: hidden_size, %zu)",
                         file, embedding, c->hidden);
    return 0;
}

/* Reads the relative positions. */
static int read_relative(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    aoei_relative_config *r = &c->relative;
    const char *norm = NULL;
    int rc;
    r->buckets = r->max_distance = 0;
    if ((rc = read_optional(config, "position_buckets", &r->buckets, file, err)) ||
        (rc = read_optional(config, "max_relative_positions", &r->max_distance, file, err)))
        return rc;
    r->max_distance = r->max_distance ? r->max_distance : c->positions;
    r->span = r->buckets ? r->buckets : r->max_distance;
    r->keys = has_name(config, "pos_att_type", "c2p");
    r->queries = has_name(config, "pos_att_type", "p2c");
    r->norm = has_name(config, "norm_rel_ebd", "layer_norm");
    if ((rc = aoei_json_string(config, "norm_rel_ebd", &norm, NULL, file, err)) ||
        (rc = aoei_check_size("max_relative_positions", r->max_distance, 1, MAX_DISTANCES, file, err)) ||
        (rc = aoei_check_size("position_buckets", r->buckets, 0, MAX_DISTANCES, file, err)))
        return rc;
    if (r->buckets && (r->buckets < MIN_BUCKETS || r->max_distance <= r->buckets / 2 + 1))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: \"position_buckets\" is %zu and the maximum distance is %zu; position_buckets must be at least "
            "%d, and the maximum distance must be greater than position_buckets / 2 + 1",
            file, r->buckets, r->max_distance, MIN_BUCKETS);
    if (!r->keys && !r->queries)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: pos_att_type contains neither \"c2p\" nor \"p2c\"; one is needed",
                         file);
    return 0;
}

/* Sets the factor of the scores, 1 / sqrt(d n), where n is the number of products in a score. */
static void set_scale(aoei_encoder_config *c) {
    const int n = 1 + c->relative.keys + c->relative.queries;
    if (c->heads)
        c->attention_scale = 1 / sqrt((double)aoei_head_dim(c) * n);
}

static int read_deberta(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int biased = 1, rc;
    if ((rc = aoei_bert_read_sizes(c, config, file, err)) ||
        (rc = aoei_key_head_dim(c, config, "attention_head_size", file, err)) ||
        (rc = aoei_json_bool(config, "position_biased_input", &biased, file, err)) ||
        (rc = check_variants(c, config, file, err)) || (rc = read_relative(c, config, file, err)))
        return rc;
    c->no_position_table = !biased;
    set_scale(c);
    return 0;
}

static void set_shape_deberta(aoei_encoder_config *c, const aoe_shape *s) {
    aoei_transformer_set_shape(c, s);
    set_scale(c);
}

static json_t *distances_json(size_t n) {
    return json_integer(n ? (json_int_t)n : -1);
}

static int write_deberta(const aoei_encoder_config *c, json_t *config) {
    const aoei_relative_config *r = &c->relative;
    const int code = aoei_bert_write(c, config);
    if (code)
        return code;
    json_object_del(config, "position_embedding_type");
    return aoei_keys_add(config, json_pack("{s:b, s:b, s:b, s:o, s:I, s:s, s:s, s:I}", "relative_attention", 1,
                                           "share_att_key", 1, "position_biased_input", !c->no_position_table,
                                           "position_buckets", distances_json(r->buckets), "max_relative_positions",
                                           (json_int_t)r->max_distance, "pos_att_type",
                                           r->keys && r->queries ? "p2c|c2p"
                                           : r->keys             ? "c2p"
                                                                 : "p2c",
                                           "norm_rel_ebd", r->norm ? "layer_norm" : "none", "attention_head_size",
                                           (json_int_t)aoei_head_dim(c)));
}

static const char *const relative_names[] = {"encoder.rel_embeddings.weight", "encoder.LayerNorm.weight",
                                             "encoder.LayerNorm.bias"};

static const char *const linear_names[] = {
    [AOEI_LW_Q] = "attention.self.query_proj.weight", [AOEI_LW_Q_BIAS] = "attention.self.query_proj.bias",
    [AOEI_LW_K] = "attention.self.key_proj.weight",   [AOEI_LW_K_BIAS] = "attention.self.key_proj.bias",
    [AOEI_LW_V] = "attention.self.value_proj.weight", [AOEI_LW_V_BIAS] = "attention.self.value_proj.bias",
};

static void name_deberta(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER && kind <= AOEI_LW_V_BIAS)
        aoei_slot_name(out, size, "encoder.layer.", layer, linear_names[kind]);
    else if (group == AOEI_GROUP_OUTER && kind >= AOEI_W_RELATIVE && kind <= AOEI_W_RELATIVE_NORM_BIAS)
        aoei_slot_name(out, size, NULL, 0, relative_names[kind - AOEI_W_RELATIVE]);
    else
        aoei_bert_name(out, size, group, kind, layer);
}

static const aoei_classification_head head = {
    .class_name = "DebertaV2ForSequenceClassification",
    .prefix = "deberta.",
    .pooling = AOE_POOLING_CLS,
    .n = 4,
    .module = {{.kind = AOEI_MODULE_DROPOUT, .dropout_key = "pooler_dropout"},
               {.kind = AOEI_MODULE_DENSE,
                .name = "pooler.dense",
                .activation = AOEI_DENSE_GELU,
                .activation_key = "pooler_hidden_act"},
               {.kind = AOEI_MODULE_DROPOUT, .dropout_key = "cls_dropout", .dropout = -1},
               {.kind = AOEI_MODULE_DENSE, .name = "classifier"}}};

const aoei_arch aoei_arch_deberta = {
    .model_type = "deberta-v2",
    .class_name = "DebertaV2Model",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_deberta,
    .read = read_deberta,
    .check = aoei_transformer_check,
    .write = write_deberta,
    .set_shape = set_shape_deberta,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_deberta,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
