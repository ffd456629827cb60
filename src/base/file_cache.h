/* SPDX-License-Identifier: MIT
 * The text files of a model while it is opened. Several functions read the same file, such as modules.json. They read
 * it through a cache, which opens and parses each file at most once. A model can consist of several directories (an
 * adapter directory, the base model directory, and the folders of modules), which share one cache.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "aoe.h"

/* The files that were read. The cache owns all paths, contents and JSON values that the functions below return. */
typedef struct aoei_file_cache aoei_file_cache;

/* A directory of a model. The struct is passed by value. */
typedef struct aoei_model_dir {
    const char *path;       /* borrowed */
    aoei_file_cache *cache; /* borrowed */
} aoei_model_dir;

aoei_file_cache *aoei_file_cache_create(void); /* returns NULL if out of memory */
/* Releases the contents of all files, but not their paths and the sources of settings. A file that is used again is
 * read again. */
void aoei_file_cache_clear(aoei_file_cache *cache);
void aoei_file_cache_destroy(aoei_file_cache *cache); /* accepts NULL */

/* Sets *sub to the folder `folder` in `dir`, or to `dir` if folder is "". The path is valid until the cache is
 * destroyed. Errors: AOE_ENOMEM. */
int aoei_model_dir_folder(aoei_model_dir *sub, aoei_model_dir dir, const char *folder, aoe_error *err);
/* Parses the file `name` in `dir`. If the file does not exist, sets *root to NULL and returns 0. *root is valid until
 * the cache is cleared; it must not be modified. If path is not NULL, *path is set to the path of the file, also if the
 * function fails, except if it runs out of memory; the path is valid until the cache is destroyed. Errors: see
 * aoei_json_load_optional. */
int aoei_model_dir_json(json_t **root, const char **path, aoei_model_dir dir, const char *name, aoe_error *err);
/* Like aoei_model_dir_json, but a missing file is an error, AOE_ENOENT. */
int aoei_model_dir_need_json(json_t **root, const char **path, aoei_model_dir dir, const char *name, aoe_error *err);
/* Sets *text to the contents of the file `name` in `dir`, or to {NULL, 0} if the file does not exist, and *path to its
 * path. This is for large files, whose JSON values would need much memory. The text is valid until the cache is cleared
 * or the contents are moved. */
int aoei_model_dir_text(aoe_text *text, const char **path, aoei_model_dir dir, const char *name, aoe_error *err);
/* Records that the value of a setting is that of `key` in the file `path`, or, if path is NULL, that an option of the
 * caller sets it. A setting keeps its first source, because the sources are read in order of precedence. file: contents
 * of the file, an object; NULL: the value is not recorded. Errors: AOE_ENOMEM. */
int aoei_source_add(aoei_file_cache *cache, const char *setting, const json_t *file, const char *path, const char *key,
                    aoe_error *err);
/* Like aoei_source_add, but replaces the earlier source. */
int aoei_source_replace(aoei_file_cache *cache, const char *setting, const json_t *file, const char *path,
                        const char *key, aoe_error *err);
/* Records all keys of `file`, which may be NULL, except those whose values are null. The settings have the names
 * PREFIX.KEY. Keys with more than about 500 bytes, which no setting has, are left out. */
int aoei_source_add_keys(aoei_file_cache *cache, const char *prefix, const json_t *file, const char *path,
                         aoe_error *err);
/* Returns the sources: an object in which the value of each setting is an object with "file" (null: an option), "key"
 * and, if it was recorded, "value". */
const json_t *aoei_sources(const aoei_file_cache *cache);
/* Moves the contents of the file `name` in `dir` to *data and sets *size to their size in bytes. The byte after the
 * last one is NUL. If the file does not exist, *data is NULL. The caller frees *data with aoei_free. */
int aoei_model_dir_take(char **data, size_t *size, aoei_model_dir dir, const char *name, aoe_error *err);
