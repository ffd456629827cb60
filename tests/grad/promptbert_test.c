/* SPDX-License-Identifier: MIT
 * Tests the training steps of PromptBERT: vectors from which those of references are subtracted
 * (aoei_pair_step.reference), with a projection of the difference (promptbert), and with the transform of the masked-LM
 * head before the subtraction (promptbert-sup). The loss and the gradients of all weights are compared with a
 * double-precision model and its finite differences. Words of the templates occur in texts and in references. Other
 * tests: a text that equals its reference gives a zero vector, and the bits of the gradients do not depend on the chunk
 * size and the number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/bert_reference.h"
#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/random.h"
#include "encoder/slots.h"
#include "nn/optimizer.h"
#include "train/pair_step.h"

enum {
    PAIRS = 3,
    TEXTS = 2 * PAIRS,
    REFERENCES = 4,
    ALL = TEXTS + REFERENCES,
    LONGEST = 9,
    MASK = 3,
    BEFORE = 2,
    AFTER = 2
};
enum { TEMPLATE = BEFORE + AFTER + 1 };

#define LOSS_TOLERANCE 2e-6
#define NORM_EPS       1e-12

static const size_t lengths[PAIRS] = {3, 1, 3}; /* tokens of each text; the first and the third share their
                                                   references */

typedef struct problem {
    aoe_context *ctx;
    aoei_encoder_config c;
    aoei_training_layers training;
    aoei_pair_step step;
    aoei_encoder_dropout drop;
    aoe_objective_options objective;
    bert_reference r;
} problem;

/* Adds the text x[n] in template k: two tokens, the text, the mask, and two tokens. */
static void add(aoei_pair_step *s, size_t k, const int32_t *x, size_t n, uint32_t index) {
    int32_t ids[LONGEST + TEMPLATE];
    for (size_t i = 0; i < BEFORE; i++)
        ids[i] = (int32_t)(5 + i + k);
    if (n)
        memcpy(ids + BEFORE, x, n * sizeof *x);
    ids[BEFORE + n] = MASK;
    for (size_t i = 0; i < AFTER; i++)
        ids[BEFORE + n + 1 + i] = (int32_t)(8 + i + 2 * k);
    aoei_batch_add(&s->buffer, ids, n + TEMPLATE, index);
}

/* Fills the batch. empty: 1: the texts have no tokens. */
static void fill_batch(aoei_pair_step *s, int empty) {
    static const size_t reference_length[REFERENCES] = {3, 3, 1, 1};
    aoei_rng rng;
    aoei_rng_init(&rng, 5, AOEI_STREAM_TEST, 0);
    aoei_batch_clear(&s->buffer);
    for (size_t i = 0; i < PAIRS; i++) {
        int32_t x[LONGEST];
        for (size_t t = 0; t < lengths[i]; t++)
            x[t] = (int32_t)(4 + aoei_rng_below(&rng, (uint32_t)s->config.vocab - 4));
        for (size_t k = 0; k < 2; k++) {
            add(s, k, x, empty ? 0 : lengths[i], (uint32_t)(2 * i + k));
            s->reference[2 * i + k] = (uint32_t)(TEXTS + k + (lengths[i] == 1 ? 2 : 0));
        }
    }
    for (size_t r = 0; r < REFERENCES; r++) {
        add(s, r % 2, NULL, 0, (uint32_t)(1000 + r));
        const size_t end = s->buffer.batch.n_tokens;
        for (size_t t = end - TEMPLATE + BEFORE; t < end && !empty; t++)
            s->buffer.positions[t] += (uint32_t)reference_length[r];
    }
    s->n_references = REFERENCES;
}

/* Adds the layers after the pooling to the configuration. is_sup: 1: those of promptbert-sup. */
static void add_layers(aoei_encoder_config *c, aoei_training_layers *training, int is_sup) {
    const size_t D = c->hidden;
    training->n_projection = 1;
    c->training = is_sup ? NULL : training;
    c->modules.n = is_sup ? 2 : 0;
    training->projection[0] =
        (aoei_module){.kind = AOEI_MODULE_DENSE, .in = D, .out = D, .activation = AOEI_DENSE_TANH};
    c->modules.list[0] = (aoei_module){.kind = AOEI_MODULE_DENSE, .in = D, .out = D, .activation = AOEI_DENSE_GELU};
    c->modules.list[1] = (aoei_module){.kind = AOEI_MODULE_LAYERNORM, .in = D, .out = D, .norm_eps = NORM_EPS};
}

