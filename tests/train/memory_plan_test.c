/* SPDX-License-Identifier: MIT
 * Tests that the memory plan of a training method equals the memory that a step of the method allocates: with the
 * layers that the method adds, without those that it removes, and with the empty templates of PromptBERT and the map of
 * distill. Also tests the number of texts that a batch of a method contains, and the estimate of the memory of a run of
 * an experiment.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_mlm.h"
#include "../support/train_run.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "encoder/slots.h"
#include "experiment/plan.h"
#include "model/model.h"
#include "model/open.h"
#include "train/discriminator.h"
#include "train/methods.h"
#include "train/pair_step.h"
#include "train/schedule.h"
#include "train/teacher_map.h"
#include "train/template_batch.h"

enum { TEXTS = 8, LENGTH = 16 };

static size_t padded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Returns the number of bytes of the arena that describe the parameters, which the plan does not include. */
static size_t descriptions(const aoei_pair_step *s) {
    const aoei_params *p = &s->params;
    const size_t n = p->encoders * p->n_slots, tree = s->tree.buffers ? padded(s->tree.buffers * sizeof(aoei_tensor)) +
                                                                            padded(s->shards.n * sizeof(aoei_tensor))
                                                                      : 0;
    return 2 * padded(n * sizeof(aoei_tensor)) + padded(n * sizeof(aoei_optimizer_segment)) + tree;
}

/* Asserts that the plan of a run equals the memory of its step. arity: number of texts that are encoded for an example.
 * teacher_dims: size of the teacher embeddings, for the method distill. */
static void check_plan(aoe_context *ctx, const aoe_train_options *o, size_t arity, size_t teacher_dims) {
    const aoei_method *method;
    aoe_model *opened, *trained;
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_plan_options options;
    aoei_templates t = {0};
    aoei_discriminator discriminator;
    aoei_pair_step step;
    aoe_error err = {0};
    assert_int_equal(aoei_method_find(&method, o->method, &err), 0);
    const aoei_open_mode mode = {.words = method->words, .seed = 1};
    const int labels = method->kinds & AOEI_KIND(PAIRS) && !method->positives_only;
    aoei_discriminator_init(&discriminator, &(aoei_replacement){.weight = 1});
    aoe_plan_options_defaults(&options);
    options.n_texts = TEXTS;
    options.length = LENGTH;
    options.train = o;
    if (aoe_model_open(&opened, ctx, o->args.model, &o->args.model_options, &err) ||
        aoe_model_plan(opened, &options, &plan, &err) ||
        aoei_model_open_for(&trained, ctx, o->args.model, &o->args.model_options, &mode, &err) ||
        (method->layer && method->layer(o, trained, 0, &err)) ||
        (method->maps_vectors && aoei_teacher_map_add(o, trained, teacher_dims, &err)))
        fail_msg("%s: %s", method->name, err.message);
    const aoei_shards shards = aoei_shards_of(o->args.shards, NULL);
    aoei_pair_step_options sizes = {.pairs = TEXTS / arity,
                                    .shards = &shards,
                                    .accumulates = o->accumulate > 1,
                                    .arity = labels && arity == 2 ? 0 : arity,
                                    .tokens = (size_t)TEXTS * LENGTH,
                                    .longest = LENGTH,
                                    .type = trained->type,
                                    .optimizer = aoei_optimizer_of(o->args.optimizer),
                                    .twin = o->method == AOE_METHOD_CT || o->method == AOE_METHOD_CT_IN_BATCH,
                                    .teacher_dims = method->maps_vectors ? teacher_dims : 0,
                                    .loss = method->step_loss,
                                    .added = o->method == AOE_METHOD_DIFFCSE ? &discriminator.base : NULL};
    if (o->method == AOE_METHOD_PROMPTBERT || o->method == AOE_METHOD_PROMPTBERT_SUP) {
        assert_int_equal(aoei_templates_create(&t, trained, o->second_prompt, LENGTH, &err), 0);
        const size_t n = TEXTS / t.count;
        sizes.references = t.count * n;
        sizes.tokens = n * LENGTH; /* in the first template, with references of as many different lengths as there are
                                      texts */
        for (size_t k = 0; k < t.count; k++)
            sizes.tokens += n * t.empty[k].n;
        if (t.count > 1) {
            assert_true(t.empty[1].n > t.empty[0].n);
            sizes.longest += t.empty[1].n - t.empty[0].n;
            sizes.tokens += n * sizes.longest;
        }
    }
    assert_int_equal(aoei_pair_step_create(&step, ctx, &trained->config, &sizes, &err), 0);
    const size_t D = aoei_vector_dims(&trained->config), texts = TEXTS + sizes.references,
                 projected = step.projected.cols ? step.projected.cols : D,
                 rows = method->step_loss->of_tokens ? sizes.tokens : TEXTS,
                 width = method->step_loss->of_tokens ? aoei_token_width(&trained->config)
                         : aoei_training_layers_of(&trained->config)->projects_features ? D
                                                                                        : projected,
                 host = 2 * rows * width * sizeof(float) + (sizes.references ? texts * D * sizeof(float) : 0);
    assert_int_equal(plan.parameters, step.params.count * sizeof(float));
    assert_int_equal(plan.moments / plan.parameters, aoei_optimizer_moments(sizes.optimizer));
    assert_int_equal(plan.training - plan.frozen, step.arena.used - descriptions(&step) + host + step.workspace_bytes);
    assert_int_equal(plan.frozen > 0, o->method == AOE_METHOD_INFERSENT);
    aoei_pair_step_destroy(&step);
    aoei_discriminator_destroy(&discriminator);
    aoei_templates_destroy(&t);
    aoe_model_close(trained);
    aoe_model_close(opened);
}

