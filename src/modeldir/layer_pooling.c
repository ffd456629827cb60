/* SPDX-License-Identifier: MIT
 * Reads and writes the module WeightedLayerPooling.
 */
#include "modeldir/layer_pooling.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "modeldir/safetensors_writer.h"

static const char tensor_name[] = "layer_weights";

/* Returns an error if the value of `key` exists and is not `expected`. */
static int check_size(const json_t *config, const char *key, size_t expected, const char *path, aoe_error *err) {
    size_t n = expected;
    const int rc = aoei_json_size(config, key, &n, path, err);
    if (rc || n == expected)
        return rc;
    return aoei_fail(err, AOE_EFORMAT, "%s: %s is %zu, but the model requires %zu; download the model again", path, key,
                     n, expected);
}

/* Reads config.json of the module. The defaults are the same as in sentence-transformers. */
static int read_config(aoei_encoder_config *c, const json_t *config, const char *path, aoe_error *err) {
    size_t start = 4, layers = 12;
    int rc;
    if ((rc = check_size(config, "word_embedding_dimension", c->hidden, path, err)) ||
        (rc = check_size(config, "embedding_dimension", c->hidden, path, err)) ||
        (rc = aoei_json_size(config, "layer_start", &start, path, err)) ||
        (rc = aoei_json_size(config, "num_hidden_layers", &layers, path, err)))
        return rc;
    if (layers != c->layers || start > layers)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: num_hidden_layers is %zu and layer_start is %zu, but the model has %zu layers; correct the values",
            path, layers, start, c->layers);
    c->modules.layer_weights = layers + 1 - start;
    return 0;
}

int aoei_layer_pooling_open(aoei_encoder_config *c, aoei_model_files *f, aoei_model_dir dir, const char *folder,
                            aoe_error *err) {
    if (!folder)
        return 0;
    if (c->modules.paired_state)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the model has the module WeightedLayerPooling, so that its pooling cannot be a mean over two "
            "layers; choose another pooling",
            dir.path);
    if (!c->layers || c->arch->layer_slots)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the module WeightedLayerPooling is not supported by architecture '%s'; remove the module",
                         dir.path, c->arch->model_type);
    if (c->mlm_head)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: a model with the module WeightedLayerPooling cannot be pretrained; remove the module",
                         dir.path);
    json_t *config;
    const char *path;
    int rc = aoei_model_dir_folder(&dir, dir, folder, err);
    if (!rc)
        rc = aoei_model_dir_need_json(&config, &path, dir, "config.json", err);
    if (!rc && !json_is_object(config))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the model again", path);
    if (!rc)
        rc = read_config(c, config, path, err);
    if (!rc)
        rc = aoei_source_add_keys(dir.cache, folder, config, path, err);
    if (!rc)
        rc = aoei_safetensors_open_dir(&f->modules[AOEI_POOLED_LAYERS - 1], dir.path, err);
    return rc;
}

int aoei_layer_pooling_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    if (!c->modules.layer_weights)
        return 0;
    const aoei_safetensors *file = f->modules[AOEI_POOLED_LAYERS - 1];
    const aoei_st_tensor *t = aoei_safetensors_find(file, tensor_name);
    if (!t || t->n_dims != 1 || t->shape[0] != c->modules.layer_weights)
        return aoei_fail(
            err, AOE_EFORMAT, "%s: tensor '%s' of the module WeightedLayerPooling %s; download the model again", f->dir,
            tensor_name, t ? "does not have the shape that config.json in its folder requires" : "is missing");
    if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the data type of tensor '%s' is %s; it must be F32, F16 or BF16",
                         f->dir, tensor_name, aoei_st_dtype_name(t->dtype));
    f->tensors[aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS)] = t;
    return 0;
}

size_t aoei_layer_pooling_states(const aoei_encoder_config *c, aoe_pooling pooling) {
    if (c->modules.layer_weights || !aoei_pooling_averages_layers(pooling))
        return c->modules.layer_weights;
    return pooling == AOE_POOLING_LAST_TWO_AVG ? 2 : c->layers;
}

/* Writes the layer weights to model.safetensors in `folder`. */
static int write_weights(const aoei_model_contents *m, const char *folder, aoe_error *err) {
    const aoei_encoder_config *c = m->config;
    const size_t n = aoei_layer_pooling_states(c, m->settings->pooling);
    const aoei_st_entry entry = {tensor_name, AOEI_ST_F32, 1, {n}};
    aoei_st_writer *w = NULL;
    char *path = aoei_path_join(folder, "model.safetensors");
    float *row = aoei_malloc_array(n, sizeof *row);
    int rc = path && row ? aoei_st_writer_open(&w, path, &entry, 1, err) : aoei_fail_nomem(err, n * sizeof *row);
    if (!rc) {
        for (size_t i = 0; i < n; i++) /* the mean of the paired state and the last hidden state */
            row[i] = i == 0 || i + 1 == n ? 1 : 0;
        if (c->modules.layer_weights)
            m->rows->rows(m->rows, row, aoei_pooled_slot(c, AOEI_PW_LAYER_WEIGHTS), 0, 1);
        rc = aoei_st_writer_write(w, row, n * sizeof *row, err);
    }
    if (!rc) {
        rc = aoei_st_writer_commit(w, err);
        w = NULL;
    }
    aoei_st_writer_abort(w);
    aoei_free(row);
    aoei_free(path);
    return rc;
}

int aoei_layer_pooling_write(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    const aoei_encoder_config *c = m->config;
    const size_t n = aoei_layer_pooling_states(c, m->settings->pooling);
    if (!n || (!c->modules.layer_weights && (m->only_adapters || aoei_settings_unsupported(m->settings))))
        return 0;
    char *folder = aoei_path_join(dir, AOEI_LAYER_POOLING_FOLDER),
         *path = folder ? aoei_path_join(folder, "config.json") : NULL;
    json_t *config = json_pack("{s:I, s:I, s:I}", "word_embedding_dimension", (json_int_t)c->hidden, "layer_start",
                               (json_int_t)(c->layers + 1 - n), "num_hidden_layers", (json_int_t)c->layers);
    int rc = config && path ? aoei_make_dir(folder, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc)
        rc = aoei_json_save(config, path, err);
    if (!rc)
        rc = write_weights(m, folder, err);
    json_decref(config);
    aoei_free(path);
    aoei_free(folder);
    return rc;
}
