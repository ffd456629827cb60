/* SPDX-License-Identifier: MIT
 * An open index. Readers take a connection from a free list (reader.h), so that any number of threads can search at the
 * same time. The writer has one connection of its own (index_write.h). schema.h documents the tables.
 */
#pragma once

#include "aoe_index.h"
#include "base/log.h"
#include "base/mutex.h"
#include "index/schema.h"
#include "index/view.h"

typedef struct aoei_reader aoei_reader;             /* reader.h */
typedef struct aoei_index_writer aoei_index_writer; /* writer.h */
typedef struct aoei_changes aoei_changes;           /* changes.h */
typedef struct aoei_update_plan aoei_update_plan;   /* update_plan.h */

/* Reports that a number of the queued passages have their vectors; 0 also while a document is divided into passages.
 * Returns 0, or an error: the document is then not queued, or, during a flush, none of the queued documents is written.
 */
typedef int (*aoei_flush_fn)(void *user, size_t passages, aoe_error *err);

struct aoe_index {
    char *dir;  /* directory as given, owned */
    char *path; /* path of the database, owned */
    aoe_index_access access;
    aoe_embedder *embedder;        /* borrowed; NULL: texts cannot be embedded */
    aoei_log log;                  /* options.log */
    int repair;                    /* options.repair */
    int wait_ms;                   /* options.wait in milliseconds */
    char *model;                   /* options.model, owned; NULL: unknown */
    aoei_index_settings settings;  /* never change while the index is open, except the place */
    aoei_mutex lock;               /* protects settings.place and the next three fields */
    aoei_reader *idle;             /* connections that no thread uses, owned */
    size_t n_idle;                 /* number of these connections */
    aoei_view *view;               /* newest view that was loaded, owned; NULL: none */
    aoei_index_writer *writer;     /* state of the writer, owned; NULL if access is AOE_INDEX_READ */
    aoei_changes *changes;         /* changes that are not in the database yet, owned; NULL for a reader */
    aoei_flush_fn on_flush;        /* called while documents are divided, embedded and written; NULL: none */
    void *on_flush_user;           /* its first argument */
    aoei_update_plan *compared;    /* if aoe_index_is_current found a difference: its plan, owned; NULL: none */
    char created[32], updated[32]; /* strings of aoe_index_get_stats */
};
