/* SPDX-License-Identifier: MIT
 * The models of a server by name. The first one is the default and is opened when the server starts; the others are
 * opened at their first request. An open model counts its users: a reload replaces it, and a thread closes the old one
 * when its last request is finished. Nobody waits for that.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "aoe.h"
#include "aoe_serve.h"
#include "aoe_tokenizer.h"
#include "serve/text_queue.h"

/* An open model. */
typedef struct aoei_served {
    const char *name; /* borrowed from the list of models */
    const char *dir;  /* borrowed from the list of models */
    aoe_model *model; /* owned */
    aoe_model_info info;
    aoe_encode_options encode; /* how the model tokenizes texts, without truncation and without a prompt */
    int is_cross_encoder;
    size_t dims;            /* components of an embedding */
    uint64_t serial;        /* differs for all models that a server has opened; part of the keys of the cache */
    aoei_text_queue *queue; /* texts that wait for the model; owned */
    aoe_embedder *all;      /* computes with all threads; owned */
    aoe_embedder *one;      /* computes with the thread that calls; owned */
    atomic_size_t users;
    struct aoei_served *next_old; /* next model that was replaced and is not closed yet */
} aoei_served;

typedef struct aoei_models aoei_models;

/* Reads the list of options.models and opens the first one. metrics: of the server, borrowed. Errors: AOE_EARG (two
 * models of the same name), and those of aoe_model_find and aoe_model_open. */
int aoei_models_create(aoei_models **models, const aoe_serve_options *o, aoei_metrics *metrics, aoe_error *err);
/* Closes all models, also old ones. Nobody may use one any more. */
void aoei_models_destroy(aoei_models *models);

int aoei_models_has(aoei_models *models, const char *name); /* 1: requests may use this name; NULL: the default */
size_t aoei_models_count(const aoei_models *models);
const char *aoei_models_name(const aoei_models *models, size_t i);
const char *aoei_models_dir(const aoei_models *models, size_t i);

/* Returns the model `name`; NULL or "": the default. Names with and without ":latest" are the same unless the list has
 * both. The caller calls aoei_models_release. may_wait: 0: if the model is
 * not open, *would_wait is set to 1 and NULL is returned; 1: it is opened, and other callers wait for it. Returns NULL
 * after an error: AOE_ENOENT (no model has this name; the message lists the names), and those of aoe_model_open. */
aoei_served *aoei_models_acquire(aoei_models *models, const char *name, int may_wait, int *would_wait, aoe_error *err);
/* Returns the model in a directory, which an index records. It is one of the list, or a further model that has no name
 * for requests; it is opened if necessary. Returns NULL after an error. */
aoei_served *aoei_models_acquire_dir(aoei_models *models, const char *dir, aoe_error *err);
/* Returns the absolute path of the directory of a model, which the caller frees with aoei_free, or NULL after an
 * error. */
char *aoei_models_path(const aoei_served *served, aoe_error *err);
/* Returns the name of the model of the list that is in a directory; NULL: there is none. */
const char *aoei_models_name_of(aoei_models *models, const char *dir);
/* Counts a further user of the model. */
void aoei_models_retain(aoei_served *served);
void aoei_models_release(aoei_models *models, aoei_served *served); /* accepts NULL */
/* Returns the serial number of the open model with the index i; 0: it is not open. */
uint64_t aoei_models_serial(aoei_models *models, size_t i);

/* Opens all models that are open anew, replaces the old ones, and calls swapped(user). Each old model is closed in
 * another thread as soon as nobody uses it. swapped: lets other parts release the old models; may be NULL. If a model
 * cannot be opened, nothing changes. One thread at a time may call it. */
int aoei_models_reload(aoei_models *models, void (*swapped)(void *user), void *user, aoe_error *err);
