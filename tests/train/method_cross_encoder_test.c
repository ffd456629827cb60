/* SPDX-License-Identifier: MIT
 * covers: loss/score_objective modeldir/cross_encoder modeldir/cross_encoder_write
 * Tests the training of cross-encoders: the loss and its gradient, learning, the saved model, equal results for all
 * numbers of threads, chunks and after a resumed run, the forms of training data, and errors.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_eval.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "loss/score_objective.h"

/* Values of torch.nn.functional.binary_cross_entropy_with_logits and cross_entropy in float64 for these inputs. */
static void test_loss(void **state) {
    (void)state;
    const double x[4] = {0.3, -1.7, 40, -800}, target[4] = {1, 0.25, 0, 1},
                 expected = (0.5543552444685271 + 0.5927860293862659 + 40 + 800) / 4;
    double grad[4];
    aoe_objective_result r;
    aoei_example_batch b = {.B = 4, .D = 1, .arity = 1, .v64 = x, .grad64 = grad};
    assert_int_equal(aoei_score_objective(target, &b, &r, NULL), 0);
    assert_true(fabs(r.total - expected) < 1e-12);
    assert_true(r.classification == r.total); /* NOLINT(clang-diagnostic-float-equal) */
    const double want[4] = {-0.10638937079708524, -0.023883683729116326, 0.25, -0.25};
    for (size_t i = 0; i < 4; i++)
        assert_true(fabs(grad[i] - want[i]) < 1e-12);
    const double logits[6] = {1, 2, -1, 300, 0, 299}, class[2] = {1, 2};
    double grads[6];
    b = (aoei_example_batch){.B = 2, .D = 3, .arity = 1, .v64 = logits, .grad64 = grads};
    assert_int_equal(aoei_score_objective(class, &b, &r, NULL), 0);
    assert_true(fabs(r.total - (0.3490122167681866 + 1.3132616875182228) / 2) < 1e-12);
    for (size_t i = 0; i < 6; i++) { /* finite differences */
        double moved[6];
        aoe_objective_result high, low;
        memcpy(moved, logits, sizeof moved);
        b.v64 = moved;
        b.grad64 = NULL;
        moved[i] += 1e-5;
        assert_int_equal(aoei_score_objective(class, &b, &high, NULL), 0);
        moved[i] -= 2e-5;
        assert_int_equal(aoei_score_objective(class, &b, &low, NULL), 0);
        assert_true(fabs((high.total - low.total) / 2e-5 - grads[i]) < 1e-9);
    }
    const double bad[1] = {(double)NAN};
    b = (aoei_example_batch){.B = 1, .D = 1, .arity = 1, .v64 = bad};
    assert_int_equal(aoei_score_objective(class, &b, &r, NULL), AOE_ENUMERIC);
}

static void create(train_run *r) {
    train_run_create(r);
    r->o.method = AOE_METHOD_CROSS_ENCODER;
    r->o.evaluate = NULL;
}

/* Computes the scores of the pairs of the training file with the model in dir. Returns the number of scores per
 * pair. */
static size_t scores_of(const char *dir, const aoe_pairs *p, float *scores) {
    aoe_context *ctx = tiny_context(2);
    aoe_model_options o;
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    aoe_error err = {0};
    aoe_text first[TRAIN_PAIRS] = {{0}}, second[TRAIN_PAIRS] = {{0}};
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.cross_encoder = 1;
    if (aoe_model_open(&m, ctx, dir, &o, &err) || aoe_embedder_create(&e, m, NULL, &err))
        fail_msg("%s", err.message);
    const size_t n = aoe_pairs_count(p), classes = aoe_model_classes(m);
    assert_true(n <= TRAIN_PAIRS);
    for (size_t i = 0; i < n; i++) {
        first[i] = aoe_pairs_text1(p, i);
        second[i] = aoe_pairs_text2(p, i);
    }
    if (aoe_score_pairs(e, first, second, n, scores, NULL, &err))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return classes;
}

/* Returns the mean loss of the steps [first, first + n). */
static double mean_loss(const train_run *r, size_t first, size_t n) {
    double sum = 0;
    size_t step = 0;
    for (size_t i = 0; i < r->n; i++)
        if (r->events[i].kind == AOE_TRAIN_STEP) {
            sum += step >= first && step < first + n ? r->events[i].loss->classification : 0;
            step++;
        }
    assert_true(step >= first + n);
    return sum / (double)n;
}

