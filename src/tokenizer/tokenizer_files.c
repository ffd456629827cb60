/* SPDX-License-Identifier: MIT
 * Finds and reads the tokenizer files of a directory, keeps their contents in memory, and writes copies of the files.
 */
#include "tokenizer/tokenizer_files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/error.h"
#include "base/file.h"
#include "base/git_lfs.h"
#include "base/json.h"
#include "base/json_keys.h"
#include "base/model_path.h"
#include "base/path.h"
#include "tokenizer/chat_encode.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/pretokenizer_read.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/tokenizer_parts.h"

static aoe_text text_of(const aoei_kept_file *f) {
    return (aoe_text){f->data, f->size};
}

/* Sets *model to the parsed config.json in `dir`, as a new reference. A directory with adapters may have no
 * config.json; *model is then an empty object. NULL: the directory does not contain a model. */
static int load_model_config(json_t **model, aoei_model_dir dir, aoe_error *err) {
    char *adapters = aoei_path_join(dir.path, "adapter_config.json");
    int rc =
        adapters ? aoei_model_dir_json(model, NULL, dir, "config.json", err) : aoei_fail_nomem(err, strlen(dir.path));
    if (!rc && !json_incref(*model) && aoei_exists(adapters) && !(*model = json_object()))
        rc = aoei_fail_nomem(err, 0);
    aoei_free(adapters);
    return rc;
}

/* Reads tokenizer.json and the files that change its settings from their contents in memory. */
static int read_kept_json(aoe_tokenizer *t, aoei_model_dir dir, aoe_error *err) {
    static const int files[] = {AOEI_FILE_TOKENIZER_JSON, AOEI_FILE_CONFIG, AOEI_FILE_SPECIAL_MAP,
                                AOEI_FILE_ADDED_TOKENS};
    const aoei_kept_file *json = &t->file[AOEI_FILE_TOKENIZER_JSON];
    json_t *model = NULL;
    char *path[4];
    for (size_t i = 0; i < 4; i++)
        path[i] = aoei_path_join(dir.path, aoei_tokenizer_file_name(files[i]));
    int rc = path[0] && path[1] && path[2] && path[3] ? load_model_config(&model, dir, err)
                                                      : aoei_fail_nomem(err, strlen(dir.path));
    if (!rc)
        rc = aoei_tokenizer_read_json(t, json->data, json->size, model,
                                      &(aoei_json_paths){path[0], path[1], path[2], path[3]}, err);
    json_decref(model);
    for (size_t i = 0; i < 4; i++)
        aoei_free(path[i]);
    return rc;
}

/* Reads a vocabulary of words from its contents in memory. */
static int read_kept_words(aoe_tokenizer *t, const char *dir, aoe_error *err) {
    const aoei_kept_file *file = &t->file[AOEI_FILE_WORDS];
    char *path = aoei_path_join(dir, AOEI_WORDS_FILE);
    t->model.type = AOEI_SUBWORD_WORDS;
    const int rc = path ? aoei_word_lookup_read(&t->model.words, file->data, file->size, path, err)
                        : aoei_fail_nomem(err, strlen(dir));
    aoei_free(path);
    return rc;
}

/* Reads the tokenizer from the contents of the files in memory. Uses tokenizer.json if it exists, otherwise the
 * vocabulary files, and otherwise the vocabulary of words. */
static int read_kept(aoe_tokenizer *t, aoei_model_dir dir, aoe_error *err) {
    const aoei_kept_file *json = &t->file[AOEI_FILE_TOKENIZER_JSON];
    if (json->data)
        return read_kept_json(t, dir, err);
    if (t->file[AOEI_FILE_WORDS].data && !t->file[AOEI_FILE_VOCAB_TXT].data && !t->file[AOEI_FILE_VOCAB_JSON].data)
        return read_kept_words(t, dir.path, err);
    aoei_vocab_files files = {.vocab = text_of(&t->file[AOEI_FILE_VOCAB_TXT]),
                              .config = text_of(&t->file[AOEI_FILE_CONFIG]),
                              .special_map = text_of(&t->file[AOEI_FILE_SPECIAL_MAP]),
                              .added_tokens = text_of(&t->file[AOEI_FILE_ADDED_TOKENS]),
                              .vocab_json = text_of(&t->file[AOEI_FILE_VOCAB_JSON]),
                              .merges = text_of(&t->file[AOEI_FILE_MERGES])};
    return aoei_tokenizer_read_vocab(t, &files, dir.path, err);
}

