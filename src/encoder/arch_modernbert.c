/* SPDX-License-Identifier: MIT
 * ModernBERT (Warner et al. 2024; modeling_modernbert.py of the library transformers). It differs from BERT in these
 * points:
 * - Norms precede attention and feed-forward, and a norm follows the last layer. No norm precedes the attention of
 *   layer 0.
 * - Linear layers and norms have no biases by default.
 * - Positions are rotary, and the feed-forward is gated.
 * - Two of three layers have a sliding window, and their rotary positions have another base.
 * - The weights of query, key and value are one fused tensor, and so are the weights of gate and up.
 */
#include "encoder/arch.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/arch_llama.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "model.", NULL};

#define LOCAL_ATTENTION 128 /* default of local_attention */
#define EVERY_N         3   /* default of global_attn_every_n_layers: every third layer has no window */

static void defaults_modernbert(aoei_encoder_config *c) {
    memset(c, 0, sizeof *c);
    c->positions = 8192;
    c->rope.theta = 160000;
    c->rope_local.theta = 10000;
    c->pre_norm = c->gated = c->no_first_norm = c->no_norm_bias = 1;
    c->no_qkv_bias = c->no_output_bias = c->no_ffn_bias = c->no_transform_bias = 1;
    c->activation = c->mlm_activation = AOEI_GELU;
    c->norm_eps = 1e-5;
    c->window = LOCAL_ATTENTION / 2 + 1;
}

/* Gives windows to all layers whose index is not a multiple of n. */
static void set_windows(aoei_encoder_config *c, size_t n) {
    memset(&c->windowed, 0, sizeof c->windowed);
    for (size_t l = 0; l < c->layers && l < AOEI_MAX_LAYERS; l++)
        if (l % n)
            aoei_layer_set_add(&c->windowed, l);
}

static void set_shape_modernbert(aoei_encoder_config *c, const aoe_shape *s) {
    aoei_transformer_set_shape(c, s);
    set_windows(c, EVERY_N);
}

/* Reads the sliding windows. A token attends to tokens at a distance of up to half of local_attention. */
static int read_windows(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t width = LOCAL_ATTENTION, n = EVERY_N;
    const json_t *every = json_object_get(config, "global_attn_every_n_layers"),
                 *types = json_object_get(config, "layer_types");
    int rc;
    if ((rc = aoei_json_size(config, "local_attention", &width, file, err)) ||
        (rc = aoei_json_size(config, "global_attn_every_n_layers", &n, file, err)))
        return rc;
    if (!n)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"global_attn_every_n_layers\" is 0; it must be at least 1", file);
    c->window = width / 2 + 1;
    set_windows(c, n);
    const aoei_layer_set regular = c->windowed;
    if ((rc = aoei_llama_read_layer_types(c, config, file, err)) || (rc = aoei_llama_check_windows(c, file, err)))
        return rc;
    if (every && !json_is_null(every) && types && !json_is_null(types) &&
        memcmp(&regular, &c->windowed, sizeof regular) != 0)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: layer_types contradicts global_attn_every_n_layers %zu; remove one of these keys", file,
                         n);
    return 0;
}

/* Reads the rotary positions. A null base means that rope_parameters contains it; if only the local base is null and
 * rope_parameters is missing, it is the global base. */
static int read_rope(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const json_t *global = json_object_get(config, "global_rope_theta"),
                 *local = json_object_get(config, "local_rope_theta");
    const json_t *nested = json_object_get(config, "rope_parameters");
    if (!nested || json_is_null(nested)) {
        if (json_is_null(global))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: \"global_rope_theta\" is null and rope_parameters is missing; add one of them", file);
        if (json_is_null(local)) {
            c->rope_local.theta = c->rope.theta;
            const int rc = aoei_json_double(config, "global_rope_theta", &c->rope_local.theta, file, err);
            if (rc)
                return rc;
        }
    }
    return aoei_llama_read_two_ropes(c, config, "global_rope_theta", "local_rope_theta", 1, file, err);
}

