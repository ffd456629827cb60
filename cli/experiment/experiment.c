/* SPDX-License-Identifier: MIT
 * Experiments: options, the list of trials, the directory with its lock, settings
 * and records. See experiment.h.
 */
#include "cli/experiment/experiment.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/experiment/experiment_check.h"

enum { MOST_SEEDS = 10000, NAME_LENGTH = 100 /* bytes of a directory's name, its hash apart */ };

static int parse_keep(void *target, const char *text, aoe_error *err) {
    static const char *const names[] = {"none", "best", "all"}; /* in the order of cli_keep */
    const size_t i = cli_choose(names, 3, text, "choice of models to keep", err);
    if (i == 3)
        return err->code;
    *(cli_keep *)target = (cli_keep)i;
    return 0;
}

/* "8G", "500M", "2.5GiB": powers of 1024. */
static int parse_bytes(void *target, const char *text, aoe_error *err) {
    static const char units[] = "KMGT";
    char *end = NULL;
    double bytes = strtod(text, &end);
    const char *unit = end == text || !*end ? NULL : strchr(units, toupper((unsigned char)*end));
    if (unit) {
        bytes *= (double)((size_t)1 << (10 * (size_t)(unit - units + 1)));
        end++;
        end += strcmp(end, "iB") == 0 ? 2 : strcmp(end, "B") == 0;
    }
    if (end == text || *end || !(bytes >= 1 && bytes < 1e18)) {
        err->code = AOE_EARG;
        snprintf(err->message, sizeof err->message, "'%.100s' is not an amount of memory, like 500M or 8G", text);
        return err->code;
    }
    *(size_t *)target = (size_t)bytes;
    return 0;
}

#define AT(field) .offset = offsetof(cli_experiment_options, field)

const cli_option cli_experiment_table[CLI_EXPERIMENT_COUNT] = {
    {.name = "output",
     .letter = 'o',
     .kind = CLI_TEXT,
     .value = "DIR",
     AT(output),
     .help = "directory of all runs; the same command again goes on where it was stopped"},
    {.name = "seeds",
     .kind = CLI_TEXT,
     .value = "N|LIST",
     AT(seeds),
     .help = "how many seeds, from 42 on, or which: 1,2,3 or 1..3"},
    {.name = "jobs", .letter = 'j', .kind = CLI_SIZE, .value = "N", AT(jobs), .min = 1, .max = 1024, .help = "runs at once"},
    {.name = "threads",
     .letter = 't',
     .kind = CLI_SIZE,
     .value = "N",
     AT(threads),
     .min = 1,
     .max = 1024,
     .help = "threads of all runs together",
     .fallback = "the CPUs this process may use"},
    {.name = "memory",
     .kind = CLI_NAMED,
     .value = "SIZE",
     AT(memory),
     .parse = parse_bytes,
     .help = "memory of all runs together, like 8G, as aoe info --plan has it; a run that does not fit waits",
     .fallback = "what is free"},
    {.name = "keep",
     .kind = CLI_NAMED,
     .value = "NAME",
     AT(keep),
     .parse = parse_keep,
     .help = "models to keep: none, best (that of the run with the highest score) or all",
     .fallback = "grid: best; compare: none"},
    {.name = "quiet", .letter = 'q', .kind = CLI_FLAG, AT(quiet), .set = 1, .help = "no progress and no notes on stderr"},
    {.name = "json", .kind = CLI_FLAG, AT(json), .set = 1, .help = "results as JSON, an object a line"},
};

/* ---- making */

int cli_experiment_begin(cli_experiment *e, const char *command, const char *const *operand, size_t n, const char **dev) {
    e->command = command;
    e->settings = json_object();
    e->files = json_object();
    if (!e->o.output || !*e->o.output)
        return cli_usage(command, "it needs a directory for the runs: -o DIR");
    if (e->o.threads && e->o.threads < e->o.jobs)
        return cli_usage(command, "%zu runs at once need a thread each: --threads %zu or more, or fewer --jobs", e->o.jobs,
                         e->o.jobs);
    if (cli_words_expand(&e->base, operand, n))
        return 1;
    return cli_experiment_check_words(e, &e->base, "behind --", dev);
}

