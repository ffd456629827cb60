/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: encoder/arch_ran encoder/ran_layer encoder/ran_windows
 * Tests the recurrent encoder (RAN, recurrent additive network). The encoder divides a text into windows of tokens and
 * processes the windows of a batch in one or more rounds, each of which computes some of the windows at once. Its
 * results are compared with a reference in double, for texts that end at every position of a window, and with both
 * kinds of normalization. In float32 and bf16, training, inference and recomputation must be bit-identical. Results
 * must not depend on the other texts of a batch, on the number of threads, or on the number of rounds. Float32
 * gradients must not depend on how a batch is split.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/ran_reference.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "base/alloc.h"
#include "encoder/params.h"
#include "encoder/ran_state.h"
#include "encoder/ran_windows.h"
#include "encoder/slots.h"
#include "nn/batch.h"
#include "nn/gemm.h"

/* Tolerance for the norm of the error, divided by the norm of the reference in double. For float32, the tests in
 * tests/golden use an equal tolerance. For bf16, the tolerance is derived from the number of roundings. The hidden
 * state of a token is rounded about 15 times per layer. A cell, the vector that summarizes the text up to a window, is
 * also rounded about 15 times in each of up to 7 earlier windows. Each rounding has a root mean square error of 1.1e-3.
 * Three layers have about 200 roundings, with a total error of about 1.6e-2. The tolerance is twice this error. */
static const double tolerance[] = {[AOEI_F32] = 2e-6, [AOEI_BF16] = 3.2e-2};

/* Tolerance for the norm of the error of the bf16 gradient of all parameters, divided by the norm of the float32
 * gradient. The tests in tests/golden use an equal tolerance. */
#define BF16_GRADIENT 5e-2

/* Lengths of the texts in tokens. A window has 4 tokens, and the last window of a text has at least 2. A text therefore
 * ends with a full window, with a window of 2 or 3 tokens, or with one token that is added to the previous window. */
enum { TEXTS = 14, MAX_LENGTH = 64 };
static const size_t lengths[TEXTS] = {1, 3, 4, 5, 6, 7, 8, 9, 14, 4, 2, 13, 12, 29};

/* An encoder with its weights, a batch, and the activations of every mode. */
typedef struct setup {
    aoe_context *ctx;
    aoei_dtype type;
    aoei_encoder_config c;
    aoei_arena arena;
    aoei_params params;
    aoei_tensor *packed; /* [slots], owned; the weights; linear weights also have packed copies */
    void **copies;       /* [slots], owned; memory of the packed copies */
    aoei_encoder_state training, recompute, inference;
    aoei_tensor dpooled; /* [texts, D] gradient of the pooled vectors */
    aoei_batch batch;
} setup;

static int layout_state(setup *s, aoei_encoder_state *state, aoei_arena *arena, int training, int recompute) {
    const aoei_encoder_mode mode = {.type = s->type, .training = training, .recompute = recompute};
    return aoei_encoder_layout(state, s->ctx, &s->c, arena, s->batch.n_tokens, s->batch.n_texts, s->batch.longest, mode,
                               NULL);
}

static int layout(setup *s, aoei_arena *arena) {
    int code = aoei_params_layout(&s->params, s->ctx, &s->c, &(aoei_params_options){.type = s->type}, arena, NULL);
    s->dpooled = aoei_tensor_take(arena, s->batch.n_texts, s->c.hidden);
    if (!code)
        code = layout_state(s, &s->training, arena, 1, 0);
    if (!code)
        code = layout_state(s, &s->recompute, arena, 1, 1);
    return code ? code : layout_state(s, &s->inference, arena, 0, 0);
}

