/* SPDX-License-Identifier: MIT
 * A chat endpoint for tests: answers the prompts of aoe data annotate and aoe data score by simple rules, in the shapes
 * that the model's name asks for, and misbehaves on request. What it answers depends on the request alone.
 */
#ifndef AOE_TESTS_CHAT_MODEL_H
#define AOE_TESTS_CHAT_MODEL_H

#include "http_server.h"

enum { CHAT_PROMPTS = 4096 };

typedef struct chat_model {
    const char *key;                /* 401 for requests without it; NULL: none is wanted */
    unsigned trouble;               /* CHAT_* that happen, each once for a request, before it is answered */
    double delay;                   /* seconds before every answer */
    size_t fail_after;              /* every request from this one on is answered with 500; 0: none */
    unsigned seen[CHAT_PROMPTS][2]; /* hash of a request and how often it came */
    size_t n_seen;
    size_t requests;
    size_t answers; /* good ones: what would have to be paid for */
} chat_model;

enum {
    CHAT_429 = 1, /* with Retry-After: 1, or no header at all, by turns */
    CHAT_500 = 2,
    CHAT_MALFORMED = 4,   /* a 200 that is no JSON */
    CHAT_CUT = 8,         /* the connection ends in the middle of the body */
    CHAT_STREAM_CUT = 16, /* a stream of events that breaks off */
    CHAT_TROUBLES = 5
};

/* Adds POST /v1/chat/completions. Names of models decide the shape: "numbered...", "bullets...", "json...", "stream..."
 * (server-sent events), "refuses...", "silent..." (no list), "filtered..." (finish_reason), "declines..." (refusal field),
 * "cut..." (finish_reason length), "echo..." (the key in the answer), "unknown..." (404), "quota..." (429 for good), "tells..."
 * (400 with the key across the place where messages are cut), "long..." (400 for a text with "too long" in it). */
void chat_model_route(test_server *s, chat_model *m);

#endif
