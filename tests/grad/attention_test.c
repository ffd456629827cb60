/* SPDX-License-Identifier: MIT
 * Attention forward against double precision, backward against finite differences (causal,
 * grouped heads, dropout with its mask fixed by the key), the same bits for any number of
 * threads and for a text alone and in a batch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "../support/grad_check.h"
#include "../support/support.h"

typedef struct problem {
    const aoei_batch *batch;
    aoei_attention a;
    const double *weight; /* [N, H d] of the loss: sum of weight * out */
    unsigned char *kept;  /* [texts, H, longest, longest] dropout masks by query and key; owned */
} problem;

static size_t mask_index(const problem *p, size_t text, size_t head, size_t query, size_t key) {
    return ((text * p->a.heads + head) * p->batch->longest + query) * p->batch->longest + key;
}

static problem problem_create(const aoei_batch *batch, aoei_attention a, const double *weight) {
    problem p = {batch, a, weight, NULL};
    p.kept = malloc(batch->n_texts * a.heads * batch->longest * batch->longest);
    assert_non_null(p.kept);
    for (size_t text = 0; text < batch->n_texts; text++)
        for (size_t head = 0; head < a.heads; head++)
            for (size_t query = 0; query < batch->longest; query++)
                for (size_t key = 0; key < batch->longest; key++) {
                    const uint32_t counter[4] = {(uint32_t)(key / 64 * 16 + key % 16), (uint32_t)query, batch->text_index[text],
                                                 a.drop.site << 16 | (uint32_t)head};
                    uint32_t word[4];
                    aoei_philox(word, counter, a.drop.key);
                    p.kept[mask_index(&p, text, head, query, key)] = word[key % 64 / 16] >= (uint32_t)(a.drop.p * 4294967296.0);
                }
    return p;
}

/* out[N, H d] of in = q [N, H d], k, v [N, kv_heads d] one after the other. */
static void reference(double *out, const double *in, const problem *p) {
    const aoei_attention *a = &p->a;
    const size_t N = p->batch->n_tokens, d = a->head_dim, Q = a->heads * d, K = a->kv_heads * d;
    const double *q = in, *k = q + N * Q, *v = k + N * K;
    double *w = malloc(p->batch->longest * sizeof *w);
    for (size_t text = 0; text < p->batch->n_texts; text++)
        for (size_t head = 0; head < a->heads; head++) {
            const size_t first = p->batch->offsets[text], T = p->batch->offsets[text + 1] - first;
            const size_t qc = head * d, kc = head / (a->heads / a->kv_heads) * d;
            for (size_t i = 0; i < T; i++) {
                const size_t n = a->causal ? i + 1 : T;
                double sum = 0;
                for (size_t j = 0; j < n; j++) {
                    double s = 0;
                    for (size_t c = 0; c < d; c++)
                        s += q[(first + i) * Q + qc + c] * k[(first + j) * K + kc + c];
                    w[j] = exp(s * a->scale); /* small by construction: no maximum needed */
                    sum += w[j];
                }
                double *o = out + (first + i) * Q + qc;
                memset(o, 0, d * sizeof *o);
                for (size_t j = 0; j < n; j++) {
                    const double x = w[j] / sum / (1 - a->drop.p);
                    for (size_t c = 0; c < d && p->kept[mask_index(p, text, head, i, j)]; c++)
                        o[c] += x * v[(first + j) * K + kc + c];
                }
            }
        }
    free(w);
}

static double loss(void *arg, const double *in) {
    const problem *p = arg;
    const size_t n = p->batch->n_tokens * p->a.heads * p->a.head_dim;
    double *out = malloc(n * sizeof *out), sum = 0;
    reference(out, in, p);
    for (size_t i = 0; i < n; i++)
        sum += p->weight[i] * out[i];
    free(out);
    return sum;
}

/* Inputs and results of one call of each direction. q, k, v are columns of one matrix, as the encoder has them. */
typedef struct run {
    aoei_tensor in, grad;  /* [N, (H + 2 kv_heads) d] */
    aoei_tensor out, dout; /* [N, H d] */
    aoei_tensor q, k, v, dq, dk, dv;
} run;

