/* SPDX-License-Identifier: MIT
 * The architectures LLaMA, Mistral, Ministral and Qwen2.
 */
#pragma once

#include "encoder/arch.h"

/* The functions below are for architectures whose layers and keys of config.json resemble those of LLaMA. The functions
 * that read keys return AOE_EFORMAT or AOE_EUNSUPPORTED on error. */

/* Sets the defaults of LLaMA in *c. */
void aoei_llama_defaults(aoei_encoder_config *c);
/* Reads the sizes, the epsilon of norms and the dropout of attention. */
int aoei_llama_read_sizes(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Reads the keys that LLaMA, Mistral, Qwen2 and Qwen3 have in common: sizes, activation, norm, dropout and rotary
 * positions. */
int aoei_llama_read_common(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Reads all keys of Qwen2: the common keys, the sliding windows and the direction of attention. */
int aoei_llama_read_qwen2(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Sets the number of components per head to dim if the key head_dim is missing. */
void aoei_llama_default_head_dim(aoei_encoder_config *c, const json_t *config, size_t dim);
/* Reads the rotary positions of models in which layers with a sliding window have others (c->rope_local). `global` and
 * `local` are the keys of the bases of the rotary frequencies in older files; in newer files, rope_parameters contains
 * an object for each kind of layers, which has priority. rope_scaling applies to c->rope and, if both is 1, also to
 * c->rope_local. *c contains the defaults, and c->positions must already be set. */
int aoei_llama_read_two_ropes(aoei_encoder_config *c, const json_t *config, const char *global, const char *local,
                              int both, const char *file, aoe_error *err);
/* Adds the keys `global` and `local` and rope_parameters to config. Returns 0 or AOE_ENOMEM. */
int aoei_llama_write_two_ropes(const aoei_encoder_config *c, json_t *config, const char *global, const char *local);
/* Reads layer_types, the list of the layers that have a sliding window, into c->windowed. If the key is missing, *c is
 * unchanged. c->layers and c->window must already be set; if no layer has a window, c->window becomes 0. */
int aoei_llama_read_layer_types(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Completes the description of the windows: if no layer is in c->windowed, c->window becomes 0. Returns AOE_EFORMAT if
 * a layer has a window, but c->window is 0. */
int aoei_llama_check_windows(aoei_encoder_config *c, const char *file, aoe_error *err);
/* Rejects is_causal null in a model with sliding windows: the library transformers reads it as false only in layers
 * with a window. c: the windows were read. */
int aoei_llama_check_causal(const aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Returns the value of layer_types, which the caller owns, or NULL if memory allocation fails. */
json_t *aoei_llama_layer_types_json(const aoei_encoder_config *c);
/* Add the common keys, or all keys of Qwen2, to config. Return 0 or AOE_ENOMEM. */
int aoei_llama_write_common(const aoei_encoder_config *c, json_t *config);
int aoei_llama_write_qwen2(const aoei_encoder_config *c, json_t *config);
/* Writes the tensor name of a weight (aoei_arch.name). */
void aoei_llama_name(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer);
/* Returns the maximum length of a text in tokens. If the rotary positions have linear or dynamic scaling, it is
 * multiplied by the factor of the scaling. */
size_t aoei_llama_max_length(const aoei_encoder_config *c);
/* Reads rope_theta and rope_scaling into c->rope. In files of newer versions of transformers, rope_parameters contains
 * both. c->positions must already be set. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED. */
int aoei_llama_read_rope(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Returns the value of the key rope_scaling, which is JSON null without scaling. The caller owns the value. Returns
 * NULL if memory allocation fails. */
json_t *aoei_llama_scaling_json(const aoei_rope *r);
