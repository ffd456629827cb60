/* SPDX-License-Identifier: MIT
 * Opening a model directory: config.json, every weight found, of the right
 * shape and finite, the tokenizer when there is one, the settings. Weights stay
 * in the mapping where they are aligned float32; else they are converted once.
 * What an open model says never changes.
 */
#include "model/model.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/context.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "base/pool.h"
#include "create/init.h"
#include "encoder/arch.h"
#include "encoder/arch_registry.h"
#include "encoder/slots.h"
#include "model/adapters.h"
#include "model/weight_placement.h"
#include "modeldir/dense_module.h"
#include "modeldir/peft.h"
#include "modeldir/settings.h"
#include "modeldir/static_config.h"
#include "modeldir/storage.h"
#include "modeldir/weights_check.h"
#include "nn/dtype.h"
#include "nn/gemm.h"
#include "tokenizer/tokenizer.h"

#define FLOATS_PER_LINE (AOEI_ALIGN / sizeof(float))

static size_t round_floats(size_t n) {
    return (n + FLOATS_PER_LINE - 1) / FLOATS_PER_LINE * FLOATS_PER_LINE;
}

/* Finds prefix + name, or its other spelling (LayerNorm.gamma, LayerNorm.beta; of tied tensors either name is stored). */
static const aoei_st_tensor *find_tensor(const aoei_safetensors *f, const char *prefix, const char *name) {
    static const struct {
        const char *now, *other;
    } spellings[] = {{"LayerNorm.weight", "LayerNorm.gamma"},
                     {"LayerNorm.bias", "LayerNorm.beta"},
                     {"predictions.bias", "predictions.decoder.bias"},
                     {"lm_head.bias", "lm_head.decoder.bias"}};
    char full[256];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    const aoei_st_tensor *t = aoei_safetensors_find(f, full);
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings && !t; i++) {
        size_t len = strlen(full), tail = strlen(spellings[i].now);
        if (len >= tail && !strcmp(full + len - tail, spellings[i].now)) {
            snprintf(full + len - tail, sizeof full - (len - tail), "%s", spellings[i].other);
            return aoei_safetensors_find(f, full);
        }
    }
    return t;
}

/* The prefix of this checkpoint's names: the one under which the word embeddings are there. */
static int detect_prefix(aoe_model *m, aoe_error *err) {
    aoei_slot word;
    aoei_slot_describe(&m->config, AOEI_W_WORD, &word);
    for (const char *const *p = m->config.arch->prefixes; *p; p++)
        if (find_tensor(m->file, *p, word.name)) {
            m->prefix = *p;
            return 0;
        }
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: the weights have no tensor '%s', with or without a prefix: they are not of a %s model", m->dir,
                     word.name, m->config.arch->class_name);
}

/* "[30522, 256]" */
static const char *shape_text(char *buf, size_t size, const size_t *shape, size_t n) {
    size_t at = 0;
    buf[at++] = '[';
    for (size_t i = 0; i < n && at < size; i++)
        at += (size_t)snprintf(buf + at, size - at, "%s%zu", i ? ", " : "", shape[i]);
    snprintf(buf + (at < size ? at : size - 1), size - (at < size ? at : size - 1), "]");
    return buf;
}