/* Returns an error if the directory contains a tokenizer in an unsupported format, and 0 otherwise. */
static int reject_other(const char *dir, aoe_error *err) {
    static const char *const others[] = {"tokenizer.model", "sentencepiece.bpe.model", "sentencepiece.model",
                                         "spiece.model", "spm.model"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        char *path = aoei_path_join(dir, others[i]);
        if (!path)
            return aoei_fail_nomem(err, strlen(dir));
        int rc =
            aoei_exists(path)
                ? aoei_fail(err, AOE_EUNSUPPORTED,
                            "%s: this tokenizer format is not supported; save the tokenizer as tokenizer.json", path)
                : 0;
        aoei_free(path);
        if (rc)
            return rc;
    }
    return 0;
}

/* Checks the settings of the tokenizer that have a value which aoe does not support. Unknown keys are reported when a
 * model is opened (modeldir/model_keys.h), because this function has no log. */
static int check_settings(aoei_model_dir dir, aoe_error *err) {
    static const struct {
        int file;
        aoei_key_file kind;
    } files[] = {{AOEI_FILE_CONFIG, AOEI_KEYS_TOKENIZER}, {AOEI_FILE_SPECIAL_MAP, AOEI_KEYS_SPECIAL_TOKENS}};
    const aoei_log silent = {0};
    int rc = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files && !rc; i++) {
        json_t *root;
        const char *path;
        rc = aoei_model_dir_json(&root, &path, dir, aoei_tokenizer_file_name(files[i].file), err);
        if (!rc && json_is_object(root))
            rc = aoei_json_keys_check(root, files[i].kind, NULL, path, &silent, err);
    }
    return rc;
}

/* Reads all tokenizer files in `dir` into the cache. Sets *found to 1 if one of them contains a vocabulary. */
static int read_files(int *found, aoei_model_dir dir, aoe_error *err) {
    int rc = 0;
    *found = 0;
    for (int i = 0; i < AOEI_FILE_COUNT && !rc; i++) {
        aoe_text text;
        const char *path;
        rc = aoei_model_dir_text(&text, &path, dir, aoei_tokenizer_file_name(i), err);
        *found |= text.data && (i == AOEI_FILE_TOKENIZER_JSON || i == AOEI_FILE_VOCAB_TXT ||
                                i == AOEI_FILE_VOCAB_JSON || i == AOEI_FILE_WORDS);
    }
    return rc;
}

/* Moves the contents of a file to *f and records the file as the source of the settings with its name. */
static int take_file(aoei_kept_file *f, aoei_model_dir dir, const char *name, aoe_error *err) {
    aoe_text text;
    const char *path;
    int rc = aoei_model_dir_text(&text, &path, dir, name, err);
    if (!rc && text.data)
        rc = aoei_source_add(dir.cache, name, NULL, path, "", err);
    return rc ? rc : aoei_model_dir_take(&f->data, &f->size, dir, name, err);
}

int aoei_tokenizer_open_optional(aoe_tokenizer **out, aoei_model_dir dir, aoe_error *err) {
    int found, rc = aoei_check_model_dir(dir.path, err);
    *out = NULL;
    if (rc || (rc = read_files(&found, dir, err)))
        return rc;
    if (!found)
        return reject_other(dir.path, err); /* a directory without a tokenizer is not an error */
    if ((rc = check_settings(dir, err)))
        return rc;
    aoe_tokenizer *t = aoei_calloc(1, sizeof *t);
    if (!t)
        return aoei_fail_nomem(err, sizeof *t);
    for (int i = 0; i < AOEI_FILE_COUNT && !rc; i++)
        rc = take_file(&t->file[i], dir, aoei_tokenizer_file_name(i), err);
    if (!rc)
        rc = read_kept(t, dir, err);
    if (rc)
        aoe_tokenizer_close(t);
    else
        *out = t;
    return rc;
}

void aoei_tokenizer_warn(const aoe_tokenizer *t, const char *dir, const aoei_log *log) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tokenizer.json", dir);
    aoei_json_keys_warn(&t->unknown, path, log);
}

