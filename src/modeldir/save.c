/* SPDX-License-Identifier: MIT
 * What a model directory holds when aoe writes it: configuration, tokenizer,
 * settings in every form, LICENSE, README.md and weights; of adapters their configuration and
 * weights in PEFT's form, with tokenizer, aoe.json and README.md. All of it is written
 * and synced in the staging folder; model_publish.c then puts it into place.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "aoe_train.h"
#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/context.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "model/adapters.h"
#include "modeldir/dense_module.h"
#include "modeldir/peft.h"
#include "modeldir/publish.h"
#include "modeldir/settings.h"
#include "modeldir/storage.h"
#include "tokenizer/tokenizer.h"

#define CHUNK_BYTES ((size_t)1 << 20)
#define LICENSE     "LICENSE"

static int write_config(const aoe_model *m, const char *dir, aoe_storage storage, aoe_error *err) {
    json_t *config = json_deep_copy(m->config_json);
    char *path = aoei_path_join(dir, "config.json");
    int failed = !config || !path;
    failed = failed || json_object_set_new(
                           config, "architectures",
                           json_pack("[s]", m->config.mlm_head ? m->config.arch->mlm_class_name : m->config.arch->class_name));
    failed = failed || json_object_set_new(config, "torch_dtype", json_string(aoei_storage_torch(storage)));
    if (!failed && json_object_get(config, "dtype")) /* the newer name of the same key */
        failed = json_object_set_new(config, "dtype", json_string(aoei_storage_torch(storage)));
    if (!failed && m->config.arch->library == AOEI_LIBRARY_MODEL2VEC) /* what Model2Vec reads of it */
        failed = json_object_set_new(config, "normalize", json_boolean(m->settings.normalize)) ||
                 (json_object_get(config, "embedding_dtype") &&
                  json_object_set_new(config, "embedding_dtype", json_string(aoei_storage_torch(storage))));
    int rc = failed ? aoei_fail_nomem(err, strlen(dir)) : aoei_json_save(config, path, err);
    json_decref(config);
    aoei_free(path);
    return rc;
}

static int write_own(const aoe_model *m, json_t *record, const char *dir, aoe_error *err) {
    json_t *root = aoei_settings_to_json(&m->settings, record);
    char *path = aoei_path_join(dir, "aoe.json");
    int rc = root && path ? aoei_json_save(root, path, err) : aoei_fail_nomem(err, strlen(dir));
    json_decref(root);
    aoei_free(path);
    return rc;
}

const char *aoei_model_carried(const aoe_model *source, const aoei_st_tensor *t) {
    if (source->config.mlm_head)
        return NULL;
    size_t len = strlen(source->prefix);
    int floats = t->dtype == AOEI_ST_F32 || t->dtype == AOEI_ST_F16 || t->dtype == AOEI_ST_BF16 || t->dtype == AOEI_ST_I8;
    if (aoei_safetensors_scaled(source->file, t))
        return NULL; /* part of the matrix */
    return floats && !strncmp(t->name, source->prefix, len) && !strncmp(t->name + len, "pooler.", 7) ? t->name + len : NULL;
}

/* What goes into model.safetensors. */
typedef struct contents {
    aoei_slot *slots;              /* owned [n_slots] */
    aoei_st_entry *entries;        /* owned [n_entries]; names borrowed from slots and the source */
    const aoei_st_tensor **source; /* owned [n_entries]; NULL: the entry is weight slot_of[i] */
    size_t *slot_of;               /* owned [n_entries] */
    size_t n_entries;
} contents;

static void free_contents(contents *c) {
    aoei_free(c->slots);
    aoei_free(c->entries);
    aoei_free(c->source);
    aoei_free(c->slot_of);
}

