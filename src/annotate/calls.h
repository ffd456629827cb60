/* SPDX-License-Identifier: MIT
 * The calls of one job. A call is a prompt for a model; the cache or the model's endpoint answers it, and several calls run
 * concurrently. A response is stored in the cache before it is used. Equal requests are sent once. The text of responses is
 * not parsed here. Invariant: the results depend only on the responses, never on their order of arrival.
 */
#ifndef AOEI_ANNOTATE_CALLS_H
#define AOEI_ANNOTATE_CALLS_H

#include "aoe.h"
#include "aoe_annotate.h"
#include "annotate/completion.h"

typedef struct aoei_chat_calls aoei_chat_calls;

/* Checks the options and opens the cache. o and everything it points to must remain valid until the calls are destroyed. */
int aoei_chat_calls_create(aoei_chat_calls **c, const aoe_chat_options *o, aoe_error *err);
void aoei_chat_calls_destroy(aoei_chat_calls *c); /* accepts NULL */
/* Adds a call with a prompt for the model with index `model` and sets *number to the call's index. Equal calls get equal
 * indices. expected: expected number of tokens of the response, for estimates of the cost. */
int aoei_chat_calls_add(aoei_chat_calls *c, size_t model, aoe_text prompt, size_t expected, size_t *number, aoe_error *err);
/* Sends the requests that the cache cannot answer. With options.dry_run, sends nothing and passes the prompts to
 * options.prompt. Errors: as for aoe_annotate. */
int aoei_chat_calls_run(aoei_chat_calls *c, aoe_error *err);
/* Returns the response of the call with index `number`; NULL if there is none. */
const aoei_chat_reply *aoei_chat_calls_reply(const aoei_chat_calls *c, size_t number);
/* Sets *r to the counts of the calls so far, except `refused` and `unreadable`, which the caller counts. */
void aoei_chat_calls_result(const aoei_chat_calls *c, aoe_chat_result *r);

#endif
