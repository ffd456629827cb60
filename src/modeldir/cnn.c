/* SPDX-License-Identifier: MIT
 * Reads and writes the module CNN.
 */
#include "modeldir/cnn.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "modeldir/safetensors_writer.h"

#define MAX_CHANNELS ((size_t)1 << 14)
#define MAX_KERNEL   ((size_t)255)

/* Checks the key `key`, the number of input channels. A missing key is no error. */
static int check_input(const json_t *config, const char *key, size_t hidden, const char *path, aoe_error *err) {
    size_t n = hidden;
    const int rc = aoei_json_size(config, key, &n, path, err);
    if (rc || n == hidden)
        return rc;
    return aoei_fail(err, AOE_EFORMAT, "%s: %s is %zu, but the model's hidden size is %zu; download the model again", path, key,
                     n, hidden);
}

/* Reads the kernel sizes. */
static int read_kernels(aoei_encoder_config *c, const json_t *list, const char *path, aoe_error *err) {
    const size_t n = json_array_size(list);
    if (n < 1 || n > AOEI_MAX_KERNELS)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: kernel_sizes is not a list of 1 to %d kernel sizes", path,
                         AOEI_MAX_KERNELS);
    for (size_t i = 0; i < n; i++) {
        const json_int_t k = json_integer_value(json_array_get(list, i));
        if (k < 1 || k > (json_int_t)MAX_KERNEL || k % 2 == 0)
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: element %zu of kernel_sizes is not an odd number from 1 to %zu; other kernel sizes are not "
                             "supported",
                             path, i, MAX_KERNEL);
        c->kernels[i] = (size_t)k;
    }
    c->n_kernels = n;
    return 0;
}

/* Checks the strides, which must be 1. */
static int check_strides(const json_t *list, const char *path, aoe_error *err) {
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v) {
        if (json_integer_value(v) != 1)
            return aoei_fail(err, AOE_EUNSUPPORTED, "%s: element %zu of stride_sizes is not 1; other strides are not supported",
                             path, i);
    }
    return 0;
}

static int read_config(aoei_encoder_config *c, const json_t *config, const char *path, aoe_error *err) {
    int rc;
    if (!json_is_object(config))
        return aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the model again", path);
    if ((rc = check_input(config, "in_word_embedding_dimension", c->hidden, path, err)) ||
        (rc = check_input(config, "in_embedding_dimension", c->hidden, path, err)) ||
        (rc = aoei_json_need_size(config, "out_channels", &c->kernel_channels, path, err)) ||
        (rc = aoei_check_size("out_channels", c->kernel_channels, 1, MAX_CHANNELS, path, err)) ||
        (rc = check_strides(json_object_get(config, "stride_sizes"), path, err)))
        return rc;
    return read_kernels(c, json_object_get(config, "kernel_sizes"), path, err);
}

int aoei_cnn_read(aoei_encoder_config *c, const char *dir, const char *folder, aoe_error *err) {
    json_t *config = NULL;
    char *at = aoei_path_join(dir, folder), *path = at ? aoei_path_join(at, "cnn_config.json") : NULL;
    int rc = path ? aoei_json_load(&config, path, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc)
        rc = read_config(c, config, path, err);
    json_decref(config);
    aoei_free(path);
    aoei_free(at);
    return rc;
}

int aoei_cnn_check(const aoei_encoder_config *c, aoe_pooling pooling, const char *dir, aoe_error *err) {
    if (!c->layers || c->arch->layer_slots)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the module CNN is not supported by architecture '%s'; use a transformer model", dir,
                         c->arch->model_type);
    if (c->mlm_head)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: a model with the module CNN cannot be pretrained; remove the module", dir);
    if (aoei_pools_mean_state(c) || pooling == AOE_POOLING_FIRST_LAST_AVG)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: the module CNN uses only the last hidden state, so the pooling cannot be a mean over several "
                         "layers; choose another pooling",
                         dir);
    return 0;
}

