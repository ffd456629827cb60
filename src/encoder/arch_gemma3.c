/* SPDX-License-Identifier: MIT
 * The text model of Gemma 3 (Gemma Team 2025; modeling_gemma3.py of the library transformers), the architecture of
 * EmbeddingGemma. It differs from LLaMA in these points:
 * - RMSNorm multiplies by 1 + weight. Norms also follow attention and feed-forward, and the heads of queries and keys.
 * - Word embeddings are multiplied by sqrt(D), and attention scores by query_pre_attn_scalar^(-1/2).
 * - Five of six layers have a sliding window, and their rotary positions have another base.
 * - Attention is causal, or bidirectional if use_bidirectional_attention is true. The value of sliding_window is then
 *   the width of the window in both directions together.
 */
#include "encoder/arch.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/arch_llama.h"
#include "encoder/transformer.h"

static const char *const prefixes[] = {"", "model.", NULL};

#define HEAD_DIM 256  /* default of head_dim and of query_pre_attn_scalar */
#define WINDOW   4096 /* default of sliding_window */
#define MAX_WINDOW                                                                                                     \
    ((size_t)1 << 30) /* maximum of sliding_window; more than two times the maximum number of positions */
#define PATTERN 6     /* default of sliding_window_pattern: every sixth layer has no window */

static void defaults_gemma3(aoei_encoder_config *c) {
    aoei_llama_defaults(c);
    c->positions = 131072;
    c->rope.theta = 1e6;
    c->rope_local.theta = 1e4;
    c->qk_norm = c->branch_norms = c->norm_plus_one = 1;
    c->activation = AOEI_GELU_TANH;
    c->attention_scale = 1 / sqrt(HEAD_DIM);
    c->window = WINDOW;
}

/* Gives windows to all layers except every pattern-th layer. */
static void set_windows(aoei_encoder_config *c, size_t pattern) {
    memset(&c->windowed, 0, sizeof c->windowed);
    for (size_t l = 0; l < c->layers && l < AOEI_MAX_LAYERS; l++)
        if ((l + 1) % pattern)
            aoei_layer_set_add(&c->windowed, l);
}

static void set_shape_gemma3(aoei_encoder_config *c, const aoe_shape *s) {
    aoei_transformer_set_shape(c, s);
    c->embed_scale = sqrt((double)c->hidden);
    set_windows(c, PATTERN);
}

/* Reads the direction of attention and the sliding windows. In bidirectional models, a token attends to tokens at a
 * distance of up to half of sliding_window. */
static int read_windows(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    size_t pattern = PATTERN;
    int both = 0, causal = 1, rc;
    if ((rc = aoei_json_bool(config, "use_bidirectional_attention", &both, file, err)) ||
        (rc = aoei_json_bool(config, "is_causal", &causal, file, err)) ||
        (rc = aoei_json_size(config, "_sliding_window_pattern", &pattern, file, err)) ||
        (rc = aoei_json_size(config, "sliding_window_pattern", &pattern, file, err)))
        return rc;
    if (!pattern)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"sliding_window_pattern\" is 0; it must be at least 1", file);
    if ((rc = aoei_json_size(config, "sliding_window", &c->window, file, err)) ||
        (rc = aoei_check_size("sliding_window", c->window, 1, MAX_WINDOW, file, err)))
        return rc;
    if (json_is_null(json_object_get(config, "sliding_window")))
        c->window = 0;
    set_windows(c, pattern);
    if ((rc = aoei_llama_read_layer_types(c, config, file, err)) || (rc = aoei_llama_check_windows(c, file, err)) ||
        (rc = aoei_llama_check_causal(c, config, file, err)))
        return rc;
    if (!both && causal)
        return 0;
    c->window = !c->window ? 0 : (both ? c->window / 2 + 1 : c->window) + !causal;
    /* Such a window includes all positions. It is limited, so that write_gemma3 never exceeds the maximum of
     * sliding_window. */
    if (c->window > MAX_WINDOW / 2 + 1)
        c->window = MAX_WINDOW / 2 + 1;
    c->causal = 0;
    c->bidirectional_from = 0;
    c->pooling = AOE_POOLING_LAST_AVG;
    return 0;
}

/* Reads query_pre_attn_scalar, and rejects attn_logit_softcapping. */
static int read_scores(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    double scalar = HEAD_DIM, cap = 0;
    int rc;
    if ((rc = aoei_json_double(config, "query_pre_attn_scalar", &scalar, file, err)) ||
        (rc = aoei_json_double(config, "attn_logit_softcapping", &cap, file, err)))
        return rc;
    if (!(scalar > 0))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"query_pre_attn_scalar\" is %g; it must be above 0", file, scalar);
    if (json_is_number(json_object_get(config, "attn_logit_softcapping")))
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: attn_logit_softcapping %g is not supported (supported: null)",
                         file, cap);
    c->attention_scale = 1 / sqrt(scalar);
    return 0;
}

