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
#include "model/first_layers.h"

/* Keys of config.json for the number of layers. An architecture reads one of them, and the library transformers uses some of
 * them as other names of this key. */
static const char *const layer_keys[] = {"num_hidden_layers", "num_layers", "n_layers", "n_layer"};

static void truncated_rows(aoei_weight_reader *r, float *to, size_t slot, size_t first, size_t n) {
    aoei_truncated_model *t = (aoei_truncated_model *)(void *)((char *)r - offsetof(aoei_truncated_model, source));
    t->all->rows(t->all, to, slot < t->pooled ? slot : slot - t->pooled + t->all_pooled, first, n);
}

/* Sets the number of layers in t->config and t->config_json. */
static int set_layers(aoei_truncated_model *t, const aoe_model *m, size_t layers, aoe_error *err) {
    int failed = 0;
    const int code = aoei_first_layers_check(&m->config, layers, m->files.dir, err);
    if (code)
        return code;
    t->config.layers = layers;
    t->config_json = aoei_json_copy(t->contents.config_json);
    if (!t->config_json)
        return aoei_fail_nomem(err, strlen(m->files.dir));
    for (size_t i = 0; i < sizeof layer_keys / sizeof *layer_keys; i++)
        if (json_object_get(t->config_json, layer_keys[i]))
            failed |= json_object_set_new(t->config_json, layer_keys[i], json_integer((json_int_t)layers));
    if (!strcmp(t->config.arch->model_type, "distilbert")) /* the only architecture with a default for the number of layers */
        failed |= json_object_set_new(t->config_json, "n_layers", json_integer((json_int_t)layers));
    if (failed)
        return aoei_fail_nomem(err, strlen(m->files.dir));
    json_t *types = json_object_get(t->config_json, "layer_types");
    while (json_array_size(types) > layers)
        json_array_remove(types, json_array_size(types) - 1);
    t->contents.config_json = t->config_json;
    return aoei_layer_pooling_select(&t->config, t->settings.pooling, err);
}

int aoei_truncated_create(aoei_truncated_model *t, const aoei_model_contents *contents, const aoe_model *m, size_t layers,
                          size_t dims, aoe_error *err) {
    *t = (aoei_truncated_model){.contents = *contents,
                                .config = *contents->config,
                                .settings = *contents->settings,
                                .source = {.rows = truncated_rows},
                                .all = contents->rows};
    t->contents.config = &t->config;
    t->contents.settings = &t->settings;
    t->contents.rows = &t->source;
    int code = aoei_first_dims_select(&t->settings, &m->config, dims, m->files.dir, err);
    if (!code && layers)
        code = set_layers(t, m, layers, err);
    t->pooled = aoei_pooled_slot(&t->config, 0);
    t->all_pooled = aoei_pooled_slot(contents->config, 0);
    return code;
}

void aoei_truncated_destroy(aoei_truncated_model *t) {
    json_decref(t->config_json);
    memset(t, 0, sizeof *t);
}
