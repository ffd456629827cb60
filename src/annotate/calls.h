/* SPDX-License-Identifier: MIT
 * The calls of one job: each is a prompt for a model, answered by the cache or by the endpoint of the model, several at a
 * time. An answer is stored in the cache before it is used; equal requests are sent once. The text of answers is not
 * parsed here. Invariant: the results depend on the answers only, never on their order of arrival.
 */
#ifndef AOEI_ANNOTATE_CALLS_H
#define AOEI_ANNOTATE_CALLS_H

#include "aoe.h"
#include "aoe_annotate.h"
#include "annotate/completion.h"

typedef struct aoei_chat_calls aoei_chat_calls;

/* Checks the options and opens the cache. o and everything it refers to must outlive the calls. */
int aoei_chat_calls_create(aoei_chat_calls **c, const aoe_chat_options *o, aoe_error *err);
void aoei_chat_calls_destroy(aoei_chat_calls *c); /* NULL accepted */
/* Adds a call. *number identifies it; equal calls have one number. expected: expected tokens of the answer, for estimates.
 */
int aoei_chat_calls_add(aoei_chat_calls *c, size_t model, aoe_text prompt, size_t expected, size_t *number, aoe_error *err);
/* Sends the requests that the cache cannot answer; with dry_run only estimates them. Errors: those of aoe_annotate. */
int aoei_chat_calls_run(aoei_chat_calls *c, aoe_error *err);
/* Returns the answer of a call; NULL: there is none. */
const aoei_chat_reply *aoei_chat_calls_reply(const aoei_chat_calls *c, size_t number);
/* Counts of the calls so far; `refused` and `unreadable` are counted by the caller. */
void aoei_chat_calls_result(const aoei_chat_calls *c, aoe_chat_result *r);

#endif
