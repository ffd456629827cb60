/* SPDX-License-Identifier: MIT
 * Tests training with a teacher model (distillation). The student learns the teacher's similarities. For all kinds of
 * examples, each text must be compared with its own teacher embedding. Prompts apply only to the student. Results must
 * not depend on the number of threads, on the division of batches into chunks, or on whether a run is stopped and
 * resumed. aoe.json must contain the settings of the distillation, and invalid teachers must be rejected.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_data.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/dir.h"
#include "base/json_decode.h"
#include "base/path.h"
#include "model/model.h"
#include "modeldir/safetensors.h"
#include "modeldir/safetensors_writer.h"

/* Writes a transformer model with the tests' vocabulary and this hidden size to the directory r->dir/name. Returns the
 * path of the directory, which the caller frees. */
static char *write_teacher(const train_run *r, const char *name, size_t hidden, uint32_t seed) {
    tiny_model shape = tiny_defaults();
    shape.hidden = hidden;
    shape.layers = 1;
    shape.seed = seed;
    char *dir = test_path(r->dir, name);
    tiny_model_write(dir, &shape);
    return dir;
}

/* Copies vocab.txt of the student to dir. */
static void copy_vocab(const train_run *r, const char *dir) {
    char *from = test_path(r->model, "vocab.txt"), *text = test_read(from, NULL);
    assert_non_null(text);
    free(test_write_text(dir, "vocab.txt", text));
    free(text);
    free(from);
}

/* Writes a static model with embeddings of size 5 to the directory r->dir/name. Returns the path of the directory,
 * which the caller frees. */
static char *write_static(const train_run *r, const char *name) {
    enum { WIDTH = 5 };
    char *dir = test_path(r->dir, name);
    assert_int_equal(aoei_make_dir(dir, NULL), 0);
    copy_vocab(r, dir);
    const aoei_st_entry e = {"embeddings", AOEI_ST_F32, 2, {tiny_vocab(), WIDTH}};
    char *path = test_path(dir, "model.safetensors");
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, path, &e, 1, NULL), 0);
    for (size_t i = 0; i < tiny_vocab() * WIDTH; i++) {
        const float v = (float)sin(1.7 * (double)i);
        assert_int_equal(aoei_st_writer_write(w, &v, sizeof v, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(path);
    return dir;
}

/* Sets the weights of all loss terms except the distillation term to 0. */
static void only_teacher(train_run *r, const char *teacher) {
    r->o.teachers[0] = teacher;
    r->o.objective.w_cosine = r->o.objective.w_ibn = r->o.objective.w_angle = r->o.objective.w_cln = 0;
}

/* Returns the sum of the distillation loss over the steps [first, first + n). */
static double teacher_loss(const train_run *r, size_t first, size_t n) {
    double sum = 0;
    size_t step = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i].kind == AOE_TRAIN_STEP) {
            sum += step >= first && step < first + n ? r->events[i].loss->teacher : 0;
            step++;
        }
    assert_true(step >= first + n);
    return sum;
}

