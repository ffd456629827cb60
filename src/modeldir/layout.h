/* SPDX-License-Identifier: MIT
 * The file names of a model directory, and functions that classify a directory by these names.
 */
#ifndef AOEI_MODELDIR_LAYOUT_H
#define AOEI_MODELDIR_LAYOUT_H

#define AOEI_CONFIG_FILE  "config.json"
#define AOEI_WEIGHTS_FILE "model.safetensors"
#define AOEI_INDEX_FILE   "model.safetensors.index.json"
#define AOEI_PEFT_CONFIG  "adapter_config.json"
#define AOEI_PEFT_WEIGHTS "adapter_model.safetensors"

/* Returns 1 if DIR/name exists. */
int aoei_entry_exists(const char *dir, const char *name);
/* Returns 1 if DIR holds a model (config.json and weights) or adapters of a model. */
int aoei_is_model_dir(const char *dir);
/* Returns 1 if DIR holds adapter_config.json and no config.json. */
int aoei_is_adapter_dir(const char *dir);
/* Returns 1 if DIR contains weights or an index of weights. Without one of them, the directory is not a model. */
int aoei_has_weights(const char *dir);

/* Returns 1 for the names that aoei_has_weights checks. */
int aoei_is_weights_file(const char *name);
/* Returns 1 for the name of a file or folder that belongs to a model. */
int aoei_is_model_file(const char *name);
/* Returns 1 if `name` names a folder directly inside the model directory. */
int aoei_is_plain_folder(const char *name);

#endif
