/* SPDX-License-Identifier: MIT
 * LLaMA (Touvron et al. 2023), Mistral (Jiang et al. 2023), Ministral and Qwen2 (Yang et al. 2024). All of them have
 * RMSNorm before attention and feed-forward, rotary position embeddings, grouped-query attention, a gated feed-forward
 * with SiLU, and causal attention. They differ in biases, in the sliding window and in the defaults of config.json. The
 * tensor lm_head.weight of the language-model head is ignored. If config.json requests a variant that is not supported,
 * the functions that read it fail, and the message names the key.
 */
#include "encoder/arch_llama.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_keys.h"
#include "encoder/classification_head.h"
#include "encoder/transformer.h"
#include "nn/rope.h"

static const char *const prefixes[] = {"", "model.", NULL};

/* The functions aoei_llama_defaults and defaults_* set the values that are used for missing keys of config.json. They
 * are the defaults of the configuration classes (such as LlamaConfig) in the library transformers. */
void aoei_llama_defaults(aoei_encoder_config *c) {
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
    aoei_llama_defaults(c);
    c->positions = 131072;
}

static void defaults_qwen2(aoei_encoder_config *c) {
    aoei_llama_defaults(c);
    c->positions = 32768;
    c->no_qkv_bias = 0;
}

/* Reads the required number `key` of the object `scaling` (rope_scaling or rope_parameters) into *out. The number must
 * be at least `low`. */
static int need_factor(const json_t *scaling, const char *key, double *out, double low, const char *file,
                       aoe_error *err) {
    double v = 0;
    const int rc = aoei_json_double(scaling, key, &v, file, err);
    *out = v;
    if (rc || v >= low)
        return rc;
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: \"%s\" in rope_scaling or rope_parameters is missing or %g; it must be at least %g", file,
                     key, v, low);
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

/* Returns the default magnitude of YaRN with the coefficient `scale` (mscale of transformers). */
static double yarn_magnitude(double factor, double scale) {
    return factor <= 1 ? 1 : 0.1 * scale * log(factor) + 1;
}

/* Reads the parameters of YaRN. Missing parameters and zeros have the defaults of modeling_rope_utils.py in
 * transformers. `positions` is max_position_embeddings. */
static int read_yarn(aoei_rope *r, size_t positions, const json_t *scaling, const char *file, aoe_error *err) {
    double scale = 0, scale_all = 0, fast = 0, slow = 0;
    int truncate = 1, rc;
    if ((rc = aoei_json_size(scaling, "original_max_position_embeddings", &r->positions, file, err)) ||
        (rc = aoei_json_double(scaling, "factor", &r->factor, file, err)) ||
        (rc = aoei_json_double(scaling, "attention_factor", &r->magnitude, file, err)) ||
        (rc = aoei_json_double(scaling, "mscale", &scale, file, err)) ||
        (rc = aoei_json_double(scaling, "mscale_all_dim", &scale_all, file, err)) ||
        (rc = aoei_json_double(scaling, "beta_fast", &fast, file, err)) ||
        (rc = aoei_json_double(scaling, "beta_slow", &slow, file, err)) ||
        (rc = aoei_json_bool(scaling, "truncate", &truncate, file, err)))
        return rc;
    if (r->factor == 0 && r->positions)
        r->factor = (double)positions / (double)r->positions;
    r->high = fast != 0 ? fast : 32;
    r->low = slow != 0 ? slow : 1;
    r->fractional = !truncate;
    if (!r->positions || !(r->factor >= 1) || !(r->low > 0) || !(r->high >= r->low) || !(r->magnitude >= 0) ||
        !(r->theta > 1))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: rope_type \"yarn\" requires original_max_position_embeddings of at least 1, factor of at least 1, "
            "beta_fast of at least beta_slow, beta_slow above 0, attention_factor of at least 0 and rope_theta "
            "above 1; correct these keys",
            file);
    if (r->magnitude == 0)
        r->magnitude = scale != 0 && scale_all != 0
                           ? yarn_magnitude(r->factor, scale) / yarn_magnitude(r->factor, scale_all)
                           : yarn_magnitude(r->factor, 1);
    if (!(r->magnitude > 0) || !isfinite(r->magnitude))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: mscale %g and mscale_all_dim %g give a factor that is not a number above 0", file, scale,
                         scale_all);
    return 0;
}

