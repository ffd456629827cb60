/* SPDX-License-Identifier: MIT
 * covers: encoder/token_pooling encoder/transformer encoder/transformer_layer
 * Tests the encoder in float32 and bf16. The following results must be bit-identical:
 * - training and inference, with and without packed weights
 * - the hidden states of a text, for any other texts in the batch and any number of threads
 * - gradients accumulated over parts of a batch, and the gradients of the whole batch
 * - training with and without recomputation of activations
 * The values must also agree with a double-precision reference within a tolerance, for shapes that are not multiples of
 * a block size.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "base/alloc.h"
#include "encoder/encoder.h"
#include "encoder/slots.h"
#include "model/text_batch.h"
#include "nn/batch.h"
#include "nn/gemm.h"
#include "nn/pooling.h"

/* Tolerance for the norm of the error of the hidden states, divided by the norm of the double-precision reference. The
 * tests in tests/golden use equal tolerances. */
static const double tolerance[] = {[AOEI_F32] = 2e-6, [AOEI_BF16] = 1e-2};
/* bf16 tolerance for models with pre-LayerNorm: their residual sums are not normalized, so rounding errors
 * accumulate */
#define PRE_NORM_BF16 2e-2

/* Tolerance for the norm of the error of the bf16 gradient, divided by the norm of the float32 gradient. The tests in
 * tests/golden use an equal tolerance. */
#define BF16_GRADIENT 5e-2

/* Lengths of the texts in tokens. The first 8 texts have 32 tokens together, the first 12 texts 96, and the first 13
 * texts
 * 160. */
enum { TEXTS = 14 };
static const size_t lengths[TEXTS] = {1, 2, 3, 4, 5, 6, 7, 4, 9, 17, 33, 5, 64, 70};

/* DeBERTa in which adjacent distances may have buckets that are not adjacent, so a text may use more rows than
 * distances. */
static void steep_deberta(aoei_encoder_config *c) {
    tiny_deberta(c);
    c->relative.max_distance = 7;
}

static const tiny_model shapes[] = {
    {.hidden = 16, .layers = 2, .heads = 2, .intermediate = 24, .positions = 80, .types = 2},
    {.hidden = 40, .layers = 1, .heads = 5, .intermediate = 72, .positions = 70, .types = 0},
    {.hidden = 33,
     .layers = 3,
     .heads = 3,
     .intermediate = 50,
     .positions = 70,
     .types = 1,
     .activation = AOEI_GELU_TANH},
    {.hidden = 16, .layers = 2, .heads = 2, .intermediate = 24, .positions = 72, .options = tiny_roberta},
    {.hidden = 32, .layers = 2, .heads = 4, .intermediate = 40, .positions = 70, .options = tiny_llama},
    {.hidden = 24, .layers = 2, .heads = 2, .intermediate = 33, .positions = 70, .options = tiny_mistral},
    {.hidden = 40, .layers = 2, .heads = 5, .intermediate = 48, .positions = 70, .options = tiny_qwen2},
    {.hidden = 32, .layers = 3, .heads = 2, .intermediate = 24, .positions = 70, .options = tiny_billm},
    {.hidden = 32, .layers = 2, .heads = 2, .intermediate = 24, .positions = 70, .options = tiny_modern},
    {.hidden = 24, .layers = 3, .heads = 2, .intermediate = 24, .positions = 70, .options = tiny_qwen3},
    {.hidden = 24, .layers = 3, .heads = 2, .intermediate = 24, .positions = 70, .options = tiny_gemma3},
    {.hidden = 24, .layers = 3, .heads = 2, .intermediate = 24, .positions = 70, .options = tiny_modernbert},
    {.hidden = 16, .layers = 3, .heads = 2, .intermediate = 24, .positions = 72, .options = tiny_mpnet},
    {.hidden = 24, .layers = 2, .heads = 3, .intermediate = 24, .positions = 70, .options = tiny_jina_bert},
    {.hidden = 24, .layers = 2, .heads = 3, .intermediate = 24, .positions = 70, .options = tiny_deberta},
    {.hidden = 16, .layers = 1, .heads = 2, .intermediate = 16, .positions = 70, .options = steep_deberta},
    {.hidden = 24, .layers = 2, .heads = 3, .intermediate = 24, .positions = 70, .options = tiny_jina_code},
    {.hidden = 32, .layers = 2, .heads = 2, .intermediate = 24, .positions = 70, .types = 2, .options = tiny_nomic},
    {.hidden = 32,
     .layers = 2,
     .heads = 2,
     .intermediate = 24,
     .positions = 70,
     .types = 2,
     .options = tiny_nomic_partial},
    {.hidden = 32, .layers = 2, .heads = 2, .intermediate = 24, .positions = 70, .types = 2, .options = tiny_electra},
    {.hidden = 32, .layers = 3, .heads = 2, .intermediate = 24, .positions = 70, .types = 2, .options = tiny_albert},
};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* An encoder with weights, their packed copies, a batch, and the activations of every mode. */
typedef struct setup {
    aoe_context *ctx;
    aoei_dtype type;
    aoei_encoder_config c;
    aoei_arena arena;
    aoei_params params;
    aoei_tensor *packed; /* [n_slots] weights; linear weights also have packed copies */
    void **copies;       /* [n_slots] memory of the packed copies, owned; NULL for weights that are not linear */
    aoei_encoder_state training, recompute, inference;
    aoei_tensor dpooled; /* [TEXTS, D] gradient of the pooled vectors */
    aoei_batch batch;
} setup;

