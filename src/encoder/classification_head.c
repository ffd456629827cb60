/* SPDX-License-Identifier: MIT
 * Reads the options of classification heads from config.json.
 */
#include "encoder/classification_head.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch.h"

size_t aoei_head_classes(const json_t *config) {
    const json_t *labels = json_object_get(config, "id2label"), *number = json_object_get(config, "num_labels");
    if (json_object_size(labels))
        return json_object_size(labels);
    return json_is_integer(number) && json_integer_value(number) > 0 ? (size_t)json_integer_value(number) : 0;
}

const char *aoei_head_class_name(const json_t *config, size_t i) {
    char key[24];
    snprintf(key, sizeof key, "%zu", i);
    return json_string_value(json_object_get(json_object_get(config, "id2label"), key));
}

/* Reads the activation function of a dense layer. */
static int read_activation(aoei_dense_activation *out, const aoei_head_module *m, const json_t *config,
                           const char *file, aoe_error *err) {
    static const struct {
        const char *name;
        aoei_dense_activation activation;
    } known[] = {{"gelu", AOEI_DENSE_GELU},       {"relu", AOEI_DENSE_RELU}, {"tanh", AOEI_DENSE_TANH},
                 {"sigmoid", AOEI_DENSE_SIGMOID}, {"silu", AOEI_DENSE_SILU}, {"swish", AOEI_DENSE_SILU},
                 {"linear", AOEI_DENSE_IDENTITY}};
    const char *name = NULL;
    *out = m->activation;
    const int rc = m->activation_key ? aoei_json_string(config, m->activation_key, &name, NULL, file, err) : 0;
    if (rc || !name)
        return rc;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp(name, known[i].name)) {
            *out = known[i].activation;
            return 0;
        }
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: %s '%s' is not supported in a classification head (supported: gelu, relu, tanh, sigmoid, silu, linear)",
        file, m->activation_key, name);
}

static int read_pooling(aoei_encoder_config *c, const aoei_classification_head *h, const json_t *config,
                        const char *file, aoe_error *err) {
    const char *name = NULL;
    const int rc = h->pooling_key ? aoei_json_string(config, h->pooling_key, &name, NULL, file, err) : 0;
    c->pooling = !name ? h->pooling : !strcmp(name, "mean") ? AOE_POOLING_LAST_AVG : AOE_POOLING_CLS;
    if (rc || !name || !strcmp(name, "mean") || !strcmp(name, "cls"))
        return rc;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: %s '%s' is not supported (supported: cls, mean)", file, h->pooling_key,
                     name);
}

/* Reads the probability of a dropout module. */
static int read_dropout(double *out, const aoei_encoder_config *c, const aoei_head_module *m, const json_t *config,
                        const char *file, aoe_error *err) {
    int rc = 0;
    *out = m->dropout < 0 ? c->hidden_dropout : m->dropout;
    if (m->dropout_key && !json_is_null(json_object_get(config, m->dropout_key)))
        rc = aoei_json_double(config, m->dropout_key, out, file, err);
    return rc ? rc : aoei_check_probability(m->dropout_key ? m->dropout_key : "hidden_dropout_prob", *out, file, err);
}

static int read_module(aoei_module *out, const aoei_encoder_config *c, const aoei_head_module *m, const json_t *config,
                       const char *file, aoe_error *err) {
    int bias = !m->no_bias, rc = 0;
    *out = (aoei_module){.kind = m->kind, .in = c->hidden, .out = c->hidden};
    if (m->kind == AOEI_MODULE_DROPOUT)
        return read_dropout(&out->dropout, c, m, config, file, err);
    if (m->kind == AOEI_MODULE_LAYERNORM) {
        out->norm_eps = c->norm_eps;
        out->no_bias = c->no_norm_bias;
        return 0;
    }
    rc = read_activation(&out->activation, m, config, file, err);
    if (!rc && m->bias_key)
        rc = aoei_json_bool(config, m->bias_key, &bias, file, err);
    out->no_bias = !bias;
    return rc;
}

int aoei_head_read(aoei_encoder_config *c, size_t classes, const json_t *config, const char *file, aoe_error *err) {
    const aoei_classification_head *h = c->arch->head;
    if (!h)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: aoe supports no classification head for architecture '%s'", file,
                         c->arch->model_type);
    int rc = aoei_check_size("num_labels", classes, 1, AOEI_MAX_CLASSES, file, err);
    if (!rc)
        rc = read_pooling(c, h, config, file, err);
    for (size_t i = 0; i < h->n && !rc; i++)
        rc = read_module(&c->modules.list[i], c, &h->module[i], config, file, err);
    c->modules.n = h->n;
    c->modules.list[h->n - 1].out = classes;
    c->modules.classes = classes;
    return rc;
}
