/* SPDX-License-Identifier: MIT
 * Changes of a writer that are not in the database yet: queued documents, and passages of removed documents. They are
 * written together, because the word index is fast only if passages are removed and added in the order of their ids.
 */
#pragma once

#include "base/distinct.h"
#include "index/index.h"
#include "index/queue.h"

/* Numbers of what was done since the index was opened. */
typedef struct aoei_write_counts {
    size_t added, changed, removed, unchanged; /* documents */
    size_t passages;                           /* passages written */
    size_t reused;                             /* of these, with a vector that was already in the index */
    size_t tokens;                             /* tokens of the passages that were embedded */
} aoei_write_counts;

/* The passages of a document that was removed from the table documents. */
typedef struct aoei_removal {
    int64_t first_passage; /* id of the first passage */
    uint64_t first_row, n; /* rows of the vector files */
} aoei_removal;

/* A zeroed struct is empty. */
struct aoei_changes {
    aoei_queue queue;
    aoei_removal *removal; /* [n_removals], owned */
    size_t n_removals, removal_capacity;
    aoei_write_counts counts;
    int64_t file;    /* file of aoei_write_file_begin; 0: none */
    size_t *pending; /* buffer of a flush: indices of the passages that are embedded, owned */
    size_t pending_capacity;
    aoei_distinct texts; /* their texts, which the queue owns */
    float *vectors;      /* buffer of a call of the embedder, owned */
    size_t capacity;     /* vectors for which it has memory */
    size_t slice;        /* passages that are embedded in one call if the program reports them; 0: not yet known */
};

/* Removes a document from the tables documents and fields, and queues the removal of its passages. Errors: AOE_EFORMAT
 * (its numbers are impossible). */
int aoei_changes_remove(aoe_index *index, int64_t document, aoe_error *err);
/* Embeds and writes everything that is queued. After a failure, the queue of documents is empty, and the database and
 * the queue of removals are as before. */
int aoei_changes_flush(aoe_index *index, aoe_error *err);
/* Removes everything from the queues, without writing. */
void aoei_changes_clear(aoei_changes *c);
void aoei_changes_free(aoei_changes *c); /* frees c; accepts NULL */