static void create(problem *p, aoei_tier tier, size_t threads, size_t chunk, int empty, int is_sup) {
    const tiny_model shape = tiny_defaults();
    memset(p, 0, sizeof *p);
    p->ctx = test_context(tier, threads);
    tiny_config(&p->c, &shape);
    p->c.mask_id = MASK;
    add_layers(&p->c, &p->training, is_sup);
    const aoei_pair_step_options o = {.pairs = PAIRS,
                                      .arity = 2,
                                      .tokens = ALL * LONGEST,
                                      .longest = LONGEST,
                                      .chunk_pairs = chunk,
                                      .chunk_tokens = 2 * chunk * LONGEST,
                                      .references = REFERENCES};
    assert_int_equal(aoei_pair_step_create(&p->step, p->ctx, &p->c, &o, NULL), 0);
    tiny_fill(p->ctx, &p->step.params, &p->c, 1);
    aoei_tensor_zero(p->ctx, p->step.params.grad);
    fill_batch(&p->step, empty);
    p->drop = (aoei_encoder_dropout){.hidden = 0.2, .attention = 0.3, .key = {21, 22}};
    aoe_objective_options_defaults(&p->objective);
    p->objective.w_cosine = p->objective.w_angle = p->objective.w_cln = 0;
    p->objective.tau_ibn = 0.5; /* cosines are nearly equal, so the default would amplify their rounding errors */
}

static void destroy(problem *p) {
    if (p->r.config)
        bert_reference_destroy(&p->r);
    aoei_pair_step_destroy(&p->step);
    aoe_context_destroy(p->ctx);
}

static double run(problem *p, int with_dropout) {
    aoe_objective_result r;
    aoe_error err;
    if (aoei_pair_step_gradient(&p->step, AOE_POOLING_MASK, &p->objective, NULL, NULL, with_dropout ? &p->drop : NULL,
                                1, &r, &err))
        fail_msg("%s", err.message);
    return r.total;
}

static double cosine(const double *x, const double *y, size_t n) {
    double xy = 0, xx = 0, yy = 0;
    for (size_t k = 0; k < n; k++) {
        xy += x[k] * y[k];
        xx += x[k] * x[k];
        yy += y[k] * y[k];
    }
    return xy / sqrt(xx) / sqrt(yy);
}

/* Computes the transform of promptbert-sup: y = layernorm(gelu(W x + b)). */
static void transform(const problem *p, double *y, const double *x) {
    const size_t D = p->c.hidden, dense = aoei_pooled_slot(&p->c, 0),
                 norm = aoei_pooled_slot(&p->c, AOEI_MODULE_WEIGHTS);
    double mean = 0, variance = 0;
    for (size_t o = 0; o < D; o++) {
        y[o] = p->r.weights[dense + 1][o];
        for (size_t k = 0; k < D; k++)
            y[o] += p->r.weights[dense][o * D + k] * x[k];
        y[o] *= 0.5 * (1 + erf(y[o] / sqrt(2)));
        mean += y[o] / (double)D;
    }
    for (size_t o = 0; o < D; o++)
        variance += (y[o] - mean) * (y[o] - mean) / (double)D;
    for (size_t o = 0; o < D; o++)
        y[o] = (y[o] - mean) / sqrt(variance + NORM_EPS) * p->r.weights[norm][o] + p->r.weights[norm + 1][o];
}

/* Computes the projection of promptbert: y = tanh(W x + b). */
static void project(const problem *p, double *y, const double *x) {
    const size_t D = p->c.hidden, slot = aoei_pooled_slot(&p->c, AOEI_PW_PROJECTION);
    for (size_t o = 0; o < D; o++) {
        y[o] = p->r.weights[slot + 1][o];
        for (size_t k = 0; k < D; k++)
            y[o] += p->r.weights[slot][o * D + k] * x[k];
        y[o] = tanh(y[o]);
    }
}

