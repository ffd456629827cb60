/* SPDX-License-Identifier: MIT
 * covers: bench/check bench/verify_model bench/verify_objectives
 * Tests aoe_verify, which compares the library's results with stored golden cases. It must fail if a bit of a file is
 * flipped, if a value is NaN, if a tensor is missing, if the cases are malformed, or if there are no cases. The tests
 * in tests/golden run the golden cases themselves.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/json.h"
#include "bench/check.h"
#include "modeldir/safetensors.h"

#define GOLDEN "tests/golden/data/bert"

static aoe_context *ctx;
static char *dir; /* temporary directory; dir/bert is a copy of the golden cases */
/* lines: number of results that the last verification reported. failures: number of these results that failed. */
static size_t lines, failures;

static void copy(const char *to, const char *name) {
    size_t size;
    char from[256];
    snprintf(from, sizeof from, GOLDEN "/%s", name);
    char *data = test_read(from, &size);
    assert_non_null(data);
    free(test_write(to, name, data, size));
    free(data);
}

static int set_up(void **state) {
    (void)state;
    ctx = tiny_context(2);
    dir = tiny_dir_create();
    char *bert = test_path(dir, "bert");
    assert_int_equal(aoei_make_dir(bert, NULL), 0);
    copy(bert, "config.json");
    copy(bert, "model.safetensors");
    copy(bert, "cases.json");
    copy(bert, "expected.safetensors");
    free(bert);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    aoe_context_destroy(ctx);
    test_dir_remove(dir);
    return 0;
}

static void on_result(void *user, const aoe_verify_result *r) {
    (void)user;
    lines++;
    failures += !r->passed;
    assert_int_equal(r->passed, r->checks > 0 && r->error <= r->tolerance);
}

/* Asserts that aoe_verify of dir/name returns `code` and a message that contains `part`. */
static void verify(const char *name, int code, const char *part) {
    aoe_error err = {0};
    char *path = test_path(dir, name);
    lines = failures = 0;
    const int got = aoe_verify(ctx, path, AOE_DTYPE_F32, on_result, NULL, &err);
    if (got != code || !strstr(err.message, part))
        fail_msg("%s: got code %d and the message \"%s\", expected code %d and \"%s\"", name, got, err.message, code,
                 part);
    if (code && code != AOE_EMISMATCH)
        assert_int_equal(aoe_verify(ctx, path, AOE_DTYPE_F32, NULL, NULL, NULL), code);
    free(path);
}

/* Returns the offset of the data of the tensor `name` in the contents of a safetensors file. */
static size_t tensor_at(const char *data, size_t size, const char *name) {
    aoei_safetensors *s;
    assert_int_equal(aoei_safetensors_open_memory(&s, data, size, "memory", NULL), 0);
    const aoei_st_tensor *t = aoei_safetensors_find(s, name);
    assert_non_null(t);
    const size_t at = (size_t)(t->data - (const unsigned char *)data);
    aoei_safetensors_close(s);
    return at;
}

/* Replaces the 4 bytes of one element of a tensor in a file of dir/bert. Asserts the result of the verification as in
 * verify(). Then restores the bytes. */
static void with_bytes(const char *file, const char *tensor, size_t element, const void *bytes, int code,
                       const char *part) {
    char name[64];
    snprintf(name, sizeof name, "bert/%s", file);
    char *path = test_path(dir, name), kept[4];
    size_t size;
    char *data = test_read(path, &size);
    const size_t at = tensor_at(data, size, tensor) + 4 * element;
    memcpy(kept, data + at, 4);
    memcpy(data + at, bytes, 4);
    free(test_write(dir, name, data, size));
    verify("bert", code, part);
    memcpy(data + at, kept, 4);
    free(test_write(dir, name, data, size));
    free(data);
    free(path);
}

/* Returns element i of a tensor in a file of the golden cases. */
static float element(const char *file, const char *tensor, size_t i) {
    char name[64];
    snprintf(name, sizeof name, GOLDEN "/%s", file);
    size_t size;
    char *data = test_read(name, &size);
    float v;
    memcpy(&v, data + tensor_at(data, size, tensor) + 4 * i, 4);
    free(data);
    return v;
}

static void test_flipped_bit(void **state) {
    (void)state;
    static const char *const tensors[] = {"encoder.layer.2.attention.self.value.weight", "embeddings.LayerNorm.bias",
                                          "encoder.layer.0.intermediate.dense.weight"};
    for (size_t k = 0; k < 3; k++) {
        const float v = element("model.safetensors", tensors[k], 17);
        uint32_t bits;
        memcpy(&bits, &v, 4);
        bits ^= 1U << 22; /* the highest bit of the mantissa */
        with_bytes("model.safetensors", tensors[k], 17, &bits, AOE_EMISMATCH, "checks failed");
        assert_true(failures > 0 && failures <= lines);
    }
    verify("bert/", AOE_OK, ""); /* a slash at the end of the path is accepted */
    assert_int_equal(lines, 20);
    assert_int_equal(failures, 0);
}

