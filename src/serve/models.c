/* SPDX-License-Identifier: MIT
 * Each entry of the list has a lock, which a thread holds while it opens the model, so that requests for other models
 * do not wait. A second lock protects the pointers to the open models; it is held only for the few instructions that
 * copy a pointer and count its user, so no request can get a model that is being closed. A thread closes the models
 * that a reload has replaced, because the last user of a model may be a thread of its own queue, which cannot end
 * itself.
 */
#include "serve/models.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "base/thread.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A name of the list. */
typedef struct slot {
    char *name; /* owned */
    char *dir;  /* directory or name of the model for aoe_model_open, owned; NULL: the default model of the library */
    aoei_mutex opening;
    aoei_served *served; /* owned; NULL: not open */
} slot;

struct aoei_models {
    aoe_context *ctx; /* threads of all models, owned */
    slot *slots;      /* [capacity]; the first n are the list, the others up to n_all are models of indexes */
    size_t n, n_all, capacity;
    aoei_mutex adding;       /* held while a slot is added */
    aoei_mutex lock;         /* protects slots[i].served, n_all, old and stops */
    aoei_condition released; /* signalled when a model has lost its last user, and when `old` or `stops` changes */
    aoei_served *old;        /* replaced models that are not closed yet, linked by next_old; owned */
    aoei_thread closer;      /* closes the models in `old` */
    int closer_runs;         /* 1: `closer` was started, which the first reload does */
    int stops;               /* 1: `closer` ends when `old` is empty */
    uint64_t serial;
    aoei_metrics *metrics;
    aoe_dtype dtype;
    size_t max_batch_tokens;
};

/* Splits "NAME=MODEL". Without a name, it is the last part of the path. */
static int read_slot(slot *s, const char *text, aoe_error *err) {
    const char *equals = text ? strchr(text, '=') : NULL;
    char path[4096] = "";
    const char *dir = equals ? equals + 1 : text, *name;
    size_t len;
    aoei_mutex_init(&s->opening);
    if (equals && (equals == text || !equals[1]))
        return aoei_fail(err, AOE_EARG, "the model '%s' has no name or no directory; write NAME=DIR or DIR", text);
    if (equals) {
        name = text;
        len = (size_t)(equals - text);
    } else {
        const int code =
            text ? (snprintf(path, sizeof path, "%s", text), AOE_OK) : aoe_default_model(path, sizeof path, err);
        if (code)
            return code;
        len = strlen(path);
        while (len > 1 && path[len - 1] == '/')
            len--;
        path[len] = 0;
        const char *slash = strrchr(path, '/');
        if (slash && slash[1] && path[0] != '/' && strchr(path, '/') == slash)
            slash = NULL; /* a name on the Hub, such as ORGANIZATION/MODEL, is kept */
        name = slash && slash[1] ? slash + 1 : path;
        len = strlen(name);
    }
    s->name = aoei_strndup(name, len);
    s->dir = dir ? aoei_strdup(dir) : NULL;
    return s->name && (s->dir || !dir) ? AOE_OK : aoei_fail_nomem(err, len);
}

static void destroy_served(aoei_served *served) {
    if (!served)
        return;
    aoei_text_queue_destroy(served->queue);
    aoe_embedder_destroy(served->one);
    aoe_embedder_destroy(served->all);
    aoe_model_close(served->model);
    aoei_free(served);
}

/* Reads how a model tokenizes texts. dir: directory or name of the model; NULL: the default */
static int read_encode_options(aoei_served *served, const char *dir, aoe_error *err) {
    char found[PATH_MAX];
    aoe_encode_options_defaults(&served->encode);
    const int code = dir ? aoe_model_find(found, sizeof found, dir, err) : AOE_OK;
    return code ? code : aoe_encode_options_of(&served->encode, dir ? found : NULL, err);
}

