/* SPDX-License-Identifier: MIT
 * Creates a model with random weights. The caller provides the texts on which the vocabulary is trained.
 */
#pragma once

#include "aoe.h"
#include "aoe_convert.h"
#include "encoder/config.h"
#include "tokenizer/wordpiece_trainer.h"

/* A callback that passes every text for training the vocabulary to aoei_wordpiece_trainer_add. Returns 0 or an error
 * code. */
typedef int (*aoei_feed_fn)(void *user, aoei_wordpiece_trainer *trainer, aoe_error *err);

/* Creates a model as aoe_init does, except that feed(user, ...) provides the texts instead of the files in o->texts. If
 * o->tokenizer_from is NULL, `feed` is called once, and o->n_texts must be positive. */
int aoei_init_with(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoei_feed_fn feed, void *user,
                   aoe_init_result *result, aoe_error *err);
