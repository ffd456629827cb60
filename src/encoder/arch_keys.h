/* SPDX-License-Identifier: MIT
 * What the architecture files (arch_*.c) share: keys of config.json that have one
 * meaning everywhere, names of slots from tables, and the part of BERT that RoBERTa
 * has, too. Nobody else includes it.
 */
#ifndef AOEI_ENCODER_ARCH_KEYS_H
#define AOEI_ENCODER_ARCH_KEYS_H

#include "encoder/config.h"

/* hidden_act by transformers' names (activations.py), as far as the feed-forward layer of c has them; missing: c's stays. */
int aoei_key_activation(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
const char *aoei_activation_name(aoei_activation a); /* for hidden_act; static */
/* A string option that must have one value, or be missing when that is its default. */
int aoei_key_must_be(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err);
/* An option that must not be true; why goes into the message. */
int aoei_key_refuse_true(const json_t *config, const char *key, const char *why, const char *file, aoe_error *err);
/* Adds keys (taken over, NULL: no memory) to config. 0 or AOE_ENOMEM. */
int aoei_keys_add(json_t *config, json_t *keys);

/* Writes "PREFIX<layer>.NAME", without a prefix NAME alone; nothing for a NULL name, which is that of an absent slot. */
void aoei_slot_name(char *out, size_t size, const char *prefix, size_t layer, const char *name);

void aoei_bert_defaults(aoei_encoder_config *c);
int aoei_bert_read(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
int aoei_bert_write(const aoei_encoder_config *c, json_t *config);
void aoei_bert_name(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer);
size_t aoei_bert_max_length(const aoei_encoder_config *c);

#endif