/* Reads the list `key` of the factors of LongRoPE. */
static int read_factors(float *out, size_t *n, const json_t *scaling, const char *key, const char *file,
                        aoe_error *err) {
    const json_t *list = json_object_get(scaling, key);
    *n = json_array_size(list);
    if (!*n || *n > AOEI_ROPE_MAX_PAIRS)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" of rope_type \"longrope\" is not a list of 1 to %d numbers",
                         file, key, AOEI_ROPE_MAX_PAIRS);
    for (size_t i = 0; i < *n; i++) {
        const json_t *v = json_array_get(list, i);
        out[i] = (float)json_number_value(v);
        if (!json_is_number(v) || !(out[i] > 0) || !isfinite(out[i]))
            return aoei_fail(err, AOE_EFORMAT, "%s: factor %zu of \"%s\" is not a number above 0; correct it", file, i,
                             key);
    }
    return 0;
}

/* Reads the parameters of LongRoPE. Missing parameters have the defaults of modeling_rope_utils.py in transformers.
 * `positions` is max_position_embeddings. */
static int read_longrope(aoei_rope *r, size_t positions, const json_t *scaling, const char *file, aoe_error *err) {
    size_t n = 0;
    double factor = 0;
    int rc;
    if ((rc = read_factors(r->short_factor, &n, scaling, "short_factor", file, err)) ||
        (rc = read_factors(r->long_factor, &r->n_factors, scaling, "long_factor", file, err)) ||
        (rc = aoei_json_size(scaling, "original_max_position_embeddings", &r->positions, file, err)) ||
        (rc = aoei_json_double(scaling, "factor", &factor, file, err)) ||
        (rc = aoei_json_double(scaling, "attention_factor", &r->magnitude, file, err)))
        return rc;
    if (n != r->n_factors || r->positions < 2 || !(factor >= 0) || !(r->magnitude >= 0))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: rope_type \"longrope\" requires lists short_factor and long_factor of equal length, "
            "original_max_position_embeddings of at least 2, and factor and attention_factor of at least 0; "
            "correct these keys",
            file);
    if (factor == 0)
        factor = (double)positions / (double)r->positions;
    if (r->magnitude == 0)
        r->magnitude = factor <= 1 ? 1 : sqrt(1 + log(factor) / log((double)r->positions));
    return 0;
}

/* Reads the scaling of rotary positions from `scaling`, the object "rope_scaling" or "rope_parameters" of
 * config.json. */
static int read_scaling(aoei_rope *r, size_t positions, const json_t *scaling, const char *file, aoe_error *err) {
    static const struct {
        const char *name;
        aoei_rope_scaling scaling;
    } types[] = {{"default", AOEI_ROPE_PLAIN}, {"linear", AOEI_ROPE_LINEAR}, {"dynamic", AOEI_ROPE_DYNAMIC},
                 {"yarn", AOEI_ROPE_YARN},     {"longrope", AOEI_ROPE_LONG}, {"llama3", AOEI_ROPE_LLAMA3}};
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
                return aoei_fail(
                    err, AOE_EUNSUPPORTED,
                    "%s: rope_scaling or rope_parameters has \"%s\" but no \"rope_type\"; add \"rope_type\"", file,
                    json_object_iter_key(k));
    while (type && i < sizeof types / sizeof *types && strcmp(types[i].name, type) != 0)
        i++;
    if (i == sizeof types / sizeof *types)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: rope_type \"%s\" is not supported (supported: default, linear, dynamic, yarn, longrope, llama3)", file,
            type);
    r->scaling = types[i].scaling;
    r->factor = r->low = r->high = r->magnitude = 0;
    r->fractional = 0;
    r->positions = r->n_factors = 0;
    if (r->scaling == AOEI_ROPE_PLAIN)
        return 0;
    r->positions = positions;
    if (r->scaling == AOEI_ROPE_YARN)
        return read_yarn(r, positions, scaling, file, err);
    if (r->scaling == AOEI_ROPE_LONG)
        return read_longrope(r, positions, scaling, file, err);
    if ((rc = need_factor(scaling, "factor", &r->factor, 1, file, err)))
        return rc;
    return r->scaling == AOEI_ROPE_LLAMA3
               ? read_llama3(r, scaling, file, err)
               : aoei_json_size(scaling, "original_max_position_embeddings", &r->positions, file, err);
}

