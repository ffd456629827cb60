/* SPDX-License-Identifier: MIT
 * Reads and writes the modules CNN and LSTM.
 */
#include "modeldir/token_module.h"

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
#define MAX_OUTPUTS  ((size_t)1 << 14) /* maximum number of outputs of one direction of an LSTM */

static const char *const names[] = {NULL, "CNN", "LSTM"}, *const folders[] = {NULL, "1_CNN", "1_LSTM"},
                         *const files[] = {NULL, "cnn_config.json", "lstm_config.json"};

const char *aoei_token_module_name(aoei_token_module kind) {
    return names[kind];
}

aoei_token_module aoei_token_module_find(const char *name) {
    for (int kind = AOEI_TOKEN_MODULE_NONE + 1; kind < AOEI_TOKEN_MODULE_COUNT; kind++)
        if (!strcmp(names[kind], name))
            return (aoei_token_module)kind;
    return AOEI_TOKEN_MODULE_NONE;
}

const char *aoei_token_module_file(aoei_token_module kind) {
    return files[kind];
}

const char *aoei_token_module_folder(aoei_token_module kind) {
    return folders[kind];
}

/* Checks the key `key`, the number of input channels. A missing key is no error. */
static int check_input(const json_t *config, const char *key, size_t hidden, const char *path, aoe_error *err) {
    size_t n = hidden;
    const int rc = aoei_json_size(config, key, &n, path, err);
    if (rc || n == hidden)
        return rc;
    return aoei_fail(err, AOE_EFORMAT, "%s: %s is %zu, but the model's hidden size is %zu; download the model again",
                     path, key, n, hidden);
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
            return aoei_fail(
                err, AOE_EUNSUPPORTED,
                "%s: element %zu of kernel_sizes is not an odd number from 1 to %zu; other kernel sizes are not "
                "supported",
                path, i, MAX_KERNEL);
        c->modules.kernels[i] = (size_t)k;
    }
    c->modules.n_kernels = n;
    return 0;
}

/* Checks the strides, which must be 1. */
static int check_strides(const json_t *list, const char *path, aoe_error *err) {
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v) {
        if (json_integer_value(v) != 1)
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: element %zu of stride_sizes is not 1; other strides are not supported", path, i);
    }
    return 0;
}

static int read_cnn(aoei_encoder_config *c, const json_t *config, const char *path, aoe_error *err) {
    int rc;
    if ((rc = check_input(config, "in_word_embedding_dimension", c->hidden, path, err)) ||
        (rc = check_input(config, "in_embedding_dimension", c->hidden, path, err)) ||
        (rc = aoei_json_need_size(config, "out_channels", &c->modules.kernel_channels, path, err)) ||
        (rc = aoei_check_size("out_channels", c->modules.kernel_channels, 1, MAX_CHANNELS, path, err)) ||
        (rc = check_strides(json_object_get(config, "stride_sizes"), path, err)))
        return rc;
    return read_kernels(c, json_object_get(config, "kernel_sizes"), path, err);
}

static int read_lstm(aoei_encoder_config *c, const json_t *config, const char *path, aoe_error *err) {
    int rc, bidirectional = 1;
    c->modules.lstm_layers = 1;
    if ((rc = check_input(config, "word_embedding_dimension", c->hidden, path, err)) ||
        (rc = check_input(config, "embedding_dimension", c->hidden, path, err)) ||
        (rc = aoei_json_need_size(config, "hidden_dim", &c->modules.lstm_dims, path, err)) ||
        (rc = aoei_check_size("hidden_dim", c->modules.lstm_dims, 1, MAX_OUTPUTS, path, err)) ||
        (rc = aoei_json_size(config, "num_layers", &c->modules.lstm_layers, path, err)) ||
        (rc = aoei_check_size("num_layers", c->modules.lstm_layers, 1, AOEI_MAX_LSTM_LAYERS, path, err)) ||
        (rc = aoei_json_double(config, "dropout", &c->modules.lstm_dropout, path, err)) ||
        (rc = aoei_check_probability("dropout", c->modules.lstm_dropout, path, err)))
        return rc;
    rc = aoei_json_bool(config, "bidirectional", &bidirectional, path, err);
    c->modules.lstm_one_direction = !bidirectional;
    return rc;
}

