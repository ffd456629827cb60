/* SPDX-License-Identifier: MIT
 * Finds the tensor of each slot by name. A slot is the index of a weight tensor in the list of all model weights
 * (encoder/slot_layout.h). The name in a checkpoint may begin with a prefix that depends on the class of the model,
 * such as "bert.". Old checkpoints use different names for some tensors.
 */
#include "modeldir/weight_tensors.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "encoder/arch.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "base/alloc.h"
#include "base/error.h"
#include "modeldir/adapter_tensors.h"
#include "modeldir/layer_pooling.h"
#include "modeldir/pooled_modules.h"
#include "modeldir/storage.h"
#include "modeldir/token_module.h"
#include "modeldir/weight_layout.h"
#include "modeldir/weights_check.h"

/* Sets f->prefix to the first of the prefixes in c->arch->prefixes with which f->weights contains the tensor of the
 * token embeddings. */
static int detect_prefix(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    aoei_slot word;
    aoei_slot_describe(c, AOEI_W_WORD, &word);
    for (const char *const *p = c->arch->prefixes; *p; p++)
        if (aoei_weight_find(f->weights, *p, word.name)) {
            f->prefix = *p;
            return 0;
        }
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: there is no tensor '%s', with or without a prefix; the weights are incomplete or not those of a %s model, "
        "so download them again, or correct config.json",
        f->dir, word.name, c->arch->class_name);
}

/* Writes the shape to buf[size], in a form such as "[30522, 256]", and returns buf. */
static const char *shape_text(char *buf, size_t size, const size_t *shape, size_t n) {
    size_t at = 0;
    buf[at++] = '[';
    for (size_t i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%zu", i ? ", " : "", shape[i]);
    snprintf(buf + (at < size ? at : size - 1), size - (at < size ? at : size - 1), "]");
    return buf;
}

/* Returns the number of rows in the tensor that contains the weight `slot`, or the number of elements if it is a
 * vector. */
static size_t stored_length(const aoei_slot *slot) {
    return slot->stored_rows ? slot->stored_rows : slot->vector ? slot->cols : slot->rows;
}

/* Returns 1 if t, the tensor of the slot, contains int5 values, which is possible only for token embeddings. */
static int is_int5(const aoei_st_tensor *t, const aoei_slot *slot) {
    return t->dtype == AOEI_ST_U8 && slot->table;
}

/* Returns the key of config.json that requires the bias with this tensor name, such as mlp_bias for the biases of an
 * mlp, or NULL if there is none. */
static const char *bias_key(json_t *config, const char *tensor) {
    static const char ending[] = "bias";
    const size_t len = strlen(tensor), n = sizeof ending - 1;
    const char *key;
    json_t *v;
    if (len <= n || strcmp(tensor + len - n, ending) != 0)
        return NULL;
    json_object_foreach(config, key, v) {
        const size_t key_len = strlen(key);
        char stem[4] = ""; /* the first letters of the key, which the names of its tensors contain */
        memcpy(stem, key, key_len < 3 ? key_len : 3);
        if (json_is_true(v) && key_len > n && !strcmp(key + key_len - n, ending) && strstr(tensor, stem))
            return key;
    }
    return NULL;
}

/* Sets *out to the tensor that contains the slot and checks the shape and the data type of the tensor. */
static int check_tensor(const aoei_model_files *f, const aoei_slot *slot, const aoei_st_tensor **out, aoe_error *err) {
    const aoei_st_tensor *t = *out = aoei_weight_find(f->weights, slot->head ? "" : f->prefix, slot->name);
    const int int5 = t && is_int5(t, slot);
    const size_t expected[2] = {stored_length(slot), int5 ? aoei_int5_bytes(slot->cols) : slot->cols};
    const size_t n_dims = slot->vector ? 1 : 2;
    int rc;
    char actual[256], required[64];
    if (!t) {
        const aoei_st_tensor *any = aoei_safetensors_at(f->weights, 0); /* the file contains tensors, because the prefix
                                                                           was found */
        const char *key = bias_key(f->config_json, slot->name);
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s%s' is missing%s%s%s; the checkpoint is incomplete, or config.json belongs to another model",
            aoei_safetensors_path(f->weights, any), slot->head ? "" : f->prefix, slot->name, key ? ", but " : "",
            key ? key : "", key ? " is true" : "");
    }
    const char *path = aoei_safetensors_path(f->weights, t);
    if (int5 && (rc = aoei_int5_check(f->weights, t, slot->cols, err)))
        return rc;
    if (t->n_dims != n_dims || memcmp(t->shape, expected, n_dims * sizeof *expected) != 0)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' has shape %s, but config.json requires %s; one of the files belongs to another model",
            path, t->name, shape_text(actual, sizeof actual, t->shape, t->n_dims),
            shape_text(required, sizeof required, expected, n_dims));
    if (t->dtype == AOEI_ST_I8)
        return aoei_int8_check(f->weights, t, err);
    if (int5)
        return 0;
    if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the data type of tensor '%s' is %s; weights must be F32, F16, BF16, I8 matrices with scales, or "
            "U8 token embeddings with scales; convert the model",
            path, t->name, aoei_st_dtype_name(t->dtype));
    if (aoei_safetensors_scale(f->weights, t))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the data type of tensor '%s' is %s, but it has scales ('%s" AOEI_SCALE_SUFFIX
                         "'), which only I8 and U8 matrices have; convert or download the model again",
                         path, t->name, aoei_st_dtype_name(t->dtype), t->name);
    return 0;
}

