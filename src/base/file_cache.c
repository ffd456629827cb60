/* SPDX-License-Identifier: MIT
 * A list of files, which is searched by path. A model has few text files, so no index is needed.
 */
#include "base/file_cache.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/git_lfs.h"
#include "base/json.h"
#include "base/path.h"

/* A file or a folder. */
typedef struct cached_file {
    struct cached_file *next;
    char *path;   /* owned */
    int is_read;  /* 1: `data` and `size` are set, if the file exists */
    char *data;   /* contents, owned; NULL: not read, taken, or the file does not exist */
    size_t size;  /* in bytes */
    json_t *root; /* parsed contents, owned; NULL: not parsed */
} cached_file;

struct aoei_file_cache {
    cached_file *first; /* owned */
    json_t *sources;    /* see aoei_sources; owned */
};

aoei_file_cache *aoei_file_cache_create(void) {
    aoei_file_cache *cache = aoei_calloc(1, sizeof *cache);
    if (cache && !(cache->sources = json_object())) {
        aoei_free(cache);
        return NULL;
    }
    return cache;
}

static void clear(cached_file *f) {
    json_decref(f->root);
    aoei_free(f->data);
    *f = (cached_file){.next = f->next, .path = f->path};
}

void aoei_file_cache_clear(aoei_file_cache *cache) {
    for (cached_file *f = cache->first; f; f = f->next)
        clear(f);
}

void aoei_file_cache_destroy(aoei_file_cache *cache) {
    for (cached_file *f = cache ? cache->first : NULL, *next; f; f = next) {
        next = f->next;
        clear(f);
        aoei_free(f->path);
        aoei_free(f);
    }
    if (cache)
        json_decref(cache->sources);
    aoei_free(cache);
}

/* Sets *out to the entry of the file or folder `name`, which is added if it is missing. */
static int find(cached_file **out, aoei_model_dir dir, const char *name, aoe_error *err) {
    char *path = aoei_path_join(dir.path, name);
    cached_file *f = path ? dir.cache->first : NULL;
    while (f && strcmp(f->path, path) != 0)
        f = f->next;
    if (!f && path && (f = aoei_calloc(1, sizeof *f))) {
        *f = (cached_file){.next = dir.cache->first, .path = path};
        dir.cache->first = f;
        path = NULL;
    }
    aoei_free(path);
    *out = f;
    return f ? 0 : aoei_fail_nomem(err, strlen(dir.path));
}

/* Reads the file, unless this was done before. */
static int read_contents(cached_file *f, aoe_error *err) {
    if (f->is_read)
        return 0;
    int rc = aoei_check_optional_file(f->path, err);
    if (!rc && aoei_exists(f->path))
        rc = aoei_read_regular(&f->data, &f->size, f->path, 0, err);
    if (!rc && f->data)
        rc = aoei_git_lfs_check(f->data, f->size, f->path, err);
    f->is_read = !rc;
    if (rc)
        clear(f);
    return rc;
}

int aoei_model_dir_folder(aoei_model_dir *sub, aoei_model_dir dir, const char *folder, aoe_error *err) {
    cached_file *f;
    *sub = dir;
    if (!*folder)
        return 0;
    const int rc = find(&f, dir, folder, err);
    if (!rc)
        sub->path = f->path;
    return rc;
}

int aoei_model_dir_json(json_t **root, const char **path, aoei_model_dir dir, const char *name, aoe_error *err) {
    cached_file *f;
    int rc = find(&f, dir, name, err);
    if (!rc && !f->root)
        rc = read_contents(f, err);
    if (!rc && !f->root && f->data)
        rc = aoei_json_parse(&f->root, f->data, f->size, f->path, err);
    *root = rc ? NULL : f->root;
    if (path)
        *path = f ? f->path : NULL;
    return rc;
}

int aoei_model_dir_need_json(json_t **root, const char **path, aoei_model_dir dir, const char *name, aoe_error *err) {
    const char *at;
    const int rc = aoei_model_dir_json(root, &at, dir, name, err);
    if (path)
        *path = at;
    return rc || *root ? rc : aoei_fail_errno(err, ENOENT, "cannot open %s", at);
}

int aoei_model_dir_text(aoe_text *text, const char **path, aoei_model_dir dir, const char *name, aoe_error *err) {
    cached_file *f;
    int rc = find(&f, dir, name, err);
    if (!rc)
        rc = read_contents(f, err);
    *text = rc ? (aoe_text){NULL, 0} : (aoe_text){f->data, f->size};
    *path = f ? f->path : NULL;
    return rc;
}

int aoei_model_dir_take(char **data, size_t *size, aoei_model_dir dir, const char *name, aoe_error *err) {
    cached_file *f;
    int rc = find(&f, dir, name, err);
    *data = NULL;
    *size = 0;
    if (rc || (rc = read_contents(f, err)))
        return rc;
    *data = f->data;
    *size = f->size;
    f->data = NULL;
    f->is_read = 0;
    return 0;
}

int aoei_source_add(aoei_file_cache *cache, const char *setting, const json_t *file, const char *path, const char *key,
                    aoe_error *err) {
    json_t *value = json_object_get(file, key);
    if (json_object_get(cache->sources, setting))
        return 0;
    json_t *source = json_pack("{s:o, s:s}", "file", aoei_name_json(path), "key", key);
    if (!source || (value && json_object_set(source, "value", value))) {
        json_decref(source);
        return aoei_fail_nomem(err, 0);
    }
    return json_object_set_new(cache->sources, setting, source) ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_source_replace(aoei_file_cache *cache, const char *setting, const json_t *file, const char *path,
                        const char *key, aoe_error *err) {
    (void)json_object_del(cache->sources, setting);
    return aoei_source_add(cache, setting, file, path, key, err);
}

int aoei_source_add_keys(aoei_file_cache *cache, const char *prefix, const json_t *file, const char *path,
                         aoe_error *err) {
    const char *key;
    json_t *v;
    int rc = 0;
    json_object_foreach((json_t *)(uintptr_t)file, key, v) {
        char setting[512];
        const int len = snprintf(setting, sizeof setting, "%s.%s", prefix, key);
        if (!rc && !json_is_null(v) && len < (int)sizeof setting) /* no setting of aoe has such a long name */
            rc = aoei_source_add(cache, setting, file, path, key, err);
    }
    return rc;
}

const json_t *aoei_sources(const aoei_file_cache *cache) {
    return cache->sources;
}
