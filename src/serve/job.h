/* SPDX-License-Identifier: MIT
 * The computation of one request: tokenizes its texts with the settings of the request, takes known embeddings from the
 * cache, adds the others to the queue of the model, and calls a function of the route when all results are there.
 */
#pragma once

#include "serve/call.h"

typedef struct aoei_job aoei_job;

/* About how many bytes of an answer a component needs: as a number, and in base64. */
enum { AOEI_FLOAT_TEXT = 12, AOEI_FLOAT_BASE64 = 6 };

/* Writes the answer to *body, from the results in the job. Called on a thread of the queue, or on that of the route if
 * nothing had to be computed. */
typedef void (*aoei_job_answer_fn)(aoei_job *job, aoei_buffer *body);

struct aoei_job {
    aoei_task_list list; /* first, so that the queue's pointer is the job */
    aoe_server *server;
    aoei_exchange *x;
    const aoei_route *route;
    aoei_served *served;  /* owned use of the model */
    aoei_request request; /* owned: texts of the inputs are borrowed from it */
    /* inputs, which the route sets: the first three for embeddings and hidden states, the others for scores */
    const aoe_text *text; /* [n], NULL: ids */
    const int32_t *const *ids;
    const size_t *n_ids;
    const aoe_text *first, *second; /* [n]; second[i].data is NULL for a text that is scored alone */
    size_t n;
    aoe_sequence_options o;          /* settings of all texts */
    const char *const *prompt_names; /* [n] prompt of each text, instead of o.prompt_name; NULL: the same for all */
    int must_be_short; /* 1: the job starts in the thread of the connections, which does only a little work at a time */
    int refuses_long;  /* 1: texts that are too long are errors */
    const uint8_t *is_shortened; /* [n] 1: the route has shortened the text; NULL: none; borrowed until `answer` */
    size_t max_tokens;           /* tokens of all texts; 0: no limit */
    const char *length_key;      /* key of the body that sets o.max_length, for messages; NULL: none */
    aoei_job_answer_fn answer;
    void *user;         /* of the route; freed with aoei_free */
    int format;         /* of the route */
    size_t value_bytes; /* bytes of the answer for each component, about; AOEI_FLOAT_TEXT unless the route changes it */
    /* results */
    size_t dims;       /* components of each vector, or scores of each pair; hidden states: components of each state */
    float *values;     /* embeddings and scores: [n, dims], owned */
    float **row;       /* [n] result of each text; hidden states: [tokens, dims] */
    size_t tokens;     /* sum of the tokens of all texts */
    size_t computed;   /* the same without the texts that were in the cache */
    size_t truncated;  /* number of texts that were truncated */
    aoei_task *task;   /* [n], owned */
    uint8_t *is_cut;   /* [n] 1 if the text was truncated, owned */
    uint8_t *is_known; /* [n] 1 if the embedding was in the cache, owned */
    double tokenization; /* seconds */
};

/* Creates a job for n texts, which takes over c->request and the use of the model. The body and the JSON document are
 * freed. Answers an error and returns NULL if
 * memory runs out. */
aoei_job *aoei_job_create(aoei_call *c, aoei_served *served, size_t n, aoei_task_kind kind, aoei_job_answer_fn answer);
/* Answers with an error, and frees the job, which was not started. */
void aoei_job_fail(aoei_job *job, aoei_error_kind kind, const char *message);
/* Starts the job, which answers the request later and frees itself. A job that must be short, but needs more than about
 * a millisecond until its texts are in the queue, is passed to the threads that may wait. */
void aoei_job_start(aoei_job *job);
void aoei_job_continue(aoei_job *job); /* continues a job that was passed to another thread */
/* Checks the number of texts of a request against the limit of the server. Returns 0, or 1 after answering the error.
 * is_native: 1: the limit is options.max_texts, otherwise options.max_list. key: name of the texts in the body. */
int aoei_call_check_count(aoei_call *c, size_t n, int is_native, const char *key);
