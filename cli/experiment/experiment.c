/* SPDX-License-Identifier: MIT
 * Implements what `aoe grid` and `aoe compare` have in common.
 */
#include "cli/experiment/experiment.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/common/hints.h"
#include "cli/common/interrupt.h"
#include "cli/common/option_rows.h"
#include "cli/common/output.h"
#include "cli/common/suggest.h"
#include "options/experiment.h"

enum { MOST_SEEDS = 10000, MAX_OWN_GROUPS = 2 };

static const aoei_option run_table[] = {
    CLI_OPTION_PART(.offset = offsetof(cli_experiment, part)),
    CLI_OPTION_JOIN(.offset = offsetof(cli_experiment, join)),
    {.name = "seeds",
     .kind = AOEI_OPTION_TEXT,
     .value = "N|LIST",
     .offset = offsetof(cli_experiment, seeds),
     .help =
         "number of seeds, of which the first is 42 (3 means 42, 43 and 44), or a list of seeds such as 1,2,5 or 1..5"},
};

/* ---- seeds */

static int is_digits(const char *s) {
    return *s && s[strspn(s, "0123456789")] == 0;
}

/* Appends the seeds of an item to the array *seed, which has n elements. An item is one seed or FIRST..LAST. Returns
 * the number of appended seeds, or 0 if the item is invalid. */
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

/* Parses the value of --seeds. Sets *seed to the seeds and *n to their number. Returns CLI_GO, or the exit code after
 * reporting an error. */
