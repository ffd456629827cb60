/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the training step on labeled pairs. A step that processes a batch in chunks (GradCache) is compared with a step
 * without chunks. In float32, losses and gradients must be bit-identical. In bf16, the losses must be bit-identical;
 * the gradients must be bit-identical if chunks end at multiples of 32 tokens, and close otherwise. The tests cover
 * dropout, recomputation of activations, gradient accumulation, and several numbers of threads. The tests in tests/grad
 * compare the gradients with finite differences.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/random.h"
#include "train/pair_step.h"

enum { PAIRS = 7, TEXTS = 2 * PAIRS, LONGEST = 15, TOKENS = 16 * PAIRS };
/* Lengths of the texts in tokens. */
/* the two texts of a pair have 16 tokens together */
static const size_t even[TEXTS] = {8, 8, 1, 15, 10, 6, 3, 13, 9, 7, 5, 11, 2, 14};
/* the two texts of a pair have 7 to 30 tokens together */
static const size_t uneven[TEXTS] = {1, 9, 5, 2, 8, 3, 5, 7, 4, 6, 15, 15, 14, 13};

/* Relative tolerance for bf16 gradients if the terms of the sums over tokens are added in another order. The sums are
 * float32 sums of a few dozen terms, and the tolerance covers their rounding errors. */
#define BF16_TOLERANCE 1e-6

static const double labels[PAIRS] = {5, 1, 3.5, 4, 0, 4.5, 2};
static const uint32_t groups[TEXTS] = {0, 1, 2, 3, 4, 5, 2, 7, 8, 9, 10, 11, 12, 13};

typedef struct variant {
    aoei_dtype type;
    aoei_tier tier;
    size_t threads, chunk_pairs;
    int dropout, recompute, batches;
    size_t shards; /* 0: one shard */
    aoe_pooling pooling;
    const size_t *lengths; /* [TEXTS] length of each text in tokens */
} variant;

typedef struct outcome {
    float *grad;                    /* [count], owned; gradient of all tensors */
    size_t count;                   /* number of elements of grad */
    size_t bytes;                   /* size of the step's memory */
    aoe_objective_result result[2]; /* losses of each batch */
} outcome;

static void fill_batch(aoei_pair_step *step, const size_t *lengths, size_t pairs, uint32_t substream) {
    aoei_rng r;
    aoei_rng_init(&r, 5, AOEI_STREAM_TEST, substream);
    aoei_batch_clear(&step->buffer);
    for (size_t i = 0; i < 2 * pairs; i++) {
        int32_t ids[LONGEST];
        for (size_t t = 0; t < lengths[i]; t++)
            ids[t] = (int32_t)aoei_rng_below(&r, (uint32_t)step->config.vocab);
        aoei_batch_add(&step->buffer, ids, lengths[i], (uint32_t)(100 * substream + i));
    }
}

/* Computes the gradient of v->batches batches. If there are two batches, the second has one pair less. The memory is
 * filled with NaN first, so that reading uninitialized memory changes the result. */
