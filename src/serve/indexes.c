/* SPDX-License-Identifier: MIT
 * Each entry of the list has two locks, as the entries of the list of models have: one that a thread holds while it
 * opens the index, and one for the pointer to the open index, which is held for a few instructions. The entry is a user
 * of its index, too, so an index is closed by whoever releases it last.
 */
#include "serve/indexes.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "base/thread.h"
#include "serve/answer.h"

#define DATABASE   "index.db" /* file of an index that is another one if the index was created anew */
#define WRITE_WAIT 3.0        /* seconds to wait for another process that writes */
#define FOREIGN                                                                                                        \
    "%s: the recorded model, %s, is not opened, because its path leads into the folder of the index or has links, "    \
    "and the index was not created here; if you trust the model, serve it, too"

typedef struct slot {
    char *name, *dir; /* owned */
    char *database;   /* path of the file DATABASE, owned */
    aoei_mutex opening;
    aoei_mutex lock;      /* protects the next two, and the calls of aoe_index_get_stats */
    aoei_open_index *now; /* NULL: not open */
    char failure[256];    /* what the log last told about the index; "": it is well */
} slot;

struct aoei_indexes {
    slot *slots; /* [n] */
    size_t n;
    int writable;
    aoei_models *models; /* borrowed */
    aoei_log log;
};

/* Splits "NAME=DIR". Without a name, it is the last part of the path, or of the folder of a directory .aoe-index. */
static int read_slot(slot *s, const char *text, aoe_error *err) {
    const char *equals = strchr(text, '='), *dir = equals ? equals + 1 : text, *name = text;
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    if (!equals) {
        while (len > 1 && text[len - 1] == '/')
            len--;
        const char *const hidden = "/.aoe-index";
        const size_t n_hidden = strlen(hidden);
        if (len > n_hidden && !strncmp(text + len - n_hidden, hidden, n_hidden))
            len -= n_hidden;
        for (size_t i = 0; i < len; i++)
            if (text[i] == '/' && i + 1 < len)
                name = text + i + 1;
        len -= (size_t)(name - text);
    }
    if (!len || !*dir)
        return aoei_fail(err, AOE_EARG, "the index '%s' has no name or no directory; write NAME=DIR or DIR", text);
    s->name = aoei_strndup(name, len);
    s->dir = aoei_strdup(dir);
    if (!s->name || !s->dir)
        return aoei_fail_nomem(err, len);
    return AOE_OK;
}

/* Returns 1 if a directory contains nothing, or does not exist, so that an index can be created there. */
static int is_missing(const slot *s) {
    return !aoei_exists(s->database);
}

/* Fails if the directory of a slot contains no index. An index that cannot be used now is only a warning. */
static int check_index(const aoei_indexes *x, const slot *s, aoe_error *err) {
    char model[4096];
    aoe_error inner = {0};
    const int code = aoe_index_model(s->dir, model, sizeof model, &inner);
    if (code == AOE_ENOENT || code == AOE_ENOMEM)
        return aoei_fail(err, code, "%s", inner.message);
    if (code)
        aoei_log_write(&x->log, AOE_LOG_WARNING, "index '%s': %s", s->name, inner.message);
    return AOE_OK;
}

int aoei_indexes_create(aoei_indexes **indexes, const aoe_serve_options *o, aoei_models *models, aoe_error *err) {
    aoei_indexes *x = *indexes = aoei_calloc(1, sizeof *x);
    if (!x)
        return aoei_fail_nomem(err, sizeof *x);
    x->models = models;
    x->writable = o->writable;
    x->log = (aoei_log){.fn = o->log, .user = o->log_user};
    x->slots = aoei_calloc(o->n_indexes ? o->n_indexes : 1, sizeof *x->slots);
    int code = x->slots ? AOE_OK : aoei_fail_nomem(err, o->n_indexes * sizeof *x->slots);
    for (; x->n < o->n_indexes && !code; x->n++) {
        slot *s = &x->slots[x->n];
        aoei_mutex_init(&s->opening);
        aoei_mutex_init(&s->lock);
        code = read_slot(s, o->indexes[x->n], err);
        if (!code && !(s->database = aoei_path_join(s->dir, DATABASE)))
            code = aoei_fail_nomem(err, strlen(s->dir));
        if (!code && !(o->writable && is_missing(s)))
            code = check_index(x, s, err);
        for (size_t i = 0; i < x->n && !code; i++)
            if (!strcmp(x->slots[i].name, s->name))
                code = aoei_fail(err, AOE_EARG,
                                 "two indexes have the name '%s'; give one of them another name: NAME=DIR", s->name);
    }
    return code;
}

