/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: nn/cutoff options/view_option
 * Tests views. The numbers of columns and tokens that are set to 0 are exact. The draws depend only on the seed, the
 * step and the index of the copy. The gradient of the embedding output is 0 where the output was set to 0, for every
 * number of threads and every chunk size. Shuffled positions have no effect if all position embeddings are 0.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "encoder/slots.h"
#include "nn/cutoff.h"
#include "train/pair_step.h"
#include "train/views.h"

enum { PAIRS = 5, TEXTS = 2 * PAIRS, LONGEST = 16, TOKENS = TEXTS * LONGEST, WIDTH = 768 };

/* Adds a text of n tokens with the index `index` in the step, and applies the view. */
static void add(aoei_views *v, aoei_batch_buffer *b, aoe_view view, size_t n, uint32_t index, size_t vocab) {
    int32_t ids[LONGEST];
    for (size_t t = 0; t < n; t++)
        ids[t] = (int32_t)((3 * n + 5 * t) % vocab);
    aoei_batch_add(b, ids, n, index);
    if (v)
        aoei_views_apply(v, &view, b);
}

/* Asserts that index[m] contains different numbers below n. */
static void assert_distinct(const uint32_t *index, size_t m, size_t n) {
    unsigned char seen[WIDTH] = {0};
    for (size_t i = 0; i < m; i++) {
        assert_true(index[i] < n && !seen[index[i]]);
        seen[index[i]] = 1;
    }
}

static void exact_counts(void **state) {
    (void)state;
    const aoei_encoder_config c = {.hidden = WIDTH};
    static const struct {
        double rate;
        size_t columns, tokens; /* expected numbers for 768 columns and for 11 tokens */
    } cases[] = {{0.2, 153, 2}, {0.1, 76, 1}, {0.5, 384, 5}, {0.999, 767, 10}, {0.0001, 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_views v;
        aoei_batch_buffer b;
        assert_int_equal(aoei_views_create(&v, &c, 3, 3 * LONGEST, LONGEST, NULL), 0);
        assert_int_equal(aoei_batch_buffer_create(&b, 3 * LONGEST, 3, NULL), 0);
        aoei_views_begin_step(&v, 42, 7);
        add(&v, &b, (aoe_view){AOE_VIEW_SHUFFLE, 0}, 11, 4, 20);
        assert_distinct(b.positions, 11, 11);
        assert_true(b.positions[0] != 0 || b.positions[1] != 1 || b.positions[2] != 2);
        assert_null(b.batch.cutoffs);
        add(&v, &b, (aoe_view){AOE_VIEW_FEATURE_CUT, cases[i].rate}, 5, 5, 20);
        add(&v, &b, (aoe_view){AOE_VIEW_TOKEN_CUT, cases[i].rate}, 11, 6, 20);
        const aoei_cutoff *cutoff = b.batch.cutoffs;
        assert_int_equal(cutoff[0].n, 0);
        assert_true(!cutoff[1].tokens && cutoff[1].n == cases[i].columns);
        assert_distinct(cutoff[1].index, cutoff[1].n, WIDTH);
        assert_true(cutoff[2].tokens && cutoff[2].n == cases[i].tokens);
        assert_distinct(cutoff[2].index, cutoff[2].n, 11);
        for (size_t t = 0; t < 16; t++) /* the positions of texts with cutoffs do not change */
            assert_int_equal(b.positions[11 + t], t < 5 ? t : t - 5);
        aoei_batch_buffer_destroy(&b);
        aoei_views_destroy(&v);
    }
}

/* Returns 1 if a feature cutoff of the text `index` removes the same columns for two seeds and steps. `before` texts
 * are added before it in the second case. */
static int same_cut(uint64_t seed, uint64_t step, uint32_t index, size_t before) {
    const aoei_encoder_config c = {.hidden = WIDTH};
    const aoe_view view = {AOE_VIEW_FEATURE_CUT, 0.5};
    uint32_t first[WIDTH];
    int same = 0;
    for (int k = 0; k < 2; k++) {
        aoei_views v;
        aoei_batch_buffer b;
        assert_int_equal(aoei_views_create(&v, &c, TEXTS, TOKENS, LONGEST, NULL), 0);
        assert_int_equal(aoei_batch_buffer_create(&b, TOKENS, TEXTS, NULL), 0);
        aoei_views_begin_step(&v, k ? seed : 42, k ? step : 7);
        for (size_t i = 0; k && i < before; i++)
            add(&v, &b, view, 3, 90 + (uint32_t)i, 20);
        add(&v, &b, view, 4, k ? index : 5, 20);
        const aoei_cutoff *cutoff = &b.batch.cutoffs[b.batch.n_texts - 1];
        if (k)
            same = !memcmp(first, cutoff->index, cutoff->n * sizeof *first);
        else
            memcpy(first, cutoff->index, cutoff->n * sizeof *first);
        aoei_batch_buffer_destroy(&b);
        aoei_views_destroy(&v);
    }
    return same;
}

static void pure_functions(void **state) {
    (void)state;
    assert_true(same_cut(42, 7, 5, 0));
    assert_true(same_cut(42, 7, 5, 3));
    assert_false(same_cut(43, 7, 5, 0));
    assert_false(same_cut(42, 8, 5, 0));
    assert_false(same_cut(42, 7, 6, 0));
}

/* A step for tests. */
typedef struct step {
    aoe_context *ctx;
    aoei_encoder_config config;
    aoei_pair_step step;
    aoei_views views;
} step;

static void no_norm(aoei_encoder_config *c) {
    c->no_embed_norm = 1;
}

static void step_create(step *s, size_t threads, size_t chunk, int recompute, void (*options)(aoei_encoder_config *c)) {
    tiny_model shape = tiny_defaults();
    memset(s, 0, sizeof *s);
    shape.options = options;
    s->ctx = test_context(test_best_tier(), threads);
    tiny_config(&s->config, &shape);
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .arity = 2,
                                      .tokens = TOKENS,
                                      .longest = LONGEST,
                                      .type = AOEI_F32,
                                      .recompute = recompute,
                                      .chunk_pairs = chunk,
                                      .chunk_tokens = chunk * 2 * LONGEST,
                                      .loss = &aoei_loss_of_views};
    assert_int_equal(aoei_pair_step_create(&s->step, s->ctx, &s->config, &o, NULL), 0);
    tiny_fill(s->ctx, &s->step.params, &s->config, 1);
    assert_int_equal(aoei_views_create(&s->views, &s->config, TEXTS, TOKENS, LONGEST, NULL), 0);
    aoei_views_begin_step(&s->views, 3, 4);
}