static void test_learns(void **state) {
    (void)state;
    for (size_t classes = 1; classes <= 3; classes += 2) {
        train_run r;
        aoe_pairs *p;
        float scores[TRAIN_PAIRS * 3];
        create(&r);
        char text[2048] = "text1\ttext2\tlabel\n";
        for (size_t i = 0; i < 18; i++) /* the label follows from the second text */
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s\t%s\t%zu\n",
                     i % 3 ? i % 3 > 1 ? "w3 w4" : "w5" : "w6 w7 w8",
                     i / 3 % 3 ? i / 3 % 3 > 1 ? "w3 w4" : "w5" : "w6 w7 w8",
                     classes == 1 ? i / 3 % 3 == 1 : i / 3 % 3);
        char *data = test_write_text(r.dir, "own.tsv", text);
        r.source.path = data;
        r.o.args.model = "tests/golden/cross_encoders/bert";
        r.o.new_head = 1;
        r.o.classes = classes;
        r.o.args.epochs = 80;
        r.o.args.dropout = 0;
        r.o.args.save_every = 1000;
        r.o.args.lr = 2e-3;
        train_run_ok(&r, 2);
        const double first = mean_loss(&r, 0, 5), last = mean_loss(&r, 395, 5);
        if (!(last < 0.3 * first))
            fail_msg("%zu classes: the loss changed from %g to %g", classes, first, last);
        assert_int_equal(aoe_pairs_load(&p, data, NULL, NULL), 0);
        assert_int_equal(scores_of(r.output, p, scores), classes);
        for (size_t i = 0; i < aoe_pairs_count(p) && classes == 1; i++)
            assert_true((scores[i] > 0.5f) == (aoe_pairs_label(p, i) > 0.5));
        aoe_pairs_free(p);
        free(data);
        train_run_destroy(&r);
    }
}

static void test_threads_chunks_and_resume(void **state) {
    (void)state;
    static const char *const names[] = {"one", "three", "chunks", "recompute", "resumed"};
    train_run r;
    char *weights = NULL;
    size_t size = 0, got_size;
    create(&r);
    for (size_t k = 0; k < 5; k++) {
        aoe_error err = {0};
        train_run_output(&r, names[k]);
        r.o.cache_chunk = k == 2 ? 3 : 0;
        r.o.args.recompute = k == 3;
        if (k == 4) {
            r.stop_kind = AOE_TRAIN_STEP;
            r.stop_step = 7;
            assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
            r.stop_kind = -1;
            r.o.args.resume = 1;
        }
        train_run_ok(&r, k == 1 ? 3 : 1);
        char *got = train_run_read(&r, "model.safetensors", &got_size);
        if (k == 0) {
            weights = got;
            size = got_size;
            continue;
        }
        assert_int_equal(got_size, size);
        assert_memory_equal(got, weights, size);
        free(got);
    }
    free(weights);
    train_run_destroy(&r);
}

/* The prompts of an embedding model are not prompts of a cross-encoder that is trained from it. */
static void test_prompts(void **state) {
    (void)state;
    train_run r;
    create(&r);
    free(test_write_text(
        r.model, "aoe.json",
        "{\"format_version\": 1, \"prompts\": {\"default\": \"old {text}\", \"query\": \"a {text}\"}}"));
    train_run_ok(&r, 1);
    char *settings = train_run_read(&r, "aoe.json", NULL);
    assert_non_null(strstr(settings, "\"prompts\": {}"));
    free(settings);
    r.o.args.model_options.prompt = "the {text}";
    train_run_output(&r, "own");
    train_run_ok(&r, 1);
    settings = train_run_read(&r, "aoe.json", NULL);
    assert_non_null(strstr(settings, "\"default\": \"the {text}\""));
    free(settings);
    /* other programs read the prompt and the maximum sequence length from their own files */
    settings = train_run_read(&r, "config_sentence_transformers.json", NULL);
    assert_non_null(strstr(settings, "\"default\": \"the \""));
    assert_non_null(strstr(settings, "\"model_type\": \"CrossEncoder\""));
    free(settings);
    settings = train_run_read(&r, "tokenizer_config.json", NULL);
    assert_non_null(strstr(settings, "\"model_max_length\": "));
    assert_non_null(strstr(settings, "\"model_input_names\": ["));
    free(settings);
    settings = train_run_read(&r, "README.md", NULL);
    assert_null(strstr(settings, "computes other scores"));
    free(settings);
    r.o.args.model_options.prompt = "the {text} end"; /* CrossEncoder does not support the text after {text} */
    train_run_output(&r, "both");
    train_run_ok(&r, 1);
    settings = train_run_read(&r, "README.md", NULL);
    assert_non_null(strstr(settings, "sentence-transformers computes other scores"));
    free(settings);
    train_run_destroy(&r);
}

