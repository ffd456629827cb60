/* SPDX-License-Identifier: MIT
 * covers: train/traffic_plan train/step_speed
 * The plan of the bytes that ranks send equals the bytes that they send in training: the largest number of each phase,
 * and the sum of every rank.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../support/comm_fork.h"
#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_plan.h"
#include "aoe_train.h"

enum { MAX_RANKS = 8, BATCH = 6 };

typedef struct variant {
    const char *name;
    aoe_method method;
    size_t shards, accumulate;
    int ranks, bf16, lora, layers;
    aoe_optimizer optimizer;
} variant;

static const variant variants[] = {
    {.name = "one rank", .method = AOE_METHOD_ANGLE, .shards = 4, .ranks = 1},
    {.name = "angle", .method = AOE_METHOD_ANGLE, .shards = 2, .ranks = 2, .optimizer = AOE_OPTIMIZER_SGD},
    {.name = "bf16", .method = AOE_METHOD_COSENT, .shards = 8, .ranks = 3, .bf16 = 1},
    {.name = "lora", .method = AOE_METHOD_ANGLE, .shards = 4, .ranks = 4, .lora = 1, .accumulate = 2},
    {.name = "layers", .method = AOE_METHOD_COSENT, .shards = 8, .ranks = 5, .layers = 1},
    {.name = "lora-bf16", .method = AOE_METHOD_SBERT_REGRESSION, .shards = 16, .ranks = 6, .lora = 1, .bf16 = 1},
    {.name = "simcse", .method = AOE_METHOD_SIMCSE_UNSUP, .shards = 8, .ranks = 7, .accumulate = 2},
    {.name = "is-bert", .method = AOE_METHOD_IS_BERT, .shards = 8, .ranks = 8},
    {.name = "ct", .method = AOE_METHOD_CT, .shards = 8, .ranks = 3},
    {.name = "cross-encoder", .method = AOE_METHOD_CROSS_ENCODER, .shards = 4, .ranks = 3, .accumulate = 3},
    {.name = "cross-encoder-lora", .method = AOE_METHOD_CROSS_ENCODER, .shards = 2, .ranks = 2, .lora = 1},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* What all ranks write, in shared memory: bytes of the messages of each rank, and the event of rank 0. */
typedef struct counts {
    uint64_t sent[MAX_RANKS];
    aoe_train_traffic traffic;
} counts;

typedef struct run {
    train_run r;
    counts *c;
    uint64_t *sent; /* the element of this rank */
    const aoe_comm *given;
} run;

static counts *new_counts(void) {
    counts *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(c != MAP_FAILED);
    return c;
}

/* A transport that counts the bytes of another one. */
static int counting_exchange(void *self, int to, const void *send, size_t send_bytes, int from, void *receive,
                             size_t receive_bytes, double timeout, aoe_error *err) {
    run *x = self;
    *x->sent += to >= 0 ? send_bytes : 0;
    return x->given->exchange(x->given->self, to, send, send_bytes, from, receive, receive_bytes, timeout, err);
}

static int on_event(void *user, const aoe_train_event *e) {
    run *x = user;
    if (e->kind == AOE_TRAIN_DONE && e->traffic)
        x->c->traffic = *e->traffic;
    return 0;
}

static int train(aoe_comm *comm, void *user, aoe_error *err) {
    run *x = user;
    aoe_comm counting = *comm;
    x->given = comm;
    x->sent = &x->c->sent[comm->rank];
    counting.self = x;
    counting.exchange = counting_exchange;
    counting.absent = NULL;
    x->r.o.args.comm = &counting;
    x->r.o.args.event = on_event;
    x->r.o.args.event_user = x;
    return train_run_go(&x->r, 1, err);
}

/* Prepares a run whose texts all have the same number of tokens. */
static void begin(run *x, const variant *v) {
    char text[4000] = "text1\ttext2\tlabel\n";
    train_run *r = &x->r;
    train_run_create(r);
    for (int i = 0; i < 36; i++)
        snprintf(text + strlen(text), 60, "the %c cat\tthe cat %c\t%d\n", 'a' + i % 26, 'b' + i % 25, i % 2);
    free(r->data);
    r->data = test_write_text(r->dir, "equal.tsv", text);
    aoe_train_method_defaults(&r->o, v->method);
    r->o.method = v->method;
    r->source.path = r->data;
    r->o.evaluate = NULL;
    r->o.batch_size = BATCH;
    r->o.accumulate = v->accumulate ? v->accumulate : 1;
    r->o.allow_duplicates = 1;
    r->o.args.save_every = 1000;
    r->o.args.shards = v->shards;
    r->o.args.optimizer = v->optimizer;
    r->o.args.model_options.dtype = v->bf16 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
    r->o.lora.r = v->lora ? 3 : 0;
    r->o.layers.adaptive = v->layers;
}