/* Counts one user less, and closes the index after the last one. */
static void release(aoei_indexes *x, aoei_open_index *open) {
    if (!open || atomic_fetch_sub(&open->users, 1) != 1)
        return;
    aoe_index_close(open->index);
    aoe_embedder_destroy(open->embedder);
    aoei_models_release(x->models, open->served);
    aoei_free(open);
}

void aoei_indexes_release(aoei_indexes *indexes, aoei_open_index *open) {
    release(indexes, open);
}

void aoei_indexes_close(void *indexes) {
    aoei_indexes *x = indexes;
    for (size_t i = 0; i < x->n; i++) {
        slot *s = &x->slots[i];
        aoei_mutex_lock(&s->opening); /* an index that is being opened may have got an old model */
        aoei_mutex_lock(&s->lock);
        aoei_open_index *open = s->now;
        s->now = NULL;
        aoei_mutex_unlock(&s->lock);
        aoei_mutex_unlock(&s->opening);
        release(x, open);
    }
}

void aoei_indexes_destroy(aoei_indexes *indexes) {
    if (!indexes)
        return;
    aoei_indexes_close(indexes);
    for (size_t i = 0; i < indexes->n; i++) {
        aoei_free(indexes->slots[i].name);
        aoei_free(indexes->slots[i].dir);
        aoei_free(indexes->slots[i].database);
        aoei_mutex_destroy(&indexes->slots[i].opening);
        aoei_mutex_destroy(&indexes->slots[i].lock);
    }
    aoei_free(indexes->slots);
    aoei_free(indexes);
}

size_t aoei_indexes_count(const aoei_indexes *indexes) {
    return indexes->n;
}

const char *aoei_indexes_name(const aoei_indexes *indexes, size_t i) {
    return indexes->slots[i].name;
}

/* ---------------------------------------------------------------- failures */

/* Writes a failure to the log, unless it was the last message about this index. */
static void log_failure(aoei_indexes *x, slot *s, const char *message) {
    aoei_mutex_lock(&s->lock);
    const int is_new = strncmp(s->failure, message, sizeof s->failure - 1) != 0;
    snprintf(s->failure, sizeof s->failure, "%.255s", message);
    aoei_mutex_unlock(&s->lock);
    if (is_new)
        aoei_log_write(&x->log, AOE_LOG_WARNING, "index '%s': %s", s->name, message);
}

/* Logs a failure, and replaces its message by one without paths. Returns its code for clients. */
static int fail_for_client(aoei_indexes *x, slot *s, int code, aoe_error *err) {
    log_failure(x, s, err->message);
    if (code == AOE_EEXIST)
        return aoei_fail(err, AOE_EEXIST, "another process writes to the index '%s'; try again later", s->name);
    const char *what = code == AOE_EFORMAT     ? "is damaged"
                       : code == AOE_EMISMATCH ? "cannot be used with the model that the server has opened for it"
                       : code == AOE_ENOSPC    ? "cannot be changed, because no space is left"
                       : code == AOE_ENOENT    ? "cannot be opened, because it or its model does not exist"
                                               : "cannot be used";
    return aoei_fail(err, AOE_EIO, "the index '%s' %s; the log of the server has the details", s->name, what);
}

/* Makes the next use of a slot open its index anew, if it is still `open`. */
static void detach(aoei_indexes *x, slot *s, const aoei_open_index *open) {
    aoei_mutex_lock(&s->lock);
    aoei_open_index *old = s->now == open ? s->now : NULL;
    if (old)
        s->now = NULL;
    aoei_mutex_unlock(&s->lock);
    release(x, old);
}

int aoei_indexes_fail(aoei_indexes *indexes, aoei_open_index *open, int code, aoe_error *err) {
    slot *s = &indexes->slots[open->slot];
    if (code == AOE_EARG || code == AOE_ENOMEM)
        return code;
    if (code == AOE_EFORMAT || code == AOE_EIO)
        detach(indexes, s, open);
    return fail_for_client(indexes, s, code, err);
}

/* -------------------------------------------------------------------- open */