int aoei_token_module_read(aoei_encoder_config *c, aoei_token_module kind, aoei_model_dir dir, const char *folder,
                           aoe_error *err) {
    json_t *config;
    const char *path;
    int rc = aoei_model_dir_folder(&dir, dir, folder, err);
    if (!rc)
        rc = aoei_model_dir_need_json(&config, &path, dir, files[kind], err);
    if (!rc && !json_is_object(config))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the model again", path);
    if (!rc)
        rc = (kind == AOEI_TOKEN_MODULE_CNN ? read_cnn : read_lstm)(c, config, path, err);
    return rc ? rc : aoei_source_add_keys(dir.cache, folder, config, path, err);
}

int aoei_token_module_check(const aoei_encoder_config *c, aoei_token_module kind, aoe_pooling pooling, const char *dir,
                            aoe_error *err) {
    const char *name = names[kind];
    if (c->layers ? c->arch->layer_slots != 0 : c->arch->library != AOEI_LIBRARY_SENTENCE_TRANSFORMERS)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the module %s is not supported by architecture '%s'; use a transformer model, or word embeddings "
            "(WordEmbeddings)",
            dir, name, c->arch->model_type);
    if (c->mlm_head)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "%s: a model with the module %s cannot be pretrained; remove the module", dir, name);
    if (aoei_pools_mean_state(c) || pooling == AOE_POOLING_FIRST_LAST_AVG)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the module %s uses only the last hidden state, so the pooling cannot be a mean over several "
            "layers; choose another pooling",
            dir, name);
    return 0;
}

int aoei_token_module_open(aoei_encoder_config *c, aoei_model_files *f, aoei_model_dir dir,
                           const aoei_settings *settings, aoe_error *err) {
    const aoei_token_module kind = settings->token_module;
    if (kind == AOEI_TOKEN_MODULE_NONE)
        return 0;
    int rc = aoei_token_module_check(c, kind, settings->pooling, dir.path, err);
    if (!rc)
        rc = aoei_token_module_read(c, kind, dir, settings->token_module_folder, err);
    if (!rc)
        rc = aoei_model_dir_folder(&dir, dir, settings->token_module_folder, err);
    return rc ? rc : aoei_safetensors_open_dir(&f->modules[AOEI_POOLED_TOKEN_MODULE - 1], dir.path, err);
}

/* Returns the kind of the module of a model. */
static aoei_token_module kind_of(const aoei_encoder_config *c) {
    return c->modules.n_kernels   ? AOEI_TOKEN_MODULE_CNN
           : c->modules.lstm_dims ? AOEI_TOKEN_MODULE_LSTM
                                  : AOEI_TOKEN_MODULE_NONE;
}

/* Describes weight i of the module. shape[3] receives the shape of its tensor. Returns the number of dimensions, or 0
 * if there is no such weight. */
static size_t describe_weight(aoei_slot *s, size_t *shape, const aoei_encoder_config *c, size_t i) {
    aoei_slot_describe(c, aoei_pooled_slot(c, AOEI_PW_TOKEN_MODULE + i), s);
    const int is_kernel = c->modules.n_kernels && !s->vector && !s->absent;
    shape[0] = s->vector ? s->cols : s->rows;
    shape[1] = is_kernel ? c->hidden : s->cols;
    shape[2] = is_kernel ? c->modules.kernels[i / 2] : 1;
    return s->absent ? 0 : s->vector ? 1 : is_kernel ? 3 : 2;
}

