/* SPDX-License-Identifier: MIT
 * A chat endpoint for tests. It answers the prompts of `aoe data annotate` and `aoe data score` by simple rules, in
 * the format that the model's name selects, and simulates failures on request. The text of an answer depends only on
 * the request.
 */
#ifndef AOE_TESTS_CHAT_MODEL_H
#define AOE_TESTS_CHAT_MODEL_H

#include "http_server.h"

enum { CHAT_PROMPTS = 4096 };

typedef struct chat_model {
    const char *key;   /* API key; requests without it are answered with 401; NULL: no key is required */
    unsigned trouble;  /* bit set of CHAT_* failures; each occurs once per request before the request is answered */
    double delay;      /* seconds before every answer */
    size_t fail_after; /* requests with at least this number (from 1) are answered with 500; 0: none */
    unsigned seen[CHAT_PROMPTS][2]; /* hash of a request, and how often the request was received */
    size_t n_seen;
    size_t requests;
    size_t answers; /* successful answers, which a user would have to pay for */
} chat_model;

enum {
    CHAT_429 = 1, /* status 429; alternately with "Retry-After: 1" and without the header */
    CHAT_500 = 2,
    CHAT_MALFORMED = 4,   /* status 200 with a body that is not valid JSON */
    CHAT_CUT = 8,         /* the connection is closed in the middle of the body */
    CHAT_STREAM_CUT = 16, /* a stream of events that ends early */
    CHAT_TROUBLES = 5
};

/* Adds POST /v1/chat/completions. The beginning of the model's name selects the format of an answer or a failure:
 *   "numbered", "bullets", "json"   a list in this format
 *   "stream"                        server-sent events
 *   "refuses"                       an apology instead of a list
 *   "declines"                      a message with the refusal field
 *   "silent"                        a text without a list
 *   "filtered"                      finish_reason content_filter
 *   "cut"                           finish_reason length
 *   "echo"                          the API key in the answer
 *   "unknown"                       status 404
 *   "quota"                         status 429, always
 *   "tells"                         status 400; the API key is at the position where aoe truncates messages
 *   "long"                          status 400 if the text contains "too long" */
void chat_model_route(test_server *s, chat_model *m);

#endif