static int keep_copy(aoei_kept_file *f, aoe_text text, aoe_error *err) {
    if (!text.data)
        return 0;
    f->data = aoei_strndup(text.data, text.len);
    f->size = text.len;
    return f->data ? 0 : aoei_fail_nomem(err, text.len);
}

int aoei_tokenizer_parse_json(aoe_tokenizer **out, const char *data, size_t len, aoe_text config, const char *name,
                              aoe_error *err) {
    *out = NULL;
    aoe_tokenizer *t = aoei_calloc(1, sizeof *t);
    if (!t)
        return aoei_fail_nomem(err, sizeof *t);
    int rc = keep_copy(&t->file[AOEI_FILE_TOKENIZER_JSON], (aoe_text){data, len}, err);
    if (rc == 0)
        rc = keep_copy(&t->file[AOEI_FILE_CONFIG], config, err);
    if (rc == 0)
        rc = aoei_tokenizer_read_json(t, data, len, NULL, &(aoei_json_paths){name, name, name, name}, err);
    if (rc)
        aoe_tokenizer_close(t);
    else
        *out = t;
    return rc;
}

int aoei_tokenizer_parse_vocab(aoe_tokenizer **out, const aoei_vocab_files *files, const char *dir, aoe_error *err) {
    *out = NULL;
    aoe_tokenizer *t = aoei_calloc(1, sizeof *t);
    if (!t)
        return aoei_fail_nomem(err, sizeof *t);
    int rc;
    if ((rc = keep_copy(&t->file[AOEI_FILE_VOCAB_TXT], files->vocab, err)) ||
        (rc = keep_copy(&t->file[AOEI_FILE_CONFIG], files->config, err)) ||
        (rc = keep_copy(&t->file[AOEI_FILE_SPECIAL_MAP], files->special_map, err)) ||
        (rc = keep_copy(&t->file[AOEI_FILE_ADDED_TOKENS], files->added_tokens, err)) ||
        (rc = keep_copy(&t->file[AOEI_FILE_VOCAB_JSON], files->vocab_json, err)) ||
        (rc = keep_copy(&t->file[AOEI_FILE_MERGES], files->merges, err)) ||
        (rc = aoei_tokenizer_read_vocab(t, files, dir, err)))
        aoe_tokenizer_close(t);
    else
        *out = t;
    return rc;
}

int aoei_tokenizer_from_files(aoe_tokenizer **out, const aoei_kept_file file[AOEI_FILE_COUNT], const char *dir,
                              aoe_error *err) {
    *out = NULL;
    aoe_tokenizer *t = aoei_calloc(1, sizeof *t);
    for (int i = 0; i < AOEI_FILE_COUNT; i++)
        if (t)
            t->file[i] = file[i];
        else
            aoei_free(file[i].data);
    aoei_model_dir source = {dir, aoei_file_cache_create()};
    const int rc = t && source.cache ? read_kept(t, source, err) : aoei_fail_nomem(err, sizeof *t);
    aoei_file_cache_destroy(source.cache);
    if (rc)
        aoe_tokenizer_close(t);
    else
        *out = t;
    return rc;
}

int aoei_tokenizer_save(const aoe_tokenizer *t, const char *dir, aoe_error *err) {
    for (int i = 0; i < AOEI_FILE_COUNT; i++) {
        if (!t->file[i].data)
            continue;
        char *path = aoei_path_join(dir, aoei_tokenizer_file_name(i));
        if (!path)
            return aoei_fail_nomem(err, strlen(dir));
        int rc = aoei_write_file(path, t->file[i].data, t->file[i].size, err);
        aoei_free(path);
        if (rc)
            return rc;
    }
    return 0;
}

void aoe_tokenizer_close(aoe_tokenizer *t) {
    if (!t)
        return;
    aoei_chat_free(t->chat);
    aoei_chat_ends_free(t->chat_ends);
    aoei_free(t->lowercased.step);
    aoei_normalizer_free(&t->normalizer);
    aoei_added_tokens_free(&t->added);
    aoei_pretokenizer_free(&t->pretokenizer);
    aoei_subword_free(&t->model);
    aoei_postprocessor_free(&t->post);
    aoei_token_decoder_free(&t->decoder);
    for (int i = 0; i < AOEI_FILE_COUNT; i++)
        aoei_free(t->file[i].data);
    aoei_free(t);
}