/* Writes the identity of the database of a slot to *device and *inode; zeros: it does not exist. */
static void identify(const slot *s, uint64_t *device, uint64_t *inode) {
    struct stat st;
    *device = *inode = 0;
    if (stat(s->database, &st))
        return;
    *device = (uint64_t)st.st_dev;
    *inode = (uint64_t)st.st_ino;
}

/* Returns the model of an index, or NULL after an error. */
static aoei_served *acquire_model(aoei_indexes *x, const slot *s, const aoe_index_stats *stats, aoe_error *err) {
    const char *recorded = stats->model;
    int ignored = 0;
    if (!recorded || !*recorded || !aoei_exists(recorded))
        return aoei_models_acquire(x->models, NULL, 1, &ignored, err);
    if (!stats->created_here && !aoei_models_name_of(x->models, recorded) && aoei_path_is_foreign(recorded, s->dir)) {
        aoei_fail(err, AOE_EMISMATCH, FOREIGN, s->dir, recorded);
        return NULL;
    }
    return aoei_models_acquire_dir(x->models, recorded, err);
}

/* Creates an embedder for vectors with the number of components of an index. threads: AOE_AUTO: all. */
static int create_embedder(aoe_embedder **e, aoei_served *served, size_t dims, size_t threads, aoe_error *err) {
    aoe_embedder_options o;
    aoe_embedder_options_defaults(&o);
    if (threads != AOE_AUTO)
        o.threads = threads;
    int code = aoe_embedder_create(e, served->model, &o, err);
    if (!code && !served->is_cross_encoder && dims < aoe_embedder_dims(*e))
        code = aoe_embedder_set_dims(*e, dims, err);
    if (code) {
        aoe_embedder_destroy(*e);
        *e = NULL;
    }
    return code;
}

/* Opens the index of a slot. */
static int open_index(aoei_indexes *x, size_t i, int needs_model, aoei_open_index **result, aoe_error *err) {
    slot *s = &x->slots[i];
    aoe_index_stats stats = {.struct_size = sizeof stats};
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.log = x->log.fn;
    o.log_user = x->log.user;
    aoei_open_index *open = aoei_calloc(1, sizeof *open);
    if (!open)
        return aoei_fail_nomem(err, sizeof *open);
    atomic_init(&open->users, 1);
    open->name = s->name;
    open->slot = i;
    identify(s, &open->device, &open->inode);
    int code = aoe_index_open(&open->index, s->dir, AOE_INDEX_READ, NULL, &o, err);
    if (!code)
        code = aoe_index_get_stats(open->index, &stats, err);
    open->sources = stats.sources;
    open->dims = stats.dims;
    if (!code && needs_model) {
        open->served = acquire_model(x, s, &stats, err);
        code = open->served ? create_embedder(&open->embedder, open->served, stats.dims, 1, err) : err->code;
        if (!code)
            code = aoe_index_set_embedder(open->index, open->embedder, err);
    }
    if (code) {
        release(x, open);
        return code;
    }
    *result = open;
    return AOE_OK;
}

/* Returns the open index of a slot with one more user if it can be used, otherwise NULL. */
static aoei_open_index *use(slot *s, int needs_model) {
    uint64_t device, inode;
    identify(s, &device, &inode);
    aoei_mutex_lock(&s->lock);
    aoei_open_index *open = s->now;
    if (open && ((needs_model && !open->served) || open->device != device || open->inode != inode))
        open = NULL;
    if (open)
        atomic_fetch_add(&open->users, 1);
    aoei_mutex_unlock(&s->lock);
    return open;
}