static outcome run(const variant *v) {
    outcome out = {0};
    aoei_encoder_config c;
    aoei_pair_step step;
    tiny_model shape = tiny_defaults();
    aoe_context *ctx = test_context(v->tier, v->threads);
    size_t tokens = 0;
    for (size_t i = 0; i < 2 * v->chunk_pairs; i++)
        tokens += LONGEST;
    const aoei_shards shards = aoei_shards_of(v->shards ? v->shards : 1, NULL);
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .tokens = TEXTS * LONGEST,
                                      .longest = LONGEST,
                                      .type = v->type,
                                      .recompute = v->recompute,
                                      .chunk_pairs = v->chunk_pairs,
                                      .chunk_tokens = tokens,
                                      .shards = &shards,
                                      .accumulates = v->batches > 1};
    tiny_config(&c, &shape);
    assert_int_equal(aoei_pair_step_create(&step, ctx, &c, &o, NULL), 0);
    memset(step.arena.base, 0xff, step.arena.size);
    /* the arena also contains tensor views and optimizer segments, which memset has overwritten, so it is laid out
     * again */
    aoei_arena again = step.arena;
    again.used = 0;
    assert_int_equal(aoei_pair_step_layout(&step, ctx, &c, &o, &again, NULL), 0);
    assert_int_equal(again.overflow, 0);
    tiny_fill(ctx, &step.params, &c, 1);
    aoei_tensor_zero(ctx, step.params.grad);
    const aoei_encoder_dropout drop = {.hidden = 0.2, .attention = 0.3, .key = {21, 22}};
    aoe_objective_options objective;
    aoe_objective_options_defaults(&objective);
    objective.ibn_threshold = 4;
    for (int k = 0; k < v->batches; k++) {
        fill_batch(&step, v->lengths, PAIRS - (size_t)k, (uint32_t)k);
        assert_int_equal(aoei_pair_step_gradient(&step, v->pooling, &objective, labels, groups,
                                                 v->dropout ? &drop : NULL, 1.0 / v->batches, &out.result[k], NULL),
                         0);
    }
    if (v->shards > 1)
        aoei_gradient_tree_close(&step.tree, ctx);
    out.count = step.params.count;
    out.bytes = again.used;
    out.grad = malloc(out.count * sizeof *out.grad);
    assert_non_null(out.grad);
    aoei_tensor_read(ctx, out.grad, step.params.grad);
    for (size_t i = 0; i < out.count; i++)
        assert_true(isfinite(out.grad[i]));
    aoei_pair_step_destroy(&step);
    aoe_context_destroy(ctx);
    return out;
}

static void assert_identical(const outcome *want, const variant *v) {
    outcome got = run(v);
    assert_int_equal(got.count, want->count);
    for (size_t i = 0; i < got.count; i++)
        if (memcmp(&got.grad[i], &want->grad[i], sizeof(float)) != 0)
            fail_msg(
                "type %d, tier %d, %zu threads, chunks of %zu pairs, dropout %d, recompute %d: gradient[%zu] is %.9g, "
                "expected %.9g",
                (int)v->type, (int)v->tier, v->threads, v->chunk_pairs, v->dropout, v->recompute, i,
                (double)got.grad[i], (double)want->grad[i]);
    assert_memory_equal(got.result, want->result, sizeof got.result);
    free(got.grad);
}

/* Runs the step with each of the n chunk sizes, with and without recomputation. Chunk size i uses 1 + i % 3 threads.
 * Asserts that the results equal the results of the step without chunks on one thread. */
static void check_chunks(variant v, const size_t *chunks, size_t n) {
    v.threads = 1;
    v.chunk_pairs = 0;
    v.recompute = 0;
    outcome plain = run(&v);
    for (size_t i = 0; i < n; i++) {
        v.chunk_pairs = chunks[i];
        v.threads = 1 + i % 3;
        v.recompute = 0;
        assert_identical(&plain, &v);
        v.recompute = 1;
        assert_identical(&plain, &v);
    }
    free(plain.grad);
}

static void test_float32(void **state) {
    (void)state;
    static const size_t chunks[] = {1, 2, 3, PAIRS, PAIRS + 5};
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (int dropout = 0; dropout < 2; dropout++)
            for (int batches = 1; batches <= 2; batches++) {
                const variant v = {.type = AOEI_F32,
                                   .tier = (aoei_tier)tier,
                                   .dropout = dropout,
                                   .batches = batches,
                                   .pooling = batches == 1 ? AOE_POOLING_FIRST_LAST_AVG : AOE_POOLING_CLS,
                                   .lengths = uneven};
                check_chunks(v, chunks, sizeof chunks / sizeof *chunks);
            }
}

/* Tests bf16 with chunks of 2 and 4 pairs, which have 32 and 64 tokens, and with one chunk of all pairs, so that
 * results are bit-identical. */
static void test_bf16_multiples(void **state) {
    (void)state;
    static const size_t chunks[] = {2, 4, PAIRS};
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (int dropout = 0; dropout < 2; dropout++) {
            const variant v = {.type = AOEI_BF16,
                               .tier = (aoei_tier)tier,
                               .dropout = dropout,
                               .batches = 1,
                               .pooling = AOE_POOLING_LAST_MAX,
                               .lengths = even};
            check_chunks(v, chunks, sizeof chunks / sizeof *chunks);
        }
}