/* adapters: 1: of these alone, under PEFT's names; 0: of all weights, and what goes along with them. */
static int list_contents(contents *c, const aoe_model *m, int adapters, aoe_error *err) {
    const aoe_model *source = m->base ? m->base : m;
    size_t n = aoei_slot_count(&m->config), others = source->file && !adapters ? aoei_safetensors_count(source->file) : 0;
    c->slots = aoei_calloc(n, sizeof *c->slots);
    c->entries = aoei_calloc(n + others, sizeof *c->entries);
    c->source = aoei_calloc(n + others, sizeof *c->source);
    c->slot_of = aoei_calloc(n + others, sizeof *c->slot_of);
    if (!c->slots || !c->entries || !c->source || !c->slot_of)
        return aoei_fail_nomem(err, (n + others) * sizeof *c->entries);
    for (size_t i = 0; i < n; i++) {
        aoei_slot *s = &c->slots[i];
        aoei_slot_describe(&m->config, i, s);
        if (s->absent || s->pooled || (s->adapter != 0) != adapters)
            continue;
        char bare[sizeof s->name];
        memcpy(bare, s->name, sizeof bare);
        if (adapters)
            aoei_peft_name(s->name, sizeof s->name, aoei_adapters_prefix(m), bare);
        if (m->config.mlm_head && !s->head) { /* as transformers names them beside such a head */
            snprintf(s->name, sizeof s->name, "%s%.100s", m->config.arch->mlm_prefix, bare);
        }
        c->slot_of[c->n_entries] = i;
        c->entries[c->n_entries++] = s->vector ? (aoei_st_entry){s->name, AOEI_ST_F32, 1, {s->cols}}
                                               : (aoei_st_entry){s->name, AOEI_ST_F32, 2, {s->rows, s->cols}};
    }
    for (size_t i = 0; i < others; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(source->file, i);
        const char *name = aoei_model_carried(source, t);
        if (!name)
            continue;
        aoei_st_entry *e = &c->entries[c->n_entries];
        *e = (aoei_st_entry){.name = name, .dtype = AOEI_ST_F32, .n_dims = t->n_dims};
        memcpy(e->shape, t->shape, sizeof e->shape);
        c->source[c->n_entries++] = t;
    }
    return 0;
}

/* A weight, some rows at a time. buffer: [at least CHUNK_BYTES and a row]. */
static int write_weight(const aoe_model *m, aoei_storage_writer *w, size_t slot, const aoei_slot *d, float *buffer,
                        aoe_error *err) {
    size_t row = d->cols * sizeof(float), step = row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
    int rc = 0;
    for (size_t first = 0; first < d->rows && !rc; first += step) {
        size_t n = d->rows - first < step ? d->rows - first : step;
        aoei_model_rows(m, buffer, slot, first, n);
        rc = aoei_storage_write(w, buffer, n * d->cols, err);
    }
    return rc;
}

/* A tensor of the source file, whole. */
static int write_carried(aoei_storage_writer *w, const aoei_st_tensor *t, aoe_error *err) {
    size_t n = aoei_st_elements(t);
    float *buffer = aoei_malloc_array(n, sizeof *buffer);
    if (!buffer)
        return aoei_fail_nomem(err, n * sizeof *buffer);
    aoei_st_to_float(buffer, t);
    int rc = aoei_storage_write(w, buffer, n, err);
    aoei_free(buffer);
    return rc;
}

/* name: of the file. */
static int write_weights(const aoe_model *m, const char *dir, const char *name, int adapters, aoe_storage storage,
                         aoe_error *err) {
    contents c = {0};
    aoei_storage_writer *w = NULL;
    float *buffer = NULL;
    size_t widest = CHUNK_BYTES;
    char *path = aoei_path_join(dir, name);
    int rc = path ? list_contents(&c, m, adapters, err) : aoei_fail_nomem(err, strlen(dir));
    for (size_t i = 0; i < c.n_entries && !rc; i++)
        if (!c.source[i] && c.slots[c.slot_of[i]].cols * sizeof(float) > widest)
            widest = c.slots[c.slot_of[i]].cols * sizeof(float);
    if (!rc && !(buffer = aoei_malloc(widest)))
        rc = aoei_fail_nomem(err, widest);
    if (!rc)
        rc = aoei_storage_open(&w, path, c.entries, c.n_entries, storage, err);
    for (size_t i = 0; i < c.n_entries && !rc; i++)
        rc = c.source[i] ? write_carried(w, c.source[i], err)
                         : write_weight(m, w, c.slot_of[i], &c.slots[c.slot_of[i]], buffer, err);
    if (!rc) {
        rc = aoei_storage_commit(w, err);
        w = NULL;
    }
    aoei_storage_abort(w);
    aoei_free(buffer);
    aoei_free(path);
    free_contents(&c);
    return rc;
}

