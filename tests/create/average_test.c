/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: model/weight_rows
 * Tests the average of models. Every weight must be the mean of the weights of the models, rounded once. The settings
 * must be copied from the first model. Models that cannot be averaged must be rejected.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/bf16.h"
#include "base/dir.h"
#include "base/path.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"
#include "model/weight_rows.h"

enum { MAX_VALUES = 4096 }; /* number of values of the largest weight, the position embeddings */

static aoe_model *open_at(const char *path) {
    aoe_model *m;
    aoe_error err;
    if (aoei_model_open_trainable(&m, test_model_context, path, NULL, &err))
        fail_msg("%s", err.message);
    return m;
}

/* Creates the model test_dir/name. Its shape is bert-tiny with `layers` layers and with smaller hidden and intermediate
 * sizes. The weights are random numbers that depend on `seed`, and the tokenizer is copied from test_dir/tokens.
 * Returns its path, which the caller frees. */
static char *make(const char *name, size_t layers, uint64_t seed, const char *tokens) {
    char *path = test_path(test_dir, name), *from = test_path(test_dir, tokens);
    aoe_init_options o;
    aoe_error err;
    aoe_init_options_defaults(&o);
    assert_int_equal(aoe_shape_named(&o.shape, "bert-tiny", NULL), 0);
    o.shape.hidden = 8;
    o.shape.intermediate = 12;
    o.shape.layers = layers;
    o.shape.vocab = 0;
    o.tokenizer_from = from;
    o.seed = seed;
    if (aoe_init(test_model_context, path, &o, NULL, &err))
        fail_msg("%s", err.message);
    free(from);
    return path;
}

/* Creates the directory test_dir/tokens, which contains a tokenizer. */
static void make_tokens(void) {
    char *tokens = test_path(test_dir, "tokens");
    assert_int_equal(aoei_make_dir(tokens, NULL), 0);
    test_model_write(tokens, NULL);
    free(tokens);
}

/* Asserts that every weight of the model in `to` is the mean of the weights of n models, rounded to float32 or bf16. */
static void check_mean(const char *to, aoe_model *const *models, size_t n, int bf16) {
    aoe_model *mean = open_at(to);
    size_t differ = 0;
    for (size_t s = 0; s < aoei_slot_count(&mean->config); s++) {
        aoei_slot d;
        aoei_slot_describe(&mean->config, s, &d);
        if (d.absent)
            continue;
        static float got[MAX_VALUES], one[MAX_VALUES];
        static double sum[MAX_VALUES];
        assert_true(d.rows * d.cols <= MAX_VALUES);
        memset(sum, 0, sizeof sum);
        aoei_model_rows(mean, got, s, 0, d.rows);
        for (size_t k = 0; k < n; k++) {
            aoei_model_rows(models[k], one, s, 0, d.rows);
            for (size_t i = 0; i < d.rows * d.cols; i++)
                sum[i] += (double)one[i];
        }
        for (size_t i = 0; i < d.rows * d.cols; i++) {
            const float want = (float)(sum[i] / (double)n);
            assert_true(got[i] == (bf16 ? aoei_bf16_to_f32(aoei_bf16_from_f32(want)) : want));
            differ += got[i] != one[i];
        }
    }
    assert_true(differ > 100); /* more than 100 values of the mean differ from the last model */
    aoe_model_close(mean);
}

