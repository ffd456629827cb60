/* SPDX-License-Identifier: MIT
 * Reads the response of the Hub's API, and chooses files by their names. A path of the response that is not safe is an
 * error, so that no file is ever written outside the cache.
 */
#include "hub/hub_files.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "modeldir/transformer_module.h"

#define MAX_FILES 100000 /* maximum number of files of a repository */

static const char *const configuration[] = {
    "config.json",
    "cnn_config.json",
    "lstm_config.json",
    "wordembedding_config.json",
    "whitespacetokenizer_config.json",
    "modules.json",
    "config_sentence_transformers.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "adapter_config.json",
    "aoe.json",
    "LICENSE",
    "LICENSE.txt",
    "LICENSE.md",
    "NOTICE",
    "README.md",
};
static const char *const vocabularies[] = {"vocab.txt", "vocab.json", "merges.txt"};
/* Files of weights in the order of preference. If a name ends in .json, it is an index of shards. */
static const char *const weights[] = {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                                      "pytorch_model.bin.index.json"};
/* Files that transformers, peft and sentence-transformers request although they are optional. */
static const char *const optional[] = {
    "adapter_config.json",
    "added_tokens.json",
    "chat_template.jinja",
    "config_sentence_transformers.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "modules.json",
    "preprocessor_config.json",
    "processor_config.json",
    "sentence_bert_config.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "video_preprocessor_config.json",
};
static const char *const adapters[] = {"adapter_model.safetensors", "adapter_model.bin"};

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* -------------------------------------------------------------------- list */

static int add_file(aoei_hub_files *f, const json_t *entry, size_t i, const char *shown, aoe_error *err) {
    const char *path = json_string_value(json_object_get(entry, "rfilename"));
    const json_t *size = json_object_get(entry, "size");
    if (!path || strlen(path) != json_string_length(json_object_get(entry, "rfilename")))
        return aoei_fail(err, AOE_EFORMAT, "%s: file %zu of the list has no name; try again later", shown, i + 1);
    if (!aoei_hub_safe_path(path))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the path '%s' of a file is not allowed, so nothing was downloaded; do not use this model",
                         shown, path);
    aoei_hub_file *file = &f->file[f->n];
    *file = (aoei_hub_file){.path = aoei_strdup(path)};
    if (!file->path)
        return aoei_fail_nomem(err, strlen(path));
    file->size = json_is_integer(size) && json_integer_value(size) > 0 ? (uint64_t)json_integer_value(size) : 0;
    f->n++;
    return 0;
}

int aoei_hub_files_read(aoei_hub_files *f, const json_t *root, const char *shown, aoe_error *err) {
    *f = (aoei_hub_files){0};
    const char *commit = json_string_value(json_object_get(root, "sha"));
    const json_t *list = json_object_get(root, "siblings");
    const size_t n = json_array_size(list);
    if (!commit || !aoei_is_hex(commit, AOEI_HUB_COMMIT) || !json_is_array(list) || n > MAX_FILES)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the response contains no commit (\"sha\") or no list of files (\"siblings\"); check HF_ENDPOINT",
            shown);
    memcpy(f->commit, commit, AOEI_HUB_COMMIT + 1);
    if (!(f->file = aoei_malloc_array(n + 1, sizeof *f->file)))
        return aoei_fail_nomem(err, n);
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        rc = add_file(f, json_array_get(list, i), i, shown, err);
    return rc;
}

int aoei_hub_files_request(aoei_hub_files *f, aoei_hub_access *a, const aoei_hub_name *name, aoe_error *err) {
    aoei_http_response r = {0};
    aoei_buffer url = {0};
    json_t *root = NULL;
    *f = (aoei_hub_files){0};
    (void)aoei_buffer_printf(&url, "%s/api/models/%s/revision/", a->endpoint, name->id);
    aoei_hub_escape(&url, name->revision, "");
    (void)aoei_buffer_printf(&url, "?blobs=true");
    const aoei_http_request q = {.url = url.data, .token = a->token, .stall_timeout = a->reply_timeout};
    int rc = url.failed ? aoei_fail_nomem(err, 0)
                        : aoei_fetch_send(a->fetch, a->http, &q, aoei_classify_json, NULL, &r, err);
    if (!rc && r.status != 200)
        rc = aoei_hub_fail_status(a, &r, name->id, name->revision, err);
    if (!rc)
        rc = aoei_http_json(&root, &r, err);
    if (!rc)
        rc = aoei_hub_files_read(f, root, name->id, err);
    json_decref(root);
    aoei_http_response_free(&r);
    aoei_buffer_free(&url);
    return rc;
}