int aoei_token_module_tensors(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    const aoei_token_module kind = kind_of(c);
    size_t used = 0;
    for (size_t i = 0; kind != AOEI_TOKEN_MODULE_NONE && i < AOEI_TOKEN_MODULE_WEIGHTS; i++) {
        aoei_slot s;
        size_t shape[3];
        const size_t n_dims = describe_weight(&s, shape, c, i);
        const aoei_st_tensor *t =
            n_dims ? aoei_safetensors_find(f->modules[AOEI_POOLED_TOKEN_MODULE - 1], s.name) : NULL;
        if (!n_dims)
            continue;
        if (!t || t->n_dims != n_dims || memcmp(t->shape, shape, n_dims * sizeof *shape) != 0)
            return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' of the module %s %s%s; download the model again",
                             f->dir, s.name, names[kind],
                             t ? "does not have the shape that is required by " : "is missing", t ? files[kind] : "");
        if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: the data type of tensor '%s' is %s; it must be F32, F16 or BF16", f->dir, s.name,
                             aoei_st_dtype_name(t->dtype));
        f->tensors[aoei_pooled_slot(c, AOEI_PW_TOKEN_MODULE + i)] = t;
        used++;
    }
    if (kind != AOEI_TOKEN_MODULE_NONE && used < aoei_safetensors_count(f->modules[AOEI_POOLED_TOKEN_MODULE - 1]))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the weights of the module %s have more tensors than %s describes; correct the keys of this file, "
            "such as num_layers and kernel_sizes",
            f->dir, names[kind], files[kind]);
    return 0;
}

/* Writes all weights to model.safetensors in `folder`. */
static int write_weights(const aoei_model_contents *m, const char *folder, aoe_error *err) {
    aoei_st_entry entries[AOEI_TOKEN_MODULE_WEIGHTS];
    aoei_slot slots[AOEI_TOKEN_MODULE_WEIGHTS];
    size_t index[AOEI_TOKEN_MODULE_WEIGHTS], n = 0, most = 0;
    aoei_st_writer *w = NULL;
    for (size_t i = 0; i < AOEI_TOKEN_MODULE_WEIGHTS; i++) {
        aoei_st_entry e = {.dtype = AOEI_ST_F32};
        if (!(e.n_dims = describe_weight(&slots[n], e.shape, m->config, i)))
            continue;
        e.name = slots[n].name;
        most = slots[n].cols > most ? slots[n].cols : most;
        entries[n] = e;
        index[n++] = i;
    }
    char *path = aoei_path_join(folder, "model.safetensors");
    float *row = aoei_malloc_array(most, sizeof *row);
    int rc = path && row ? aoei_st_writer_open(&w, path, entries, n, err) : aoei_fail_nomem(err, most * sizeof *row);
    for (size_t k = 0; k < n; k++)
        for (size_t r = 0; r < slots[k].rows && !rc; r++) {
            m->rows->rows(m->rows, row, aoei_pooled_slot(m->config, AOEI_PW_TOKEN_MODULE + index[k]), r, 1);
            rc = aoei_st_writer_write(w, row, slots[k].cols * sizeof *row, err);
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

/* Returns the contents of cnn_config.json, or NULL if an allocation fails. */
static json_t *cnn_json(const aoei_encoder_config *c) {
    json_t *kernels = json_array();
    for (size_t i = 0; i < c->modules.n_kernels; i++)
        if (json_array_append_new(kernels, json_integer((json_int_t)c->modules.kernels[i]))) {
            json_decref(kernels);
            return NULL;
        }
    return json_pack("{s:I, s:I, s:o}", "in_word_embedding_dimension", (json_int_t)c->hidden, "out_channels",
                     (json_int_t)c->modules.kernel_channels, "kernel_sizes", kernels);
}

/* Returns the contents of lstm_config.json, or NULL if an allocation fails. */
static json_t *lstm_json(const aoei_encoder_config *c) {
    return json_pack("{s:I, s:I, s:I, s:f, s:b}", "word_embedding_dimension", (json_int_t)c->hidden, "hidden_dim",
                     (json_int_t)c->modules.lstm_dims, "num_layers", (json_int_t)c->modules.lstm_layers, "dropout",
                     c->modules.lstm_dropout, "bidirectional", !c->modules.lstm_one_direction);
}

int aoei_token_module_write(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    const aoei_token_module kind = kind_of(m->config);
    if (kind == AOEI_TOKEN_MODULE_NONE)
        return 0;
    char *folder = aoei_path_join(dir, folders[kind]), *path = folder ? aoei_path_join(folder, files[kind]) : NULL;
    json_t *config = (kind == AOEI_TOKEN_MODULE_CNN ? cnn_json : lstm_json)(m->config);
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
