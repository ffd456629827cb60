/* SPDX-License-Identifier: MIT
 * Writing a model directory. Everything is written and synced in a folder
 * beside (DIR/.staging-PID), then renamed into place, the weights last: a
 * directory without weights is no model, so nobody ever opens a mixture. Until
 * the end of writing a model that was there is untouched; a failure while moving
 * puts it back, a kill then leaves no model. Other things in the directory stay.
 */
#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "model/settings.h"
#include "nn/context.h"
#include "text/tokenizer.h"

#define STAGING     ".staging-"
#define CHUNK_BYTES ((size_t)1 << 20)

static const char weights_name[] = "model.safetensors";
static const char index_name[] = "model.safetensors.index.json";

/* -------------------------------------------------------------- contents */

static int write_config(const aoe_model *m, const char *dir, aoe_error *err) {
    json_t *config = json_deep_copy(m->config_json);
    char *path = aoei_path_join(dir, "config.json");
    int failed = !config || !path;
    failed = failed || json_object_set_new(config, "architectures", json_pack("[s]", m->config.arch->class_name));
    failed = failed || json_object_set_new(config, "torch_dtype", json_string("float32"));
    if (!failed && json_object_get(config, "dtype")) /* the newer name of the same key */
        failed = json_object_set_new(config, "dtype", json_string("float32"));
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

/* Tensors of the source that go along though the encoder has no use for them: the pooler. NULL: t is none. */
static const char *carried_name(const aoe_model *source, const aoei_st_tensor *t) {
    size_t len = strlen(source->prefix);
    int floats = t->dtype == AOEI_ST_F32 || t->dtype == AOEI_ST_F16 || t->dtype == AOEI_ST_BF16;
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

static int list_contents(contents *c, const aoe_model *m, aoe_error *err) {
    const aoe_model *source = m->base ? m->base : m;
    size_t n = aoei_slot_count(&m->config), others = source->file ? aoei_safetensors_count(source->file) : 0;
    c->slots = aoei_calloc(n, sizeof *c->slots);
    c->entries = aoei_calloc(n + others, sizeof *c->entries);
    c->source = aoei_calloc(n + others, sizeof *c->source);
    c->slot_of = aoei_calloc(n + others, sizeof *c->slot_of);
    if (!c->slots || !c->entries || !c->source || !c->slot_of)
        return aoei_fail_nomem(err, (n + others) * sizeof *c->entries);
    for (size_t i = 0; i < n; i++) {
        aoei_slot *s = &c->slots[i];
        aoei_slot_describe(&m->config, i, s);
        if (s->absent)
            continue;
        c->slot_of[c->n_entries] = i;
        c->entries[c->n_entries++] = s->vector ? (aoei_st_entry){s->name, AOEI_ST_F32, 1, {s->cols}}
                                               : (aoei_st_entry){s->name, AOEI_ST_F32, 2, {s->rows, s->cols}};
    }
    for (size_t i = 0; i < others; i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(source->file, i);
        const char *name = carried_name(source, t);
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
static int write_weight(const aoe_model *m, aoei_st_writer *w, aoei_tensor t, float *buffer, aoe_error *err) {
    size_t row = t.cols * sizeof(float), step = row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
    int rc = 0;
    for (size_t first = 0; first < t.rows && !rc; first += step) {
        size_t n = t.rows - first < step ? t.rows - first : step;
        aoei_tensor_read(m->ctx, buffer, aoei_tensor_rows(t, first, n));
        rc = aoei_st_writer_write(w, buffer, n * row, err);
    }
    return rc;
}

/* A tensor of the source file, whole. */
static int write_carried(aoei_st_writer *w, const aoei_st_tensor *t, aoe_error *err) {
    size_t n = aoei_st_elements(t);
    float *buffer = aoei_malloc_array(n, sizeof *buffer);
    if (!buffer)
        return aoei_fail_nomem(err, n * sizeof *buffer);
    aoei_st_to_float(buffer, t);
    int rc = aoei_st_writer_write(w, buffer, n * sizeof *buffer, err);
    aoei_free(buffer);
    return rc;
}

static int write_weights(const aoe_model *m, const char *dir, aoe_error *err) {
    contents c = {0};
    aoei_st_writer *w = NULL;
    float *buffer = NULL;
    size_t widest = CHUNK_BYTES;
    char *path = aoei_path_join(dir, weights_name);
    int rc = path ? list_contents(&c, m, err) : aoei_fail_nomem(err, strlen(dir));
    for (size_t i = 0; i < c.n_entries && !rc; i++)
        if (!c.source[i] && m->weights[c.slot_of[i]].cols * sizeof(float) > widest)
            widest = m->weights[c.slot_of[i]].cols * sizeof(float);
    if (!rc && !(buffer = aoei_malloc(widest)))
        rc = aoei_fail_nomem(err, widest);
    if (!rc)
        rc = aoei_st_writer_open(&w, path, c.entries, c.n_entries, err);
    for (size_t i = 0; i < c.n_entries && !rc; i++)
        rc = c.source[i] ? write_carried(w, c.source[i], err) : write_weight(m, w, m->weights[c.slot_of[i]], buffer, err);
    if (!rc) {
        rc = aoei_st_writer_commit(w, err);
        w = NULL;
    }
    aoei_st_writer_abort(w);
    aoei_free(buffer);
    aoei_free(path);
    free_contents(&c);
    return rc;
}

static int write_all(const aoe_model *m, json_t *record, const char *dir, aoe_error *err) {
    int rc;
    if ((rc = write_config(m, dir, err)) || (m->tokenizer && (rc = aoei_tokenizer_save(m->tokenizer, dir, err))) ||
        (rc = write_own(m, record, dir, err)) ||
        (rc = aoei_sentence_transformers_write(&m->settings, m->config.hidden, dir, err)) ||
        (rc = aoei_model_readme(m, record, dir, err)))
        return rc;
    return write_weights(m, dir, err);
}

/* --------------------------------------------------------------- placing */

/* 1 for "2_Dense" and the like: a folder of a sentence-transformers module. */
static int is_module_folder(const char *name) {
    static const char *const kinds[] = {"Pooling", "Dense", "Normalize"};
    const char *p = name;
    while (isdigit((unsigned char)*p))
        p++;
    if (p == name || *p != '_')
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(p + 1, kinds[i]))
            return 1;
    return 0;
}

/* 1 for "model-00001-of-00002.safetensors". */
static int is_shard(const char *name) {
    size_t len = strlen(name), tail = strlen(".safetensors");
    return !strncmp(name, "model-", 6) && strstr(name, "-of-") && len > tail && !strcmp(name + len - tail, ".safetensors");
}

static int is_weights(const char *name) {
    return !strcmp(name, weights_name) || !strcmp(name, index_name) || is_shard(name);
}

/* 1 for what belongs to a model and would be read with the new one: it may not stay behind. */
static int is_model_file(const char *name) {
    static const char *const names[] = {"config.json",
                                        "aoe.json",
                                        "modules.json",
                                        "config_sentence_transformers.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.txt",
                                        "README.md"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return 1;
    size_t len = strlen(name), tail = strlen("_config.json");
    int length_file = !strncmp(name, "sentence_", 9) && len > tail && !strcmp(name + len - tail, "_config.json");
    return length_file || is_weights(name) || is_module_folder(name);
}

static int remove_entry(const char *dir, const char *name, aoe_error *err) {
    char *path = aoei_path_join(dir, name);
    int rc = path ? aoei_remove_tree(path, err) : aoei_fail_nomem(err, strlen(dir));
    aoei_free(path);
    return rc;
}

/* Without syncing the directories: that is done once for many. */
static int move_entry(const char *from_dir, const char *to_dir, const char *name, aoe_error *err) {
    char *from = aoei_path_join(from_dir, name), *to = aoei_path_join(to_dir, name);
    int rc = from && to ? 0 : aoei_fail_nomem(err, strlen(to_dir));
    if (!rc && (aoei_io_step() || rename(from, to)))
        rc = aoei_fail_errno(err, errno, "cannot rename %s to %s", from, to);
    aoei_free(from);
    aoei_free(to);
    return rc;
}

/* A directory with neither of these is no model. */
static int is_key(const char *name) {
    return !strcmp(name, weights_name) || !strcmp(name, index_name);
}

/* Moves the names for which is_key is `keys`. */
static int move_entries(const char *from, const char *to, char **names, size_t n, int keys, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        if (is_key(names[i]) == keys)
            rc = move_entry(from, to, names[i], err);
    return rc;
}

/* Names in dir that belong to a model. */
static int list_old(char ***names, size_t *n, const char *dir, aoe_error *err) {
    size_t kept = 0;
    int rc = aoei_list_dir(names, n, dir, err);
    for (size_t i = 0; i < *n && !rc; i++) {
        char *name = (*names)[i];
        if (is_model_file(name))
            (*names)[kept++] = name;
        else
            aoei_free(name);
    }
    if (!rc)
        *n = kept;
    return rc;
}

/* 1 when dir/NAME, a staging folder, holds weights that were moved aside. */
static int holds_old_weights(const char *dir, const char *name) {
    char *staging = aoei_path_join(dir, name), *aside = staging ? aoei_path_join(staging, "old") : NULL;
    char **names = NULL;
    size_t n = 0;
    int yes = 0;
    if (aside && aoei_is_dir(aside) && !aoei_list_dir(&names, &n, aside, NULL))
        for (size_t i = 0; i < n; i++)
            yes |= is_weights(names[i]);
    aoei_list_free(names, n);
    aoei_free(aside);
    aoei_free(staging);
    return yes;
}

int aoei_model_dir_check(const char *dir, int force, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    int rc = 0;
    if (force || !aoei_is_dir(dir) || (rc = aoei_list_dir(&names, &n, dir, err)))
        return rc;
    for (size_t i = 0; i < n && !rc; i++) {
        if (is_model_file(names[i]))
            rc = aoei_fail(err, AOE_EEXIST,
                           "%s: already holds %s, which a model would replace; choose another directory, or use --force", dir,
                           names[i]);
        else if (!strncmp(names[i], STAGING, strlen(STAGING)) && holds_old_weights(dir, names[i]))
            rc = aoei_fail(
                err, AOE_EEXIST,
                "%s: an interrupted save left the model it was replacing in %s/old; move its files back, or use --force", dir,
                names[i]);
    }
    aoei_list_free(names, n);
    return rc;
}

/* Takes back what publish did, from what the folders hold. */
static void unpublish(const char *dir, const char *staging, const char *aside, char **fresh, size_t n_fresh, char **old,
                      size_t n_old) {
    for (size_t i = 0; i < n_fresh; i++)
        if (!aoei_entry_exists(staging, fresh[i]))
            remove_entry(dir, fresh[i], NULL);
    for (int keys = 0; keys < 2; keys++)
        for (size_t i = 0; i < n_old; i++)
            if (is_key(old[i]) == keys && aoei_entry_exists(aside, old[i]))
                move_entry(aside, dir, old[i], NULL);
    aoei_sync_dir(dir, NULL);
}

/* Moves an old model out of the way (into the staging folder), its weights first, and the new one into place, its weights
 * last; each step is on the disk before the next begins. On failure the old one is back. */
static int publish(const char *dir, const char *staging, aoe_error *err) {
    char **fresh = NULL, **old = NULL, *aside = aoei_path_join(staging, "old");
    size_t n_fresh = 0, n_old = 0;
    int rc = aside ? 0 : aoei_fail_nomem(err, strlen(staging));
    if (rc || (rc = aoei_list_dir(&fresh, &n_fresh, staging, err)) || (rc = list_old(&old, &n_old, dir, err)) ||
        (rc = aoei_make_dir(aside, err)))
        goto done;
    if ((rc = move_entries(dir, aside, old, n_old, 1, err)) || (rc = aoei_sync_dir(dir, err)) ||
        (rc = move_entries(dir, aside, old, n_old, 0, err)) || (rc = move_entries(staging, dir, fresh, n_fresh, 0, err)) ||
        (rc = aoei_sync_dir(dir, err)) || (rc = move_entries(staging, dir, fresh, n_fresh, 1, err)) ||
        (rc = aoei_sync_dir(dir, err)))
        unpublish(dir, staging, aside, fresh, n_fresh, old, n_old);
done:
    aoei_list_free(old, n_old);
    aoei_list_free(fresh, n_fresh);
    aoei_free(aside);
    return rc;
}

/* Staging folders of processes that are gone (or were this one's number). */
static int remove_stale(const char *dir, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    int rc = aoei_list_dir(&names, &n, dir, err);
    for (size_t i = 0; i < n && !rc; i++) {
        if (strncmp(names[i], STAGING, strlen(STAGING)) != 0)
            continue;
        char *end;
        long pid = strtol(names[i] + strlen(STAGING), &end, 10);
        int dead = pid == (long)getpid() || (pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH);
        if (!*end && dead)
            rc = remove_entry(dir, names[i], err);
    }
    aoei_list_free(names, n);
    return rc;
}

char *aoei_model_staging(const char *dir) {
    char name[64];
    snprintf(name, sizeof name, STAGING "%ld", (long)getpid());
    return aoei_path_join(dir, name);
}

int aoei_model_save(const aoe_model *m, const char *dir, json_t *record, aoe_error *err) {
    char *staging = NULL;
    int existed = aoei_exists(dir), rc = aoei_make_dir(dir, err);
    if (rc)
        return rc;
    rc = remove_stale(dir, err);
    if (!rc && !(staging = aoei_model_staging(dir)))
        rc = aoei_fail_nomem(err, strlen(dir));
    if (!rc && !(rc = aoei_make_dir(staging, err))) {
        rc = write_all(m, record, staging, err);
        if (!rc)
            rc = publish(dir, staging, err);
        if (aoei_remove_tree(staging, NULL) && !rc) /* the next save removes it */
            aoei_log_write(&m->ctx->log, AOE_LOG_WARNING, "%s could not be removed; it is not needed any more", staging);
    }
    if (rc && !existed)
        rmdir(dir);
    aoei_free(staging);
    return rc;
}
