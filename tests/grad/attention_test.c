/* SPDX-License-Identifier: MIT
 * covers: nn/attention
 * Tests attention. In float32, the forward pass is compared with double precision and the backward pass with finite
 * differences. In bf16, every element of the results of both passes is compared with double precision, with an error
 * bound that counts the roundings. The tests cover causal attention, attention windows, grouped heads and a fixed
 * dropout mask. The bits of the result for a text must depend neither on the number of threads nor on the other texts
 * of the batch.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "nn/attention.h"
#include "nn/batch.h"
#include "../support/grad_check.h"
#include "../support/support.h"

typedef struct problem {
    const aoei_batch *batch;
    aoei_attention a;
    const double *weight; /* [N, H d] weights of the loss, which is the sum of weight * out */
    /* [texts, H, longest, longest] 1: dropout keeps the probability of this query and key; 0: dropped; owned */
    unsigned char *kept;
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
                    const uint32_t counter[4] = {(uint32_t)(key / 64 * 16 + key % 16), (uint32_t)query,
                                                 batch->text_index[text], a.drop.site << 16 | (uint32_t)head};
                    uint32_t word[4];
                    aoei_philox(word, counter, a.drop.key);
                    p.kept[mask_index(&p, text, head, query, key)] =
                        word[key % 64 / 16] >= (uint32_t)(a.drop.p * 4294967296.0);
                }
    return p;
}

/* Computes the range [*begin, *end) of keys that query i attends to, in a text of T tokens. */
static void visible_keys(const aoei_attention *a, size_t i, size_t T, size_t *begin, size_t *end) {
    *begin = 0;
    *end = a->causal ? i + 1 : T;
    while (a->window && i - *begin >= a->window && *begin < i)
        ++*begin;
    while (a->window && *end - 1 > i && *end - 1 - i >= a->window)
        --*end;
}

