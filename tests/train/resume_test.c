/* SPDX-License-Identifier: MIT
 * Tests resuming. A run is cancelled, or killed at any moment, and then resumed. Its files must be bit-identical to the
 * files of an uninterrupted run, except for the log: its times may differ, it may contain additional start and
 * checkpoint lines, and a checkpoint line may be missing. If an option has changed, resuming must be rejected with a
 * message that names the option. To repeat the random moments of a failed test, set AOE_TEST_SEED.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/io_fault.h"
#include "base/json.h"
#include "base/json_decode.h"
#include "base/random.h"

/* Contents of the files of the uninterrupted run. */
typedef struct expected {
    char *weights, *settings, *log; /* owned */
    size_t size;                    /* number of bytes of weights */
} expected;

static expected run_whole(train_run *r) {
    expected e;
    train_run_ok(r, 1);
    e.weights = train_run_read(r, "model.safetensors", &e.size);
    e.settings = train_run_read(r, "aoe.json", NULL);
    e.log = train_run_read(r, "train-log.jsonl", NULL);
    assert_true(e.weights && e.settings && e.log);
    return e;
}

static void expected_free(expected e) {
    free(e.weights);
    free(e.settings);
    free(e.log);
}

/* Parses a line of the log and removes the fields that depend on time. Returns a new reference, which the caller
 * releases. */
static json_t *read_line(const char *line, size_t len) {
    int no_memory;
    json_error_t error;
    json_t *o = aoei_json_decode(line, len, 0, &error, &no_memory);
    assert_non_null(o);
    json_object_del(o, "seconds");
    json_object_del(o, "tokens_per_second");
    return o;
}

/* Asserts that two logs have equal lines, except for start and checkpoint lines. The log of a stopped run has an
 * additional checkpoint line. In the log of a killed run, a checkpoint line may be missing. */
static void check_logs(const char *want, const char *got) {
    for (;;) {
        json_t *a = NULL, *b = NULL;
        for (const char **s = &want; s; s = s == &want ? &got : NULL)
            while (**s) {
                const size_t len = strcspn(*s, "\n");
                assert_true((*s)[len] == '\n'); /* the last line must be complete */
                json_t *o = read_line(*s, len);
                *s += len + 1;
                if (strcmp(json_string_value(json_object_get(o, "event")), "checkpoint") == 0 ||
                    strcmp(json_string_value(json_object_get(o, "event")), "start") == 0) {
                    json_decref(o);
                    continue;
                }
                *(s == &want ? &a : &b) = o;
                break;
            }
        assert_int_equal(!a, !b);
        if (!a)
            return;
        if (!json_equal(a, b))
            fail_msg("got the log line %s, expected %s", json_dumps(b, 0), json_dumps(a, 0));
        json_decref(a);
        json_decref(b);
    }
}

/* Asserts that the files in the output directory of r equal the files of the uninterrupted run, e. */
static void check_result(const train_run *r, const expected *e) {
    train_run_assert_output(r, e->weights, e->size, e->settings);
    char *log = train_run_read(r, "train-log.jsonl", NULL);
    check_logs(e->log, log);
    free(log);
    char *checkpoints = test_path(r->output, "checkpoints");
    assert_int_equal(test_count_entries(checkpoints), r->o.args.keep_checkpoints);
    free(checkpoints);
}

/* Stops a run at the event `kind` of step `step` and resumes it with another number of threads. Asserts that the files
 * equal the files of the uninterrupted run, e. */
static void stop_and_resume(train_run *r, const expected *e, aoe_train_event_kind kind, size_t step) {
    char name[32];
    aoe_error err = {0};
    snprintf(name, sizeof name, "stop-%d-%zu", (int)kind, step);
    train_run_output(r, name);
    r->n = r->evaluations = 0;
    r->o.args.resume = 0;
    r->stop_kind = (int)kind;
    r->stop_step = step;
    assert_int_equal(train_run_go(r, 1, &err), AOE_ECANCELLED);
    assert_non_null(strstr(err.message, "options.resume"));
    assert_int_equal(train_run_count(r, AOE_TRAIN_DONE), 0);
    char *model = train_run_read(r, "model.safetensors", NULL);
    assert_null(model);
    r->stop_kind = -1;
    r->o.args.resume = 1;
    train_run_ok(r, 2);
    assert_int_equal(train_run_count(r, AOE_TRAIN_STEP), 12); /* a run has 12 steps, so no step was repeated */
    check_result(r, e);
}

