/* SPDX-License-Identifier: MIT
 * JinaBERT (Günther et al. 2023), the architecture of jina-embeddings-v2. Its config.json has the model type "bert" and
 * is recognized by other keys. It differs from BERT in these points:
 * - It has linear biases of attention scores (ALiBi) instead of position embeddings.
 * - The feed-forward is gated by GELU. Its up layer and its gate are one fused tensor without a bias.
 * The model for code, jina-embeddings-v2-base-code, also has LayerNorm of the queries and of the keys, and a second
 * residual sum and norm after the attention. In training, the published implementation applies dropout to the input of
 * the down layer; aoe applies dropout to its output.
 */
#include "encoder/arch.h"

#include <string.h>

#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"

/* repositories of the published implementations */
#define PLAIN "jinaai/jina-bert-implementation"
#define CODE  "jinaai/jina-bert-v2-qk-post-norm"

static const char *const prefixes[] = {"", "bert.", NULL};

/* Returns 1 if the value of _name_or_path or of AutoConfig in auto_map contains `text`. */
static int origin_contains(const json_t *config, const char *text) {
    const char *path = json_string_value(json_object_get(config, "_name_or_path"));
    const char *code = json_string_value(json_object_get(json_object_get(config, "auto_map"), "AutoConfig"));
    return (path && strstr(path, text)) || (code && strstr(code, text));
}

static int recognizes_code(const json_t *config) {
    return origin_contains(config, CODE);
}

static int recognizes_jina(const json_t *config) {
    const char *positions = json_string_value(json_object_get(config, "position_embedding_type"));
    const char *feed_forward = json_string_value(json_object_get(config, "feed_forward_type"));
    return origin_contains(config, "jinaai/jina-bert") || (feed_forward && !strcmp(feed_forward, "geglu")) ||
           (positions && !strcmp(positions, "alibi"));
}

static void defaults_jina(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->gated = c->no_up_bias = c->alibi = 1;
    c->attention_dropout = 0;
}

static void defaults_code(aoei_encoder_config *c) {
    defaults_jina(c);
    c->qk_norm = AOEI_QK_LAYERNORM;
    c->second_norm = 1;
}

static int read_jina(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    static const char decoder[] = "only encoders are supported";
    int rc;
    c->attention_dropout = 0.1;
    if ((rc = aoei_key_must_have(config, "position_embedding_type", "alibi", file, err)) ||
        (rc = aoei_key_must_have(config, "feed_forward_type", "geglu", file, err)) ||
        (rc = aoei_key_reject_true(config, "is_decoder", decoder, file, err)) ||
        (rc = aoei_key_reject_true(config, "add_cross_attention", decoder, file, err)) ||
        (rc = aoei_bert_read_sizes(c, config, file, err)))
        return rc;
    c->activation = AOEI_GELU; /* the gate has exact GELU, whatever hidden_act is */
    return 0;
}

/* Adds the keys of config.json. If there is no auto_map, adds the classes `config_class` and `model_class`, with which
 * other programs load the published implementation. */
static int write_with(const aoei_encoder_config *c, json_t *config, const char *config_class, const char *model_class) {
    const int had_code = json_object_get(config, "auto_map") != NULL;
    int rc = aoei_bert_write(c, config);
    if (!rc)
        rc = aoei_keys_add(config, json_pack("{s:s, s:s, s:s}", "model_type", "bert", "position_embedding_type",
                                             "alibi", "feed_forward_type", "geglu"));
    if (!rc && !had_code)
        rc = aoei_keys_add(
            config, json_pack("{s:{s:s, s:s}}", "auto_map", "AutoConfig", config_class, "AutoModel", model_class));
    return rc;
}

static int write_jina(const aoei_encoder_config *c, json_t *config) {
    return write_with(c, config, PLAIN "--configuration_bert.JinaBertConfig", PLAIN "--modeling_bert.JinaBertModel");
}

static int write_code(const aoei_encoder_config *c, json_t *config) {
    return write_with(c, config, CODE "--configuration_bert.JinaBertConfig", CODE "--modeling_bert.JinaBertModel");
}

/* Names of weights whose names differ from those of BERT. */
static const char *const jina_names[AOEI_LW_COUNT] = {
    [AOEI_LW_GATE] = "mlp.gated_layers.weight", [AOEI_LW_UP] = "mlp.gated_layers.weight",
    [AOEI_LW_DOWN] = "mlp.wo.weight",           [AOEI_LW_DOWN_BIAS] = "mlp.wo.bias",
    [AOEI_LW_NORM2] = "mlp.layernorm.weight",   [AOEI_LW_NORM2_BIAS] = "mlp.layernorm.bias",
};

static const char *const code_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q_NORM] = "attention.self.layer_norm_q.weight",
    [AOEI_LW_Q_NORM_BIAS] = "attention.self.layer_norm_q.bias",
    [AOEI_LW_K_NORM] = "attention.self.layer_norm_k.weight",
    [AOEI_LW_K_NORM_BIAS] = "attention.self.layer_norm_k.bias",
    [AOEI_LW_NORM3] = "layer_norm_1.weight",
    [AOEI_LW_NORM3_BIAS] = "layer_norm_1.bias",
    [AOEI_LW_GATE] = "mlp.up_gated_layer.weight",
    [AOEI_LW_UP] = "mlp.up_gated_layer.weight",
    [AOEI_LW_DOWN] = "mlp.down_layer.weight",
    [AOEI_LW_DOWN_BIAS] = "mlp.down_layer.bias",
    [AOEI_LW_NORM2] = "layer_norm_2.weight",
    [AOEI_LW_NORM2_BIAS] = "layer_norm_2.bias",
};

static void name_with(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer,
                      const char *const *names) {
    if (group == AOEI_GROUP_LAYER && names[kind])
        aoei_slot_name(out, size, "encoder.layer.", layer, names[kind]);
    else
        aoei_bert_name(out, size, group, kind, layer);
}

static void name_jina(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    name_with(out, size, group, kind, layer, jina_names);
}

static void name_code(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    name_with(out, size, group, kind, layer, code_names);
}

static const aoei_fused gate_first[] = {{2, {AOEI_LW_GATE, AOEI_LW_UP}}, {0, {0}}};
static const aoei_fused up_first[] = {{2, {AOEI_LW_UP, AOEI_LW_GATE}}, {0, {0}}};

static const aoei_classification_head head_jina = {
    .class_name = "JinaBertForSequenceClassification", .prefix = "bert.", AOEI_BERT_HEAD_MODULES};

#define JINA                                                                                                           \
    .model_type = "jina_bert", .class_name = "JinaBertModel", .head = &head_jina,                                      \
    .mlm_class_name = "JinaBertForMaskedLM", .mlm_prefix = "bert.", .prefixes = prefixes, .read = read_jina,           \
    .check = aoei_transformer_check, .set_shape = aoei_transformer_set_shape,                                          \
    .print_sizes = aoei_transformer_print_sizes, .encoder = &aoei_transformer_ops, .max_length = aoei_bert_max_length, \
    .poolings = AOEI_TRANSFORMER_POOLINGS, .default_pooling = AOE_POOLING_LAST_AVG, .supports_adapters = 1

const aoei_arch aoei_arch_jina_bert = {JINA,
                                       .recognizes = recognizes_jina,
                                       .defaults = defaults_jina,
                                       .write = write_jina,
                                       .name = name_jina,
                                       .fused = gate_first};
const aoei_arch aoei_arch_jina_code = {JINA,
                                       .recognizes = recognizes_code,
                                       .defaults = defaults_code,
                                       .write = write_code,
                                       .name = name_code,
                                       .fused = up_first};
