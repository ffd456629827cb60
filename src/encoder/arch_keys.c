/* SPDX-License-Identifier: MIT
 * Reads and checks keys of config.json that several architectures have.
 */
#include "encoder/arch_keys.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"

/* Maximum values of sizes in config.json. All published encoders are smaller. The bounds are small enough to avoid
 * overflows. */
#define MAX_HIDDEN       ((size_t)1 << 16)
#define MAX_INTERMEDIATE ((size_t)1 << 20)
#define MAX_POSITIONS    ((size_t)1 << 20)
#define MAX_TOKEN_TYPES  ((size_t)1 << 16)

/* Values of hidden_act in config.json. If an activation has several names, aoe writes the first name. */
static const struct {
    const char *name;
    aoei_activation activation;
} activations[] = {{"gelu", AOEI_GELU},
                   {"gelu_new", AOEI_GELU_TANH},
                   {"gelu_pytorch_tanh", AOEI_GELU_TANH},
                   {"gelu_fast", AOEI_GELU_TANH},
                   {"gelu_accurate", AOEI_GELU_TANH},
                   {"gelu_python", AOEI_GELU},
                   {"quick_gelu", AOEI_QUICK_GELU},
                   {"silu", AOEI_SILU},
                   {"swish", AOEI_SILU},
                   {"relu", AOEI_RELU}};

enum { ACTIVATIONS = sizeof activations / sizeof *activations };

int aoei_key_head_dim(aoei_encoder_config *c, const json_t *config, const char *key, const char *file, aoe_error *err) {
    const size_t even = c->heads && c->hidden % c->heads == 0 ? c->hidden / c->heads : 0, missing = (size_t)-1;
    size_t dim = missing;
    const int rc = aoei_json_size(config, key, &dim, file, err);
    if (!rc && !dim)
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is 0; it must be at least 1", file, key);
    c->head_dim = dim == missing || dim == even ? 0 : dim;
    return rc;
}

const char *aoei_activation_name(aoei_activation a) {
    for (size_t i = 0; i < ACTIVATIONS; i++)
        if (activations[i].activation == a)
            return activations[i].name;
    return "";
}

int aoei_key_activation(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    return aoei_key_activation_of(c, config, "hidden_act", file, err);
}

int aoei_key_activation_of(aoei_encoder_config *c, const json_t *config, const char *key, const char *file,
                           aoe_error *err) {
    const char *v = aoei_activation_name(c->activation);
    const int rc = aoei_json_string(config, key, &v, NULL, file, err);
    for (size_t i = 0; !rc && i < ACTIVATIONS; i++)
        if (!strcmp(v, activations[i].name)) {
            c->activation = activations[i].activation;
            return 0;
        }
    return rc ? rc
              : aoei_fail(err, AOE_EUNSUPPORTED,
                          "%s: %s \"%s\" is not supported (supported: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, "
                          "quick_gelu, silu, relu)",
                          file, key, v);
}

int aoei_key_embedding_size(size_t *out, const json_t *config, const char *file, aoe_error *err) {
    const int rc = aoei_json_size(config, "embedding_size", out, file, err);
    return rc ? rc : aoei_check_size("embedding_size", *out, 1, MAX_HIDDEN, file, err);
}

int aoei_key_must_be(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err) {
    const char *v = value;
    int rc = aoei_json_string(config, key, &v, NULL, file, err);
    if (rc || !strcmp(v, value))
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s \"%s\" is not supported (supported: %s)", file, key, v, value);
}

int aoei_key_must_have(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err) {
    const json_t *v = json_object_get(config, key);
    if (v && !json_is_null(v))
        return aoei_key_must_be(config, key, value, file, err);
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: \"%s\" is missing; it must be \"%s\"", file, key, value);
}

int aoei_key_reject_true(const json_t *config, const char *key, const char *why, const char *file, aoe_error *err) {
    int v = 0, rc = aoei_json_bool(config, key, &v, file, err);
    if (rc || !v)
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s is true; %s", file, key, why);
}

