/* SPDX-License-Identifier: MIT
 * covers: experiment/compare experiment/describe experiment/directory experiment/given experiment/grid
 * covers: experiment/inputs experiment/keep
 * covers: experiment/process experiment/trial experiment/work options/model options/training
 * Tests the library functions that run experiments (several training runs with different options). The tests cover the
 * ranking of configurations, the recorded results, resuming after an interruption, failed runs, changed options in an
 * existing output directory, and the choice of the best model if some scores are undefined.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_experiment.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/dir.h"
#include "base/path.h"
#include "experiment/describe.h"
#include "experiment/keep.h"
#include "experiment/process.h"
#include "experiment/trial.h"
#include "options/model.h"
#include "options/training.h"

static char *model, *train_path, *dev_path;

static int set_up(void **state) {
    test_dir_set_up(state);
    const tiny_model m = tiny_defaults();
    model = test_path(test_dir, "start");
    tiny_model_write(model, &m);
    train_path = tiny_table(test_dir, "train.tsv", 16, 1);
    dev_path = tiny_table(test_dir, "dev.tsv", 12, 2);
    return 0;
}

static int tear_down(void **state) {
    free(model);
    free(train_path);
    free(dev_path);
    return test_dir_tear_down(state);
}

/* ---- a small experiment: two learning rates and two seeds */

typedef struct experiment {
    aoe_train_data data;
    aoe_evaluation_file dev;
    aoe_configuration configuration[2];
    uint64_t seeds[2];
    char *output;
    /* number of runs that started, that finished and that failed, counted by the event callback */
    size_t started, finished, failed;
    size_t stop_after;  /* number of finished runs after which the callback stops the experiment; 0: never */
    char message[1024]; /* error message of the run that failed last */
} experiment;

static int on_event(void *user, const aoe_experiment_event *e) {
    experiment *x = user;
    x->started += e->kind == AOE_EXPERIMENT_START;
    x->finished += e->kind == AOE_EXPERIMENT_FINISHED;
    x->failed += e->kind == AOE_EXPERIMENT_FAILED;
    if (e->kind == AOE_EXPERIMENT_FAILED)
        snprintf(x->message, sizeof x->message, "%s", e->message);
    return e->kind == AOE_EXPERIMENT_PROGRESS && x->stop_after && e->finished >= x->stop_after;
}

static void create(experiment *x, const char *output, aoe_experiment_options *o) {
    static const char *const names[] = {"lr=0.001", "lr=0.01"}, *const values[] = {"{\"lr\":0.001}", "{\"lr\":0.01}"};
    memset(x, 0, sizeof *x);
    aoe_train_data_defaults(&x->data, train_path);
    aoe_evaluation_file_defaults(&x->dev);
    x->dev.path = dev_path;
    for (size_t i = 0; i < 2; i++) {
        aoe_configuration *c = &x->configuration[i];
        aoe_configuration_defaults(c);
        c->name = names[i];
        c->values = values[i];
        c->train.args.model = model;
        c->train.args.model_options.dtype = AOE_DTYPE_F32;
        c->train.args.lr = i ? 1e-2 : 1e-3;
        c->train.data = &x->data;
        c->train.n_data = 1;
        c->train.batch_size = 8;
    }
    x->seeds[0] = 7;
    x->seeds[1] = 8;
    x->output = test_path(test_dir, output);
    o->output = x->output;
    o->configurations = x->configuration;
    o->n_configurations = 2;
    o->shared = &x->configuration[0].train;
    o->seeds = x->seeds;
    o->n_seeds = 2;
    o->dev = &x->dev;
    o->threads = 2;
    o->event = on_event;
    o->event_user = x;
}