static int is_digits(const char *s) {
    return *s && s[strspn(s, "0123456789")] == 0;
}

/* An item of the list: a seed, or FIRST..LAST. Returns how many were added, 0 when it is neither. */
static size_t add_seeds(uint64_t **seed, size_t n, const char *item) {
    char first[32], *end = NULL;
    const char *dots = strstr(item, "..");
    const size_t length = dots ? (size_t)(dots - item) : strlen(item);
    if (length == 0 || length >= sizeof first)
        return 0;
    memcpy(first, item, length);
    first[length] = 0;
    if (!is_digits(first) || (dots && !is_digits(dots + 2)))
        return 0;
    errno = 0;
    const uint64_t from = strtoull(first, &end, 10), to = dots ? strtoull(dots + 2, &end, 10) : from;
    if (errno || to > INT64_MAX || to < from || to - from >= MOST_SEEDS - n)
        return 0;
    const size_t count = (size_t)(to - from) + 1;
    *seed = cli_realloc(*seed, (n + count) * sizeof **seed);
    for (size_t i = 0; i < count; i++)
        (*seed)[n + i] = from + i;
    return count;
}

static int has_twice(const uint64_t *seed, size_t n) {
    for (size_t i = 1; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (seed[i] == seed[k])
                return 1;
    return 0;
}

int cli_experiment_seeds(const cli_experiment *e, uint64_t **seed, size_t *n) {
    const char *text = e->o.seeds;
    *seed = NULL;
    *n = 0;
    if (is_digits(text)) { /* how many */
        const unsigned long count = strlen(text) < 8 ? strtoul(text, NULL, 10) : 0;
        char range[64];
        snprintf(range, sizeof range, "42..%lu", 41 + count);
        *n = count ? add_seeds(seed, 0, range) : 0;
    } else {
        char *copy = cli_strdup(text), *rest = copy;
        size_t added = 1;
        for (char *item = strsep(&rest, ","); item && added; item = strsep(&rest, ",")) {
            added = add_seeds(seed, *n, item);
            *n = added ? *n + added : 0;
        }
        free(copy);
    }
    if (*n && !has_twice(*seed, *n))
        return CLI_GO;
    return cli_usage(e->command,
                     "--seeds: '%s' is neither a number of seeds, up to %d, nor a list of different ones: 1,2,3 or 1..3", text,
                     MOST_SEEDS);
}

static uint32_t hash_text(const char *s) { /* FNV-1a */
    uint32_t h = 2166136261u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 16777619u;
    return h;
}

/* What a file system may not have becomes '_', and then, or when it is long, a hash keeps names apart. */
static char *directory_name(char *name) {
    const uint32_t hash = hash_text(name);
    int changed = strlen(name) > NAME_LENGTH;
    for (char *s = name; *s; s++) {
        if (!isalnum((unsigned char)*s) && !strchr("-+=.,", *s) && !(*s == '_' && s > name)) {
            *s = '_';
            changed = 1;
        }
    }
    if (name[0] == '.')
        name[0] = '_', changed = 1;
    if (!changed)
        return name;
    char *made = cli_format("%.*s-%08x", (int)NAME_LENGTH, name, hash);
    free(name);
    return made;
}

cli_trial *cli_experiment_add(cli_experiment *e, char *name, char *label, uint64_t seed) {
    e->trial = cli_realloc(e->trial, (e->n + 1) * sizeof *e->trial);
    cli_trial *t = &e->trial[e->n++];
    *t = (cli_trial){.name = directory_name(name), .label = label, .seed = seed, .key = json_object()};
    return t;
}

static void free_trial(cli_trial *t) {
    free(t->name);
    free(t->label);
    free(t->error);
    cli_words_free(&t->args);
    json_decref(t->key);
    json_decref(t->files);
    json_decref(t->record);
}

void cli_experiment_drop(cli_experiment *e, size_t i) {
    free_trial(&e->trial[i]);
    memmove(&e->trial[i], &e->trial[i + 1], (e->n - i - 1) * sizeof *e->trial);
    e->n--;
}

void cli_experiment_free(cli_experiment *e) {
    for (size_t i = 0; i < e->n; i++)
        free_trial(&e->trial[i]);
    free(e->trial);
    cli_words_free(&e->base);
    cli_plans_free(e->plans);
    json_decref(e->settings);
    json_decref(e->files);
    if (e->lock > 0)
        close(e->lock);
    memset(e, 0, sizeof *e);
}

char *cli_trial_path(const cli_experiment *e, const cli_trial *t, const char *rest) {
    return cli_format("%s/runs/%s%s%s", e->o.output, t->name, rest ? "/" : "", rest ? rest : "");
}

/* ---- opening */

static int make_directory(const char *path) {
    struct stat st;
    if (mkdir(path, 0777) == 0 || (errno == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode)))
        return 0;
    return cli_fail("cannot make the directory %s: %s; make room or choose another -o", path, strerror(errno));
}

