/* SPDX-License-Identifier: MIT
 * covers: eval/pair_scores
 * Tests the dev set, with which a training run evaluates its model. The score must be the Spearman correlation that
 * aoe_eval_pairs computes. Each warning must be logged only once. A dev set must be rejected if its score cannot
 * distinguish models, for example if all labels are equal.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_data.h"
#include "aoe_eval.h"

static char *dir, *model_dir;
static char messages[2048]; /* log of the context, one message per line */
static aoe_context *ctx;

static void keep_message(void *user, aoe_log_level level, const char *message) {
    const size_t used = strlen(messages);
    (void)user;
    snprintf(messages + used, sizeof messages - used, "%s%s\n", level == AOE_LOG_WARNING ? "warning: " : "", message);
}

static int set_up(void **state) {
    (void)state;
    aoe_error err;
    aoe_context_options o;
    tiny_model shape = tiny_defaults();
    dir = tiny_dir_create();
    model_dir = test_path(dir, "model");
    tiny_model_write(model_dir, &shape);
    aoe_context_options_defaults(&o);
    o.threads = 2;
    o.log = keep_message;
    return aoe_context_create(&ctx, &o, &err);
}

static int tear_down(void **state) {
    (void)state;
    aoe_context_destroy(ctx);
    free(model_dir);
    test_dir_remove(dir);
    return 0;
}

/* Evaluates the tiny model, opened with this max_length, twice on the dev set d. Returns the second score. Unless pairs
 * is NULL, also evaluates the model on these pairs with aoe_eval_pairs and writes the result to *pairs_result. */
static double evaluate(aoe_dev_set *d, size_t max_length, aoe_sts_result *pairs_result, const aoe_pairs *pairs) {
    aoe_error err = {0};
    aoe_model *model = NULL;
    aoe_embedder *e = NULL;
    aoe_model_options o;
    double score = 0;
    aoe_model_options_defaults(&o);
    o.max_length = max_length;
    if (aoe_model_open(&model, ctx, model_dir, &o, &err) || aoe_embedder_create(&e, model, NULL, &err) ||
        aoe_dev_set_evaluate(d, e, &score, &err) || aoe_dev_set_evaluate(d, e, &score, &err) ||
        (pairs && aoe_eval_pairs(e, pairs, pairs_result, &err)))
        fail_msg("%s", err.message);
    aoe_embedder_destroy(e);
    aoe_model_close(model);
    return score;
}

static void scores_as_eval_pairs(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_dev_set *d = NULL;
    aoe_pairs *pairs = NULL;
    aoe_sts_result want = {.struct_size = sizeof want};
    char *path = tiny_table(dir, "dev.tsv", 15, 2);
    messages[0] = 0;
    if (aoe_dev_set_load(&d, ctx, path, NULL, &err) || aoe_pairs_load(&pairs, path, NULL, &err))
        fail_msg("%s", err.message);
    assert_true(isnan(aoe_dev_set_pearson(d)));
    assert_true(aoe_dev_set_fingerprint(d) == aoe_pairs_fingerprint(pairs));
    const double score = evaluate(d, 32, &want, pairs);
    assert_memory_equal(&score, &want.spearman, sizeof score);
    const double pearson = aoe_dev_set_pearson(d);
    assert_memory_equal(&pearson, &want.pearson, sizeof pearson);
    assert_string_equal(messages, "");
    aoe_pairs_free(pairs);
    aoe_dev_set_free(d);
    free(path);
}

static void logs_what_is_left_out(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_dev_set *d = NULL;
    aoe_table_options o;
    char want[2048];
    char *path =
        test_write_text(dir, "few.tsv",
                        "text1\ttext2\tlabel\nthe cat\tthe old dog and the bird\t1\nbird\t\t0\nbird\tcat\tneutral\n"
                        "bird\n");
    aoe_table_options_defaults(&o);
    o.skip_bad_rows = 1;
    messages[0] = 0;
    if (aoe_dev_set_load(&d, ctx, path, &o, &err))
        fail_msg("%s", err.message);
    evaluate(d, 4, NULL, NULL);
    snprintf(want, sizeof want,
             "warning: %s: skipped 1 bad row\n%s: the label map drops 1 row; to keep such rows, map their "
             "labels to scores, for example neutral=0.5\n"
             "warning: %s: 1 of 4 texts was truncated to the maximum sequence length; set options.max_length\n",
             path, path, path);
    assert_string_equal(messages, want);
    aoe_dev_set_free(d);
    free(path);
}

/* Tests a model for which all cosines are equal, so that the correlation is undefined. The score must be -1, and a
 * warning must be logged. */
static void undefined_correlation(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_dev_set *d = NULL;
    char want[1024];
    char *path = test_write_text(dir, "equal.tsv", "text1\ttext2\tlabel\ncat\tcat\t1\ncat\tcat\t0\n");
    messages[0] = 0;
    if (aoe_dev_set_load(&d, ctx, path, NULL, &err))
        fail_msg("%s", err.message);
    assert_true(evaluate(d, 32, NULL, NULL) == -1);
    snprintf(want, sizeof want,
             "warning: %s: all cosines are equal, so the Spearman correlation is undefined and counted as -1\n", path);
    assert_true(strncmp(messages, want, strlen(want)) == 0);
    aoe_dev_set_free(d);
    free(path);
}

static void rejects_equal_labels(void **state) {
    (void)state;
    aoe_error err = {0};
    aoe_dev_set *d = NULL;
    char *path = test_write_text(dir, "one.tsv", "text1\ttext2\tlabel\ncat\tdog\t1\nbird\tdog\t1\n");
    assert_int_equal(aoe_dev_set_load(&d, ctx, path, NULL, &err), AOE_EFORMAT);
    assert_non_null(
        strstr(err.message, "one.tsv: all labels are equal, so models cannot be compared; use a dev set with"));
    assert_null(d);
    free(path);
    assert_int_equal(aoe_dev_set_load(&d, ctx, "missing.tsv", NULL, &err), AOE_ENOENT);
    assert_null(d);
}

static int load(void *path) {
    aoe_error err = {0};
    aoe_dev_set *d = NULL;
    const int code = aoe_dev_set_load(&d, ctx, path, NULL, &err);
    aoe_dev_set_free(d);
    return code;
}

static void out_of_memory(void **state) {
    (void)state;
    char *path = tiny_table(dir, "memory.tsv", 5, 2);
    test_alloc_failures(load, path, 0);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_as_eval_pairs),  cmocka_unit_test(logs_what_is_left_out),
        cmocka_unit_test(undefined_correlation), cmocka_unit_test(rejects_equal_labels),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