/* Checks the values in *r. `key` is the key of the base of the rotary frequencies. partial: partial_rotary_factor; in
 * these architectures, transformers ignores it without scaling, and fails with scaling. */
static int check_rope(const aoei_rope *r, double partial, const char *key, const char *file, aoe_error *err) {
    if (partial != 1 && r->scaling != AOEI_ROPE_PLAIN)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: partial_rotary_factor %g with a scaling of rotary positions is not supported, because the library "
            "transformers does not support it for this architecture either; remove one of them",
            file, partial);
    if (!(r->theta >= 1))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is %g; it must be at least 1", file, key, r->theta);
    if (r->scaling == AOEI_ROPE_DYNAMIC && !r->positions)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"original_max_position_embeddings\" is 0; it must be at least 1",
                         file);
    return 0;
}

/* Reads the object `key` of `from`, which contains the scaling of rotary positions. A missing object is accepted. */
static int read_rope_object(aoei_rope *r, size_t positions, const json_t *from, const char *key, const char *file,
                            aoe_error *err) {
    const json_t *scaling = json_object_get(from, key);
    double partial = 1;
    int rc;
    if (!scaling || json_is_null(scaling))
        return 0;
    if (!json_is_object(scaling))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not an object; correct the value", file, key);
    if ((rc = read_scaling(r, positions, scaling, file, err)) ||
        (rc = aoei_json_double(scaling, "partial_rotary_factor", &partial, file, err)))
        return rc;
    return check_rope(r, partial, "rope_theta", file, err);
}

int aoei_llama_read_two_ropes(aoei_encoder_config *c, const json_t *config, const char *global, const char *local,
                              int both, const char *file, aoe_error *err) {
    static const char full[] = "full_attention", sliding[] = "sliding_attention";
    aoei_rope *const ropes[] = {&c->rope, &c->rope_local};
    const char *const keys[] = {global, local}, *const kinds[] = {full, sliding};
    const json_t *nested = json_object_get(config, "rope_parameters");
    const void *key;
    if (nested && !json_is_null(nested) && !json_is_object(nested))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"rope_parameters\" is not an object; correct the value", file);
    for (void *i = json_object_iter((json_t *)nested); i; i = json_object_iter_next((json_t *)nested, i))
        if (key = json_object_iter_key(i), strcmp(key, full) != 0 && strcmp(key, sliding) != 0)
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: rope_parameters has the key \"%s\", but it must contain an object for each value of "
                             "layer_types (full_attention, sliding_attention)",
                             file, (const char *)key);
    for (int k = 0; k < 2; k++) {
        int rc;
        if ((rc = aoei_json_double(config, keys[k], &ropes[k]->theta, file, err)) ||
            (rc = check_rope(ropes[k], 1, keys[k], file, err)) ||
            (k == 0 || both ? (rc = read_rope_object(ropes[k], c->positions, config, "rope_scaling", file, err)) : 0) ||
            (rc = read_rope_object(ropes[k], c->positions, nested, kinds[k], file, err)))
            return rc;
    }
    return 0;
}

