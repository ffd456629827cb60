/* SPDX-License-Identifier: MIT
 * Manages the lock, the settings (experiment.json) and the results (results.jsonl) of an experiment directory.
 */
#include "experiment/directory.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_decode.h"
#include "base/lock.h"
#include "base/path.h"
#include "experiment/describe.h"

/* ---- lock */

static int lock_directory(aoei_lock *lock, const char *dir, void (*waiting)(void *user), void *user, aoe_error *err) {
    enum { TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 100000000};
    int code = aoei_lock_dir(lock, dir, err);
    for (int i = 0; code == AOE_EEXIST && i < TRIES; i++) {
        if (i == 0)
            waiting(user);
        nanosleep(&pause, NULL);
        code = aoei_lock_dir(lock, dir, err);
    }
    return code;
}

/* ---- settings */

static json_t *describe_files(const aoe_experiment_options *o) {
    json_t *files = json_array();
    int bad = !files;
    for (size_t i = 0; i < o->n_files && !bad; i++)
        bad = json_array_append_new(files, aoei_describe_file(&o->files[i]));
    if (!bad)
        return files;
    json_decref(files);
    return NULL;
}

/* Returns the names of the options that a grid varies, as a JSON array. The names are the keys of the JSON object
 * o->configurations[0].values. If `values` is NULL, the array is empty. Returns NULL if out of memory. */
static json_t *describe_varied(const aoe_experiment_options *o) {
    const char *values = o->configurations[0].values, *name;
    json_error_t error;
    int no_memory = 0;
    json_t *object = values ? aoei_json_decode(values, strlen(values), 0, &error, &no_memory) : NULL,
           *names = json_array();
    const json_t *value;
    int bad = no_memory || !names;
    json_object_foreach(object, name, value) bad = bad || json_array_append_new(names, json_string(name));
    json_decref(object);
    if (!bad)
        return names;
    json_decref(names);
    return NULL;
}

static json_t *settings_of(const char *kind, const aoe_experiment_options *o) {
    json_t *s = json_object();
    int bad = !s;
    bad |= json_object_set_new(s, "experiment", json_string(kind));
    bad |= json_object_set_new(s, "aoe", json_string(aoe_version()));
    bad |= json_object_set_new(s, "varied", describe_varied(o));
    bad |= json_object_set_new(s, "evaluation_files", describe_files(o));
    bad |= json_object_set_new(s, "dev", aoei_describe_file(o->dev));
    bad |= json_object_set_new(s, "options", o->shared ? aoei_describe_options(o->shared) : json_null());
    if (!bad)
        return s;
    json_decref(s);
    return NULL;
}

static int compare_settings(const char *output, const json_t *before, const json_t *now, aoe_error *err) {
    static const struct {
        const char *key, *description;
    } compared[] = {{"experiment", "another kind of experiment"},
                    {"varied", "other varied options"},
                    {"evaluation_files", "other evaluation files"},
                    {"dev", "another dev set"}};
    char difference[600];
    if (!json_object_get(before, "options"))
        return aoei_fail(err, AOE_EARG,
                         "%s contains runs of an earlier version of aoe, whose options cannot be compared; use another "
                         "options.output",
                         output);
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
        const json_t *was = json_object_get(before, compared[i].key), *is = json_object_get(now, compared[i].key);
        if (was && json_equal(was, is))
            continue;
        char *old = was ? aoei_json_text(was, JSON_COMPACT) : NULL;
        char *new = aoei_json_text(is, JSON_COMPACT);
        const int code = aoei_fail(
            err, AOE_EARG,
            "%s contains runs with %s (before: %.300s; now: %.300s); restore the earlier setting, or use another "
            "options.output",
            output, compared[i].description, old ? old : "none", new ? new : "others");
        aoei_free(old);
        aoei_free(new);
        return code;
    }
    const int differs = aoei_describe_difference(json_object_get(before, "options"), json_object_get(now, "options"),
                                                 difference, sizeof difference);
    if (differs < 0)
        return aoei_fail_nomem(err, 0);
    if (differs)
        return aoei_fail(err, AOE_EARG,
                         "%s contains runs with other training options: %s; use the same options, or another "
                         "options.output",
                         output, difference);
    return 0;
}

static int is_empty_dir(const char *dir) {
    char **names;
    size_t n;
    if (aoei_list_dir(&names, &n, dir, NULL))
        return 0;
    aoei_list_free(names, n);
    return n == 0;
}

