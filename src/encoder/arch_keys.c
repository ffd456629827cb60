/* SPDX-License-Identifier: MIT
 * Keys of config.json that several architectures have, read and refused alike.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch_keys.h"

/* The first name of an activation is the one that is written. */
static const struct {
    const char *name;
    aoei_activation activation;
    int gated; /* 1: in gated feed-forward layers alone */
} activations[] = {{"gelu", AOEI_GELU, 0},
                   {"gelu_new", AOEI_GELU_TANH, 0},
                   {"gelu_pytorch_tanh", AOEI_GELU_TANH, 0},
                   {"silu", AOEI_SILU, 1},
                   {"swish", AOEI_SILU, 1}};

enum { ACTIVATIONS = sizeof activations / sizeof *activations };

const char *aoei_activation_name(aoei_activation a) {
    for (size_t i = 0; i < ACTIVATIONS; i++)
        if (activations[i].activation == a)
            return activations[i].name;
    return "";
}

int aoei_key_activation(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err) {
    const char *v = aoei_activation_name(c->activation);
    const int rc = aoei_json_string(config, "hidden_act", &v, NULL, file, err);
    for (size_t i = 0; !rc && i < ACTIVATIONS; i++)
        if (!strcmp(v, activations[i].name) && (c->gated || !activations[i].gated)) {
            c->activation = activations[i].activation;
            return 0;
        }
    return rc ? rc
              : aoei_fail(err, AOE_EUNSUPPORTED,
                          "%s: hidden_act \"%s\" is not supported (supported: gelu, gelu_new, gelu_pytorch_tanh%s)", file, v,
                          c->gated ? ", silu" : "");
}

int aoei_key_must_be(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err) {
    const char *v = value;
    int rc = aoei_json_string(config, key, &v, NULL, file, err);
    if (rc || !strcmp(v, value))
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s \"%s\" is not supported (supported: %s)", file, key, v, value);
}

int aoei_key_refuse_true(const json_t *config, const char *key, const char *why, const char *file, aoe_error *err) {
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
