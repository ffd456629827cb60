/* SPDX-License-Identifier: MIT
 * Runs the trials of an experiment: creates and checks them, starts processes for them, and collects their results.
 */
#include "experiment/experiment.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/options.h"
#include "base/pool.h"
#include "experiment/directory.h"
#include "experiment/inputs.h"
#include "experiment/keep.h"
#include "experiment/plan.h"
#include "experiment/process.h"
#include "experiment/work.h"
#include "options/experiment.h"

enum { MAX_RUNS = 100000 };

struct aoei_experiment {
    const aoe_experiment_options *o; /* options; borrowed */
    const char *kind;                /* "grid" or "compare"; borrowed */
    aoei_trial *trial;               /* [n] trials; owned */
    size_t *first;                   /* [n_configurations] index of the first trial of each configuration; owned */
    size_t n;                        /* number of trials */
    size_t runs, finished, failed;   /* runs: number of trials of the part, or of all; finished: number of these with a
                                        record; failed: number of trials that failed in this call */
    size_t best;   /* index of the trial with the highest score among the trials whose models are on disk; n if there is
                      none */
    size_t memory; /* maximum memory of all running trials in bytes; 0: no limit */
    aoei_inputs inputs; /* hashes of the input files; owned */
    aoei_plans *plans;  /* memory plans of the trials; owned */
    aoei_lock lock;     /* lock of the experiment directory, or of the part */
    int is_open;        /* 1: the directory is open, and the records of earlier calls were read */
};

AOEI_DEFAULTS(aoe_experiment_options) {
    static const uint64_t seed = 42;
    *o = (aoe_experiment_options){.struct_size = sizeof *o,
                                  .seeds = &seed,
                                  .n_seeds = 1,
                                  .jobs = 1,
                                  .threads = AOE_AUTO,
                                  .memory = AOE_AUTO,
                                  .keep = AOE_KEEP_BEST};
}

/* ---- create */

static int check_seeds(const aoe_experiment_options *o, aoe_error *err) {
    if (!o->seeds || !o->n_seeds)
        return aoei_fail(err, AOE_EARG, "options.seeds is empty; give at least one seed");
    for (size_t i = 1; i < o->n_seeds; i++)
        for (size_t k = 0; k < i; k++)
            if (o->seeds[i] == o->seeds[k])
                return aoei_fail(err, AOE_EARG, "options.seeds contains %llu twice; give different seeds",
                                 (unsigned long long)o->seeds[i]);
    return 0;
}

static int check_options(const aoe_experiment_options *o, aoe_error *err) {
    if (!o->output || !*o->output)
        return aoei_fail(err, AOE_EARG, "options.output is missing; name the directory of the experiment");
    if (!o->configurations || !o->n_configurations)
        return aoei_fail(err, AOE_EARG, "options.configurations is empty; give at least one");
    const int code = aoei_option_group_check(&aoei_experiment_rows, o, AOEI_ALL_METHODS, err);
    if (code)
        return code;
    if (o->threads != AOE_AUTO && o->threads < o->jobs)
        return aoei_fail(err, AOE_EARG,
                         "options.threads must be at least options.jobs (%zu), because each run needs a thread",
                         o->jobs);
    if (o->n_seeds > MAX_RUNS || o->n_configurations > MAX_RUNS / (o->n_seeds ? o->n_seeds : 1))
        return aoei_fail(err, AOE_EARG, "the experiment has more than %d runs; use fewer configurations or seeds",
                         MAX_RUNS);
    if (o->parts ? o->part >= o->parts || o->join : o->part != 0)
        return aoei_fail(err, AOE_EARG,
                         "options.part is %zu and options.parts is %zu; parts are counted from 0, and options.join is "
                         "for all of them",
                         o->part, o->parts);
    for (size_t i = 0; i < o->n_configurations; i++)
        if (!o->configurations[i].name || !*o->configurations[i].name)
            return aoei_fail(err, AOE_EARG, "configuration %zu has no name", i + 1);
    return check_seeds(o, err);
}

