/* SPDX-License-Identifier: MIT
 * Implements trials: their creation, their records, and the files with the cosines of scored pairs.
 */
#include "experiment/trial.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/buffer.h"
#include "base/cpu.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/json_decode.h"
#include "base/path.h"
#include "experiment/describe.h"

enum { NAME_LENGTH = 100 /* maximum length of a directory name in bytes, without the hash */ };

/* ---- create */

/* Returns a directory name for `text` that every file system accepts; the caller frees it. Characters that are not safe
 * are replaced by '_', and a long name is truncated. In both cases a hash is appended, so that different texts have
 * different names. */
static char *directory_name(const char *text) {
    aoei_buffer name = {0};
    const size_t length = strlen(text);
    int changed = length > NAME_LENGTH;
    for (size_t i = 0; i < length && i < NAME_LENGTH; i++) {
        const char c = text[i];
        const int fits = isalnum((unsigned char)c) || (i ? strchr("-+=.,_", c) : strchr("-+=,", c));
        aoei_buffer_putc(&name, fits ? c : '_');
        changed |= !fits;
    }
    if (changed)
        aoei_buffer_printf(&name, "-%08x", (unsigned)aoei_hash(AOEI_HASH_START, text, length));
    if (name.failed)
        aoei_buffer_free(&name);
    return name.data;
}

static char *format_seed(const char *format, const char *name, uint64_t seed) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s%s%llu", name, format, (unsigned long long)seed);
    if (b.failed)
        aoei_buffer_free(&b);
    return b.data;
}

static int create_key(aoei_trial *t, aoe_error *err) {
    const aoe_configuration *c = t->configuration;
    json_error_t error;
    int no_memory = 0;
    json_t *value;
    if (t->by_file) {
        value = aoei_name_json(c->name);
    } else {
        value = c->values ? aoei_json_decode(c->values, strlen(c->values), 0, &error, &no_memory) : json_object();
        no_memory |= !c->values && !value;
        if (!no_memory && !json_is_object(value)) {
            json_decref(value);
            return aoei_fail(err, AOE_EARG, "options.values of the configuration %s is not a JSON object", c->name);
        }
    }
    t->key = json_object();
    json_t *seed = c->untrained ? json_null() : json_integer((json_int_t)t->seed);
    int bad = json_object_set_new(t->key, t->by_file ? "arm" : "point", value);
    bad |= json_object_set_new(t->key, "seed", seed);
    return bad ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_trial_create(aoei_trial *t, const aoe_configuration *c, uint64_t seed, int by_file, aoe_error *err) {
    const char *label = c->label ? c->label : c->name;
    *t = (aoei_trial){.configuration = c, .seed = seed, .by_file = by_file};
    if (c->untrained) {
        t->name = directory_name(c->name);
        t->label = aoei_strdup(label);
    } else {
        char *name = format_seed("_seed=", c->name, seed);
        t->name = name ? directory_name(name) : NULL;
        t->label = format_seed(", seed ", label, seed);
        aoei_free(name);
    }
    t->files = json_object();
    t->options = aoei_describe_options(&c->train);
    if (!t->name || !t->label || !t->files || !t->options)
        return aoei_fail_nomem(err, 0);
    return create_key(t, err);
}

void aoei_trial_free(aoei_trial *t) {
    aoei_free(t->name);
    aoei_free(t->label);
    json_decref(t->key);
    json_decref(t->options);
    json_decref(t->files);
    json_decref(t->record);
    *t = (aoei_trial){0};
}

char *aoei_trial_path(const aoe_experiment_options *o, const aoei_trial *t, const char *rest) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s/runs/%s%s%s", o->output, t->name, *rest ? "/" : "", rest);
    if (b.failed)
        aoei_buffer_free(&b);
    return b.data;
}

/* ---- scores and records */

size_t aoei_trial_scores(const aoe_experiment_options *o) {
    return o->n_files ? o->n_files : 1;
}