static run run_create(size_t N, const aoei_attention *a) {
    const size_t Q = a->heads * a->head_dim, K = a->kv_heads * a->head_dim;
    run r = {.in = test_tensor(N, Q + 2 * K, 0, 1, 1), .grad = test_tensor_poisoned(N, Q + 2 * K, 0)};
    r.out = test_tensor_poisoned(N, Q, Q + 3);
    r.dout = test_tensor(N, Q, Q + 5, 1, 2);
    r.q = aoei_tensor_cols(r.in, 0, Q);
    r.k = aoei_tensor_cols(r.in, Q, K);
    r.v = aoei_tensor_cols(r.in, Q + K, K);
    r.dq = aoei_tensor_cols(r.grad, 0, Q);
    r.dk = aoei_tensor_cols(r.grad, Q, K);
    r.dv = aoei_tensor_cols(r.grad, Q + K, K);
    return r;
}

static void run_free(run r) {
    test_tensor_free(r.in);
    test_tensor_free(r.grad);
    test_tensor_free(r.out);
    test_tensor_free(r.dout);
}

/* Both directions of rows [first, first + batch->n_tokens) of r, with a scratch full of NaN. */
static void execute(const aoe_context *ctx, const run *r, size_t first, const aoei_batch *batch, const aoei_attention *a) {
    const size_t n = batch->n_tokens;
    aoei_tensor scratch = test_tensor_poisoned(1, aoei_attention_scratch(ctx, a, batch->longest), 0);
#define PART(t) aoei_tensor_rows(r->t, first, n)
    aoei_attention_forward(ctx, PART(out), PART(q), PART(k), PART(v), batch, a, scratch);
    for (size_t i = 0; i < scratch.cols; i++)
        aoei_f32(scratch)[i] = NAN;
    aoei_attention_backward(ctx, PART(dq), PART(dk), PART(dv), PART(dout), PART(q), PART(k), PART(v), batch, a, scratch);
#undef PART
    test_tensor_free(scratch);
}

static aoei_attention options(size_t heads, size_t kv_heads, size_t head_dim, int causal, double p) {
    return (aoei_attention){.heads = heads,
                            .kv_heads = kv_heads,
                            .head_dim = head_dim,
                            .causal = causal,
                            .scale = 1 / sqrt((double)head_dim),
                            .drop = {.p = p, .key = {17, 18}, .site = 2}};
}

static void check(const aoe_context *ctx, const size_t *lengths, size_t n_texts, aoei_attention a) {
    aoei_batch batch = test_batch(lengths, n_texts, 10);
    const size_t N = batch.n_tokens, Q = a.heads * a.head_dim, K = a.kv_heads * a.head_dim;
    run r = run_create(N, &a);
    execute(ctx, &r, 0, &batch, &a);

    const size_t total = N * (Q + 2 * K);
    double *in = malloc(total * sizeof *in), *grad = malloc(total * sizeof *grad);
    double *weight = malloc(N * Q * sizeof *weight), *want = malloc(N * Q * sizeof *want);
    test_to_double(in, r.q);
    test_to_double(in + N * Q, r.k);
    test_to_double(in + N * Q + N * K, r.v);
    test_to_double(grad, r.dq);
    test_to_double(grad + N * Q, r.dk);
    test_to_double(grad + N * Q + N * K, r.dv);
    test_to_double(weight, r.dout);
    problem p = problem_create(&batch, a, weight);
    reference(want, in, &p);
    test_close(r.out, want, 1e-6);
    test_gradient(loss, &p, in, grad, total, TEST_GRAD_TOLERANCE);
    free(p.kept);

    free(want);
    free(weight);
    free(grad);
    free(in);
    run_free(r);
    test_batch_free(batch, 0);
}

static void gradients(const aoe_context *ctx) {
    static const size_t single[] = {1}, few[] = {5, 1, 3}, blocks[] = {1, 70, 17};
    check(ctx, single, 1, options(1, 1, 2, 0, 0));
    for (int causal = 0; causal <= 1; causal++)
        for (int dropped = 0; dropped <= 1; dropped++) {
            const double p = dropped ? 0.3 : 0;
            check(ctx, few, 3, options(2, 2, 4, causal, p));
            check(ctx, few, 3, options(4, 2, 3, causal, p));
            check(ctx, blocks, 3, options(2, 1, 8, causal, p));
        }
}

static void test_gradients(void **state) {
    (void)state;
    test_each_tier(gradients);
}

