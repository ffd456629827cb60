/* SPDX-License-Identifier: MIT
 * Writes model directories. The directory of a complete model contains these files:
 * - config.json
 * - the files of the tokenizer
 * - the settings: aoe.json and the sentence-transformers files
 * - the folders of the modules after the pooling, such as a dense layer
 * - LICENSE, NOTICE and README.md
 * - the weights, which are written last
 * An adapter directory contains the configuration and the weights of the adapters in PEFT's format, including those of
 * a classification head. It has no config.json. Only adapters of cross-encoders have sentence-transformers files. All
 * other files are written as for a complete model.
 */
#include "modeldir/model_writer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hub_cache.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "encoder/slot_layout.h"
#include "encoder/slots.h"
#include "modeldir/adapter_tensors.h"
#include "modeldir/cross_encoder_write.h"
#include "modeldir/layer_pooling.h"
#include "modeldir/layout.h"
#include "modeldir/peft.h"
#include "modeldir/pooled_modules.h"
#include "modeldir/publish.h"
#include "modeldir/readme.h"
#include "modeldir/sentence_transformers_write.h"
#include "modeldir/settings_json.h"
#include "modeldir/storage.h"
#include "modeldir/token_module.h"
#include "modeldir/weight_tensors.h"
#include "tokenizer/tokenizer_files.h"

#define CHUNK_BYTES                                                                                                    \
    ((size_t)1 << 20) /* maximum size of the rows that are converted at a time, unless one row is larger */

/* Writes config.json. Adds the class name of the architecture and the data type of the weights. */
static int write_config(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    json_t *config = aoei_json_copy(m->config_json);
    char *path = aoei_path_join(dir, "config.json");
    int failed = !config || !path;
    failed = failed || json_object_set_new(config, "architectures",
                                           json_pack("[s]", m->config->mlm_head ? m->config->arch->mlm_class_name
                                                                                : m->config->arch->class_name));
    failed = failed ||
             (m->config->modules.classes && aoei_cross_encoder_describe(config, m->config, m->settings, m->tokenizer));
    failed = failed || json_object_set_new(config, "torch_dtype", json_string(aoei_storage_torch_dtype(m->storage)));
    if (!failed && json_object_get(config, "dtype")) /* newer versions of transformers use this name instead of
                                                        torch_dtype */
        failed = json_object_set_new(config, "dtype", json_string(aoei_storage_torch_dtype(m->storage)));
    if (!failed && aoei_layer_pooling_states(m->config, m->settings->pooling)) /* sentence-transformers ignores the
                                                                                  layer weights without this key */
        failed = json_object_set_new(config, "output_hidden_states", json_true());
    if (!failed && m->config->arch->plain_tokens) /* a static model: Model2Vec reads these keys */
        failed = json_object_set_new(config, "normalize", json_boolean(m->settings->normalize)) ||
                 (json_object_get(config, "embedding_dtype") &&
                  json_object_set_new(config, "embedding_dtype", json_string(aoei_storage_torch_dtype(m->storage))));
    int rc = failed ? aoei_fail_nomem(err, strlen(dir)) : aoei_json_save(config, path, err);
    json_decref(config);
    aoei_free(path);
    return rc;
}

/* Writes aoe.json. */
static int write_settings(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    json_t *root = aoei_settings_to_json(m->settings, m->record);
    char *path = aoei_path_join(dir, "aoe.json");
    int rc = root && path ? aoei_json_save(root, path, err) : aoei_fail_nomem(err, strlen(dir));
    json_decref(root);
    aoei_free(path);
    return rc;
}

/* The tensors of the weight file. An entry is either a weight of the model, or a copy of a tensor in the files of the
 * model from which this model is derived (the source). */
typedef struct tensor_list {
    aoei_slot *slots;              /* [aoei_slot_count] descriptions of all slots of the model, owned */
    aoei_st_entry *entries;        /* [n_entries] tensors of the file; array owned, names borrowed from `slots` and the
                                      source */
    const aoei_st_tensor **source; /* [n_entries] tensor to copy; NULL: the entry is a weight of the model; array
                                      owned */
    size_t *slot_of;               /* [n_entries] index in `slots` of each weight; unused for copied tensors; owned */
    size_t n_entries;
} tensor_list;

static void free_list(tensor_list *list) {
    aoei_free(list->slots);
    aoei_free(list->entries);
    aoei_free(list->source);
    aoei_free(list->slot_of);
}

/* Fills the list. If m->only_adapters is 1, lists the weights of the adapters and of a classification head, with their
 * names in PEFT. Otherwise, lists all model weights and the tensors to copy. */
