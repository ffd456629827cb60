/* SPDX-License-Identifier: MIT
 * Recognizes file names, and checks whether files exist. No file is opened.
 */
#include "modeldir/layout.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"

const char *const aoei_license_files[AOEI_LICENSE_FILES] = {AOEI_LICENSE, AOEI_NOTICE};

/* Files of the weights of a model, followed by files of the weights of adapters. */
static const char *const weights_files[] = {AOEI_WEIGHTS_FILE, AOEI_INDEX_FILE,   AOEI_TORCH_FILE,
                                            AOEI_TORCH_INDEX,  AOEI_PEFT_WEIGHTS, AOEI_PEFT_TORCH};
enum { MODEL_FILES = 4, WEIGHTS_FILES = sizeof weights_files / sizeof *weights_files };

int aoei_entry_exists(const char *dir, const char *name) {
    char path[PATH_MAX]; /* a longer path cannot be opened, so 0 is returned for it */
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && aoei_exists(path);
}

int aoei_is_adapter_dir(const char *dir) {
    return aoei_entry_exists(dir, AOEI_PEFT_CONFIG) && !aoei_entry_exists(dir, AOEI_CONFIG_FILE);
}

/* Returns 1 if DIR contains one of the files weights_files[first] to weights_files[end - 1]. */
static int has_one_of(const char *dir, size_t first, size_t end) {
    for (size_t i = first; i < end; i++)
        if (aoei_entry_exists(dir, weights_files[i]))
            return 1;
    return 0;
}

int aoei_is_model_dir(const char *dir) {
    return (aoei_entry_exists(dir, AOEI_CONFIG_FILE) && has_one_of(dir, 0, MODEL_FILES)) ||
           (aoei_is_adapter_dir(dir) && has_one_of(dir, MODEL_FILES, WEIGHTS_FILES));
}

int aoei_is_weights_file(const char *name) {
    for (size_t i = 0; i < WEIGHTS_FILES; i++)
        if (!strcmp(name, weights_files[i]))
            return 1;
    return 0;
}

int aoei_has_weights(const char *dir) {
    return has_one_of(dir, 0, WEIGHTS_FILES);
}

static int ends_with(const char *name, const char *tail) {
    const size_t len = strlen(name), n = strlen(tail);
    return len > n && !strcmp(name + len - n, tail);
}

/* Returns 1 if `name` is the folder name of a module, such as "2_Dense". */
static int is_module_folder(const char *name) {
    static const char *const kinds[] = {
        "Pooling", "Dense", "LayerNorm", "Dropout",       "Normalize", "StaticEmbedding", "WeightedLayerPooling",
        "Flow",    "CNN",   "LSTM",      "WordEmbeddings"};
    const char *p = name;
    while (isdigit((unsigned char)*p))
        p++;
    if (p == name || *p != '_')
        return 0;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(p + 1, kinds[i]))
            return 1;
    return 0;
}

/* Returns 1 if `name` is the name of a shard, such as "model-00001-of-00002.safetensors" or
 * "pytorch_model-00001-of-00002.bin".
 */
static int is_shard(const char *name) {
    return strstr(name, "-of-") && ((!strncmp(name, "model-", 6) && ends_with(name, ".safetensors")) ||
                                    (!strncmp(name, "pytorch_model-", 14) && ends_with(name, ".bin")));
}

int aoei_is_model_file(const char *name) {
    static const char *const names[] = {AOEI_CONFIG_FILE,
                                        AOEI_PEFT_CONFIG,
                                        "aoe.json",
                                        "modules.json",
                                        "config_sentence_transformers.json",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "vocab.txt",
                                        "vocab.json",
                                        "merges.txt",
                                        "chat_template.jinja",
                                        "README.md",
                                        AOEI_LICENSE,
                                        AOEI_NOTICE};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i]))
            return 1;
    const int is_length_file = !strncmp(name, "sentence_", 9) && ends_with(name, "_config.json");
    return is_length_file || aoei_is_weights_file(name) || is_shard(name) || is_module_folder(name);
}

int aoei_is_plain_folder(const char *name) {
    return *name && !strchr(name, '/') && !strchr(name, '\\') && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}