int aoei_llama_read_rope(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    double partial = 1;
    int rc;
    if ((rc = aoei_json_double(config, "rope_theta", &c->rope.theta, file, err)) ||
        (rc = aoei_json_double(config, "partial_rotary_factor", &partial, file, err)))
        return rc;
    for (size_t i = 0; i < 2 && !rc; i++) {
        const json_t *scaling = json_object_get(config, keys[i]);
        if (!scaling || json_is_null(scaling))
            continue;
        if (!json_is_object(scaling))
            return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not an object; correct the value", file, keys[i]);
        if (!(rc = read_scaling(&c->rope, c->positions, scaling, file, err)))
            rc = aoei_json_double(scaling, "partial_rotary_factor", &partial, file, err);
        if (json_object_size(scaling))
            break; /* transformers ignores rope_parameters if rope_scaling is not empty */
    }
    return rc ? rc : check_rope(&c->rope, partial, "rope_theta", file, err);
}

int aoei_llama_check_windows(aoei_encoder_config *c, const char *file, aoe_error *err) {
    static const aoei_layer_set none;
    const int any = memcmp(&c->windowed, &none, sizeof none) != 0;
    if (any && !c->window)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: layer_types has sliding_attention, but the size of the window is missing; add "
                         "sliding_window",
                         file);
    if (!any)
        c->window = 0;
    return 0;
}

int aoei_llama_read_layer_types(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const json_t *types = json_object_get(config, "layer_types");
    if (!types || json_is_null(types))
        return 0;
    if (json_array_size(types) != c->layers)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: \"layer_types\" is not a list of %zu names, one per layer; correct the list", file,
                         c->layers);
    memset(&c->windowed, 0, sizeof c->windowed);
    for (size_t i = 0; i < c->layers; i++) {
        const char *type = json_string_value(json_array_get(types, i));
        const int window = type && !strcmp(type, "sliding_attention");
        if (!window && (!type || strcmp(type, "full_attention") != 0))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: layer_types \"%s\" of layer %zu is not supported (supported: full_attention, "
                             "sliding_attention)",
                             file, type ? type : "", i);
        if (window)
            aoei_layer_set_add(&c->windowed, i);
    }
    return aoei_llama_check_windows(c, file, err);
}

/* Adds the layers from `first` on to the layers with a sliding window, if there is a window. */
static void window_from(aoei_encoder_config *c, size_t first) {
    for (size_t l = first; l < c->layers && l < AOEI_MAX_LAYERS && c->window; l++)
        aoei_layer_set_add(&c->windowed, l);
}

/* Reads is_causal and use_bidirectional_attention. If attention is bidirectional, the mask of the library transformers
 * contains the tokens at the distance sliding_window too, and sentence-transformers pools the mean. */
static int read_direction(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int causal = 1, both = 0, rc;
    if ((rc = aoei_llama_check_causal(c, config, file, err)) ||
        (rc = aoei_json_bool(config, "is_causal", &causal, file, err)) ||
        (rc = aoei_json_bool(config, "use_bidirectional_attention", &both, file, err)) || (causal && !both))
        return rc;
    c->causal = 0;
    c->bidirectional_from = 0;
    c->pooling = AOE_POOLING_LAST_AVG;
    c->window += c->window > 0;
    return 0;
}

int aoei_llama_check_causal(const aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    if (!c->window || !json_is_null(json_object_get(config, "is_causal")))
        return 0;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: is_causal is null, which the library transformers reads as false only in layers with a sliding window; "
        "set it to true or false, or remove it",
        file);
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

int aoei_llama_read_sizes(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    if ((rc = aoei_json_need_size(config, "hidden_size", &c->hidden, file, err)) ||
        (rc = aoei_json_need_size(config, "num_hidden_layers", &c->layers, file, err)) ||
        (rc = aoei_json_need_size(config, "num_attention_heads", &c->heads, file, err)) ||
        (rc = read_heads(c, config, file, err)) ||
        (rc = aoei_json_need_size(config, "intermediate_size", &c->intermediate, file, err)) ||
        (rc = aoei_json_need_size(config, "vocab_size", &c->vocab, file, err)) ||
        (rc = aoei_json_size(config, "max_position_embeddings", &c->positions, file, err)) ||
        (rc = aoei_json_double(config, "rms_norm_eps", &c->norm_eps, file, err)) ||
        (rc = aoei_json_double(config, "attention_dropout", &c->attention_dropout, file, err)))
        return rc;
    return 0;
}