static int list_tensors(tensor_list *list, const aoei_model_contents *m, aoe_error *err) {
    const aoei_model_files *source = m->source;
    const int adapters = m->only_adapters;
    size_t n = aoei_slot_count(m->config), others = source && !adapters ? aoei_safetensors_count(source->weights) : 0;
    list->slots = aoei_calloc(n, sizeof *list->slots);
    list->entries = aoei_calloc(n + others, sizeof *list->entries);
    list->source = aoei_calloc(n + others, sizeof *list->source);
    list->slot_of = aoei_calloc(n + others, sizeof *list->slot_of);
    if (!list->slots || !list->entries || !list->source || !list->slot_of)
        return aoei_fail_nomem(err, (n + others) * sizeof *list->entries);
    for (size_t i = 0; i < n; i++) {
        aoei_slot *s = &list->slots[i];
        aoei_slot_describe(m->config, i, s);
        if (s->absent || s->pooled || (s->adapter || (adapters && s->classifier)) != adapters)
            continue;
        char bare[sizeof s->name];
        memcpy(bare, s->name, sizeof bare);
        if (adapters)
            aoei_peft_name(s->name, sizeof s->name, s->head ? "" : aoei_adapters_prefix(source, m->config), bare);
        else if ((m->config->mlm_head || m->config->modules.classes) && !s->head) /* a prefix such as "bert." for
                                                                             BertForMaskedLM */
            snprintf(s->name, sizeof s->name, "%s%.100s",
                     m->config->mlm_head ? m->config->arch->mlm_prefix : m->config->arch->head->prefix, bare);
        if (s->first) /* another slot begins the fused tensor that contains this weight */
            continue;
        const size_t length = s->stored_rows ? s->stored_rows : s->vector ? s->cols : s->rows;
        const aoei_st_dtype dtype =
            s->table && m->embedding_storage == AOE_EMBEDDING_STORAGE_INT5 ? AOEI_ST_I5 : AOEI_ST_F32;
        list->slot_of[list->n_entries] = i;
        list->entries[list->n_entries++] = s->vector ? (aoei_st_entry){s->name, AOEI_ST_F32, 1, {length}}
                                                     : (aoei_st_entry){s->name, dtype, 2, {length, s->cols}};
    }
    for (size_t i = 0; i < others; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(source->weights, i);
        const char *name = aoei_copied_tensor_name(source, m->config, t);
        if (!name)
            continue;
        aoei_st_entry *e = &list->entries[list->n_entries];
        *e = (aoei_st_entry){.name = name, .dtype = AOEI_ST_F32, .n_dims = t->n_dims};
        memcpy(e->shape, t->shape, sizeof e->shape);
        list->source[list->n_entries++] = t;
    }
    return 0;
}

/* Writes a weight in chunks of rows. d: description of the slot. The size of `buffer` is at least CHUNK_BYTES and at
 * least one row. */
static int write_weight(const aoei_model_contents *m, aoei_storage_writer *w, size_t slot, const aoei_slot *d,
                        float *buffer, aoe_error *err) {
    size_t row = d->cols * sizeof(float), step = row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
    int rc = 0;
    for (size_t first = 0; first < d->rows && !rc; first += step) {
        size_t n = d->rows - first < step ? d->rows - first : step;
        m->rows->rows(m->rows, buffer, slot, first, n);
        rc = aoei_storage_write(w, buffer, n * d->cols, err);
    }
    return rc;
}

/* Returns the slot of the weight whose rows follow the rows of the weight `slot` in a fused tensor (encoder/arch.h), or
 * SIZE_MAX if `slot` is the last weight of its tensor. */
static size_t next_part(const tensor_list *list, size_t n_slots, size_t slot) {
    const aoei_slot *s = &list->slots[slot];
    const size_t first = s->first + (s->vector ? s->cols : s->rows);
    for (size_t i = 0; i < n_slots && first < s->stored_rows; i++)
        if (list->slots[i].first == first && !strcmp(list->slots[i].name, s->name))
            return i;
    return SIZE_MAX;
}

/* Writes the weights of a tensor. A fused tensor contains several weights. `slot`: first weight of the tensor.
 * `buffer`: see write_weight. */
static int write_tensor(const aoei_model_contents *m, aoei_storage_writer *w, const tensor_list *list, size_t slot,
                        float *buffer, aoe_error *err) {
    const size_t n_slots = aoei_slot_count(m->config);
    int rc = 0;
    for (; slot != SIZE_MAX && !rc; slot = next_part(list, n_slots, slot))
        rc = write_weight(m, w, slot, &list->slots[slot], buffer, err);
    return rc;
}