/* adapter_config.json names the base by its full path: the adapters are found to belong to it from everywhere. */
static int write_peft_config(const aoe_model *m, const char *dir, aoe_error *err) {
    const aoe_model *source = m->base ? m->base : m;
    char *base = aoei_full_path(source->base_dir ? source->base_dir : source->dir),
         *path = aoei_path_join(dir, AOEI_PEFT_CONFIG);
    json_t *config = base ? aoei_peft_to_json(&m->config, base, aoei_adapters_prefix(m)) : NULL;
    int rc = config && path ? aoei_json_save(config, path, err) : aoei_fail_nomem(err, strlen(dir));
    json_decref(config);
    aoei_free(path);
    aoei_free(base);
    return rc;
}

/* The terms of the weights go where the weights go. What has no file was made from nothing. */
static int write_license(const aoe_model *m, const char *dir, aoe_error *err) {
    const aoe_model *source = m->base ? m->base : m;
    const char *from = m->license_dir ? m->license_dir : source->dir;
    if (!source->file)
        return 0;
    if (!aoei_entry_exists(from, LICENSE) && source->base_dir)
        from = source->base_dir;
    if (!aoei_entry_exists(from, LICENSE))
        return 0;
    char *path = aoei_path_join(from, LICENSE), *to = aoei_path_join(dir, LICENSE), *text = NULL;
    size_t size = 0;
    int rc = path && to ? aoei_read_file(&text, &size, path, 0, err) : aoei_fail_nomem(err, strlen(dir));
    if (!rc)
        rc = aoei_write_file(to, text, size, err);
    aoei_free(text);
    aoei_free(to);
    aoei_free(path);
    return rc;
}

static int write_adapters(const aoe_model *m, json_t *record, const char *dir, aoe_error *err) {
    int rc;
    if ((rc = write_peft_config(m, dir, err)) || (m->tokenizer && (rc = aoei_tokenizer_save(m->tokenizer, dir, err))) ||
        (rc = write_own(m, record, dir, err)) || (rc = aoei_dense_save(m, dir, err)) || (rc = write_license(m, dir, err)) ||
        (rc = aoei_adapters_readme(m, record, dir, err)))
        return rc;
    return write_weights(m, dir, AOEI_PEFT_WEIGHTS, 1, AOE_STORAGE_F32, err);
}

static int write_whole(const aoe_model *m, json_t *record, const char *dir, aoe_storage storage, aoe_error *err) {
    int rc;
    if ((rc = write_config(m, dir, storage, err)) || (m->tokenizer && (rc = aoei_tokenizer_save(m->tokenizer, dir, err))) ||
        (rc = write_own(m, record, dir, err)) || (rc = aoei_dense_save(m, dir, err)) ||
        (m->config.arch->library == AOEI_LIBRARY_SENTENCE_TRANSFORMERS &&
         (rc = aoei_sentence_transformers_write(&m->settings, m->config.hidden, dir, err))) ||
        (rc = write_license(m, dir, err)) || (rc = aoei_model_readme(m, record, dir, storage, err)))
        return rc;
    return write_weights(m, dir, "model.safetensors", 0, storage, err);
}

/* storage NULL: the adapters alone. */
static int save(const aoe_model *m, const char *dir, json_t *record, const aoe_storage *storage, aoe_error *err) {
    char *staging = NULL;
    int existed = aoei_exists(dir), held = 0, rc = aoei_make_dir(dir, err);
    if (rc)
        return rc;
    rc = aoei_publish_recover(&m->ctx->log, dir, err);
    if (!rc && !(staging = aoei_model_staging(dir)))
        rc = aoei_fail_nomem(err, strlen(dir));
    if (!rc && !(rc = aoei_make_dir(staging, err))) {
        rc = storage ? write_whole(m, record, staging, *storage, err) : write_adapters(m, record, staging, err);
        if (!rc)
            rc = aoei_publish(&held, dir, staging, err);
        if (!held && aoei_remove_tree(staging, NULL) && !rc) /* the next save removes it */
            aoei_log_write(&m->ctx->log, AOE_LOG_WARNING, "%s could not be removed; it is not needed any more", staging);
    }
    if (rc && !existed)
        rmdir(dir);
    aoei_free(staging);
    return rc;
}

int aoei_model_save(const aoe_model *m, const char *dir, json_t *record, aoe_error *err) {
    const aoe_storage storage = AOE_STORAGE_F32;
    return save(m, dir, record, m->config.lora.r ? NULL : &storage, err);
}

int aoei_model_save_as(const aoe_model *m, const char *dir, json_t *record, aoe_storage storage, aoe_error *err) {
    return save(m, dir, record, &storage, err);
}