/* If experiment.json exists, compares its settings with the current options. Otherwise, writes the current options to
 * it. path: path of experiment.json. */
static int open_settings(const char *path, const char *kind, const aoe_experiment_options *o, aoe_error *err) {
    json_t *before = NULL, *now = settings_of(kind, o);
    int code = now ? 0 : aoei_fail_nomem(err, 0);
    if (!code && aoei_exists(path)) {
        code = aoei_json_load(&before, path, err);
        if (!code)
            code = compare_settings(o->output, before, now, err);
    } else if (!code && !is_empty_dir(o->output)) {
        code =
            aoei_fail(err, AOE_EEXIST,
                      "%s is not the directory of an experiment; use a new or empty one as options.output", o->output);
    }
    if (!code && !before)
        code = aoei_json_save(now, path, err);
    json_decref(before);
    json_decref(now);
    return code;
}

/* Fails if another process runs a part of another division, or, without options.parts, any part, and does not end while
 * this function waits. */
static int check_parts(const char *parts, const aoe_experiment_options *o, void (*waiting)(void *user), void *user,
                       aoe_error *err) {
    char **names = NULL, own[48];
    size_t n = 0;
    if (!aoei_is_dir(parts))
        return 0;
    const int own_len = snprintf(own, sizeof own, "-of-%zu", o->parts);
    int code = aoei_list_dir(&names, &n, parts, err);
    for (size_t i = 0; i < n && !code; i++) {
        const char *division = strstr(names[i], "-of-");
        aoei_lock lock = {0};
        if (o->parts && division && strcmp(division, own) == 0 && own_len > 0)
            continue;
        char *path = aoei_path_join(parts, names[i]);
        code = path ? lock_directory(&lock, path, waiting, user, err) : aoei_fail_nomem(err, 0);
        aoei_unlock(&lock);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return code;
}

/* Replaces the lock of the experiment by the lock of the part. */
static int lock_part(aoei_lock *lock, const char *parts, const aoe_experiment_options *o, void (*waiting)(void *user),
                     void *user, aoe_error *err) {
    char name[64];
    aoei_lock part = {0};
    snprintf(name, sizeof name, "%zu-of-%zu", o->part, o->parts);
    char *path = aoei_path_join(parts, name);
    int code = path ? aoei_make_dir(path, err) : aoei_fail_nomem(err, 0);
    if (!code)
        code = lock_directory(&part, path, waiting, user, err);
    if (!code) {
        aoei_unlock(lock);
        *lock = part;
    }
    aoei_free(path);
    return code;
}

int aoei_directory_open(aoei_lock *lock, const char *kind, const aoe_experiment_options *o, void (*waiting)(void *user),
                        void *user, aoe_error *err) {
    char *path = aoei_path_join(o->output, "experiment.json"), *runs = aoei_path_join(o->output, "runs"),
         *parts = aoei_path_join(o->output, "parts");
    int code = path && runs && parts ? 0 : aoei_fail_nomem(err, 0);
    if (!code)
        code = aoei_make_dir(o->output, err);
    if (!code)
        code = lock_directory(lock, o->output, waiting, user, err);
    if (!code)
        code = open_settings(path, kind, o, err);
    if (!code)
        code = aoei_make_dir(runs, err);
    if (!code)
        code = check_parts(parts, o, waiting, user, err);
    if (!code && o->parts)
        code = lock_part(lock, parts, o, waiting, user, err);
    aoei_free(path);
    aoei_free(runs);
    aoei_free(parts);
    return code;
}

/* ---- results */

static int write_result(FILE *f, const json_t *record) {
    json_t *line = aoei_json_copy(record);
    json_object_del(line, "files");
    json_object_del(line, "options");
    json_object_del(line, "cpu");
    char *text = line ? aoei_json_text(line, JSON_COMPACT) : NULL;
    const int bad = !text;
    if (text)
        fprintf(f, "%s\n", text);
    json_decref(line);
    aoei_free(text);
    return bad;
}

int aoei_directory_write_results(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, aoe_error *err) {
    char *path = aoei_path_join(o->output, "results.jsonl");
    aoei_writer w = {0};
    int code = path ? aoei_writer_open(&w, path, err) : aoei_fail_nomem(err, 0);
    for (size_t i = 0; i < n && !code; i++)
        if (trial[i].record && write_result(w.file, trial[i].record))
            code = aoei_fail_nomem(err, 0);
    if (!code)
        code = aoei_writer_commit(&w, err);
    aoei_writer_abort(&w);
    aoei_free(path);
    return code;
}