/* Computes the cosine of each pair with the model in dir. */
static void cosines(const char *dir, const aoe_pairs *pairs, double *cosine) {
    aoe_context *ctx = tiny_context(1);
    aoe_model_options options;
    aoe_model_options_defaults(&options);
    options.dtype = AOE_DTYPE_F32;
    aoe_model *m;
    aoe_embedder *e;
    float v[2][64];
    assert_int_equal(aoe_model_open(&m, ctx, dir, &options, NULL), 0);
    assert_true(aoe_model_dims(m) <= 64);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    for (size_t i = 0; i < aoe_pairs_count(pairs); i++) {
        const aoe_text x = aoe_pairs_text1(pairs, i), y = aoe_pairs_text2(pairs, i);
        assert_int_equal(aoe_embed(e, &x, 1, v[0], NULL, NULL), 0);
        assert_int_equal(aoe_embed(e, &y, 1, v[1], NULL, NULL), 0);
        cosine[i] = aoe_cosine(v[0], v[1], aoe_model_dims(m));
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Returns the mean squared difference between the cosines of the training pairs under the two models a and b. */
static double difference(const train_run *r, const char *a, const char *b) {
    aoe_pairs *pairs;
    double x[TRAIN_PAIRS], y[TRAIN_PAIRS], sum = 0;
    assert_int_equal(aoe_pairs_load(&pairs, r->data, NULL, NULL), 0);
    assert_int_equal(aoe_pairs_count(pairs), TRAIN_PAIRS);
    cosines(a, pairs, x);
    cosines(b, pairs, y);
    for (size_t i = 0; i < TRAIN_PAIRS; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]) / TRAIN_PAIRS;
    aoe_pairs_free(pairs);
    return sum;
}

/* Trains with the distillation loss as the only loss term. Asserts that this loss decreases, and that the cosines of
 * the student approach the cosines of the teacher. hidden: hidden size of the teacher; 0: the teacher is a static
 * model. */
static void expect_learning(const char *name, size_t hidden, aoe_distill distill) {
    train_run r;
    train_run_create(&r);
    char *teacher = hidden ? write_teacher(&r, name, hidden, 99) : write_static(&r, name);
    const double before = difference(&r, r.model, teacher);
    only_teacher(&r, teacher);
    r.o.distill = distill;
    r.o.evaluate = NULL;
    r.o.args.epochs = 20;
    r.o.args.dropout = 0;
    r.o.args.save_every = 1000;
    r.o.args.lr = 5e-3;
    train_run_ok(&r, 2);
    const double first = teacher_loss(&r, 0, 6), last = teacher_loss(&r, 114, 6),
                 after = difference(&r, r.output, teacher);
    for (size_t i = 0; i < r.n; i++)
        if (r.events[i].kind == AOE_TRAIN_STEP)
            assert_true(r.events[i].loss->total == r.events[i].loss->teacher && r.events[i].loss->cosine == 0);
    if (!(last < 0.1 * first && (distill == AOE_DISTILL_KL || after < 0.1 * before)))
        fail_msg("%s: the loss changed from %g to %g and the difference of cosines from %g to %g; both should decrease",
                 name, first, last, before, after);
    free(teacher);
    train_run_destroy(&r);
}

static void test_learns(void **state) {
    (void)state;
    expect_learning("narrow", 12, AOE_DISTILL_COSINE);
    expect_learning("static", 0, AOE_DISTILL_COSINE);
    expect_learning("equal", TRAIN_DIMS, AOE_DISTILL_KL);
}

static char *equal_labels(const train_run *r) {
    return test_write_text(r->dir, "equal.tsv",
                           "text1\ttext2\tlabel\nthe old cat\ta dog\t1\nhouse\tthe cat\t1\na\tb c\t1\n");
}

/* Tests pairs whose labels are all equal. They must be rejected if a loss term ranks pairs by label, and accepted
 * otherwise. */
static void test_labels(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    train_run_create(&r);
    char *teacher = write_teacher(&r, "teacher", 12, 99), *data = equal_labels(&r);
    r.source.path = data;
    r.o.teachers[0] = teacher;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "every label is 1"));
    only_teacher(&r, teacher);
    train_run_ok(&r, 1);
    assert_true(r.events[2].loss->teacher > 0); /* the first step, after the evaluation of the start model */
    free(data);
    free(teacher);
    train_run_destroy(&r);
}