int aoei_llama_read_common(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    if ((rc = aoei_key_activation(c, config, file, err)) || (rc = aoei_llama_read_sizes(c, config, file, err)))
        return rc;
    return aoei_llama_read_rope(c, config, file, err);
}

void aoei_llama_default_head_dim(aoei_encoder_config *c, const json_t *config, size_t dim) {
    const json_t *v = json_object_get(config, "head_dim");
    if (!v || json_is_null(v))
        c->head_dim = c->heads && c->hidden % c->heads == 0 && c->hidden / c->heads == dim ? 0 : dim;
}

static int read_llama(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int attention = 0, mlp = 0, rc;
    if ((rc = aoei_llama_read_common(c, config, file, err)) ||
        (rc = aoei_json_bool(config, "attention_bias", &attention, file, err)) ||
        (rc = aoei_json_bool(config, "mlp_bias", &mlp, file, err)))
        return rc;
    c->no_qkv_bias = c->no_output_bias = !attention;
    c->no_ffn_bias = !mlp;
    return read_direction(c, config, file, err);
}

/* Reads the keys of Mistral and Ministral except layer_types. If sliding_window is missing, the window is 4096, as in
 * MistralConfig of transformers. If it is null, there is no window. */
static int read_windows(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    c->kv_heads = 8;
    c->window = json_is_null(json_object_get(config, "sliding_window")) ? 0 : 4096;
    int rc;
    if ((rc = aoei_llama_read_common(c, config, file, err)) ||
        (rc = aoei_json_size(config, "sliding_window", &c->window, file, err)))
        return rc;
    if (!c->window && json_is_integer(json_object_get(config, "sliding_window")))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"sliding_window\" is 0; it must be at least 1, or null for no window",
                         file);
    window_from(c, 0);
    return 0;
}

/* Reads the keys of Mistral. The library transformers ignores layer_types of this architecture, so a list that
 * contradicts sliding_window is rejected. */
static int read_mistral(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc = read_windows(c, config, file, err);
    if (rc)
        return rc;
    aoei_encoder_config listed = *c;
    if ((rc = aoei_llama_read_layer_types(&listed, config, file, err)))
        return rc;
    if (listed.window != c->window || memcmp(&listed.windowed, &c->windowed, sizeof listed.windowed) != 0)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: layer_types of a mistral model contradicts sliding_window, which has priority in the library "
            "transformers; remove layer_types, or use the model_type ministral",
            file);
    return read_direction(c, config, file, err);
}

/* Reads the keys of Ministral: those of Mistral, and layer_types. */
static int read_ministral(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int rc;
    if ((rc = read_windows(c, config, file, err)) || (rc = aoei_llama_read_layer_types(c, config, file, err)))
        return rc;
    return read_direction(c, config, file, err);
}

/* Checks layer_types of a model without sliding windows: the list must have one element per layer, and no layer may
 * have a window. */
static int check_no_window(const aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    aoei_encoder_config listed = *c;
    listed.window = 1;
    const int rc = aoei_llama_read_layer_types(&listed, config, file, err);
    if (rc || !json_array_size(json_object_get(config, "layer_types")) || !listed.window)
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED,
                     "%s: layer_types has sliding_attention, but use_sliding_window is not true; correct one of them",
                     file);
}