/* One slot's tensor: present, of the right shape, of a type that is read. */
static int check_tensor(const aoe_model *m, const aoei_slot *slot, const aoei_st_tensor **out, aoe_error *err) {
    const aoei_st_tensor *t = *out = find_tensor(m->file, slot->head ? "" : m->prefix, slot->name);
    const size_t want[2] = {slot->vector ? slot->cols : slot->rows, slot->cols};
    const size_t n_dims = slot->vector ? 1 : 2;
    char has[256], needs[64];
    if (!t) {
        const aoei_st_tensor *any = aoei_safetensors_at(m->file, 0); /* there is one: the prefix was found */
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: tensor '%s%s' is missing: the checkpoint is incomplete or config.json is of another model",
                         aoei_safetensors_path(m->file, any), slot->head ? "" : m->prefix, slot->name);
    }
    const char *path = aoei_safetensors_path(m->file, t);
    if (t->n_dims != n_dims || memcmp(t->shape, want, n_dims * sizeof *want) != 0)
        return aoei_fail(
            err, AOE_EFORMAT, "%s: tensor '%s' has shape %s, config.json asks for %s: one of them is of another model", path,
            t->name, shape_text(has, sizeof has, t->shape, t->n_dims), shape_text(needs, sizeof needs, want, n_dims));
    if (t->dtype == AOEI_ST_I8)
        return aoei_int8_check(m->file, t, err);
    if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: tensor '%s' is of %s; weights are read as F32, F16 or BF16, matrices as I8 with scales: convert the model",
            path, t->name, aoei_st_dtype_name(t->dtype));
    if (aoei_safetensors_scale(m->file, t))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: tensor '%s' is of %s though '%s" AOEI_SCALE_SUFFIX
                         "' holds scales, which an I8 matrix has: convert or fetch the model again",
                         path, t->name, aoei_st_dtype_name(t->dtype), t->name);
    return 0;
}

/* The tensors beside the weights, as far as they are saved again; among int8 rows no scales without their matrix. */
static int check_others(const aoe_model *m, int int8, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < aoei_safetensors_count(m->file) && !rc; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(m->file, i);
        const size_t len = strlen(t->name), tail = sizeof AOEI_SCALE_SUFFIX - 1;
        if (t->dtype == AOEI_ST_I8 && aoei_model_carried(m, t))
            rc = aoei_int8_check(m->file, t, err);
        else if (int8 && len > tail && !strcmp(t->name + len - tail, AOEI_SCALE_SUFFIX) && !aoei_safetensors_scaled(m->file, t))
            rc = aoei_fail(err, AOE_EFORMAT,
                           "%s: tensor '%s' holds scales, but there is no I8 matrix '%.*s': convert or fetch the model again",
                           aoei_safetensors_path(m->file, t), t->name, (int)(len - tail), t->name);
    }
    return rc;
}

/* The type all weights are stored as, or "mixed"; adapters do not count. I8 has vectors of F32. */
static const char *storage_name(const aoe_model *m, int int8) {
    const char *name = NULL;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        const aoei_st_tensor *t = m->stored[i];
        aoei_slot slot;
        aoei_slot_describe(&m->config, i, &slot);
        if (!t || slot.adapter || slot.pooled || (int8 && t->n_dims == 1 && t->dtype == AOEI_ST_F32))
            continue;
        const char *type = aoei_st_dtype_name(t->dtype);
        if (name && strcmp(name, type) != 0)
            return "mixed";
        name = type;
    }
    return name;
}

/* The file that a slot's tensor is in. */
static const aoei_safetensors *file_of(const aoe_model *m, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    return d.adapter ? m->adapter_file : d.pooled ? m->dense_file : m->file;
}

/* Names the first element of t that is NaN or infinite, or -128 in I8. */
static int fail_not_finite(const aoei_safetensors *f, const aoei_st_tensor *t, aoe_error *err) {
    size_t n = aoei_st_elements(t), size = t->bytes / n, i = 0;
    float v = 0;
    if (t->dtype == AOEI_ST_I8)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor '%s' holds -128 at element %zu; int8 rows hold -127 to 127: convert or fetch the model again",
            aoei_safetensors_path(f, t), t->name, (size_t)((const unsigned char *)memchr(t->data, 0x80, t->bytes) - t->data));
    for (; i < n; i++) {
        aoei_st_tensor one = *t;
        one.n_dims = 0;
        one.data = t->data + i * size;
        aoei_st_to_float(&v, &one);
        if (!isfinite(v))
            break;
    }
    return aoei_fail(err, AOE_ENUMERIC,
                     "%s: tensor '%s' holds %s at element %zu: the model is damaged, fetch or train it again",
                     aoei_safetensors_path(f, t), t->name, isnan(v) ? "NaN" : "infinity", i);
}

