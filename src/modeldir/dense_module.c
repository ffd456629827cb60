/* SPDX-License-Identifier: MIT
 * The dense layer in files, and layers added to an open model. The folder holds
 * config.json (in_features, out_features, bias, activation_function) and
 * model.safetensors (linear.weight [out, in], linear.bias [out]).
 */
#include "modeldir/dense_module.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "create/init.h"
#include "encoder/slots.h"
#include "modeldir/settings.h"

#define MOST_DIMS ((size_t)1 << 16)

static const char identity[] = "torch.nn.modules.linear.Identity", hyperbolic[] = "torch.nn.modules.activation.Tanh";

const char *aoei_dense_folder(const aoei_settings *s) {
    return s->pooling == AOE_POOLING_CLS_LAST_AVG ? "3_Dense" : "2_Dense"; /* behind the one that averages */
}

/* ---------------------------------------------------------------- reading */

/* The last dotted part of the activation's class. */
static int read_activation(int *with_tanh, const json_t *config, const char *path, aoe_error *err) {
    const char *name = NULL;
    const int rc = aoei_json_string(config, "activation_function", &name, NULL, path, err);
    const char *dot = name ? strrchr(name, '.') : NULL, *last = dot ? dot + 1 : name;
    if (rc)
        return rc;
    *with_tanh = !last || !strcmp(last, "Tanh"); /* what sentence-transformers takes where nothing is said */
    if (*with_tanh || !strcmp(last, "Identity"))
        return 0;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: activation_function '%s' is not supported (supported: Identity, Tanh)", path,
                     name);
}

static int read_config(aoei_encoder_config *c, const json_t *config, const char *path, aoe_error *err) {
    size_t in = 0, out = 0;
    int bias = 1, residual = 0, rc;
    if ((rc = aoei_json_need_size(config, "in_features", &in, path, err)) ||
        (rc = aoei_json_need_size(config, "out_features", &out, path, err)) ||
        (rc = aoei_check_size("out_features", out, 1, MOST_DIMS, path, err)) ||
        (rc = aoei_json_bool(config, "bias", &bias, path, err)) ||
        (rc = aoei_json_bool(config, "use_residual", &residual, path, err)) ||
        (rc = read_activation(&c->dense_tanh, config, path, err)))
        return rc;
    if (residual)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: a Dense module with use_residual is not supported", path);
    if (in != c->hidden)
        return aoei_fail(err, AOE_EFORMAT, "%s: in_features is %zu, the model's hidden size %zu: they are of different models",
                         path, in, c->hidden);
    c->dense = out;
    c->dense_no_bias = !bias;
    return 0;
}

int aoei_dense_open(aoe_model *m, const char *dir, const char *folder, aoe_error *err) {
    json_t *config = NULL;
    char *at = aoei_path_join(dir, folder), *path = at ? aoei_path_join(at, "config.json") : NULL;
    int rc = path ? aoei_json_load(&config, path, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc && !json_is_object(config))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; fetch the model again", path);
    if (!rc)
        rc = read_config(&m->config, config, path, err);
    if (!rc)
        rc = aoei_safetensors_open_dir(&m->dense_file, at, err);
    json_decref(config);
    aoei_free(path);
    aoei_free(at);
    return rc;
}

int aoei_dense_find(aoe_model *m, aoe_error *err) {
    for (size_t kind = AOEI_PW_DENSE; m->config.dense && kind <= AOEI_PW_DENSE_BIAS; kind++) {
        const size_t index = aoei_pooled_slot(&m->config, kind);
        aoei_slot s;
        aoei_slot_describe(&m->config, index, &s);
        if (s.absent)
            continue;
        const aoei_st_tensor *t = m->stored[index] = aoei_safetensors_find(m->dense_file, s.name);
        const aoei_st_tensor *any = aoei_safetensors_count(m->dense_file) ? aoei_safetensors_at(m->dense_file, 0) : NULL;
        if (!t || t->n_dims != (s.vector ? 1 : 2) || t->shape[t->n_dims - 1] != s.cols || (!s.vector && t->shape[0] != s.rows))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: tensor '%s' of the dense layer %s, which its config.json asks for: fetch the model again",
                             any ? aoei_safetensors_path(m->dense_file, any) : m->dir, s.name,
                             t ? "has another shape than that" : "is missing");
        if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
            return aoei_fail(err, AOE_EUNSUPPORTED, "%s: tensor '%s' is of %s; a dense layer is read as F32, F16 or BF16",
                             aoei_safetensors_path(m->dense_file, t), t->name, aoei_st_dtype_name(t->dtype));
    }
    return 0;
}

/* ---------------------------------------------------------------- writing */