static double loss(void *arg) {
    problem *p = arg;
    const aoei_batch *b = &p->step.buffer.batch;
    const size_t D = p->c.hidden;
    double v[ALL][64] = {{0}}, z[TEXTS][64] = {{0}}, sum = 0;
    bert_reference_forward(&p->r);
    for (size_t i = 0; i < ALL; i++)
        for (size_t t = b->offsets[i]; t < b->offsets[i + 1]; t++)
            if (b->ids[t] == MASK) {
                memcpy(v[i], p->r.last + t * D, D * sizeof **v);
                if (p->c.modules.n)
                    transform(p, v[i], p->r.last + t * D);
            }
    for (size_t i = 0; i < TEXTS; i++) {
        double difference[64];
        for (size_t k = 0; k < D; k++)
            difference[k] = z[i][k] = v[i][k] - v[p->step.reference[i]][k];
        if (p->c.training)
            project(p, z[i], difference);
    }
    for (size_t i = 0; i < PAIRS; i++) {
        double all = 0, own = 0;
        for (size_t j = 0; j < PAIRS; j++) {
            const double s = cosine(z[2 * i], z[2 * j + 1], D) / p->objective.tau_ibn;
            own = i == j ? s : own;
            all += exp(s);
        }
        sum += (log(all) - own) / PAIRS;
    }
    return sum;
}

static void check_gradients(int is_sup) {
    for (int with_dropout = 0; with_dropout < 2; with_dropout++) {
        static problem p;
        create(&p, test_best_tier(), 1, 0, 0, is_sup);
        bert_reference_create(&p.r, p.ctx, &p.c, p.step.params.values, &p.step.buffer.batch,
                              with_dropout ? &p.drop : NULL);
        const double got = run(&p, with_dropout), want = loss(&p),
                     whole = sqrt(aoei_sum_squares(p.ctx, p.step.params.grad));
        if (!(fabs(got - want) <= LOSS_TOLERANCE * fabs(want)))
            fail_msg("the loss is %.9g, expected %.9g", got, want);
        assert_true(whole > 1e-3);
        for (size_t s = 0; s < p.step.params.n_slots; s++)
            if (p.step.params.grads[s].data)
                test_weight_gradient(p.ctx, p.r.weights[s], p.step.params.grads[s], whole, (uint32_t)s, loss, &p);
        destroy(&p);
    }
}

static void gradients(void **state) {
    (void)state;
    check_gradients(0);
}

static void gradients_of_sup(void **state) {
    (void)state;
    check_gradients(1);
}

/* A text without tokens is its reference, so the difference is 0 and the projection computes tanh of its bias for every
 * text. The gradient of the encoder is then 0. */
static void empty_texts(void **state) {
    (void)state;
    static problem p;
    create(&p, test_best_tier(), 1, 0, 1, 0);
    const double got = run(&p, 0);
    assert_true(fabs(got - log(PAIRS)) <= 1e-6);
    for (size_t i = 0; i < TEXTS; i++) {
        float v[64], w[64];
        aoei_tensor_read(p.ctx, v, aoei_tensor_rows(p.step.projected, i, 1));
        aoei_tensor_read(p.ctx, w, aoei_tensor_rows(p.step.projected, 0, 1));
        assert_memory_equal(v, w, p.c.hidden * sizeof *v);
    }
    destroy(&p);
}

static void check_bits(int is_sup) {
    static problem p, q;
    create(&p, test_best_tier(), 1, 0, 0, is_sup);
    run(&p, 1);
    const size_t n = p.step.params.count;
    float *want = malloc(n * sizeof *want), *got = malloc(n * sizeof *got);
    assert_true(want && got);
    aoei_tensor_read(p.ctx, want, p.step.params.grad);
    for (size_t chunk = 1; chunk <= 2; chunk++) {
        create(&q, test_best_tier(), 1 + chunk, chunk, 0, is_sup);
        run(&q, 1);
        aoei_tensor_read(q.ctx, got, q.step.params.grad);
        assert_memory_equal(want, got, n * sizeof *want);
        destroy(&q);
    }
    free(want);
    free(got);
    destroy(&p);
}

static void chunks_and_threads(void **state) {
    (void)state;
    check_bits(0);
    check_bits(1);
}

/* Fills a weight with the values of the PyTorch program, the first of which has the index i. Returns the next index. */
static size_t fill_slot(problem *p, size_t slot, size_t i) {
    const aoei_tensor w = p->step.params.values[slot];
    aoei_slot d;
    float *host = malloc(w.rows * w.cols * sizeof *host);
    assert_non_null(host);
    aoei_slot_describe(&p->c, slot, &d);
    for (size_t j = 0; j < w.rows * w.cols; j++, i++)
        host[j] = (float)((d.norm ? 1 : 0) + 0.3 * sin(0.37 * (double)i + 0.0131 * (double)i * (double)i));
    aoei_tensor_write(p->ctx, w, host);
    free(host);
    return i;
}

