/* SPDX-License-Identifier: MIT
 * The encoder's promises about bits: training and inference agree, with packed
 * weights and without; neither neighbours nor threads change a text; gradients of two
 * half batches are those of the whole one. And its values, on shapes that are not
 * multiples of any block, against double precision.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "base/alloc.h"
#include "model/encode.h"
#include "model/encoder.h"

/* Float32 against double, relative to the norm: that of the golden cases. */
#define TOLERANCE 2e-6

enum { TEXTS = 13 };
static const size_t lengths[TEXTS] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 17, 33, 64, 70};

static const tiny_model shapes[] = {
    {.hidden = 16, .layers = 2, .heads = 2, .intermediate = 24, .positions = 80, .types = 2},
    {.hidden = 40, .layers = 1, .heads = 5, .intermediate = 72, .positions = 70, .types = 0},
    {.hidden = 33, .layers = 3, .heads = 3, .intermediate = 50, .positions = 70, .types = 1},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* Weights, their packed copies, a batch, and activations of both modes. */
typedef struct setup {
    aoe_context *ctx;
    aoei_encoder_config c;
    aoei_arena arena;
    aoei_params params;
    aoei_tensor *packed; /* [slots] the values, linear weights with packed copies */
    float **copies;      /* [slots] */
    aoei_encoder_state training, inference;
    aoei_tensor dpooled; /* [TEXTS, D] */
    aoei_batch batch;
} setup;

static int layout(setup *s, aoei_arena *arena) {
    aoe_error err;
    int code = aoei_params_layout(&s->params, &s->c, arena, &err);
    s->dpooled = aoei_tensor_take(arena, TEXTS, s->c.hidden);
    if (!code)
        code = aoei_encoder_layout(&s->training, s->ctx, &s->c, arena, s->batch.n_tokens, TEXTS, s->batch.longest, 1, &err);
    if (!code)
        code = aoei_encoder_layout(&s->inference, s->ctx, &s->c, arena, s->batch.n_tokens, TEXTS, s->batch.longest, 0, &err);
    return code;
}

static void pack(setup *s) {
    s->packed = calloc(s->params.n_slots, sizeof *s->packed);
    s->copies = calloc(s->params.n_slots, sizeof *s->copies);
    assert_true(s->packed && s->copies);
    memcpy(s->packed, s->params.values, s->params.n_slots * sizeof *s->packed);
    for (size_t i = AOEI_W_LAYERS; i < s->params.n_slots; i++) {
        aoei_slot d;
        aoei_slot_describe(&s->c, i, &d);
        if (d.vector)
            continue;
        s->copies[i] = aoei_aligned((aoei_weight_packed_size(s->ctx, d.rows, d.cols) + 1) * sizeof(float));
        assert_non_null(s->copies[i]);
        aoei_weight_pack(s->ctx, &s->packed[i], s->copies[i]);
    }
}

/* The arena's memory is NaN at first: whatever is read must have been written. */
static void setup_create(setup *s, aoei_tier tier, size_t threads, const tiny_model *shape) {
    memset(s, 0, sizeof *s);
    s->ctx = test_context(tier, threads);
    tiny_config(&s->c, shape);
    s->batch = test_batch(lengths, TEXTS, s->c.vocab);
    aoei_arena plan;
    aoei_arena_measure(&plan);
    assert_int_equal(layout(s, &plan), 0);
    assert_int_equal(aoei_arena_create(&s->arena, plan.used, NULL), 0);
    memset(s->arena.base, 0xff, s->arena.size);
    assert_int_equal(layout(s, &s->arena), 0);
    assert_int_equal(s->arena.overflow, 0);
    tiny_fill(s->ctx, &s->params, &s->c, 3);
    test_fill_normal(s->dpooled.data, TEXTS * s->c.hidden, 1, 77);
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

/* Runs check with every tier, 1 to 3 threads, and every shape. */
static void everywhere(void (*check)(setup *s, float **kept)) {
    for (int tier = AOEI_TIER_C; tier <= (int)aoei_cpu_detect(); tier++)
        for (size_t k = 0; k < SHAPES; k++) {
            float *kept[2] = {NULL, NULL}; /* what the first thread count gave */
            for (size_t threads = 1; threads <= 3; threads++) {
                setup s;
                setup_create(&s, (aoei_tier)tier, threads, &shapes[k]);
                check(&s, kept);
                setup_destroy(&s);
            }
            free(kept[0]);
            free(kept[1]);
        }
}

/* Equal to what fewer threads gave; takes host. */
static void keep_or_compare(float **kept, float *host, size_t n) {
    if (!*kept) {
        *kept = host;
        return;
    }
    assert_memory_equal(*kept, host, n * sizeof *host);
    free(host);
}

static void check_values(const setup *s, const float *first, const float *last) {
    bert_reference r;
    const size_t n = s->batch.n_tokens * s->c.hidden;
    bert_reference_create(&r, s->ctx, &s->c, s->params.values, &s->batch, NULL);
    bert_reference_forward(&r);
    test_close(aoei_tensor_wrap(first, s->batch.n_tokens, s->c.hidden), r.first, TOLERANCE);
    test_close(aoei_tensor_wrap(last, s->batch.n_tokens, s->c.hidden), r.last, TOLERANCE);
    assert_true(n > 0);
    bert_reference_destroy(&r);
}

static void forward(setup *s, float **kept) {
    const size_t N = s->batch.n_tokens, bytes = N * s->c.hidden * sizeof(float);
    float *train = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, s->params.values, &s->batch, &s->training, NULL));
    float *first = copy_of(s, aoei_encoder_hidden(&s->training, &s->c, 0, N));
    float *end = copy_of(s, aoei_encoder_hidden(&s->training, &s->c, s->c.layers, N));
    assert_memory_equal(train, end, bytes);
    for (int packed = 0; packed < 2; packed++) {
        const aoei_tensor *w = packed ? s->packed : s->params.values;
        float *infer = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, w, &s->batch, &s->inference, NULL));
        float *infer_first = copy_of(s, aoei_encoder_hidden(&s->inference, &s->c, 0, N));
        assert_memory_equal(train, infer, bytes);
        assert_memory_equal(first, infer_first, bytes);
        free(infer);
        free(infer_first);
    }
    check_values(s, first, train);
    free(end);
    keep_or_compare(&kept[0], first, N * s->c.hidden);
    keep_or_compare(&kept[1], train, N * s->c.hidden);
}