static void pack(setup *s) {
    s->packed = calloc(s->params.n_slots, sizeof *s->packed);
    s->copies = calloc(s->params.n_slots, sizeof *s->copies);
    assert_true(s->packed && s->copies);
    memcpy(s->packed, s->params.values, s->params.n_slots * sizeof *s->packed);
    for (size_t i = AOEI_W_LAYERS; i < s->params.n_slots; i++) {
        aoei_slot d;
        aoei_slot_describe(&s->c, i, &d);
        if (!d.linear)
            continue;
        s->copies[i] = aoei_aligned(aoei_weight_packed_size(s->ctx, s->type, d.rows, d.cols) + 1);
        assert_non_null(s->copies[i]);
        aoei_weight_pack(s->ctx, s->type, &s->packed[i], s->copies[i]);
    }
}

/* Fills in s. The memory of the activations is filled with NaN, so that reading uninitialized memory changes the
 * results. */
static void setup_create(setup *s, aoei_dtype type, aoei_tier tier, size_t threads, aoei_encoder_config c,
                         const size_t *length, size_t n_texts) {
    memset(s, 0, sizeof *s);
    s->type = type;
    s->ctx = test_context(tier, threads);
    s->c = c;
    s->batch = test_batch(length, n_texts, s->c.vocab);
    aoei_arena plan;
    aoei_arena_measure(&plan);
    assert_int_equal(layout(s, &plan), 0);
    assert_int_equal(aoei_arena_create(&s->arena, plan.used, NULL), 0);
    memset(s->arena.base, 0xff, s->arena.size);
    assert_int_equal(layout(s, &s->arena), 0);
    assert_int_equal(s->arena.overflow, 0);
    tiny_fill(s->ctx, &s->params, &s->c, 3);
    test_fill_normal(s->dpooled.data, n_texts * s->c.hidden, 1, 77);
    pack(s);
}

static void setup_destroy(setup *s) {
    for (size_t i = 0; i < s->params.n_slots; i++)
        aoei_aligned_free(s->copies[i]);
    free(s->copies);
    free(s->packed);
    test_batch_free(s->batch, 0);
    aoei_arena_destroy(&s->arena);
    aoe_context_destroy(s->ctx);
}

static float *copy_of(const setup *s, aoei_tensor t) {
    float *host = malloc(t.rows * t.cols * sizeof *host);
    assert_non_null(host);
    aoei_tensor_read(s->ctx, host, t);
    return host;
}

/* Returns configuration `which`, 0 or 1. The two configurations differ in the number of layers, in the kind of
 * normalization, and in the sizes of the hidden states and of the heads. */
static aoei_encoder_config config(size_t which) {
    aoei_encoder_config c = ran_tiny_config();
    if (which == 1) {
        c.hidden = 33;
        c.layers = 3;
        c.heads = 5;
        c.ran.head_size = 12;
        c.ran.langml_norm = 1;
    }
    return c;
}
enum { CONFIGS = 2 };

/* Calls `check` for float32 and bf16, the lowest and the highest instruction set, 1 and 3 threads, and every
 * configuration. Sanitizer builds use only 3 threads. kept: results with the first number of threads, with which later
 * results are compared. */
static void run_in_all_setups(void (*check)(setup *s, float **kept)) {
    for (int k = 0; k < 4 * CONFIGS; k++) {
        float *kept[2] = {NULL, NULL};
        for (size_t threads = TEST_SANITIZED ? 3 : 1; threads <= 3; threads += 2) {
            setup s;
            setup_create(&s, k % 2 ? AOEI_BF16 : AOEI_F32, k / 2 % 2 ? test_best_tier() : AOEI_TIER_C, threads,
                         config((size_t)k / 4), lengths, TEXTS);
            check(&s, kept);
            setup_destroy(&s);
        }
        free(kept[0]);
        free(kept[1]);
    }
}

/* If *kept is NULL, stores host [n] in *kept. Otherwise, asserts that host and *kept are equal and frees host. */
static void keep_or_compare(float **kept, float *host, size_t n) {
    if (!*kept) {
        *kept = host;
        return;
    }
    assert_memory_equal(*kept, host, n * sizeof *host);
    free(host);
}