enum { V = 11, MASK_ID = 10, MAX_TEXTS = 8, MAX_REFERENCES = 6, NORMS = 41 };

/* A batch, and the values that PyTorch computed for it. Row r of the texts is in template r % templates. */
typedef struct pytorch_case {
    int is_sup;
    size_t templates, arity, examples, texts;
    int32_t text[MAX_TEXTS][4]; /* [texts] */
    size_t length[MAX_TEXTS];   /* [texts] number of tokens of each text */
    size_t lengths;             /* number of different lengths */
    size_t referenced[4];       /* [lengths] the lengths in the order in which they occur first */
    double tau;                 /* temperature; a low one amplifies the rounding errors of the differences */
    double loss;
    double norms[NORMS]; /* norm of the gradient of each weight; unused: -1 */
    double row[4];       /* gradient of the first components of the embedding of word 1 */
} pytorch_case;

/* Fills the batch of the step: the texts in each template, followed by the references. */
static void fill_case(aoei_pair_step *s, const pytorch_case *c) {
    static const int32_t before[2][3] = {{0, 1, 2}, {0, 1, 6}}, after[4] = {3, 4, MASK_ID, 5};
    const size_t rows = c->templates * c->texts, references = c->templates * c->lengths;
    for (size_t r = 0; r < rows + references; r++) {
        int32_t ids[12];
        const size_t k = r % c->templates, i = r / c->templates, words = r < rows ? c->length[i] : 0;
        memcpy(ids, before[k], sizeof before[k]);
        memcpy(ids + 3, c->text[r < rows ? i : 0], words * sizeof *ids);
        memcpy(ids + 3 + words, after, sizeof after);
        aoei_batch_add(&s->buffer, ids, 7 + words, (uint32_t)r);
        const size_t end = s->buffer.batch.n_tokens;
        for (size_t t = end - 4; t < end && r >= rows; t++)
            s->buffer.positions[t] += (uint32_t)c->referenced[i - c->texts];
        for (size_t j = 0; j < c->lengths && r < rows; j++)
            if (c->referenced[j] == words)
                s->reference[r] = (uint32_t)(rows + c->templates * j + k);
    }
    s->arity = c->arity;
    s->n_references = references;
}

/* Compares the loss and the norms of the gradients with values that PyTorch 2 computed in float64 for the same weights:
 * BERT in transformers. */
static void check_case(const pytorch_case *c) {
    static problem p;
    tiny_model shape = tiny_defaults();
    size_t i = 0, n = 0;
    memset(&p, 0, sizeof p);
    p.ctx = test_context(test_best_tier(), 1);
    tiny_config(&p.c, &shape);
    p.c.vocab = V;
    p.c.mask_id = MASK_ID;
    add_layers(&p.c, &p.training, c->is_sup);
    const aoei_pair_step_options o = {
        .pairs = c->examples, .arity = c->arity, .tokens = 200, .longest = 12, .references = c->templates * c->lengths};
    assert_int_equal(aoei_pair_step_create(&p.step, p.ctx, &p.c, &o, NULL), 0);
    for (size_t s = 0; s < p.step.params.n_slots; s++)
        if (p.step.params.values[s].data)
            i = fill_slot(&p, s, i);
    aoei_tensor_zero(p.ctx, p.step.params.grad);
    fill_case(&p.step, c);
    aoe_objective_options_defaults(&p.objective);
    p.objective.w_cosine = p.objective.w_angle = p.objective.w_cln = 0;
    p.objective.tau_ibn = c->tau;
    if (c->arity == 3) {
        p.objective.w_ibn = 0;
        p.objective.w_cln = 2;
    }
    const double got = run(&p, 0);
    if (!(fabs(got - c->loss) <= 1e-5 * (1 + c->loss)))
        fail_msg("the loss is %.12g, expected %.12g", got, c->loss);
    for (size_t s = 0; s < p.step.params.n_slots; s++) {
        if (!p.step.params.grads[s].data)
            continue;
        assert_true(n < NORMS && c->norms[n] >= 0);
        const double want = c->norms[n++], norm = sqrt(aoei_sum_squares(p.ctx, p.step.params.grads[s]));
        if (!(fabs(norm - want) <= 1e-5 * (1 + want)))
            fail_msg("weight %zu: the norm of the gradient is %.9g, expected %.9g", s, norm, want);
    }
    assert_true(n == NORMS || c->norms[n] < 0);
    float words[2 * 64];
    aoei_tensor_read(p.ctx, words, aoei_tensor_rows(p.step.params.grads[AOEI_W_WORD], 1, 1));
    for (size_t k = 0; k < 4; k++)
        assert_true(fabs((double)words[k] - c->row[k]) <= 1e-5 * (1 + fabs(c->row[k])));
    destroy(&p);
}