int aoei_llama_read_qwen2(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    int use = 0, rc;
    size_t first = 28;
    size_t window = json_is_null(json_object_get(config, "sliding_window")) ? 0 : 4096;
    c->kv_heads = 32;
    if ((rc = aoei_llama_read_common(c, config, file, err)) ||
        (rc = aoei_json_bool(config, "use_sliding_window", &use, file, err)) ||
        (rc = aoei_json_size(config, "sliding_window", &window, file, err)) ||
        (rc = aoei_json_size(config, "max_window_layers", &first, file, err)))
        return rc;
    c->window = use ? window : 0;
    window_from(c, first);
    rc = use ? aoei_llama_read_layer_types(c, config, file, err) : check_no_window(c, config, file, err);
    return rc ? rc : read_direction(c, config, file, err);
}

/* Returns a list of factors, or NULL if memory allocation fails. */
static json_t *factors_json(const float *factors, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n && list; i++)
        if (json_array_append_new(list, json_real((double)factors[i]))) {
            json_decref(list);
            list = NULL;
        }
    return list;
}

json_t *aoei_llama_scaling_json(const aoei_rope *r) {
    if (r->scaling == AOEI_ROPE_LINEAR || r->scaling == AOEI_ROPE_DYNAMIC)
        return json_pack("{s:s, s:f, s:I}", "rope_type", r->scaling == AOEI_ROPE_LINEAR ? "linear" : "dynamic",
                         "factor", r->factor, "original_max_position_embeddings", (json_int_t)r->positions);
    if (r->scaling == AOEI_ROPE_YARN)
        return json_pack("{s:s, s:f, s:f, s:f, s:f, s:b, s:I}", "rope_type", "yarn", "factor", r->factor,
                         "attention_factor", r->magnitude, "beta_fast", r->high, "beta_slow", r->low, "truncate",
                         !r->fractional, "original_max_position_embeddings", (json_int_t)r->positions);
    if (r->scaling == AOEI_ROPE_LONG)
        return json_pack("{s:s, s:o, s:o, s:f, s:I}", "rope_type", "longrope", "short_factor",
                         factors_json(r->short_factor, r->n_factors), "long_factor",
                         factors_json(r->long_factor, r->n_factors), "attention_factor", r->magnitude,
                         "original_max_position_embeddings", (json_int_t)r->positions);
    if (r->scaling == AOEI_ROPE_LLAMA3)
        return json_pack("{s:s, s:f, s:f, s:f, s:I}", "rope_type", "llama3", "factor", r->factor, "low_freq_factor",
                         r->low, "high_freq_factor", r->high, "original_max_position_embeddings",
                         (json_int_t)r->positions);
    return json_null();
}

/* Returns the value of rope_parameters for one kind of layers, or NULL if memory allocation fails. */
static json_t *rope_json(const aoei_rope *r) {
    json_t *o = r->scaling == AOEI_ROPE_PLAIN ? json_pack("{s:s}", "rope_type", "default") : aoei_llama_scaling_json(r);
    if (json_object_set_new(o, "rope_theta", json_real(r->theta))) {
        json_decref(o);
        return NULL;
    }
    return o;
}

int aoei_llama_write_two_ropes(const aoei_encoder_config *c, json_t *config, const char *global, const char *local) {
    json_t *keys =
        json_pack("{s:f, s:f, s:{s:o, s:o}}", global, c->rope.theta, local, c->rope_local.theta, "rope_parameters",
                  "full_attention", rope_json(&c->rope), "sliding_attention", rope_json(&c->rope_local));
    return aoei_keys_add(config, keys);
}

int aoei_llama_write_common(const aoei_encoder_config *c, json_t *config) {
    json_t *keys =
        json_pack("{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:s, s:f, s:f, s:b}", "model_type",
                  c->arch->model_type, "hidden_size", (json_int_t)c->hidden, "num_attention_heads",
                  (json_int_t)c->heads, "num_key_value_heads", (json_int_t)aoei_kv_heads(c), "head_dim",
                  (json_int_t)aoei_head_dim(c), "intermediate_size", (json_int_t)c->intermediate, "num_hidden_layers",
                  (json_int_t)c->layers, "vocab_size", (json_int_t)c->vocab, "max_position_embeddings",
                  (json_int_t)c->positions, "rms_norm_eps", c->norm_eps, "rope_theta", c->rope.theta, "rope_scaling",
                  aoei_llama_scaling_json(&c->rope), "hidden_act", aoei_activation_name(c->activation),
                  "attention_dropout", c->attention_dropout, "initializer_range", 0.02, "tie_word_embeddings", 1);
    const int rc = aoei_keys_add(config, keys);
    return rc || c->causal ? rc : aoei_keys_add(config, json_pack("{s:b}", "is_causal", 0));
}