/* Tests that the distillation loss is added to the total loss and is reported in events, the log and aoe.json. */
static void test_sum(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char *teacher = write_teacher(&r, "teacher", 12, 99);
    r.o.teachers[0] = teacher;
    r.o.w_teacher = 2.5;
    train_run_ok(&r, 1);
    for (size_t i = 0; i < r.n; i++)
        if (r.events[i].kind == AOE_TRAIN_STEP) {
            const aoe_objective_result *l = r.events[i].loss;
            assert_true(l->teacher > 0 && l->cosine > 0 && l->angle > 0);
            assert_true(fabs(l->total - (l->cosine + l->ibn + l->angle + 2.5 * l->teacher)) <= 1e-12 * l->total);
        }
    char *log = train_run_read(&r, "train-log.jsonl", NULL), *settings = train_run_read(&r, "aoe.json", NULL);
    char want[64];
    snprintf(want, sizeof want, "\"teacher\":%.9g", r.events[1].loss->teacher);
    assert_non_null(strstr(log, want));
    int no_memory;
    json_error_t error;
    json_t *all = aoei_json_decode(settings, strlen(settings), 0, &error, &no_memory),
           *record = json_object_get(all, "training");
    assert_string_equal(json_string_value(json_object_get(record, "teacher")), teacher);
    assert_true(json_real_value(json_object_get(record, "w_teacher")) == 2.5);
    assert_string_equal(json_string_value(json_object_get(record, "distill")), "cosine");
    assert_int_equal(json_string_length(json_object_get(record, "teacher_fingerprint")), 16);
    json_decref(all);
    free(log);
    free(settings);
    /* with weight 0, the teacher is not opened */
    train_run_output(&r, "without");
    r.o.teachers[0] = "nowhere";
    r.o.w_teacher = 0;
    train_run_ok(&r, 1);
    settings = train_run_read(&r, "aoe.json", NULL);
    assert_non_null(strstr(settings, "\"teacher\": null"));
    free(settings);
    free(teacher);
    train_run_destroy(&r);
}

static void test_threads_and_chunks(void **state) {
    (void)state;
    static const char *const names[] = {"one", "two", "three", "recompute"};
    for (int dtype = AOE_DTYPE_F32; dtype <= AOE_DTYPE_BF16; dtype++)
        for (int form = AOE_DISTILL_COSINE; form <= AOE_DISTILL_KL; form++) {
            train_run r;
            train_run_create(&r);
            char *teacher = write_teacher(&r, "teacher", TRAIN_DIMS, 99);
            r.o.teachers[0] = teacher;
            r.o.distill = (aoe_distill)form;
            r.o.accumulate = 2;
            r.o.args.model_options.dtype = (aoe_dtype)dtype;
            char *weights = NULL, *settings = NULL;
            size_t size = 0;
            for (size_t k = 0; k < 4; k++) {
                train_run_output(&r, names[k]);
                r.o.args.recompute = k == 3;
                r.evaluations = 0;
                train_run_ok(&r, k < 3 ? 1 + k : 2);
                if (k == 0) {
                    weights = train_run_read(&r, "model.safetensors", &size);
                    settings = train_run_read(&r, "aoe.json", NULL);
                }
                train_run_assert_output(&r, weights, size, settings);
            }
            if (dtype == AOE_DTYPE_F32) {
                train_run_output(&r, "chunks");
                r.o.cache_chunk = 3;
                r.evaluations = 0;
                train_run_ok(&r, 2);
                char *got = train_run_read(&r, "model.safetensors", NULL);
                assert_memory_equal(got, weights, size);
                free(got);
            }
            free(weights);
            free(settings);
            free(teacher);
            train_run_destroy(&r);
        }
}

/* Tests that each text is compared with its own teacher embedding. The student equals its teacher and is not updated,
 * so the loss must be 0. The training data are pairs, triplets, and rows with lists of alternative texts. Training
 * compares embeddings that are not normalized, although aoe.json of the model requests normalization. A prompt changes
 * only the embeddings of the student, so with a prompt the loss must be positive. */
