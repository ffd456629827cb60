/* SPDX-License-Identifier: MIT
 * LLaMA (Touvron et al. 2023), Mistral (Jiang et al. 2023) and Qwen2 (Yang et al. 2024). All three architectures have RMSNorm
 * before attention and feed-forward, rotary position embeddings, grouped-query attention, a gated feed-forward with SiLU, and
 * causal attention. They differ in biases, in the sliding window and in the defaults of config.json. The tensor lm_head.weight
 * of the language-model head is ignored. If config.json requests a variant that is not supported, the functions that read it
 * fail, and the message names the key.
 */
#include "encoder/arch_llama.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_keys.h"
#include "encoder/transformer.h"
#include "nn/rope.h"

static const char *const prefixes[] = {"", "model.", NULL};

/* The functions defaults_* set the values that are used for missing keys of config.json. They are the defaults of the
 * configuration classes (such as LlamaConfig) in the library transformers. */
static void defaults_llama(aoei_encoder_config *c) {
    memset(c, 0, sizeof *c);
    c->positions = 2048;
    c->rope.theta = 10000;
    c->norm = AOEI_RMSNORM;
    c->no_embed_norm = c->pre_norm = c->gated = c->causal = 1;
    c->no_qkv_bias = c->no_output_bias = c->no_ffn_bias = 1;
    c->bidirectional_from = AOEI_NO_LAYER;
    c->activation = AOEI_SILU;
    c->norm_eps = 1e-6;
}

static void defaults_mistral(aoei_encoder_config *c) {
    defaults_llama(c);
    c->positions = 131072;
}

static void defaults_qwen2(aoei_encoder_config *c) {
    defaults_llama(c);
    c->positions = 32768;
    c->no_qkv_bias = 0;
}

/* Reads the required number `key` of the object `scaling` (rope_scaling or rope_parameters) into *out. The number must be at
 * least `low`. */
static int need_factor(const json_t *scaling, const char *key, double *out, double low, const char *file, aoe_error *err) {
    double v = 0;
    const int rc = aoei_json_double(scaling, key, &v, file, err);
    *out = v;
    if (rc || v >= low)
        return rc;
    return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" in rope_scaling or rope_parameters is missing or %g; it must be at least %g",
                     file, key, v, low);
}

static int read_llama3(aoei_rope *r, const json_t *scaling, const char *file, aoe_error *err) {
    int rc;
    if ((rc = need_factor(scaling, "low_freq_factor", &r->low, 1e-6, file, err)) ||
        (rc = need_factor(scaling, "high_freq_factor", &r->high, 1e-6, file, err)) ||
        (rc = aoei_json_need_size(scaling, "original_max_position_embeddings", &r->positions, file, err)))
        return rc;
    if (r->high <= r->low || !r->positions)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: rope_type \"llama3\" requires high_freq_factor above low_freq_factor and "
                         "original_max_position_embeddings above 0; correct these keys",
                         file);
    return 0;
}

/* Reads the scaling of rotary positions from `scaling`, the object "rope_scaling" or "rope_parameters" of config.json. */
static int read_scaling(aoei_encoder_config *c, const json_t *scaling, const char *file, aoe_error *err) {
    static const struct {
        const char *name;
        aoei_rope_scaling scaling;
    } types[] = {{"default", AOEI_ROPE_PLAIN},
                 {"linear", AOEI_ROPE_LINEAR},
                 {"dynamic", AOEI_ROPE_DYNAMIC},
                 {"llama3", AOEI_ROPE_LLAMA3}};
    aoei_rope *r = &c->rope;
    const char *type = NULL;
    size_t i = 0;
    int rc;
    if ((rc = aoei_json_string(scaling, "type", &type, NULL, file, err)) ||
        (rc = aoei_json_string(scaling, "rope_type", &type, NULL, file, err)) ||
        (rc = aoei_json_double(scaling, "rope_theta", &r->theta, file, err)))
        return rc;
    if (!type)
        for (void *k = json_object_iter((json_t *)scaling); k; k = json_object_iter_next((json_t *)scaling, k))
            if (strcmp(json_object_iter_key(k), "rope_theta") != 0 &&
                strcmp(json_object_iter_key(k), "partial_rotary_factor") != 0)
                return aoei_fail(err, AOE_EUNSUPPORTED,
                                 "%s: rope_scaling or rope_parameters has \"%s\" but no \"rope_type\"; add \"rope_type\"", file,
                                 json_object_iter_key(k));
    while (type && i < sizeof types / sizeof *types && strcmp(types[i].name, type) != 0)
        i++;
    if (i == sizeof types / sizeof *types)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: rope_type \"%s\" is not supported (supported: default, linear, dynamic, llama3)", file, type);
    r->scaling = types[i].scaling;
    r->factor = r->low = r->high = 0;
    r->positions = 0;
    if (r->scaling == AOEI_ROPE_PLAIN)
        return 0;
    r->positions = c->positions;
    if ((rc = need_factor(scaling, "factor", &r->factor, 1, file, err)))
        return rc;
    return r->scaling == AOEI_ROPE_LLAMA3
               ? read_llama3(r, scaling, file, err)
               : aoei_json_size(scaling, "original_max_position_embeddings", &r->positions, file, err);
}

