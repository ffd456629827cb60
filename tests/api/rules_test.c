/* SPDX-License-Identifier: MIT
 * covers: base/default_model base/options
 * Tests general rules of the public API (versions, sizes of options structs, NULL options, the default model) and
 * aoe_nearest.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_tokenizer.h"
#include "aoe_annotate.h"
#include "aoe_data.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/dir.h"

static void versions(void **state) {
    (void)state;
    int major, minor, patch;
    assert_int_equal(sscanf(aoe_version(), "%d.%d.%d", &major, &minor, &patch), 3);
    assert_int_equal(aoe_version_number(), major * 10000 + minor * 100 + patch);
    assert_int_equal(aoe_version_number(), AOE_VERSION_NUMBER);
}

static void sizes_of_options(void **state) {
    (void)state;
    aoe_context *ctx;
    aoe_error err;
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    assert_int_equal(o.struct_size, sizeof o);
    o.struct_size = 0;
    assert_int_equal(aoe_context_create(&ctx, &o, &err), AOE_EARG);
    assert_null(ctx);
    assert_string_equal(err.message, "aoe_context_create: struct_size of aoe_context_options is not set; call "
                                     "aoe_context_options_defaults first");
    o.struct_size = sizeof o + 8;
    assert_int_equal(aoe_context_create(&ctx, &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "headers of this library version"));
    /* an older, smaller struct does not contain this field, so its value is ignored and the default is used */
    o.threads = SIZE_MAX;
    o.struct_size = offsetof(aoe_context_options, threads);
    assert_int_equal(aoe_context_create(&ctx, &o, &err), 0);
    assert_in_range(aoe_context_threads(ctx), 1, 100000);
    aoe_context_destroy(ctx);
}

/* Tests that NULL instead of an options struct selects the default of every option. */
static void null_options(void **state) {
    (void)state;
    char *dir = test_dir_create(), *path = test_write_text(dir, "x.tsv", "text1\ttext2\tlabel\na\tb\t1\nc\td\t0\n");
    const char *paths[] = {path};
    aoe_data_stats_result stats = {.struct_size = sizeof stats};
    aoe_data_check_result found = {.struct_size = sizeof found};
    aoe_error err;
    assert_int_equal(aoe_data_stats(path, NULL, &stats, &err), 0);
    assert_int_equal(stats.rows, 2);
    aoe_data_stats_free(&stats);
    assert_int_equal(aoe_data_check(paths, 1, NULL, &found, &err), 0);
    assert_int_equal(found.rows, 2);
    free(path);
    assert_int_equal(aoei_remove_tree(dir, NULL), 0);
    free(dir);
}

static int ignore_output(void *user, size_t part, const char *data, size_t len) {
    (void)user;
    (void)part;
    (void)data;
    (void)len;
    return 0;
}

/* Asserts that code is AOE_EARG and that the error message contains `option`, the name of an option whose value is
 * NaN. */
static void expect_nan_error(int code, const aoe_error *err, const char *option) {
    if (code != AOE_EARG || !strstr(err->message, option))
        fail_msg("expected an error about %s, found code %d: %s", option, code, err->message);
}

/* Tests that NaN is rejected as the value of an option, and that the message names the option. */
static void nan_options(void **state) {
    (void)state;
    char *dir = test_dir_create(), *path = test_write_text(dir, "x.tsv", "text1\ttext2\tlabel\na\tb\t1\nc\td\t0\n");
    const char *paths[] = {path};
    aoe_error err = {0};
    aoe_data_stats_result stats = {.struct_size = sizeof stats};
    aoe_data_stats_options s;
    aoe_data_stats_options_defaults(&s);
    s.threshold = NAN;
    expect_nan_error(aoe_data_stats(path, &s, &stats, &err), &err, "options.threshold is not a number");
    aoe_data_convert_options c;
    aoe_data_convert_options_defaults(&c);
    c.name = "y.tsv";
    c.write = ignore_output;
    c.threshold = NAN;
    expect_nan_error(aoe_data_convert(path, &c, NULL, &err), &err, "options.threshold is not a number");
    aoe_data_check_options k;
    aoe_data_check_options_defaults(&k);
    k.low = NAN;
    expect_nan_error(aoe_data_check(paths, 1, &k, NULL, &err), &err, "options.low is not a number");
    aoe_init_options i;
    aoe_init_options_defaults(&i);
    i.dropout = NAN;
    expect_nan_error(aoe_init(test_model_context, dir, &i, NULL, &err), &err, "options.dropout");
    const aoe_chat_model chat_model = {.struct_size = sizeof chat_model, .name = "m", .api = "http://127.0.0.1:1/v1"};
    aoe_annotate_options a;
    aoe_annotate_options_defaults(&a);
    a.files = paths;
    a.n_files = 1;
    a.chat.models = &chat_model;
    a.chat.n_models = 1;
    a.chat.dry_run = 1;
    a.chat.max_cost = NAN;
    expect_nan_error(aoe_annotate(&a, NULL, &err), &err, "options.max_cost is not a number");
    a.chat.max_cost = 0;
    a.chat.temperature = NAN;
    expect_nan_error(aoe_annotate(&a, NULL, &err), &err, "options.temperature");
    free(path);
    assert_int_equal(aoei_remove_tree(dir, NULL), 0);
    free(dir);
}