/* Returns 1 if trial i belongs to the part of this call. */
static int is_own(const aoei_experiment *e, size_t i) {
    return !e->o->parts || i % e->o->parts == e->o->part;
}

/* Fails if two trials would use the same directory. */
static int check_names(const aoei_experiment *e, aoe_error *err) {
    json_t *names = json_object();
    int code = names ? 0 : aoei_fail_nomem(err, 0);
    for (size_t i = 0; i < e->n && !code; i++) {
        if (json_object_get(names, e->trial[i].name))
            code = aoei_fail(err, AOE_EARG, "%s: two configurations have this name; rename or remove one",
                             e->trial[i].label);
        else if (json_object_set_new_nocheck(names, e->trial[i].name, json_true()))
            code = aoei_fail_nomem(err, 0);
    }
    json_decref(names);
    return code;
}

static int create_trials(aoei_experiment *e, int by_file, aoe_error *err) {
    const aoe_experiment_options *o = e->o;
    e->trial = aoei_calloc(o->n_configurations * o->n_seeds, sizeof *e->trial);
    e->first = aoei_malloc_array(o->n_configurations, sizeof *e->first);
    int code = e->trial && e->first ? aoei_inputs_create(&e->inputs, err) : aoei_fail_nomem(err, 0);
    if (!code)
        code = aoei_plans_create(&e->plans, err);
    for (size_t c = 0; c < o->n_configurations && !code; c++) {
        e->first[c] = e->n;
        for (size_t s = 0; s < aoei_experiment_seeds(e, c) && !code; s++)
            code = aoei_trial_create(&e->trial[e->n++], &o->configurations[c], o->seeds[s], by_file, err);
    }
    e->best = e->n;
    for (size_t i = 0; i < e->n; i++)
        e->runs += (size_t)is_own(e, i);
    return code ? code : check_names(e, err);
}

int aoei_experiment_create(aoei_experiment **out, const char *kind, const aoe_experiment_options *o, int by_file,
                           aoe_error *err) {
    *out = NULL;
    int code = check_options(o, err);
    if (code)
        return code;
    aoei_experiment *e = aoei_calloc(1, sizeof *e);
    if (!e)
        return aoei_fail_nomem(err, sizeof *e);
    e->o = o;
    e->kind = kind;
    code = create_trials(e, by_file, err);
    if (code)
        aoei_experiment_free(e);
    else
        *out = e;
    return code;
}

void aoei_experiment_free(aoei_experiment *e) {
    if (!e)
        return;
    for (size_t i = 0; i < e->n; i++)
        aoei_trial_free(&e->trial[i]);
    aoei_free(e->trial);
    aoei_free(e->first);
    aoei_inputs_free(&e->inputs);
    aoei_plans_free(e->plans);
    aoei_unlock(&e->lock);
    aoei_free(e);
}

/* ---- trials */

int aoei_experiment_is_open(const aoei_experiment *e) {
    return e->is_open;
}

size_t aoei_experiment_runs(const aoei_experiment *e) {
    return e->runs;
}

size_t aoei_experiment_finished(const aoei_experiment *e) {
    return e->finished;
}

size_t aoei_experiment_failed(const aoei_experiment *e) {
    return e->failed;
}

size_t aoei_experiment_seeds(const aoei_experiment *e, size_t configuration) {
    return e->o->configurations[configuration].untrained ? 1 : e->o->n_seeds;
}

const aoei_trial *aoei_experiment_trial(const aoei_experiment *e, size_t configuration, size_t s) {
    return &e->trial[e->first[configuration] + (e->o->configurations[configuration].untrained ? 0 : s)];
}

const aoei_trial *aoei_experiment_best(const aoei_experiment *e) {
    return e->best < e->n ? &e->trial[e->best] : NULL;
}

/* ---- events */