int aoei_llama_read_rope(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    double partial = 1;
    int rc = aoei_json_double(config, "rope_theta", &c->rope.theta, file, err);
    for (size_t i = 0; i < 2 && !rc; i++) {
        const json_t *scaling = json_object_get(config, keys[i]);
        if (!scaling || json_is_null(scaling))
            continue;
        if (!json_is_object(scaling))
            return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not an object; correct the value", file, keys[i]);
        if (!(rc = read_scaling(c, scaling, file, err)))
            rc = aoei_json_double(scaling, "partial_rotary_factor", &partial, file, err);
    }
    if (!rc)
        rc = aoei_json_double(config, "partial_rotary_factor", &partial, file, err);
    if (!rc && partial != 1)
        rc = aoei_fail(err, AOE_EUNSUPPORTED, "%s: partial_rotary_factor %g is not supported (supported: 1)", file, partial);
    if (!rc && !(c->rope.theta >= 1))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: \"rope_theta\" is %g; it must be at least 1", file, c->rope.theta);
    if (!rc && c->rope.scaling == AOEI_ROPE_DYNAMIC && !c->rope.positions)
        rc = aoei_fail(err, AOE_EFORMAT, "%s: \"original_max_position_embeddings\" is 0; it must be at least 1", file);
    return rc;
}

/* Reads layer_types, which files of newer versions of transformers contain. It lists the layers that have a sliding window. All
 * layers without a window must precede the layers with a window. */
static int read_layer_types(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const json_t *types = json_object_get(config, "layer_types");
    size_t sliding = 0;
    if (!types || json_is_null(types))
        return 0;
    if (json_array_size(types) != c->layers)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"layer_types\" is not a list of %zu names, one per layer; correct the list",
                         file, c->layers);
    for (size_t i = 0; i < c->layers; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        const int window = type && !strcmp(type, "sliding_attention");
        if (!window && (sliding || !type || strcmp(type, "full_attention") != 0))
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: layer_types \"%s\" of layer %zu is not supported; use full_attention for the first layers and "
                "sliding_attention for all later layers",
                file, type ? type : "", i);
        sliding += (size_t)window;
    }
    c->window_from = c->layers - sliding;
    if (!sliding)
        c->window = c->window_from = 0;
    if (sliding && !c->window)
        return aoei_fail(err, AOE_EFORMAT, "%s: layer_types has sliding_attention, but sliding_window is missing; add it",
                         file);
    return 0;
}

/* Reads the optional keys num_key_value_heads and head_dim. */
static int read_heads(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const size_t even = c->heads && c->hidden % c->heads == 0 ? c->hidden / c->heads : 0;
    size_t kv = c->kv_heads && !json_is_null(json_object_get(config, "num_key_value_heads")) ? c->kv_heads : c->heads,
           dim = even;
    int rc;
    if ((rc = aoei_json_size(config, "num_key_value_heads", &kv, file, err)) ||
        (rc = aoei_json_size(config, "head_dim", &dim, file, err)))
        return rc;
    if (c->heads && !kv)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"num_key_value_heads\" is 0; it must be at least 1", file);
    if (even && !dim)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"head_dim\" is 0; it must be at least 1", file);
    c->kv_heads = kv != c->heads ? kv : 0;
    c->head_dim = dim != even ? dim : 0;
    return 0;
}