int aoei_keys_add(json_t *config, json_t *keys) {
    const int failed = !keys || json_object_update(config, keys);
    json_decref(keys);
    return failed ? AOE_ENOMEM : 0;
}

void aoei_slot_name(char *out, size_t size, const char *prefix, size_t layer, const char *name) {
    if (prefix && name)
        snprintf(out, size, "%s%zu.%s", prefix, layer, name);
    else
        snprintf(out, size, "%s", name ? name : "");
}

/* Checks the number of factors of LongRoPE. */
static int check_factors(const aoei_encoder_config *c, const aoei_rope *r, const char *file, aoe_error *err) {
    if (r->scaling != AOEI_ROPE_LONG || r->n_factors == aoei_head_dim(c) / 2)
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: short_factor and long_factor have %zu values, but a head has %zu pairs of components; correct the lists",
        file, r->n_factors, aoei_head_dim(c) / 2);
}

static int check_heads(const aoei_encoder_config *c, const char *file, aoe_error *err) {
    int rc;
    if (!c->head_dim && c->hidden % c->heads)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: hidden_size %zu is not a multiple of num_attention_heads %zu; correct one of them", file,
                         c->hidden, c->heads);
    if ((rc = aoei_check_size("head_dim", aoei_head_dim(c), 1, MAX_HIDDEN, file, err)) ||
        (rc = aoei_check_size("num_key_value_heads", aoei_kv_heads(c), 1, c->heads, file, err)))
        return rc;
    if (c->heads % aoei_kv_heads(c))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: num_attention_heads %zu is not a multiple of num_key_value_heads %zu; correct one of them", file,
            c->heads, c->kv_heads);
    if (c->rope.theta > 0 && aoei_head_dim(c) % 2)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: \"head_dim\" is %zu; it must be even, because rotary position embeddings rotate pairs of components",
            file, aoei_head_dim(c));
    rc = check_factors(c, &c->rope, file, err);
    return rc ? rc : check_factors(c, &c->rope_local, file, err);
}

int aoei_key_dropout(const json_t *config, const char *key, double *out, const char *file, aoe_error *err) {
    const int rc = aoei_json_double(config, key, out, file, err);
    return rc ? rc : aoei_check_probability(key, *out, file, err);
}

int aoei_transformer_check(const aoei_encoder_config *c, const char *file, aoe_error *err) {
    const int rms = c->norm == AOEI_RMSNORM;
    int rc;
    if ((rc = aoei_check_size("num_hidden_layers", c->layers, 1, AOEI_MAX_LAYERS, file, err)) ||
        (rc = aoei_check_size("num_attention_heads", c->heads, 1, c->hidden, file, err)) ||
        (rc = aoei_check_size("intermediate_size", c->intermediate, 1, MAX_INTERMEDIATE, file, err)) ||
        (rc = aoei_check_size("max_position_embeddings", c->positions, c->position_offset + 1, MAX_POSITIONS, file,
                              err)) ||
        (rc = aoei_check_size("type_vocab_size", c->token_types, 0, MAX_TOKEN_TYPES, file, err)) ||
        (rc = aoei_check_probability("hidden_dropout_prob", c->hidden_dropout, file, err)) ||
        (rc = aoei_check_probability(rms ? "attention_dropout" : "attention_probs_dropout_prob", c->attention_dropout,
                                     file, err)) ||
        (rc = aoei_check_epsilon(rms ? "rms_norm_eps" : "layer_norm_eps", c->norm_eps, file, err)))
        return rc;
    return check_heads(c, file, err);
}

void aoei_transformer_set_shape(aoei_encoder_config *c, const aoe_shape *s) {
    c->hidden = s->hidden;
    c->layers = s->layers;
    c->heads = s->heads;
    c->kv_heads = s->kv_heads;
    c->intermediate = s->intermediate;
    c->vocab = s->vocab;
    c->positions = s->positions;
}

void aoei_transformer_print_sizes(const aoei_encoder_config *c, char *out, size_t size) {
    snprintf(out, size, "%zu layers, hidden size %zu, %zu heads, feed-forward size %zu", c->layers, c->hidden, c->heads,
             c->intermediate);
}