/* Returns the number of threads for each trial: options.threads divided by options.jobs, but at least 1. */
static size_t threads_per_trial(const aoei_experiment *e) {
    const size_t threads = e->o->threads == AOE_AUTO ? aoei_pool_default_threads() : e->o->threads;
    return threads > e->o->jobs ? threads / e->o->jobs : 1;
}

static aoe_experiment_event new_event(const aoei_experiment *e, aoe_experiment_event_kind kind) {
    return (aoe_experiment_event){.struct_size = sizeof(aoe_experiment_event),
                                  .kind = kind,
                                  .runs = e->runs,
                                  .finished = e->finished,
                                  .failed = e->failed,
                                  .done = (double)(e->finished + e->failed),
                                  .jobs = e->o->jobs,
                                  .threads = threads_per_trial(e)};
}

/* Calls the event callback and returns its result. A nonzero result stops the experiment. */
static int send_event(const aoei_experiment *e, const aoe_experiment_event *event) {
    return e->o->event ? e->o->event(e->o->event_user, event) : 0;
}

static void send_note(const aoei_experiment *e, const char *message) {
    aoe_experiment_event event = new_event(e, AOE_EXPERIMENT_NOTE);
    event.message = message;
    send_event(e, &event);
}

static void on_waiting(void *user) {
    const aoei_experiment *e = user;
    char message[600];
    snprintf(message, sizeof message, "%.500s is in use; waiting up to 10 seconds", e->o->output);
    send_note(e, message);
}

/* ---- check */

static int add_files(aoei_experiment *e, aoei_trial *t, aoe_error *err) {
    const aoe_experiment_options *o = e->o;
    const aoe_train_options *train = &t->configuration->train;
    int code = train->args.model ? 0 : aoei_fail(err, AOE_EARG, "%s: options.model is missing", t->label);
    if (!code)
        code = aoei_inputs_add(&e->inputs, t->files, train->args.model, err);
    for (size_t i = 0; i < train->n_data && !code; i++)
        code = aoei_inputs_add(&e->inputs, t->files, train->data[i].path, err);
    if (!code && o->dev)
        code = aoei_inputs_add(&e->inputs, t->files, o->dev->path, err);
    for (size_t i = 0; i < AOE_MAX_TEACHERS && train->teachers[i] && !code; i++)
        code = aoei_inputs_add(&e->inputs, t->files, train->teachers[i], err);
    if (!code)
        code = aoei_inputs_add(&e->inputs, t->files, train->generator, err);
    for (size_t i = 0; i < o->n_files && !code; i++)
        code = aoei_inputs_add(&e->inputs, t->files, o->files[i].path, err);
    return code;
}

/* Checks the training options of each configuration. */
static int check_configurations(const aoei_experiment *e, aoe_error *err) {
    const aoe_experiment_options *o = e->o;
    int code = 0;
    for (size_t i = 0; i < o->n_configurations && !code; i++) {
        const aoe_configuration *c = &o->configurations[i];
        aoe_train_options train = c->train;
        train.args.output = o->output; /* each run has its own output directory */
        code = c->untrained ? 0 : aoe_train_check(&train, err);
        if (code)
            aoei_error_prefix(err, "%s", c->label ? c->label : c->name);
    }
    return code;
}

/* Checks that the models can be evaluated on the evaluation files and on the dev set. */
static int check_files(aoei_experiment *e, const aoei_trial *t, aoe_error *err) {
    const aoe_experiment_options *o = e->o;
    if (t->configuration->train.method == AOE_METHOD_CROSS_ENCODER && o->n_files)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: test files are evaluated with embeddings, which a cross-encoder (options.method) does not compute; "
            "choose another method",
            o->files[0].path);
    int code = o->dev ? aoei_inputs_check(&e->inputs, o->dev, err) : 0;
    for (size_t k = 0; k < o->n_files && !code; k++)
        code = aoei_inputs_check(&e->inputs, &o->files[k], err);
    return code;
}

