/* SPDX-License-Identifier: MIT
 * Reads and writes the folder of a dense layer. The folder contains these files:
 * - config.json with the keys in_features, out_features, bias and activation_function
 * - model.safetensors with the tensors linear.weight [out_features, in_features] and linear.bias [out_features]
 */
#include "modeldir/dense_module.h"

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

static const char identity_class[] = "torch.nn.modules.linear.Identity", tanh_class[] = "torch.nn.modules.activation.Tanh";

/* ---------------------------------------------------------------- reading */

/* Reads the activation function from `config`, which contains a class name such as "torch.nn.modules.activation.Tanh". */
static int read_activation(int *with_tanh, const json_t *config, const char *path, aoe_error *err) {
    const char *name = NULL;
    const int rc = aoei_json_string(config, "activation_function", &name, NULL, path, err);
    const char *dot = name ? strrchr(name, '.') : NULL, *last = dot ? dot + 1 : name;
    if (rc)
        return rc;
    *with_tanh = !last || !strcmp(last, "Tanh"); /* Tanh is the default of sentence-transformers */
    if (*with_tanh || !strcmp(last, "Identity"))
        return 0;
    return aoei_fail(err, AOE_EUNSUPPORTED, "%s: activation_function '%s' is not supported (supported: Identity, Tanh)", path,
                     name);
}

/* Reads the sizes and the options of the dense layer into c. */
static int read_config(aoei_encoder_config *c, const json_t *config, const char *path, aoe_error *err) {
    size_t in = 0, out = 0;
    int bias = 1, residual = 0, rc;
    if ((rc = aoei_json_need_size(config, "in_features", &in, path, err)) ||
        (rc = aoei_json_need_size(config, "out_features", &out, path, err)) ||
        (rc = aoei_check_size("out_features", out, 1, MAX_DIMS, path, err)) ||
        (rc = aoei_json_bool(config, "bias", &bias, path, err)) ||
        (rc = aoei_json_bool(config, "use_residual", &residual, path, err)) ||
        (rc = read_activation(&c->dense_tanh, config, path, err)))
        return rc;
    if (residual)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: a Dense module with use_residual is not supported", path);
    if (in != c->hidden)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: in_features is %zu, but the model's hidden size is %zu; download the model again", path, in,
                         c->hidden);
    c->dense = out;
    c->dense_no_bias = !bias;
    return 0;
}

int aoei_dense_open(aoei_encoder_config *c, aoei_safetensors **file, const char *dir, const char *folder, aoe_error *err) {
    json_t *config = NULL;
    char *module_dir = aoei_path_join(dir, folder), *path = module_dir ? aoei_path_join(module_dir, "config.json") : NULL;
    int rc = path ? aoei_json_load(&config, path, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc && !json_is_object(config))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: not a JSON object; download the model again", path);
    if (!rc)
        rc = read_config(c, config, path, err);
    if (!rc)
        rc = aoei_safetensors_open_dir(file, module_dir, err);
    json_decref(config);
    aoei_free(path);
    aoei_free(module_dir);
    return rc;
}

int aoei_dense_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    for (size_t kind = AOEI_PW_DENSE; c->dense && kind <= AOEI_PW_DENSE_BIAS; kind++) {
        const size_t index = aoei_pooled_slot(c, kind);
        aoei_slot s;
        aoei_slot_describe(c, index, &s);
        if (s.absent)
            continue;
        const aoei_st_tensor *t = f->tensors[index] = aoei_safetensors_find(f->dense, s.name);
        const aoei_st_tensor *any = aoei_safetensors_count(f->dense) ? aoei_safetensors_at(f->dense, 0) : NULL;
        if (!t || t->n_dims != (s.vector ? 1 : 2) || t->shape[t->n_dims - 1] != s.cols || (!s.vector && t->shape[0] != s.rows))
            return aoei_fail(err, AOE_EFORMAT, "%s: tensor '%s' of the dense layer %s; download the model again",
                             any ? aoei_safetensors_path(f->dense, any) : f->dir, s.name,
                             t ? "does not have the shape that config.json in this folder requires" : "is missing");
        if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: the data type of tensor '%s' is %s; dense layers must be F32, F16 or BF16",
                             aoei_safetensors_path(f->dense, t), t->name, aoei_st_dtype_name(t->dtype));
    }
    return 0;
}

/* ---------------------------------------------------------------- writing */

/* Writes model.safetensors. One row of the weight is in memory at a time. */
static int write_weights(const aoei_model_contents *m, const char *folder, aoe_error *err) {
    const aoei_encoder_config *c = m->config;
    const size_t slot = aoei_pooled_slot(c, AOEI_PW_DENSE), n = c->dense_no_bias ? 1 : 2;
    const size_t longest = c->hidden > c->dense ? c->hidden : c->dense;
    const aoei_st_entry entries[2] = {{"linear.weight", AOEI_ST_F32, 2, {c->dense, c->hidden}},
                                      {"linear.bias", AOEI_ST_F32, 1, {c->dense}}};
    aoei_st_writer *w = NULL;
    char *path = aoei_path_join(folder, "model.safetensors");
    float *row = aoei_malloc_array(longest, sizeof *row);
    int rc = path && row ? aoei_st_writer_open(&w, path, entries, n, err) : aoei_fail_nomem(err, longest * sizeof *row);
    for (size_t i = 0; i < c->dense && !rc; i++) {
        m->rows->rows(m->rows, row, slot, i, 1);
        rc = aoei_st_writer_write(w, row, c->hidden * sizeof *row, err);
    }
    if (!rc && n == 2) {
        m->rows->rows(m->rows, row, slot + 1, 0, 1);
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

int aoei_dense_write(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    const aoei_encoder_config *c = m->config;
    if (!c->dense)
        return 0;
    json_t *config =
        json_pack("{s:I, s:I, s:b, s:s}", "in_features", (json_int_t)c->hidden, "out_features", (json_int_t)c->dense, "bias",
                  !c->dense_no_bias, "activation_function", c->dense_tanh ? tanh_class : identity_class);
    char *folder = aoei_path_join(dir, aoei_settings_dense_folder(m->settings)),
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