static int read_seeds(const cli_experiment *e, uint64_t **seed, size_t *n) {
    const char *text = e->seeds;
    *seed = NULL;
    *n = 0;
    if (is_digits(text)) { /* the text is the number of seeds */
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
    return cli_usage(
        e->command,
        "--seeds: '%s' is neither a number of seeds, at most %d, nor a list of distinct seeds such as 1,2,3 or 1..3",
        text, MOST_SEEDS);
}

/* ---- parsing */

/* Options of `aoe train` that cannot be given for a run: the experiment sets them. --dev is in the list because all
 * runs use the same dev set. */
static const char *const own_options[] = {"output", "resume", "force", "threads", "seed",
                                          "quiet",  "json",   "part",  "dev"};
enum { OWN_OPTIONS = sizeof own_options / sizeof *own_options };

static void free_parsed(cli_parsed *p) {
    if (p->config)
        cli_train_config_free(p->config);
    free(p->config);
    cli_words_free(&p->words);
}

/* Parses p->words as arguments of `aoe train` and stores the options in p->config. Returns CLI_GO, or the exit code
 * after reporting an error. */
static int parse_words(cli_parsed *p) {
    p->config = cli_realloc(NULL, sizeof *p->config);
    return cli_train_config_parse(p->config, (int)p->words.n, p->words.word);
}

static int check_own(const cli_experiment *e, const cli_args *args, const char *where) {
    const char *own = cli_first_given(args, own_options, OWN_OPTIONS - 1);
    if (!own)
        return CLI_GO;
    return cli_usage(e->command, "--%s must not be given %s, because aoe %s %s; remove it there", own, where,
                     e->command, strcmp(own, "part") ? "sets it for each run" : "divides its runs with its own --part");
}

/* Parses the seeds. Parses the operands as arguments of `aoe train`, which all runs have in common. Returns CLI_GO, or
 * the exit code after reporting an error. */
static int read_shared(cli_experiment *e, const cli_args *args) {
    if (!e->x->output || !*e->x->output)
        return cli_usage(e->command, "missing output directory: -o DIR");
    int code = read_seeds(e, &e->seed, &e->n_seeds);
    if (code == CLI_GO && cli_words_expand(&e->shared.words, args->operand, args->n))
        code = 1;
    if (code == CLI_GO)
        code = parse_words(&e->shared);
    if (code == CLI_GO)
        code = check_own(e, &e->shared.config->args, "after --");
    if (code != CLI_GO)
        return code;
    cli_train_config *c = e->shared.config;
    c->t.args.model = c->model.dir; /* the model as given on the command line; a configuration may set another model */
    c->t.args.model_options = c->model.o;
    aoe_evaluation_file_defaults(&e->dev);
    e->dev.path = c->dev;
    e->dev.table = c->dev_table;
    return CLI_GO;
}

int cli_experiment_check_words(const cli_experiment *e, const cli_words *w, const char *where) {
    cli_parsed p = {0};
    cli_words_append(&p.words, w);
    int code = parse_words(&p);
    if (code == CLI_GO)
        code = check_own(e, &p.config->args, where);
    if (code == CLI_GO && p.config->dev)
        code = cli_usage(e->command, "--dev must not be given %s, because all runs use the same file; give it after --",
                         where);
    free_parsed(&p);
    return code;
}

const aoei_option *cli_experiment_option(const cli_experiment *e, const char *what, const char *name) {
    enum { MOST = 256 };
    const cli_syntax *s = &e->shared.config->syntax;
    const char *names[MOST], *plain = name + strspn(name, "-");
    size_t n = 0;
    for (size_t i = 0; i < OWN_OPTIONS; i++) {
        if (strcmp(own_options[i], plain) == 0) {
            cli_usage(e->command,
                      "%s %s: this option cannot vary, because it is shared by all runs or set by aoe %s; remove it",
                      what, plain, e->command);
            return NULL;
        }
    }
    for (size_t g = 0; g < s->n_groups; g++) {
        for (size_t i = 0; i < s->groups[g].n; i++) {
            if (strcmp(s->groups[g].options[i].name, plain) == 0)
                return &s->groups[g].options[i];
            if (n < MOST)
                names[n++] = s->groups[g].options[i].name;
        }
    }
    const char *closest = cli_suggest_option(plain, names, n);
    if (closest)
        cli_usage(e->command, "%s %s: aoe train has no such option; did you mean %s?", what, plain, closest);
    else
        cli_usage(e->command, "%s %s: aoe train has no such option; aoe train --help lists them", what, plain);
    return NULL;
}

/* Returns 1 if `aoe train` accepts the arguments p->words. Otherwise returns 0 and writes the error to message[size].
 * untrained: 1: the options of the training method are not used, so they are not checked. */
static int is_accepted(cli_parsed *p, int untrained, char *message, size_t size) {
    aoe_error err;
    message[0] = 0;
    cli_catch_messages(message, size);
    int code = parse_words(p);
    if (code == CLI_GO) {
        p->config->t.args.output = "."; /* a placeholder, because each run has its own output directory */
        code = cli_train_config_check(p->config);
    }
    cli_catch_messages(NULL, 0);
    if (code != CLI_GO)
        return 0;
    aoe_train_options t = p->config->t;
    t.args.model = "."; /* a placeholder, because the model directory is found later */
    if (untrained || !aoe_train_check(&t, &err))
        return 1;
    cli_name_flags(message, size, err.message, &p->config->syntax);
    cli_drop_hints(message);
    return 0;
}

static int reject(const cli_experiment *e, const char *label, const char *message) {
    const char *why = strncmp(message, "aoe: ", 5) == 0 ? message + 5 : message;
    if (!e->skip_rejected)
        return cli_message("aoe: %s: %s: %s", e->command, label, why), 2;
    cli_note("skipped: %s: %s", label, why);
    return CLI_GO;
}

int cli_experiment_add(cli_experiment *e, char *name, char *label, char *values, const cli_words *words, int untrained,
                       int *added) {
    char message[1024];
    e->parsed = cli_realloc(e->parsed, (e->n + 1) * sizeof *e->parsed);
    e->configuration = cli_realloc(e->configuration, (e->n + 1) * sizeof *e->configuration);
    cli_parsed *p = &e->parsed[e->n];
    *p = (cli_parsed){0};
    cli_words_append(&p->words, &e->shared.words);
    cli_words_append(&p->words, words);
    *added = is_accepted(p, untrained, message, sizeof message);
    int code = *added ? CLI_GO : reject(e, label, message);
    if (*added && cli_train_config_resolve(p->config))
        code = 1;
    if (!*added || code != CLI_GO) {
        free_parsed(p);
        free(name);
        free(label);
        free(values);
        return code;
    }
    e->configuration[e->n++] = (aoe_configuration){.struct_size = sizeof(aoe_configuration),
                                                   .name = name,
                                                   .label = label,
                                                   .values = values,
                                                   .train = p->config->t,
                                                   .untrained = untrained};
    return CLI_GO;
}

void cli_experiment_add_file(cli_experiment *e, const char *path) {
    const int is_dev = e->dev.path && strcmp(e->dev.path, path) == 0;
    for (size_t i = 0; i < e->n_files; i++)
        if (strcmp(e->files[i].path, path) == 0)
            return;
    e->files = cli_realloc(e->files, (e->n_files + 1) * sizeof *e->files);
    aoe_evaluation_file *file = &e->files[e->n_files++];
    aoe_evaluation_file_defaults(file);
    file->path = path;
    file->table = is_dev ? e->dev.table : e->shared.config->table;
}

/* ---- running */

static void note_finished(const aoe_experiment_event *event) {
    char time[32], scores[256] = "";
    size_t at = 0;
    cli_format_seconds(time, event->seconds);
    for (size_t i = 0; i < event->n_scores && at < sizeof scores; i++) {
        char score[32];
        cli_format_score(score, 100 * event->score[i]);
        at += (size_t)snprintf(scores + at, sizeof scores - at, " %s", isnan(event->score[i]) ? "undefined" : score);
    }
    cli_note("%s:%s (%s)%s", event->label, scores, time,
             event->start_is_best ? "; no step is better than the start model" : "");
}

static void start_progress(cli_experiment *e, const aoe_experiment_event *event) {
    e->started = 1;
    if (e->part.n && event->finished == event->runs)
        cli_note("part %zu of %zu of %s is complete and is skipped", e->part.i, e->part.n, e->x->output);
    cli_note("%zu run%s, %zu done; %zu at a time, with %zu thread%s each", event->runs, cli_plural(event->runs),
             event->finished, event->jobs, event->threads, cli_plural(event->threads));
    e->start = aoei_now();
    e->done_before = event->done;
    cli_progress_begin(&e->progress, e->command, "runs", event->finished);
}

static void show_progress(cli_experiment *e, const aoe_experiment_event *event) {
    char running[64];
    const double made = event->done - e->done_before;
    const double left = made > 0 ? (aoei_now() - e->start) * ((double)event->runs - event->done) / made : 0;
    if (!e->progress.active)
        return;
    snprintf(running, sizeof running, "%zu running", event->running);
    cli_progress_update(&e->progress, event->finished + event->failed, event->runs, running, left, NULL);
}

static int on_event(void *user, const aoe_experiment_event *event) {
    cli_experiment *e = user;
    switch (event->kind) {
    case AOE_EXPERIMENT_NOTE:
        cli_note("%s", event->message);
        break;
    case AOE_EXPERIMENT_START:
        start_progress(e, event);
        break;
    case AOE_EXPERIMENT_PROGRESS:
        show_progress(e, event);
        break;
    case AOE_EXPERIMENT_FINISHED:
        note_finished(event);
        break;
    case AOE_EXPERIMENT_FAILED:
        cli_fail("%s: %s failed: %s", e->command, event->label, event->message);
        break;
    }
    return cli_interrupted() != 0;
}

/* Replaces names of option fields in messages by flags of this command. If this command has no flag for a field, the
 * flag of `aoe train` is used. */
static void name_flags(char *out, size_t size, const char *text, const void *user) {
    const cli_experiment *e = user;
    char half[2048];
    cli_name_flags(half, sizeof half, text, e->syntax);
    cli_name_flags(out, size, half, &e->shared.config->syntax);
    cli_drop_hints(out);
}

void cli_experiment_fill(cli_experiment *e) {
    aoe_experiment_options *x = e->x;
    x->part = e->part.i;
    x->parts = e->part.n;
    x->join = e->join;
    x->configurations = e->configuration;
    x->n_configurations = e->n;
    x->shared = &e->shared.config->t;
    x->seeds = e->seed;
    x->n_seeds = e->n_seeds;
    x->dev = e->dev.path ? &e->dev : NULL;
    x->files = e->files;
    x->n_files = e->n_files;
    x->event = on_event;
    x->event_user = e;
    cli_set_message_filter(name_flags, e);
    cli_watch_training_interrupts();
}

int cli_experiment_end(cli_experiment *e, int code, const aoe_error *err, size_t runs, size_t finished, size_t failed) {
    const aoe_table_options *table = &e->shared.config->table;
    cli_progress_end(&e->progress);
    if (code == AOE_ECANCELLED && cli_interrupted()) {
        cli_message("aoe: stopped with %zu of %zu runs done; run the same command to resume", finished, runs);
        return 128 + cli_interrupted();
    }
    if (code == AOE_EFORMAT && !e->started && (table->columns || table->label_map))
        return cli_fail(
            "%s (--columns and --label-map apply to all files; for one training file give them after its name: "
            "-d FILE columns=... label-map=...)",
            err->message);
    if (code)
        return cli_fail("%s", err->message);
    if (failed)
        return cli_fail("%s: %zu of %zu runs failed; run the same command to repeat them", e->command, failed, runs);
    return 0;
}

/* ---- the command */

void cli_experiment_seeds_cell(cli_table *t, size_t with_score, size_t seeds) {
    if (with_score == seeds)
        cli_table_cell(t, "%zu", seeds);
    else
        cli_table_cell(t, "%zu of %zu", with_score, seeds);
}

static void free_experiment(cli_experiment *e) {
    for (size_t i = 0; i < e->n; i++) {
        free((char *)e->configuration[i].name);
        free((char *)e->configuration[i].label);
        free((char *)e->configuration[i].values);
        free_parsed(&e->parsed[i]);
    }
    free(e->configuration);
    free(e->parsed);
    free_parsed(&e->shared);
    free(e->seed);
    free(e->files);
    memset(e, 0, sizeof *e);
}

int cli_experiment_run(cli_experiment *e, const cli_experiment_command *command, int argc, char **argv) {
    cli_group groups[MAX_OWN_GROUPS + 3], *next = groups;
    for (size_t i = 0; i < command->n_groups; i++)
        *next++ = command->groups[i];
    *next++ = (cli_group)CLI_LIBRARY_GROUP(&aoei_experiment_rows, e->x);
    *next++ = (cli_group)CLI_GROUP("runs", run_table, e);
    *next++ = (cli_group)CLI_ROWS("runs", cli_general_table + 1, CLI_GENERAL_COUNT - 1, &e->general); /* no --threads */
    const cli_syntax syntax = {
        .command = command->command,
        .operands = "-- OPTIONS OF aoe train",
        .about = command->about,
        .examples = command->examples,
        .unknown_note = "options of aoe train come after --",
        .groups = groups,
        .n_groups = (size_t)(next - groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_set_quiet(e->general.quiet);
        cli_note_parent(e->x->output);
        e->command = command->command;
        e->syntax = &syntax;
        code = read_shared(e, &args);
    }
    if (code == CLI_GO)
        code = command->run(command->own);
    free_experiment(e);
    cli_args_free(&args);
    return code;
}