const char *aoei_copied_tensor_name(const aoei_model_files *f, const aoei_encoder_config *c, const aoei_st_tensor *t) {
    if (c->mlm_head || c->modules.classes || !c->layers)
        return NULL;
    size_t len = strlen(f->prefix);
    int floats =
        t->dtype == AOEI_ST_F32 || t->dtype == AOEI_ST_F16 || t->dtype == AOEI_ST_BF16 || t->dtype == AOEI_ST_I8;
    if (aoei_safetensors_scaled(f->weights, t))
        return NULL; /* scales are written together with their matrix */
    return floats && !strncmp(t->name, f->prefix, len) && !strncmp(t->name + len, "pooler.", 7) ? t->name + len : NULL;
}

/* Checks the tensors that are copied when the model is saved. If `int8` is 1, the model contains I8 matrices; in this
 * case, a tensor of scales without an I8 matrix is an error. */
static int check_others(const aoei_model_files *f, const aoei_encoder_config *c, int int8, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < aoei_safetensors_count(f->weights) && !rc; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(f->weights, i);
        const size_t len = strlen(t->name), tail = sizeof AOEI_SCALE_SUFFIX - 1;
        if (t->dtype == AOEI_ST_I8 && aoei_copied_tensor_name(f, c, t))
            rc = aoei_int8_check(f->weights, t, err);
        else if (int8 && len > tail && !strcmp(t->name + len - tail, AOEI_SCALE_SUFFIX) &&
                 !aoei_safetensors_scaled(f->weights, t))
            rc = aoei_fail(err, AOE_EFORMAT,
                           "%s: tensor '%s' contains scales, but there is no I8 matrix '%.*s'; convert or download the "
                           "model again",
                           aoei_safetensors_path(f->weights, t), t->name, (int)(len - tail), t->name);
    }
    return rc;
}

/* Returns the name of the data type of all encoder weights, or "mixed" if their types differ. Adapters and the modules
 * after the pooling are ignored. If `int8` is 1, F32 vectors are also ignored. Token embeddings may be int5 if all
 * other matrices are I8. */
static const char *storage_name(const aoei_model_files *f, const aoei_encoder_config *c, int int8) {
    const char *name = f->int5 ? aoei_st_dtype_name(AOEI_ST_I8) : NULL;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        const aoei_st_tensor *t = f->tensors[i];
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (!t || slot.adapter || slot.pooled || t->dtype == AOEI_ST_I5 ||
            (int8 && t->n_dims == 1 && t->dtype == AOEI_ST_F32))
            continue;
        const char *type = aoei_st_dtype_name(t->dtype);
        if (name && strcmp(name, type) != 0)
            return "mixed";
        name = type;
    }
    return f->int5 ? aoei_storage_name(AOE_STORAGE_INT8, AOE_EMBEDDING_STORAGE_INT5) : name;
}

/* Returns the open file that contains the tensor of a slot. */
static const aoei_safetensors *file_of(const aoei_model_files *f, const aoei_encoder_config *c, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(c, slot, &d);
    if (f->adapters && aoei_safetensors_find(f->adapters, f->tensors[slot]->name) == f->tensors[slot])
        return f->adapters; /* a weight of an adapter, or a replaced weight of the base model */
    return d.pooled ? f->modules[d.pooled - 1] : f->weights;
}

