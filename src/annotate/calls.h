/* SPDX-License-Identifier: MIT
 * Sends prompts to chat models and returns their responses. A call is one prompt for one model. Its response comes from
 * the cache or from the model's endpoint. Several calls run concurrently. Every response is stored in the cache before
 * it is used. Equal requests are sent only once. The text that a model wrote is not parsed here. Invariant: the results
 * depend only on the contents of the responses, never on the order in which responses arrive.
 */
#pragma once

#include "aoe.h"
#include "aoe_annotate.h"
#include "annotate/completion.h"

typedef struct aoei_chat_calls aoei_chat_calls;

/* Creates *c, which contains no calls. Checks the options and opens the cache. `o` and everything that `o` points to
 * must remain valid until *c is destroyed. */
int aoei_chat_calls_create(aoei_chat_calls **c, const aoe_chat_options *o, aoe_error *err);
void aoei_chat_calls_destroy(aoei_chat_calls *c); /* accepts NULL */
/* Adds a call: `prompt` is sent to the model with index `model`. Sets *number to the index of the call; equal calls
 * have the same index. expected: expected number of tokens in the response, used to estimate the cost. */
int aoei_chat_calls_add(aoei_chat_calls *c, size_t model, aoe_text prompt, size_t expected, size_t *number,
                        aoe_error *err);
/* Sends the requests whose responses are not in the cache. If options.dry_run is 1, sends nothing and passes the
 * prompts to the callback options.prompt. Errors: as for aoe_annotate. */
int aoei_chat_calls_run(aoei_chat_calls *c, aoe_error *err);
/* Returns the response of the call with index `number`, or NULL if the call has no response. */
const aoei_chat_reply *aoei_chat_calls_reply(const aoei_chat_calls *c, size_t number);
/* Sets the fields of *r to the counts of the calls so far, except `refused` and `unreadable`. The caller counts these
 * two. */
void aoei_chat_calls_result(const aoei_chat_calls *c, aoe_chat_result *r);