static void check_values(const setup *s, const float *first, const float *last, const aoei_encoder_dropout *drop) {
    ran_reference r;
    ran_reference_create(&r, s->ctx, &s->c, s->params.values, &s->batch, drop);
    ran_reference_forward(&r);
    test_close(aoei_tensor_wrap(first, s->batch.n_tokens, s->c.hidden), r.first, tolerance[s->type]);
    test_close(aoei_tensor_wrap(last, s->batch.n_tokens, s->c.hidden), r.last, tolerance[s->type]);
    const aoei_tensor pooled = test_tensor_poisoned(s->batch.n_texts, s->c.hidden, 0);
    double *want = malloc(s->batch.n_texts * s->c.hidden * sizeof *want);
    assert_non_null(want);
    for (int pooling = AOE_POOLING_CELL_LAST; pooling <= AOE_POOLING_CELL_MAX; pooling++) {
        aoei_encoder_pool(s->ctx, &s->c, pooled, (aoe_pooling)pooling, (aoei_tensor){0}, &s->batch, &s->training);
        ran_reference_pool(&r, (aoe_pooling)pooling, want);
        test_close(pooled, want, tolerance[s->type]);
    }
    free(want);
    test_tensor_free(pooled);
    ran_reference_destroy(&r);
}

static void forward(setup *s, float **kept) {
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    const size_t N = s->batch.n_tokens, bytes = N * s->c.hidden * sizeof(float);
    for (int k = 0; k < 2; k++) {
        const aoei_encoder_dropout *d = k ? &drop : NULL;
        float *train = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, s->params.values, &s->batch, &s->training, d));
        float *first = copy_of(s, aoei_encoder_hidden(&s->training, &s->c, 0, N));
        for (int packed = s->type == AOEI_BF16; packed < 2; packed++) { /* bf16 inference requires packed weights */
            const aoei_tensor *w = packed ? s->packed : s->params.values;
            float *infer = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, w, &s->batch, &s->inference, d));
            float *infer_first = copy_of(s, aoei_encoder_hidden(&s->inference, &s->c, 0, N));
            assert_memory_equal(train, infer, bytes);
            assert_memory_equal(first, infer_first, bytes);
            free(infer);
            free(infer_first);
        }
        check_values(s, first, train, d);
        free(first);
        keep_or_compare(&kept[k], train, N * s->c.hidden);
    }
}

static void test_forward(void **state) {
    (void)state;
    run_in_all_setups(forward);
}

/* Asserts that the hidden states of a text in s->batch are bit-identical to its hidden states in a batch that contains
 * only this text. This must also hold with dropout, because the dropout masks depend on text_index. */
static void text_alone(setup *s, float **kept) {
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    const size_t D = s->c.hidden;
    float *all = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, s->params.values, &s->batch, &s->training, &drop));
    const aoei_tensor pooled = test_tensor_poisoned(s->batch.n_texts, D, 0), one_pooled = test_tensor_poisoned(1, D, 0);
    aoei_encoder_pool(s->ctx, &s->c, pooled, AOE_POOLING_CELL_MEAN, (aoei_tensor){0}, &s->batch, &s->training);
    for (size_t i = 0; i < TEXTS; i++) {
        aoei_batch one = test_batch_text(&s->batch, i);
        float *h = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, s->packed, &one, &s->inference, &drop));
        assert_memory_equal(all + s->batch.offsets[i] * D, h, one.n_tokens * D * sizeof *h);
        aoei_encoder_pool(s->ctx, &s->c, one_pooled, AOE_POOLING_CELL_MEAN, (aoei_tensor){0}, &one, &s->inference);
        test_same_bits(one_pooled, aoei_tensor_rows(pooled, i, 1));
        free(h);
        test_batch_free(one, 1);
    }
    test_tensor_free(pooled);
    test_tensor_free(one_pooled);
    keep_or_compare(&kept[0], all, s->batch.n_tokens * D);
}

