/* SPDX-License-Identifier: MIT
 * GTE (Zhang et al. 2024, mGTE), the architecture of gte-base-en-v1.5, gte-multilingual-base and arctic-embed-m-v2.0.
 * It is BERT with rotary position embeddings and a gated feed-forward, in which only the down layer has a bias.
 * Published checkpoints have the model type "new" or "gte" and fused tensors. transformers 5 has the model type "gte"
 * and one tensor for each weight. The feed-forward of transformers also applies dropout to the input of the down layer
 * in training, which aoe does not.
 */
#include "encoder/arch.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/arch_llama.h"
#include "encoder/arch_nomic.h"
#include "encoder/transformer.h"

static const char *const prefixes_new[] = {"", "new.", NULL};
static const char *const prefixes_gte[] = {"", "gte.", "new.", NULL};

static void defaults_new(aoei_encoder_config *c) {
    c->token_types = 1;
    c->positions = 2048;
    c->rope.theta = 10000;
    c->gated = c->no_up_bias = 1;
    c->activation = AOEI_GELU;
    c->norm_eps = 1e-12;
    c->hidden_dropout = 0.1;
}

static void defaults_gte(aoei_encoder_config *c) {
    defaults_new(c);
    c->positions = 8192;
    c->rope.theta = 160000;
}

/* Returns the object rope_parameters or rope_scaling if its type is "ntk", otherwise NULL. */
static const json_t *find_ntk(const json_t *config) {
    static const char *const keys[] = {"rope_parameters", "rope_scaling"}, *const types[] = {"rope_type", "type"};
    for (size_t i = 0; i < 4; i++) {
        const json_t *scaling = json_object_get(config, keys[i / 2]);
        const char *type = json_string_value(json_object_get(scaling, types[i % 2]));
        if (type && !strcmp(type, "ntk"))
            return scaling;
    }
    return NULL;
}

/* Reads the rotary position embeddings. For the type "ntk" with factor f, published checkpoints multiply the frequency
 * of pair i by f^(-2/d) and use the base theta f, where d is the number of components per head. This is the linear
 * scaling by f^(2/d) of the base theta f. */
static int read_rope(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const json_t *ntk = find_ntk(config), *mixed = json_object_get(ntk, "mixed_b");
    double factor = 1;
    int rc;
    if (!ntk)
        return aoei_llama_read_rope(c, config, file, err);
    if ((rc = aoei_json_double(config, "rope_theta", &c->rope.theta, file, err)) ||
        (rc = aoei_json_double(ntk, "rope_theta", &c->rope.theta, file, err)) ||
        (rc = aoei_json_double(ntk, "factor", &factor, file, err)))
        return rc;
    if (mixed && !json_is_null(mixed))
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: \"mixed_b\" in rope_scaling is not supported", file);
    if (!(c->rope.theta >= 1) || !(factor >= 1) || !isfinite(c->rope.theta * factor))
        return aoei_fail(err, AOE_EFORMAT, "%s: rope_theta is %g and the \"ntk\" factor is %g; both must be at least 1",
                         file, c->rope.theta, factor);
    const size_t head_dim = c->heads ? c->hidden / c->heads : 0;
    if (factor > 1 && head_dim)
        c->rope = (aoei_rope){.theta = c->rope.theta * factor,
                              .scaling = AOEI_ROPE_LINEAR,
                              .factor = pow(factor, 2.0 / (double)head_dim),
                              .positions = c->positions};
    return 0;
}

static int read_gte(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    static const char logn[] = "scaling of attention scores by the length of the text is not supported";
    int rc;
    if ((rc = aoei_key_must_be(config, "position_embedding_type", "rope", file, err)) ||
        (rc = aoei_key_must_be(config, "layer_norm_type", "layer_norm", file, err)) ||
        (rc = aoei_key_reject_true(config, "logn_attention_scale", logn, file, err)) ||
        (rc = aoei_key_reject_true(config, "logn_attention_clip1", logn, file, err)) ||
        (rc = aoei_bert_read_sizes(c, config, file, err)))
        return rc;
    return read_rope(c, config, file, err);
}

static int write_gte(const aoei_encoder_config *c, json_t *config) {
    const int rc = aoei_bert_write(c, config);
    const int failed = aoei_keys_add(
        config, json_pack("{s:s, s:f, s:o, s:b}", "position_embedding_type", "rope", "rope_theta", c->rope.theta,
                          "rope_scaling", aoei_llama_scaling_json(&c->rope), "pack_qkv", c->arch->fused != NULL));
    return rc ? rc : failed;
}

