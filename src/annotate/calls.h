/* SPDX-License-Identifier: MIT
 * The calls of one job: each a prompt to a model, answered by the cache or by its endpoint, several at a time. An answer
 * is in the cache before it is looked at; equal requests are sent once. Nothing here reads what a model wrote.
 * Invariant: what comes out depends on the answers alone, never on their order.
 */
#ifndef AOEI_ANNOTATE_CALLS_H
#define AOEI_ANNOTATE_CALLS_H

#include "aoe.h"
#include "aoe_annotate.h"
#include "annotate/completion.h"

typedef struct aoei_chat_calls aoei_chat_calls;

/* Checks the options and opens the cache. o and what it points to must outlive it. expected: tokens of a usual answer, for
 * estimates. */
int aoei_chat_calls_create(aoei_chat_calls **c, const aoe_chat_options *o, aoe_error *err);
void aoei_chat_calls_destroy(aoei_chat_calls *c); /* NULL accepted */
/* A call: its number, which an equal one has too. expected: tokens its answer may have, for estimates. */
int aoei_chat_calls_add(aoei_chat_calls *c, size_t model, aoe_text prompt, size_t expected, size_t *number, aoe_error *err);
/* Asks what the cache does not know. With dry_run only says what that would be. Errors: those of aoe_annotate. */
int aoei_chat_calls_run(aoei_chat_calls *c, aoe_error *err);
/* NULL: there is no answer. */
const aoei_chat_reply *aoei_chat_calls_reply(const aoei_chat_calls *c, size_t number);
/* So far; refused and unreadable are the caller's to count. */
void aoei_chat_calls_result(const aoei_chat_calls *c, aoe_chat_result *r);

#endif