/* Adapters may come without a tokenizer: then the base's is theirs. */
static int load_tokenizer(aoe_model *m, aoe_error *err) {
    int rc = aoei_tokenizer_open_optional(&m->tokenizer, m->dir, err);
    if (!rc && !m->tokenizer && m->base_dir)
        rc = aoei_tokenizer_open_optional(&m->tokenizer, m->base_dir, err);
    return rc;
}

typedef struct tokenizer_job {
    aoe_model *model;
    int rc;
    aoe_error error;
} tokenizer_job;

static void tokenizer_task(void *arg, size_t task, size_t worker) {
    (void)task, (void)worker;
    tokenizer_job *j = arg;
    j->rc = load_tokenizer(j->model, &j->error);
}

/* Whether the weights are finite, and the tokenizer: the slow parts of opening a model, one beside the other. */
static int check_values(aoe_model *m, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    tokenizer_job j = {.model = m};
    size_t bad;
    int rc = aoei_weights_check(&bad, m->ctx->pool, m->stored, n, tokenizer_task, &j, err);
    if (!rc && bad < n)
        rc = fail_not_finite(file_of(m, bad), m->stored[bad], err);
    if (!rc && j.rc)
        rc = aoei_fail(err, j.rc, "%s", j.error.message);
    return rc;
}

/* 1: no tensor of the masked-LM head is there. */
static int lacks_head(const aoe_model *m) {
    for (size_t i = aoei_head_slot(&m->config, 0); i < aoei_pooled_slot(&m->config, 0); i++) {
        aoei_slot slot;
        aoei_slot_describe(&m->config, i, &slot);
        if (find_tensor(m->file, "", slot.name))
            return 0;
    }
    return 1;
}

/* Weights that no file has: those of a new masked-LM head, or new adapters. */
static int make_weights(aoe_model *m, uint64_t seed, aoe_error *err) {
    const size_t n = aoei_slot_count(&m->config);
    size_t floats = 0, used = 0;
    aoei_slot slot;
    for (size_t i = 0; i < n; i++) {
        aoei_slot_describe(&m->config, i, &slot);
        floats += slot.absent || m->stored[i] ? 0 : round_floats(slot.rows * slot.cols);
    }
    if (floats && !(m->made = aoei_aligned(floats * sizeof *m->made)))
        return aoei_fail_nomem(err, floats * sizeof *m->made);
    for (size_t i = 0; i < n; i++) {
        aoei_slot_describe(&m->config, i, &slot);
        if (slot.absent || m->stored[i])
            continue;
        aoei_init_weight(m->made + used, &m->config, i, seed);
        m->weights[i] = aoei_tensor_wrap(m->made + used, slot.rows, slot.cols);
        used += round_floats(slot.rows * slot.cols);
    }
    return 0;
}

static size_t stored_bytes(const aoe_model *m) {
    size_t bytes = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        const aoei_st_tensor *t = m->stored[i];
        bytes += t ? t->bytes + (t->dtype == AOEI_ST_I8 ? t->scale->bytes : 0) : 0;
    }
    return bytes;
}

/* The weights, and the tokenizer beside their check. */
static int load_weights(aoe_model *m, const aoei_purpose *p, aoe_error *err) {
    size_t n = aoei_slot_count(&m->config);
    int rc = 0, int8 = 0;
    m->weights = aoei_calloc(n, sizeof *m->weights);
    m->stored = aoei_calloc(n, sizeof *m->stored);
    if (!m->stored || !m->weights)
        rc = aoei_fail_nomem(err, n * sizeof *m->weights);
    if (!rc)
        rc = detect_prefix(m, err);
    const int new_head = !rc && m->config.mlm_head && lacks_head(m);
    for (size_t i = 0; i < n && !rc; i++) {
        aoei_slot slot;
        aoei_slot_describe(&m->config, i, &slot);
        if (!slot.absent && !slot.adapter && !slot.pooled && !(slot.head && new_head))
            rc = check_tensor(m, &slot, &m->stored[i], err);
        int8 |= m->stored[i] && m->stored[i]->dtype == AOEI_ST_I8;
    }
    if (rc || (rc = check_others(m, int8, err)) || (rc = aoei_adapters_find(m, err)) || (rc = aoei_dense_find(m, err)) ||
        (rc = aoei_weights_place(m, p, err)) || (rc = make_weights(m, p->seed, err)) || (rc = check_values(m, err)))
        return rc;
    m->stored_bytes = stored_bytes(m);
    m->storage = storage_name(m, int8);
    if (m->config.lora.r) /* what was converted is not looked at again */
        aoei_safetensors_drop(m->file);
    return 0;
}

