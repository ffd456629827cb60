/* SPDX-License-Identifier: MIT
 * Requests and answers of /v1/chat/completions: the JSON of a request, and the contents of an answer, which arrives as
 * JSON or as a stream of events. No network access, and no parsing of the text that the model wrote.
 */
#ifndef AOEI_ANNOTATE_COMPLETION_H
#define AOEI_ANNOTATE_COMPLETION_H

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_chat_reply {
    aoei_buffer content;       /* text of the model; the explanation if the model declined */
    int refused;               /* 1: the model or the content filter of the endpoint declined */
    int cut;                   /* 1: truncated by the limit of tokens (finish_reason "length") */
    int64_t prompt_tokens;     /* tokens of the prompt as the endpoint counts them; -1: not reported */
    int64_t completion_tokens; /* tokens of the answer as the endpoint counts them; -1: not reported */
} aoei_chat_reply;

/* Reads the body of an answer with status 200 into r, replacing its contents. Zero r before the first call. Errors:
 * AOE_EFORMAT (not an answer of this API, or truncated), AOE_ENOMEM. */
int aoei_chat_reply_read(aoei_chat_reply *r, aoe_text body, aoe_error *err);
void aoei_chat_reply_free(aoei_chat_reply *r); /* accepts a zeroed one */

/* Writes an answer in the format of the cache to out (appended), and reads it. Errors: AOE_EFORMAT, AOE_ENOMEM. */
int aoei_chat_reply_store(const aoei_chat_reply *r, aoei_buffer *out);
int aoei_chat_reply_load(aoei_chat_reply *r, aoe_text stored, aoe_error *err);

typedef struct aoei_chat_settings {
    const char *model;
    const char *system; /* system message; NULL or "": none */
    double temperature; /* NaN: not sent */
    size_t max_tokens;  /* 0: not sent */
    const char *more;   /* JSON object merged into the body; null removes a key; NULL: none */
} aoei_chat_settings;

/* Appends the body of a request to out. Equal settings and prompts give equal bytes. Errors: AOE_EARG (`more` is not a JSON
 * object), AOE_ENOMEM. */
int aoei_chat_request(aoei_buffer *out, const aoei_chat_settings *s, aoe_text prompt, aoe_error *err);

/* Limits on the answers to a request with these settings. */
typedef struct aoei_chat_limits {
    double
        tokens; /* maximum tokens of an answer: max_tokens or max_completion_tokens, whichever is larger; 0: no limit is sent */
    double answers; /* answers per request: n or best_of; default: 1 */
} aoei_chat_limits;
int aoei_chat_read_limits(aoei_chat_limits *l, const aoei_chat_settings *s,
                          aoe_error *err); /* errors: those of aoei_chat_request */

/* Message and code of an error answer ({"error": {"message", "code", "type"}}), each "" if missing and truncated to fit. The
 * secret (may be NULL) is redacted. */
typedef struct aoei_chat_refusal {
    char message[256];
    char code[64];
} aoei_chat_refusal;
void aoei_chat_error(aoei_chat_refusal *e, aoe_text body, const char *secret);

/* Estimates the number of tokens of a text: a quarter per ASCII letter, one per other character. */
size_t aoei_chat_tokens(aoe_text s);

#endif