/* Reads the biases and the activations of the layers and of the masked-LM head. */
static int read_options(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int norm = 0, attention = 0, mlp = 0, head = 0, rc;
    aoei_encoder_config classifier = *c;
    classifier.activation = AOEI_GELU;
    if ((rc = aoei_json_bool(config, "norm_bias", &norm, file, err)) ||
        (rc = aoei_json_bool(config, "attention_bias", &attention, file, err)) ||
        (rc = aoei_json_bool(config, "mlp_bias", &mlp, file, err)) ||
        (rc = aoei_json_bool(config, "classifier_bias", &head, file, err)) ||
        (rc = aoei_key_activation_of(c, config, "hidden_activation", file, err)) ||
        (rc = aoei_key_activation_of(&classifier, config, "classifier_activation", file, err)))
        return rc;
    c->no_norm_bias = !norm;
    c->no_qkv_bias = c->no_output_bias = !attention;
    c->no_ffn_bias = !mlp;
    c->no_transform_bias = !head;
    c->mlm_activation = classifier.activation;
    return 0;
}

static int read_modernbert(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "num_hidden_layers", &c->layers, file, err)) ||
        (rc = aoei_json_need_size(config, "num_attention_heads", &c->heads, file, err)) ||
        (rc = aoei_json_need_size(config, "intermediate_size", &c->intermediate, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_size(config, "max_position_embeddings", &c->positions, file, err)) ||
        (rc = aoei_json_double(config, "norm_eps", &c->norm_eps, file, err)) ||
        (rc = aoei_key_dropout(config, "attention_dropout", &c->attention_dropout, file, err)) ||
        (rc = aoei_key_dropout(config, "embedding_dropout", &c->hidden_dropout, file, err)) ||
        (rc = read_options(c, config, file, err)) || (rc = read_windows(c, config, file, err)))
        return rc;
    return read_rope(c, config, file, err);
}

static int write_modernbert(const aoei_encoder_config *c, json_t *config) {
    const size_t width = c->window ? 2 * (c->window - 1) : LOCAL_ATTENTION;
    json_t *keys = json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:s, s:s, s:f, s:f, s:f, s:I, s:o}", "model_type",
        c->arch->model_type, "hidden_size", (json_int_t)c->hidden, "num_attention_heads", (json_int_t)c->heads,
        "intermediate_size", (json_int_t)c->intermediate, "num_hidden_layers", (json_int_t)c->layers, "vocab_size",
        (json_int_t)c->vocab, "max_position_embeddings", (json_int_t)c->positions, "norm_eps", c->norm_eps,
        "hidden_activation", aoei_activation_name(c->activation), "classifier_activation",
        aoei_activation_name(c->mlm_activation), "attention_dropout", c->attention_dropout, "embedding_dropout",
        c->hidden_dropout, "mlp_dropout", c->hidden_dropout, "local_attention", (json_int_t)width, "layer_types",
        aoei_llama_layer_types_json(c));
    int rc = aoei_keys_add(config, keys);
    if (!rc)
        rc = aoei_keys_add(config, json_pack("{s:b, s:b, s:b, s:b, s:f}", "norm_bias", !c->no_norm_bias,
                                             "attention_bias", !c->no_qkv_bias, "mlp_bias", !c->no_ffn_bias,
                                             "classifier_bias", !c->no_transform_bias, "initializer_range", 0.02));
    return rc ? rc : aoei_llama_write_two_ropes(c, config, "global_rope_theta", "local_rope_theta");
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "embeddings.tok_embeddings.weight", [AOEI_W_EMBED_NORM] = "embeddings.norm.weight",
    [AOEI_W_EMBED_NORM_BIAS] = "embeddings.norm.bias",  [AOEI_W_FINAL_NORM] = "final_norm.weight",
    [AOEI_W_FINAL_NORM_BIAS] = "final_norm.bias",
};

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "attn.Wqkv.weight",     [AOEI_LW_K] = "attn.Wqkv.weight",
    [AOEI_LW_V] = "attn.Wqkv.weight",     [AOEI_LW_Q_BIAS] = "attn.Wqkv.bias",
    [AOEI_LW_K_BIAS] = "attn.Wqkv.bias",  [AOEI_LW_V_BIAS] = "attn.Wqkv.bias",
    [AOEI_LW_O] = "attn.Wo.weight",       [AOEI_LW_O_BIAS] = "attn.Wo.bias",
    [AOEI_LW_NORM1] = "attn_norm.weight", [AOEI_LW_NORM1_BIAS] = "attn_norm.bias",
    [AOEI_LW_GATE] = "mlp.Wi.weight",     [AOEI_LW_GATE_BIAS] = "mlp.Wi.bias",
    [AOEI_LW_UP] = "mlp.Wi.weight",       [AOEI_LW_UP_BIAS] = "mlp.Wi.bias",
    [AOEI_LW_DOWN] = "mlp.Wo.weight",     [AOEI_LW_DOWN_BIAS] = "mlp.Wo.bias",
    [AOEI_LW_NORM2] = "mlp_norm.weight",  [AOEI_LW_NORM2_BIAS] = "mlp_norm.bias",
};

