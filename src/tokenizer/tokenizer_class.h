/* SPDX-License-Identifier: MIT
 * Names of tokenizer classes of the library transformers, and the selection of a class.
 */
#pragma once

#include <jansson.h>

/* Returns 1 if `written`, a value of "tokenizer_class", names the class `name`; in files, the suffix "Fast" may follow
 * the name. If `written` is NULL, returns 0. */
int aoei_tokenizer_class_is(const char *written, const char *name);
/* Returns the class that AutoTokenizer of transformers 5 selects for a directory with tokenizer.json, or
 * "TokenizersBackend", the class that uses tokenizer.json unchanged. written: "tokenizer_class" of
 * tokenizer_config.json, or NULL. model: the parsed config.json, or NULL. subword: the type of the model in
 * tokenizer.json, or NULL. byte_level: 1 if tokenizer.json contains the string "ByteLevel". The result can be a string
 * of `model` or `written` itself. One case differs from transformers: if a Qwen2 model has another vocabulary than BPE
 * (as `aoe init` writes it), transformers reads it as BPE anyway, and this function returns the written class. */
const char *aoei_tokenizer_class_select(const char *written, const json_t *model, const char *subword, int byte_level);