/* Reads the keys that LLaMA, Mistral and Qwen2 have in common. */
static int read_common(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    if ((rc = aoei_key_activation(c, config, file, err)) ||
        (rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "num_hidden_layers", &c->layers, file, err)) ||
        (rc = aoei_json_need_size(config, "num_attention_heads", &c->heads, file, err)) ||
        (rc = read_heads(c, config, file, err)) ||
        (rc = aoei_json_need_size(config, "intermediate_size", &c->intermediate, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_size(config, "max_position_embeddings", &c->positions, file, err)) ||
        (rc = aoei_json_double(config, "rms_norm_eps", &c->norm_eps, file, err)) ||
        (rc = aoei_json_double(config, "attention_dropout", &c->attention_dropout, file, err)))
        return rc;
    return aoei_llama_read_rope(c, config, file, err);
}

static int read_llama(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int attention = 0, mlp = 0, rc;
    if ((rc = read_common(c, config, file, err)) || (rc = aoei_json_bool(config, "attention_bias", &attention, file, err)) ||
        (rc = aoei_json_bool(config, "mlp_bias", &mlp, file, err)))
        return rc;
    c->no_qkv_bias = c->no_output_bias = !attention;
    c->no_ffn_bias = !mlp;
    return 0;
}

/* Reads the keys of Mistral. If sliding_window is missing, the window is 4096, as in MistralConfig of transformers. If it is
 * null, there is no window. */
static int read_mistral(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    c->kv_heads = 8;
    c->window = json_is_null(json_object_get(config, "sliding_window")) ? 0 : 4096;
    int rc;
    if ((rc = read_common(c, config, file, err)) || (rc = aoei_json_size(config, "sliding_window", &c->window, file, err)))
        return rc;
    return read_layer_types(c, config, file, err);
}

static int read_qwen2(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int use = 0, rc;
    size_t window = json_is_null(json_object_get(config, "sliding_window")) ? 0 : 4096;
    c->kv_heads = 32;
    c->window_from = 28;
    if ((rc = read_common(c, config, file, err)) || (rc = aoei_json_bool(config, "use_sliding_window", &use, file, err)) ||
        (rc = aoei_json_size(config, "sliding_window", &window, file, err)) ||
        (rc = aoei_json_size(config, "max_window_layers", &c->window_from, file, err)))
        return rc;
    c->window = use ? window : 0;
    c->window_from = c->window ? c->window_from : 0;
    return use ? read_layer_types(c, config, file, err) : 0;
}

json_t *aoei_llama_scaling_json(const aoei_rope *r) {
    if (r->scaling == AOEI_ROPE_LINEAR || r->scaling == AOEI_ROPE_DYNAMIC)
        return json_pack("{s:s, s:f, s:I}", "rope_type", r->scaling == AOEI_ROPE_LINEAR ? "linear" : "dynamic", "factor",
                         r->factor, "original_max_position_embeddings", (json_int_t)r->positions);
    if (r->scaling == AOEI_ROPE_LLAMA3)
        return json_pack("{s:s, s:f, s:f, s:f, s:I}", "rope_type", "llama3", "factor", r->factor, "low_freq_factor", r->low,
                         "high_freq_factor", r->high, "original_max_position_embeddings", (json_int_t)r->positions);
    return json_null();
}

static int write_common(const aoei_encoder_config *c, json_t *config) {
    json_t *keys = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:s, s:f, s:f, s:b}", "model_type", c->arch->model_type,
        "hidden_size", (json_int_t)c->hidden, "num_attention_heads", (json_int_t)c->heads, "num_key_value_heads",
        (json_int_t)aoei_kv_heads(c), "head_dim", (json_int_t)aoei_head_dim(c), "intermediate_size",
        (json_int_t)c->intermediate, "num_hidden_layers", (json_int_t)c->layers, "vocab_size", (json_int_t)c->vocab,
        "max_position_embeddings", (json_int_t)c->positions, "rms_norm_eps", c->norm_eps, "rope_theta", c->rope.theta,
        "rope_scaling", aoei_llama_scaling_json(&c->rope), "hidden_act", aoei_activation_name(c->activation),
        "attention_dropout", c->attention_dropout, "initializer_range", 0.02, "tie_word_embeddings", 1);
    return aoei_keys_add(config, keys);
}

static int write_llama(const aoei_encoder_config *c, json_t *config) {
    const int rc = write_common(c, config);
    return rc ? rc
              : aoei_keys_add(config, json_pack("{s:b, s:b}", "attention_bias", !c->no_qkv_bias, "mlp_bias", !c->no_ffn_bias));
}

/* Returns the list layer_types if the first layer with a window is not layer 0, otherwise JSON null. Returns NULL if memory
 * allocation fails. */
