/* SPDX-License-Identifier: MIT
 * Tests that the memory plan of a training method equals the memory that a step of the method allocates: with the layers that
 * the method adds, without those that it removes, and with the empty templates of PromptBERT.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_mlm.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "model/open.h"
#include "train/methods.h"
#include "train/pair_step.h"
#include "train/template_batch.h"

enum { TEXTS = 8, LENGTH = 16 };

static size_t padded(size_t bytes) {
    return (bytes + 63) / 64 * 64;
}

/* Returns the number of bytes of the arena that describe the parameters, which the plan does not include. */
static size_t descriptions(const aoei_params *p) {
    const size_t n = p->encoders * p->n_slots;
    return 4 * padded(n * sizeof(aoei_tensor)) + padded(n * sizeof(aoei_optimizer_segment));
}

/* Asserts that the plan of a run equals the memory of its step. */
static void check_plan(aoe_context *ctx, const aoe_train_options *o) {
    const aoei_method *method;
    aoe_model *opened, *trained;
    aoe_memory_plan plan;
    aoe_plan_options options;
    aoei_templates t = {0};
    aoei_pair_step step;
    aoe_error err = {0};
    assert_int_equal(aoei_method_find(&method, o->method, &err), 0);
    const aoei_open_mode mode = {.words = method->words, .seed = 1};
    const aoei_replacement none = {.weight = 1};
    const int labels = method->kinds & AOEI_KIND(PAIRS) && !method->positives_only;
    aoe_plan_options_defaults(&options);
    options.n_texts = TEXTS;
    options.length = LENGTH;
    options.train = o;
    if (aoe_model_open(&opened, ctx, o->args.model, &o->args.model_options, &err) ||
        aoe_model_plan(opened, &options, &plan, &err) ||
        aoei_model_open_for(&trained, ctx, o->args.model, &o->args.model_options, &mode, &err) ||
        (method->layer && method->layer(o, trained, 0, &err)))
        fail_msg("%s: %s", method->name, err.message);
    trained->config.optimizer = o->args.optimizer;
    aoei_pair_step_options sizes = {.pairs = TEXTS / 2,
                                    .arity = labels ? 0 : 2,
                                    .tokens = (size_t)TEXTS * LENGTH,
                                    .longest = LENGTH,
                                    .type = trained->type,
                                    .loss = method->step_loss,
                                    .replacement = &none};
    if (method->templates) {
        assert_int_equal(aoei_templates_create(&t, trained, o->second_prompt, LENGTH, &err), 0);
        const size_t n = TEXTS / t.count;
        sizes.references = t.count * n;
        sizes.tokens = n * LENGTH; /* in the first template, with references of as many different lengths as there are texts */
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
                 width = method->step_loss->of_tokens        ? aoei_token_width(&trained->config)
                         : trained->config.projects_features ? D
                                                             : projected,
                 host = 2 * rows * width * sizeof(float) + (sizes.references ? texts * D * sizeof(float) : 0);
    assert_int_equal(plan.parameters, step.params.count * sizeof(float));
    assert_int_equal(plan.moments / plan.parameters, aoei_optimizer_moments(o->args.optimizer));
    assert_int_equal(plan.training - plan.frozen, step.arena.used - descriptions(&step.params) + host + step.workspace_bytes);
    assert_int_equal(plan.frozen > 0, o->method == AOE_METHOD_INFERSENT);
    aoei_pair_step_destroy(&step);
    aoei_templates_destroy(&t);
    aoe_model_close(trained);
    aoe_model_close(opened);
}

static void methods(void **state) {
    static const aoe_method compared[] = {AOE_METHOD_ANGLE,        AOE_METHOD_SBERT_CLASSIFICATION,
                                          AOE_METHOD_SIMCSE_UNSUP, AOE_METHOD_SIMCSE_SUP,
                                          AOE_METHOD_CT,           AOE_METHOD_CT_IN_BATCH,
                                          AOE_METHOD_IS_BERT,      AOE_METHOD_DIFFCSE,
                                          AOE_METHOD_INFERSENT,    AOE_METHOD_DAN,
                                          AOE_METHOD_PROMPTBERT,   AOE_METHOD_PROMPTBERT_SUP};
    train_run r;
    aoe_context *ctx;
    (void)state;
    train_run_create(&r);
    char *mlm = tiny_mlm(r.dir, "mlm", r.model, 2);
    assert_int_equal(aoe_context_create(&ctx, NULL, NULL), 0);
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
        aoe_train_options o;
        aoe_train_options_defaults(&o);
        aoe_train_method_defaults(&o, compared[i]);
        o.args.model = mlm;
        o.args.model_options.max_length = AOE_AUTO;
        o.args.model_options.dtype = AOE_DTYPE_F32;
        o.args.model_options.prompt = o.args.model_options.prompt ? "the \"{text}\" [MASK] cat" : NULL;
        o.second_prompt = o.second_prompt ? "{text} : the cat and dog a [MASK]" : NULL;
        o.lstm_dims = 6;
        o.bigrams = 16;
        check_plan(ctx, &o);
    }
    aoe_context_destroy(ctx);
    free(mlm);
    train_run_destroy(&r);
}

/* A method with prompt templates cannot be planned for the sizes of a model without a tokenizer. */
static void shapes(void **state) {
    aoe_context *ctx;
    aoe_shape shape;
    aoe_memory_plan angle, dan, plan;
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(methods), cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