static void test_own_teacher(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char *triplets = test_write_text(
             r.dir, "triplets.tsv",
             "query\tpositive\tnegative\nthe cat\told cat\ta dog runs\nhouse\tthe house\tcat\nrun\ta run\tb\n"
             "old\tthe old\trun run\ndog\ta dog\tthe old house\n"),
         *lists = test_write_text(r.dir, "lists.jsonl",
                                  "{\"query\": [\"the old cat\", \"cat\", \"a\"], \"positive\": [\"old cat\", \"b\"]}\n"
                                  "{\"query\": \"dog\", \"positive\": [\"the dog runs\", \"c d\", \"a dog\"]}\n"
                                  "{\"query\": [\"house\", \"e f\"], \"positive\": \"the house\"}\n");
    free(test_write_text(r.model, "aoe.json", "{\"format_version\": 1, \"normalize\": true}"));
    aoe_train_data data[3];
    aoe_train_data_defaults(&data[0], r.data);
    aoe_train_data_defaults(&data[1], triplets);
    aoe_train_data_defaults(&data[2], lists);
    data[2].weight = 2;
    r.o.data = data;
    r.o.n_data = 3;
    r.o.evaluate = NULL;
    r.o.teachers[0] = r.model;
    r.o.batch_size = 3;
    r.o.args.epochs = 4;
    r.o.args.dropout = 0;
    r.o.args.lr = 0;
    r.o.args.save_every = 1000;
    for (int form = AOE_DISTILL_COSINE; form <= AOE_DISTILL_KL; form++) {
        train_run_output(&r, form == AOE_DISTILL_COSINE ? "cosine" : "kl");
        r.o.distill = (aoe_distill)form;
        r.n = 0;
        train_run_ok(&r, 2);
        assert_int_equal(train_run_count(&r, AOE_TRAIN_STEP), 4 * (8 + 2 + 2));
        for (size_t i = 0; i < r.n; i++)
            assert_true(fabs(r.events[i].loss->teacher) <= 1e-10);
    }
    for (size_t k = 0; k < 3; k++)
        data[k].prompt = "old {text}";
    train_run_output(&r, "prompt");
    r.n = 0;
    train_run_ok(&r, 2);
    for (size_t i = 0; i < r.n; i++)
        assert_true(r.events[i].kind != AOE_TRAIN_STEP || r.events[i].loss->teacher > 1e-6);
    free(triplets);
    free(lists);
    train_run_destroy(&r);
}

/* Stops the run at the given step and resumes it. Asserts that the result equals the result of the uninterrupted
 * run. */
static void expect_equal_after_resume(train_run *r, size_t step, const char *weights, size_t size,
                                      const char *settings) {
    char name[32];
    snprintf(name, sizeof name, "stop-%zu", step);
    train_run_output(r, name);
    r->evaluations = 0;
    r->o.args.resume = 0;
    r->stop_kind = AOE_TRAIN_STEP;
    r->stop_step = step;
    assert_int_equal(train_run_go(r, 1, NULL), AOE_ECANCELLED);
    r->stop_kind = -1;
    r->o.args.resume = 1;
    train_run_ok(r, 2);
    train_run_assert_output(r, weights, size, settings);
}

static void test_resume(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char *teacher = write_teacher(&r, "teacher", TRAIN_DIMS, 99);
    r.o.teachers[0] = teacher;
    train_run_ok(&r, 1);
    size_t size;
    char *weights = train_run_read(&r, "model.safetensors", &size), *settings = train_run_read(&r, "aoe.json", NULL);
    for (size_t step = 1; step < 12; step += 3)
        expect_equal_after_resume(&r, step, weights, size, settings);
    free(weights);
    free(settings);
    free(teacher);
    train_run_destroy(&r);
}

/* Asserts that resuming fails because an option has changed. name: start of the message about it, after "options.". */
static void expect_changed(train_run *r, const char *name) {
    aoe_error err = {0};
    char want[64];
    snprintf(want, sizeof want, "options.%s", name);
    assert_int_equal(train_run_go(r, 1, &err), AOE_EARG);
    if (!strstr(err.message, want))
        fail_msg("expected a message about %s, found: %s", want, err.message);
}

/* Tests resuming with a changed teacher. The directory of the teacher may be renamed. A change of its contents or of a
 * setting must be rejected. */