static int read_gemma3(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int attention = 0, rc;
    c->kv_heads = 4;
    if ((rc = aoei_key_activation_of(c, config, "hidden_activation", file, err)) ||
        (rc = aoei_llama_read_sizes(c, config, file, err)) || (rc = read_windows(c, config, file, err)) ||
        (rc = read_scores(c, config, file, err)) ||
        (rc = aoei_json_bool(config, "attention_bias", &attention, file, err)))
        return rc;
    aoei_llama_default_head_dim(c, config, HEAD_DIM);
    c->no_qkv_bias = c->no_output_bias = !attention;
    c->embed_scale = sqrt((double)c->hidden);
    return aoei_llama_read_two_ropes(c, config, "rope_theta", "rope_local_base_freq", 0, file, err);
}

/* Returns the value of query_pre_attn_scalar, from which exactly the same attention scale is read. Returns an integer
 * if possible, because transformers requires an integer. */
static json_t *scalar_json(double attention_scale) {
    const double root = 1 / attention_scale, nearest = round(root * root);
    if (nearest <= 1 << 30 && 1 / sqrt(nearest) == attention_scale)
        return json_integer((json_int_t)nearest);
    double scalar = root * root; /* differs from the exact value by a few units in the last place */
    for (int i = 0; i < 8; i++)
        scalar = nextafter(scalar, 0);
    for (int i = 0; i < 16 && 1 / sqrt(scalar) != attention_scale; i++)
        scalar = nextafter(scalar, DBL_MAX);
    return json_real(scalar);
}

/* Returns the value of sliding_window. A bidirectional window of 2 w + 1 positions is stored as 2 w, except that 0 is
 * not allowed and 1 means the same. */
static json_t *window_json(const aoei_encoder_config *c) {
    const size_t both = c->window > 1 ? 2 * (c->window - 1) : 1;
    return c->window ? json_integer((json_int_t)(c->causal ? c->window : both)) : json_null();
}

static int write_gemma3(const aoei_encoder_config *c, json_t *config) {
    int rc = aoei_llama_write_common(c, config);
    if (rc)
        return rc;
    json_object_del(config, "hidden_act");
    json_object_del(config, "is_causal");
    rc = aoei_keys_add(
        config, json_pack("{s:s, s:o, s:o, s:b, s:o, s:b}", "hidden_activation",
                          c->activation == AOEI_GELU_TANH ? "gelu_pytorch_tanh" : aoei_activation_name(c->activation),
                          "sliding_window", window_json(c), "layer_types", aoei_llama_layer_types_json(c),
                          "use_bidirectional_attention", !c->causal, "query_pre_attn_scalar",
                          scalar_json(c->attention_scale), "attention_bias", !c->no_qkv_bias));
    return rc ? rc : aoei_llama_write_two_ropes(c, config, "rope_theta", "rope_local_base_freq");
}

static void name_gemma3(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    static const char *const norms[AOEI_LW_COUNT] = {[AOEI_LW_NORM2] = "pre_feedforward_layernorm.weight",
                                                     [AOEI_LW_NORM3] = "post_attention_layernorm.weight",
                                                     [AOEI_LW_NORM4] = "post_feedforward_layernorm.weight"};
    if (group == AOEI_GROUP_LAYER && norms[kind])
        aoei_slot_name(out, size, "layers.", layer, norms[kind]);
    else
        aoei_llama_name(out, size, group, kind, layer);
}

static const aoei_classification_head head = {.class_name = "Gemma3TextForSequenceClassification",
                                              AOEI_CAUSAL_HEAD_MODULES};

const aoei_arch aoei_arch_gemma3 = {
    .model_type = "gemma3_text",
    .class_name = "Gemma3TextModel",
    .head = &head,
    .prefixes = prefixes,
    .defaults = defaults_gemma3,
    .read = read_gemma3,
    .check = aoei_transformer_check,
    .write = write_gemma3,
    .set_shape = set_shape_gemma3,
    .print_sizes = aoei_transformer_print_sizes,
    .name = name_gemma3,
    .encoder = &aoei_transformer_ops,
    .max_length = aoei_bert_max_length,
    .poolings = AOEI_TRANSFORMER_POOLINGS,
    .default_pooling = AOE_POOLING_LAST_TOKEN,
    .supports_adapters = 1,
};