/* Returns an error that names the first element of t, a U8 matrix of int5 values, that is -16. */
static int fail_int5(const aoei_safetensors *file, const aoei_st_tensor *t, aoe_error *err) {
    const size_t per_row = 8 * (t->shape[1] / AOEI_INT5_GROUP_BYTES); /* values per row, with padding */
    size_t i = 0;
    while (aoei_int5_group(t->data + i / 8 * AOEI_INT5_GROUP_BYTES) >> i % 8 * 5 & 31)
        i++;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: tensor '%s' contains -16 at row %zu, column %zu, but int5 values must be from -15 to 15; convert or "
        "download the model again",
        aoei_safetensors_path(file, t), t->name, i / per_row, i % per_row);
}

/* Returns an error that names the first invalid element of t. An element is invalid if it is NaN or infinite, -128 in
 * an I8 tensor, or -16 in a U8 tensor of int5 values. */
static int fail_invalid(const aoei_safetensors *file, const aoei_st_tensor *t, aoe_error *err) {
    size_t n = aoei_st_elements(t), size = t->bytes / n, i = 0;
    float v = 0;
    if (t->dtype == AOEI_ST_U8)
        return fail_int5(file, t, err);
    if (t->dtype == AOEI_ST_I8)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' contains -128 at element %zu, but I8 values must be from -127 to 127; convert or download "
            "the model again",
            aoei_safetensors_path(file, t), t->name,
            (size_t)((const unsigned char *)memchr(t->data, 0x80, t->bytes) - t->data));
    for (; i < n; i++) {
        aoei_st_tensor one = *t;
        one.n_dims = 0;
        one.data = t->data + i * size;
        aoei_st_to_float(&v, &one);
        if (!isfinite(v))
            break;
    }
    return aoei_fail(err, AOE_ENUMERIC,
                     "%s: tensor '%s' contains %s at element %zu; the model is damaged, so download or train it again",
                     aoei_safetensors_path(file, t), t->name, isnan(v) ? "NaN" : "infinity", i);
}

/* Returns 1 if the file contains a tensor of the masked-LM head. */
static int has_head(const aoei_model_files *f, const aoei_encoder_config *c) {
    for (size_t i = aoei_head_slot(c, 0); i < aoei_pooled_slot(c, 0); i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        if (aoei_weight_find(f->weights, "", slot.name))
            return 1;
    }
    return 0;
}

/* Sets f->tensors[i] to the rows of the fused tensor t that contain the weight `slot`, with their scales if t is I8.
 * The descriptions of the rows and of the scales are elements 2i and 2i + 1 of f->parts. */
static void use_rows(aoei_model_files *f, size_t i, const aoei_slot *slot, const aoei_st_tensor *t) {
    assert(f->parts); /* allocated for every architecture with fused tensors */
    aoei_st_tensor *part = &f->parts[2 * i], *scale = part + 1;
    const size_t rows = slot->vector ? slot->cols : slot->rows;
    const size_t row_bytes = (slot->vector ? 1 : slot->cols) * aoei_st_dtype_size(t->dtype);
    *part = *t;
    part->shape[0] = rows;
    part->data = t->data + slot->first * row_bytes;
    part->bytes = rows * row_bytes;
    if (t->dtype == AOEI_ST_I8) {
        *scale = *t->scale;
        scale->shape[0] = rows;
        scale->data = t->scale->data + slot->first * sizeof(float);
        scale->bytes = rows * sizeof(float);
        part->scale = scale;
    }
    f->tensors[i] = part;
}

/* Sets *t, the U8 tensor of the token embeddings, to f->int5, a description of the tensor whose number of columns is
 * `cols`. */
static int use_int5(aoei_model_files *f, const aoei_st_tensor **t, size_t cols, aoe_error *err) {
    if (!(f->int5 = aoei_malloc(sizeof *f->int5)))
        return aoei_fail_nomem(err, sizeof *f->int5);
    *f->int5 = **t;
    f->int5->dtype = AOEI_ST_I5;
    f->int5->shape[1] = cols;
    *t = f->int5;
    return 0;
}

/* Returns the total size in bytes of the tensors in f->tensors, including scales. */
static size_t stored_bytes(const aoei_model_files *f, const aoei_encoder_config *c) {
    size_t bytes = 0;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        const aoei_st_tensor *t = f->tensors[i];
        bytes += t ? t->bytes + (t->scale ? t->scale->bytes : 0) : 0;
    }
    return bytes;
}