/* Opens a model. */
static int open_model(aoei_models *models, slot *s, aoei_served **opened, aoe_error *err) {
    aoe_model_options mo;
    aoe_embedder_options eo;
    aoe_model_options_defaults(&mo);
    aoe_embedder_options_defaults(&eo);
    mo.cross_encoder = AOE_AUTO;
    mo.dtype = models->dtype;
    aoei_served *served = *opened = aoei_calloc(1, sizeof *served);
    if (!served)
        return aoei_fail_nomem(err, sizeof *served);
    served->name = s->name;
    served->dir = s->dir ? s->dir : s->name;
    atomic_init(&served->users, 0);
    const size_t threads = aoe_context_threads(models->ctx);
    int code = aoe_model_open(&served->model, models->ctx, s->dir, &mo, err);
    if (!code)
        code = aoe_embedder_create(&served->all, served->model, &eo, err);
    eo.threads = 1;
    if (!code)
        code = aoe_embedder_create(&served->one, served->model, &eo, err);
    if (!code)
        code = read_encode_options(served, s->dir, err);
    if (!code) {
        served->info.struct_size = sizeof served->info;
        aoe_model_get_info(served->model, &served->info);
        served->is_cross_encoder = aoe_model_is_cross_encoder(served->model);
        served->dims = served->is_cross_encoder ? aoe_model_classes(served->model) : aoe_embedder_dims(served->all);
        code = aoei_text_queue_create(&served->queue, served->all, served->one, threads, models->max_batch_tokens,
                                      models->metrics, err);
    }
    if (code) {
        destroy_served(served);
        *opened = NULL;
        return code;
    }
    aoei_mutex_lock(&models->lock);
    served->serial = ++models->serial;
    aoei_mutex_unlock(&models->lock);
    return AOE_OK;
}

int aoei_models_create(aoei_models **models, const aoe_serve_options *o, aoei_metrics *metrics, aoe_error *err) {
    const size_t n = o->n_models ? o->n_models : 1;
    aoe_context_options co;
    aoe_context_options_defaults(&co);
    co.log = o->log;
    co.log_user = o->log_user;
    if (o->threads != AOE_AUTO)
        co.threads = o->threads;
    aoei_models *m = *models = aoei_calloc(1, sizeof *m);
    if (!m)
        return aoei_fail_nomem(err, sizeof *m);
    m->metrics = metrics;
    m->dtype = o->dtype;
    m->max_batch_tokens = o->max_batch_tokens;
    aoei_mutex_init(&m->adding);
    aoei_mutex_init(&m->lock);
    aoei_condition_init(&m->released);
    m->capacity = n + o->n_indexes;
    m->slots = aoei_calloc(m->capacity, sizeof *m->slots);
    int code = m->slots ? aoe_context_create(&m->ctx, &co, err) : aoei_fail_nomem(err, n * sizeof *m->slots);
    for (; m->n < n && !code; m->n_all = ++m->n) {
        code = read_slot(&m->slots[m->n], o->n_models ? o->models[m->n] : NULL, err);
        for (size_t i = 0; i < m->n && !code; i++)
            if (!strcmp(m->slots[i].name, m->slots[m->n].name))
                code =
                    aoei_fail(err, AOE_EARG, "two models have the name '%s'; give one of them another name: NAME=DIR",
                              m->slots[i].name);
    }
    if (!code)
        code = open_model(m, &m->slots[0], &m->slots[0].served, err);
    if (code) {
        aoei_models_destroy(m);
        *models = NULL;
    }
    return code;
}

void aoei_models_destroy(aoei_models *models) {
    if (!models)
        return;
    if (models->closer_runs) {
        aoei_mutex_lock(&models->lock);
        models->stops = 1;
        aoei_condition_broadcast(&models->released);
        aoei_mutex_unlock(&models->lock);
        aoei_thread_join(&models->closer);
    }
    for (size_t i = 0; models->slots && i < models->n_all; i++) {
        destroy_served(models->slots[i].served);
        aoei_mutex_destroy(&models->slots[i].opening);
        aoei_free(models->slots[i].name);
        aoei_free(models->slots[i].dir);
    }
    aoei_free(models->slots);
    aoe_context_destroy(models->ctx);
    aoei_condition_destroy(&models->released);
    aoei_mutex_destroy(&models->lock);
    aoei_mutex_destroy(&models->adding);
    aoei_free(models);
}

size_t aoei_models_count(const aoei_models *models) {
    return models->n;
}

const char *aoei_models_name(const aoei_models *models, size_t i) {
    return models->slots[i].name;
}

const char *aoei_models_dir(const aoei_models *models, size_t i) {
    return models->slots[i].dir ? models->slots[i].dir : models->slots[i].name;
}