/* out[N, H d] = attention of `in`, which is the concatenation of q [N, H d], k and v [N, kv_heads d]. */
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
                size_t begin, end;
                double sum = 0;
                visible_keys(a, i, T, &begin, &end);
                for (size_t j = begin; j < end; j++) {
                    double s = 0;
                    for (size_t c = 0; c < d; c++)
                        s += q[(first + i) * Q + qc + c] * k[(first + j) * K + kc + c];
                    /* the scores are small, so exp cannot overflow and the maximum need not be subtracted */
                    w[j] = exp(s * a->scale);
                    sum += w[j];
                }
                double *o = out + (first + i) * Q + qc;
                memset(o, 0, d * sizeof *o);
                for (size_t j = begin; j < end; j++) {
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

/* Inputs and results of one forward and one backward call. q, k and v are columns of `in`; dq, dk and dv are columns of
 * `grad`. */
typedef struct run {
    aoei_tensor in, grad;  /* [N, (H + 2 kv_heads) d] */
    aoei_tensor out, dout; /* [N, H d] */
    aoei_tensor q, k, v, dq, dk, dv;
} run;

static run run_create(aoei_dtype type, size_t N, const aoei_attention *a) {
    const size_t Q = a->heads * a->head_dim, K = a->kv_heads * a->head_dim;
    run r = {.in = test_tensor_typed(type, N, Q + 2 * K, 0, 1, 1), .grad = test_poisoned_typed(type, N, Q + 2 * K, 0)};
    r.out = test_poisoned_typed(type, N, Q, Q + 3);
    r.dout = test_tensor_typed(type, N, Q, Q + 5, 1, 2);
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

/* Runs both passes for the rows [first, first + batch->n_tokens) of r. The workspace initially contains NaN. If a pass
 * reads an element of the workspace before writing it, the results become NaN and the test fails. */
static void execute(const aoe_context *ctx, const run *r, size_t first, const aoei_batch *batch,
                    const aoei_attention *a) {
    const size_t n = batch->n_tokens;
    const size_t bytes = aoei_attention_scratch(ctx, a, r->in.type, batch->longest);
    aoei_tensor scratch = test_tensor_poisoned(1, (bytes + sizeof(float) - 1) / sizeof(float), 0);
#define PART(t) aoei_tensor_rows(r->t, first, n)
    aoei_attention_forward(ctx, PART(out), PART(q), PART(k), PART(v), batch, a, scratch);
    for (size_t i = 0; i < scratch.cols; i++)
        aoei_f32(scratch)[i] = NAN;
    aoei_attention_backward(ctx, PART(dq), PART(dk), PART(dv), PART(dout), PART(q), PART(k), PART(v), batch, a,
                            scratch);
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

static aoei_attention windowed(aoei_attention a, size_t window) {
    a.window = window;
    return a;
}

static void check(const aoe_context *ctx, const size_t *lengths, size_t n_texts, aoei_attention a) {
    aoei_batch batch = test_batch(lengths, n_texts, 10);
    const size_t N = batch.n_tokens, Q = a.heads * a.head_dim, K = a.kv_heads * a.head_dim;
    run r = run_create(AOEI_F32, N, &a);
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
            check(ctx, few, 3, windowed(options(4, 2, 3, causal, p), 2));
            check(ctx, few, 3, windowed(options(2, 2, 4, causal, p), 1));
            check(ctx, blocks, 3, windowed(options(2, 1, 8, causal, p), 66));
        }
    /* with 150 tokens and a window, the last block of queries attends only to keys after the first block of keys */
    static const size_t edges[] = {150};
    check(ctx, edges, 1, windowed(options(1, 1, 4, 1, 0.3), 3));
    check(ctx, edges, 1, windowed(options(1, 1, 4, 0, 0), 20));
}

static void test_gradients(void **state) {
    (void)state;
    test_each_tier(gradients);
}

/* Tests the forward pass of a text of 520 tokens, whose queries are divided into several tasks for the threads. */
static void long_text(int causal, size_t window) {
    static const size_t lengths[] = {3, 520};
    aoei_batch batch = test_batch(lengths, 2, 10);
    const aoei_attention a = windowed(options(2, 1, 8, causal, 0.1), window);
    const size_t N = batch.n_tokens, Q = a.heads * a.head_dim, K = a.kv_heads * a.head_dim;
    run r = run_create(AOEI_F32, N, &a);
    double *in = malloc(N * (Q + 2 * K) * sizeof *in), *want = malloc(N * Q * sizeof *want);
    test_to_double(in, r.q);
    test_to_double(in + N * Q, r.k);
    test_to_double(in + N * Q + N * K, r.v);
    problem p = problem_create(&batch, a, NULL);
    reference(want, in, &p);
    for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
        if (test_skips_tier((aoei_tier)tier))
            continue;
        aoe_context *ctx = test_context((aoei_tier)tier, 1);
        execute(ctx, &r, 0, &batch, &a);
        test_close(r.out, want, 2e-6); /* each element of the output is a sum of up to 520 terms */
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
    long_text(0, 0);
    long_text(1, 0);
    long_text(0, 130);
    long_text(1, 130);
}

static void assert_equal_runs(const run *a, const run *b) {
    test_same_bits(a->out, b->out);
    test_same_bits(a->grad, b->grad);
}

static void test_threads(void **state) {
    (void)state;
    static const size_t lengths[] = {1, 70, 520, 9, 64};
    aoei_batch batch = test_batch(lengths, 5, 10);
    for (int k = 0; k < 4 * ((int)test_best_tier() + 1); k++) {
        const aoei_tier tier = (aoei_tier)(k / 4);
        if (test_skips_tier(tier))
            continue;
        const aoei_dtype type = k % 2 ? AOEI_BF16 : AOEI_F32;
        const double dropout = k / 2 % 2 ? 0.1 : 0;
        const aoei_attention a = windowed(options(2, 1, 16, k / 4 % 3 == 2, dropout), k / 4 % 3 == 1 ? 100 : 0);
        aoe_context *one = test_context(tier, 1);
        run want = run_create(type, batch.n_tokens, &a);
        execute(one, &want, 0, &batch, &a);
        for (size_t threads = 2; threads <= 3; threads++) {
            aoe_context *ctx = test_context(tier, threads);
            run got = run_create(type, batch.n_tokens, &a);
            execute(ctx, &got, 0, &batch, &a);
            assert_equal_runs(&want, &got);
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
    for (int k = 0; k < 16; k++) {
        const aoei_attention a = windowed(options(2, 1, 24, k & 1, k & 8 ? 0.2 : 0), k & 4 ? 50 : 0);
        const aoei_dtype type = k & 2 ? AOEI_BF16 : AOEI_F32;
        run together = run_create(type, batch.n_tokens, &a), separate = run_create(type, batch.n_tokens, &a);
        execute(ctx, &together, 0, &batch, &a);
        for (size_t text = 0; text < batch.n_texts; text++) {
            aoei_batch single = test_batch_text(&batch, text);
            execute(ctx, &separate, batch.offsets[text], &single, &a);
            test_batch_free(single, 1);
        }
        assert_equal_runs(&together, &separate);
        run_free(together);
        run_free(separate);
    }
    test_batch_free(batch, 0);
}

static void test_alone(void **state) {
    (void)state;
    test_each_tier(alone);
}

/* Tests two extreme cases in which the exact results are known: scores that differ by more than 1e8, and dropout that
 * drops all probabilities of every query. */
static void extreme(const aoe_context *ctx, aoei_dtype type) {
    static const size_t lengths[] = {2};
    aoei_batch batch = test_batch(lengths, 1, 10);
    aoei_attention a = options(1, 1, 2, 0, 0);
    run r = run_create(type, 2, &a);
    const float rows[2][6] = {{1e4f, 0, 1e4f, 0, 1, 2}, {-1e4f, 0, -1e4f, 0, 3, 4}};
    aoei_tensor_write(ctx, r.in, rows[0]);
    execute(ctx, &r, 0, &batch, &a);
    for (size_t i = 0; i < 2; i++) { /* each token attends only to itself */
        assert_float_equal(test_at(r.out, i, 0), rows[i][4], 0);
        assert_float_equal(test_at(r.out, i, 1), rows[i][5], 0);
    }
    a.drop.p = 0.999999; /* all probabilities are dropped */
    execute(ctx, &r, 0, &batch, &a);
    for (size_t i = 0; i < 2; i++)
        for (size_t c = 0; c < 2; c++)
            assert_float_equal(test_at(r.out, i, c), 0, 0);
    for (size_t i = 0; i < 12; i++)
        assert_float_equal(test_at(r.grad, i / 6, i % 6), 0, 0);
    run_free(r);
    test_batch_free(batch, 0);
}

static void extremes(const aoe_context *ctx) {
    extreme(ctx, AOEI_F32);
    extreme(ctx, AOEI_BF16);
}

static void test_extremes(void **state) {
    (void)state;
    test_each_tier(extremes);
}

/* ---- bf16 */

/* A value x, and an upper bound e of its absolute error. */
typedef struct value {
    double x, e;
} value;

#define ROUNDOFF32                                                                                                     \
    0x1p-23 /* relative error of a float32 operation, whether a multiply-add is fused or rounded twice                 \
             */

/* Returns v with an error bound that includes rounding v to bf16. */
static value rounded(value v) {
    return (value){v.x, v.e + TEST_BF16_ROUNDOFF * (fabs(v.x) + v.e)};
}

/* Reference in double for one attention head and one text of T tokens, with error bounds. */
typedef struct head_reference {
    const problem *p;
    size_t text, head, T, d;
    double *q, *k, *v, *dout; /* [T, d], owned */
    value *kept, *ds; /* [T, T] probabilities after dropout, and gradients of the scores; e includes rounding to bf16 */
    value *used;      /* [T] probabilities of one query before dropout */
} head_reference;

static void read_head(double *out, aoei_tensor t, const aoei_batch *b, size_t text, size_t col, size_t d) {
    const size_t first = b->offsets[text], T = b->offsets[text + 1] - first;
    test_to_double(out, aoei_tensor_cols(aoei_tensor_rows(t, first, T), col, d));
}

static double dot(const double *a, const double *b, size_t n, double *size) {
    double sum = 0;
    *size = 0;
    for (size_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
        *size += fabs(a[i] * b[i]);
    }
    return sum;
}

/* Computes the probabilities of query i and the gradients of its scores. */
static void reference_row(head_reference *h, size_t i) {
    const aoei_attention *a = &h->p->a;
    const size_t T = h->T;
    size_t begin, n;
    visible_keys(a, i, T, &begin, &n);
    double total = 0, largest = 0, size, share = 1 / (1 - a->drop.p);
    for (size_t j = begin; j < n; j++) {
        const double s = a->scale * dot(h->q + i * h->d, h->k + j * h->d, h->d, &size);
        h->used[j].x = exp(s);
        total += h->used[j].x;
        largest = fmax(largest, a->scale * size);
    }
    /* The absolute error of a score becomes a relative error of exp(score). It counts twice, for the numerator and for
     * the sum in the denominator. The sum adds n roundings. */
    const double relative = ROUNDOFF32 * (2 * (double)(h->d + 2) * largest + (double)n + 16);
    value mean = {0, 0};
    for (size_t j = begin; j < n; j++) {
        const int kept = h->p->kept[mask_index(h->p, h->text, h->head, i, j)];
        value *p = &h->used[j];
        p->x /= total;
        p->e = p->x * relative;
        h->kept[i * T + j] = kept ? rounded((value){p->x * share, p->e * share * 1.01}) : (value){0, 0};
        const double g = kept ? share * dot(h->dout + i * h->d, h->v + j * h->d, h->d, &size) : 0;
        h->ds[i * T + j] = (value){g, kept ? share * size * (double)(h->d + 2) * ROUNDOFF32 : 0};
        mean.x += p->x * g;
        mean.e += p->x * h->ds[i * T + j].e + fabs(g) * p->e + (double)(n + 2) * ROUNDOFF32 * p->x * fabs(g);
    }
    for (size_t j = begin; j < n; j++) {
        value *ds = &h->ds[i * T + j];
        const double p = h->used[j].x, difference = ds->x - mean.x;
        const double e = p * (ds->e + mean.e) + fabs(difference) * (h->used[j].e + 4 * ROUNDOFF32 * p);
        *ds = rounded((value){p * difference * a->scale, 1.01 * e * a->scale});
    }
    for (size_t j = 0; j < T; j++)
        if (j < begin || j >= n)
            h->kept[i * T + j] = h->ds[i * T + j] = (value){0, 0};
}

/* Adds m x to `sum`, or m^T x if `transposed` is set. Shapes: sum [T, d], m [T, T], x [T, d]. terms: number of terms
 * that all calls together add to one element of `sum`; the error bound grows with it. */
static void add_product(value *sum, const value *m, int transposed, const double *x, size_t T, size_t d, size_t terms) {
    for (size_t i = 0; i < T; i++)
        for (size_t j = 0; j < T; j++)
            for (size_t c = 0; c < d; c++) {
                const value w = transposed ? m[j * T + i] : m[i * T + j];
                sum[i * d + c].x += w.x * x[j * d + c];
                sum[i * d + c].e += (w.e + (double)(terms + 2) * ROUNDOFF32 * (fabs(w.x) + w.e)) * fabs(x[j * d + c]);
            }
}

/* Asserts that t contains `sum`, rounded to bf16, in the rows of the text and the columns [col, col + d). */
static void check_sums(aoei_tensor t, const value *sum, const aoei_batch *b, size_t text, size_t col, size_t d,
                       const char *what) {
    const size_t first = b->offsets[text], T = b->offsets[text + 1] - first;
    double *want = malloc(2 * T * d * sizeof *want), *bound = want + T * d;
    assert_non_null(want);
    for (size_t i = 0; i < T * d; i++) {
        const value r = rounded(sum[i]);
        want[i] = r.x;
        bound[i] = 1.01 * r.e + 1e-30; /* subnormal sums may be flushed to zero */
    }
    test_within(aoei_tensor_cols(aoei_tensor_rows(t, first, T), col, d), want, bound, what);
    free(want);
}

static void check_kv_head(const run *r, const problem *p, size_t text, size_t kv_head) {
    const aoei_attention *a = &p->a;
    const aoei_batch *b = p->batch;
    const size_t T = b->offsets[text + 1] - b->offsets[text], d = a->head_dim, group = a->heads / a->kv_heads;
    double *numbers = malloc(4 * T * d * sizeof *numbers);
    value *matrices = calloc(2 * T * T + T, sizeof *matrices), *sums = calloc(4 * T * d, sizeof *sums);
    assert_true(numbers && matrices && sums);
    head_reference h = {.p = p,
                        .text = text,
                        .T = T,
                        .d = d,
                        .q = numbers,
                        .k = numbers + T * d,
                        .v = numbers + 2 * T * d,
                        .dout = numbers + 3 * T * d,
                        .kept = matrices,
                        .ds = matrices + T * T,
                        .used = matrices + 2 * T * T};
    value *out = sums, *dq = sums + T * d, *dk = sums + 2 * T * d, *dv = sums + 3 * T * d;
    read_head(h.k, r->k, b, text, kv_head * d, d);
    read_head(h.v, r->v, b, text, kv_head * d, d);
    for (h.head = kv_head * group; h.head < (kv_head + 1) * group; h.head++) {
        read_head(h.q, r->q, b, text, h.head * d, d);
        read_head(h.dout, r->dout, b, text, h.head * d, d);
        for (size_t i = 0; i < T; i++)
            reference_row(&h, i);
        memset(out, 0, 2 * T * d * sizeof *out);
        add_product(out, h.kept, 0, h.v, T, d, T);
        add_product(dq, h.ds, 0, h.k, T, d, T);
        add_product(dk, h.ds, 1, h.q, T, d, group * T);
        add_product(dv, h.kept, 1, h.dout, T, d, group * T);
        check_sums(r->out, out, b, text, h.head * d, d, "out");
        check_sums(r->dq, dq, b, text, h.head * d, d, "dq");
    }
    check_sums(r->dk, dk, b, text, kv_head * d, d, "dk");
    check_sums(r->dv, dv, b, text, kv_head * d, d, "dv");
    free(numbers);
    free(matrices);
    free(sums);
}

static void check_bf16(const aoe_context *ctx, const size_t *lengths, size_t n_texts, aoei_attention a) {
    aoei_batch batch = test_batch(lengths, n_texts, 10);
    run r = run_create(AOEI_BF16, batch.n_tokens, &a);
    problem p = problem_create(&batch, a, NULL);
    execute(ctx, &r, 0, &batch, &a);
    for (size_t text = 0; text < n_texts; text++)
        for (size_t head = 0; head < a.kv_heads; head++)
            check_kv_head(&r, &p, text, head);
    free(p.kept);
    run_free(r);
    test_batch_free(batch, 0);
}

static void bf16(const aoe_context *ctx) {
    static const size_t single[] = {1}, few[] = {5, 1, 3}, several[] = {1, 33, 65}, longer[] = {200};
    check_bf16(ctx, single, 1, options(1, 1, 2, 0, 0));
    for (int causal = 0; causal <= 1; causal++)
        for (int dropped = 0; dropped <= 1; dropped++) {
            const double p = dropped ? 0.3 : 0;
            check_bf16(ctx, few, 3, options(2, 2, 4, causal, p));
            check_bf16(ctx, few, 3, options(4, 2, 3, causal, p));
            check_bf16(ctx, several, 3, options(2, 1, 32, causal, p));
            check_bf16(ctx, longer, 1, options(1, 1, 64, causal, p));
            check_bf16(ctx, longer, 1, windowed(options(2, 1, 32, causal, p), 30));
        }
}

static void test_bf16(void **state) {
    (void)state;
    test_each_tier(bf16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gradients), cmocka_unit_test(test_long_text), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_alone),     cmocka_unit_test(test_extremes),  cmocka_unit_test(test_bf16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