/* Copies the tensor t of the source to the file and converts it to the storage type. */
static int write_copy(aoei_storage_writer *w, const aoei_st_tensor *t, aoe_error *err) {
    size_t n = aoei_st_elements(t);
    float *buffer = aoei_malloc_array(n, sizeof *buffer);
    if (!buffer)
        return aoei_fail_nomem(err, n * sizeof *buffer);
    aoei_st_to_float(buffer, t);
    int rc = aoei_storage_write(w, buffer, n, err);
    aoei_free(buffer);
    return rc;
}

/* Writes the weight file. If m->only_adapters is 1, the file contains the adapters; otherwise it contains all model
 * weights. */
static int write_weights(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    tensor_list list = {0};
    aoei_storage_writer *w = NULL;
    float *buffer = NULL;
    size_t buffer_bytes = CHUNK_BYTES;
    char *path = aoei_path_join(dir, m->only_adapters ? AOEI_PEFT_WEIGHTS : AOEI_WEIGHTS_FILE);
    int rc = path ? list_tensors(&list, m, err) : aoei_fail_nomem(err, strlen(dir));
    for (size_t i = 0; i < list.n_entries && !rc; i++)
        if (!list.source[i] && list.slots[list.slot_of[i]].cols * sizeof(float) > buffer_bytes)
            buffer_bytes = list.slots[list.slot_of[i]].cols * sizeof(float);
    if (!rc && !(buffer = aoei_malloc(buffer_bytes)))
        rc = aoei_fail_nomem(err, buffer_bytes);
    if (!rc)
        rc = aoei_storage_open(&w, path, list.entries, list.n_entries, m->only_adapters ? AOE_STORAGE_F32 : m->storage,
                               err);
    for (size_t i = 0; i < list.n_entries && !rc; i++)
        rc = list.source[i] ? write_copy(w, list.source[i], err)
                            : write_tensor(m, w, &list, list.slot_of[i], buffer, err);
    if (!rc) {
        rc = aoei_storage_commit(w, err);
        w = NULL;
    }
    aoei_storage_abort(w);
    aoei_free(buffer);
    aoei_free(path);
    free_list(&list);
    return rc;
}

/* Replaces the path of the base model in adapter_config.json by its name and its commit if it is a model on the Hugging
 * Face Hub. Returns nonzero if out of memory. */
static int name_base(json_t *config, const char *base) {
    aoei_hub_name name;
    if (aoei_hub_name_of(&name, base))
        return -1;
    return *name.id && (json_object_set_new(config, "base_model_name_or_path", json_string(name.id)) ||
                        json_object_set_new(config, "revision", json_string(name.revision)));
}

/* Writes adapter_config.json. The file contains the absolute path of the base model, so the base model is found from
 * any working directory, or its name on the Hugging Face Hub, so that it is found on any machine. The path is that of
 * the folder with config.json, such as 0_Transformer, because PEFT opens it with the library transformers. */
static int write_peft_config(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    char *base = aoei_full_path(aoei_weights_dir(m->source)), *path = aoei_path_join(dir, AOEI_PEFT_CONFIG);
    json_t *config = base ? aoei_peft_to_json(m->config, base, aoei_adapters_prefix(m->source, m->config)) : NULL;
    int rc = config && path && !name_base(config, base) ? aoei_json_save(config, path, err)
                                                        : aoei_fail_nomem(err, strlen(dir));
    json_decref(config);
    aoei_free(path);
    aoei_free(base);
    return rc;
}

/* Copies the file aoei_license_files[i] of the source, if it exists. */
static int write_license_file(const aoei_model_contents *m, size_t i, const char *dir, aoe_error *err) {
    const aoei_model_files *source = m->source;
    const char *name = aoei_license_files[i], *from = m->license_dir[i] ? m->license_dir[i] : source->dir;
    if (!m->license_dir[i] && source->base_dir && !aoei_entry_exists(from, name))
        from = source->base_dir;
    const int in_memory = !m->license_dir[i] && source->license[i];
    if (!in_memory && !aoei_entry_exists(from, name))
        return 0;
    char *path = aoei_path_join(from, name), *to = aoei_path_join(dir, name), *text = NULL;
    size_t size = 0;
    int rc = path && to ? 0 : aoei_fail_nomem(err, strlen(dir));
    if (!rc && !in_memory)
        rc = aoei_read_regular(&text, &size, path, 0, err);
    if (!rc)
        rc = in_memory ? aoei_write_file(to, source->license[i], source->license_size[i], err)
                       : aoei_write_file(to, text, size, err);
    aoei_free(text);
    aoei_free(to);
    aoei_free(path);
    return rc;
}