static int layout_state(setup *s, aoei_encoder_state *state, aoei_arena *arena, int training, int recompute) {
    const aoei_encoder_mode mode = {.type = s->type, .training = training, .recompute = recompute};
    return aoei_encoder_layout(state, s->ctx, &s->c, arena, s->batch.n_tokens, TEXTS, s->batch.longest, mode, NULL);
}

static int layout(setup *s, aoei_arena *arena) {
    int code = aoei_params_layout(&s->params, s->ctx, &s->c, &(aoei_params_options){.type = s->type}, arena, NULL);
    s->dpooled = aoei_tensor_take(arena, TEXTS, s->c.hidden);
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

/* Fills in s. The memory of the activations is filled with NaN first, so that reading uninitialized memory changes the
 * results. */
static void setup_create(setup *s, aoei_dtype type, aoei_tier tier, size_t threads, const tiny_model *shape) {
    memset(s, 0, sizeof *s);
    s->type = type;
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

/* Calls `check` for float32 and bf16, every instruction set except those that differ from a lower one only in int8,
 * every shape, and 1 to 3 threads (under a sanitizer only 3 threads). */
static void for_all_configurations(void (*check)(setup *s, float **kept)) {
    for (int k = 0; k < 2 * ((int)test_best_tier() + 1) * SHAPES; k++) {
        if (test_skips_tier((aoei_tier)(k / 2 / SHAPES)))
            continue;
        float *kept[2] = {NULL, NULL}; /* results with the first number of threads, with which later results are
                                          compared */
        for (size_t threads = TEST_SANITIZED ? 3 : 1; threads <= 3; threads += 2) {
            setup s;
            setup_create(&s, k % 2 ? AOEI_BF16 : AOEI_F32, (aoei_tier)(k / 2 / SHAPES), threads,
                         &shapes[k / 2 % SHAPES]);
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

static void check_values(const setup *s, const float *first, const float *last) {
    bert_reference r;
    const size_t n = s->batch.n_tokens * s->c.hidden;
    const double most = s->c.pre_norm && s->type == AOEI_BF16 ? PRE_NORM_BF16 : tolerance[s->type];
    bert_reference_create(&r, s->ctx, &s->c, s->params.values, &s->batch, NULL);
    bert_reference_forward(&r);
    test_close(aoei_tensor_wrap(first, s->batch.n_tokens, s->c.hidden), r.first, most);
    test_close(aoei_tensor_wrap(last, s->batch.n_tokens, s->c.hidden), r.last, most);
    assert_true(n > 0);
    bert_reference_destroy(&r);
}

static void check_forward(setup *s, float **kept) {
    const size_t N = s->batch.n_tokens, bytes = N * s->c.hidden * sizeof(float);
    float *train = copy_of(s, aoei_encoder_forward(s->ctx, &s->c, s->params.values, &s->batch, &s->training, NULL));
    float *first = copy_of(s, aoei_encoder_hidden(&s->training, &s->c, 0, N));
    float *end = copy_of(s, aoei_encoder_hidden(&s->training, &s->c, s->c.layers, N));
    assert_memory_equal(train, end, bytes);
    for (int packed = s->type == AOEI_BF16; packed < 2; packed++) { /* in bf16, inference requires packed weights */
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
    for_all_configurations(check_forward);
}

/* Asserts that the hidden states of a text in s->batch are equal to its hidden states in a batch that contains only
 * this text. This must also hold with dropout, because the dropout masks depend on text_index. */
static void check_alone(setup *s, float **kept) {
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
    for_all_configurations(check_alone);
}

/* Returns a new batch of the texts [first, end) of b. Each text keeps its text_index. The caller frees the array
 * `offsets` of the new batch. */
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

/* Runs the forward and backward passes of the texts [first, end) and adds the gradients of the weights to
 * s->params.grad. s->dpooled is used as the gradient of the pooled vectors. */
static void add_gradient(setup *s, aoei_encoder_state *state, aoe_pooling pooling, size_t first, size_t end,
                         const aoei_encoder_dropout *drop) {
    const aoei_batch b = part(&s->batch, first, end);
    const aoei_tensor last = aoei_encoder_forward(s->ctx, &s->c, s->params.values, &b, state, drop);
    aoei_pool_backward(s->ctx, aoei_encoder_grad_first(state, b.n_tokens), aoei_encoder_grad_last(state, b.n_tokens),
                       pooling, aoei_tensor_rows(s->dpooled, first, end - first), last, &b);
    aoei_encoder_backward(s->ctx, &s->c, s->params.values, s->params.grads, &b, state, drop,
                          pooling == AOE_POOLING_FIRST_LAST_AVG);
    free((void *)(uintptr_t)b.offsets);
}

/* Asserts that the gradient `sum` over parts of a batch equals the gradient `whole`. With relative positions, the
 * gradients of the query and key layers contain a product of sums over texts, so the results may differ by rounding
 * errors. The results may also differ if several layers use the same weights, because the gradient is then a sum over
 * layers and texts. */
static void same_gradient(const setup *s, const float *whole, const float *sum) {
    double difference = 0, norm = 0;
    if (!s->c.relative.span && !s->c.layer_groups) {
        assert_memory_equal(whole, sum, s->params.count * sizeof *sum);
        return;
    }
    for (size_t i = 0; i < s->params.count; i++) {
        difference += pow((double)whole[i] - (double)sum[i], 2);
        norm += pow((double)whole[i], 2);
    }
    if (!(sqrt(difference) <= tolerance[s->type] * sqrt(norm)))
        fail_msg("type %d, heads %zu: relative difference %g", s->type, s->c.heads, sqrt(difference / norm));
}

/* Asserts that gradients accumulated over parts of a batch equal the gradients of the whole batch. In bf16, this is
 * true only if each part ends at a multiple of 32 tokens. */
static void check_accumulation(setup *s, float **kept) {
    static const aoe_pooling poolings[2] = {AOE_POOLING_LAST_MAX, AOE_POOLING_FIRST_LAST_AVG};
    static const size_t part_bounds[2][2][4] = {[AOEI_F32] = {{0, 6, TEXTS, TEXTS}, {0, 1, 12, TEXTS}},
                                                [AOEI_BF16] = {{0, 8, TEXTS, TEXTS}, {0, 12, 13, TEXTS}}};
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    for (int k = 0; k < 2; k++) {
        const aoei_encoder_dropout *d = k ? &drop : NULL;
        aoei_tensor_zero(s->ctx, s->params.grad);
        add_gradient(s, &s->training, poolings[k], 0, TEXTS, d);
        float *whole = copy_of(s, s->params.grad);
        for (size_t i = 0; i < s->params.count; i++)
            assert_true(isfinite(whole[i]));
        for (int c = 0; c < 2; c++) {
            const size_t *bounds = part_bounds[s->type][c];
            aoei_tensor_zero(s->ctx, s->params.grad);
            for (int i = 0; i < 3; i++)
                if (bounds[i] < bounds[i + 1])
                    add_gradient(s, &s->training, poolings[k], bounds[i], bounds[i + 1], d);
            float *sum = copy_of(s, s->params.grad);
            same_gradient(s, whole, sum);
            free(sum);
        }
        keep_or_compare(&kept[k], whole, s->params.count);
    }
}

static void test_gradient_accumulation(void **state) {
    (void)state;
    for_all_configurations(check_accumulation);
}

/* Asserts that recomputation of activations does not change hidden states and gradients. This must also hold for a
 * batch that is smaller than the planned size, and for a second batch in the same memory. */
static void check_recompute(setup *s, float **kept) {
    static const size_t ends[3] = {TEXTS, 11, TEXTS};
    const aoei_encoder_dropout drop = {.hidden = 0.3, .attention = 0.2, .key = {5, 6}};
    (void)kept;
    assert_true(s->recompute.kept_bytes < s->training.kept_bytes || s->c.layers == 1);
    for (int k = 0; k < 3; k++) {
        const aoei_encoder_dropout *d = k == 1 ? NULL : &drop;
        const size_t n = s->batch.offsets[ends[k]];
        float *grads[2], *hidden[2];
        for (int again = 0; again < 2; again++) {
            aoei_encoder_state *state = again ? &s->recompute : &s->training;
            aoei_tensor_zero(s->ctx, s->params.grad);
            add_gradient(s, state, AOE_POOLING_FIRST_LAST_AVG, 0, ends[k], d);
            grads[again] = copy_of(s, s->params.grad);
            hidden[again] = malloc((s->c.layers + 1) * n * s->c.hidden * sizeof(float));
            assert_non_null(hidden[again]);
            for (size_t l = 0; l <= s->c.layers; l++)
                aoei_tensor_read(s->ctx, hidden[again] + l * n * s->c.hidden, aoei_encoder_hidden(state, &s->c, l, n));
        }
        assert_memory_equal(grads[0], grads[1], s->params.count * sizeof(float));
        assert_memory_equal(hidden[0], hidden[1], (s->c.layers + 1) * n * s->c.hidden * sizeof(float));
        for (int again = 0; again < 2; again++) {
            free(grads[again]);
            free(hidden[again]);
        }
    }
}

static void test_recompute(void **state) {
    (void)state;
    for_all_configurations(check_recompute);
}

/* Tests that bf16 gradients agree with float32 gradients, except for rounding errors in the forward and backward
 * passes. */
static void test_bf16_gradient(void **state) {
    (void)state;
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++)
        for (size_t k = 0; k < SHAPES && !test_skips_tier((aoei_tier)tier); k++) {
            const aoei_encoder_dropout drop = {.hidden = 0.1, .attention = 0.1, .key = {5, 6}};
            float *grads[2];
            size_t n = 0;
            for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
                setup s;
                setup_create(&s, (aoei_dtype)type, (aoei_tier)tier, 2, &shapes[k]);
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
                fail_msg("tier %d, shape %zu: relative difference %g, expected at most %g", tier, k,
                         sqrt(difference / norm), BF16_GRADIENT);
            free(grads[0]);
            free(grads[1]);
        }
}

/* Tests that dropout with probability 0 does not change the results. */
static void test_no_dropout(void **state) {
    (void)state;
    const aoei_encoder_dropout off = {.hidden = 0, .attention = 0, .key = {1, 2}};
    for (int type = AOEI_F32; type <= AOEI_BF16; type++) {
        setup s;
        setup_create(&s, (aoei_dtype)type, test_best_tier(), 1, &shapes[0]);
        float *a = copy_of(&s, aoei_encoder_forward(s.ctx, &s.c, s.params.values, &s.batch, &s.training, NULL));
        float *b = copy_of(&s, aoei_encoder_forward(s.ctx, &s.c, s.params.values, &s.batch, &s.training, &off));
        assert_memory_equal(a, b, s.batch.n_tokens * s.c.hidden * sizeof *a);
        free(a);
        free(b);
        setup_destroy(&s);
    }
}

/* Tests the planned size of the memory. It must increase with the number of tokens. With 1000 tokens, it must also
 * increase from each element of `modes` to the next. If a size overflows, planning must fail. */
static void test_plan(void **state) {
    (void)state;
    static const aoei_encoder_mode modes[] = {{.type = AOEI_BF16},
                                              {.type = AOEI_F32},
                                              {.type = AOEI_BF16, .training = 1, .recompute = 1},
                                              {.type = AOEI_F32, .training = 1, .recompute = 1},
                                              {.type = AOEI_F32, .training = 1}};
    aoe_context *ctx = tiny_context(2);
    aoei_encoder_config c;
    aoei_encoder_state s;
    aoei_arena a;
    tiny_config(&c, &shapes[0]);
    size_t before[sizeof modes / sizeof *modes] = {0};
    for (size_t n = 1; n <= 1000; n *= 10) {
        size_t last = 0;
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) { /* the modes are ordered by the memory that they
                                                                       need */
            aoei_arena_measure(&a);
            assert_int_equal(aoei_encoder_layout(&s, ctx, &c, &a, n, n, 80, modes[k], NULL), 0);
            assert_true(a.used > before[k]);
            /* with fewer tokens, a mode may need more memory than the next mode, because some workspaces have a fixed
             * size */
            assert_true(n < 1000 || a.used > last);
            assert_true(s.kept_bytes > 0 && s.kept_bytes < a.used);
            before[k] = last = a.used;
        }
    }
    aoe_error err = {0};
    aoei_arena_measure(&a);
    const aoei_encoder_mode training = {.training = 1};
    assert_int_equal(aoei_encoder_layout(&s, ctx, &c, &a, SIZE_MAX / 8, 1, 80, training, &err), AOE_ENOMEM);
    assert_non_null(strstr(err.message, "options.batch_tokens"));
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_forward),
                                       cmocka_unit_test(test_alone),
                                       cmocka_unit_test(test_gradient_accumulation),
                                       cmocka_unit_test(test_recompute),
                                       cmocka_unit_test(test_bf16_gradient),
                                       cmocka_unit_test(test_no_dropout),
                                       cmocka_unit_test(test_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