static void grid_ranks_and_resumes(void **state) {
    (void)state;
    experiment x;
    aoe_grid_options o;
    aoe_grid_result first = {.struct_size = sizeof first}, again = {.struct_size = sizeof again};
    aoe_error err = {0};
    aoe_grid_options_defaults(&o);
    create(&x, "grid", &o.experiment);
    o.experiment.jobs = 2;
    assert_int_equal(aoe_grid(&o, &first, &err), 0);
    assert_int_equal(first.n, 2);
    assert_int_equal(first.runs, 4);
    assert_int_equal(first.finished, 4);
    assert_int_equal(x.finished, 4);
    assert_int_equal(first.best, 0);
    assert_true(first.rows[0]->statistics.mean >= first.rows[1]->statistics.mean);
    assert_int_equal(first.rows[0]->statistics.n, 2);
    assert_string_equal(first.best_run_model + strlen(first.best_run_model) - 6, "/model");
    assert_true(aoei_exists(first.best_run_model));
    for (size_t i = 0; i < 2; i++)
        for (size_t s = 0; s < 2; s++)
            assert_true(first.rows[i]->score[s] <= first.best_run_score);

    x.finished = 0; /* the second call must not repeat any run and must give equal results */
    assert_int_equal(aoe_grid(&o, &again, &err), 0);
    assert_int_equal(x.finished, 0);
    assert_string_equal(first.best_run_model, again.best_run_model);
    assert_memory_equal(first.rows[0]->score, again.rows[0]->score, 2 * sizeof(double));
    aoe_grid_result_free(&first);
    aoe_grid_result_free(&again);

    x.configuration[1].train.args.epochs = 2;
    assert_int_equal(aoe_grid(&o, &again, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.epochs was 1 and is now 2"));
    assert_int_equal(again.n + again.finished, 0); /* if the call fails, it returns no results */
    aoe_grid_result_free(&again);
    x.configuration[1].train.args.epochs = 1;
    /* o.experiment.shared points to these options, so this also changes the options that all runs share */
    x.configuration[0].train.batch_size = 4;
    assert_int_equal(aoe_grid(&o, &again, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.batch_size was 8 and is now 4"));
    aoe_grid_result_free(&again);
    free(x.output);
}

/* Tests that an interrupted experiment that is resumed gives the scores of an uninterrupted experiment, and does not
 * repeat finished runs. */
static void interrupted_resumes(void **state) {
    (void)state;
    experiment x;
    aoe_grid_options o;
    aoe_grid_result whole = {.struct_size = sizeof whole}, result = {.struct_size = sizeof result};
    aoe_error err = {0};
    aoe_grid_options_defaults(&o);
    create(&x, "whole", &o.experiment);
    for (size_t i = 0; i < 2; i++)
        /* 40 epochs take so long that the callback, which is called at intervals, can stop the experiment before all
         * four runs have finished */
        x.configuration[i].train.args.epochs = 40;
    assert_int_equal(aoe_grid(&o, &whole, &err), 0);
    free(x.output);
    x.output = test_path(test_dir, "interrupted");
    o.experiment.output = x.output;
    x.finished = 0;
    x.stop_after = 1;
    assert_int_equal(aoe_grid(&o, &result, &err), AOE_ECANCELLED);
    assert_in_range(result.finished, 1, 3);
    assert_int_equal(result.failed, 0);
    const size_t before = result.finished;
    aoe_grid_result_free(&result);
    x.finished = x.stop_after = 0;
    assert_int_equal(aoe_grid(&o, &result, &err), 0);
    assert_int_equal(x.finished, 4 - before);
    for (size_t i = 0; i < 2; i++)
        assert_memory_equal(whole.rows[i]->score, result.rows[i]->score, 2 * sizeof(double));
    aoe_grid_result_free(&whole);
    aoe_grid_result_free(&result);
    free(x.output);
}

/* Writes a file with the path of a run's model directory, so that the run fails. */
static void block_run(const char *output, const char *run) {
    char *dir = test_path(output, run);
    assert_int_equal(aoei_make_dir(dir, NULL), 0);
    free(test_write_text(dir, "model", "not a directory"));
    free(dir);
}

static void failed_runs_are_counted(void **state) {
    (void)state;
    experiment x;
    aoe_grid_options o;
    aoe_grid_result result = {.struct_size = sizeof result};
    aoe_error err = {0};
    aoe_grid_options_defaults(&o);
    create(&x, "failed", &o.experiment);
    o.experiment.n_configurations = 1;
    assert_int_equal(aoe_grid(&o, &result, &err), 0);
    aoe_grid_result_free(&result);
    block_run(x.output, "runs/lr=0.01_seed=7");
    block_run(x.output, "runs/lr=0.01_seed=8");
    o.experiment.n_configurations = 2;
    assert_int_equal(aoe_grid(&o, &result, &err), 0);
    assert_int_equal(result.failed, 2);
    assert_int_equal(x.failed, 2);
    assert_int_equal(result.finished, 2);
    assert_non_null(strstr(x.message, "model"));
    assert_int_equal(result.rows[0]->configuration, 0);
    assert_int_equal(result.best, 0);
    assert_true(isnan(result.rows[1]->score[0]));
    aoe_grid_result_free(&result);
    free(x.output);
}

/* The p-values of all evaluation files are corrected together. */
static void compare_corrects_p(void **state) {
    (void)state;
    experiment x;
    aoe_compare_options o;
    aoe_compare_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    aoe_compare_options_defaults(&o);
    assert_int_equal(o.correction, AOE_CORRECTION_HOLM);
    create(&x, "correction", &o.experiment);
    char *other = tiny_table(test_dir, "other.tsv", 12, 3);
    aoe_evaluation_file files[2] = {x.dev, x.dev};
    files[1].path = other;
    o.experiment.files = files;
    o.experiment.n_files = 2;
    o.bootstrap.replicates = 20;
    assert_int_equal(aoe_compare(&o, &r, &err), 0);
    assert_int_equal(r.n, 4);
    const double p[] = {r.rows[1]->difference.p, r.rows[3]->difference.p};
    double want[2];
    assert_false(isnan(p[0]) || isnan(p[1]));
    assert_int_equal(aoe_holm(p, 2, want, NULL), 0);
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(r.rows[2 * i + 1]->p_corrected - want[i]) < 1e-15);
    aoe_compare_result_free(&r);
    o.correction = AOE_CORRECTION_NONE;
    assert_int_equal(aoe_compare(&o, &r, &err), 0);
    for (size_t i = 0; i < 2; i++)
        assert_true(fabs(r.rows[2 * i + 1]->p_corrected - p[i]) < 1e-15);
    aoe_compare_result_free(&r);
    o.correction = (aoe_correction)7;
    assert_int_equal(aoe_compare(&o, &r, &err), AOE_EARG);
    assert_string_equal(err.message, "options.correction is 7; use AOE_CORRECTION_HOLM or AOE_CORRECTION_NONE");
    free(other);
    free(x.output);
}

static void compare_tests_differences(void **state) {
    (void)state;
    experiment x;
    aoe_compare_options o;
    aoe_compare_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    aoe_compare_options_defaults(&o);
    create(&x, "compare", &o.experiment);
    x.configuration[0].untrained = 1;
    o.experiment.files = &x.dev;
    o.experiment.n_files = 1;
    o.bootstrap.replicates = 50;
    assert_int_equal(aoe_compare(&o, &r, &err), 0);
    assert_int_equal(r.n, 2);
    assert_int_equal(r.runs, 3);
    assert_int_equal(r.rows[0]->n_scores, 1);
    assert_int_equal(r.rows[0]->score.n, 1);
    assert_true(isnan(r.rows[0]->score.sd));
    assert_int_equal(r.rows[0]->verdict, AOE_VERDICT_NONE);
    assert_int_equal(r.rows[1]->difference.n, 2);
    const double mean = (r.rows[1]->scores[0] + r.rows[1]->scores[1]) / 2;
    assert_true(fabs(r.rows[1]->difference.mean - (mean - r.rows[0]->scores[0])) < 1e-12);
    assert_true(r.rows[1]->shift.low <= r.rows[1]->difference.mean &&
                r.rows[1]->difference.mean <= r.rows[1]->shift.high);
    assert_int_not_equal(r.rows[1]->verdict, AOE_VERDICT_NONE);
    assert_true(isnan(r.rows[0]->p_corrected));
    assert_true(fabs(r.rows[1]->p_corrected - r.rows[1]->difference.p) < 1e-15); /* one test */
    char *kept = test_path(x.output, "runs/lr=0.01_seed=7/model");
    assert_false(aoei_exists(kept));
    free(kept);
    aoe_compare_result_free(&r);
    free(x.output);
}

/* ---- records and the best model, without training */

/* An experiment whose output directory the test writes itself, without training. */
typedef struct fake {
    aoe_experiment_options o;
    aoe_configuration configuration[3];
    aoei_trial trial[3];
} fake;

/* Creates three finished trials (training runs of an experiment) with the scores score[0] to score[2]. Each trial has a
 * model directory. */
static void create_fake(fake *f, const char *output, const double score[3]) {
    static const char *const names[] = {"a", "b", "c"};
    aoe_error err;
    memset(f, 0, sizeof *f);
    f->o.output = output;
    f->o.keep = AOE_KEEP_BEST;
    for (size_t i = 0; i < 3; i++) {
        aoe_configuration_defaults(&f->configuration[i]);
        f->configuration[i].name = names[i];
        assert_int_equal(aoei_trial_create(&f->trial[i], &f->configuration[i], 1, 0, &err), 0);
        char *path = aoei_trial_path(&f->o, &f->trial[i], "model/checkpoints");
        assert_int_equal(aoei_make_dir(path, &err), 0);
        aoei_free(path);
        assert_int_equal(aoei_trial_write_record(&f->o, &f->trial[i], &score[i], 0, 1.0, &err), 0);
        assert_int_equal(aoei_trial_read_record(&f->o, &f->trial[i], &err), 0);
    }
}

static int has_model(const fake *f, size_t i) {
    char *path = aoei_trial_path(&f->o, &f->trial[i], "model");
    const int found = aoei_exists(path);
    aoei_free(path);
    return found;
}

static void free_fake(fake *f, char *output) {
    for (size_t i = 0; i < 3; i++)
        aoei_trial_free(&f->trial[i]);
    free(output);
}

static void undefined_scores_are_never_best(void **state) {
    (void)state;
    aoe_error err;
    fake f;
    char *output = test_path(test_dir, "undefined");
    create_fake(&f, output, (double[]){NAN, 0.5, 0.25});
    assert_true(isnan(aoei_trial_score(&f.o, &f.trial[0], 0)));
    size_t best;
    assert_int_equal(aoei_keep_find_best(&best, &f.o, f.trial, 3, NULL), 0);
    assert_int_equal(best, 1);
    /* the score of the only trial is undefined, so the result is 1, the number of trials: there is no best trial */
    assert_int_equal(aoei_keep_find_best(&best, &f.o, f.trial, 1, NULL), 0);
    assert_int_equal(best, 1);
    best = 3;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(aoei_keep_clean_up(&f.o, f.trial, 3, i, &best, &err), 0);
    assert_int_equal(best, 1);
    assert_false(has_model(&f, 0));
    assert_true(has_model(&f, 1));
    assert_false(has_model(&f, 2));
    free_fake(&f, output);
}

static void equal_scores_prefer_the_first(void **state) {
    (void)state;
    aoe_error err;
    fake f;
    char *output = test_path(test_dir, "equal");
    create_fake(&f, output, (double[]){0.5, 0.5, 0.75});
    size_t best = 3;
    f.o.keep = AOE_KEEP_ALL;
    for (size_t i = 2; i-- > 0;)
        assert_int_equal(aoei_keep_clean_up(&f.o, f.trial, 3, i, &best, &err), 0);
    assert_int_equal(best, 0);
    assert_int_equal(aoei_keep_clean_up(&f.o, f.trial, 3, 2, &best, &err), 0);
    assert_int_equal(best, 2);
    assert_true(has_model(&f, 0) && has_model(&f, 1) && has_model(&f, 2));
    free_fake(&f, output);
}

static void damaged_records_are_errors(void **state) {
    (void)state;
    aoe_error err;
    fake f;
    char *output = test_path(test_dir, "damaged");
    create_fake(&f, output, (double[]){0.5, 0.5, 0.5});
    char *path = aoei_trial_path(&f.o, &f.trial[0], "record.json");
    assert_int_equal(aoei_write_file(path, "{\"point\":{}", 11, &err), 0);
    assert_int_equal(aoei_trial_read_record(&f.o, &f.trial[0], &err), AOE_EFORMAT);
    assert_int_equal(aoei_write_file(path, "{\"point\":{},\"seed\":2}", 21, &err), 0);
    assert_int_equal(aoei_trial_read_record(&f.o, &f.trial[0], &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "another run"));
    unlink(path);
    assert_int_equal(aoei_trial_read_record(&f.o, &f.trial[0], &err), 0);
    assert_null(f.trial[0].record);
    aoei_free(path);
    free_fake(&f, output);
}

/* Runs of different CPU tiers are not mixed: neither with this process, nor with each other when parts are joined. */
static void tiers_are_not_mixed(void **state) {
    (void)state;
    static const char *const tiers[] = {"another", "second"};
    aoe_error err;
    fake f;
    char *output = test_path(test_dir, "tiers");
    create_fake(&f, output, (double[]){0.5, 0.5, 0.5});
    assert_int_equal(aoei_trials_check_tier(&f.o, f.trial, 3, &err), 0);
    f.o.join = 1;
    assert_int_equal(aoei_trials_check_tier(&f.o, f.trial, 3, &err), 0);
    for (size_t i = 0; i < 3; i++) { /* all runs are from a computer with another tier */
        json_object_set_new(f.trial[i].record, "cpu", json_string(tiers[0]));
        assert_int_equal(aoei_trials_check_tier(&f.o, f.trial, 3, &err), i < 2 ? AOE_EARG : 0);
    }
    f.o.join = 0;
    assert_int_equal(aoei_trials_check_tier(&f.o, f.trial, 3, &err), AOE_EARG);
    test_message(err.message, "the run a, seed 1 used the CPU tier another, but this process uses");
    f.o.join = 1;
    json_object_set_new(f.trial[2].record, "cpu", json_string(tiers[1]));
    assert_int_equal(aoei_trials_check_tier(&f.o, f.trial, 3, &err), AOE_EARG);
    test_message(err.message, "the run c, seed 1 used the CPU tier second, but a, seed 1 uses another");
    json_object_del(f.trial[2].record, "cpu"); /* the record of an earlier version */
    assert_int_equal(aoei_trials_check_tier(&f.o, f.trial, 3, &err), 0);
    free_fake(&f, output);
}

static void pairs_are_read_as_written(void **state) {
    (void)state;
    aoe_error err;
    fake f;
    const double cosine[] = {0.1, -1.0 / 3, 1}, gold[] = {5, 0, 2.5};
    double *x, *y;
    size_t n;
    char *output = test_path(test_dir, "pairs");
    create_fake(&f, output, (double[]){0, 0, 0});
    assert_int_equal(aoei_trial_write_pairs(&f.o, &f.trial[0], 0, cosine, gold, 3, &err), 0);
    assert_int_equal(aoei_trial_read_pairs(&f.o, &f.trial[0], 0, &x, &y, &n, &err), 0);
    assert_int_equal(n, 3);
    assert_memory_equal(x, cosine, sizeof cosine);
    assert_memory_equal(y, gold, sizeof gold);
    aoei_free(x);
    aoei_free(y);
    char *path = aoei_trial_path(&f.o, &f.trial[0], "scores-1.tsv");
    assert_int_equal(aoei_write_file(path, "cosine\tgold\n0.5\t1\n0.5", 21, &err), 0);
    assert_int_equal(aoei_trial_read_pairs(&f.o, &f.trial[0], 0, &x, &y, &n, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "line 3"));
    aoei_free(path);
    free_fake(&f, output);
}

/* ---- jobs that run in child processes */

enum { JOBS = 5 };

typedef struct jobs {
    size_t ended, failed;
    char message[200];
} jobs;

static int run_job(void *user, size_t i, aoei_child *child, aoe_error *err) {
    (void)user;
    aoei_child_progress(child, 0.5);
    if (i == 1) {
        snprintf(err->message, sizeof err->message, "job 1 failed");
        return AOE_EIO;
    }
    if (i == 2)
        abort();
    return 0;
}

static void on_job_end(void *user, size_t i, const aoei_job_end *end) {
    jobs *j = user;
    j->ended++;
    j->failed += end->error != NULL;
    if (i == 1)
        assert_string_equal(end->error->message, "job 1 failed");
    if (i == 2)
        assert_non_null(strstr(end->error->message, "ended by signal 6"));
}

static int on_job_tick(void *user, size_t running, double done) {
    (void)user;
    assert_in_range(running, 0, 2);
    assert_true(done >= 0 && done <= 2);
    return 0;
}

static void processes_report_their_end(void **state) {
    (void)state;
    aoei_job job[JOBS] = {0};
    jobs j = {0};
    aoe_error err;
    char *log = test_path(test_dir, "log.txt");
    for (size_t i = 0; i < JOBS; i++)
        job[i] = (aoei_job){.log = log, .memory = 1 << 20, .skip = i == 3};
    const aoei_processes p = {.job = job,
                              .n = JOBS,
                              .at_once = 2,
                              .memory = 2 << 20,
                              .run = run_job,
                              .ended = on_job_end,
                              .tick = on_job_tick,
                              .user = &j};
    assert_int_equal(aoei_processes_run(&p, &err), 0);
    assert_int_equal(j.ended, 4);
    assert_int_equal(j.failed, 2);
    free(log);
}

/* ---- options and their descriptions */

static void bad_options_write_nothing(void **state) {
    (void)state;
    experiment x;
    aoe_grid_options o;
    aoe_grid_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    aoe_grid_options_defaults(&o);
    assert_int_equal(aoe_grid(&o, &r, &err), AOE_EARG);
    create(&x, "bad", &o.experiment);
    o.experiment.threads = 1;
    o.experiment.jobs = 2;
    assert_int_equal(aoe_grid(&o, &r, &err), AOE_EARG);
    o.experiment.threads = 2;
    x.seeds[1] = x.seeds[0];
    assert_int_equal(aoe_grid(&o, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.seeds"));
    x.seeds[1]++;
    x.configuration[1].name = x.configuration[0].name;
    assert_int_equal(aoe_grid(&o, &r, &err), AOE_EARG);
    x.configuration[1].name = "other";
    x.configuration[1].values = "1";
    assert_int_equal(aoe_grid(&o, &r, &err), AOE_EARG);
    x.configuration[1].values = NULL;
    x.dev.path = "nowhere.tsv";
    assert_int_equal(aoe_grid(&o, &r, &err), AOE_ENOENT);
    x.dev.path = dev_path;
    o.experiment.memory = 1;
    assert_int_equal(aoe_grid(&o, &r, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.memory"));
    assert_false(aoei_exists(x.output));
    free(x.output);
}

/* Tests that invalid options and data of any configuration are found before the first run. */
static void invalid_configurations_write_nothing(void **state) {
    (void)state;
    static const char *const texts = "the cat\na dog\nthe bird\n";
    char *plain = test_write_text(test_dir, "plain.txt", texts);
    aoe_train_data data;
    aoe_train_data_defaults(&data, plain);
    experiment x;
    aoe_compare_options o;
    aoe_compare_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    aoe_compare_options_defaults(&o);
    create(&x, "invalid", &o.experiment);
    o.experiment.files = &x.dev;
    o.experiment.n_files = 1;
    aoe_train_options *train = &x.configuration[1].train;
    const aoe_train_options valid = *train;
    for (int i = 0; i < 5; i++) {
        static const char *const fragments[] = {
            "lr=0.01: options.warmup is -1; give a number from 0 to",
            "lr=0.01: options.method gist needs a guide",
            "train.tsv:5: label 3 is not a class",
            "plain.txt: contains plain texts, but options.method angle",
            "without dropout both embeddings of a text are equal",
        };
        *train = valid;
        if (i == 0)
            train->args.warmup = -1;
        if (i == 1)
            train->method = AOE_METHOD_GIST;
        if (i == 2) {
            train->method = AOE_METHOD_SBERT_CLASSIFICATION;
            train->classes = 3;
        }
        if (i >= 3)
            train->data = &data;
        if (i == 4) {
            train->method = AOE_METHOD_SIMCSE_UNSUP;
            train->args.dropout = 0;
        }
        assert_int_not_equal(aoe_compare(&o, &r, &err), 0);
        if (!strstr(err.message, fragments[i]) || strncmp(err.message, "lr=0.01: ", 9) != 0)
            fail_msg("%s", err.message);
        assert_int_equal(r.n + x.started, 0);
        assert_false(aoei_exists(x.output));
        aoe_compare_result_free(&r);
    }
    free(x.output);
    free(plain);
}

static void descriptions_name_the_difference(void **state) {
    (void)state;
    aoe_train_options a, b;
    char text[200];
    aoe_train_options_defaults(&a);
    b = a;
    json_t *x = aoei_describe_options(&a), *y = aoei_describe_options(&b);
    assert_int_equal(aoei_describe_difference(x, y, text, sizeof text), 0);
    json_decref(y);
    b.args.seed++; /* the seed may differ, because it is not part of a configuration */
    b.objective.w_angle = 0.02;
    y = aoei_describe_options(&b);
    assert_int_equal(aoei_describe_difference(x, y, text, sizeof text), 1);
    assert_string_equal(text, "options.w_angle was 1.0 and is now 0.02");
    json_decref(x);
    json_decref(y);
    aoe_train_method_defaults(&a, AOE_METHOD_CONSERT);
    b = a;
    b.views[1] = (aoe_view){AOE_VIEW_TOKEN_CUT, 0.5};
    x = aoei_describe_options(&a);
    y = aoei_describe_options(&b);
    assert_int_equal(aoei_describe_difference(x, y, text, sizeof text), 1);
    assert_non_null(strstr(text, "options.views was [{\"view\":\"feature-cut\",\"rate\":0.2}"));
    json_decref(x);
    aoe_prefix prefix = {16, 1};
    b.matryoshka = &prefix;
    b.n_matryoshka = 1;
    x = aoei_describe_options(&b);
    assert_int_equal(aoei_describe_difference(x, y, text, sizeof text), 1);
    assert_non_null(strstr(text, "options.matryoshka was"));
    json_decref(x);
    json_decref(y);
}

/* The description contains every option that changes the trained model. */
static void descriptions_contain_all_options(void **state) {
    (void)state;
    aoe_train_options a;
    aoe_train_options_defaults(&a);
    json_t *x = aoei_describe_options(&a);
    aoei_option_group groups[AOEI_TRAIN_GROUPS + 1] = {
        [AOEI_TRAIN_GROUPS] = {.options = aoei_model_table,
                               .n = AOEI_MODEL_ROWS,
                               .offset = offsetof(aoe_train_options, args.model_options)}};
    memcpy(groups, aoei_train_groups, sizeof aoei_train_groups);
    for (size_t g = 0; g <= AOEI_TRAIN_GROUPS; g++) {
        for (size_t i = 0; i < groups[g].n; i++) {
            const aoei_option *row = &groups[g].options[i];
            if (strcmp(row->name, "no-normalize") == 0) /* its field is recorded as normalize */
                continue;
            aoe_train_options b = a;
            char text[200], field[AOEI_NAME_SIZE], expected[AOEI_NAME_SIZE + 20];
            unsigned char *target = (unsigned char *)&b + groups[g].offset + row->offset;
            if (row->kind == AOEI_OPTION_TEXT || row->kind == AOEI_OPTION_PROMPT || row->kind == AOEI_OPTION_MODEL)
                *(const char **)(void *)target = "other";
            else if (row->kind == AOEI_OPTION_REAL)
                *(double *)(void *)target = 0.75;
            else if (strcmp(row->name, "lr-steps") == 0)
                b.args.n_lr_steps = 1;
            else /* an integer type; a different choice, set, view or method */
                *target ^= 1;
            json_t *y = aoei_describe_options(&b);
            const int differs = aoei_describe_difference(x, y, text, sizeof text);
            snprintf(expected, sizeof expected, "options.%s was", aoei_option_field(field, row));
            if (differs != (row->record != AOEI_RECORD_NEVER) ||
                (differs && strncmp(text, expected, strlen(expected)) != 0))
                fail_msg("%s: %s", row->name, differs ? text : "no difference");
            json_decref(y);
        }
    }
    aoe_train_options b = a;
    b.args.optimizer = AOE_OPTIMIZER_SGD;
    json_t *y = aoei_describe_options(&b);
    char message[200];
    assert_int_equal(aoei_describe_difference(x, y, message, sizeof message), 1);
    assert_string_equal(message, "options.optimizer was \"adamw\" and is now \"sgd\"");
    json_decref(y);
    json_t *earlier = json_deep_copy(x); /* a record of a version that did not have an option */
    json_object_del(earlier, "optimizer");
    char text[200];
    assert_int_equal(aoei_describe_difference(earlier, x, text, sizeof text), 0);
    y = json_deep_copy(x);
    json_object_set_new(y, "optimizer", json_integer(AOE_OPTIMIZER_SGD));
    assert_int_equal(aoei_describe_difference(earlier, y, text, sizeof text), 1);
    assert_string_equal(text, "options.optimizer was not recorded (default: \"adamw\") and is now \"sgd\"");
    json_decref(y);
    aoe_train_method_defaults(&b, AOE_METHOD_INFERSENT); /* its default optimizer is not that of other methods */
    y = aoei_describe_options(&b);
    json_object_set_new(earlier, "method", json_integer(AOE_METHOD_INFERSENT));
    json_object_update(earlier, y);
    json_object_del(earlier, "optimizer");
    assert_int_equal(aoei_describe_difference(earlier, y, text, sizeof text), 0);
    json_decref(y);
    assert_int_equal(aoei_describe_difference(NULL, x, text, sizeof text), 1);
    json_decref(earlier);
    json_decref(x);
}

/* The descriptions of runs that differ in an option of the teachers or of the method distill name this option. */
static void descriptions_contain_the_teachers(void **state) {
    (void)state;
    enum { N = 9 };
    aoe_train_options a, changed[N];
    static const char *const names[N] = {"teachers was",    "teachers[1] was",    "teachers[2] was",
                                         "teachers[3] was", "teacher_cache was",  "teacher_map was",
                                         "w_vectors was",   "w_similarities was", "vector_loss was"};
    aoe_train_options_defaults(&a);
    aoe_train_method_defaults(&a, AOE_METHOD_DISTILL);
    a.teachers[0] = "one";
    for (size_t i = 0; i < N; i++)
        changed[i] = a;
    for (size_t i = 0; i < AOE_MAX_TEACHERS; i++)
        changed[i].teachers[i] = "other";
    changed[4].teacher_cache = "cache";
    changed[5].teacher_map = AOE_TEACHER_MAP_KEPT;
    changed[6].objective.w_vectors = 0.5;
    changed[7].objective.w_similarities = 0.5;
    changed[8].objective.vector_loss = AOE_VECTOR_LOSS_SQUARES;
    json_t *x = aoei_describe_options(&a);
    for (size_t i = 0; i < N; i++) {
        char text[200];
        json_t *y = aoei_describe_options(&changed[i]);
        assert_int_equal(aoei_describe_difference(x, y, text, sizeof text), 1);
        if (!strstr(text, names[i]))
            fail_msg("'%s' does not contain '%s'", text, names[i]);
        json_decref(y);
    }
    json_decref(x);
}

/* Runs the part `part` of `parts` of a grid, or with parts 0, joins the parts. Returns the result code. */
static int run_part(experiment *x, aoe_grid_options *o, size_t part, size_t parts, aoe_grid_result *result,
                    aoe_error *err) {
    *result = (aoe_grid_result){.struct_size = sizeof *result};
    *err = (aoe_error){0};
    x->finished = 0;
    o->experiment.part = part;
    o->experiment.parts = parts;
    o->experiment.join = !parts;
    return aoe_grid(o, result, err);
}

/* The parts of a grid compute all of its runs once, and the join gives the result of one process. */
static void parts_give_the_result_of_one_process(void **state) {
    (void)state;
    experiment x, y;
    aoe_grid_options o, p;
    aoe_grid_result whole = {.struct_size = sizeof whole}, result;
    aoe_error err = {0};
    aoe_grid_options_defaults(&o);
    create(&x, "parts_whole", &o.experiment);
    assert_int_equal(aoe_grid(&o, &whole, &err), 0);
    aoe_grid_options_defaults(&p);
    create(&y, "parts", &p.experiment);
    char *results = test_path(y.output, "results.jsonl");

    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(run_part(&y, &p, 0, 0, &result, &err), AOE_ENOENT);
        char expected[64];
        snprintf(expected, sizeof expected, ": %zu of 4 runs are not finished, for example", i < 2 ? 4 - 2 * i : 1);
        test_message(err.message, expected);
        assert_int_equal(y.finished, 0);
        aoe_grid_result_free(&result);
        /* part 0 of 2 has the runs 0 and 2; N may change between parts that do not run at the same time */
        const size_t part[] = {0, 3, 1}, parts[] = {2, 4, 4}, runs[] = {2, 1, 1};
        assert_int_equal(run_part(&y, &p, part[i], parts[i], &result, &err), 0);
        assert_int_equal(y.finished, runs[i]);
        aoe_grid_result_free(&result);
        assert_int_equal(run_part(&y, &p, part[i], parts[i], &result, &err), 0);
        assert_int_equal(y.finished, 0); /* a part that is complete is not repeated */
        aoe_grid_result_free(&result);
        assert_false(aoei_exists(results));
    }
    assert_int_equal(run_part(&y, &p, 0, 0, &result, &err), 0);
    assert_int_equal(y.finished, 0);
    assert_true(aoei_exists(results));
    assert_int_equal(result.n, whole.n);
    assert_int_equal(result.finished, 4);
    assert_int_equal(result.best, whole.best);
    for (size_t i = 0; i < whole.n; i++)
        assert_memory_equal(result.rows[i]->score, whole.rows[i]->score, 2 * sizeof(double));
    assert_true(aoei_exists(result.best_run_model));
    aoe_grid_result_free(&result);

    assert_int_equal(run_part(&y, &p, 2, 2, &result, &err), AOE_EARG);
    test_message(err.message, "options.part is 2 and options.parts is 2");
    aoe_grid_result_free(&result);
    assert_int_equal(run_part(&y, &p, 1, 0, &result, &err), AOE_EARG);
    aoe_grid_result_free(&result);
    p.experiment.part = 0;
    p.experiment.parts = 2;
    p.experiment.join = 1;
    assert_int_equal(aoe_grid(&p, &result, &err), AOE_EARG);
    test_message(err.message, "options.join");
    aoe_grid_result_free(&result);
    aoe_grid_result_free(&whole);
    free(results);
    free(x.output);
    free(y.output);
}

/* The parts of a comparison give the differences of one process. */
static void parts_of_a_comparison(void **state) {
    (void)state;
    experiment x, y;
    aoe_compare_options o, p;
    aoe_compare_result whole = {.struct_size = sizeof whole}, result = {.struct_size = sizeof result};
    aoe_error err = {0};
    aoe_compare_options_defaults(&o);
    create(&x, "compare_whole", &o.experiment);
    o.experiment.files = &x.dev;
    o.experiment.n_files = 1;
    o.bootstrap.replicates = 20;
    assert_int_equal(aoe_compare(&o, &whole, &err), 0);
    p = o;
    create(&y, "compare_parts", &p.experiment);
    p.experiment.files = &y.dev;
    for (size_t i = 0; i < 3; i++) {
        p.experiment.join = 1;
        p.experiment.part = p.experiment.parts = 0;
        assert_int_equal(aoe_compare(&p, &result, &err), AOE_ENOENT);
        aoe_compare_result_free(&result);
        result = (aoe_compare_result){.struct_size = sizeof result};
        p.experiment.join = 0;
        p.experiment.part = i;
        p.experiment.parts = 3;
        assert_int_equal(aoe_compare(&p, &result, &err), 0);
        aoe_compare_result_free(&result);
        result = (aoe_compare_result){.struct_size = sizeof result};
    }
    assert_int_equal(y.finished, 4);
    p.experiment.join = 1;
    p.experiment.part = p.experiment.parts = 0;
    assert_int_equal(aoe_compare(&p, &result, &err), 0);
    assert_int_equal(y.finished, 4);
    assert_int_equal(result.n, whole.n);
    assert_int_equal(result.finished, whole.finished);
    aoe_compare_result_free(&result);
    aoe_compare_result_free(&whole);
    free(x.output);
    free(y.output);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grid_ranks_and_resumes),
        cmocka_unit_test(interrupted_resumes),
        cmocka_unit_test(failed_runs_are_counted),
        cmocka_unit_test(compare_tests_differences),
        cmocka_unit_test(compare_corrects_p),
        cmocka_unit_test(undefined_scores_are_never_best),
        cmocka_unit_test(equal_scores_prefer_the_first),
        cmocka_unit_test(damaged_records_are_errors),
        cmocka_unit_test(tiers_are_not_mixed),
        cmocka_unit_test(parts_give_the_result_of_one_process),
        cmocka_unit_test(parts_of_a_comparison),
        cmocka_unit_test(pairs_are_read_as_written),
        cmocka_unit_test(processes_report_their_end),
        cmocka_unit_test(bad_options_write_nothing),
        cmocka_unit_test(descriptions_name_the_difference),
        cmocka_unit_test(descriptions_contain_all_options),
        cmocka_unit_test(descriptions_contain_the_teachers),
        cmocka_unit_test(invalid_configurations_write_nothing),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