/* Checks a trial and computes the memory that it needs, unless it was finished in an earlier call. */
static int check_trial(aoei_experiment *e, aoei_trial *t, aoe_error *err) {
    const aoe_configuration *c = t->configuration;
    aoe_train_options train = c->train;
    aoe_error record_error = {0};
    train.args.output = e->o->output;
    /* a record that does not belong to this trial is reported later, when the directory is opened */
    int code = aoei_trial_read_record(e->o, t, &record_error);
    if (code == AOE_ENOMEM)
        return aoei_fail(err, code, "%s", record_error.message);
    if (t->record)
        return 0;
    code = aoei_plan_memory(e->plans, &train, e->o->dev != NULL, c->untrained, &t->memory, err);
    if (code)
        aoei_error_prefix(err, "%s", c->label ? c->label : c->name);
    return code;
}

/* Checks all trials: hashes their input files and computes the memory that they need. */
static int check_trials(aoei_experiment *e, aoe_error *err) {
    int code = check_configurations(e, err);
    for (size_t i = 0; i < e->n && !code; i++)
        code = add_files(e, &e->trial[i], err);
    for (size_t i = 0; i < e->n && !code; i++)
        code = check_files(e, &e->trial[i], err);
    for (size_t i = 0; i < e->n && !code; i++)
        code = check_trial(e, &e->trial[i], err);
    return code;
}

/* Returns the available memory in bytes (MemAvailable in /proc/meminfo), or 0 if it is unknown. */
static size_t free_memory(void) {
    FILE *f = fopen("/proc/meminfo", "r");
    char line[256];
    unsigned long long kib = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
            break;
    if (f)
        fclose(f);
    return (size_t)kib << 10;
}

/* Sets e->memory to options.memory, or to the available memory if the option is AOE_AUTO. Fails if options.memory is
 * set and a trial needs more. */
static int check_memory(aoei_experiment *e, aoe_error *err) {
    const int limited = e->o->memory != AOE_AUTO;
    e->memory = limited ? e->o->memory : free_memory();
    for (size_t i = 0; limited && i < e->n; i++)
        if (e->trial[i].memory > e->o->memory)
            return aoei_fail(err, AOE_EARG,
                             "%s needs about %.1f MiB, which is more than options.memory; raise options.memory, set "
                             "options.recompute, "
                             "or use a smaller options.batch_size, options.max_length or options.cache_chunk",
                             e->trial[i].label, (double)e->trial[i].memory / (1 << 20));
    return 0;
}

/* ---- run */

static int run_trial(void *user, size_t i, aoei_child *child, aoe_error *err) {
    const aoei_experiment *e = user;
    return aoei_trial_work(e->o, &e->trial[i], threads_per_trial(e), child, err);
}

static void send_result(const aoei_experiment *e, size_t i, double seconds, const char *error) {
    const aoei_trial *t = &e->trial[i];
    const size_t n = aoei_trial_scores(e->o);
    double *score = error ? NULL : aoei_malloc_array(n, sizeof *score);
    aoe_experiment_event event = new_event(e, error ? AOE_EXPERIMENT_FAILED : AOE_EXPERIMENT_FINISHED);
    event.label = t->label;
    event.seconds = seconds;
    event.message = error;
    for (size_t k = 0; k < n && score; k++)
        score[k] = aoei_trial_score(e->o, t, k);
    event.score = score;
    event.start_is_best = aoei_trial_start_is_best(t);
    event.n_scores = score ? n : 0;
    send_event(e, &event);
    aoei_free(score);
}

static void on_ended(void *user, size_t i, const aoei_job_end *end) {
    aoei_experiment *e = user;
    aoei_trial *t = &e->trial[i];
    aoe_error err = {0};
    const char *failure = end->error ? end->error->message : NULL;
    if (!failure && aoei_trial_read_record(e->o, t, &err))
        failure = err.message;
    if (!failure && !t->record)
        failure = "the process ended before it wrote record.json; run the experiment again";
    if (failure) {
        e->failed++;
        send_result(e, i, end->seconds, failure);
        return;
    }
    e->finished++;
    if (aoei_keep_clean_up(e->o, e->trial, e->n, i, &e->best, &err) ||
        (!e->o->parts && aoei_directory_write_results(e->o, e->trial, e->n, &err)))
        send_note(e, err.message);
    send_result(e, i, end->seconds, NULL);
}