/* Sets *slot_index to the slot of a name. */
static int find(aoei_indexes *x, const char *name, size_t *slot_index, aoe_error *err) {
    char names[400] = "";
    size_t at = 0;
    *slot_index = 0;
    if (!x->n)
        return aoei_fail(err, AOE_ENOENT, "the server has no index");
    if (!name || !*name)
        return AOE_OK;
    for (size_t i = 0; i < x->n; i++)
        if (!strcmp(x->slots[i].name, name)) {
            *slot_index = i;
            return AOE_OK;
        }
    for (size_t i = 0; i < x->n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%.100s", i ? ", " : "", x->slots[i].name);
    return aoei_fail(err, AOE_ENOENT, "no index has the name '%.100s'; indexes: %s", name, names);
}

int aoei_indexes_acquire(aoei_indexes *indexes, const char *name, int needs_model, aoei_open_index **open,
                         aoe_error *err) {
    size_t i;
    int code = find(indexes, name, &i, err);
    if (code)
        return code;
    slot *s = &indexes->slots[i];
    if ((*open = use(s, needs_model)))
        return AOE_OK;
    aoei_mutex_lock(&s->opening);
    if (!(*open = use(s, needs_model)) && !(code = open_index(indexes, i, needs_model, open, err))) {
        atomic_fetch_add(&(*open)->users, 1);
        aoei_mutex_lock(&s->lock);
        aoei_open_index *old = s->now;
        s->now = *open;
        s->failure[0] = 0;
        aoei_mutex_unlock(&s->lock);
        release(indexes, old);
    }
    if (code)
        detach(indexes, s, s->now); /* only the thread that holds `opening` sets s->now to another index */
    aoei_mutex_unlock(&s->opening);
    return !code || code == AOE_ENOMEM ? code : fail_for_client(indexes, s, code, err);
}

int aoei_indexes_stats(aoei_indexes *indexes, aoei_open_index *open, aoe_index_stats *stats, char *model, size_t size,
                       aoe_error *err) {
    slot *s = &indexes->slots[open->slot];
    *stats = (aoe_index_stats){.struct_size = sizeof *stats};
    aoei_mutex_lock(&s->lock);
    const int code = aoe_index_get_stats(open->index, stats, err);
    const char *recorded = !code && stats->model ? stats->model : "";
    const char *served = open->served ? open->served->name : aoei_models_name_of(indexes->models, recorded);
    snprintf(model, size, "%s", served ? served : aoei_path_name(recorded));
    stats->model = stats->created = stats->updated = NULL;
    aoei_mutex_unlock(&s->lock);
    return code ? aoei_indexes_fail(indexes, open, code, err) : AOE_OK;
}

/* ------------------------------------------------------------------- write */

int aoei_indexes_create_missing(aoei_indexes *indexes, aoe_error *err) {
    int code = AOE_OK, ignored = 0;
    for (size_t i = 0; i < indexes->n && indexes->writable && !code; i++) {
        const slot *s = &indexes->slots[i];
        aoe_index *index = NULL;
        aoe_index_options o;
        if (!is_missing(s))
            continue;
        aoei_served *served = aoei_models_acquire(indexes->models, NULL, 1, &ignored, err);
        char *model = served ? aoei_models_path(served, err) : NULL;
        aoe_index_options_defaults(&o);
        o.model = model;
        code = model ? aoe_index_open(&index, s->dir, AOE_INDEX_WRITE, served->all, &o, err) : err->code;
        aoe_index_close(index);
        aoei_models_release(indexes->models, served);
        aoei_free(model);
    }
    return code;
}

int aoei_indexes_change(aoei_indexes *indexes, aoei_open_index *open, int needs_model,
                        int (*fn)(void *user, aoe_index *writer, aoe_error *err), void *user, aoe_error *err) {
    const slot *s = &indexes->slots[open->slot];
    aoe_embedder *all = NULL;
    aoe_index *writer = NULL;
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.wait = WRITE_WAIT;
    o.log = indexes->log.fn;
    o.log_user = indexes->log.user;
    int code = needs_model ? create_embedder(&all, open->served, open->dims, AOE_AUTO, err) : AOE_OK;
    if (!code)
        code = aoe_index_open(&writer, s->dir, AOE_INDEX_WRITE, all, &o, err);
    if (!code)
        code = fn(user, writer, err);
    aoe_index_close(writer);
    aoe_embedder_destroy(all);
    return code ? aoei_indexes_fail(indexes, open, code, err) : AOE_OK;
}

/* ---------------------------------------------------------------- describe */

int aoei_indexes_check(aoei_indexes *indexes, aoe_error *err) {
    int code = AOE_OK;
    for (size_t i = 0; i < indexes->n && !code; i++) {
        aoei_open_index *open = NULL;
        if (indexes->writable && is_missing(&indexes->slots[i]))
            continue;
        code = open_index(indexes, i, 1, &open, err);
        release(indexes, open);
    }
    return code;
}

void aoei_indexes_describe(aoei_indexes *indexes, aoei_buffer *body) {
    for (size_t i = 0; i < indexes->n; i++) {
        aoei_buffer_printf(body, "%s{\"name\":", i ? "," : "");
        aoei_answer_cstring(body, indexes->slots[i].name);
        aoei_buffer_printf(body, ",\"dir\":");
        aoei_answer_cstring(body, indexes->slots[i].dir);
        aoei_buffer_putc(body, '}');
    }
}
