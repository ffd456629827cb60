/* SPDX-License-Identifier: MIT
 * Requests and answers of /v1/chat/completions: the body that is sent, and what an answer says, whether it comes whole
 * (JSON) or as a stream of events. No network here, and no reading of what the model wrote.
 */
#ifndef AOEI_ANNOTATE_COMPLETION_H
#define AOEI_ANNOTATE_COMPLETION_H

#include <stdint.h>

#include "aoe.h"
#include "base/buffer.h"

typedef struct aoei_chat_reply {
    aoei_buffer content;       /* what the model wrote; of a refusal what it says */
    int refused;               /* the model or the endpoint's filter declined */
    int cut;                   /* it ended for want of room (finish_reason length) */
    int64_t prompt_tokens;     /* as the endpoint counts; -1: it does not say, as the next */
    int64_t completion_tokens; /* of the answer */
} aoei_chat_reply;

/* Reads the body of a 200 into r (zero it before the first call), replacing what was in it. Errors: AOE_EFORMAT (not such an
 * answer, or one that breaks off), AOE_ENOMEM. */
int aoei_chat_reply_read(aoei_chat_reply *r, aoe_text body, aoe_error *err);
void aoei_chat_reply_free(aoei_chat_reply *r); /* accepts a zeroed one */

/* The form in which answers are kept: appended to out, and read back (errors: AOE_EFORMAT, AOE_ENOMEM). */
int aoei_chat_reply_store(const aoei_chat_reply *r, aoei_buffer *out);
int aoei_chat_reply_load(aoei_chat_reply *r, aoe_text stored, aoe_error *err);

typedef struct aoei_chat_settings {
    const char *model;
    const char *system; /* system message; NULL or "": none */
    double temperature; /* NaN: not sent */
    size_t max_tokens;  /* 0: not sent */
    const char *more;   /* JSON object merged into the body: a null takes a key out; NULL: nothing */
} aoei_chat_settings;

/* The body of a request, appended to out: the same bytes for the same settings and prompt. Errors: AOE_EARG (`more` is no JSON
 * object), AOE_ENOMEM. */
int aoei_chat_request(aoei_buffer *out, const aoei_chat_settings *s, aoe_text prompt, aoe_error *err);

/* What a request made with these settings says of the size of its answers. */
typedef struct aoei_chat_limits {
    double tokens;  /* of an answer, at most: max_tokens or max_completion_tokens, the larger; 0: neither is sent */
    double answers; /* to one request: n or best_of; 1 unless sent */
} aoei_chat_limits;
int aoei_chat_read_limits(aoei_chat_limits *l, const aoei_chat_settings *s, aoe_error *err); /* errors: as above */

/* The words of an error answer ({"error": {"message", "code", "type"}}), each empty when there is none; without the secret (may
 * be NULL), and cut to fit. */
typedef struct aoei_chat_refusal {
    char message[256];
    char code[64];
} aoei_chat_refusal;
void aoei_chat_error(aoei_chat_refusal *e, aoe_text body, const char *secret);

/* About how many tokens a text is: an ASCII letter is a quarter of one, any other character one. */
size_t aoei_chat_tokens(aoe_text s);

#endif