int aoei_cnn_open(aoei_encoder_config *c, aoei_model_files *f, const char *dir, const aoei_settings *settings, aoe_error *err) {
    if (!settings->cnn)
        return 0;
    int rc = aoei_cnn_check(c, settings->pooling, dir, err);
    if (!rc)
        rc = aoei_cnn_read(c, dir, settings->cnn, err);
    char *at = rc ? NULL : aoei_path_join(dir, settings->cnn);
    if (!rc)
        rc = at ? aoei_safetensors_open_dir(&f->modules[AOEI_POOLED_CONVOLUTION - 1], at, err)
                : aoei_fail_nomem(err, strlen(dir));
    aoei_free(at);
    return rc;
}

/* Finds the tensor of one weight. slot: index of the weight; i: index of the convolution. */
static int find_weight(aoei_model_files *f, const aoei_encoder_config *c, size_t slot, size_t i, aoe_error *err) {
    aoei_slot s;
    aoei_slot_describe(c, slot, &s);
    const aoei_st_tensor *t = f->tensors[slot] = aoei_safetensors_find(f->modules[AOEI_POOLED_CONVOLUTION - 1], s.name);
    const size_t shape[3] = {c->kernel_channels, c->hidden, c->kernels[i]}, n_dims = s.vector ? 1 : 3;
    if (!t || t->n_dims != n_dims || memcmp(t->shape, shape, n_dims * sizeof *shape) != 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' of the module CNN %s; download the model again", f->dir, s.name,
                         t ? "does not have the shape that cnn_config.json requires" : "is missing");
    if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the data type of tensor '%s' is %s; it must be F32, F16 or BF16", f->dir,
                         s.name, aoei_st_dtype_name(t->dtype));
    return 0;
}

int aoei_cnn_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    int rc = 0;
    for (size_t k = 0; k < 2 * c->n_kernels && !rc; k++)
        rc = find_weight(f, c, aoei_pooled_slot(c, AOEI_PW_CONVOLUTION + k), k / 2, err);
    return rc;
}

/* Writes all weights to model.safetensors in `folder`. */
static int write_weights(const aoei_model_contents *m, const char *folder, aoe_error *err) {
    const aoei_encoder_config *c = m->config;
    aoei_st_entry entries[2 * AOEI_MAX_KERNELS];
    aoei_slot s[2 * AOEI_MAX_KERNELS];
    aoei_st_writer *w = NULL;
    size_t most = 0;
    for (size_t k = 0; k < 2 * c->n_kernels; k++) {
        aoei_slot_describe(c, aoei_pooled_slot(c, AOEI_PW_CONVOLUTION + k), &s[k]);
        most = s[k].cols > most ? s[k].cols : most;
        entries[k] = s[k].vector ? (aoei_st_entry){s[k].name, AOEI_ST_F32, 1, {s[k].cols}}
                                 : (aoei_st_entry){s[k].name, AOEI_ST_F32, 3, {s[k].rows, c->hidden, c->kernels[k / 2]}};
    }
    char *path = aoei_path_join(folder, "model.safetensors");
    float *row = aoei_malloc_array(most, sizeof *row);
    int rc =
        path && row ? aoei_st_writer_open(&w, path, entries, 2 * c->n_kernels, err) : aoei_fail_nomem(err, most * sizeof *row);
    for (size_t k = 0; k < 2 * c->n_kernels; k++)
        for (size_t r = 0; r < s[k].rows && !rc; r++) {
            m->rows->rows(m->rows, row, aoei_pooled_slot(c, AOEI_PW_CONVOLUTION + k), r, 1);
            rc = aoei_st_writer_write(w, row, s[k].cols * sizeof *row, err);
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

int aoei_cnn_write(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    const aoei_encoder_config *c = m->config;
    if (!c->n_kernels)
        return 0;
    char *folder = aoei_path_join(dir, AOEI_CNN_FOLDER), *path = folder ? aoei_path_join(folder, "cnn_config.json") : NULL;
    json_t *kernels = json_array();
    for (size_t i = 0; i < c->n_kernels && kernels; i++)
        if (json_array_append_new(kernels, json_integer((json_int_t)c->kernels[i]))) {
            json_decref(kernels);
            kernels = NULL;
        }
    json_t *config = kernels ? json_pack("{s:I, s:I, s:o}", "in_word_embedding_dimension", (json_int_t)c->hidden,
                                         "out_channels", (json_int_t)c->kernel_channels, "kernel_sizes", kernels)
                             : NULL;
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
