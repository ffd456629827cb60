/* SPDX-License-Identifier: MIT
 * Reads and writes the folders of modules. The folder of a module contains config.json, which is optional for
 * Normalize, and, if the module has weights, model.safetensors:
 * - Dense: config.json with the keys in_features, out_features, bias, activation_function and use_residual; the tensors
 *   linear.weight [out_features, in_features], linear.bias [out_features] and residual.weight [out_features,
 *   in_features]
 * - LayerNorm: config.json with the keys dimension and eps, which only aoe has (1e-5 if it is missing); the tensors
 *   norm.weight [dimension] and norm.bias [dimension]
 * - Dropout: config.json with the key dropout
 * - Flow: config.json with the keys levels, depth and width; the tensor parameters [aoei_flow_parameters] (nn/flow.h)
 */
#include "modeldir/pooled_modules.h"

#include <stdio.h>
#include <string.h>

#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/dir.h"
#include "base/path.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "modeldir/safetensors_writer.h"

#define MAX_DIMS ((size_t)1 << 16)

/* class names of the activation functions, indexed by aoei_dense_activation */
static const char *const activations[] = {"torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Tanh",
                                          "torch.nn.modules.activation.ReLU", "torch.nn.modules.activation.Sigmoid",
                                          "torch.nn.modules.activation.GELU", "torch.nn.modules.activation.SiLU"};
enum { N_ACTIVATIONS = sizeof activations / sizeof *activations };

/* type names of the modules, indexed by aoei_module_kind */
static const char *const kinds[] = {"Dense", "LayerNorm", "Dropout", "Normalize", AOEI_FLOW_TYPE};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* ---------------------------------------------------------------- reading */

/* Reads the activation function from `config`, which contains a class name such as
 * "torch.nn.modules.activation.Tanh". */
static int read_activation(aoei_dense_activation *f, const json_t *config, const char *path, aoe_error *err) {
    const char *name = NULL;
    const int rc = aoei_json_string(config, "activation_function", &name, NULL, path, err);
    const char *dot = name ? strrchr(name, '.') : NULL, *last = dot ? dot + 1 : name;
    if (rc)
        return rc;
    *f = AOEI_DENSE_TANH; /* default of sentence-transformers */
    for (int i = 0; last && i < N_ACTIVATIONS; i++)
        if (!strcmp(last, strrchr(activations[i], '.') + 1)) {
            *f = (aoei_dense_activation)i;
            return 0;
        }
    if (!last)
        return 0;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: activation_function '%s' is not supported (supported: Identity, Tanh, ReLU, Sigmoid, GELU, SiLU)", path,
        name);
}

int aoei_module_check_names(const json_t *config, int scores, const char *path, aoe_error *err) {
    static const char *const keys[] = {"module_input_name", "module_output_name"};
    for (size_t i = 0; i < 2; i++) {
        const char *name = NULL;
        const int rc = aoei_json_string(config, keys[i], &name, NULL, path, err);
        if (rc)
            return rc;
        if (name && strcmp(name, "sentence_embedding") != 0 && !(scores && i == 1 && !strcmp(name, "scores")))
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: %s '%s' is not supported; only modules that replace 'sentence_embedding' are supported%s", path,
                keys[i], name,
                strcmp(name, "scores") ? "" : "; the model is a cross-encoder, so score pairs with it (aoe rerank)");
    }
    return 0;
}

/* Returns an error if `in`, the value of `key`, is not the number of components of the input. index: index of the
 * module. */
static int check_input(size_t in, size_t expected, const char *key, size_t index, const char *path, aoe_error *err) {
    if (in == expected)
        return 0;
    return aoei_fail(err, AOE_EFORMAT,
                     index ? "%s: %s is %zu, but the previous module has %zu outputs; download the model again"
                           : "%s: %s is %zu, but the model's hidden size is %zu; download the model again",
                     path, key, in, expected);
}