static void methods(void **state) {
    static const struct {
        aoe_method method;
        size_t arity; /* number of texts that are encoded for an example */
    } compared[] = {
        {AOE_METHOD_ANGLE, 2},
        {AOE_METHOD_SBERT_CLASSIFICATION, 2},
        {AOE_METHOD_SIMCSE_UNSUP, 2},
        {AOE_METHOD_SIMCSE_SUP, 2},
        {AOE_METHOD_CROSS_ENCODER, 1},
        {AOE_METHOD_CT, 2},
        {AOE_METHOD_CT_IN_BATCH, 2},
        {AOE_METHOD_CONSERT, 2},
        {AOE_METHOD_CONSERT_SUP, 4},
        {AOE_METHOD_IS_BERT, 1},
        {AOE_METHOD_DIFFCSE, 2},
        {AOE_METHOD_INFERSENT, 2},
        {AOE_METHOD_DAN, 2},
        {AOE_METHOD_PROMPTBERT, 2},
        {AOE_METHOD_PROMPTBERT_SUP, 2},
    };
    train_run r;
    aoe_context *ctx;
    (void)state;
    train_run_create(&r);
    char *mlm = tiny_mlm(r.dir, "mlm", r.model, 2);
    assert_int_equal(aoe_context_create(&ctx, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
        aoe_train_options o;
        aoe_train_options_defaults(&o);
        aoe_train_method_defaults(&o, compared[i].method);
        o.args.model = mlm;
        if (compared[i].method == AOE_METHOD_CROSS_ENCODER) {
            o.args.model = "tests/golden/cross_encoders/bert";
            o.args.model_options.cross_encoder = 1;
        }
        o.args.model_options.max_length = AOE_AUTO;
        o.args.model_options.dtype = AOE_DTYPE_F32;
        o.args.model_options.prompt = o.args.model_options.prompt ? "the \"{text}\" [MASK] cat" : NULL;
        o.second_prompt = o.second_prompt ? "{text} : the cat and dog a [MASK]" : NULL;
        o.lstm_dims = 6;
        o.bigrams = 16;
        check_plan(ctx, &o, compared[i].arity, 0);
        o.args.shards = 8;
        check_plan(ctx, &o, compared[i].arity, 0);
        o.accumulate = 2;
        check_plan(ctx, &o, compared[i].arity, 0);
    }
    aoe_context_destroy(ctx);
    free(mlm);
    train_run_destroy(&r);
}

/* The batch of a method contains the texts that it encodes for its examples. */
static void batches(void **state) {
    static const struct {
        aoe_method method;
        size_t pairs, triplets; /* texts of a batch of 3 examples */
    } cases[] = {
        {AOE_METHOD_ANGLE, 6, 9},        {AOE_METHOD_SIMCSE_SUP, 6, 9},     {AOE_METHOD_CROSS_ENCODER, 3, 3},
        {AOE_METHOD_SIMCSE_UNSUP, 6, 6}, {AOE_METHOD_CT, 30, 30},           {AOE_METHOD_CT_IN_BATCH, 6, 6},
        {AOE_METHOD_CONSERT, 6, 6},      {AOE_METHOD_CONSERT_SUP, 12, 18},  {AOE_METHOD_IS_BERT, 3, 3},
        {AOE_METHOD_PROMPTBERT, 6, 6},   {AOE_METHOD_PROMPTBERT_SUP, 6, 9}, {AOE_METHOD_COUNT, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_train_options o;
        aoe_train_options_defaults(&o);
        o.method = cases[i].method;
        o.batch_size = 3;
        o.negatives = 4;
        assert_int_equal(aoe_train_batch_texts(&o, 2), cases[i].pairs);
        assert_int_equal(aoe_train_batch_texts(&o, 3), cases[i].triplets);
        o.cache_chunk = 1;
        assert_int_equal(aoe_train_batch_texts(&o, 2), cases[i].pairs / 3);
        o.cache_chunk = 4;
        assert_int_equal(aoe_train_batch_texts(&o, 2), cases[i].pairs);
    }
    assert_int_equal(aoe_train_batch_texts(NULL, 2), 0);
}

/* Returns the estimate of the memory of a run of an experiment. */
static size_t estimate(const aoe_train_options *o) {
    aoei_plans *plans;
    size_t bytes;
    aoe_error err;
    assert_int_equal(aoei_plans_create(&plans, &err), 0);
    if (aoei_plan_memory(plans, o, 0, 0, &bytes, &err))
        fail_msg("%s", err.message);
    aoei_plans_free(plans);
    return bytes;
}

/* The estimate for an experiment grows with the batch size as the plan grows with the texts of the batch. */
static void experiments(void **state) {
    static const struct {
        aoe_method method;
        size_t texts; /* number of texts that are encoded for an example */
    } cases[] = {
        {AOE_METHOD_ANGLE, 2}, {AOE_METHOD_CT, 10}, {AOE_METHOD_CONSERT_SUP, 4}, {AOE_METHOD_CROSS_ENCODER, 1}};
    train_run r;
    aoe_context *ctx;
    aoe_model *m;
    aoe_context_options one;
    aoe_error err;
    (void)state;
    train_run_create(&r);
    char *data = test_write_text(r.dir, "classes.tsv",
                                 "text1\ttext2\tlabel\nthe old cat\ta dog\t1\nhouse\tthe cat\t0\na\tb c\t1\n");
    r.source.path = data;
    aoe_context_options_defaults(&one);
    one.threads = 1;
    assert_int_equal(aoe_context_create(&ctx, &one, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_train_options o;
        aoe_plan_options options;
        aoe_memory_plan small = {.struct_size = sizeof small}, large = {.struct_size = sizeof large};
        aoe_train_sizes sizes = {.struct_size = sizeof sizes};
        aoe_train_options_defaults(&o);
        aoe_train_method_defaults(&o, cases[i].method);
        o.args.model = r.model;
        o.args.model_options.dtype = AOE_DTYPE_F32;
        o.args.output = r.output;
        o.data = &r.source;
        o.n_data = 1;
        o.negatives = 4;
        if (aoe_train_check_data(ctx, &o, &sizes, &err))
            fail_msg("%s", err.message);
        assert_int_equal(sizes.texts, cases[i].texts);
        aoe_plan_options_defaults(&options);
        options.train = &o;
        options.length = sizes.length;
        assert_int_equal(aoe_model_open(&m, ctx, r.model, &o.args.model_options, &err), 0);
        options.n_texts = 8 * cases[i].texts;
        assert_int_equal(aoe_model_plan(m, &options, &small, &err), 0);
        options.n_texts = 24 * cases[i].texts;
        assert_int_equal(aoe_model_plan(m, &options, &large, &err), 0);
        aoe_model_close(m);
        o.batch_size = 8;
        const size_t before = estimate(&o);
        o.batch_size = 24;
        assert_true(large.training > small.training);
        assert_int_equal(estimate(&o) - before, large.training - small.training);
    }
    aoe_context_destroy(ctx);
    free(data);
    train_run_destroy(&r);
}

/* The plan of distill contains the linear map to the teacher embeddings. */
static void distill(void **state) {
    static const struct {
        size_t teachers, dims;
        aoe_teacher_map map;
    } cases[] = {{0, TRAIN_DIMS, AOE_TEACHER_MAP_AUTO},
                 {1, 20, AOE_TEACHER_MAP_AUTO},
                 {1, 20, AOE_TEACHER_MAP_KEPT},
                 {2, 40, AOE_TEACHER_MAP_DROPPED},
                 {0, TRAIN_DIMS, AOE_TEACHER_MAP_KEPT}};
    train_run r;
    aoe_context *ctx;
    (void)state;
    train_run_create(&r);
    tiny_model shape = tiny_defaults();
    shape.hidden = 20;
    char *teacher = test_path(r.dir, "teacher");
    tiny_model_write(teacher, &shape);
    assert_int_equal(aoe_context_create(&ctx, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_train_options o;
        aoe_train_options_defaults(&o);
        aoe_train_method_defaults(&o, AOE_METHOD_DISTILL);
        o.args.model = r.model;
        o.args.model_options.dtype = AOE_DTYPE_F32;
        o.teacher_map = cases[i].map;
        for (size_t k = 0; k < cases[i].teachers; k++)
            o.teachers[k] = teacher;
        check_plan(ctx, &o, 1, cases[i].dims);
    }
    aoe_context_destroy(ctx);
    free(teacher);
    train_run_destroy(&r);
}

/* A method with prompt templates cannot be planned for the sizes of a model without a tokenizer. */
static void shapes(void **state) {
    aoe_context *ctx;
    aoe_shape shape = {.struct_size = sizeof shape};
    aoe_memory_plan angle = {.struct_size = sizeof angle}, dan = {.struct_size = sizeof dan},
                    plan = {.struct_size = sizeof plan};
    aoe_plan_options options;
    aoe_train_options o;
    aoe_error err;
    (void)state;
    assert_int_equal(aoe_context_create(&ctx, NULL, NULL), 0);
    assert_int_equal(aoe_shape_named(&shape, "bert-tiny", &err), 0);
    aoe_train_options_defaults(&o);
    aoe_plan_options_defaults(&options);
    assert_int_equal(aoe_shape_plan(ctx, &shape, &options, &plan, &err), 0);
    options.train = &o;
    assert_int_equal(aoe_shape_plan(ctx, &shape, &options, &angle, &err), 0);
    assert_memory_equal(&angle, &plan, sizeof plan);
    aoe_train_method_defaults(&o, AOE_METHOD_DAN);
    assert_int_equal(aoe_shape_plan(ctx, &shape, &options, &dan, &err), 0);
    assert_true(dan.kept < angle.kept && dan.parameters > (65536 + shape.vocab) * shape.hidden * sizeof(float));
    aoe_train_method_defaults(&o, AOE_METHOD_PROMPTBERT);
    assert_int_equal(aoe_shape_plan(ctx, &shape, &options, &plan, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "require a tokenizer"));
    aoe_context_destroy(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(methods), cmocka_unit_test(batches),
                                       cmocka_unit_test(experiments), cmocka_unit_test(distill),
                                       cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
