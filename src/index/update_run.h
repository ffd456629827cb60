/* SPDX-License-Identifier: MIT
 * The state of a call of aoe_index_update: counts, progress, commits in regular intervals, the time budget, and
 * messages about files that are left out.
 */
#pragma once

#include "document/filter.h"
#include "document/folder.h"
#include "index/index_write.h"

enum { AOEI_SKIP_KINDS = AOEI_SKIP_BINARY + 1 };

typedef struct aoei_update {
    aoe_index *index;
    const aoe_index_update_options *o;   /* all fields are valid */
    aoe_index_update_result *result;     /* all fields are valid */
    aoei_filters filters;                /* owned */
    aoei_write_counts before;            /* counts at the beginning */
    int changed;                         /* 1: something was written since the last commit */
    double started, committed, reported; /* times of aoei_now */
    double busy;                         /* seconds that were spent on writing documents */
    uint64_t done_bytes;                 /* bytes of text that were written in this time */
    uint64_t queued_bytes;               /* bytes of text in the queue */
    double probe;                        /* seconds per byte that aoei_update_fits measured; 0: not yet */
    size_t queue_limit;                  /* passages in the queue that are written together */
    aoe_index_progress progress;
    size_t flushing;  /* passages of the current flush that have their vectors */
    int may_drop;     /* 1: the documents of the queue may be dropped, because the record of their file is incomplete */
    int is_cancelled; /* 1: the program cancelled the update */
    size_t skipped[AOEI_SKIP_KINDS]; /* files that were left out, by reason */
    size_t failed_programs;          /* files whose program failed */
    size_t lost_fields, lost_files;  /* entries of front matter that were not read, and the files that contain them */
    char lost_place[256];            /* FILE:LINE of the first one, possibly cut */
} aoei_update;

/* Starts the run. filters: see aoe_index_update_options. Errors: as aoei_filters_init. */
int aoei_update_begin(aoei_update *u, aoe_index *index, const aoe_index_update_options *o,
                      aoe_index_update_result *result, aoe_error *err);
/* Logs messages about programs and reasons, and sets the counts of the result. */
void aoei_update_end(aoei_update *u);

/* Reports progress at most 20 times per second, and at once if `now` is 1. file: current file, or NULL. Returns 0 or
 * AOE_ECANCELLED. */
int aoei_update_report(aoei_update *u, const char *file, int now, aoe_error *err);
/* Returns 1 if the documents of a file of this size take more than about a second. */
int aoei_update_is_large(const aoei_update *u, uint64_t bytes);
/* Begins the documents of a file that is so large that the program can cancel the update while they are embedded. They
 * are dropped then, so the record of the file must say that it was not read (aoei_update_record with `incomplete`).
 * Writes the queue before, and commits if the next commit would be late. bytes: size of the file. The caller sets
 * u->may_drop to 0 at the end. */
int aoei_update_begin_large(aoei_update *u, uint64_t bytes, aoe_error *err);
/* Adds a document of a file to the index, and writes the queue if it is long enough. Commits if options.commit_seconds
 * have passed. */
int aoei_update_write(aoei_update *u, const aoe_index_document *d, int64_t file, aoe_error *err);
/* Writes the queue and commits, if something changed. */
int aoei_update_commit(aoei_update *u, aoe_error *err);
/* Returns 1 if a text of this size can be embedded within options.budget, as far as the rate so far predicts it.
 * sample: a part of the text, with which the rate is measured if nothing was embedded yet. */
int aoei_update_fits(aoei_update *u, uint64_t bytes, aoe_text sample);
/* Returns 1 if options.budget is used up. */
int aoei_update_is_late(const aoei_update *u);
/* Returns 1 if the time of a last modification is so close to the present that the file can change again without a
 * change of this time. Such a file is compared by its contents in the next update. */
int aoei_update_is_recent(int64_t mtime_ns);

/* Counts a file that is not indexed, and logs the first ones of each reason. why: details; NULL: none. */
void aoei_update_skip(aoei_update *u, const char *folder, const char *path, aoei_skip skip, const char *why);
/* Counts the entries of the front matter of a file that are not metadata. line: of the first one. */
void aoei_update_lose_fields(aoei_update *u, const char *path, size_t n, size_t line);
/* Counts a file whose program failed, and logs the first ones. */
void aoei_update_skip_program(aoei_update *u, const char *folder, const char *path, const char *why);
