/* SPDX-License-Identifier: MIT
 * tags: slow
 * Tests the benchmark: rejected options, default options, the consistency of the reported figures, and several
 * architectures.
 */
#include <math.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_eval.h"
#include "base/context.h"
#include "nn/dtype.h"

/* Asserts that aoe_bench returns the error `code` and that the message contains `part`. */
static void expect_rejected(const aoe_bench_options *o, int code, const char *part) {
    aoe_context *ctx = tiny_context(1);
    aoe_bench_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    const int got = aoe_bench(ctx, o, &r, &err);
    if (got != code || !strstr(err.message, part))
        fail_msg("expected code %d and a message with \"%s\", found code %d: %s", code, part, got, err.message);
    aoe_context_destroy(ctx);
}

static aoe_bench_options tiny_options(void) {
    aoe_bench_options o;
    aoe_bench_options_defaults(&o);
    assert_int_equal(aoe_shape_named(&o.shape, "bert-tiny", NULL), 0);
    o.texts = 4;
    o.length = 8;
    o.runs = 5;
    return o;
}

static void test_options(void **state) {
    (void)state;
    static const size_t lengths[] = {8, 0, 8, 8}, longer[] = {8, 8, 8, 513};
    const aoe_bench_options good = tiny_options();
    aoe_bench_options o;
#define BAD(field, value, code, part)                                                                                  \
    do {                                                                                                               \
        o = good;                                                                                                      \
        o.field = value;                                                                                               \
        expect_rejected(&o, code, part);                                                                               \
    } while (0)
    BAD(texts, 0, AOE_EARG, "options.texts");
    BAD(runs, 4, AOE_EARG, "options.runs");
    BAD(length, 0, AOE_EARG, "0 tokens");
    BAD(length, 513, AOE_EARG, "513 tokens");
    BAD(lengths, lengths, AOE_EARG, "text 2 has 0 tokens");
    BAD(lengths, longer, AOE_EARG, "text 4 has 513 tokens");
    BAD(shape.hidden, 0, AOE_EARG, "hidden_size");
    BAD(shape.hidden, (size_t)1 << 40, AOE_EARG, "hidden_size");
    BAD(shape.layers, 0, AOE_EARG, "num_hidden_layers");
    BAD(shape.heads, 3, AOE_EARG, "num_attention_heads");
    BAD(shape.intermediate, SIZE_MAX, AOE_EARG, "intermediate_size");
    BAD(shape.vocab, SIZE_MAX, AOE_EARG, "vocab_size");
#undef BAD
    o = good;
    o.mode = AOE_BENCH_TRAIN;
    o.texts = 3;
    expect_rejected(&o, AOE_EARG, "options.texts");
    o.texts = 4;
    o.shape.hidden = 15;
    o.shape.heads = 3;
    expect_rejected(&o, AOE_EARG, "even embedding size");
    o = good;
    o.dtype = AOE_DTYPE_INT8;
    o.mode = AOE_BENCH_TRAIN;
    expect_rejected(&o, AOE_EUNSUPPORTED, "options.dtype int8 is supported only for inference");
    o.mode = AOE_BENCH_PRETRAIN;
    expect_rejected(&o, AOE_EUNSUPPORTED, "options.dtype int8 is supported only for inference");
    o.mode = AOE_BENCH_INFER;
    assert_int_equal(aoe_shape_named(&o.shape, "ran-mini", NULL), 0);
    expect_rejected(&o, AOE_EUNSUPPORTED, "options.shape: options.dtype int8 is supported only for transformers");
}

/* Returns the number of floating-point operations of one forward pass. The number is 2 * tokens * (number of weights of
 * the linear layers), plus the operations of the matmuls in attention. */
static double operations(const aoe_shape *s, const size_t *lengths, size_t texts) {
    double sum = 0;
    for (size_t i = 0; i < texts; i++) {
        const double n = (double)lengths[i], D = (double)s->hidden, I = (double)s->intermediate;
        sum += 2 * n * (4 * D * D + 2 * D * I) + 2 * 2 * n * n * D;
    }
    return sum * (double)s->layers;
}

/* Runs the benchmark and checks its figures. lengths: number of tokens of each of the 4 texts; NULL: 8 tokens each.
 * tokens: sum of the lengths. */