/* A saved cross-encoder is trained further with its head, or with a new last layer. */
static void test_existing_head(void **state) {
    (void)state;
    train_run r;
    aoe_pairs *p;
    aoe_error err = {0};
    float before[TRAIN_PAIRS], after[TRAIN_PAIRS], other[3 * TRAIN_PAIRS];
    create(&r);
    train_run_ok(&r, 1);
    char *first = test_path(r.dir, "out");
    assert_int_equal(aoe_pairs_load(&p, r.data, NULL, NULL), 0);
    assert_int_equal(scores_of(first, p, before), 1);
    r.o.args.model = first;
    r.o.args.lr = 0; /* nothing changes */
    train_run_output(&r, "second");
    train_run_ok(&r, 1);
    assert_int_equal(scores_of(r.output, p, after), 1);
    assert_memory_equal(after, before, aoe_pairs_count(p) * sizeof *after);
    char *data = test_write_text(r.dir, "classes.tsv",
                                 "text1\ttext2\tlabel\na\tb\t0\na\tc\t2\nb\tc\tneutral\nc\tc\tentailment\n");
    r.source.path = data;
    r.o.classes = 3;
    train_run_output(&r, "third");
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.new_head"));
    r.o.new_head = 1;
    train_run_ok(&r, 1);
    assert_int_equal(scores_of(r.output, p, other), 3);
    aoe_pairs_free(p);
    free(data);
    free(first);
    train_run_destroy(&r);
}

/* Triplets give a pair with label 1 and a pair with label 0 for each alternative text. */
static void test_triplets(void **state) {
    (void)state;
    train_run r;
    create(&r);
    char *data = test_write_text(
        r.dir, "triplets.jsonl",
        "{\"query\": \"the cat\", \"positive\": [\"old cat\", \"a cat\"], \"negative\": [\"dog\", \"house\", \"b\"]}\n"
        "{\"query\": \"dog\", \"positive\": \"a dog\", \"negative\": \"the house\"}\n");
    r.source.path = data;
    r.o.batch_size = 1;
    r.o.args.epochs = 1;
    train_run_ok(&r, 1);
    assert_int_equal(train_run_count(&r, AOE_TRAIN_STEP), 2 + 3 + 2);
    free(data);
    train_run_destroy(&r);
}

static void test_dev_set(void **state) {
    (void)state;
    train_run r;
    aoe_dev_set *dev;
    create(&r);
    aoe_context *ctx = tiny_context(1);
    assert_int_equal(aoe_dev_set_load(&dev, ctx, r.data, NULL, NULL), 0);
    r.o.evaluate = aoe_dev_set_evaluate;
    r.o.evaluate_user = dev;
    r.o.args.epochs = 10;
    train_run_ok(&r, 1);
    double best = -1;
    for (size_t i = 0; i < r.n; i++)
        if (r.events[i].kind == AOE_TRAIN_EVAL)
            best = fmax(best, r.events[i].score);
    if (!(best > 0.3 && isfinite(aoe_dev_set_pearson(dev))))
        fail_msg("best score %g, Pearson %g", best, aoe_dev_set_pearson(dev));
    aoe_dev_set_free(dev);
    aoe_context_destroy(ctx);
    train_run_destroy(&r);
}

static void expect_error(train_run *r, const char *table, const char *part) {
    aoe_error err = {0};
    char *data = test_write_text(r->dir, "bad.tsv", table);
    r->source.path = data;
    assert_int_not_equal(train_run_go(r, 1, &err), 0);
    if (!strstr(err.message, part))
        fail_msg("'%s' does not contain '%s'", err.message, part);
    free(data);
}

static void test_errors(void **state) {
    (void)state;
    train_run r;
    create(&r);
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t1\n", "nothing to learn");
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t-1\n", "from -1 to 1");
    expect_error(&r, "query\tpositive\na\tb\nb\tc\n", "has no negatives");
    r.o.classes = 2;
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t2\n", "bad.tsv:3: label 2 is not a class");
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t1\n", "bad.tsv: all examples have the class 1");
    r.o.classes = AOE_AUTO;
    r.o.teachers[0] = r.model;
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t0\n", "options.teachers");
    r.o.teachers[0] = NULL;
    r.o.args.model_options.pooling = AOE_POOLING_CLS;
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t0\n", "options.pooling");
    r.o.args.model_options.pooling = AOE_POOLING_AUTO;
    r.source.doc_prompt = "x {text}";
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t0\n", "options.doc_prompt");
    r.source.doc_prompt = NULL;
    r.o.method = AOE_METHOD_ANGLE;
    r.o.new_head = 1;
    expect_error(&r, "text1\ttext2\tlabel\na\tb\t1\na\tc\t0\n", "options.new_head");
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loss),
        cmocka_unit_test(test_learns),
        cmocka_unit_test(test_threads_chunks_and_resume),
        cmocka_unit_test(test_existing_head),
        cmocka_unit_test(test_triplets),
        cmocka_unit_test(test_dev_set),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_prompts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