static int read_dense(aoei_module *m, size_t index, const json_t *config, const char *path, aoe_error *err) {
    const size_t expected = m->in;
    size_t in = 0, out = 0;
    int bias = 1, residual = 0, rc;
    if ((rc = aoei_json_need_size(config, "in_features", &in, path, err)) ||
        (rc = aoei_json_need_size(config, "out_features", &out, path, err)) ||
        (rc = aoei_check_size("out_features", out, 1, MAX_DIMS, path, err)) ||
        (rc = aoei_json_bool(config, "bias", &bias, path, err)) ||
        (rc = aoei_json_bool(config, "use_residual", &residual, path, err)) ||
        (rc = read_activation(&m->activation, config, path, err)) ||
        (rc = check_input(in, expected, "in_features", index, path, err)))
        return rc;
    m->out = out;
    m->no_bias = !bias;
    m->residual = !residual ? AOEI_RESIDUAL_NONE : in == out ? AOEI_RESIDUAL_INPUT : AOEI_RESIDUAL_WEIGHT;
    return 0;
}

static int read_flow(aoei_module *m, const json_t *config, const char *path, aoe_error *err) {
    int rc;
    if ((rc = aoei_json_need_size(config, "levels", &m->levels, path, err)) ||
        (rc = aoei_check_size("levels", m->levels, 1, AOEI_FLOW_MAX_LEVELS, path, err)) ||
        (rc = aoei_json_need_size(config, "depth", &m->depth, path, err)) ||
        (rc = aoei_check_size("depth", m->depth, 1, AOEI_FLOW_MAX_DEPTH, path, err)) ||
        (rc = aoei_json_need_size(config, "width", &m->width, path, err)) ||
        (rc = aoei_check_size("width", m->width, 1, AOEI_FLOW_MAX_WIDTH, path, err)))
        return rc;
    const aoei_flow_shape shape = aoei_module_flow_shape(m);
    if (aoei_flow_dims_valid(&shape))
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: levels is %zu, but the number of components of the input, %zu, is not a multiple of %zu; correct the "
        "value",
        path, m->levels, m->in, (size_t)1 << m->levels);
}

static int read_layernorm(aoei_module *m, size_t index, const json_t *config, const char *path, aoe_error *err) {
    size_t dimension = 0;
    int rc;
    if ((rc = aoei_json_need_size(config, "dimension", &dimension, path, err)) ||
        (rc = check_input(dimension, m->in, "dimension", index, path, err)) ||
        (rc = aoei_json_double(config, "eps", &m->norm_eps, path, err)))
        return rc;
    if (json_object_get(config, "eps") && !(m->norm_eps > 0 && m->norm_eps < 1))
        return aoei_fail(err, AOE_EFORMAT, "%s: eps is %g, but must be above 0 and below 1; correct the value", path,
                         m->norm_eps);
    return AOE_OK;
}

/* Reads the configuration of a module. The caller has set m->kind and m->in. scores: see aoei_module_check_names. */
static int read_config(aoei_module *m, size_t index, int scores, const json_t *config, const char *path,
                       aoe_error *err) {
    int rc = aoei_module_check_names(config, scores, path, err);
    m->out = m->in;
    if (!rc && m->kind == AOEI_MODULE_DENSE)
        rc = read_dense(m, index, config, path, err);
    else if (!rc && m->kind == AOEI_MODULE_LAYERNORM)
        rc = read_layernorm(m, index, config, path, err);
    else if (!rc && m->kind == AOEI_MODULE_DROPOUT &&
             !(rc = aoei_json_double(config, "dropout", &m->dropout, path, err)))
        rc = aoei_check_probability("dropout", m->dropout, path, err);
    else if (!rc && m->kind == AOEI_MODULE_FLOW)
        rc = read_flow(m, config, path, err);
    return rc;
}

/* Reads the module in DIR/folder into m. Opens its weights as *file. */
static int open_module(aoei_module *m, aoei_safetensors **file, size_t index, int scores, aoei_model_dir dir,
                       const char *folder, aoe_error *err) {
    json_t *config = NULL;
    const char *path = NULL;
    int rc = aoei_model_dir_folder(&dir, dir, folder, err);
    if (rc)
        return rc;
    const int optional = m->kind == AOEI_MODULE_NORMALIZE && !aoei_entry_exists(dir.path, "config.json");
    if (!optional)
        rc = aoei_model_dir_need_json(&config, &path, dir, "config.json", err);
    if (!rc && !optional && !json_is_object(config))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the model again", path);
    if (!rc)
        rc = read_config(m, index, scores, config, path, err);
    if (!rc)
        rc = aoei_source_add_keys(dir.cache, folder, config, path, err);
    if (!rc && (m->kind == AOEI_MODULE_DENSE || m->kind == AOEI_MODULE_LAYERNORM || m->kind == AOEI_MODULE_FLOW))
        rc = aoei_safetensors_open_dir(file, dir.path, err);
    return rc;
}

