/* SPDX-License-Identifier: MIT
 * ALBERT (Lan et al. 2020). It differs from BERT in two points:
 * - The layers are divided into groups of consecutive layers. All layers of a group use the same weights; most models
 *   have one group. The gradient of a weight is the sum over the layers of its group.
 * - The embedding tables have embedding_size columns, and a linear layer follows the embedding.
 */
#include "encoder/arch.h"

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "albert.", NULL};

#define EMBEDDING_SIZE 128 /* default of embedding_size */

static void defaults_albert(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->embed_width = EMBEDDING_SIZE;
    c->layer_groups = 1;
    c->activation = AOEI_GELU_TANH;
    c->hidden_dropout = c->attention_dropout = 0;
}

static int read_albert(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t inner = 1;
    int rc;
    if ((rc = aoei_bert_read(c, config, file, err)) ||
        (rc = aoei_key_embedding_size(&c->embed_width, config, file, err)) ||
        (rc = aoei_json_size(config, "num_hidden_groups", &c->layer_groups, file, err)) ||
        (rc = aoei_json_size(config, "inner_group_num", &inner, file, err)))
        return rc;
    if (inner != 1)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: inner_group_num %zu is not supported (supported: 1)", file, inner);
    return aoei_check_size("num_hidden_groups", c->layer_groups, 1, c->layers, file, err);
}

static int write_albert(const aoei_encoder_config *c, json_t *config) {
    const int rc = aoei_bert_write(c, config);
    const int failed = aoei_keys_add(
        config, json_pack("{s:I, s:I, s:I}", "embedding_size", (json_int_t)aoei_embed_width(c), "num_hidden_groups",
                          (json_int_t)aoei_distinct_layers(c), "inner_group_num", (json_int_t)1));
    return rc ? rc : failed;
}

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "albert_layers.0.attention.query.weight",
    [AOEI_LW_Q_BIAS] = "albert_layers.0.attention.query.bias",
    [AOEI_LW_K] = "albert_layers.0.attention.key.weight",
    [AOEI_LW_K_BIAS] = "albert_layers.0.attention.key.bias",
    [AOEI_LW_V] = "albert_layers.0.attention.value.weight",
    [AOEI_LW_V_BIAS] = "albert_layers.0.attention.value.bias",
    [AOEI_LW_O] = "albert_layers.0.attention.dense.weight",
    [AOEI_LW_O_BIAS] = "albert_layers.0.attention.dense.bias",
    [AOEI_LW_NORM1] = "albert_layers.0.attention.LayerNorm.weight",
    [AOEI_LW_NORM1_BIAS] = "albert_layers.0.attention.LayerNorm.bias",
    [AOEI_LW_UP] = "albert_layers.0.ffn.weight",
    [AOEI_LW_UP_BIAS] = "albert_layers.0.ffn.bias",
    [AOEI_LW_DOWN] = "albert_layers.0.ffn_output.weight",
    [AOEI_LW_DOWN_BIAS] = "albert_layers.0.ffn_output.bias",
    [AOEI_LW_NORM2] = "albert_layers.0.full_layer_layer_norm.weight",
    [AOEI_LW_NORM2_BIAS] = "albert_layers.0.full_layer_layer_norm.bias",
};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "predictions.dense.weight", [AOEI_HW_TRANSFORM_BIAS] = "predictions.dense.bias",
    [AOEI_HW_NORM] = "predictions.LayerNorm.weight",  [AOEI_HW_NORM_BIAS] = "predictions.LayerNorm.bias",
    [AOEI_HW_DECODER_BIAS] = "predictions.bias",
};

/* Writes a tensor name. For weights of a layer, `layer` is the index of the group. */
static void name_albert(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER)
        aoei_slot_name(out, size, "encoder.albert_layer_groups.", layer, layer_names[kind]);
    else if (group == AOEI_GROUP_HEAD)
        aoei_slot_name(out, size, NULL, 0, head_names[kind]);
    else if (group == AOEI_GROUP_OUTER && kind == AOEI_W_EMBED_PROJECTION)
        aoei_slot_name(out, size, NULL, 0, "encoder.embedding_hidden_mapping_in.weight");
    else if (group == AOEI_GROUP_OUTER && kind == AOEI_W_EMBED_PROJECTION_BIAS)
        aoei_slot_name(out, size, NULL, 0, "encoder.embedding_hidden_mapping_in.bias");
    else
        aoei_bert_name(out, size, group, kind, layer);
}

static const aoei_classification_head head = {
    .class_name = "AlbertForSequenceClassification",
    .prefix = "albert.",
    .pooling = AOE_POOLING_CLS,
    .n = 3,
    .module = {{.kind = AOEI_MODULE_DENSE, .name = "pooler", .in_encoder = 1, .activation = AOEI_DENSE_TANH},
               {.kind = AOEI_MODULE_DROPOUT, .dropout_key = "classifier_dropout_prob", .dropout = 0.1},
               {.kind = AOEI_MODULE_DENSE, .name = "classifier"}}};

const aoei_arch aoei_arch_albert = {
    .model_type = "albert",
    .class_name = "AlbertModel",
    .mlm_class_name = "AlbertForMaskedLM",
    .mlm_prefix = "albert.",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_albert,
    .read = read_albert,
    .check = aoei_transformer_check,
    .write = write_albert,
    .set_shape = aoei_transformer_set_shape,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_albert,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