/* Copies the files aoei_license_files of the source that exist. */
static int write_license(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < AOEI_LICENSE_FILES && !rc && m->source && m->source->weights; i++)
        rc = write_license_file(m, i, dir, err);
    return rc;
}

/* Writes the files of a cross-encoder; does nothing for an embedding model. */
static int write_cross_encoder(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    return m->config->modules.classes
               ? aoei_cross_encoder_write(m->config, m->settings, m->tokenizer, m->config_json, dir, err)
               : 0;
}

/* Writes the files of sentence-transformers, if an embedding model of this architecture has them. */
static int write_sentence_transformers(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    if (m->config->arch->library == AOEI_LIBRARY_NONE || m->config->modules.classes)
        return 0;
    return aoei_sentence_transformers_write(m->settings, m->config, m->storage, dir, err);
}

static int write_adapters(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    int rc;
    if ((rc = write_peft_config(m, dir, err)) || (m->tokenizer && (rc = aoei_tokenizer_save(m->tokenizer, dir, err))) ||
        (rc = write_settings(m, dir, err)) || (rc = aoei_modules_write(m, dir, err)) ||
        (rc = aoei_layer_pooling_write(m, dir, err)) || (rc = aoei_token_module_write(m, dir, err)) ||
        (rc = write_license(m, dir, err)) || (rc = write_sentence_transformers(m, dir, err)) ||
        (rc = write_cross_encoder(m, dir, err)) || (rc = aoei_adapters_readme(m, dir, err)))
        return rc;
    return write_weights(m, dir, err);
}

static int write_complete(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    int rc;
    if ((rc = write_config(m, dir, err)) || (m->tokenizer && (rc = aoei_tokenizer_save(m->tokenizer, dir, err))) ||
        (rc = write_settings(m, dir, err)) || (rc = aoei_modules_write(m, dir, err)) ||
        (rc = aoei_layer_pooling_write(m, dir, err)) || (rc = aoei_token_module_write(m, dir, err)) ||
        (rc = write_sentence_transformers(m, dir, err)) || (rc = write_cross_encoder(m, dir, err)) ||
        (rc = write_license(m, dir, err)) || (rc = aoei_model_readme(m, dir, err)))
        return rc;
    return write_weights(m, dir, err);
}

int aoei_contents_write(const aoei_model_contents *m, const char *dir, aoe_error *err) {
    return m->only_adapters ? write_adapters(m, dir, err) : write_complete(m, dir, err);
}

/* Writes a note to the log if sentence-transformers computes different embeddings for the model. */
static void note_limits(const aoei_model_contents *m, const char *dir, const aoei_log *log) {
    char limits[512];
    size_t len;
    if (m->config->modules.classes && *m->settings->prompt && !aoei_prompt_is_prefix(m->settings->prompt, &len))
        aoei_log_write(
            log, AOE_LOG_INFO,
            "%s: sentence-transformers computes other scores, because it does not support prompts with text after "
            "{text}",
            dir);
    if (m->config->arch->library == AOEI_LIBRARY_SENTENCE_TRANSFORMERS && !m->only_adapters &&
        !m->config->modules.classes && !m->limits_logged && aoei_settings_limits(m->settings, limits, sizeof limits))
        aoei_log_write(log, AOE_LOG_INFO, "%s: %s", dir, limits);
}

int aoei_contents_save(const aoei_model_contents *m, const char *dir, const aoei_log *log, aoe_error *err) {
    char *staging = NULL;
    int existed = aoei_exists(dir), keep_staging = 0, rc = aoei_make_dir(dir, err);
    if (rc)
        return rc;
    rc = aoei_publish_recover(log, dir, err);
    if (!rc && !(staging = aoei_model_staging(dir)))
        rc = aoei_fail_nomem(err, strlen(dir));
    if (!rc && !(rc = aoei_make_dir(staging, err))) {
        rc = aoei_contents_write(m, staging, err);
        if (!rc)
            rc = aoei_publish(&keep_staging, dir, staging, err);
        if (!keep_staging && aoei_remove_tree(staging, NULL) && !rc) /* the next save removes the staging folder */
            aoei_log_write(log, AOE_LOG_WARNING, "%s: cannot remove this temporary directory; it can be deleted",
                           staging);
    }
    if (rc && !existed)
        rmdir(dir);
    if (!rc)
        note_limits(m, dir, log);
    aoei_free(staging);
    return rc;
}