/* Four texts in two templates, and a projection with tanh. The gradient of the word that only the templates contain
 * shows that the gradient flows through the references. */
static void values_of_pytorch(void **state) {
    (void)state;
    static const pytorch_case unsup = {.templates = 2,
                                       .arity = 2,
                                       .examples = 4,
                                       .texts = 4,
                                       .text = {{7, 8}, {9, 7, 7, 8}, {8}, {9, 8}},
                                       .length = {2, 4, 1, 2},
                                       .lengths = 3,
                                       .referenced = {2, 4, 1},
                                       .tau = 0.05,
                                       .loss = 0.580137377066,
                                       .norms = {1.49459401,  1.23030111,  1.66231014,  0.46091657,     0.473862116,
                                                 0.678674101, 0.173175613, 0.514000371, 1.01037183e-16, 1.13147464,
                                                 0.299019432, 1.18988136,  0.3670299,   0.429510136,    0.434140481,
                                                 0.984592795, 0.288605576, 0.815057217, 0.270886773,    0.368462654,
                                                 0.220777866, 0.465879575, 0.12166838,  0.569410569,    2.86254977e-16,
                                                 1.24785767,  0.179904419, 1.2765189,   0.206151532,    0.375807848,
                                                 0.255638182, 0.849564722, 0.147703408, 0.655428801,    0.191014396,
                                                 0.291719049, 0,           0.945376514, 1.13777539,     -1},
                                       .row = {0.0780676489, 0.00370268106, 0.053138551, 0.0546558984}};
    check_case(&unsup);
}

/* Two triplets in one template, and the transform. */
static void values_of_pytorch_for_sup(void **state) {
    (void)state;
    static const pytorch_case sup = {.is_sup = 1,
                                     .templates = 1,
                                     .arity = 3,
                                     .examples = 2,
                                     .texts = 6,
                                     .text = {{7, 8}, {9, 7, 7}, {8}, {9}, {8, 8}, {7, 9, 9, 8}},
                                     .length = {2, 3, 1, 1, 2, 4},
                                     .lengths = 4,
                                     .referenced = {2, 3, 1, 4},
                                     .tau = 4,
                                     .loss = 1.338464829900,
                                     .norms = {0.368922069,
                                               0.257681012,
                                               0.134558086,
                                               0.100217913,
                                               0.0398128111,
                                               0.23591655,
                                               0.0635401339,
                                               0.153393368,
                                               4.55242375e-17,
                                               0.241228591,
                                               0.0231408896,
                                               0.297956757,
                                               0.0324012172,
                                               0.102605887,
                                               0.0355272329,
                                               0.206754799,
                                               0.0352088681,
                                               0.183894769,
                                               0.0352388824,
                                               0.0830054041,
                                               0.03898625,
                                               0.0841222284,
                                               0.0213057164,
                                               0.170225535,
                                               7.85999355e-17,
                                               0.282729555,
                                               0.0252910405,
                                               0.265052829,
                                               0.0251453681,
                                               0.0509187928,
                                               0.0219061589,
                                               0.156292826,
                                               0.0244366098,
                                               0.0987100318,
                                               0.0138770053,
                                               0.0410707229,
                                               0.013691396,
                                               0.209840835,
                                               0.0151786125,
                                               0.0344883728,
                                               0},
                                     .row = {0.0268887351, 0.00941245992, 0.0143425288, -0.00138833228}};
    check_case(&sup);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gradients),         cmocka_unit_test(gradients_of_sup),
                                       cmocka_unit_test(values_of_pytorch), cmocka_unit_test(values_of_pytorch_for_sup),
                                       cmocka_unit_test(empty_texts),       cmocka_unit_test(chunks_and_threads)};
    return cmocka_run_group_tests_name("promptbert", tests, NULL, NULL);
}