static void check(aoe_dtype dtype, aoe_bench_mode mode, const size_t *lengths, size_t tokens) {
    aoe_bench_options o = tiny_options();
    static const size_t equal[] = {8, 8, 8, 8};
    aoe_context *ctx = tiny_context(2);
    aoe_bench_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    o.dtype = dtype;
    o.mode = mode;
    o.lengths = lengths;
    if (aoe_bench(ctx, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.tokens, tokens);
    assert_true(r.ms_min > 0 && r.ms_min <= r.ms && r.ms < 60e3);
    assert_true(fabs(r.tokens_per_second * r.ms / 1e3 / (double)tokens - 1) < 1e-9);
    double work = operations(&o.shape, lengths ? lengths : equal, 4), masked = 0;
    for (size_t i = 0; i < tokens; i++)
        masked += i % 20 == 0 || i % 20 == 7 || i % 20 == 14;
    const double D = (double)o.shape.hidden, V = (double)o.shape.vocab;
    if (mode == AOE_BENCH_PRETRAIN)
        work += 2 * masked * D * (D + V);
    work *= mode == AOE_BENCH_INFER ? 1 : 3;
    assert_true(fabs(r.tflops * 1e12 * r.ms / 1e3 / work - 1) < 1e-9);
    assert_true(r.tflops < 100);
    assert_true(r.peak_rss_mb > 1 && r.peak_rss_mb < 4096);
    assert_int_equal(r.dtype, aoei_dtype_in_use(dtype, aoei_context_type(ctx, dtype)));
    aoe_context_destroy(ctx);
}

static void test_inference(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 40, 3, 9};
    for (int dtype = AOE_DTYPE_AUTO; dtype <= AOE_DTYPE_INT8; dtype++) {
        check((aoe_dtype)dtype, AOE_BENCH_INFER, NULL, 32);
        check((aoe_dtype)dtype, AOE_BENCH_INFER, lengths, 53);
    }
}

static void test_training(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 40, 3, 9};
    for (int dtype = AOE_DTYPE_AUTO; dtype <= AOE_DTYPE_BF16; dtype++) {
        check((aoe_dtype)dtype, AOE_BENCH_TRAIN, NULL, 32);
        check((aoe_dtype)dtype, AOE_BENCH_TRAIN, lengths, 53);
        check((aoe_dtype)dtype, AOE_BENCH_PRETRAIN, NULL, 32);
        check((aoe_dtype)dtype, AOE_BENCH_PRETRAIN, lengths, 53);
    }
}

static void test_defaults(void **state) {
    (void)state;
    aoe_bench_options o;
    aoe_shape base = {.struct_size = sizeof base};
    aoe_bench_options_defaults(&o);
    assert_int_equal(aoe_shape_named(&base, "bert-base", NULL), 0);
    assert_memory_equal(&o.shape, &base, sizeof base);
    assert_true(o.texts == 64 && o.length == 32 && o.runs == 7 && o.mode == AOE_BENCH_INFER && !o.lengths &&
                o.seed == 42);
}

/* Tests architectures other than BERT, and a shape with so many weights that the benchmark times only one layer. */
static void test_architectures(void **state) {
    (void)state;
    static const char *const types[] = {"roberta", "llama", "qwen2"};
    aoe_context *ctx = tiny_context(2);
    for (int k = 0; k < 6; k++) {
        aoe_bench_options o = tiny_options();
        aoe_bench_result r = {.struct_size = sizeof r};
        aoe_error err = {0};
        o.shape = (aoe_shape){.struct_size = sizeof(aoe_shape),
                              .hidden = 32,
                              .layers = 3,
                              .heads = 4,
                              .intermediate = 48,
                              .vocab = 100,
                              .positions = 64};
        o.shape.architecture = types[k / 2];
        o.shape.kv_heads = k < 2 ? 0 : 2;
        o.mode = k % 2 ? AOE_BENCH_TRAIN : AOE_BENCH_INFER;
        if (aoe_bench(ctx, &o, &r, &err))
            fail_msg("%s", err.message);
        assert_true(r.layers_timed == 3 && r.ms > 0 && r.tflops > 0 && r.tokens == 32);
        o.shape.vocab = (size_t)1 << 24;
        o.shape.hidden = 160;
        if (aoe_bench(ctx, &o, &r, &err))
            fail_msg("%s", err.message);
        assert_true(r.layers_timed == 1 && r.ms > 0 && r.tflops > 0 && r.tokens == 32);
    }
    aoe_bench_options o = tiny_options();
    o.shape.architecture = "llama";
    o.mode = AOE_BENCH_PRETRAIN;
    expect_rejected(&o, AOE_EARG, "a llama model has no masked-LM head");
    o.shape.architecture = "gru";
    expect_rejected(&o, AOE_EARG, "options.shape.architecture 'gru'");
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_options), cmocka_unit_test(test_inference),
                                       cmocka_unit_test(test_training), cmocka_unit_test(test_defaults),
                                       cmocka_unit_test(test_architectures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