static void test_cancel(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    const expected e = run_whole(&r);
    for (size_t step = 1; step < 12; step++)
        stop_and_resume(&r, &e, AOE_TRAIN_STEP, step);
    free(test_write_text(r.model, "LICENSE", "terms\n"));
    stop_and_resume(&r, &e, AOE_TRAIN_EVAL, 4);
    /* training copied LICENSE from the model; the copy must remain after the checkpoint that was written at the stop is
     * removed */
    char *license = train_run_read(&r, "LICENSE", NULL);
    assert_non_null(license);
    assert_string_equal(license, "terms\n");
    free(license);
    stop_and_resume(&r, &e, AOE_TRAIN_EVAL, 8);
    stop_and_resume(&r, &e, AOE_TRAIN_CHECKPOINT, 3);
    stop_and_resume(&r, &e, AOE_TRAIN_CHECKPOINT, 9);
    stop_and_resume(&r, &e, AOE_TRAIN_START, 0);
    expected_free(e);
    train_run_destroy(&r);
}

/* Tests a run that is stopped and resumed after every step. The run accumulates gradients, has no evaluation, and keeps
 * two checkpoints. */
static void test_cancel_every_step(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.evaluate = NULL;
    r.o.accumulate = 2;
    r.o.args.keep_checkpoints = 2;
    const expected e = run_whole(&r);
    train_run_output(&r, "steps");
    r.o.args.resume = 1;
    for (size_t step = 1; step <= 6; step++) {
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = step;
        r.n = 0;
        const int code = train_run_go(&r, 1 + step % 3, NULL);
        assert_int_equal(code, step < 6 ? AOE_ECANCELLED : AOE_OK); /* a run cannot be stopped after its last step */
        assert_int_equal(train_run_count(&r, AOE_TRAIN_STEP), 1);
    }
    check_result(&r, &e);
    expected_free(e);
    train_run_destroy(&r);
}

/* Tests bf16, for which the packed weights are computed again from the weights in the checkpoint. Recomputation of
 * activations does not change the result, so it can be switched on or off when a run is resumed. */
static void test_cancel_bf16(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.o.args.model_options.dtype = AOE_DTYPE_BF16;
    r.o.cache_chunk = 3;
    const expected e = run_whole(&r);
    for (size_t step = 1; step < 12; step += 3) {
        r.o.args.recompute = step % 2;
        stop_and_resume(&r, &e, AOE_TRAIN_STEP, step);
    }
    stop_and_resume(&r, &e, AOE_TRAIN_EVAL, 4);
    stop_and_resume(&r, &e, AOE_TRAIN_CHECKPOINT, 9);
    expected_free(e);
    train_run_destroy(&r);
}

/* Tests that resuming a finished run takes no step and does not change the files. */
static void test_resume_finished(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    const expected e = run_whole(&r);
    r.o.args.resume = 1;
    r.n = 0;
    train_run_ok(&r, 1);
    assert_int_equal(train_run_count(&r, AOE_TRAIN_STEP), 0);
    assert_int_equal(train_run_count(&r, AOE_TRAIN_DONE), 1);
    check_result(&r, &e);
    expected_free(e);
    train_run_destroy(&r);
}

/* Tests that a resumed run keeps the best score and the number of evaluations without improvement. scores[i] is the
 * score that evaluation i returns. */
static void test_patience(void **state) {
    (void)state;
    static const double scores[] = {0.1, 0.5, (double)NAN, 0.3, 0.6, 0.2};
    train_run r;
    train_run_create(&r);
    r.o.args.eval_every = 2;
    r.o.args.patience = 2;
    r.scores = scores;
    const expected e = run_whole(&r);
    for (size_t step = 1; step < 8; step++) {
        char name[32];
        snprintf(name, sizeof name, "stop-%zu", step);
        train_run_output(&r, name);
        r.o.args.resume = 0;
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = step;
        r.evaluations = 0;
        assert_int_equal(train_run_go(&r, 1, NULL), AOE_ECANCELLED);
        r.o.args.resume = 1;
        r.stop_kind = -1;
        train_run_ok(&r, 1);
        assert_int_equal(r.events[r.n - 1].step, 8);
        check_result(&r, &e);
    }
    expected_free(e);
    train_run_destroy(&r);
}

/* Tests that a resumed run does not evaluate the start model again and keeps its weights, if no step is better. */
static void test_start_model(void **state) {
    (void)state;
    static const double scores[] = {0.5, 0.9, 0.2};
    train_run r;
    train_run_create(&r);
    r.scores = scores;
    r.start_score = 1;
    const expected e = run_whole(&r);
    assert_int_equal(r.events[r.n - 1].best_step, 0);
    for (size_t step = 1; step < 12; step += 3) {
        r.start_evaluations = 0;
        stop_and_resume(&r, &e, AOE_TRAIN_STEP, step);
        assert_int_equal(r.start_evaluations, 1);
        assert_int_equal(r.events[r.n - 1].best_step, 0);
        assert_true(r.events[r.n - 1].start_score == 1 && r.events[r.n - 1].trained_score == 0.9);
    }
    stop_and_resume(&r, &e, AOE_TRAIN_EVAL, 0);
    expected_free(e);
    train_run_destroy(&r);
}