void aoei_hub_files_free(aoei_hub_files *f) {
    for (size_t i = 0; i < f->n; i++)
        aoei_free(f->file[i].path);
    aoei_free(f->file);
    *f = (aoei_hub_files){0};
}

/* ------------------------------------------------------------------ choice */

aoei_hub_file *aoei_hub_files_find(const aoei_hub_files *f, const char *dir, const char *name) {
    const size_t len = strlen(dir);
    for (size_t i = 0; i < f->n; i++) {
        const char *path = f->file[i].path;
        if (len ? strncmp(path, dir, len) == 0 && path[len] == '/' && strcmp(path + len + 1, name) == 0
                : !strcmp(path, name))
            return &f->file[i];
    }
    return NULL;
}

const char *aoei_hub_optional_file(size_t i) {
    return i < COUNT(optional) ? optional[i] : NULL;
}

static aoei_hub_file *want(aoei_hub_files *f, const char *dir, const char *name) {
    aoei_hub_file *file = aoei_hub_files_find(f, dir, name);
    if (file)
        file->wanted = 1;
    return file;
}

/* Returns the first of names[n] that is a file in DIR, or NULL. */
static aoei_hub_file *first_of(const aoei_hub_files *f, const char *dir, const char *const *names, size_t n) {
    aoei_hub_file *file = NULL;
    for (size_t i = 0; i < n && !file; i++)
        file = aoei_hub_files_find(f, dir, names[i]);
    return file;
}

/* Returns the file of weights, or the index of the files of weights, in DIR, or NULL. */
static aoei_hub_file *find_weights(const aoei_hub_files *f, const char *dir) {
    if (aoei_hub_files_find(f, dir, "adapter_config.json"))
        return first_of(f, dir, adapters, COUNT(adapters));
    return first_of(f, dir, weights, COUNT(weights));
}

void aoei_hub_want_configuration(aoei_hub_files *f, const char *dir) {
    for (size_t i = 0; i < COUNT(configuration); i++)
        (void)want(f, dir, configuration[i]);
    for (size_t i = 0; aoei_transformer_files[i]; i++)
        (void)want(f, dir, aoei_transformer_files[i]);
    for (size_t i = 0; i < COUNT(vocabularies) && !aoei_hub_files_find(f, dir, "tokenizer.json"); i++)
        (void)want(f, dir, vocabularies[i]);
    aoei_hub_file *file = find_weights(f, dir);
    if (file && aoei_name_ends_with(file->path, ".json"))
        file->wanted = 1;
}

/* Sets `wanted` for the shards that an index lists. path: the downloaded index. */
static int want_shards(aoei_hub_files *f, const char *dir, const char *path, aoe_error *err) {
    json_t *root = NULL;
    const char *tensor;
    json_t *value;
    int rc = aoei_json_load(&root, path, err);
    json_t *map = json_object_get(root, "weight_map");
    if (!rc && !json_is_object(map))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: \"weight_map\" is missing; the model is damaged, choose another revision",
                       path);
    json_object_foreach(map, tensor, value) {
        const char *shard = json_string_value(value);
        if (rc)
            break;
        if (!shard || strchr(shard, '/') || !aoei_hub_safe_path(shard))
            rc = aoei_fail(err, AOE_EFORMAT,
                           "%s: the file of the tensor '%s' is not a plain name; do not use this model", path, tensor);
        else if (!want(f, dir, shard))
            rc = aoei_fail(err, AOE_ENOENT, "%s: the repository does not contain the file %s; choose another revision",
                           path, shard);
    }
    json_decref(root);
    return rc;
}

int aoei_hub_want_weights(aoei_hub_files *f, const char *dir, const char *snapshot, int *found, aoe_error *err) {
    aoei_hub_file *file = find_weights(f, dir);
    if (!file)
        return 0;
    *found = 1;
    file->wanted = 1;
    if (!aoei_name_ends_with(file->path, ".json"))
        return 0;
    char *path = aoei_path_join(snapshot, file->path);
    const int rc = path ? want_shards(f, dir, path, err) : aoei_fail_nomem(err, strlen(snapshot));
    aoei_free(path);
    return rc;
}