/* Names of published checkpoints with fused tensors. */
static const char *const fused_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "attention.qkv_proj.weight",  [AOEI_LW_Q_BIAS] = "attention.qkv_proj.bias",
    [AOEI_LW_K] = "attention.qkv_proj.weight",  [AOEI_LW_K_BIAS] = "attention.qkv_proj.bias",
    [AOEI_LW_V] = "attention.qkv_proj.weight",  [AOEI_LW_V_BIAS] = "attention.qkv_proj.bias",
    [AOEI_LW_O] = "attention.o_proj.weight",    [AOEI_LW_O_BIAS] = "attention.o_proj.bias",
    [AOEI_LW_NORM1] = "attn_ln.weight",         [AOEI_LW_NORM1_BIAS] = "attn_ln.bias",
    [AOEI_LW_UP] = "mlp.up_gate_proj.weight",   [AOEI_LW_DOWN] = "mlp.down_proj.weight",
    [AOEI_LW_DOWN_BIAS] = "mlp.down_proj.bias", [AOEI_LW_NORM2] = "mlp_ln.weight",
    [AOEI_LW_NORM2_BIAS] = "mlp_ln.bias",       [AOEI_LW_GATE] = "mlp.up_gate_proj.weight",
};

/* Names of query, key and value in published checkpoints in which pack_qkv is false. */
static const char *const split_names[] = {"attention.q_proj.weight", "attention.q_proj.bias",
                                          "attention.k_proj.weight", "attention.k_proj.bias",
                                          "attention.v_proj.weight", "attention.v_proj.bias"};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "lm_head.dense.weight",    [AOEI_HW_TRANSFORM_BIAS] = "lm_head.dense.bias",
    [AOEI_HW_NORM] = "lm_head.norm.weight",          [AOEI_HW_NORM_BIAS] = "lm_head.norm.bias",
    [AOEI_HW_DECODER_BIAS] = "lm_head.decoder.bias",
};

static void name_fused(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER)
        aoei_slot_name(out, size, "encoder.layer.", layer, fused_names[kind]);
    else if (group == AOEI_GROUP_HEAD)
        aoei_slot_name(out, size, NULL, 0, head_names[kind]);
    else
        aoei_nomic_name(out, size, group, kind, layer);
}

static void name_split(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER && kind <= AOEI_LW_V_BIAS)
        aoei_slot_name(out, size, "encoder.layer.", layer, split_names[kind]);
    else
        name_fused(out, size, group, kind, layer);
}

static void name_gte(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    const int norm = kind == AOEI_HW_NORM || kind == AOEI_HW_NORM_BIAS;
    if (group == AOEI_GROUP_HEAD)
        aoei_slot_name(out, size, NULL, 0,
                       !norm                  ? head_names[kind]
                       : kind == AOEI_HW_NORM ? "lm_head.layer_norm.weight"
                                              : "lm_head.layer_norm.bias");
    else
        aoei_nomic_name(out, size, group, kind, layer);
}

/* up_gate_proj contains the up layer and then the gate. */
static const aoei_fused fused[] = {{3, {AOEI_LW_Q, AOEI_LW_K, AOEI_LW_V}},
                                   {3, {AOEI_LW_Q_BIAS, AOEI_LW_K_BIAS, AOEI_LW_V_BIAS}},
                                   {2, {AOEI_LW_UP, AOEI_LW_GATE}},
                                   {0, {0}}};

static const aoei_classification_head head_new = {
    .class_name = "NewForSequenceClassification", .prefix = "new.", AOEI_BERT_HEAD_MODULES};
static const aoei_classification_head head_gte = {
    .class_name = "GteForSequenceClassification", .prefix = "gte.", AOEI_BERT_HEAD_MODULES};

#define COMMON                                                                                                         \
    .read = read_gte, .check = aoei_transformer_check, .write = write_gte, .set_shape = aoei_transformer_set_shape,    \
    .print_sizes = aoei_transformer_print_sizes, .encoder = &aoei_transformer_ops, .max_length = aoei_bert_max_length, \
    .poolings = AOEI_TRANSFORMER_POOLINGS, .default_pooling = AOE_POOLING_CLS, .supports_adapters = 1
#define NEW                                                                                                            \
    .model_type = "new", .class_name = "NewModel", .head = &head_new, .mlm_class_name = "NewForMaskedLM",              \
    .mlm_prefix = "new.", .prefixes = prefixes_new, .defaults = defaults_new, COMMON
#define GTE                                                                                                            \
    .model_type = "gte", .class_name = "GteModel", .head = &head_gte, .mlm_class_name = "GteForMaskedLM",              \
    .mlm_prefix = "gte.", .prefixes = prefixes_gte, .defaults = defaults_gte, COMMON

static const aoei_arch new_split = {NEW, .name = name_split, .fused = fused + 2};
static const aoei_arch *const layouts_new[] = {&aoei_arch_new, &new_split, NULL};
const aoei_arch aoei_arch_new = {NEW, .name = name_fused, .fused = fused, .layouts = layouts_new};

static const aoei_arch gte_fused = {GTE, .name = name_fused, .fused = fused};
static const aoei_arch gte_split = {GTE, .name = name_split, .fused = fused + 2};
static const aoei_arch *const layouts_gte[] = {&aoei_arch_gte, &gte_fused, &gte_split, NULL};
const aoei_arch aoei_arch_gte = {GTE, .name = name_gte, .layouts = layouts_gte};