int aoei_modules_open(aoei_encoder_config *c, aoei_model_files *f, aoei_model_dir dir, const json_t *modules,
                      aoe_error *err) {
    size_t i;
    json_t *v;
    json_array_foreach(modules, i, v) {
        const char *type = json_string_value(json_object_get(v, "type")),
                   *at = json_string_value(json_object_get(v, "path"));
        int kind = 0;
        while (type && kind < N_KINDS && strcmp(kinds[kind], type) != 0)
            kind++;
        if (i == AOEI_MAX_MODULES || !type || !at || kind == N_KINDS)
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: module '%s' after the pooling is not supported (at most %d modules "
                             "Dense, LayerNorm, Dropout, Normalize or Flow are supported)",
                             dir.path, type ? type : "", AOEI_MAX_MODULES);
        aoei_module m = {.kind = (aoei_module_kind)kind, .in = aoei_vector_dims(c)};
        const int rc = open_module(&m, &f->modules[i], i, f->module_head, dir, at, err);
        if (rc)
            return rc;
        c->modules.list[c->modules.n++] = m;
    }
    return 0;
}

/* Finds the tensor of one weight. slot: index of the weight; s: its description; layer: name of the module in
 * messages. */
static int find_weight(aoei_model_files *f, size_t slot, const aoei_slot *s, const char *layer, aoe_error *err) {
    const aoei_safetensors *file = f->modules[s->pooled - 1];
    const aoei_st_tensor *t = f->tensors[slot] = aoei_safetensors_find(file, s->name);
    const aoei_st_tensor *any = aoei_safetensors_count(file) ? aoei_safetensors_at(file, 0) : NULL;
    if (!t || t->n_dims != (s->vector ? 1 : 2) || t->shape[t->n_dims - 1] != s->cols ||
        (!s->vector && t->shape[0] != s->rows))
        return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' of the %s %s; download the model again",
                         any ? aoei_safetensors_path(file, any) : f->dir, s->name, layer,
                         t ? "does not have the shape that config.json in this folder requires" : "is missing");
    if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the data type of tensor '%s' is %s; %ss must be F32, F16 or BF16",
                         aoei_safetensors_path(file, t), t->name, aoei_st_dtype_name(t->dtype), layer);
    return 0;
}

/* Checks that module i uses every tensor of its file. used: number of tensors that it uses. */
static int check_all_used(const aoei_model_files *f, const aoei_encoder_config *c, size_t i, size_t used,
                          aoe_error *err) {
    const aoei_safetensors *file = f->modules[i];
    for (size_t k = 0; file && k < aoei_safetensors_count(file) && used < aoei_safetensors_count(file); k++) {
        const aoei_st_tensor *t = aoei_safetensors_at(file, k);
        int is_used = 0;
        for (size_t part = 0; part < AOEI_MODULE_WEIGHTS; part++)
            is_used |= f->tensors[aoei_pooled_slot(c, AOEI_MODULE_WEIGHTS * i + part)] == t;
        if (!is_used)
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s: config.json in this folder describes a module without the tensor '%s'; correct the keys of "
                "config.json, such as bias and use_residual",
                aoei_safetensors_path(file, t), t->name);
    }
    return 0;
}

int aoei_modules_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    if (c->modules.classes && !c->modules.head_in_modules) /* the modules are the classification head, whose weights are
                                              in the weight file of the model */
        return 0;
    size_t used = 0;
    int rc = 0;
    for (size_t kind = 0; kind < AOEI_MODULE_WEIGHTS * c->modules.n && !rc; kind++) {
        const size_t slot = aoei_pooled_slot(c, kind);
        aoei_slot s;
        aoei_slot_describe(c, slot, &s);
        const int is_flow = c->modules.list[kind / AOEI_MODULE_WEIGHTS].kind == AOEI_MODULE_FLOW;
        used += !s.absent;
        rc = s.absent ? 0 : find_weight(f, slot, &s, is_flow ? "flow" : "dense layer", err);
        if (!rc && (kind + 1) % AOEI_MODULE_WEIGHTS == 0) {
            rc = check_all_used(f, c, kind / AOEI_MODULE_WEIGHTS, used, err);
            used = 0;
        }
    }
    return rc;
}

/* ---------------------------------------------------------------- writing */