static void default_model(void **state) {
    (void)state;
    char *dir = test_dir_create(), found[4096];
    aoe_model *m;
    aoe_tokenizer *t;
    aoe_error err;
    test_model_write(dir, NULL);
    setenv("AOE_MODEL", dir, 1);
    assert_int_equal(aoe_default_model(found, sizeof found, &err), 0);
    assert_string_equal(found, dir);
    assert_int_equal(aoe_default_model(found, strlen(dir), &err), AOE_EARG);
    assert_int_equal(aoe_model_open(&m, test_model_context, NULL, NULL, &err), 0);
    aoe_model_close(m);
    assert_int_equal(aoe_tokenizer_open(&t, NULL, &err), 0);
    aoe_tokenizer_close(t);
    /* the name of a model in the cache */
    static const char commit[] = "0123456789abcdef0123456789abcdef01234567";
    char path[1024];
    snprintf(path, sizeof path, "%s/models--acme--tiny/refs", dir);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    free(test_write_text(path, "main", commit));
    snprintf(path, sizeof path, "%s/models--acme--tiny/snapshots/%s", dir, commit);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    test_model_write(path, NULL);
    setenv("HF_HUB_CACHE", dir, 1);
    setenv("AOE_MODEL", "acme/tiny", 1);
    assert_int_equal(aoe_default_model(found, sizeof found, &err), 0);
    assert_string_equal(found, path);
    assert_int_equal(aoe_model_open(&m, test_model_context, NULL, NULL, &err), 0);
    aoe_model_close(m);
    assert_int_equal(aoe_tokenizer_open(&t, NULL, &err), 0);
    aoe_tokenizer_close(t);
    setenv("AOE_MODEL", "acme/other", 1);
    assert_int_equal(aoe_default_model(found, sizeof found, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "aoe pull acme/other"));
    unsetenv("AOE_MODEL");
    unsetenv("HF_HUB_CACHE");
    assert_int_equal(aoei_remove_tree(dir, NULL), 0);
    free(dir);
}

static void nearest(void **state) {
    (void)state;
    const float vectors[] = {1, 0, 0, 2, 3, 0, -1, 0, 0, 0, 1, 1}, queries[] = {5, 0, 0, 1};
    const struct {
        size_t index;
        double score;
    } want[2][3] = {{{0, 1}, {2, 1}, {5, sqrt(0.5)}}, {{1, 1}, {5, sqrt(0.5)}, {0, 0}}};
    aoe_neighbor got[2][8];
    aoe_error err;
    assert_int_equal(aoe_nearest(test_model_context, queries, 2, vectors, 6, 2, 3, got[0], &err), 0);
    for (size_t q = 0; q < 2; q++)
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(got[0][3 * q + i].index, want[q][i].index);
            assert_true(fabs(got[0][3 * q + i].score - want[q][i].score) < 1e-6);
        }
    assert_int_equal(aoe_nearest(test_model_context, queries, 2, vectors, 6, 2, 8, got[0], &err), 0);
    for (size_t q = 0; q < 2; q++) {
        assert_int_equal(got[q][0].index, want[q][0].index);
        assert_true(got[q][5].index < 6 && got[q][6].index == SIZE_MAX && isnan(got[q][7].score));
    }
    const float bad[] = {NAN, 1};
    assert_int_equal(aoe_nearest(test_model_context, queries, 2, bad, 1, 2, 1, got[0], &err), AOE_ENUMERIC);
    assert_int_equal(aoe_nearest(test_model_context, queries, 2, vectors, 6, 0, 1, got[0], &err), AOE_EARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions),    cmocka_unit_test(sizes_of_options), cmocka_unit_test(null_options),
        cmocka_unit_test(nan_options), cmocka_unit_test(default_model),    cmocka_unit_test(nearest),
    };
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