static void averages_the_weights(void **state) {
    (void)state;
    make_tokens();
    char *paths[3] = {make("a", 2, 1, "tokens"), make("b", 2, 2, "tokens"), make("c", 2, 3, "tokens")};
    aoe_model *models[3] = {open_at(paths[0]), open_at(paths[1]), open_at(paths[2])};
    char *to = test_path(test_dir, "mean");
    for (int i = 0; i < 3; i++)
        free(test_write_text(paths[i], "aoe.json",
                             i ? "{\"format_version\": 1, \"pooling\": \"cls\", \"max_length\": 9}"
                               : "{\"format_version\": 1, \"pooling\": \"cls\", \"max_length\": 7}"));
    aoe_convert_options o;
    aoe_convert_result r = {.struct_size = sizeof r};
    aoe_error err;
    aoe_convert_options_defaults(&o);
    if (aoe_average(test_model_context, (const char *const *)paths, 3, to, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_string_equal(r.to, "F32");
    check_mean(to, models, 3, 0);
    aoe_model *mean = open_at(to);
    assert_int_equal(mean->settings.pooling, AOE_POOLING_CLS);
    assert_int_equal(mean->settings.max_length, 7); /* a setting of the first model */
    aoe_model_close(mean);
    o.storage = AOE_STORAGE_BF16;
    assert_int_equal(aoe_average(test_model_context, (const char *const *)paths, 2, to, &o, NULL, &err), AOE_EEXIST);
    o.force = 1;
    assert_int_equal(aoe_average(test_model_context, (const char *const *)paths, 2, to, &o, NULL, &err), 0);
    check_mean(to, models, 2, 1);
    for (size_t i = 0; i < 3; i++) {
        aoe_model_close(models[i]);
        free(paths[i]);
    }
    free(to);
}

/* Asserts that models a and b cannot be averaged, that the error message contains `fragment`, and that no output is
 * written. */
static void expect_rejected(const char *a, const char *b, const char *fragment) {
    const char *paths[2] = {a, b};
    char *to = test_path(test_dir, "none");
    aoe_error err;
    assert_int_not_equal(aoe_average(test_model_context, paths, 2, to, NULL, NULL, &err), 0);
    FRAGMENT(err, fragment);
    assert_false(aoei_is_dir(to));
    free(to);
}

static void rejects_models_that_differ(void **state) {
    (void)state;
    make_tokens();
    char *a = make("a", 2, 1, "tokens"), *deeper = make("deeper", 3, 1, "tokens"),
         *renamed_token = make("renamed_token", 2, 1, "tokens");
    char *adapters = test_path(test_dir, "adapters"), *vocabulary, *json = test_path(renamed_token, "vocab.txt");
    tiny_adapters_write(test_model_context, adapters, a, 2, NULL);
    size_t n;
    char *text = test_read(json, &n), *word;
    assert_non_null(text);
    text = realloc(text, n + 1);
    assert_non_null(text);
    text[n] = 0;
    word = strstr(text, "[MASK]");
    assert_non_null(word);
    for (; word; word = strstr(word, "[MASK]"))
        word[2] = 'O';
    vocabulary = test_write_text(renamed_token, "vocab.txt", text);
    expect_rejected(a, deeper, "different config.json files");
    expect_rejected(a, renamed_token, "different vocabularies");
    static const struct {
        const char *setting, *name;
    } settings[] = {{"\"pooling\": \"cls\"", "poolings"},
                    {"\"prompts\": {\"default\": \"query: {text}\"}", "prompts"},
                    {"\"normalize\": true", "normalizations"},
                    {"\"lowercase\": true", "lowercase settings"}};
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        char contents[128], message[64];
        char *other = make(settings[i].name, 2, 1, "tokens");
        snprintf(contents, sizeof contents, "{\"format_version\": 1, %s}", settings[i].setting);
        snprintf(message, sizeof message, "have different %s;", settings[i].name);
        free(test_write_text(other, "aoe.json", contents));
        expect_rejected(a, other, message);
        free(other);
    }
    expect_rejected(a, adapters, "an adapter directory cannot be averaged");
    expect_rejected(a, a, "are the same model; give each model once");
    expect_rejected(a, test_dir, "no config.json");
    assert_int_equal(aoe_average(test_model_context, NULL, 0, a, NULL, NULL, NULL), AOE_EARG);
    free(text);
    free(json);
    free(vocabulary);
    free(adapters);
    free(renamed_token);
    free(deeper);
    free(a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(averages_the_weights, test_dir_set_up, test_dir_tear_down),
        cmocka_unit_test_setup_teardown(rejects_models_that_differ, test_dir_set_up, test_dir_tear_down),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