static void test_not_a_number(void **state) {
    (void)state;
    const float nan = NAN, inf = INFINITY;
    static const char *const tensors[] = {"hidden.3.1", "pooled.7.last-max",
                                          "grad.angle.encoder.layer.1.output.dense.weight"};
    for (size_t k = 0; k < 3; k++) {
        with_bytes("expected.safetensors", tensors[k], 5, &nan, AOE_EMISMATCH, "1 of 20 checks failed");
    }
    with_bytes("expected.safetensors", tensors[0], 5, &inf, AOE_EMISMATCH, "1 of 20 checks failed");
    with_bytes("model.safetensors", "encoder.layer.0.output.dense.bias", 3, &nan, AOE_ENUMERIC,
               "encoder.layer.0.output.dense.bias");
}

/* Tests a renamed tensor and a truncated file. The error messages must name the tensor or the file. */
static void test_missing_tensor(void **state) {
    (void)state;
    char *path = test_path(dir, "bert/expected.safetensors");
    size_t size;
    char *data = test_read(path, &size), *at = NULL;
    static const char name[] = "\"hidden.2.3\"";
    for (size_t i = 0; !at && i + sizeof name < size; i++)
        if (memcmp(data + i, name, sizeof name - 1) == 0)
            at = data + i;
    assert_non_null(at);
    at[1] = 'H';
    free(test_write(dir, "bert/expected.safetensors", data, size));
    verify("bert", AOE_EFORMAT, "hidden.2.3");
    at[1] = 'h';
    free(test_write(dir, "bert/expected.safetensors", data, size / 2));
    verify("bert", AOE_EFORMAT, "expected.safetensors");
    free(test_write(dir, "bert/expected.safetensors", data, size));
    verify("bert", AOE_OK, "");
    free(data);
    free(path);
}

/* Replaces the value of the key in cases.json with `value`, a JSON text. If value is NULL, deletes the key. Asserts the
 * result of the verification as in verify(). */
static void with_case(const char *key, const char *value, int code, const char *part) {
    json_t *cases, *other;
    json_error_t error;
    char *path = test_path(dir, "bert/cases.json");
    assert_int_equal(aoei_json_load(&cases, GOLDEN "/cases.json", NULL), 0);
    other = value ? json_loads(value, JSON_DECODE_ANY, &error) : NULL;
    if (value)
        assert_int_equal(json_object_set_new(cases, key, other), 0);
    else
        assert_int_equal(json_object_del(cases, key), 0);
    assert_int_equal(aoei_json_save(cases, path, NULL), 0);
    verify("bert", code, part);
    json_decref(cases);
    free(path);
}

static void test_bad_cases(void **state) {
    (void)state;
    with_case("texts", NULL, AOE_EFORMAT, "texts");
    with_case("texts", "[[1, 2], []]", AOE_EFORMAT, "texts");
    with_case("texts", "[[1, 1000]]", AOE_EFORMAT, "texts");
    with_case("texts", "[[1, -1]]", AOE_EFORMAT, "texts");
    with_case("texts", "[[1, \"a\"]]", AOE_EFORMAT, "texts");
    with_case("pairs", "[[[1]]]", AOE_EFORMAT, "pairs");
    with_case("graded", "[1, 2]", AOE_EFORMAT, "graded");
    with_case("graded", "[1, 2, 3, 4, 5, 6, 7, \"8\"]", AOE_EFORMAT, "graded");
    with_case("binary", "{}", AOE_EFORMAT, "binary");
    with_case("pooling", NULL, AOE_EFORMAT, "pooling");
    with_case("pooling", "\"auto\"", AOE_EARG, "auto");
    with_case("losses", "{}", AOE_EFORMAT, "losses");
    with_case("losses", "{\"cosine\": 1e9, \"angle\": 1, \"ibn\": 1, \"ibn-isp\": 1}", AOE_EMISMATCH, "4 of 20");
    with_case("adamw", "{}", AOE_EFORMAT, "adamw");
    with_case("adamw", "{\"trace\": [{}]}", AOE_EMISMATCH, "failed");
    char text[1024] = "[[1";
    for (int i = 0; i < 130; i++)
        strcat(text, ", 2");
    strcat(text, "]]");
    with_case("texts", text, AOE_EFORMAT, "positions");
    char *bert = test_path(dir, "bert");
    copy(bert, "cases.json");
    free(bert);
}

