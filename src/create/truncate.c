/* SPDX-License-Identifier: MIT
 * Truncates a model to its first layers and to the first components of its embeddings.
 */
#include "create/truncate.h"

#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "encoder/arch.h"
#include "encoder/layer_pooling.h"
#include "encoder/slots.h"

/* keys of config.json for the number of layers */
static const char *const layer_keys[] = {"num_hidden_layers", "n_layers", "n_layer"};

static void truncated_rows(aoei_weight_reader *r, float *to, size_t slot, size_t first, size_t n) {
    aoei_truncated_model *t = (aoei_truncated_model *)(void *)((char *)r - offsetof(aoei_truncated_model, source));
    t->all->rows(t->all, to, slot < t->pooled ? slot : slot - t->pooled + t->all_pooled, first, n);
}

/* Checks that the first layers of the model are a model that computes the pooled vectors of their output. */
static int check_layers(const aoei_encoder_config *c, size_t layers, const char *dir, aoe_error *err) {
    if (layers > c->layers)
        return aoei_fail(err, AOE_EARG, "options.layers is %zu, but the model %s has only %zu layers", layers, dir, c->layers);
    if (!c->arch->encoder->taps || c->layer_groups || c->layer_weights || c->classes || c->mlm_head)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: options.layers requires an embedding model that is a transformer, whose layers have weights of "
                         "their own, and without the module WeightedLayerPooling",
                         dir);
    if (c->pre_norm)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: a norm follows the last layer of the model, but no norm follows its other layers, so a model with "
            "fewer layers would compute other vectors than those of these layers; options.layers requires a model "
            "with norms after the residual sums, such as BERT",
            dir);
    return AOE_OK;
}

/* Sets the number of layers in t->config and t->config_json. */
static int set_layers(aoei_truncated_model *t, const aoe_model *m, size_t layers, aoe_error *err) {
    int found = 0, failed = 0;
    const int code = check_layers(&m->config, layers, m->files.dir, err);
    if (code)
        return code;
    t->config.layers = layers;
    t->config_json = aoei_json_copy(t->contents.config_json);
    if (!t->config_json)
        return aoei_fail_nomem(err, strlen(m->files.dir));
    for (size_t i = 0; i < sizeof layer_keys / sizeof *layer_keys; i++)
        if (json_object_get(t->config_json, layer_keys[i])) {
            failed |= json_object_set_new(t->config_json, layer_keys[i], json_integer((json_int_t)layers));
            found = 1;
        }
    if (failed)
        return aoei_fail_nomem(err, strlen(m->files.dir));
    json_t *types = json_object_get(t->config_json, "layer_types");
    while (json_array_size(types) > layers)
        json_array_remove(types, json_array_size(types) - 1);
    if (!found)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: config.json does not contain the number of layers; add num_hidden_layers",
                         m->files.dir);
    t->contents.config_json = t->config_json;
    return aoei_layer_pooling_select(&t->config, t->settings.pooling, err);
}

int aoei_truncated_create(aoei_truncated_model *t, const aoei_model_contents *contents, const aoe_model *m, size_t layers,
                          size_t dims, aoe_error *err) {
    const size_t all_dims = aoei_settings_dims(&m->settings, aoei_vector_dims(&m->config));
    *t = (aoei_truncated_model){.contents = *contents,
                                .config = *contents->config,
                                .settings = *contents->settings,
                                .source = {.rows = truncated_rows},
                                .all = contents->rows};
    t->contents.config = &t->config;
    t->contents.settings = &t->settings;
    t->contents.rows = &t->source;
    if (dims > all_dims)
        return aoei_fail(err, AOE_EARG, "options.dims is %zu, but the embeddings of %s have only %zu components", dims,
                         m->files.dir, all_dims);
    if (dims && m->config.classes)
        return aoei_fail(err, AOE_EARG, "%s: options.dims: a cross-encoder has no embeddings", m->files.dir);
    if (dims && dims < aoei_vector_dims(&m->config))
        t->settings.truncate_dim = dims;
    const int code = layers ? set_layers(t, m, layers, err) : AOE_OK;
    t->pooled = aoei_pooled_slot(&t->config, 0);
    t->all_pooled = aoei_pooled_slot(contents->config, 0);
    return code;
}

void aoei_truncated_destroy(aoei_truncated_model *t) {
    json_decref(t->config_json);
    memset(t, 0, sizeof *t);
}