static void test_changed_teacher(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char *teacher = write_teacher(&r, "teacher", TRAIN_DIMS, 99), *moved = test_path(r.dir, "moved"),
         *other = write_teacher(&r, "other", TRAIN_DIMS, 98);
    r.o.teachers[0] = teacher;
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 5;
    assert_int_equal(train_run_go(&r, 1, NULL), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    const aoe_train_options good = r.o;
    r.o.teachers[0] = other;
    expect_changed(&r, "teachers is another model");
    r.o = good;
    r.o.w_teacher = 2;
    expect_changed(&r, "w_teacher was ");
    r.o = good;
    r.o.distill = AOE_DISTILL_KL;
    expect_changed(&r, "distill was ");
    r.o = good;
    r.o.teachers[0] = NULL;
    expect_changed(&r, "teachers was ");
    r.o = good;
    assert_int_equal(rename(teacher, moved), 0);
    r.o.teachers[0] = moved;
    train_run_ok(&r, 1);
    free(teacher);
    free(moved);
    free(other);
    train_run_destroy(&r);
}

/* Asserts that training fails with this code and a message that contains `part`, and that it writes no file. */
static void expect_rejected(train_run *r, int code, const char *part) {
    aoe_error err = {0};
    const int got = train_run_go(r, 1, &err);
    if (got != code || err.code != code || !strstr(err.message, part))
        fail_msg("expected code %d and a message with \"%s\", found code %d: %s", code, part, got, err.message);
    assert_null(strchr(err.message, '\n'));
    assert_int_equal(train_run_go(r, 1, NULL), code);
    assert_int_equal(aoei_exists(r->output), 0);
    assert_int_equal(r->n, 0);
}

static void test_rejected(void **state) {
    (void)state;
    train_run r;
    train_run_create(&r);
    char *narrow = write_teacher(&r, "narrow", 12, 99), *static_model = write_static(&r, "static"),
         *no_tokenizer = write_teacher(&r, "no-tokenizer", 12, 99), *vocab = test_path(no_tokenizer, "vocab.txt");
    assert_int_equal(remove(vocab), 0);
    const aoe_train_options good = r.o;
    r.o.teachers[0] = "nowhere";
    expect_rejected(&r, AOE_ENOENT, "options.teachers: nowhere");
    r.o.teachers[0] = no_tokenizer;
    expect_rejected(&r, AOE_ENOENT, "no-tokenizer: the directory contains no tokenizer");
    r.o.teachers[0] = narrow;
    r.o.distill = AOE_DISTILL_KL;
    expect_rejected(&r, AOE_EARG, "narrow have 12 components");
    expect_rejected(&r, AOE_EARG, "because kl requires equal sizes");
    r.o.teachers[1] = static_model;
    expect_rejected(&r, AOE_EARG, "options.teachers: the embeddings of all teachers have 17 components but");
    r.o.teachers[1] = narrow;
    expect_rejected(&r, AOE_EARG, "twice; give each teacher once");
    r.o = good;
    r.o.teachers[0] = narrow;
    r.o.w_teacher = -1;
    expect_rejected(&r, AOE_EARG, "options.w_teacher");
    r.o.w_teacher = (double)NAN;
    expect_rejected(&r, AOE_EARG, "options.w_teacher");
    r.o.w_teacher = 1;
    r.o.distill = (aoe_distill)7;
    expect_rejected(&r, AOE_EARG, "options.distill");
    r.o = good;
    only_teacher(&r, narrow);
    r.o.w_teacher = 0;
    expect_rejected(&r, AOE_EARG, "all loss weights are 0");
    r.o = good;
    r.o.teachers[0] = static_model; /* the vocabularies differ: only the student has a token for unknown words */
    free(test_write_text(r.dir, "train.tsv", "text1\ttext2\tlabel\na cat\ta dog\t1\nthe cat\t\xe2\x82\xac\t2\n"));
    expect_rejected(&r, AOE_EFORMAT, "train.tsv:3: a text has no token in the teacher's vocabulary");
    free(vocab);
    free(no_tokenizer);
    free(static_model);
    free(narrow);
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_learns),
                                       cmocka_unit_test(test_labels),
                                       cmocka_unit_test(test_sum),
                                       cmocka_unit_test(test_threads_and_chunks),
                                       cmocka_unit_test(test_own_teacher),
                                       cmocka_unit_test(test_resume),
                                       cmocka_unit_test(test_changed_teacher),
                                       cmocka_unit_test(test_rejected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
