/* SPDX-License-Identifier: MIT
 * The list of the files of a model on the Hub, and the choice of the files that aoe needs.
 */
#pragma once

#include "base/hub_cache.h"
#include "hub/hub_access.h"

typedef struct aoei_hub_file {
    char *path;    /* path in the repository, owned; aoei_hub_safe_path */
    uint64_t size; /* bytes; 0 if the Hub does not tell */
    int wanted;    /* 1: the file is needed */
    int present;   /* 1: the file is in the snapshot */
} aoei_hub_file;

typedef struct aoei_hub_files {
    char commit[AOEI_HUB_COMMIT + 1];
    aoei_hub_file *file; /* [n] owned */
    size_t n;
} aoei_hub_files;

/* Requests the list of the files of a revision. The caller calls aoei_hub_files_free, even if the function fails.
 * Errors: see aoe_hub_pull. */
int aoei_hub_files_request(aoei_hub_files *f, aoei_hub_access *a, const aoei_hub_name *name, aoe_error *err);
/* Reads the list from the reply of the Hub. shown: name of the model for messages. The caller calls
 * aoei_hub_files_free, even if the function fails. Errors: AOE_EFORMAT (no list, or a path that is not safe),
 * AOE_ENOMEM. */
int aoei_hub_files_read(aoei_hub_files *f, const json_t *root, const char *shown, aoe_error *err);
void aoei_hub_files_free(aoei_hub_files *f); /* accepts a zeroed struct */
/* Returns the file DIR/NAME of the list, or NULL. dir: "" for the root of the repository. */
aoei_hub_file *aoei_hub_files_find(const aoei_hub_files *f, const char *dir, const char *name);
/* Returns the name of the i-th file that Python programs request from the root of a repository although it is optional,
 * or NULL if there are at most i such files. */
const char *aoei_hub_optional_file(size_t i);

/* Sets `wanted` for the configuration and tokenizer files in DIR, and for its index of weight files. */
void aoei_hub_want_configuration(aoei_hub_files *f, const char *dir);
/* Sets `wanted` for the weights in DIR: the first of model.safetensors, its shards, pytorch_model.bin and its shards;
 * for adapters, adapter_model.safetensors or adapter_model.bin. Shards are listed in the index, which must be in the
 * directory `snapshot`. Sets *found to 1 if DIR has weights. Errors: AOE_EFORMAT (invalid index), AOE_ENOENT (the list
 * lacks a shard), AOE_ENOMEM. */
int aoei_hub_want_weights(aoei_hub_files *f, const char *dir, const char *snapshot, int *found, aoe_error *err);
