/* SPDX-License-Identifier: MIT
 * A new model with random weights. Where the texts of a trained vocabulary come
 * from is the caller's business: readers of data files lie above this layer.
 */
#ifndef AOEI_CREATE_INIT_H
#define AOEI_CREATE_INIT_H

#include "aoe.h"
#include "aoe_train.h"
#include "encoder/config.h"
#include "tokenizer/wordpiece_trainer.h"

/* Gives every text to the trainer (aoei_wordpiece_trainer_add). */
typedef int (*aoei_feed_fn)(void *user, aoei_wordpiece_trainer *trainer, aoe_error *err);

/* As aoe_init; feed is called when o->tokenizer_from is NULL. The files of o->texts are not looked at here. */
int aoei_init_with(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoei_feed_fn feed, void *user,
                   aoe_init_result *result, aoe_error *err);
/* Fills a weight [rows, cols] as training from scratch begins: normal with sd 0.02, norms 1, biases 0; a pure function of
 * (seed, slot). Of an adapter lora_A is uniform in +-1 / sqrt(its inputs) and lora_B 0: it adds nothing at first. */
void aoei_init_weight(float *to, const aoei_encoder_config *c, size_t slot, uint64_t seed);

#endif