static void test_text_alone(void **state) {
    (void)state;
    run_in_all_setups(text_alone);
}

/* Returns a new batch of the texts [first, end) of b. Each text keeps its text_index. The caller frees the array
 * `offsets` of the new batch. */
static aoei_batch subbatch(const aoei_batch *b, size_t first, size_t end) {
    uint32_t *offsets = malloc((end - first + 1) * sizeof *offsets);
    assert_non_null(offsets);
    aoei_batch p = {.n_tokens = b->offsets[end] - b->offsets[first],
                    .n_texts = end - first,
                    .ids = b->ids + b->offsets[first],
                    .positions = b->positions + b->offsets[first],
                    .offsets = offsets,
                    .text_index = b->text_index + first};
    for (size_t i = first; i <= end; i++) {
        offsets[i - first] = b->offsets[i] - b->offsets[first];
        if (i < end && b->offsets[i + 1] - b->offsets[i] > p.longest)
            p.longest = b->offsets[i + 1] - b->offsets[i];
    }
    return p;
}

/* Runs the forward and backward passes of the texts [first, end) and adds the gradients of the weights to
 * s->params.grad. s->dpooled is used as the gradient of the pooled vectors. */
static void add_gradient(setup *s, aoei_encoder_state *state, aoe_pooling pooling, size_t first, size_t end,
                         const aoei_encoder_dropout *drop) {
    const aoei_batch b = subbatch(&s->batch, first, end);
    const aoei_tensor last = aoei_encoder_forward(s->ctx, &s->c, s->params.values, &b, state, drop);
    const int with_first = aoei_encoder_pool_backward(
        s->ctx, &s->c, pooling, aoei_tensor_rows(s->dpooled, first, end - first), last, &b, state);
    aoei_encoder_backward(s->ctx, &s->c, s->params.values, s->params.grads, &b, state, drop, with_first);
    free((void *)(uintptr_t)b.offsets);
}

/* Asserts that in float32, gradients accumulated over parts of a batch are bit-identical to the gradient of the whole
 * batch. */
static void split_batches(setup *s, float **kept) {
    static const aoe_pooling poolings[2] = {AOE_POOLING_CELL_MEAN, AOE_POOLING_FIRST_LAST_AVG};
    static const size_t splits[2][4] = {{0, 6, TEXTS, TEXTS}, {0, 1, 12, TEXTS}};
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    for (int k = 0; k < 2; k++) {
        const aoei_encoder_dropout *d = k ? &drop : NULL;
        aoei_tensor_zero(s->ctx, s->params.grad);
        add_gradient(s, &s->training, poolings[k], 0, TEXTS, d);
        float *whole = copy_of(s, s->params.grad);
        for (size_t i = 0; i < s->params.count; i++)
            assert_true(isfinite(whole[i]));
        for (int c = 0; c < 2 && s->type == AOEI_F32; c++) {
            aoei_tensor_zero(s->ctx, s->params.grad);
            for (int i = 0; i < 3; i++)
                if (splits[c][i] < splits[c][i + 1])
                    add_gradient(s, &s->training, poolings[k], splits[c][i], splits[c][i + 1], d);
            float *sum = copy_of(s, s->params.grad);
            assert_memory_equal(whole, sum, s->params.count * sizeof *sum);
            free(sum);
        }
        keep_or_compare(&kept[k], whole, s->params.count);
    }
}

static void test_split_batches(void **state) {
    (void)state;
    run_in_all_setups(split_batches);
}

/* Asserts that gradients are bit-identical with and without recomputation of activations. This must also hold for a
 * batch that is smaller than the planned size, and for a second batch in the same memory. */