static json_t *layer_types_json(const aoei_encoder_config *c) {
    json_t *types = c->window_from ? json_array() : json_null();
    for (size_t l = 0; l < c->layers && types && c->window_from; l++)
        if (json_array_append_new(types, json_string(l < c->window_from ? "full_attention" : "sliding_attention"))) {
            json_decref(types);
            types = NULL;
        }
    return types;
}

static int write_mistral(const aoei_encoder_config *c, json_t *config) {
    const int rc = write_common(c, config);
    json_t *window = c->window ? json_integer((json_int_t)c->window) : json_null();
    const int failed =
        aoei_keys_add(config, json_pack("{s:o, s:o}", "sliding_window", window, "layer_types", layer_types_json(c)));
    return rc ? rc : failed;
}

static int write_qwen2(const aoei_encoder_config *c, json_t *config) {
    const int rc = write_common(c, config);
    return rc ? rc
              : aoei_keys_add(config, json_pack("{s:b, s:I, s:I}", "use_sliding_window", c->window > 0, "sliding_window",
                                                (json_int_t)c->window, "max_window_layers", (json_int_t)c->window_from));
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "embed_tokens.weight",
    [AOEI_W_FINAL_NORM] = "norm.weight",
};

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "self_attn.q_proj.weight",    [AOEI_LW_Q_BIAS] = "self_attn.q_proj.bias",
    [AOEI_LW_K] = "self_attn.k_proj.weight",    [AOEI_LW_K_BIAS] = "self_attn.k_proj.bias",
    [AOEI_LW_V] = "self_attn.v_proj.weight",    [AOEI_LW_V_BIAS] = "self_attn.v_proj.bias",
    [AOEI_LW_O] = "self_attn.o_proj.weight",    [AOEI_LW_O_BIAS] = "self_attn.o_proj.bias",
    [AOEI_LW_NORM1] = "input_layernorm.weight", [AOEI_LW_UP] = "mlp.up_proj.weight",
    [AOEI_LW_UP_BIAS] = "mlp.up_proj.bias",     [AOEI_LW_DOWN] = "mlp.down_proj.weight",
    [AOEI_LW_DOWN_BIAS] = "mlp.down_proj.bias", [AOEI_LW_NORM2] = "post_attention_layernorm.weight",
    [AOEI_LW_GATE] = "mlp.gate_proj.weight",    [AOEI_LW_GATE_BIAS] = "mlp.gate_proj.bias",
};

static void name_llama(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER)
        aoei_slot_name(out, size, "layers.", layer, layer_names[kind]);
    else
        aoei_slot_name(out, size, NULL, 0, group == AOEI_GROUP_OUTER ? outer_names[kind] : NULL);
}

/* Returns the maximum length of a text in tokens. If the rotary positions have linear or dynamic scaling, it is multiplied by
 * the factor of the scaling. */
static size_t max_length_llama(const aoei_encoder_config *c) {
    const aoei_rope *r = &c->rope;
    if (r->scaling != AOEI_ROPE_LINEAR && r->scaling != AOEI_ROPE_DYNAMIC)
        return c->positions;
    const double stretched = r->factor * (double)r->positions;
    return stretched > (double)c->positions && stretched < 1e9 ? (size_t)stretched : c->positions;
}

#define LLAMA                                                                                                                  \
    .prefixes = prefixes, .check = aoei_transformer_check, .set_shape = aoei_transformer_set_shape,                            \
    .print_sizes = aoei_transformer_print_sizes, .name = name_llama, .encoder = &aoei_transformer_ops,                         \
    .max_length = max_length_llama, .poolings = AOEI_TOKEN_POOLINGS, .default_pooling = AOE_POOLING_LAST_TOKEN,                \
    .supports_adapters = 1

const aoei_arch aoei_arch_llama = {.model_type = "llama",
                                   .class_name = "LlamaModel",
                                   .defaults = defaults_llama,
                                   .read = read_llama,
                                   .write = write_llama,
                                   LLAMA};
const aoei_arch aoei_arch_mistral = {.model_type = "mistral",
                                     .class_name = "MistralModel",
                                     .defaults = defaults_mistral,
                                     .read = read_mistral,
                                     .write = write_mistral,
                                     LLAMA};
const aoei_arch aoei_arch_qwen2 = {.model_type = "qwen2",
                                   .class_name = "Qwen2Model",
                                   .defaults = defaults_qwen2,
                                   .read = read_qwen2,
                                   .write = write_qwen2,
                                   LLAMA};
