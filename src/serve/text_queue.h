/* SPDX-License-Identifier: MIT
 * The texts that wait for a model, and the threads that compute them. A job is the texts of one request. Whenever a
 * thread is free, it takes texts of the jobs in turn, the first text of each job, then the second, and so on, up to a
 * number of tokens, and computes them in one batch. There is no waiting: a text that arrives at an idle model is
 * computed at once. The vectors do not depend on the batch (aoe_sequence.h).
 *
 * Each of the threads computes alone if others also compute, which needs no synchronization. A thread that is the only
 * one uses all threads of the model.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe_sequence.h"

#include "serve/metrics.h"

typedef struct aoei_text_queue aoei_text_queue;
typedef struct aoei_task_list aoei_task_list;

/* What is computed for the texts of a job. */
typedef enum aoei_task_kind {
    AOEI_TASK_EMBED, /* embeddings */
    AOEI_TASK_SCORE, /* scores of pairs */
    AOEI_TASK_STATES /* hidden states of the tokens */
} aoei_task_kind;

/* A text of a job. */
typedef struct aoei_task {
    aoe_sequence *sequence; /* owned by the owner of the job; NULL: the result is already there */
    float *out;             /* result, borrowed */
    uint32_t tokens;
} aoei_task;

/* The texts of one request. The owner sets the first fields and must not change them before `done` is called. */
struct aoei_task_list {
    aoei_task_kind kind;
    int activation;  /* AOEI_TASK_SCORE: see aoe_score_sequences */
    aoei_task *task; /* [n], borrowed */
    size_t n;
    int (*is_gone)(aoei_task_list *list); /* returns 1 if nobody waits for the results any more; NULL: never */
    /* Called once, by one of the threads, when all results are there, or after a failure. The list may be freed. */
    void (*done)(aoei_task_list *list);
    int code;      /* result for `done`: 0, an aoe_code, or AOE_ECANCELLED if is_gone returned 1 */
    size_t failed; /* index of the text that failed; SIZE_MAX: none in particular */
    aoe_error err;
    double started; /* aoei_now() when the first text was taken */
    double added;   /* aoei_now() when the list was added */
    /* fields of the queue */
    aoei_task_list *next, *previous; /* neighbors in the ring of lists with texts that were not taken */
    size_t taken, left;              /* texts that were taken, and texts without a result */
    size_t next_check;
};

/* Creates a queue and its threads. all, one: embedders with all threads of the model, and with one thread; borrowed.
 * max_tokens: tokens of a batch; a longer text is a batch of its own. Errors: AOE_ENOMEM. */
int aoei_text_queue_create(aoei_text_queue **queue, aoe_embedder *all, aoe_embedder *one, size_t threads,
                           size_t max_tokens, aoei_metrics *metrics, aoe_error *err);
/* Computes what is still in the queue, ends the threads and frees the queue. Accepts NULL. */
void aoei_text_queue_destroy(aoei_text_queue *queue);
/* Adds a list, whose texts without a result are computed. If all have one, calls list->done at once. */
void aoei_text_queue_add(aoei_text_queue *queue, aoei_task_list *list);
size_t aoei_text_queue_size(aoei_text_queue *queue); /* number of texts that wait */