json_t *aoei_module_config_json(const aoei_module *m) {
    switch (m->kind) {
    case AOEI_MODULE_DENSE: {
        json_t *config =
            json_pack("{s:I, s:I, s:b, s:s}", "in_features", (json_int_t)m->in, "out_features", (json_int_t)m->out,
                      "bias", !m->no_bias, "activation_function", activations[m->activation]);
        if (config && m->residual != AOEI_RESIDUAL_NONE && json_object_set_new(config, "use_residual", json_true())) {
            json_decref(config);
            return NULL;
        }
        return config;
    }
    case AOEI_MODULE_LAYERNORM:
        return m->norm_eps > 0 ? json_pack("{s:I, s:f}", "dimension", (json_int_t)m->out, "eps", m->norm_eps)
                               : json_pack("{s:I}", "dimension", (json_int_t)m->out);
    case AOEI_MODULE_DROPOUT:
        return json_pack("{s:f}", "dropout", m->dropout);
    case AOEI_MODULE_FLOW:
        return json_pack("{s:I, s:I, s:I}", "levels", (json_int_t)m->levels, "depth", (json_int_t)m->depth, "width",
                         (json_int_t)m->width);
    default:
        return json_object();
    }
}

/* Describes the tensors of module i: writes their slots to slots[AOEI_MODULE_WEIGHTS], their names and shapes to
 * `entries` and `described`, and returns their number. */
static size_t list_weights(const aoei_encoder_config *c, size_t i, size_t *slots, aoei_slot *described,
                           aoei_st_entry *entries) {
    size_t n = 0;
    for (size_t part = 0; part < AOEI_MODULE_WEIGHTS; part++) {
        const size_t slot = aoei_pooled_slot(c, AOEI_MODULE_WEIGHTS * i + part);
        aoei_slot *s = &described[n];
        aoei_slot_describe(c, slot, s);
        if (s->absent)
            continue;
        entries[n] = s->vector ? (aoei_st_entry){s->name, AOEI_ST_F32, 1, {s->cols}}
                               : (aoei_st_entry){s->name, AOEI_ST_F32, 2, {s->rows, s->cols}};
        slots[n++] = slot;
    }
    return n;
}

/* Writes model.safetensors of module i, if the module has weights. One row of a weight is in memory at a time. */
static int write_weights(const aoei_model_contents *m, size_t i, const char *folder, aoe_error *err) {
    const aoei_encoder_config *c = m->config;
    size_t longest = 0;
    size_t slots[AOEI_MODULE_WEIGHTS];
    aoei_slot described[AOEI_MODULE_WEIGHTS];
    aoei_st_entry entries[AOEI_MODULE_WEIGHTS];
    const size_t n = list_weights(c, i, slots, described, entries);
    if (!n)
        return 0;
    for (size_t k = 0; k < n; k++)
        longest = described[k].cols > longest ? described[k].cols : longest;
    aoei_st_writer *w = NULL;
    char *path = aoei_path_join(folder, "model.safetensors");
    float *row = aoei_malloc_array(longest, sizeof *row);
    int rc = path && row ? aoei_st_writer_open(&w, path, entries, n, err) : aoei_fail_nomem(err, longest * sizeof *row);
    for (size_t k = 0; k < n; k++)
        for (size_t r = 0; r < described[k].rows && !rc; r++) {
            m->rows->rows(m->rows, row, slots[k], r, 1);
            rc = aoei_st_writer_write(w, row, described[k].cols * sizeof *row, err);
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

int aoei_modules_write(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    if (m->config->modules.classes && !m->config->modules.head_in_modules)
        return 0;
    int rc = 0;
    for (size_t i = 0; i < m->config->modules.n && !rc; i++) {
        char name[AOEI_MODULE_FOLDER_SIZE];
        json_t *config = aoei_module_config_json(&m->config->modules.list[i]);
        char *folder = aoei_path_join(dir, aoei_settings_module_folder(m->settings, i, name)),
             *path = folder ? aoei_path_join(folder, "config.json") : NULL;
        rc = config && path ? aoei_make_dir(folder, err) : aoei_fail_nomem(err, strlen(dir));
        if (!rc)
            rc = aoei_json_save(config, path, err);
        if (!rc)
            rc = write_weights(m, i, folder, err);
        json_decref(config);
        aoei_free(path);
        aoei_free(folder);
    }
    return rc;
}