static void step_destroy(step *s) {
    aoei_views_destroy(&s->views);
    aoei_pair_step_destroy(&s->step);
    aoe_context_destroy(s->ctx);
}

/* Computes the loss and the gradients of a batch of 5 texts with the views a and b. with_views: 0: the texts have no
 * views. */
static double step_run(step *s, int with_views, aoe_view a, aoe_view b) {
    aoe_objective_options o;
    aoe_objective_result r;
    aoe_error err = {0};
    aoe_objective_options_defaults(&o);
    o.w_ibn = 0.3;
    o.tau_ibn = 0.1;
    aoei_tensor_zero(s->ctx, s->step.params.grad);
    aoei_batch_clear(&s->step.buffer);
    for (size_t i = 0; i < TEXTS; i++)
        add(with_views ? &s->views : NULL, &s->step.buffer, i % 2 ? b : a, 3 + 2 * (i / 2), (uint32_t)(10 + i),
            s->config.vocab);
    if (aoei_pair_step_gradient(&s->step, AOE_POOLING_LAST_AVG, &o, NULL, NULL, NULL, 1, &r, &err))
        fail_msg("%s", err.message);
    assert_true(fabs(r.total - 0.3 * r.ibn) <= 1e-12 && r.ibn > 0);
    return r.total;
}

static float *gradients(const step *s) {
    float *g = malloc(s->step.params.count * sizeof *g);
    assert_non_null(g);
    aoei_tensor_read(s->ctx, g, s->step.params.grad);
    return g;
}

/* Tests shuffled positions in a model whose position embeddings are all 0. All results must be bit-identical to those
 * without views, except the gradients of the position embeddings. Without zeros, the loss must change. */
static void shuffle_without_positions(void **state) {
    (void)state;
    const aoe_view shuffle = {AOE_VIEW_SHUFFLE, 0};
    step s;
    step_create(&s, 2, 0, 0, NULL);
    const double with = step_run(&s, 1, shuffle, shuffle), without = step_run(&s, 0, shuffle, shuffle);
    assert_true(fabs(with - without) > 1e-6);
    aoei_tensor_zero(s.ctx, s.step.params.values[AOEI_W_POSITION]);
    const double zeros = step_run(&s, 0, shuffle, shuffle);
    float *want = gradients(&s);
    assert_true(step_run(&s, 1, shuffle, shuffle) == zeros);
    aoei_tensor_zero(s.ctx, s.step.params.grads[AOEI_W_POSITION]);
    float *got = gradients(&s);
    step_run(&s, 0, shuffle, shuffle);
    aoei_tensor_zero(s.ctx, s.step.params.grads[AOEI_W_POSITION]);
    free(want);
    want = gradients(&s);
    assert_memory_equal(want, got, s.step.params.count * sizeof *got);
    free(want);
    free(got);
    step_destroy(&s);
}

/* Asserts that element (row, col) of the gradient of the embedding output is 0 exactly where the output was set to
 * 0. */