static void test_forward(void **state) {
    (void)state;
    everywhere(forward);
}

/* A text alone: every token the bits it had in the batch, with dropout too (the masks go by text_index). */
static void alone(setup *s, float **kept) {
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    const size_t D = s->c.hidden;
    float *all = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, s->params.values, &s->batch, &s->training, &drop));
    for (size_t i = 0; i < TEXTS; i++) {
        aoei_batch one = test_batch_text(&s->batch, i);
        float *h = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, s->packed, &one, &s->inference, &drop));
        assert_memory_equal(all + s->batch.offsets[i] * D, h, one.n_tokens * D * sizeof *h);
        free(h);
        test_batch_free(one, 1);
    }
    keep_or_compare(&kept[0], all, s->batch.n_tokens * D);
}

static void test_alone(void **state) {
    (void)state;
    everywhere(alone);
}

/* Texts [first, end) of a batch as a batch of their own, that keep their text_index. Offsets are the caller's: free. */
static aoei_batch part(const aoei_batch *b, size_t first, size_t end) {
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

/* Adds the gradient of texts [first, end) for the fixed pooled gradient. */
static void add_gradient(setup *s, aoe_pooling pooling, size_t first, size_t end, const aoei_encoder_dropout *drop) {
    const aoei_batch b = part(&s->batch, first, end);
    const aoei_tensor last = aoei_encoder_forward(s->ctx, &s->c, s->params.values, &b, &s->training, drop);
    aoei_pool_backward(s->ctx, aoei_encoder_grad_first(&s->training, b.n_tokens),
                       aoei_encoder_grad_last(&s->training, b.n_tokens), pooling,
                       aoei_tensor_rows(s->dpooled, first, end - first), last, &b);
    aoei_encoder_backward(s->ctx, &s->c, s->params.values, s->params.grads, &b, &s->training, drop,
                          pooling == AOE_POOLING_FIRST_LAST_AVG);
    free((void *)(uintptr_t)b.offsets);
}

static void halves(setup *s, float **kept) {
    static const aoe_pooling poolings[2] = {AOE_POOLING_LAST_MAX, AOE_POOLING_FIRST_LAST_AVG};
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    for (int k = 0; k < 2; k++) {
        const aoei_encoder_dropout *d = k ? &drop : NULL;
        aoei_tensor_zero(s->ctx, s->params.grad);
        add_gradient(s, poolings[k], 0, TEXTS, d);
        float *whole = copy_of(s, s->params.grad);
        for (size_t i = 0; i < s->params.count; i++)
            assert_true(isfinite(whole[i]));
        static const size_t cuts[][4] = {{0, 6, TEXTS, TEXTS}, {0, 1, 12, TEXTS}};
        for (int c = 0; c < 2; c++) {
            aoei_tensor_zero(s->ctx, s->params.grad);
            for (int i = 0; i < 3; i++)
                if (cuts[c][i] < cuts[c][i + 1])
                    add_gradient(s, poolings[k], cuts[c][i], cuts[c][i + 1], d);
            float *sum = copy_of(s, s->params.grad);
            assert_memory_equal(whole, sum, s->params.count * sizeof *sum);
            free(sum);
        }
        keep_or_compare(&kept[k], whole, s->params.count);
    }
}

static void test_halves(void **state) {
    (void)state;
    everywhere(halves);
}

/* Dropout with probability 0 is no dropout. */
static void test_no_dropout(void **state) {
    (void)state;
    setup s;
    setup_create(&s, aoei_cpu_detect(), 1, &shapes[0]);
    const aoei_encoder_dropout off = {.hidden = 0, .attention = 0, .key = {1, 2}};
    float *a = copy_of(&s, aoei_encoder_forward(s.ctx, &s.c, s.params.values, &s.batch, &s.training, NULL));
    float *b = copy_of(&s, aoei_encoder_forward(s.ctx, &s.c, s.params.values, &s.batch, &s.training, &off));
    assert_memory_equal(a, b, s.batch.n_tokens * s.c.hidden * sizeof *a);
    free(a);
    free(b);
    setup_destroy(&s);
}

/* The plan is pure and grows with every bound; one that does not fit is an error, not a wrapped size. */
static void test_plan(void **state) {
    (void)state;
    aoe_context *ctx = tiny_context(2);
    aoei_encoder_config c;
    aoei_encoder_state s;
    aoei_arena a;
    size_t last = 0;
    tiny_config(&c, &shapes[0]);
    for (size_t n = 1; n <= 1000; n *= 10)
        for (int training = 0; training < 2; training++) {
            aoei_arena_measure(&a);
            assert_int_equal(aoei_encoder_layout(&s, ctx, &c, &a, n, n, 80, training, NULL), 0);
            assert_true(a.used > last);
            last = a.used;
        }
    aoe_error err = {0};
    aoei_arena_measure(&a);
    assert_int_equal(aoei_encoder_layout(&s, ctx, &c, &a, SIZE_MAX / 8, 1, 80, 1, &err), AOE_ENOMEM);
    assert_non_null(strstr(err.message, "--batch-tokens"));
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward), cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_halves), cmocka_unit_test(test_no_dropout),
                                       cmocka_unit_test(test_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