static int write_weights(const aoe_model *m, const char *folder, aoe_error *err) {
    const aoei_encoder_config *c = &m->config;
    const size_t slot = aoei_pooled_slot(c, AOEI_PW_DENSE), n = c->dense_no_bias ? 1 : 2;
    const size_t wide = c->hidden > c->dense ? c->hidden : c->dense;
    const aoei_st_entry entries[2] = {{"linear.weight", AOEI_ST_F32, 2, {c->dense, c->hidden}},
                                      {"linear.bias", AOEI_ST_F32, 1, {c->dense}}};
    aoei_st_writer *w = NULL;
    char *path = aoei_path_join(folder, "model.safetensors");
    float *row = aoei_malloc_array(wide, sizeof *row);
    int rc = path && row ? aoei_st_writer_open(&w, path, entries, n, err) : aoei_fail_nomem(err, wide * sizeof *row);
    for (size_t i = 0; i < c->dense && !rc; i++) {
        aoei_model_rows(m, row, slot, i, 1);
        rc = aoei_st_writer_write(w, row, c->hidden * sizeof *row, err);
    }
    if (!rc && n == 2) {
        aoei_model_rows(m, row, slot + 1, 0, 1);
        rc = aoei_st_writer_write(w, row, c->dense * sizeof *row, err);
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

int aoei_dense_save(const aoe_model *m, const char *dir, aoe_error *err) {
    const aoei_encoder_config *c = &m->config;
    if (!c->dense)
        return 0;
    json_t *config =
        json_pack("{s:I, s:I, s:b, s:s}", "in_features", (json_int_t)c->hidden, "out_features", (json_int_t)c->dense, "bias",
                  !c->dense_no_bias, "activation_function", c->dense_tanh ? hyperbolic : identity);
    char *folder = aoei_path_join(dir, aoei_dense_folder(&m->settings)),
         *path = folder ? aoei_path_join(folder, "config.json") : NULL;
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

/* ----------------------------------------------------------------- adding */

/* The model's tables of slots, as long as its configuration now asks for; they were `before` long. */
static int extend(aoe_model *m, size_t before, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    if (n == before)
        return 0;
    aoei_tensor *weights = aoei_realloc_array(m->weights, n, sizeof *weights);
    if (weights) {
        memset(weights + before, 0, (n - before) * sizeof *weights);
        m->weights = weights;
    }
    const aoei_st_tensor **stored = m->stored && weights ? aoei_realloc_array(m->stored, n, sizeof *stored) : NULL;
    if (stored) {
        memset(stored + before, 0, (n - before) * sizeof *stored);
        m->stored = stored;
    }
    return weights && (stored || !m->stored) ? 0 : aoei_fail_nomem(err, n * sizeof *weights);
}

/* A matrix and a vector behind the pooling: kind and kind + 1 of aoei_pooled_slot. before: slots without them. */
static int add_layer(aoe_model *m, size_t before, size_t kind, const float *weight, const float *bias, uint64_t seed,
                     aoe_error *err) {
    const size_t slot = aoei_pooled_slot(&m->config, kind);
    aoei_slot s;
    int rc = extend(m, before, err);
    if (rc)
        return rc;
    aoei_slot_describe(&m->config, slot, &s);
    const size_t line = AOEI_ALIGN / sizeof(float), cells = (s.rows * s.cols + line - 1) / line * line;
    m->behind = aoei_aligned((cells + s.rows) * sizeof *m->behind);
    if (!m->behind)
        return aoei_fail_nomem(err, (cells + s.rows) * sizeof *m->behind);
    m->weights[slot] = aoei_tensor_wrap(m->behind, s.rows, s.cols);
    m->weights[slot + 1] = aoei_tensor_wrap(m->behind + cells, 1, s.rows);
    if (weight) {
        memcpy(m->behind, weight, s.rows * s.cols * sizeof *weight);
        memcpy(m->behind + cells, bias, s.rows * sizeof *bias);
        return 0;
    }
    aoei_init_weight(m->behind, &m->config, slot, seed);
    aoei_init_weight(m->behind + cells, &m->config, slot + 1, seed);
    return 0;
}

int aoei_model_add_dense(aoe_model *m, size_t out, int with_tanh, const float *weight, const float *bias, uint64_t seed,
                         aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config);
    m->settings.dense = aoei_strdup(aoei_dense_folder(&m->settings));
    if (!m->settings.dense)
        return aoei_fail_nomem(err, 1);
    m->config.dense = out;
    m->config.dense_tanh = with_tanh;
    m->config.dense_no_bias = 0;
    return add_layer(m, before, AOEI_PW_DENSE, weight, bias, seed, err);
}

int aoei_model_add_head(aoe_model *m, size_t rows, size_t cols, uint64_t seed, aoe_error *err) {
    const size_t before = aoei_slot_count(&m->config);
    m->config.head_rows = rows;
    m->config.head_cols = cols;
    return add_layer(m, before, AOEI_PW_HEAD, NULL, NULL, seed, err);
}