static int on_tick(void *user, size_t running, double done) {
    const aoei_experiment *e = user;
    aoe_experiment_event event = new_event(e, AOE_EXPERIMENT_PROGRESS);
    event.running = running;
    event.done += done;
    return send_event(e, &event);
}

static int make_run_directories(const aoei_experiment *e, aoe_error *err) {
    int code = 0;
    for (size_t i = 0; i < e->n && !code; i++) {
        char *path = aoei_trial_path(e->o, &e->trial[i], "");
        code = path ? aoei_make_dir(path, err) : aoei_fail_nomem(err, 0);
        aoei_free(path);
    }
    return code;
}

static int run_jobs(aoei_experiment *e, aoei_job *job, aoe_error *err) {
    const aoei_processes p = {.job = job,
                              .n = e->n,
                              .at_once = e->o->jobs,
                              .memory = e->memory,
                              .run = run_trial,
                              .ended = on_ended,
                              .tick = on_tick,
                              .user = e};
    int code = make_run_directories(e, err);
    for (size_t i = 0; i < e->n && !code; i++) {
        char *log = aoei_trial_path(e->o, &e->trial[i], "errors.txt");
        job[i] = (aoei_job){.memory = e->trial[i].memory, .log = log, .skip = e->trial[i].record || !is_own(e, i)};
        code = log ? 0 : aoei_fail_nomem(err, 0);
    }
    if (!code)
        code = aoei_processes_run(&p, err);
    for (size_t i = 0; i < e->n; i++)
        aoei_free((char *)job[i].log);
    return code;
}

static int open_directory(aoei_experiment *e, aoe_error *err) {
    int code = aoei_directory_open(&e->lock, e->kind, e->o, on_waiting, e, err);
    for (size_t i = 0; i < e->n && !code; i++) {
        code = aoei_trial_read_record(e->o, &e->trial[i], err);
        e->finished += e->trial[i].record && is_own(e, i);
    }
    if (!code)
        code = aoei_trials_check_tier(e->o, e->trial, e->n, err);
    if (!code)
        code = aoei_keep_find_best(&e->best, e->o, e->trial, e->n, err);
    e->is_open = !code;
    return code;
}

/* Checks that all trials are finished, and removes the models that are not kept. */
static int join_parts(const aoei_experiment *e, aoe_error *err) {
    size_t i = 0;
    while (i < e->n && e->trial[i].record)
        i++;
    if (i < e->n)
        return aoei_fail(err, AOE_ENOENT, "%s: %zu of %zu runs are not finished, for example %s; run their parts again",
                         e->o->output, e->runs - e->finished, e->runs, e->trial[i].label);
    return aoei_keep_remove_others(e->o, e->trial, e->n, e->best, err);
}

int aoei_experiment_run(aoei_experiment *e, aoe_error *err) {
    int code = check_trials(e, err);
    if (!code)
        code = check_memory(e, err);
    if (!code)
        code = open_directory(e, err);
    if (code)
        return code;
    const aoe_experiment_event start = new_event(e, AOE_EXPERIMENT_START);
    if (send_event(e, &start))
        return aoei_fail(err, AOE_ECANCELLED, "stopped by the caller");
    aoei_job *job = aoei_calloc(e->n, sizeof *job);
    if (!job)
        return aoei_fail_nomem(err, e->n * sizeof *job);
    code = e->o->join ? join_parts(e, err) : run_jobs(e, job, err);
    aoei_free(job);
    return code || e->o->parts ? code : aoei_directory_write_results(e->o, e->trial, e->n, err);
}
