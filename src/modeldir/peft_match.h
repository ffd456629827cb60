/* SPDX-License-Identifier: MIT
 * Decides which modules of a model have a LoRA adapter, and its rank and alpha, by the rules of PEFT
 * (check_target_module_exists in peft/tuners/tuners_utils.py and get_pattern_key in peft/utils/other.py).
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "encoder/config.h"

/* Sets *out to the rank and alpha of the adapter of a module; out->r is 0 if the module has no adapter. On entry, *out
 * contains the rank and alpha that adapter_config.json gives for all modules. root: parsed adapter_config.json, whose
 * keys target_modules, exclude_modules, modules_to_save, layers_to_transform, layers_pattern, rank_pattern and
 * alpha_pattern are used. key: name of the module in the model that was adapted, such as
 * "encoder.layer.0.attention.self.query". layer: number of its layer. file: path for messages. Errors: AOE_EFORMAT,
 * AOE_ENOMEM. */
int aoei_peft_match(aoei_lora_layer *out, const json_t *root, const char *key, size_t layer, const char *file,
                    aoe_error *err);