static void recompute(setup *s, float **kept) {
    static const size_t ends[3] = {TEXTS, 11, TEXTS};
    static const aoe_pooling poolings[3] = {AOE_POOLING_FIRST_LAST_AVG, AOE_POOLING_CELL_MAX, AOE_POOLING_CELL_LAST};
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    (void)kept;
    assert_true(s->recompute.kept_bytes < s->training.kept_bytes || s->c.layers == 1);
    for (int k = 0; k < 3; k++) {
        const aoei_encoder_dropout *d = k == 1 ? NULL : &drop;
        float *grads[2];
        for (int again = 0; again < 2; again++) {
            aoei_tensor_zero(s->ctx, s->params.grad);
            add_gradient(s, again ? &s->recompute : &s->training, poolings[k], 0, ends[k], d);
            grads[again] = copy_of(s, s->params.grad);
        }
        assert_memory_equal(grads[0], grads[1], s->params.count * sizeof(float));
        free(grads[0]);
        free(grads[1]);
    }
}

static void test_recompute(void **state) {
    (void)state;
    run_in_all_setups(recompute);
}

/* Tests that bf16 gradients equal float32 gradients, except for rounding errors. */
static void test_bf16_gradient(void **state) {
    (void)state;
    for (size_t k = 0; k < CONFIGS; k++) {
        const aoei_encoder_dropout drop = {.hidden = 0.1, .attention = 0.1, .key = {5, 6}};
        float *grads[2];
        size_t n = 0;
        for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
            setup s;
            setup_create(&s, (aoei_dtype)type, test_best_tier(), 2, config(k), lengths, TEXTS);
            aoei_tensor_zero(s.ctx, s.params.grad);
            add_gradient(&s, &s.training, AOE_POOLING_CLS_LAST_AVG, 0, TEXTS, &drop);
            grads[type] = copy_of(&s, s.params.grad);
            n = s.params.count;
            setup_destroy(&s);
        }
        double difference = 0, norm = 0;
        for (size_t i = 0; i < n; i++) {
            difference += pow((double)grads[1][i] - (double)grads[0][i], 2);
            norm += pow((double)grads[0][i], 2);
        }
        if (!(sqrt(difference) <= BF16_GRADIENT * sqrt(norm)))
            fail_msg("configuration %zu: relative difference %g exceeds %g", k, sqrt(difference / norm), BF16_GRADIENT);
        free(grads[0]);
        free(grads[1]);
    }
}

/* Tests the division of a text into windows. For every length below MAX_LENGTH, the windows must equal the windows of
 * the reference. */
static void test_windows(void **state) {
    (void)state;
    for (size_t window = 1; window <= 6; window++)
        for (size_t min_window = 1; min_window <= window; min_window++) {
            aoei_encoder_config c = ran_tiny_config();
            c.ran.window = window;
            c.ran.min_window = min_window;
            size_t begin[MAX_LENGTH], end[MAX_LENGTH];
            const aoei_ran_limits l = aoei_ran_limits_of(&c, 1);
            for (size_t n = 1; n < MAX_LENGTH; n++) {
                const size_t count = ran_reference_windows(&c, n, begin, end);
                assert_int_equal(aoei_ran_window_count(&l, n), count);
                assert_true(count <= aoei_ran_max_windows(&l, n, 1));
                for (size_t i = 0; i < count; i++) {
                    assert_int_equal(begin[i], i * window);
                    assert_true(end[i] - begin[i] < aoei_ran_window_rows(&l, n));
                }
                assert_int_equal(end[count - 1], n);
            }
        }
}

/* Compares texts of 1 to 22 tokens with the reference in double. */
static void test_every_length(void **state) {
    (void)state;
    size_t all_lengths[22];
    for (size_t i = 0; i < 22; i++)
        all_lengths[i] = i + 1;
    for (size_t min_window = 1; min_window <= 4; min_window++) {
        setup s;
        aoei_encoder_config c = ran_tiny_config();
        c.ran.min_window = min_window;
        c.ran.langml_norm = min_window % 2 == 0;
        setup_create(&s, AOEI_F32, test_best_tier(), 1, c, all_lengths, 22);
        float *last = copy_of(&s, aoei_encoder_forward(s.ctx, &s.c, s.params.values, &s.batch, &s.training, NULL));
        float *first = copy_of(&s, aoei_encoder_hidden(&s.training, &s.c, 0, s.batch.n_tokens));
        check_values(&s, first, last, NULL);
        free(last);
        free(first);
        setup_destroy(&s);
    }
}