/* Bytes of the packed form of a slot; 0: it has none. */
static size_t packed_size(const aoe_model *m, size_t slot) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    return d.linear && !d.adapter ? aoei_weight_packed_size(m->ctx, m->type, d.rows, d.cols) : 0;
}

size_t aoei_model_packed_bytes(const aoe_model *m) {
    size_t total = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++)
        total += packed_size(m, i);
    return total;
}

/* The packed copy of a weight, in `memory`; with its adapter merged in it is all there is of the weight. */
static int pack_weight(aoe_model *m, size_t slot, void *memory, aoe_error *err) {
    aoei_tensor *w = &m->weights[slot];
    aoei_slot d;
    if (!aoei_adapter_slot(&m->config, slot)) {
        aoei_weight_pack(m->ctx, m->type, w, memory);
        return 0;
    }
    aoei_slot_describe(&m->config, slot, &d);
    float *rows = aoei_malloc_array(d.rows * d.cols, sizeof *rows);
    if (!rows)
        return aoei_fail_nomem(err, d.rows * d.cols * sizeof *rows);
    aoei_model_rows(m, rows, slot, 0, d.rows);
    *w = aoei_tensor_wrap(rows, d.rows, d.cols);
    aoei_weight_pack(m->ctx, m->type, w, memory);
    w->data = NULL;
    aoei_free(rows);
    return 0;
}

/* Copies of the linear weights laid out for the kernels. Adapters are merged into them: the model then has none. */
static int pack_weights(aoe_model *m, aoe_error *err) {
    const size_t bytes = aoei_model_packed_bytes(m);
    size_t used = 0;
    int rc = 0;
    if (!bytes)
        return 0;
    m->packed = aoei_aligned(bytes);
    if (!m->packed)
        return aoei_fail_nomem(err, bytes);
    for (size_t i = 0; i < aoei_slot_count(&m->config) && !rc; i++) {
        const size_t size = packed_size(m, i);
        if (size)
            rc = pack_weight(m, i, (unsigned char *)m->packed + used, err);
        used += size;
    }
    m->config.lora = (aoei_lora){0};
    if (m->type == AOEI_BF16 && m->file) /* what was packed is not looked at again */
        aoei_safetensors_drop(m->file);
    return rc;
}

/* Where config.json and the weights are. */
static const char *weights_dir(const aoe_model *m) {
    return m->base_dir ? m->base_dir : m->dir;
}

/* A static model's config.json, which may be missing, gets its sizes from the weights. */
static int complete_static(aoe_model *m, aoe_error *err) {
    if (!aoei_static_may_be(m->config_json))
        return 0;
    int rc = aoei_safetensors_open_dir(&m->file, weights_dir(m), err);
    if (!rc)
        rc = aoei_static_complete(&m->config_json, m->file, weights_dir(m), err);
    return rc == AOE_ENOENT ? 0 : rc; /* what is missing is reported where it is needed */
}

