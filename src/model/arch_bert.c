/* SPDX-License-Identifier: MIT
 * BERT (Devlin et al. 2019): its keys in config.json and its tensor names.
 * Learned absolute positions, token types, LayerNorm after each residual sum,
 * GELU in either form. What a configuration can ask for beyond that is refused by name.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "model/config.h"

static const char *const prefixes[] = {"", "bert.", NULL};

/* A string option that must have one value, or be missing when that is its default. */
static int need_value(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err) {
    const char *v = value;
    int rc = aoei_json_string(config, key, &v, NULL, file, err);
    if (rc || !strcmp(v, value))
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s \"%s\" is not supported (supported: %s)", file, key, v, value);
}

/* The names of the two forms of GELU in transformers' table (activations.py). */
static const struct {
    const char *name;
    aoei_activation activation;
} activations[] = {{"gelu", AOEI_GELU}, {"gelu_new", AOEI_GELU_TANH}, {"gelu_pytorch_tanh", AOEI_GELU_TANH}};

static int read_activation(aoei_activation *out, const json_t *config, const char *file, aoe_error *err) {
    const char *v = activations[0].name;
    const int rc = aoei_json_string(config, "hidden_act", &v, NULL, file, err);
    for (size_t i = 0; !rc && i < sizeof activations / sizeof *activations; i++)
        if (!strcmp(v, activations[i].name)) {
            *out = activations[i].activation;
            return 0;
        }
    return rc ? rc
              : aoei_fail(err, AOE_EUNSUPPORTED,
                          "%s: hidden_act \"%s\" is not supported (supported: gelu, gelu_new, gelu_pytorch_tanh)", file, v);
}

static int refuse_true(const json_t *config, const char *key, const char *file, aoe_error *err) {
    int v = 0, rc = aoei_json_bool(config, key, &v, file, err);
    if (rc || !v)
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s is true; only encoders without cross attention are supported", file, key);
}

static int read_bert(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    c->token_types = 2;
    c->norm_eps = 1e-12;
    c->hidden_dropout = c->attention_dropout = 0.1;
    if ((rc = read_activation(&c->activation, config, file, err)) ||
        (rc = need_value(config, "position_embedding_type", "absolute", file, err)) ||
        (rc = refuse_true(config, "is_decoder", file, err)) || (rc = refuse_true(config, "add_cross_attention", file, err)))
        return rc;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "num_hidden_layers", &c->layers, file, err)) ||
        (rc = aoei_json_need_size(config, "num_attention_heads", &c->heads, file, err)) ||
        (rc = aoei_json_need_size(config, "intermediate_size", &c->intermediate, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_need_size(config, "max_position_embeddings", &c->positions, file, err)) ||
        (rc = aoei_json_size(config, "type_vocab_size", &c->token_types, file, err)))
        return rc;
    if ((rc = aoei_json_double(config, "layer_norm_eps", &c->norm_eps, file, err)) ||
        (rc = aoei_json_double(config, "hidden_dropout_prob", &c->hidden_dropout, file, err)))
        return rc;
    return aoei_json_double(config, "attention_probs_dropout_prob", &c->attention_dropout, file, err);
}

static int write_bert(const aoei_encoder_config *c, json_t *config) {
    json_t *keys = json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:I, s:s, s:f, s:f, s:f, s:s}", "model_type",
                             "bert", "hidden_size", (json_int_t)c->hidden, "num_attention_heads", (json_int_t)c->heads,
                             "intermediate_size", (json_int_t)c->intermediate, "num_hidden_layers", (json_int_t)c->layers,
                             "vocab_size", (json_int_t)c->vocab, "max_position_embeddings", (json_int_t)c->positions,
                             "type_vocab_size", (json_int_t)c->token_types, "layer_norm_eps", c->norm_eps, "pad_token_id",
                             (json_int_t)0, "hidden_act", c->activation == AOEI_GELU_TANH ? "gelu_new" : "gelu",
                             "hidden_dropout_prob", c->hidden_dropout, "attention_probs_dropout_prob", c->attention_dropout,
                             "initializer_range", 0.02, "position_embedding_type", "absolute");
    int rc = keys ? json_object_update(config, keys) : -1;
    json_decref(keys);
    return rc ? AOE_ENOMEM : 0;
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "embeddings.word_embeddings.weight",
    [AOEI_W_POSITION] = "embeddings.position_embeddings.weight",
    [AOEI_W_TOKEN_TYPE] = "embeddings.token_type_embeddings.weight",
    [AOEI_W_EMBED_NORM] = "embeddings.LayerNorm.weight",
    [AOEI_W_EMBED_NORM_BIAS] = "embeddings.LayerNorm.bias",
};

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "attention.self.query.weight",
    [AOEI_LW_Q_BIAS] = "attention.self.query.bias",
    [AOEI_LW_K] = "attention.self.key.weight",
    [AOEI_LW_K_BIAS] = "attention.self.key.bias",
    [AOEI_LW_V] = "attention.self.value.weight",
    [AOEI_LW_V_BIAS] = "attention.self.value.bias",
    [AOEI_LW_O] = "attention.output.dense.weight",
    [AOEI_LW_O_BIAS] = "attention.output.dense.bias",
    [AOEI_LW_NORM1] = "attention.output.LayerNorm.weight",
    [AOEI_LW_NORM1_BIAS] = "attention.output.LayerNorm.bias",
    [AOEI_LW_UP] = "intermediate.dense.weight",
    [AOEI_LW_UP_BIAS] = "intermediate.dense.bias",
    [AOEI_LW_DOWN] = "output.dense.weight",
    [AOEI_LW_DOWN_BIAS] = "output.dense.bias",
    [AOEI_LW_NORM2] = "output.LayerNorm.weight",
    [AOEI_LW_NORM2_BIAS] = "output.LayerNorm.bias",
};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "cls.predictions.transform.dense.weight",
    [AOEI_HW_TRANSFORM_BIAS] = "cls.predictions.transform.dense.bias",
    [AOEI_HW_NORM] = "cls.predictions.transform.LayerNorm.weight",
    [AOEI_HW_NORM_BIAS] = "cls.predictions.transform.LayerNorm.bias",
    [AOEI_HW_DECODER_BIAS] = "cls.predictions.bias",
};

static void name_bert(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER)
        snprintf(out, size, "encoder.layer.%zu.%s", layer, layer_names[kind]);
    else
        snprintf(out, size, "%s", group == AOEI_GROUP_HEAD ? head_names[kind] : outer_names[kind]);
}

static size_t max_length_bert(const aoei_encoder_config *c) {
    return c->positions;
}

const aoei_arch aoei_arch_bert = {
    .model_type = "bert",
    .class_name = "BertModel",
    .mlm_class_name = "BertForMaskedLM",
    .mlm_prefix = "bert.",
    .prefixes = prefixes,
    .read = read_bert,
    .write = write_bert,
    .name = name_bert,
    .max_length = max_length_bert,
    .default_pooling = AOE_POOLING_CLS,
};