static void assert_cut(const step *s, aoe_view view, size_t text) {
    const aoei_batch *b = &s->step.buffer.batch;
    const size_t first = b->offsets[text], n = b->offsets[text + 1] - first, D = s->config.hidden;
    const aoei_tensor g = aoei_encoder_grad_last(&s->step.state, b->n_tokens);
    const size_t want = (size_t)((double)(view.kind == AOE_VIEW_TOKEN_CUT ? n : D) * view.rate);
    assert_int_equal(b->cutoffs[text].n, want);
    for (size_t t = 0; t < n; t++) {
        size_t zeros = 0;
        for (size_t k = 0; k < D; k++) {
            const float v = *(const float *)aoei_tensor_at(g, first + t, k);
            int cut = 0;
            for (size_t i = 0; i < b->cutoffs[text].n; i++)
                cut |= b->cutoffs[text].index[i] == (view.kind == AOE_VIEW_TOKEN_CUT ? t : k);
            assert_true((v == 0) == cut);
            zeros += v == 0;
        }
        assert_true(view.kind == AOE_VIEW_TOKEN_CUT ? zeros == 0 || zeros == D : zeros == want);
    }
}

/* Tests the gradient of the embedding output, which is stored in the buffer of the gradient of the last hidden state if
 * the embedding has no norm. Then tests that loss and gradients are bit-identical for other numbers of threads and
 * chunks, and with recomputation. */
static void gradients_of_cuts(void **state) {
    (void)state;
    static const aoe_view cases[][2] = {{{AOE_VIEW_FEATURE_CUT, 0.2}, {AOE_VIEW_TOKEN_CUT, 0.3}},
                                        {{AOE_VIEW_TOKEN_CUT, 0.1}, {AOE_VIEW_FEATURE_CUT, 0.7}}};
    for (size_t n = 0; n < 2; n++) {
        const aoe_view *v = cases[n];
        step s;
        step_create(&s, 1, 0, 0, no_norm);
        const double loss = step_run(&s, 1, v[0], v[1]);
        for (size_t i = 0; i < TEXTS; i++)
            assert_cut(&s, v[i % 2], i);
        float *want = gradients(&s);
        const size_t size = s.step.params.count * sizeof *want;
        step_destroy(&s);
        for (size_t chunk = 0; chunk < 3; chunk++) {
            step_create(&s, 1 + chunk, chunk, chunk == 1, no_norm);
            assert_true(step_run(&s, 1, v[0], v[1]) == loss);
            float *got = gradients(&s);
            assert_memory_equal(got, want, size);
            free(got);
            step_destroy(&s);
        }
        free(want);
    }
}

static void rejected_models(void **state) {
    (void)state;
    static const aoe_view shuffle[2] = {{AOE_VIEW_PLAIN, 0}, {AOE_VIEW_SHUFFLE, 0}},
                          cut[2] = {{AOE_VIEW_FEATURE_CUT, 0.2}, {AOE_VIEW_PLAIN, 0}},
                          wrong[2] = {{AOE_VIEW_TOKEN_CUT, 1}};
    void (*const with_positions[])(aoei_encoder_config * c) = {NULL, tiny_llama, tiny_mpnet, tiny_modernbert,
                                                               tiny_roberta};
    aoei_encoder_config c;
    aoe_error err = {0};
    tiny_model shape = tiny_defaults();
    for (size_t i = 0; i < sizeof with_positions / sizeof *with_positions; i++) {
        shape.options = with_positions[i];
        tiny_config(&c, &shape);
        assert_int_equal(aoei_views_check_model(shuffle, &c, "m", &err), 0);
    }
    shape.options = tiny_jina_bert;
    tiny_config(&c, &shape);
    assert_int_equal(aoei_views_check_model(cut, &c, "m", &err), 0);
    assert_int_equal(aoei_views_check_model(shuffle, &c, "m", &err), AOE_EARG);
    assert_non_null(strstr(err.message, "neither position embeddings nor rotary positions"));
    assert_int_equal(aoei_views_check(wrong, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "the rate of token-cut is 1"));
}

static void parsing(void **state) {
    (void)state;
    static const char *const wrong[] = {"",      "shuffle:0.1", "feature-cut", "feature-cut:", "token-cut:x",
                                        "token", "none,none"};
    aoe_view v;
    aoe_error err;
    assert_int_equal(aoe_view_parse(&v, "token-cut:0.25", &err), 0);
    assert_true(v.kind == AOE_VIEW_TOKEN_CUT && v.rate == 0.25);
    assert_int_equal(aoe_view_parse(&v, "none", &err), 0);
    assert_int_equal(v.kind, AOE_VIEW_PLAIN);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(aoe_view_parse(&v, wrong[i], &err), AOE_EARG);
        assert_non_null(strstr(err.message, "is not a view"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exact_counts),
        cmocka_unit_test(pure_functions),
        cmocka_unit_test(shuffle_without_positions),
        cmocka_unit_test(gradients_of_cuts),
        cmocka_unit_test(rejected_models),
        cmocka_unit_test(parsing),
    };
    return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