static int load_config(aoe_model *m, const aoei_purpose *p, aoe_error *err) {
    const char *dir = weights_dir(m);
    if (!aoei_exists(dir))
        return aoei_fail(err, AOE_ENOENT,
                         "%s: no such directory; name a model directory (config.json, model.safetensors, tokenizer files)",
                         dir);
    char *path = aoei_path_join(dir, "config.json");
    if (!path)
        return aoei_fail_nomem(err, strlen(dir));
    int rc = aoei_exists(path) ? aoei_json_load(&m->config_json, path, err) : 0;
    if (!rc)
        rc = complete_static(m, err);
    if (!rc && !m->config_json)
        rc = aoei_fail(err, AOE_ENOENT, "%s: no config.json; name a model directory in the Hugging Face layout", dir);
    if (!rc)
        rc = aoei_config_read(&m->config, m->config_json, path, err);
    if (!rc && p->mlm && !m->config.arch->mlm_class_name)
        rc = aoei_fail(err, AOE_EUNSUPPORTED, "%s: a %s model has no masked-LM head; pretrain a BERT, a RoBERTa or a RAN", dir,
                       m->config.arch->model_type);
    m->config.mlm_head = p->mlm;
    int tied = 1;
    if (!rc && p->mlm)
        rc = aoei_json_bool(m->config_json, "tie_word_embeddings", &tied, path, err);
    if (!rc && !tied)
        rc = aoei_fail(err, AOE_EUNSUPPORTED,
                       "%s: tie_word_embeddings is false; only a masked-LM head whose decoder is the word table is supported",
                       path);
    aoei_free(path);
    return rc;
}

/* Of a directory of adapters, where its base is. */
static int find_base(aoe_model *m, const aoe_model_options *o, const aoei_purpose *p, aoe_error *err) {
    const int adapters = aoei_peft_is_dir(m->dir);
    if (o->base && !adapters)
        return aoei_fail(err, AOE_EARG, "%s holds no adapters; leave --base out, which names the model that adapters are for",
                         m->dir);
    if (adapters && p->mlm)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s holds adapters; pretrain a whole model (aoe merge makes one)", m->dir);
    return adapters ? aoei_peft_base(&m->base_dir, m->dir, o->base, err) : 0;
}

/* config.json and the files of weights and adapters. Where they are missing, an interrupted save may be why. */
static int load_files(aoe_model *m, const aoei_purpose *p, aoe_error *err) {
    char *stranded = NULL;
    int rc = load_config(m, p, err);
    if (!rc && !m->file)
        rc = aoei_safetensors_open_dir(&m->file, weights_dir(m), err);
    if (!rc)
        rc = aoei_adapters_configure(m, p->lora, err);
    if (rc == AOE_ENOENT && !aoei_model_stranded(&stranded, m->dir, NULL) && stranded)
        aoei_fail(err, rc, "%s: no model: an interrupted save left the one it was replacing in %s; move its files back", m->dir,
                  stranded);
    aoei_free(stranded);
    return rc;
}

/* Whose settings count: those of adapters are saved with them by whoever has settings. */
static const char *settings_dir(const aoe_model *m) {
    const int own = aoei_entry_exists(m->dir, "aoe.json") || aoei_entry_exists(m->dir, "modules.json");
    return own ? m->dir : weights_dir(m);
}

static int check_options(const aoe_model_options *o, aoe_error *err) {
    if (o->dtype != AOE_DTYPE_AUTO && o->dtype != AOE_DTYPE_F32 && o->dtype != AOE_DTYPE_BF16)
        return aoei_fail(err, AOE_EARG, "dtype %d is unknown; use f32, bf16 or auto", (int)o->dtype);
    if (o->normalize < -1 || o->normalize > 1)
        return aoei_fail(err, AOE_EARG, "normalize is %d; use -1 (the directory's), 0 or 1", o->normalize);
    return 0;
}