uint64_t aoei_models_serial(aoei_models *models, size_t i) {
    aoei_mutex_lock(&models->lock);
    const uint64_t serial = models->slots[i].served ? models->slots[i].served->serial : 0;
    aoei_mutex_unlock(&models->lock);
    return serial;
}

/* Returns the length of a name without the tag ":latest", which ollama adds to names. */
static size_t base_length(const char *name) {
    static const char latest[] = ":latest";
    const size_t n = strlen(name), suffix = sizeof latest - 1;
    return n > suffix && !strcmp(name + n - suffix, latest) ? n - suffix : n;
}

/* Returns the entry with this name, or, if there is none, with the same name besides the tag; NULL: none. */
static slot *match_name(aoei_models *models, const char *name) {
    const size_t n = base_length(name);
    for (size_t i = 0; i < models->n; i++)
        if (!strcmp(models->slots[i].name, name))
            return &models->slots[i];
    for (size_t i = 0; i < models->n; i++)
        if (base_length(models->slots[i].name) == n && !strncmp(models->slots[i].name, name, n))
            return &models->slots[i];
    return NULL;
}

/* Returns the entry of a name, or NULL after an error. */
static slot *find_slot(aoei_models *models, const char *name, aoe_error *err) {
    char names[400] = "";
    size_t at = 0;
    if (!name || !*name)
        return &models->slots[0];
    slot *found = match_name(models, name);
    if (found)
        return found;
    for (size_t i = 0; i < models->n && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%.100s", i ? ", " : "", models->slots[i].name);
    aoei_fail(err, AOE_ENOENT, "no model has the name '%.100s'; models: %s", name, names);
    return NULL;
}

int aoei_models_has(aoei_models *models, const char *name) {
    return find_slot(models, name, NULL) != NULL;
}

/* Returns the open model of a slot and counts the user; NULL: it is not open. */
static aoei_served *use(aoei_models *models, slot *s) {
    aoei_mutex_lock(&models->lock);
    aoei_served *served = s->served;
    if (served)
        atomic_fetch_add(&served->users, 1);
    aoei_mutex_unlock(&models->lock);
    return served;
}

/* Opens the model of a slot unless another thread does, and counts the user. */
static aoei_served *open_slot(aoei_models *models, slot *s, aoe_error *err) {
    aoei_served *served;
    aoei_mutex_lock(&s->opening);
    if (!(served = use(models, s)) && !open_model(models, s, &served, err)) {
        aoei_mutex_lock(&models->lock);
        s->served = served;
        atomic_fetch_add(&served->users, 1);
        aoei_mutex_unlock(&models->lock);
    }
    aoei_mutex_unlock(&s->opening);
    return served;
}

aoei_served *aoei_models_acquire(aoei_models *models, const char *name, int may_wait, int *would_wait, aoe_error *err) {
    slot *s = find_slot(models, name, err);
    aoei_served *served = s ? use(models, s) : NULL;
    if (!s || served)
        return served;
    if (!may_wait) {
        *would_wait = 1;
        return NULL;
    }
    return open_slot(models, s, err);
}

/* Returns 1 if the slot is the model in a directory. */
static int is_in_dir(const slot *s, const char *dir) {
    char path[4096];
    const int code =
        s->dir ? aoe_model_find(path, sizeof path, s->dir, NULL) : aoe_default_model(path, sizeof path, NULL);
    return !code && aoei_same_path(path, dir);
}

char *aoei_models_path(const aoei_served *served, aoe_error *err) {
    char path[4096];
    const int is_default = served->dir == served->name; /* see open_model */
    const int code =
        is_default ? aoe_default_model(path, sizeof path, err) : aoe_model_find(path, sizeof path, served->dir, err);
    char *full = code ? NULL : aoei_full_path(path);
    if (!code && !full)
        aoei_fail_nomem(err, strlen(path));
    return full;
}

/* Returns a new slot for the model of an index, or NULL after an error. The caller holds `adding`. */
static slot *add_slot(aoei_models *models, const char *dir, aoe_error *err) {
    slot *s = &models->slots[models->n_all];
    if (models->n_all == models->capacity) {
        aoei_fail(err, AOE_EARG,
                  "the indexes of the server have changed their models too often; start the server again");
        return NULL;
    }
    s->name = aoei_strdup(aoei_path_name(dir));
    s->dir = aoei_strdup(dir);
    if (!s->name || !s->dir) {
        aoei_free(s->name);
        aoei_free(s->dir);
        *s = (slot){0};
        aoei_fail_nomem(err, strlen(dir));
        return NULL;
    }
    aoei_mutex_init(&s->opening);
    aoei_mutex_lock(&models->lock);
    models->n_all++;
    aoei_mutex_unlock(&models->lock);
    return s;
}

const char *aoei_models_name_of(aoei_models *models, const char *dir) {
    for (size_t i = 0; i < models->n; i++)
        if (is_in_dir(&models->slots[i], dir))
            return models->slots[i].name;
    return NULL;
}

aoei_served *aoei_models_acquire_dir(aoei_models *models, const char *dir, aoe_error *err) {
    slot *s = NULL;
    aoei_mutex_lock(&models->adding);
    for (size_t i = 0; i < models->n_all && !s; i++)
        if (is_in_dir(&models->slots[i], dir))
            s = &models->slots[i];
    if (!s)
        s = add_slot(models, dir, err);
    aoei_mutex_unlock(&models->adding);
    return s ? open_slot(models, s, err) : NULL;
}

void aoei_models_retain(aoei_served *served) {
    atomic_fetch_add(&served->users, 1);
}

void aoei_models_release(aoei_models *models, aoei_served *served) {
    if (!served)
        return;
    aoei_mutex_lock(&models->lock);
    if (atomic_fetch_sub(&served->users, 1) == 1)
        aoei_condition_broadcast(&models->released);
    aoei_mutex_unlock(&models->lock);
}

/* -------------------------------------------------------------- reload */

/* Removes a model without users from the list of old models. Returns NULL if there is none. The lock is held. */
static aoei_served *take_unused(aoei_models *models) {
    aoei_served **at = &models->old, *served;
    while (*at && atomic_load(&(*at)->users))
        at = &(*at)->next_old;
    served = *at;
    if (served)
        *at = served->next_old;
    return served;
}

/* The thread that closes old models. */
static void close_old(void *arg) {
    aoei_models *models = arg;
    aoei_mutex_lock(&models->lock);
    for (;;) {
        aoei_served *unused = take_unused(models);
        if (unused) {
            aoei_mutex_unlock(&models->lock);
            destroy_served(unused);
            aoei_alloc_trim();
            aoei_mutex_lock(&models->lock);
        } else if (models->stops && !models->old)
            break;
        else
            aoei_condition_wait(&models->released, &models->lock);
    }
    aoei_mutex_unlock(&models->lock);
}

static int start_closer(aoei_models *models, aoe_error *err) {
    const int code = models->closer_runs ? AOE_OK : aoei_thread_start(&models->closer, close_old, models, err);
    models->closer_runs |= !code;
    return code;
}

/* Puts a model into a slot. The one that it replaces becomes an old model. */
static void replace(aoei_models *models, slot *s, aoei_served *opened) {
    aoei_mutex_lock(&models->lock);
    s->served->next_old = models->old;
    models->old = s->served;
    s->served = opened;
    aoei_mutex_unlock(&models->lock);
}

int aoei_models_reload(aoei_models *models, void (*swapped)(void *user), void *user, aoe_error *err) {
    aoei_mutex_lock(&models->lock);
    const size_t n = models->n_all;
    aoei_mutex_unlock(&models->lock);
    aoei_served **opened = aoei_calloc(n, sizeof *opened);
    int code = opened ? start_closer(models, err) : aoei_fail_nomem(err, n * sizeof *opened);
    for (size_t i = 0; i < n && !code; i++)
        if (aoei_models_serial(models, i))
            code = open_model(models, &models->slots[i], &opened[i], err);
    for (size_t i = 0; opened && i < n; i++)
        if (code)
            destroy_served(opened[i]);
        else if (opened[i])
            replace(models, &models->slots[i], opened[i]);
    aoei_free(opened);
    if (code)
        return code;
    if (swapped)
        swapped(user);
    aoei_mutex_lock(&models->lock);
    aoei_condition_broadcast(&models->released);
    aoei_mutex_unlock(&models->lock);
    return AOE_OK;
}