static int write_llama(const aoei_encoder_config *c, json_t *config) {
    const int rc = aoei_llama_write_common(c, config);
    return rc ? rc
              : aoei_keys_add(config,
                              json_pack("{s:b, s:b}", "attention_bias", !c->no_qkv_bias, "mlp_bias", !c->no_ffn_bias));
}

/* Returns the value of sliding_window, or 0 if there is no window. */
static size_t stored_window(const aoei_encoder_config *c) {
    return c->window - (c->window && !c->causal);
}

json_t *aoei_llama_layer_types_json(const aoei_encoder_config *c) {
    json_t *types = json_array();
    for (size_t l = 0; l < c->layers && types; l++)
        if (json_array_append_new(types,
                                  json_string(aoei_layer_window(c, l) ? "sliding_attention" : "full_attention"))) {
            json_decref(types);
            types = NULL;
        }
    return types;
}

/* Returns the first layer with a sliding window, or 0 if there is no window. */
static size_t first_window(const aoei_encoder_config *c) {
    size_t l = 0;
    while (c->window && l < c->layers && !aoei_layer_window(c, l))
        l++;
    return l;
}

/* Returns 1 if there is a layer without a window after a layer with a window. */
static int is_mixed(const aoei_encoder_config *c) {
    for (size_t l = first_window(c); l < c->layers && c->window; l++)
        if (!aoei_layer_window(c, l))
            return 1;
    return 0;
}

static int write_mistral(const aoei_encoder_config *c, json_t *config) {
    const int rc = aoei_llama_write_common(c, config);
    json_t *window = c->window ? json_integer((json_int_t)stored_window(c)) : json_null();
    const int failed = aoei_keys_add(config, json_pack("{s:o}", "sliding_window", window));
    return rc ? rc : failed;
}

static int write_ministral(const aoei_encoder_config *c, json_t *config) {
    const int rc = write_mistral(c, config);
    return rc ? rc : aoei_keys_add(config, json_pack("{s:o}", "layer_types", aoei_llama_layer_types_json(c)));
}

int aoei_llama_write_qwen2(const aoei_encoder_config *c, json_t *config) {
    int rc = aoei_llama_write_common(c, config);
    if (!rc)
        rc = aoei_keys_add(config,
                           json_pack("{s:b, s:I, s:I}", "use_sliding_window", c->window > 0, "sliding_window",
                                     (json_int_t)stored_window(c), "max_window_layers", (json_int_t)first_window(c)));
    return rc || !is_mixed(c)
               ? rc
               : aoei_keys_add(config, json_pack("{s:o}", "layer_types", aoei_llama_layer_types_json(c)));
}

static const char *const outer_names[AOEI_W_LAYERS] = {
    [AOEI_W_WORD] = "embed_tokens.weight",
    [AOEI_W_FINAL_NORM] = "norm.weight",
};

