/* SPDX-License-Identifier: MIT
 * JinaBERT (Günther et al. 2023), the architecture of jina-embeddings-v2. Its config.json has the model type "bert" and is
 * recognized by other keys. It differs from BERT in these points:
 * - It has linear biases of attention scores (ALiBi) instead of position embeddings.
 * - The feed-forward is gated by GELU. Its up layer and its gate are one fused tensor without a bias.
 * In training, the published implementation applies dropout to the input of the down layer; aoe applies dropout to its output.
 */
#include "encoder/arch_jina_bert.h"

#include <string.h>

#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "bert.", NULL};

/* Returns 1 if the value of _name_or_path or of AutoConfig in auto_map contains `text`. */
static int origin_contains(const json_t *config, const char *text) {
    const char *path = json_string_value(json_object_get(config, "_name_or_path"));
    const char *code = json_string_value(json_object_get(json_object_get(config, "auto_map"), "AutoConfig"));
    return (path && strstr(path, text)) || (code && strstr(code, text));
}

static int recognizes_jina(const json_t *config) {
    const char *positions = json_string_value(json_object_get(config, "position_embedding_type"));
    return origin_contains(config, "jinaai/jina-bert") || json_object_get(config, "feed_forward_type") ||
           (positions && !strcmp(positions, "alibi"));
}

static void defaults_jina(aoei_encoder_config *c) {
    aoei_bert_defaults(c);
    c->gated = c->no_up_bias = c->alibi = 1;
    c->attention_dropout = 0;
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

static int write_jina(const aoei_encoder_config *c, json_t *config) {
    static const char config_class[] = "jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig",
                      model_class[] = "jinaai/jina-bert-implementation--modeling_bert.JinaBertModel";
    const int had_code = json_object_get(config, "auto_map") != NULL;
    int rc = aoei_bert_write(c, config);
    if (!rc)
        rc = aoei_keys_add(config, json_pack("{s:s, s:s, s:s}", "model_type", "bert", "position_embedding_type", "alibi",
                                             "feed_forward_type", "geglu"));
    if (!rc && !had_code)
        rc = aoei_keys_add(config,
                           json_pack("{s:{s:s, s:s}}", "auto_map", "AutoConfig", config_class, "AutoModel", model_class));
    return rc;
}

static const char *layer_name(size_t kind) {
    switch (kind) {
    case AOEI_LW_GATE:
    case AOEI_LW_UP:
        return "mlp.gated_layers.weight";
    case AOEI_LW_DOWN:
        return "mlp.wo.weight";
    case AOEI_LW_DOWN_BIAS:
        return "mlp.wo.bias";
    case AOEI_LW_NORM2:
        return "mlp.layernorm.weight";
    case AOEI_LW_NORM2_BIAS:
        return "mlp.layernorm.bias";
    default:
        return NULL;
    }
}

static void name_jina(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    const char *name = group == AOEI_GROUP_LAYER ? layer_name(kind) : NULL;
    if (name)
        aoei_slot_name(out, size, "encoder.layer.", layer, name);
    else
        aoei_bert_name(out, size, group, kind, layer);
}

static const aoei_fused fused[] = {{2, {AOEI_LW_GATE, AOEI_LW_UP}}, {0, {0}}};

const aoei_arch aoei_arch_jina_bert = {
    .model_type = "jina_bert",
    .recognizes = recognizes_jina,
    .class_name = "JinaBertModel",
    .mlm_class_name = "JinaBertForMaskedLM",
    .mlm_prefix = "bert.",
    .prefixes = prefixes,
    .defaults = defaults_jina,
    .read = read_jina,
    .check = aoei_transformer_check,
    .write = write_jina,
    .set_shape = aoei_transformer_set_shape,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_jina,
    .fused = fused,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TOKEN_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