static const char *const head_names[AOEI_HW_COUNT] = {
    [AOEI_HW_TRANSFORM] = "head.dense.weight", [AOEI_HW_TRANSFORM_BIAS] = "head.dense.bias",
    [AOEI_HW_NORM] = "head.norm.weight",       [AOEI_HW_NORM_BIAS] = "head.norm.bias",
    [AOEI_HW_DECODER_BIAS] = "decoder.bias",
};

static void name_modernbert(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    const char *const *names = group == AOEI_GROUP_LAYER  ? layer_names
                               : group == AOEI_GROUP_HEAD ? head_names
                                                          : outer_names;
    aoei_slot_name(out, size, group == AOEI_GROUP_LAYER ? "layers." : NULL, layer, names[kind]);
}

static const aoei_fused fused[] = {{3, {AOEI_LW_Q, AOEI_LW_K, AOEI_LW_V}},
                                   {3, {AOEI_LW_Q_BIAS, AOEI_LW_K_BIAS, AOEI_LW_V_BIAS}},
                                   {2, {AOEI_LW_GATE, AOEI_LW_UP}},
                                   {2, {AOEI_LW_GATE_BIAS, AOEI_LW_UP_BIAS}},
                                   {0, {0}}};

static const aoei_classification_head head = {
    .class_name = "ModernBertForSequenceClassification",
    .prefix = "model.",
    .pooling = AOE_POOLING_CLS,
    .pooling_key = "classifier_pooling",
    .n = 4,
    .module = {{.kind = AOEI_MODULE_DENSE,
                .name = "head.dense",
                .activation = AOEI_DENSE_GELU,
                .activation_key = "classifier_activation",
                .no_bias = 1,
                .bias_key = "classifier_bias"},
               {.kind = AOEI_MODULE_LAYERNORM, .name = "head.norm"},
               {.kind = AOEI_MODULE_DROPOUT, .dropout_key = "classifier_dropout"},
               {.kind = AOEI_MODULE_DENSE, .name = "classifier"}}};

const aoei_arch aoei_arch_modernbert = {
    .model_type = "modernbert",
    .class_name = "ModernBertModel",
    .mlm_class_name = "ModernBertForMaskedLM",
    .mlm_prefix = "model.",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_modernbert,
    .read = read_modernbert,
    .check = aoei_transformer_check,
    .write = write_modernbert,
    .set_shape = set_shape_modernbert,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_modernbert,
    .fused = fused,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_AVG,
    .supports_adapters = 1,
};