/* A text of several forward tasks, forward only. */
static void long_text(int causal) {
    static const size_t lengths[] = {3, 520};
    aoei_batch batch = test_batch(lengths, 2, 10);
    const aoei_attention a = options(2, 1, 8, causal, 0.1);
    const size_t N = batch.n_tokens, Q = a.heads * a.head_dim, K = a.kv_heads * a.head_dim;
    run r = run_create(N, &a);
    double *in = malloc(N * (Q + 2 * K) * sizeof *in), *want = malloc(N * Q * sizeof *want);
    test_to_double(in, r.q);
    test_to_double(in + N * Q, r.k);
    test_to_double(in + N * Q + N * K, r.v);
    problem p = problem_create(&batch, a, NULL);
    reference(want, in, &p);
    for (aoei_tier tier = AOEI_TIER_C; tier <= AOEI_TIER_AVX512; tier++) {
        aoe_context *ctx = test_context(tier, 1);
        if (ctx) {
            execute(ctx, &r, 0, &batch, &a);
            test_close(r.out, want, 2e-6); /* sums of 520 terms */
        }
        aoe_context_destroy(ctx);
    }
    free(p.kept);
    free(want);
    free(in);
    run_free(r);
    test_batch_free(batch, 0);
}

static void test_long_text(void **state) {
    (void)state;
    long_text(0);
    long_text(1);
}

static void same(const run *a, const run *b) {
    test_same_bits(a->out, b->out);
    test_same_bits(a->grad, b->grad);
}

static void test_threads(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 70, 520, 9, 64};
    aoei_batch batch = test_batch(lengths, 5, 10);
    for (aoei_tier tier = AOEI_TIER_C; tier <= AOEI_TIER_AVX512; tier++) {
        const aoei_attention a = options(2, 1, 16, tier == AOEI_TIER_AVX512, 0.1);
        aoe_context *one = test_context(tier, 1);
        if (!one)
            break;
        run want = run_create(batch.n_tokens, &a);
        execute(one, &want, 0, &batch, &a);
        for (size_t threads = 2; threads <= 3; threads++) {
            aoe_context *ctx = test_context(tier, threads);
            run got = run_create(batch.n_tokens, &a);
            execute(ctx, &got, 0, &batch, &a);
            same(&want, &got);
            run_free(got);
            aoe_context_destroy(ctx);
        }
        run_free(want);
        aoe_context_destroy(one);
    }
    test_batch_free(batch, 0);
}

static void alone(const aoe_context *ctx) {
    static const size_t lengths[] = {31, 1, 130, 64, 2};
    aoei_batch batch = test_batch(lengths, 5, 10);
    for (int causal = 0; causal <= 1; causal++) {
        const aoei_attention a = options(2, 1, 24, causal, 0.2);
        run together = run_create(batch.n_tokens, &a), apart = run_create(batch.n_tokens, &a);
        execute(ctx, &together, 0, &batch, &a);
        for (size_t text = 0; text < batch.n_texts; text++) {
            aoei_batch single = test_batch_text(&batch, text);
            execute(ctx, &apart, batch.offsets[text], &single, &a);
            test_batch_free(single, 1);
        }
        same(&together, &apart);
        run_free(together);
        run_free(apart);
    }
    test_batch_free(batch, 0);
}

static void test_alone(void **state) {
    (void)state;
    test_each_tier(alone);
}

/* Scores far apart and masks that drop a whole row give finite, exact results. */
static void extremes(const aoe_context *ctx) {
    static const size_t lengths[] = {2};
    aoei_batch batch = test_batch(lengths, 1, 10);
    aoei_attention a = options(1, 1, 2, 0, 0);
    run r = run_create(2, &a);
    const float rows[2][6] = {{1e4f, 0, 1e4f, 0, 1, 2}, {-1e4f, 0, -1e4f, 0, 3, 4}};
    memcpy(r.in.data, rows, sizeof rows);
    execute(ctx, &r, 0, &batch, &a);
    for (size_t i = 0; i < 2; i++) { /* each token sees itself alone */
        assert_float_equal(aoei_f32(r.out)[i * r.out.ld], rows[i][4], 0);
        assert_float_equal(aoei_f32(r.out)[i * r.out.ld + 1], rows[i][5], 0);
    }
    a.drop.p = 0.999999; /* nothing is kept */
    execute(ctx, &r, 0, &batch, &a);
    for (size_t i = 0; i < 2; i++)
        for (size_t c = 0; c < 2; c++)
            assert_float_equal(aoei_f32(r.out)[i * r.out.ld + c], 0, 0);
    for (size_t i = 0; i < 12; i++)
        assert_float_equal(aoei_f32(r.grad)[i], 0, 0);
    run_free(r);
    test_batch_free(batch, 0);
}

static void test_extremes(void **state) {
    (void)state;
    test_each_tier(extremes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_long_text), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_alone),     cmocka_unit_test(test_extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