/* Trains with several ranks. */
static void train_steps(run *x, const variant *v, size_t steps) {
    char name[32];
    snprintf(name, sizeof name, "out-%zu", steps);
    train_run_output(&x->r, name);
    memset(x->c, 0, sizeof *x->c);
    x->r.o.args.max_steps = steps;
    if (comm_test_fork(v->ranks, train, x))
        fail_msg("%s with %d ranks failed", v->name, v->ranks);
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static void expect(const char *name, const char *phase, uint64_t counted, uint64_t planned) {
    if (counted != planned)
        fail_msg("%s: %s: %llu bytes were sent, but %llu were planned", name, phase, (unsigned long long)counted,
                 (unsigned long long)planned);
}

static void plan_equals_counted_bytes(void **state) {
    (void)state;
    for (size_t i = 0; i < VARIANTS; i++) {
        const variant *v = &variants[i];
        run x = {.c = new_counts()};
        aoe_memory_plan most = {.struct_size = sizeof most};
        uint64_t sent[MAX_RANKS];
        aoe_model *m = NULL;
        aoe_error err = {0};
        begin(&x, v);
        train_steps(&x, v, 1);
        memcpy(sent, x.c->sent, sizeof sent);
        train_steps(&x, v, 3);
        aoe_context *ctx = tiny_context(1);
        if (aoe_model_open(&m, ctx, x.r.model, &x.r.o.args.model_options, &err))
            fail_msg("%s", err.message);
        aoe_plan_options o;
        aoe_plan_options_defaults(&o);
        o.train = &x.r.o;
        o.ranks = (size_t)v->ranks;
        o.n_texts = aoe_train_batch_texts(&x.r.o, 2);
        o.length = v->method == AOE_METHOD_CROSS_ENCODER ? 9 : 5; /* with the special tokens */
        for (o.rank = 0; o.rank < o.ranks; o.rank++) {
            aoe_memory_plan p = {.struct_size = sizeof p};
            if (aoe_model_plan(m, &o, &p, &err))
                fail_msg("%s: %s", v->name, err.message);
            expect(v->name, "all phases", x.c->sent[o.rank] - sent[o.rank],
                   2 * (p.sent_vectors + p.sent_gradients + p.sent_norm + p.sent_weights + p.sent_agreement));
            most.sent_vectors = larger(most.sent_vectors, p.sent_vectors);
            most.sent_gradients = larger(most.sent_gradients, p.sent_gradients);
            most.sent_norm = larger(most.sent_norm, p.sent_norm);
            most.sent_weights = larger(most.sent_weights, p.sent_weights);
            most.sent_agreement = larger(most.sent_agreement, p.sent_agreement);
        }
        const aoe_train_traffic *t = &x.c->traffic;
        if (v->ranks > 1) {
            assert_int_equal(t->steps, 3);
            assert_int_equal(t->ranks, v->ranks);
            assert_true(most.sent_gradients > 0 && most.sent_weights > 0);
        }
        expect(v->name, "vectors", t->vectors, 3 * most.sent_vectors);
        expect(v->name, "gradients", t->gradients, 3 * most.sent_gradients);
        expect(v->name, "norm", t->norm, 3 * most.sent_norm);
        expect(v->name, "weights", t->weights, 3 * most.sent_weights);
        expect(v->name, "agreement", t->agreement, 3 * most.sent_agreement);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
        train_run_destroy(&x.r);
        munmap(x.c, sizeof *x.c);
    }
}

/* A rank that pretrains. */
typedef struct pretraining {
    run x;
    aoe_pretrain_options o;
    const char *texts[1];
} pretraining;

static int pretrain(aoe_comm *comm, void *user, aoe_error *err) {
    pretraining *p = user;
    aoe_comm counting = *comm;
    p->x.given = comm;
    p->x.sent = &p->x.c->sent[comm->rank];
    counting.self = &p->x;
    counting.exchange = counting_exchange;
    counting.absent = NULL;
    p->o.args.comm = &counting;
    p->o.args.event = on_event;
    p->o.args.event_user = &p->x;
    aoe_context *ctx = tiny_context(1);
    const int code = aoe_pretrain(ctx, &p->o, err);
    aoe_context_destroy(ctx);
    return code;
}

static void pretraining_steps(pretraining *p, int ranks, size_t steps) {
    char name[48];
    snprintf(name, sizeof name, "pretrained-%d-%zu", ranks, steps);
    char *output = test_path(p->x.r.dir, name);
    memset(p->x.c, 0, sizeof *p->x.c);
    p->o.args.output = output;
    p->o.args.max_steps = steps;
    if (comm_test_fork(ranks, pretrain, p))
        fail_msg("pretraining with %d ranks failed", ranks);
    free(output);
}

static void pretraining_equals_plan(void **state) {
    (void)state;
    static const int all_ranks[] = {1, 2, 3, 8};
    pretraining p = {.x = {.c = new_counts()}};
    begin(&p.x, &variants[0]);
    aoe_pretrain_options_defaults(&p.o);
    p.o.args.model = p.x.r.model;
    p.o.args.model_options.dtype = AOE_DTYPE_F32;
    p.o.args.save_every = 1000;
    p.o.args.shards = 8;
    p.o.texts = p.texts;
    p.o.n_texts = 1;
    p.texts[0] = p.x.r.data;
    p.o.table.columns = "text=text1";
    p.o.batch_size = 9;
    p.o.pack = 0;
    p.o.held_out = 0;
    for (size_t i = 0; i < sizeof all_ranks / sizeof *all_ranks; i++) {
        const int ranks = all_ranks[i];
        aoe_memory_plan most = {.struct_size = sizeof most};
        uint64_t sent[MAX_RANKS];
        aoe_model *m = NULL;
        aoe_error err = {0};
        pretraining_steps(&p, ranks, 1);
        memcpy(sent, p.x.c->sent, sizeof sent);
        pretraining_steps(&p, ranks, 3);
        aoe_context *ctx = tiny_context(1);
        if (aoe_model_open(&m, ctx, p.x.r.model, &p.o.args.model_options, &err))
            fail_msg("%s", err.message);
        aoe_plan_options o;
        aoe_plan_options_defaults(&o);
        o.pretrain = &p.o;
        o.length = 5;
        o.ranks = (size_t)ranks;
        for (o.rank = 0; o.rank < o.ranks; o.rank++) {
            aoe_memory_plan plan = {.struct_size = sizeof plan};
            if (aoe_model_plan(m, &o, &plan, &err))
                fail_msg("%s", err.message);
            expect("pretraining", "all phases", p.x.c->sent[o.rank] - sent[o.rank],
                   2 * (plan.sent_vectors + plan.sent_gradients + plan.sent_norm + plan.sent_weights +
                        plan.sent_agreement));
            most.sent_vectors = larger(most.sent_vectors, plan.sent_vectors);
            most.sent_gradients = larger(most.sent_gradients, plan.sent_gradients);
            most.sent_norm = larger(most.sent_norm, plan.sent_norm);
            most.sent_weights = larger(most.sent_weights, plan.sent_weights);
            most.sent_agreement = larger(most.sent_agreement, plan.sent_agreement);
        }
        const aoe_train_traffic *t = &p.x.c->traffic;
        assert_true(ranks == 1 || (most.sent_gradients > 0 && most.sent_vectors > 0));
        expect("pretraining", "vectors", t->vectors, 3 * most.sent_vectors);
        expect("pretraining", "gradients", t->gradients, 3 * most.sent_gradients);
        expect("pretraining", "norm", t->norm, 3 * most.sent_norm);
        expect("pretraining", "weights", t->weights, 3 * most.sent_weights);
        expect("pretraining", "agreement", t->agreement, 3 * most.sent_agreement);
        o.rank = 0;
        o.train = &p.x.r.o;
        assert_int_equal(aoe_model_plan(m, &o, &most, &err), AOE_EARG);
        aoe_model_close(m);
        aoe_context_destroy(ctx);
    }
    train_run_destroy(&p.x.r);
    munmap(p.x.c, sizeof *p.x.c);
}

/* Every 100 steps, the ranks also compare their weights. */
static void comparison_equals_plan(void **state) {
    (void)state;
    const variant v = {.name = "comparison", .method = AOE_METHOD_COSENT, .shards = 4, .ranks = 3};
    run x = {.c = new_counts()};
    uint64_t sent[3][MAX_RANKS];
    aoe_model *m = NULL;
    aoe_error err = {0};
    begin(&x, &v);
    for (size_t i = 0; i < 3; i++) {
        train_steps(&x, &v, 98 + i);
        memcpy(sent[i], x.c->sent, sizeof sent[i]);
    }
    aoe_context *ctx = tiny_context(1);
    if (aoe_model_open(&m, ctx, x.r.model, &x.r.o.args.model_options, &err))
        fail_msg("%s", err.message);
    aoe_plan_options o;
    aoe_plan_options_defaults(&o);
    o.train = &x.r.o;
    o.ranks = (size_t)v.ranks;
    o.n_texts = aoe_train_batch_texts(&x.r.o, 2);
    o.length = 5;
    for (o.rank = 0; o.rank < o.ranks; o.rank++) {
        aoe_memory_plan p = {.struct_size = sizeof p};
        if (aoe_model_plan(m, &o, &p, &err))
            fail_msg("%s", err.message);
        const uint64_t step = sent[1][o.rank] - sent[0][o.rank];
        assert_true(p.sent_check > 0);
        expect(v.name, "a step", step,
               p.sent_vectors + p.sent_gradients + p.sent_norm + p.sent_weights + p.sent_agreement);
        expect(v.name, "step 100", sent[2][o.rank] - sent[1][o.rank], step + p.sent_check);
    }
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    train_run_destroy(&x.r);
    munmap(x.c, sizeof *x.c);
}

/* The moments are partitioned, the gradients have the levels of the tree, and the shards limit the activations. */
static void memory_of_ranks(void **state) {
    (void)state;
    aoe_shape shape = {.struct_size = sizeof shape};
    aoe_memory_plan one = {.struct_size = sizeof one}, all = one, rank = one;
    aoe_error err = {0};
    aoe_context *ctx = tiny_context(1);
    assert_int_equal(aoe_shape_named(&shape, "bert-base", &err), 0);
    aoe_train_options train;
    aoe_train_options_defaults(&train);
    aoe_plan_options o;
    aoe_plan_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.length = 32;
    o.train = &train;
    assert_int_equal(aoe_shape_plan(ctx, &shape, &o, &one, &err), 0);
    train.args.shards = 8;
    assert_int_equal(aoe_shape_plan(ctx, &shape, &o, &all, &err), 0);
    assert_int_equal(all.gradients, 4 * one.gradients);
    assert_int_equal(all.moments, one.moments);
    assert_true(all.kept < one.kept / 4);
    o.ranks = 8;
    size_t moments = 0;
    for (o.rank = 0; o.rank < 8; o.rank++) {
        assert_int_equal(aoe_shape_plan(ctx, &shape, &o, &rank, &err), 0);
        assert_int_equal(rank.gradients, one.gradients);
        assert_true(rank.exchange > 0);
        moments += rank.moments;
    }
    assert_int_equal(moments, one.moments);
    o.rank = 8;
    assert_int_equal(aoe_shape_plan(ctx, &shape, &o, &rank, &err), AOE_EARG);
    o.rank = 0;
    o.ranks = 9;
    assert_int_equal(aoe_shape_plan(ctx, &shape, &o, &rank, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.shards is 8"));
    aoe_context_destroy(ctx);
}

static void speed_is_measured(void **state) {
    (void)state;
    aoe_shape shape = {.struct_size = sizeof shape};
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_error err = {0};
    aoe_context *ctx = tiny_context(1);
    aoe_plan_options o;
    aoe_plan_options_defaults(&o);
    o.length = 16;
    assert_int_equal(aoe_shape_named(&shape, "bert-tiny", &err), 0);
    assert_int_equal(aoe_shape_plan(ctx, &shape, &o, &plan, &err), 0);
    assert_true(plan.tokens_per_second <= 0);
    o.measure_speed = 1;
    assert_int_equal(aoe_shape_plan(ctx, &shape, &o, &plan, &err), 0);
    assert_true(plan.tokens_per_second > 0);
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plan_equals_counted_bytes), cmocka_unit_test(pretraining_equals_plan),
        cmocka_unit_test(comparison_equals_plan),    cmocka_unit_test(memory_of_ranks),
        cmocka_unit_test(speed_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