double aoei_trial_score(const aoe_experiment_options *o, const aoei_trial *t, size_t i) {
    const json_t *score = t->by_file ? json_object_get(json_object_get(t->record, "scores"), o->files[i].path)
                                     : json_object_get(t->record, "score");
    return json_is_number(score) ? json_number_value(score) : NAN;
}

static json_t *score_json(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *scores_by_file(const aoe_experiment_options *o, const double *score) {
    json_t *scores = json_object();
    int bad = !scores;
    for (size_t i = 0; i < o->n_files && !bad; i++)
        bad = json_object_set_new_nocheck(scores, o->files[i].path, score_json(score[i]));
    if (!bad)
        return scores;
    json_decref(scores);
    return NULL;
}

int aoei_trial_write_record(const aoe_experiment_options *o, const aoei_trial *t, const double *score,
                            int start_is_best, double seconds, aoe_error *err) {
    aoei_tier tier;
    const int unknown = aoei_cpu_tier(&tier, err);
    if (unknown)
        return unknown;
    json_t *record = aoei_json_copy(t->key);
    int bad = !record;
    if (t->by_file)
        bad = bad || json_object_set_new(record, "scores", scores_by_file(o, score));
    else
        bad = bad || json_object_set_new(record, "score", score_json(score[0]));
    if (start_is_best)
        bad = bad || json_object_set_new(record, "start_is_best", json_true());
    bad = bad || json_object_set_new(record, "seconds", json_real(seconds));
    bad = bad || json_object_set(record, "options", t->options);
    bad = bad || json_object_set(record, "files", t->files);
    bad = bad || json_object_set_new(record, "cpu", json_string(aoei_tier_name(tier)));
    char *text = bad ? NULL : aoei_json_text(record, JSON_COMPACT);
    char *path = text ? aoei_trial_path(o, t, "record.json") : NULL;
    const int code = path ? aoei_write_file(path, text, strlen(text), err) : aoei_fail_nomem(err, 0);
    aoei_free(path);
    aoei_free(text);
    json_decref(record);
    return code;
}

int aoei_trial_start_is_best(const aoei_trial *t) {
    return json_is_true(json_object_get(t->record, "start_is_best"));
}

static int check_record(const aoe_experiment_options *o, const aoei_trial *t, const json_t *record, const char *path,
                        aoe_error *err) {
    const char *name;
    const json_t *value;
    char difference[600];
    json_object_foreach(t->key, name, value) {
        if (!json_equal(value, json_object_get(record, name)))
            return aoei_fail(err, AOE_EFORMAT, "%s: this is the record of another run; remove the file", path);
    }
    if (!json_object_get(record, t->by_file ? "scores" : "score"))
        return aoei_fail(err, AOE_EFORMAT, "%s: the record has no score; remove the file", path);
    const int differs =
        aoei_describe_difference(json_object_get(record, "options"), t->options, difference, sizeof difference);
    if (differs < 0)
        return aoei_fail_nomem(err, 0);
    if (differs)
        return aoei_fail(err, AOE_EARG,
                         "%s contains a run of %s with other training options: %s; use the same options, or "
                         "another options.output",
                         o->output, t->label, difference);
    const json_t *files = json_object_get(record, "files");
    json_object_foreach(t->files, name, value) {
        if (!json_equal(value, json_object_get(files, name)))
            return aoei_fail(err, AOE_EARG,
                             "%s has changed since the runs in %s; restore it, or use another options.output", name,
                             o->output);
    }
    return 0;
}

int aoei_trial_read_record(const aoe_experiment_options *o, aoei_trial *t, aoe_error *err) {
    char *path = aoei_trial_path(o, t, "record.json");
    json_t *record = NULL;
    if (!path)
        return aoei_fail_nomem(err, 0);
    int code = 0;
    if (aoei_exists(path)) {
        code = aoei_json_load(&record, path, err);
        if (!code)
            code = check_record(o, t, record, path, err);
    }
    aoei_free(path);
    if (code) {
        json_decref(record);
        return code;
    }
    json_decref(t->record);
    t->record = record;
    return 0;
}

int aoei_trials_check_tier(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, aoe_error *err) {
    const char *first = NULL, *label = NULL;
    aoei_tier tier;
    if (!o->join) {
        const int unknown = aoei_cpu_tier(&tier, err);
        if (unknown)
            return unknown;
        first = aoei_tier_name(tier);
    }
    for (size_t i = 0; i < n; i++) {
        const char *cpu = json_string_value(json_object_get(trial[i].record, "cpu"));
        if (cpu && first && strcmp(cpu, first) != 0)
            return aoei_fail(err, AOE_EARG,
                             "%s: the run %s used the CPU tier %s, but %s uses %s, and the tiers compute slightly "
                             "different values; set the environment variable AOE_CPU to one tier for all runs, and use "
                             "another options.output for other tiers",
                             o->output, trial[i].label, cpu, label ? label : "this process", first);
        if (cpu && !first) {
            first = cpu;
            label = trial[i].label;
        }
    }
    return 0;
}

/* ---- scored pairs */

static char *pairs_path(const aoe_experiment_options *o, const aoei_trial *t, size_t file) {
    char name[40];
    snprintf(name, sizeof name, "scores-%zu.tsv", file + 1);
    return aoei_trial_path(o, t, name);
}

int aoei_trial_write_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, const double *cosine,
                           const double *gold, size_t n, aoe_error *err) {
    char *path = pairs_path(o, t, file);
    aoei_writer w = {0};
    int code = path ? aoei_writer_open(&w, path, err) : aoei_fail_nomem(err, 0);
    if (!code) {
        fprintf(w.file, "cosine\tgold\n");
        for (size_t i = 0; i < n; i++)
            fprintf(w.file, "%.17g\t%.17g\n", cosine[i], gold[i]);
        code = aoei_writer_commit(&w, err);
    }
    aoei_writer_abort(&w);
    aoei_free(path);
    return code;
}