static void test_objectives(void **state) {
    (void)state;
    size_t size;
    char *good = test_read("tests/golden/data/objectives.json", &size);
    assert_non_null(good);
    free(test_write(dir, "objectives.json", good, size));
    verify("", AOE_OK, ""); /* verifies dir, which contains bert and objectives.json */
    assert_int_equal(lines, 20 + 6);
    /* the checks of objectives.json must fail, although all other checks pass */
    free(test_write_text(dir, "objectives.json", "nonsense"));
    verify("", AOE_EFORMAT, "objectives.json");
    char *path = test_path(dir, "objectives.json"), *alone = test_path(dir, "alone");
    assert_int_equal(remove(path), 0);
    assert_int_equal(aoei_make_dir(alone, NULL), 0);
    free(test_write(alone, "objectives.json", good, size));
    verify("alone", AOE_OK, "");
    assert_int_equal(lines, 6);
    char *digit = strstr(good, "\"grad_x\"");
    assert_non_null(digit);
    digit += strcspn(digit, "123456789");
    *digit = *digit == '9' ? '1' : (char)(*digit + 1);
    free(test_write(alone, "objectives.json", good, size));
    verify("alone", AOE_EMISMATCH, "1 of 6 checks failed");
    static const char *const bad[] = {
        "[{}]",
        "{}",
        "[1]",
        "[{\"x\": [[1, 2]], \"y\": [[1, 2]], \"label\": [\"a\"]}]",
        "[{\"x\": [[1, 2]], \"y\": [[1]], \"label\": [1]}]",
        "[{\"x\": [[1, 2]], \"y\": [[1, 2]], \"label\": [1], \"out\": {\"cosine\": {}}}]"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        free(test_write_text(alone, "objectives.json", bad[i]));
        verify("alone", AOE_EFORMAT, "objectives.json");
    }
    free(test_write_text(alone, "objectives.json", "[]"));
    verify("alone", AOE_EMISMATCH, "6 of 6");
    assert_int_equal(aoei_remove_tree(alone, NULL), 0);
    free(alone);
    free(path);
    free(good);
}

static void test_nothing_to_check(void **state) {
    (void)state;
    char *empty = test_path(dir, "bert/empty");
    assert_int_equal(aoei_make_dir(empty, NULL), 0);
    verify("bert/empty", AOE_ENOENT, "no reference values");
    verify("nowhere", AOE_ENOENT, "nowhere");
    verify("bert/cases.json", AOE_ENOENT, "not a directory");
    free(empty);
}

static size_t warnings;

static void on_log(void *user, aoe_log_level level, const char *message) {
    (void)user;
    warnings += level == AOE_LOG_WARNING && strstr(message, "skipped") != NULL;
}

/* Tests golden cases with an unsupported architecture. If aoe_verify is called for the directory of these cases, it
 * must fail. If it is called for the parent directory, it must skip these cases with a warning. */
static void test_unknown_architecture(void **state) {
    (void)state;
    char *other = test_path(dir, "other");
    assert_int_equal(aoei_make_dir(other, NULL), 0);
    free(test_write_text(other, "cases.json", "{}"));
    free(test_write_text(other, "config.json", "{\"model_type\": \"t5\"}"));
    verify("other", AOE_EUNSUPPORTED, "t5");
    aoe_context_options o = {.struct_size = sizeof(aoe_context_options), .threads = 1, .log = on_log};
    aoe_context *logged;
    assert_int_equal(aoe_context_create(&logged, &o, NULL), 0);
    assert_int_equal(aoe_verify(logged, dir, AOE_DTYPE_F32, NULL, NULL, NULL), 0);
    assert_int_equal(warnings, 1);
    aoe_context_destroy(logged);
    assert_int_equal(aoei_remove_tree(other, NULL), 0);
    free(other);
}