static void test_bf16_close(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (int dropout = 0; dropout < 2; dropout++)
            for (size_t chunk = 1; chunk <= 3; chunk++) {
                variant v = {.type = AOEI_BF16,
                             .tier = (aoei_tier)tier,
                             .threads = 2,
                             .dropout = dropout,
                             .batches = 2,
                             .pooling = AOE_POOLING_CLS_LAST_AVG,
                             .lengths = uneven};
                outcome plain = run(&v);
                v.chunk_pairs = chunk;
                outcome got = run(&v);
                double difference = 0, norm = 0;
                for (size_t i = 0; i < got.count; i++) {
                    difference += pow((double)got.grad[i] - (double)plain.grad[i], 2);
                    norm += pow((double)plain.grad[i], 2);
                }
                if (!(sqrt(difference) <= BF16_TOLERANCE * sqrt(norm)))
                    fail_msg("tier %d, chunks of %zu pairs: relative difference %g exceeds %g", tier, chunk,
                             sqrt(difference / norm), BF16_TOLERANCE);
                /* embeddings do not depend on other texts of a chunk, so the losses are bit-identical */
                assert_memory_equal(got.result, plain.result, sizeof got.result);
                free(plain.grad);
                free(got.grad);
            }
}

/* Tests that dropout changes the loss and the gradient. Without such an effect, the other tests would not detect wrong
 * dropout masks in chunks. */
/* The sum of the gradients of shards is the gradient of the batch, except for rounding, so no shard is lost or counted
 * twice. */
static void test_shards(void **state) {
    (void)state;
    for (size_t shards = 2; shards <= 16; shards *= 2)
        for (int k = 0; k < 8; k++) {
            variant v = {.type = AOEI_F32,
                         .tier = test_best_tier(),
                         .threads = 2,
                         .dropout = k & 1,
                         .batches = 1 + (k >> 1 & 1),
                         .chunk_pairs = k >> 2 & 1 ? 2 : 0,
                         .pooling = AOE_POOLING_LAST_AVG,
                         .lengths = k & 1 ? even : uneven};
            outcome want = run(&v);
            v.shards = shards;
            outcome got = run(&v);
            double difference = 0, norm = 0;
            assert_int_equal(want.count, got.count);
            for (size_t i = 0; i < want.count; i++) {
                const double a = (double)want.grad[i], b = (double)got.grad[i];
                difference += (a - b) * (a - b);
                norm += a * a;
            }
            assert_true(norm > 0 && sqrt(difference / norm) < 1e-5);
            assert_memory_equal(want.result, got.result, sizeof want.result);
            free(want.grad);
            free(got.grad);
        }
}

static void test_dropout_has_effect(void **state) {
    (void)state;
    variant v = {.type = AOEI_F32, .threads = 1, .batches = 1, .pooling = AOE_POOLING_CLS, .lengths = uneven};
    outcome plain = run(&v);
    v.dropout = 1;
    outcome dropped = run(&v);
    assert_true(memcmp(plain.grad, dropped.grad, plain.count * sizeof(float)) != 0);
    assert_true(plain.result[0].total != dropped.result[0].total);
    free(plain.grad);
    free(dropped.grad);
}

/* Tests that a step with chunks or with recomputation needs less memory than a step without either. */
static void test_memory(void **state) {
    (void)state;
    for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
        variant v = {
            .type = (aoei_dtype)type, .threads = 1, .batches = 1, .pooling = AOE_POOLING_CLS, .lengths = uneven};
        size_t bytes[3];
        for (int k = 0; k < 3; k++) {
            v.chunk_pairs = k == 1 ? 1 : 0;
            v.recompute = k == 2;
            outcome out = run(&v);
            bytes[k] = out.bytes;
            free(out.grad);
        }
        assert_true(bytes[1] < bytes[0] && bytes[2] < bytes[0]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_float32), cmocka_unit_test(test_bf16_multiples),     cmocka_unit_test(test_bf16_close),
        cmocka_unit_test(test_shards),  cmocka_unit_test(test_dropout_has_effect), cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