static void test_changed_options(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, NULL), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    const aoe_train_options good = r.o;
#define CHANGED(field, value, name)                                                                                    \
    do {                                                                                                               \
        aoe_error err = {0};                                                                                           \
        r.o = good;                                                                                                    \
        r.o.field = value;                                                                                             \
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);                                                         \
        if (!strstr(err.message, name) || !strstr(err.message, "options.force"))                                       \
            fail_msg("expected an error about %s, found: %s", name, err.message);                                      \
        assert_int_equal(train_run_go(&r, 1, NULL), AOE_EARG);                                                         \
    } while (0)
    CHANGED(args.lr, 2e-3, "options.lr was ");
    CHANGED(args.epochs, 3, "options.epochs was ");
    CHANGED(args.max_steps, 11, "options.max_steps was ");
    CHANGED(batch_size, 5, "options.batch_size was ");
    CHANGED(accumulate, 2, "options.accumulate was ");
    CHANGED(args.warmup, 0.2, "options.warmup was ");
    CHANGED(args.weight_decay, 0, "options.weight_decay was ");
    CHANGED(args.max_grad_norm, 2, "options.max_grad_norm was ");
    CHANGED(args.dropout, 0.2, "options.dropout was ");
    CHANGED(args.seed, 7, "options.seed was ");
    CHANGED(args.eval_every, 5, "options.eval_every was ");
    CHANGED(args.patience, 1, "options.patience was ");
    CHANGED(dev_fingerprint, 99, "the dev set is another one");
    CHANGED(evaluate, NULL, "options.dev was ");
    CHANGED(args.model, "elsewhere", "options.model was ");
    CHANGED(objective.w_cosine, 0.5, "options.w_cosine was ");
    CHANGED(objective.tau_ibn, 0.1, "options.tau_ibn was ");
    CHANGED(objective.isp, 0, "options.isp was ");
    CHANGED(objective.angle_form, AOE_ANGLE_PHASE, "options.angle_form was ");
    CHANGED(objective.ibn_threshold, 3, "has the same examples, but other settings or another options.ibn_threshold");
    CHANGED(args.model_options.pooling, AOE_POOLING_CLS, "options.pooling was ");
    CHANGED(args.model_options.prompt, "the {text}", "options.prompt was ");
    CHANGED(args.model_options.max_length, 12, "options.max_length was ");
    CHANGED(args.model_options.normalize, 1, "options.normalize was ");
    CHANGED(args.model_options.dtype, AOE_DTYPE_BF16, "options.dtype was ");
    CHANGED(cache_chunk, 2, "options.cache_chunk was ");
#undef CHANGED
    r.o = good; /* options that do not affect the result may change */
    r.o.args.save_every = 2;
    r.o.args.keep_checkpoints = 3;
    r.o.args.batch_tokens = 50;
    r.o.args.recompute = 1;
    train_run_ok(&r, 3);
    train_run_destroy(&r);
}

/* Tests options that are set only before or only after the interruption. A run with a time limit must not be resumed
 * without a time limit, and a run without a time limit must not be resumed with one. */
static void test_removed_option(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    for (int limited = 0; limited < 2; limited++) {
        train_run_output(&r, limited ? "limited" : "unlimited");
        r.o.args.resume = 0;
        r.o.args.max_minutes = limited ? 1000 : 0;
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = 5;
        assert_int_equal(train_run_go(&r, 1, NULL), AOE_ECANCELLED);
        r.stop_kind = -1;
        r.o.args.resume = 1;
        r.o.args.max_minutes = limited ? 0 : 1000;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
        const char *want =
            limited ? "options.max_minutes was 1000.0 and is now not set" : "options.max_minutes was not set";
        if (!strstr(err.message, want))
            fail_msg("%s", err.message);
    }
    train_run_destroy(&r);
}

/* Tests that a checkpoint of an earlier version can be resumed. In such a checkpoint, the keys of options that were not
 * set are missing. */
static void test_missing_key(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, NULL), AOE_ECANCELLED);
    char *path = test_path(r.output, "checkpoints/step-5/trainer.json");
    json_t *o = NULL;
    assert_int_equal(aoei_json_load(&o, path, NULL), 0);
    assert_int_equal(json_object_del(json_object_get(o, "options"), "max_minutes"), 0);
    assert_int_equal(json_object_del(json_object_get(o, "options"), "bidirectional_from"), 0);
    assert_int_equal(aoei_json_save(o, path, NULL), 0);
    json_decref(o);
    free(path);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    train_run_ok(&r, 1);
    train_run_destroy(&r);
}