/* Parses a line "cosine TAB gold". Returns the start of the next line, or NULL if the line is malformed. */
static const char *read_pair(const char *line, double *cosine, double *gold) {
    char *end;
    *cosine = strtod(line, &end);
    if (end == line || *end != '\t')
        return NULL;
    const char *second = end + 1;
    *gold = strtod(second, &end);
    return end == second || *end != '\n' ? NULL : end + 1;
}

int aoei_trial_read_pairs(const aoe_experiment_options *o, const aoei_trial *t, size_t file, double **cosine,
                          double **gold, size_t *n, aoe_error *err) {
    char *path = pairs_path(o, t, file), *text = NULL;
    size_t size, lines = 0;
    *cosine = *gold = NULL;
    *n = 0;
    int code = path ? aoei_read_file(&text, &size, path, 0, err) : aoei_fail_nomem(err, 0);
    for (size_t i = 0; !code && i < size; i++)
        lines += text[i] == '\n';
    if (!code) {
        *cosine = aoei_malloc_array(lines, sizeof **cosine);
        *gold = aoei_malloc_array(lines, sizeof **gold);
        code = *cosine && *gold ? 0 : aoei_fail_nomem(err, lines * sizeof **gold);
    }
    if (!code) {
        const char *at = strchr(text, '\n');
        for (at = at ? at + 1 : NULL; at && *at; at = read_pair(at, &(*cosine)[*n], &(*gold)[*n]), *n += at != NULL)
            continue;
        if (!at)
            code = aoei_fail(err, AOE_EFORMAT,
                             "%s: line %zu is malformed; remove the directory of this file to repeat the run", path,
                             *n + 2);
    }
    if (code) {
        aoei_free(*cosine);
        aoei_free(*gold);
        *cosine = *gold = NULL;
    }
    aoei_free(text);
    aoei_free(path);
    return code;
}