static const char *const layer_names[AOEI_LW_COUNT] = {
    [AOEI_LW_Q] = "self_attn.q_proj.weight",      [AOEI_LW_Q_BIAS] = "self_attn.q_proj.bias",
    [AOEI_LW_K] = "self_attn.k_proj.weight",      [AOEI_LW_K_BIAS] = "self_attn.k_proj.bias",
    [AOEI_LW_V] = "self_attn.v_proj.weight",      [AOEI_LW_V_BIAS] = "self_attn.v_proj.bias",
    [AOEI_LW_O] = "self_attn.o_proj.weight",      [AOEI_LW_O_BIAS] = "self_attn.o_proj.bias",
    [AOEI_LW_NORM1] = "input_layernorm.weight",   [AOEI_LW_UP] = "mlp.up_proj.weight",
    [AOEI_LW_UP_BIAS] = "mlp.up_proj.bias",       [AOEI_LW_DOWN] = "mlp.down_proj.weight",
    [AOEI_LW_DOWN_BIAS] = "mlp.down_proj.bias",   [AOEI_LW_NORM2] = "post_attention_layernorm.weight",
    [AOEI_LW_Q_NORM] = "self_attn.q_norm.weight", [AOEI_LW_K_NORM] = "self_attn.k_norm.weight",
    [AOEI_LW_GATE] = "mlp.gate_proj.weight",      [AOEI_LW_GATE_BIAS] = "mlp.gate_proj.bias",
};

void aoei_llama_name(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer) {
    if (group == AOEI_GROUP_LAYER)
        aoei_slot_name(out, size, "layers.", layer, layer_names[kind]);
    else
        aoei_slot_name(out, size, NULL, 0, group == AOEI_GROUP_OUTER ? outer_names[kind] : NULL);
}

size_t aoei_llama_max_length(const aoei_encoder_config *c) {
    const aoei_rope *r = &c->rope;
    if (r->scaling != AOEI_ROPE_LINEAR && r->scaling != AOEI_ROPE_DYNAMIC)
        return c->positions;
    const double stretched = r->factor * (double)r->positions;
    return stretched > (double)c->positions && stretched < 1e9 ? (size_t)stretched : c->positions;
}

static const aoei_classification_head head_llama = {.class_name = "LlamaForSequenceClassification",
                                                    AOEI_CAUSAL_HEAD_MODULES};
static const aoei_classification_head head_mistral = {.class_name = "MistralForSequenceClassification",
                                                      AOEI_CAUSAL_HEAD_MODULES};
static const aoei_classification_head head_ministral = {.class_name = "MinistralForSequenceClassification",
                                                        AOEI_CAUSAL_HEAD_MODULES};
static const aoei_classification_head head_qwen2 = {.class_name = "Qwen2ForSequenceClassification",
                                                    AOEI_CAUSAL_HEAD_MODULES};

#define LLAMA                                                                                                          \
    .prefixes = prefixes, .check = aoei_transformer_check, .set_shape = aoei_transformer_set_shape,                    \
    .print_sizes = aoei_transformer_print_sizes, .name = aoei_llama_name, .encoder = &aoei_transformer_ops,            \
    .max_length = aoei_llama_max_length, .poolings = AOEI_TRANSFORMER_POOLINGS,                                        \
    .default_pooling = AOE_POOLING_LAST_TOKEN, .supports_adapters = 1

const aoei_arch aoei_arch_llama = {.model_type = "llama",
                                   .class_name = "LlamaModel",
                                   .head = &head_llama,
                                   .defaults = aoei_llama_defaults,
                                   .read = read_llama,
                                   .write = write_llama,
                                   LLAMA};
const aoei_arch aoei_arch_mistral = {.model_type = "mistral",
                                     .class_name = "MistralModel",
                                     .head = &head_mistral,
                                     .defaults = defaults_mistral,
                                     .read = read_mistral,
                                     .write = write_mistral,
                                     LLAMA};
const aoei_arch aoei_arch_ministral = {.model_type = "ministral",
                                       .class_name = "MinistralModel",
                                       .head = &head_ministral,
                                       .defaults = defaults_mistral,
                                       .read = read_ministral,
                                       .write = write_ministral,
                                       LLAMA};
const aoei_arch aoei_arch_qwen2 = {.model_type = "qwen2",
                                   .class_name = "Qwen2Model",
                                   .head = &head_qwen2,
                                   .defaults = defaults_qwen2,
                                   .read = aoei_llama_read_qwen2,
                                   .write = aoei_llama_write_qwen2,
                                   LLAMA};
