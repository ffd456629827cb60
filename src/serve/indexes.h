/* SPDX-License-Identifier: MIT
 * The indexes of a server by name. An index is opened at its first use, with the model that it records: a model of the
 * server if one is in the same directory, otherwise a further one (aoei_models_acquire_dir). Any number of threads use
 * one open index, and see its last commit, whoever made it. An index that was created anew, that failed, or whose model
 * was opened anew is opened again at its next use; searches that run meanwhile finish with the old one.
 *
 * Messages of errors are for clients: they contain the name of the index, but no path. The log has the details.
 */
#pragma once

#include "aoe_index.h"
#include "aoe_serve.h"
#include "base/buffer.h"
#include "serve/models.h"

typedef struct aoei_indexes aoei_indexes;

/* An open index, counted by its users. */
typedef struct aoei_open_index {
    const char *name; /* borrowed from the list */
    aoe_index *index;
    aoei_served *served;    /* owned use of its model; NULL: only words can be searched */
    aoe_embedder *embedder; /* of the model, with one thread; owned; NULL if `served` is */
    size_t sources;         /* folders and tables of the index when it was opened */
    size_t dims;            /* components of its vectors */
    size_t slot;            /* its place in the list */
    uint64_t device, inode; /* of its database */
    atomic_size_t users;
} aoei_open_index;

/* Reads the list of options.indexes. models: of the server, borrowed. Errors: AOE_EARG (two indexes of the same name),
 * AOE_ENOENT (a directory contains no index; not with options.writable), AOE_ENOMEM. A damaged index is only a
 * warning. */
int aoei_indexes_create(aoei_indexes **indexes, const aoe_serve_options *o, aoei_models *models, aoe_error *err);
void aoei_indexes_destroy(aoei_indexes *indexes); /* accepts NULL */
/* Creates the indexes of the list that do not exist, with the first model, if options.writable is set. Errors: see
 * aoe_index_open. */
int aoei_indexes_create_missing(aoei_indexes *indexes, aoe_error *err);
/* Opens all indexes that exist, to check them; messages contain paths. Errors: see aoe_index_open. */
int aoei_indexes_check(aoei_indexes *indexes, aoe_error *err);
/* Closes all indexes after their users; the next use opens them anew. `indexes` is an aoei_indexes. */
void aoei_indexes_close(void *indexes);
void aoei_indexes_describe(aoei_indexes *indexes, aoei_buffer *body); /* appends elements of a JSON list, with paths */

size_t aoei_indexes_count(const aoei_indexes *indexes);
const char *aoei_indexes_name(const aoei_indexes *indexes, size_t i);

/* Sets *open to the index `name` (NULL or "": the first one), which the caller releases. needs_model: 1: `served` is
 * set. May open the index and its model, and then takes long. Errors: AOE_ENOENT (there is no such index; the message
 * lists the names), AOE_EIO (the index or its model cannot be opened now; the next use tries it again). */
int aoei_indexes_acquire(aoei_indexes *indexes, const char *name, int needs_model, aoei_open_index **open,
                         aoe_error *err);
void aoei_indexes_release(aoei_indexes *indexes, aoei_open_index *open); /* accepts NULL */
/* Logs why a function of an open index failed, and replaces the message by one for clients. If the index is damaged, it
 * is opened again at its next use. Returns AOE_EIO, or `code` if the message may be shown: AOE_EARG, AOE_ENOMEM. */
int aoei_indexes_fail(aoei_indexes *indexes, aoei_open_index *open, int code, aoe_error *err);
/* Sets *stats to numbers of the last commit; its strings are NULL. Writes the name of its model to model[size]: that of
 * the server, or the last part of its path. Errors: see aoei_indexes_fail. */
int aoei_indexes_stats(aoei_indexes *indexes, aoei_open_index *open, aoe_index_stats *stats, char *model, size_t size,
                       aoe_error *err);

/* Changes an open index, which has no sources: fn changes and commits it through `writer`, which is open for writing.
 * needs_model: 1: fn embeds texts, with all threads of the model. One thread at a time may call this function. Errors:
 * AOE_EEXIST (another process writes to the index), those of fn, and see aoei_indexes_fail. */
int aoei_indexes_change(aoei_indexes *indexes, aoei_open_index *open, int needs_model,
                        int (*fn)(void *user, aoe_index *writer, aoe_error *err), void *user, aoe_error *err);