/* Tests that a NaN and a wrong weight also exceed the tolerances of bf16. */
static void test_bf16(void **state) {
    (void)state;
    lines = failures = 0;
    assert_int_equal(aoe_verify(ctx, GOLDEN, AOE_DTYPE_BF16, on_result, NULL, NULL), 0);
    assert_int_equal(lines, 20);
    assert_int_equal(failures, 0);
    char *path = test_path(dir, "bert/expected.safetensors"), *bert = test_path(dir, "bert");
    static const char *const tensors[] = {"hidden.3.1", "grad.angle.encoder.layer.1.output.dense.weight",
                                          "grad.ibn.encoder.layer.2.attention.self.key.bias"};
    size_t size;
    char *data = test_read(path, &size);
    for (size_t k = 0; k < 3; k++) {
        const float nan = NAN;
        const size_t at = tensor_at(data, size, tensors[k]) + 4 * 5;
        char kept[4];
        memcpy(kept, data + at, 4);
        memcpy(data + at, &nan, 4);
        free(test_write(dir, "bert/expected.safetensors", data, size));
        lines = failures = 0;
        assert_int_equal(aoe_verify(ctx, bert, AOE_DTYPE_BF16, on_result, NULL, NULL), AOE_EMISMATCH);
        assert_int_equal(lines, 20);
        assert_int_equal(failures, 1);
        memcpy(data + at, kept, 4);
    }
    free(test_write(dir, "bert/expected.safetensors", data, size));
    free(data);
    /* halves a weight of layer normalization */
    char *model = test_path(dir, "bert/model.safetensors");
    data = test_read(model, &size);
    const size_t at = tensor_at(data, size, "encoder.layer.0.attention.output.LayerNorm.weight");
    for (size_t i = 0; i < 16; i++) {
        float v;
        memcpy(&v, data + at + 4 * i, 4);
        v *= 0.5f;
        memcpy(data + at + 4 * i, &v, 4);
    }
    free(test_write(dir, "bert/model.safetensors", data, size));
    assert_int_equal(aoe_verify(ctx, bert, AOE_DTYPE_BF16, NULL, NULL, NULL), AOE_EMISMATCH);
    copy(bert, "model.safetensors");
    free(data);
    free(model);
    free(bert);
    free(path);
}

/* Tests a check with joined = 1, which treats several tensors as one tensor. Its error is relative to the norm of all
 * tensors that have been compared so far. If a value is NaN, the error is NaN, and later tensors do not change it. */
static void test_joined(void **state) {
    (void)state;
    aoei_check c;
    const double nan = (double)NAN, large[2] = {30, 40}, small[2] = {1e-3, 0}, off[2] = {2e-3, 0}, bad[2] = {0, nan};
    aoei_check_begin(&c, "group", "name", 1e-3);
    c.joined = 1;
    aoei_check_values(&c, off, small, 2);
    assert_true(fabs(c.worst - 1) < 1e-12);
    aoei_check_values(&c, large, large, 2); /* the error of the small tensor is small relative to the norm of both
                                               tensors */
    assert_true(fabs(c.worst - 1e-3 / 50) < 1e-9 && c.compared == 2);
    aoei_check_values(&c, bad, small, 2);
    assert_true(isnan(c.worst));
    aoei_check_values(&c, large, large, 2);
    assert_true(isnan(c.worst));
}

/* Tests how the error of a check is computed. It is relative to the norm of the reference. If this norm is below 1e-6,
 * the error is the norm of the difference multiplied by tolerance / 1e-6. If a value is NaN, the error is NaN. */
static void test_errors(void **state) {
    (void)state;
    aoei_check c;
    const double nan = (double)NAN, want[2] = {3, 4}, off[2] = {3, 4.5}, bad[2] = {3, nan}, zero[2] = {0, 0},
                 small[2] = {5e-7, 0};
    aoei_check_begin(&c, "group", "name", 1e-3);
    aoei_check_values(&c, want, want, 2);
    assert_true(c.worst == 0 && c.compared == 1);
    aoei_check_values(&c, off, want, 2);
    assert_true(fabs(c.worst - 0.1) < 1e-15);
    /* the reference is 0, and the norm of the difference, 5e-7, is half of the allowed 1e-6 */
    aoei_check_values(&c, small, zero, 2);
    assert_true(fabs(c.worst - 0.1) < 1e-15);
    aoei_check_values(&c, bad, want, 2);
    aoei_check_values(&c, want, want, 2);
    assert_true(isnan(c.worst)); /* later values do not replace NaN */
    aoei_check_begin(&c, "group", "name", 1e-3);
    aoei_check_values(&c, small, zero, 2);
    assert_true(fabs(c.worst - 0.5e-3) < 1e-15);
    aoei_check_values(&c, want, bad, 2);
    assert_true(isnan(c.worst));
    aoei_verify v = {.report = on_result};
    aoei_check_end(&v, &c);
    aoei_check_begin(&c, "group", "name", 1e-3);
    aoei_check_end(&v, &c); /* a check without comparisons fails */
    assert_int_equal(v.failed, 2);
    assert_int_equal(v.done, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_flipped_bit),
                                       cmocka_unit_test(test_not_a_number),
                                       cmocka_unit_test(test_missing_tensor),
                                       cmocka_unit_test(test_bad_cases),
                                       cmocka_unit_test(test_objectives),
                                       cmocka_unit_test(test_nothing_to_check),
                                       cmocka_unit_test(test_unknown_architecture),
                                       cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_bf16),
                                       cmocka_unit_test(test_joined)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