static void test_changed_data(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, NULL), AOE_ECANCELLED);
    r.o.args.resume = 1;
    free(tiny_table(r.dir, "train.tsv", TRAIN_PAIRS, 9));
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(
        strstr(err.message, "the training data (options.data) differ: file 1 of 1 has 22 examples as before, but "));
    free(tiny_table(r.dir, "train.tsv", TRAIN_PAIRS - 2, 9));
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(
        strstr(err.message, "file 1 of 1 had 22 examples and now has 20; resume with unchanged options and data"));
    assert_null(strchr(err.message, '{'));
    train_run_destroy(&r);
}

/* Tests resuming without a checkpoint. If the output directory contains no model, training starts from the beginning.
 * If it contains a model, resuming must be rejected. */
static void test_nothing_to_resume(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    aoe_error err = {0};
    const expected e = run_whole(&r);
    train_run_output(&r, "fresh");
    r.o.args.resume = 1;
    r.n = 0;
    train_run_ok(&r, 1);
    assert_int_equal(train_run_count(&r, AOE_TRAIN_STEP), 12);
    check_result(&r, &e);
    char *checkpoints = test_path(r.output, "checkpoints");
    assert_int_equal(aoei_remove_tree(checkpoints, NULL), 0);
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "options.force"));
    free(checkpoints);
    expected_free(e);
    train_run_destroy(&r);
}

/* ------------------------------------------------------------------ killed runs */

static uint64_t kill_step; /* number of the I/O operation at which a second thread kills the process; 0: none */

static void *kill_at_step(void *arg) {
    (void)arg;
    while (aoei_io_count() < kill_step)
        sched_yield();
    kill(getpid(), SIGKILL);
    return NULL;
}

/* Trains in a child process, which is killed at kill_step or by the event callback of r. The parent process must have
 * only one thread. */
static void run_child(train_run *r) {
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        pthread_t thread;
        aoei_io_fail_at(0, 0); /* resets the count of I/O operations */
        if (kill_step && pthread_create(&thread, NULL, kill_at_step, NULL))
            _exit(3);
        _exit(train_run_go(r, 2, NULL) ? 2 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        fail_msg("the child ended with status %d, expected SIGKILL or exit status 0", status);
}

static uint64_t test_seed(void) {
    const char *given = getenv("AOE_TEST_SEED");
    const uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL) * 1000 + (uint64_t)getpid();
    printf("AOE_TEST_SEED=%" PRIu64 "\n", seed);
    fflush(stdout); /* without this, each child process would print the buffered text again */
    return seed;
}

/* Tests a run that is killed up to three times, either at a random I/O operation or at an event, and then resumed. */
static void test_kill(void **state) {
    (void)state;
    enum { TRIALS = 14 };
    train_run r;
    aoei_rng rng;
    train_run_create(&r);
    aoei_rng_init(&rng, test_seed(), AOEI_STREAM_TEST, 0);
    aoei_io_fail_at(0, 0);
    const expected e = run_whole(&r);
    const uint32_t steps = (uint32_t)aoei_io_count();
    assert_true(steps > 100);
    for (int trial = 0; trial < TRIALS; trial++) {
        char name[32];
        snprintf(name, sizeof name, "kill-%d", trial);
        train_run_output(&r, name);
        r.o.args.resume = 0;
        r.kill = 1;
        for (int kills = 0; kills < 1 + trial % 3; kills++) {
            kill_step = 0;
            r.stop_kind = -1;
            if (trial % 4 == 3) { /* the event callback kills the process */
                r.stop_kind = aoei_rng_below(&rng, 2) ? AOE_TRAIN_STEP : AOE_TRAIN_CHECKPOINT;
                r.stop_step = 1 + aoei_rng_below(&rng, 12);
            } else {
                kill_step = 1 + aoei_rng_below(&rng, steps);
            }
            char *model = train_run_read(&r, "model.safetensors", NULL);
            if (!model) /* if there is a model, the run has finished */
                run_child(&r);
            free(model);
            r.o.args.resume = 1;
        }
        r.kill = 0;
        r.stop_kind = -1;
        train_run_ok(&r, 1);
        check_result(&r, &e);
    }
    expected_free(e);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_kill), /* must run first, because fork needs a process with
                                                                       only one thread */
                                       cmocka_unit_test(test_cancel),
                                       cmocka_unit_test(test_cancel_every_step),
                                       cmocka_unit_test(test_cancel_bf16),
                                       cmocka_unit_test(test_resume_finished),
                                       cmocka_unit_test(test_patience),
                                       cmocka_unit_test(test_start_model),
                                       cmocka_unit_test(test_changed_options),
                                       cmocka_unit_test(test_removed_option),
                                       cmocka_unit_test(test_missing_key),
                                       cmocka_unit_test(test_changed_data),
                                       cmocka_unit_test(test_nothing_to_resume)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
