/* SPDX-License-Identifier: MIT
 * Helper functions shared by the architecture files (arch_*.c): keys of config.json, checks, and tensor names of
 * transformer encoders. Errors: AOE_EFORMAT and AOE_EUNSUPPORTED; messages name the file, the key and the supported values.
 */
#ifndef AOEI_ENCODER_ARCH_KEYS_H
#define AOEI_ENCODER_ARCH_KEYS_H

#include <jansson.h>

#include "encoder/config.h"

/* Reads hidden_act, with the activation names of the library transformers (activations.py). If the key is missing, c is
 * unchanged. */
int aoei_key_activation(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Returns the name of an activation as hidden_act contains it; static storage. */
const char *aoei_activation_name(aoei_activation a);
/* Checks a string option of which only `value` is supported. A missing key is accepted. */
int aoei_key_must_be(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err);
/* Checks that an option is false or missing. why: reason for the error message. */
int aoei_key_reject_true(const json_t *config, const char *key, const char *why, const char *file, aoe_error *err);
/* Adds the members of `keys` to config and takes ownership of `keys`. Returns 0, or AOE_ENOMEM if memory runs out or if `keys`
 * is NULL because its allocation failed. */
int aoei_keys_add(json_t *config, json_t *keys);

/* The members check, set_shape and print_sizes of aoei_arch for transformer encoders. */
int aoei_transformer_check(const aoei_encoder_config *c, const char *file, aoe_error *err);
void aoei_transformer_set_shape(aoei_encoder_config *c, const aoe_shape *s);
void aoei_transformer_print_sizes(const aoei_encoder_config *c, char *out, size_t size);

/* Writes "PREFIX<layer>.NAME", or NAME if prefix is NULL, or "" if name is NULL (an absent slot). */
void aoei_slot_name(char *out, size_t size, const char *prefix, size_t layer, const char *name);

#endif
