/* SPDX-License-Identifier: MIT
 * A chat endpoint for tests. It answers the prompts of `aoe data annotate` and `aoe data score` by simple rules. The
 * name of the model in a request selects the format of the answer. The fields of chat_model select failures to
 * simulate. The text of an answer depends only on the request and on chat_model.key.
 */
#pragma once

#include "http_server.h"

enum { CHAT_PROMPTS = 4096 };

typedef struct chat_model {
    /* API key; requests without this key are answered with status 401; NULL: no key is required */
    const char *key;
    /* bit set of CHAT_* failures; each of them occurs once for every distinct request before the request is answered */
    unsigned trouble;
    double delay; /* seconds before every answer */
    /* request number fail_after (counted from 1) and all later requests are answered with status 500; 0: no request
     * is */
    size_t fail_after;
    unsigned seen[CHAT_PROMPTS][2]; /* hash of a request, and how many times it was received */
    size_t n_seen;
    size_t requests;
    size_t answers; /* number of successful answers */
} chat_model;

enum {
    CHAT_429 = 1, /* status 429; if `requests` is odd, with the header "Retry-After: 1" */
    CHAT_500 = 2,
    CHAT_MALFORMED = 4,   /* status 200 with a body that is not valid JSON */
    CHAT_CUT = 8,         /* the connection is closed in the middle of the body */
    CHAT_STREAM_CUT = 16, /* a stream of events that ends early */
    CHAT_TROUBLES = 5
};

/* Adds the route POST /v1/chat/completions to s. The beginning of the model's name selects the answer:
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
 *   "tells"                         status 400; the error message contains the API key, at the position at which aoe
 *                                   truncates messages
 *   "long"                          status 400 if the text contains "too long" */
void chat_model_route(test_server *s, chat_model *m);