/* Returns 1 if the weight of a classification head gets random values. The last layer of a new head is always new. Its
 * other layers are new only if the file does not contain them: BERT, for example, is published with a pooler, which is
 * the first layer of its head. */
static int is_new_head(const aoei_model_files *f, const aoei_slot *slot) {
    return f->new_head &&
           (slot->classifier == 2 || !aoei_weight_find(f->weights, slot->head ? "" : f->prefix, slot->name));
}

/* Finds the tensors of the encoder, of the masked-LM head and of the classification head. The weights of a head that
 * the adapter file contains are found later (aoei_adapter_tensors_find). Sets *int8 to 1 if one of these tensors is I8
 * or int5, and to 0 otherwise. */
static int find_encoder(aoei_model_files *f, const aoei_encoder_config *c, int *int8, aoe_error *err) {
    const int new_mlm_head = c->mlm_head && !has_head(f, c);
    int rc = 0;
    *int8 = 0;
    for (size_t i = 0; i < aoei_slot_count(c) && !rc; i++) {
        aoei_slot slot;
        aoei_slot_describe(c, i, &slot);
        const int is_new =
            slot.classifier ? is_new_head(f, &slot) || aoei_adapters_saved(f, c, slot.name) : slot.head && new_mlm_head;
        if (!slot.absent && !slot.adapter && !slot.pooled && !is_new)
            rc = check_tensor(f, &slot, &f->tensors[i], err);
        if (!rc && f->tensors[i] && slot.stored_rows)
            use_rows(f, i, &slot, f->tensors[i]);
        if (!rc && f->tensors[i] && is_int5(f->tensors[i], &slot))
            rc = use_int5(f, &f->tensors[i], slot.cols, err);
        *int8 |= f->tensors[i] && f->tensors[i]->scale;
    }
    return rc;
}

/* Checks that the weights contain no table of token types if config.json says that there are none. */
static int check_token_types(const aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    const json_t *count = json_object_get(f->config_json, "type_vocab_size");
    aoei_encoder_config with_types = *c;
    aoei_slot slot;
    if (c->token_types || !json_is_integer(count) || !c->layers)
        return 0;
    with_types.token_types = 1;
    aoei_slot_describe(&with_types, AOEI_W_TOKEN_TYPE, &slot);
    if (slot.absent || !*slot.name || !aoei_weight_find(f->weights, f->prefix, slot.name))
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: type_vocab_size is 0 in config.json, but the weights contain the tensor '%s'; set type_vocab_size to the "
        "number of its rows, or download config.json again",
        aoei_weights_dir(f), slot.name);
}

int aoei_weight_tensors_find(aoei_model_files *f, const aoei_encoder_config *c, aoe_error *err) {
    const size_t n = aoei_slot_count(c);
    int int8 = 0, rc;
    f->tensors = aoei_calloc(n, sizeof *f->tensors);
    f->parts = c->arch->fused ? aoei_calloc(2 * n, sizeof *f->parts) : NULL;
    if (!f->tensors || (c->arch->fused && !f->parts))
        return aoei_fail_nomem(err, n * sizeof *f->parts);
    if ((rc = detect_prefix(f, c, err)) || (rc = check_token_types(f, c, err)) ||
        (rc = find_encoder(f, c, &int8, err)) || (rc = check_others(f, c, int8, err)) ||
        (rc = aoei_adapter_tensors_find(f, c, err)) || (rc = aoei_modules_find(f, c, err)) ||
        (rc = aoei_layer_pooling_find(f, c, err)) || (rc = aoei_token_module_tensors(f, c, err)))
        return rc;
    f->stored_bytes = stored_bytes(f, c);
    f->storage = storage_name(f, c, int8);
    return 0;
}

int aoei_weight_tensors_check_values(const aoei_model_files *f, const aoei_encoder_config *c, aoei_pool *pool,
                                     void (*other_work)(void *arg), void *arg, aoe_error *err) {
    const size_t n = aoei_slot_count(c);
    size_t bad;
    const int rc = aoei_weights_check(&bad, pool, f->tensors, n, other_work, arg, err);
    if (rc || bad == n)
        return rc;
    /* a message names the element in the complete tensor, even if the weight is a part of a fused tensor */
    const aoei_safetensors *file = file_of(f, c, bad);
    return fail_invalid(file, aoei_safetensors_find(file, f->tensors[bad]->name), err);
}