int aoei_model_open_for(aoe_model **out, aoe_context *ctx, const char *dir, const aoe_model_options *o, const aoei_purpose *p,
                        aoe_error *err) {
    aoe_model_options defaults;
    aoe_model_options_defaults(&defaults);
    o = o ? o : &defaults;
    *out = NULL;
    int rc = check_options(o, err);
    if (rc)
        return rc;
    aoe_model *m = aoei_calloc(1, sizeof *m);
    if (!m)
        return aoei_fail_nomem(err, sizeof *m);
    m->ctx = ctx;
    m->dtype_option = o->dtype;
    m->type = aoei_context_type(ctx, o->dtype);
    m->dir = aoei_strdup(dir);
    if (!m->dir)
        rc = aoei_fail_nomem(err, strlen(dir));
    if (rc || (rc = find_base(m, o, p, err)) || (rc = load_files(m, p, err)) ||
        (rc = aoei_settings_read(&m->settings, &m->record, settings_dir(m), &m->config, o, err)) ||
        (m->settings.dense && (rc = aoei_dense_open(m, settings_dir(m), m->settings.dense, err))) ||
        (rc = load_weights(m, p, err)) || (p->packed && (rc = pack_weights(m, err)))) {
        aoe_model_close(m);
        return rc;
    }
    if (m->settings.bidirectional)
        m->config.bidirectional_from = m->settings.bidirectional_from;
    if (m->config.arch->auto_float32 && o->dtype == AOE_DTYPE_AUTO)
        m->type = AOEI_F32;
    *out = m;
    return 0;
}

int aoe_encode_options_of(aoe_encode_options *o, const char *dir, aoe_error *err) {
    aoe_model m = {.dir = (char *)(uintptr_t)dir}; /* not written through */
    *o = (aoe_encode_options){0};
    char *path = aoei_path_join(dir, "config.json");
    int rc = path ? 0 : aoei_fail_nomem(err, strlen(dir));
    if (!rc && aoei_exists(path))
        rc = aoei_json_load(&m.config_json, path, err);
    if (!rc)
        rc = complete_static(&m, err);
    const char *type = json_string_value(json_object_get(m.config_json, "model_type"));
    const aoei_arch *arch = !rc && type ? aoei_arch_find(type) : NULL;
    o->no_special_tokens = o->drop_unknown = arch && arch->plain_tokens;
    aoei_safetensors_close(m.file);
    json_decref(m.config_json);
    aoei_free(path);
    return rc == AOE_ENOMEM ? rc : 0;
}

void aoe_model_options_defaults(aoe_model_options *o) {
    *o = (aoe_model_options){.dtype = AOE_DTYPE_AUTO, .pooling = AOE_POOLING_AUTO, .normalize = -1};
}

int aoe_model_open(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, aoe_error *err) {
    return aoei_model_open_for(m, ctx, dir, o, &(aoei_purpose){.packed = 1}, err);
}

int aoei_model_open_plain(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, aoe_error *err) {
    return aoei_model_open_for(m, ctx, dir, o, &(aoei_purpose){0}, err);
}

int aoei_model_open_mlm(aoe_model **m, aoe_context *ctx, const char *dir, const aoe_model_options *o, uint64_t seed,
                        aoe_error *err) {
    return aoei_model_open_for(m, ctx, dir, o, &(aoei_purpose){.mlm = 1, .seed = seed}, err);
}

void aoei_model_release_weights(aoe_model *m) {
    if (m->config.lora.r)
        return; /* what is frozen is in use */
    memset(m->weights, 0, aoei_slot_count(&m->config) * sizeof *m->weights);
    aoei_aligned_free(m->converted);
    aoei_aligned_free(m->made);
    aoei_aligned_free(m->behind);
    m->converted = NULL;
    m->made = m->behind = NULL;
    m->converted_bytes = 0;
    if (m->file)
        aoei_safetensors_drop(m->file);
}

