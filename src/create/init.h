/* SPDX-License-Identifier: MIT
 * A new model with random weights. The caller provides the texts for the vocabulary.
 */
#ifndef AOEI_CREATE_INIT_H
#define AOEI_CREATE_INIT_H

#include "aoe.h"
#include "aoe_train.h"
#include "encoder/config.h"
#include "tokenizer/wordpiece_trainer.h"

/* Gives every text to the trainer (aoei_wordpiece_trainer_add). */
typedef int (*aoei_feed_fn)(void *user, aoei_wordpiece_trainer *trainer, aoe_error *err);

/* As aoe_init; feed is called when o->tokenizer_from is NULL. o->texts is ignored. */
int aoei_init_with(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoei_feed_fn feed, void *user,
                   aoe_init_result *result, aoe_error *err);

#endif