static int is_empty(const char *path) {
    DIR *d = opendir(path);
    int entries = 0;
    if (!d)
        return 0;
    for (const struct dirent *entry = readdir(d); entry; entry = readdir(d))
        entries += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    closedir(d);
    return entries == 0;
}

/* The lock is the children's too: as long as one left behind by a killed parent is at work, the directory is taken. */
static int lock_directory(cli_experiment *e) {
    enum { TRIES = 100 };
    const struct timespec pause = {.tv_nsec = 100000000};
    e->lock = open(e->o.output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (e->lock < 0)
        return e->lock = 0, cli_fail("cannot open %s: %s; choose another -o", e->o.output, strerror(errno));
    for (int i = 0; i < TRIES; i++) {
        if (flock(e->lock, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return 0; /* a file system without locks */
        if (i == 0)
            cli_note("%s is in use; waiting for a moment", e->o.output);
        nanosleep(&pause, NULL);
    }
    return cli_fail("%s is in use by another aoe %s; wait for its end or choose another -o", e->o.output, e->command);
}

static int damaged(const char *path, const char *what, int line) {
    return cli_fail("%s:%d: %s; remove the file", path, line, what);
}

/* *value: the JSON object in the file, NULL when there is no file. 0, or 1 after reporting. */
static int read_json(const char *path, json_t **value) {
    json_error_t error;
    *value = NULL;
    FILE *f = fopen(path, "rb");
    if (!f)
        return errno == ENOENT ? 0 : cli_fail("cannot read %s: %s", path, strerror(errno));
    *value = json_loadf(f, 0, &error);
    fclose(f);
    if (json_is_object(*value))
        return 0;
    const int code = damaged(path, *value ? "it is no JSON object" : error.text, *value ? 1 : error.line);
    json_decref(*value);
    *value = NULL;
    return code;
}

int cli_write_json(const char *path, const json_t *value) {
    cli_file f;
    if (cli_file_open(&f, path))
        return 1;
    if (cli_put_json(f.file, value) == 0)
        fputc('\n', f.file);
    const int code = cli_file_commit(&f);
    if (code)
        cli_file_abort(&f);
    return code;
}

static char *text_of(const json_t *value) {
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    return text ? text : cli_strdup("?");
}

static int refuse(const cli_experiment *e, const char *what, const json_t *was, const json_t *is) {
    char *before = text_of(was), *now = text_of(is);
    const int code = cli_fail("%s holds runs with other %s: %.400s, now %.400s; give the same, or another directory with -o",
                              e->o.output, what, before, now);
    free(before);
    free(now);
    return code;
}

/* An arm of a name has the options it had. */
static int compare_arms(const cli_experiment *e, const json_t *was, json_t *is) {
    const char *name;
    const json_t *value;
    json_object_foreach(is, name, value) {
        const json_t *before = json_object_get(was, name);
        if (before && !json_equal(before, value)) {
            char *what = cli_format("options of the arm %s", name);
            const int code = refuse(e, what, before, value);
            free(what);
            return code;
        }
    }
    return 0;
}

/* Refuses what does not go with the runs that are there; takes over arms that are not of this call. */
static int compare_settings(const cli_experiment *e, json_t *was) {
    static const struct {
        const char *key, *what;
    } whole[] = {{"experiment", "purpose"},
                 {"train", "options of aoe train"},
                 {"over", "options to search over"},
                 {"score", "files to score by"}};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        const json_t *before = json_object_get(was, whole[i].key), *now = json_object_get(e->settings, whole[i].key);
        if ((before || now) && !(before && now && json_equal(before, now)))
            return refuse(e, whole[i].what, before, now);
    }
    json_t *before = json_object_get(was, "arms"), *now = json_object_get(e->settings, "arms");
    if (compare_arms(e, before, now))
        return 1;
    json_object_update_missing(now, before);
    return 0;
}

static int open_settings(const cli_experiment *e) {
    char *path = cli_format("%s/experiment.json", e->o.output);
    json_t *was = NULL;
    int code = read_json(path, &was);
    if (!code && !was && !is_empty(e->o.output))
        code = cli_fail("%s holds something else than an experiment; name a new or empty directory with -o", e->o.output);
    if (!code && was)
        code = compare_settings(e, was);
    if (!code && !(was && json_equal(was, e->settings)))
        code = cli_write_json(path, e->settings);
    json_decref(was);
    free(path);
    return code;
}

/* A finished trial is of use as long as what it read is there unchanged. 0, or 1 after reporting. */
static int check_record(const cli_experiment *e, const cli_trial *t, const char *path) {
    const char *name;
    const json_t *value;
    json_object_foreach(t->key, name, value) {
        if (!json_equal(value, json_object_get(t->record, name)))
            return damaged(path, "it is the record of another run", 1);
    }
    if (!json_object_get(t->record, json_object_get(e->settings, "arms") ? "scores" : "score"))
        return damaged(path, "it has no score", 1);
    const json_t *files = json_object_get(t->record, "files");
    json_object_foreach(t->files, name, value) {
        if (!json_equal(value, json_object_get(files, name)))
            return cli_fail("%s is not what it was for the runs in %s; put it back, or name another directory with -o", name,
                            e->o.output);
    }
    return 0;
}

static int read_record(cli_experiment *e, cli_trial *t) {
    char *path = cli_trial_path(e, t, "record.json");
    int code = read_json(path, &t->record);
    if (!code && t->record) {
        code = check_record(e, t, path);
        e->finished++;
    }
    free(path);
    return code;
}

int cli_experiment_open(cli_experiment *e) {
    json_object_set_new(e->settings, "experiment", json_string(e->command));
    json_object_set_new(e->settings, "aoe", json_string(aoe_version()));
    json_object_set_new(e->settings, "train", cli_words_json(&e->base));
    json_t *score = json_array();
    for (size_t i = 0; i < e->n_files; i++)
        json_array_append_new(score, cli_json_text(e->file[i], strlen(e->file[i])));
    json_object_set_new(e->settings, "score", score);
    char *runs = cli_format("%s/runs", e->o.output);
    int code = make_directory(e->o.output) || lock_directory(e) || open_settings(e) || make_directory(runs);
    free(runs);
    for (size_t i = 0; !code && i < e->n; i++)
        code = read_record(e, &e->trial[i]);
    return code;
}
