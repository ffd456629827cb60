/* SPDX-License-Identifier: MIT
 * Normalizers and pre-tokenizers of tokenizer classes. Most tokenizer classes of the library transformers (version 5)
 * build both components from the settings in tokenizer_config.json and ignore those in tokenizer.json.
 * docs/tokenizers.md lists the classes.
 */
#pragma once

#include <jansson.h>

#include "aoe.h"

/* Returns 1 if the class `name` builds its normalizer and its pre-tokenizer. name may be NULL. */
int aoei_class_parts_known(const char *name);
/* Replaces the normalizer and the pre-tokenizer of `root`, the parsed tokenizer.json, by those that the class `name`
 * builds from `config`, the parsed tokenizer_config.json. If the class uses tokenizer.json unchanged, does nothing.
 * file: path of tokenizer_config.json for messages. Errors: AOE_EFORMAT, AOE_EUNSUPPORTED if the section "model" has
 * another type than the model of the class, AOE_ENOMEM. */
int aoei_class_parts_set(json_t *root, const char *name, const json_t *config, const char *file, aoe_error *err);
