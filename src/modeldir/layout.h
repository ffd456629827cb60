/* SPDX-License-Identifier: MIT
 * Defines the file names of a model directory. The functions determine from the file names in a directory whether the
 * directory contains a model or adapters.
 */
#pragma once

#define AOEI_WORDS_CONFIG "wordembedding_config.json" /* configuration of the module WordEmbeddings */
#define AOEI_CONFIG_FILE  "config.json"
#define AOEI_WEIGHTS_FILE "model.safetensors"
#define AOEI_INDEX_FILE   "model.safetensors.index.json"
#define AOEI_TORCH_FILE   "pytorch_model.bin"
#define AOEI_TORCH_INDEX  "pytorch_model.bin.index.json"
#define AOEI_LICENSE      "LICENSE"
#define AOEI_NOTICE       "NOTICE" /* attributions that belong to LICENSE, as in the Apache License 2.0 */
#define AOEI_PEFT_CONFIG  "adapter_config.json"
#define AOEI_PEFT_WEIGHTS "adapter_model.safetensors"
#define AOEI_PEFT_TORCH   "adapter_model.bin"

/* The files that are copied from a model to every model that is derived from it: AOEI_LICENSE and AOEI_NOTICE. */
enum { AOEI_LICENSE_FILES = 2 };
extern const char *const aoei_license_files[AOEI_LICENSE_FILES];

/* Returns 1 if DIR/name exists. */
int aoei_entry_exists(const char *dir, const char *name);
/* Returns 1 if DIR contains a model (config.json and weights), or adapters (adapter_config.json and weights). */
int aoei_is_model_dir(const char *dir);
/* Returns 1 if DIR contains adapter_config.json and no config.json. */
int aoei_is_adapter_dir(const char *dir);
/* Returns 1 if DIR contains a weight file (aoei_is_weights_file). A directory without a weight file is not a model. */
int aoei_has_weights(const char *dir);

/* Returns 1 if `name` is the name of a file of weights, or of an index of such files: one of the constants above. */
int aoei_is_weights_file(const char *name);
/* Returns 1 if `name` is the name of a file or folder that belongs to a model. */
int aoei_is_model_file(const char *name);
/* Returns 1 if `name` is a plain name without path separators and is not "." or "..". A folder with such a name is
 * always inside the model directory.
 */
int aoei_is_plain_folder(const char *name);