/* Tests that results do not depend on the number of rounds. Inference processes long texts in several rounds and
 * blocks, whereas training uses one round. The results must be bit-identical. */
static void test_rounds(void **state) {
    (void)state;
    static const size_t long_lengths[] = {5000, 3, 6001, 17};
    for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
        setup s;
        aoei_encoder_config c = ran_tiny_config();
        c.ran.window = 96;
        c.ran.min_window = 20;
        c.layers = 1;
        setup_create(&s, (aoei_dtype)type, test_best_tier(), 2, c, long_lengths, 4);
        const size_t N = s.batch.n_tokens;
        const aoei_encoder_dropout drop = {.hidden = 0.1, .attention = 0.1, .key = {5, 6}};
        const aoei_tensor pooled[2] = {test_tensor_poisoned(4, c.hidden, 0), test_tensor_poisoned(4, c.hidden, 0)};
        float *h[2];
        for (int k = 0; k < 2; k++) {
            aoei_encoder_state *state_k = k ? &s.inference : &s.training;
            const aoei_tensor last = aoei_encoder_forward(s.ctx, &s.c, s.packed, &s.batch, state_k, &drop);
            h[k] = copy_of(&s, last);
            aoei_encoder_pool(s.ctx, &s.c, pooled[k], AOE_POOLING_CELL_MEAN, last, &s.batch, state_k);
        }
        const aoei_ran_state *inference = s.inference.own, *training = s.training.own;
        assert_true(inference->windows.n_rounds > 2 && training->windows.n_rounds == 1);
        assert_memory_equal(h[0], h[1], N * c.hidden * sizeof(float));
        test_same_bits(pooled[0], pooled[1]);
        for (int k = 0; k < 2; k++) {
            free(h[k]);
            test_tensor_free(pooled[k]);
        }
        setup_destroy(&s);
    }
}

/* Tests the planned size of the memory. It must be larger for longer texts, and much smaller for inference than for
 * training. If a size overflows, planning must fail. */
static void test_plan(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    aoei_encoder_config c = ran_tiny_config();
    const aoei_encoder_mode training = {.training = 1}, inference = {0};
    c.hidden = 64;
    c.ran.head_size = 128;
    c.ran.window = 256;
    aoei_encoder_state s;
    aoei_arena a;
    size_t before[2] = {0};
    for (size_t n = 1; n <= 100000; n *= 10)
        for (int k = 0; k < 2; k++) {
            aoei_arena_measure(&a);
            assert_int_equal(aoei_encoder_layout(&s, ctx, &c, &a, n, 1, n, k ? training : inference, NULL), 0);
            assert_true(a.used > before[k] && s.kept_bytes > 0 && s.kept_bytes < a.used);
            before[k] = a.used;
        }
    assert_true(before[1] > 8 * before[0]);
    aoe_error err = {0};
    aoei_arena_measure(&a);
    assert_int_equal(aoei_encoder_layout(&s, ctx, &c, &a, SIZE_MAX / 8, 1, 80, training, &err), AOE_ENOMEM);
    assert_non_null(strstr(err.message, "options.batch_tokens"));
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_windows),    cmocka_unit_test(test_every_length),  cmocka_unit_test(test_forward),
        cmocka_unit_test(test_text_alone), cmocka_unit_test(test_split_batches), cmocka_unit_test(test_recompute),
        cmocka_unit_test(test_rounds),     cmocka_unit_test(test_bf16_gradient), cmocka_unit_test(test_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
