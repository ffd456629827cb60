/* SPDX-License-Identifier: MIT
 * Creates the requests and reads the responses of the HTTP API /v1/chat/completions. A response is one JSON object or a
 * stream of server-sent events. These functions do not access the network. They do not parse the text that the model
 * wrote.
 */
#pragma once

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_chat_reply {
    aoei_buffer content;       /* text that the model wrote; if the model declined the request, its explanation */
    int refused;               /* 1: the model or the endpoint's content filter declined the request */
    int truncated;             /* 1: the text ends at the token limit (finish_reason "length") */
    int64_t prompt_tokens;     /* number of tokens in the prompt as reported by the endpoint; -1: not reported */
    int64_t completion_tokens; /* number of tokens in the response as reported by the endpoint; -1: not reported */
} aoei_chat_reply;

/* Reads the body of a response with status 200 and replaces the contents of *r. The caller zeroes *r before the first
 * call. Errors: AOE_EFORMAT (not a response of this API, or incomplete), AOE_ENOMEM. */
int aoei_chat_reply_read(aoei_chat_reply *r, aoe_text body, aoe_error *err);
void aoei_chat_reply_free(aoei_chat_reply *r); /* accepts a zeroed struct */

/* Store and load responses in the format of the cache. aoei_chat_reply_store appends a response to `out`.
 * aoei_chat_reply_load reads a stored response. Errors: AOE_EFORMAT, AOE_ENOMEM. */
int aoei_chat_reply_store(const aoei_chat_reply *r, aoei_buffer *out);
int aoei_chat_reply_load(aoei_chat_reply *r, aoe_text stored, aoe_error *err);

typedef struct aoei_chat_settings {
    const char *model;  /* name of the model */
    const char *system; /* system message; NULL or "": none */
    double temperature; /* sampling temperature; AOE_AUTO: not sent */
    size_t max_tokens;  /* maximum number of tokens in the response; 0: not sent */
    /* JSON object with more keys, which replace equal keys of the body; a key with the value null is removed; may be
     * NULL */
    const char *more;
} aoei_chat_settings;

/* Appends the body of a request to out. The bytes are identical whenever the settings and the prompt are equal. Errors:
 * AOE_EARG (`more` is not a JSON object), AOE_ENOMEM. */
int aoei_chat_request(aoei_buffer *out, const aoei_chat_settings *s, aoe_text prompt, aoe_error *err);

/* Limits in the body of a request, after aoei_chat_settings.more is merged. */
typedef struct aoei_chat_limits {
    /* maximum number of tokens in a response: the larger of max_tokens and max_completion_tokens; 0: no maximum */
    double tokens;
    double responses; /* number of responses per request: the larger of n and best_of, or 1 if the request has
                         neither */
} aoei_chat_limits;
/* Computes the limits of a request with these settings. Errors: the same as aoei_chat_request. */
int aoei_chat_read_limits(aoei_chat_limits *l, const aoei_chat_settings *s, aoe_error *err);

/* Message and code of an error response such as {"error": {"message": "...", "code": "...", "type": "..."}}. Both are
 * truncated to the size of the arrays. A missing message or code is "". */
typedef struct aoei_chat_error {
    char message[256];
    char code[64];
} aoei_chat_error;
/* Reads the body of an error response. secret: API key, which is redacted in the message and in the code; may be
 * NULL. */
void aoei_chat_error_read(aoei_chat_error *e, aoe_text body, const char *secret);

/* Estimates the number of tokens in a text: 1/4 token per ASCII character and 1 token per other character. */
size_t aoei_estimate_tokens(aoe_text s);
