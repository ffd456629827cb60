/* SPDX-License-Identifier: MIT
 * An open index. Readers take a connection from a free list, so that any number of threads can search at the same time.
 * The writer has one connection of its own (index_write.h). schema.h documents the tables.
 */
#pragma once

#include "aoe_index.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mutex.h"
#include "index/schema.h"
#include "index/sql.h"
#include "index/view.h"

typedef struct aoei_reader aoei_reader;
typedef struct aoei_write aoei_write; /* index_write.c */

struct aoe_index {
    char *dir;  /* directory as given, owned */
    char *path; /* path of index.db, owned */
    aoe_index_access access;
    aoe_embedder *embedder;        /* borrowed; NULL: texts cannot be embedded */
    aoei_log log;                  /* log callback of options */
    int repair;                    /* options.repair */
    aoei_settings settings;        /* settings that never change after creation */
    aoei_mutex lock;               /* protects the next two fields */
    aoei_reader *idle;             /* connections that no thread uses, owned */
    aoei_view *view;               /* newest view that was loaded, owned; NULL: none */
    aoei_lock writer_lock;         /* lock on the directory; held if access is AOE_INDEX_WRITE */
    aoei_write *write;             /* state of the writer, owned; NULL: AOE_INDEX_READ */
    char created[32], updated[32]; /* strings of aoe_index_get_stats */
};

/* A connection in a read transaction, with the view of the same commit. One thread uses it. */
struct aoei_reader {
    aoei_db db;        /* statements of searches are prepared with aoei_db_prepare */
    aoei_view *view;   /* view of the current transaction, with a reference of this reader */
    aoe_index *index;  /* borrowed */
    aoei_reader *next; /* next element of the free list */
};

/* Begins a read transaction of the last commit. The caller calls aoei_reader_end. Any number of threads may have
 * readers at the same time; a writer does not wait for them, and they do not wait for a writer. */
int aoei_reader_begin(aoei_reader **r, aoe_index *index, aoe_error *err);
/* Ends the transaction and puts the connection back. Accepts NULL. */
void aoei_reader_end(aoei_reader *r);