int aoei_model_view(aoe_model **out, const aoe_model *base, const aoei_tensor *weights, aoe_error *err) {
    size_t n = aoei_slot_count(&base->config);
    *out = NULL;
    aoe_model *m = aoei_calloc(1, sizeof *m);
    if (!m)
        return aoei_fail_nomem(err, sizeof *m);
    m->view = 1;
    m->ctx = base->ctx;
    m->config = base->config;
    m->lora = base->lora;
    m->type = base->type;
    m->dtype_option = base->dtype_option;
    m->tokenizer = base->tokenizer;
    m->storage = "F32";
    m->prefix = base->prefix;
    m->base = base;
    m->config_json = json_incref(base->config_json);
    m->record = json_incref(base->record);
    m->dir = aoei_strdup(base->dir);
    m->weights = aoei_malloc_array(n, sizeof *m->weights);
    int rc = m->dir && m->weights ? aoei_settings_copy(&m->settings, &base->settings, err)
                                  : aoei_fail_nomem(err, n * sizeof *m->weights);
    if (rc) {
        aoe_model_close(m);
        return rc;
    }
    memcpy(m->weights, weights, n * sizeof *weights);
    *out = m;
    return 0;
}

void aoe_model_close(aoe_model *m) {
    if (!m)
        return;
    if (!m->view)
        aoe_tokenizer_close(m->tokenizer);
    aoei_settings_free(&m->settings);
    json_decref(m->config_json);
    json_decref(m->record);
    aoei_aligned_free(m->packed);
    aoei_aligned_free(m->converted);
    aoei_aligned_free(m->made);
    aoei_aligned_free(m->behind);
    aoei_safetensors_close(m->file);
    aoei_safetensors_close(m->adapter_file);
    aoei_safetensors_close(m->dense_file);
    aoei_free(m->stored);
    aoei_free(m->weights);
    aoei_free(m->lora_targets);
    aoei_free(m->base_dir);
    aoei_free(m->dir);
    aoei_free(m);
}

void aoe_model_get_info(const aoe_model *m, aoe_model_info *info) {
    const aoei_encoder_config *c = &m->config;
    *info = (aoe_model_info){
        .architecture = c->arch->model_type,
        .hidden = c->hidden,
        .layers = c->layers,
        .heads = c->heads,
        .intermediate = c->intermediate,
        .vocab = c->vocab,
        .positions = c->positions,
        .token_types = c->token_types,
        .parameters = aoei_base_count(c),
        .dims = aoe_model_dims(m),
        .dense = !c->dense       ? NULL
                 : c->dense_tanh ? "tanh"
                                 : "linear",
        .pooling = m->settings.pooling,
        .pooling_from = m->settings.pooling_from,
        .max_length = m->settings.max_length,
        .max_length_from = m->settings.max_length_from,
        .prompt = m->settings.prompt,
        .normalize = m->settings.normalize,
        .dtype = aoei_public_dtype(m->type),
        .storage = m->storage,
        .tokenizer = m->tokenizer ? aoe_tokenizer_kind(m->tokenizer) : NULL,
        .dropout = c->hidden_dropout,
        .kv_heads = aoei_kv_heads(c),
        .causal = c->causal,
        .bidirectional_from = !c->causal                          ? 0
                              : c->bidirectional_from < c->layers ? c->bidirectional_from
                                                                  : c->layers,
        .head_size = c->ran.head_size,
        .window = c->ran.window,
        .min_window = c->ran.min_window,
        .base = m->base_dir,
        .lora_r = m->lora.r,
        .lora_alpha = m->lora.alpha,
        .lora_dropout = m->lora.dropout,
        .lora_targets = m->lora_targets ? m->lora_targets : "",
    };
}

size_t aoe_model_dims(const aoe_model *m) {
    return aoei_vector_dims(&m->config); /* every pooling keeps the hidden size */
}

const aoe_tokenizer *aoe_model_tokenizer(const aoe_model *m) {
    return m->tokenizer;
}

int aoei_entry_exists(const char *dir, const char *name) {
    char path[PATH_MAX]; /* a longer name cannot be opened either */
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && aoei_exists(path);
}

int aoei_is_model_dir(const char *dir) {
    return (aoei_entry_exists(dir, "config.json") &&
            (aoei_entry_exists(dir, "model.safetensors") || aoei_entry_exists(dir, "model.safetensors.index.json"))) ||
           (aoei_peft_is_dir(dir) && aoei_entry_exists(dir, AOEI_PEFT_WEIGHTS));
}
