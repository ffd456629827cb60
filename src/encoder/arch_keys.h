/* SPDX-License-Identifier: MIT
 * Functions that several architecture files (arch_*.c) use. They read and check keys of config.json, and form tensor
 * names of transformer encoders. Functions with an `err` argument return AOE_EFORMAT or AOE_EUNSUPPORTED on error;
 * messages name the file, the key and the supported values.
 */
#pragma once

#include <jansson.h>

#include "aoe_shape.h"
#include "encoder/config.h"

/* Reads the key hidden_act into *c. The supported values are names of activations in the library transformers
 * (activations.py). If the key is missing, *c is unchanged. */
int aoei_key_activation(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Reads the activation from the key `key`, as aoei_key_activation does for hidden_act. */
int aoei_key_activation_of(aoei_encoder_config *c, const json_t *config, const char *key, const char *file,
                           aoe_error *err);
/* Reads the key embedding_size into *out and checks its range. If the key is missing, *out is unchanged. */
int aoei_key_embedding_size(size_t *out, const json_t *config, const char *file, aoe_error *err);
/* Reads the size of a head from the key `key` into c->head_dim, which becomes 0 if the key is missing or if the size is
 * c->hidden / c->heads. */
int aoei_key_head_dim(aoei_encoder_config *c, const json_t *config, const char *key, const char *file, aoe_error *err);
/* Returns the value of hidden_act for an activation; static storage. */
const char *aoei_activation_name(aoei_activation a);
/* Checks a string option that aoe supports with only one value, `value`. A missing key is accepted. */
int aoei_key_must_be(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err);
/* Like aoei_key_must_be, but a missing key is rejected too. */
int aoei_key_must_have(const json_t *config, const char *key, const char *value, const char *file, aoe_error *err);
/* Checks that an option is false or missing. `why` is the reason that is printed in the error message. */
int aoei_key_reject_true(const json_t *config, const char *key, const char *why, const char *file, aoe_error *err);
/* Reads the dropout probability `key` into *out and checks its range. If the key is missing, *out is unchanged. */
int aoei_key_dropout(const json_t *config, const char *key, double *out, const char *file, aoe_error *err);
/* Adds the keys of the JSON object `keys` to config and takes ownership of `keys`. Returns 0, or AOE_ENOMEM if memory
 * allocation fails or if `keys` is NULL because its allocation failed. */
int aoei_keys_add(json_t *config, json_t *keys);

/* Functions of transformer encoders for the members check, set_shape and print_sizes of aoei_arch. */
int aoei_transformer_check(const aoei_encoder_config *c, const char *file, aoe_error *err);
void aoei_transformer_set_shape(aoei_encoder_config *c, const aoe_shape *s);
void aoei_transformer_print_sizes(const aoei_encoder_config *c, char *out, size_t size);

/* Writes a tensor name to out: "PREFIX<layer>.NAME", or NAME if prefix is NULL. If name is NULL, which means that the
 * weight does not exist, writes "". */
void aoei_slot_name(char *out, size_t size, const char *prefix, size_t layer, const char *name);
