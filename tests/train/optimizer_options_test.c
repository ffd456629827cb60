/* SPDX-License-Identifier: MIT
 * Tests the options of the optimizer and of the learning rate: ten steps of every optimizer compared with values that
 * PyTorch and a separate program computed, the learning rates of training runs, bit-identical resumed runs, and
 * rejected options.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_train.h"
#include "nn/optimizer.h"

enum { P = 4, STEPS = 10 };

/* The expected values are those of torch.optim.RMSprop(lr=0.01, alpha=0.9, eps=1e-7) and torch.optim.SGD(lr=0.01) of
 * PyTorch 2.13 in float64, and of the formula of AdamW without bias correction with eps 1e-6, for the gradients
 * below. */
static void ten_steps(void **state) {
    (void)state;
    static const struct {
        aoei_optimizer_kind kind;
        double beta2, eps, want[P];
    } cases[] = {
        {AOEI_RMSPROP, 0.9, 1e-7, {0.992204097925, -0.506131497038, 0.208011991749, 1.905668325374}},
        {AOEI_SGD, 0, 1e-8, {1.005, -0.51, 0.245, 1.98}},
        {AOEI_ADAMW, 0.999, 1e-6, {0.975579826461, -0.545385317552, 0.086223111099, 1.770195084854}},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int tier = AOEI_TIER_C; tier <= (int)test_best_tier(); tier++) {
            static const float start[P] = {1, -0.5F, 0.25F, 2};
            const int moments = aoei_optimizer_moments(cases[c].kind);
            aoe_context *ctx = test_context((aoei_tier)tier, 2);
            aoei_tensor w = test_tensor(1, P, 0, 1, 1), g = test_tensor(1, P, 0, 1, 1), none = {0};
            aoei_tensor m = test_tensor(1, P, 0, 1, 1), v = test_tensor(1, P, 0, 1, 1);
            aoei_optimizer_segment segment = {.begin = 0, .end = P};
            aoei_tensor_write(ctx, w, start);
            aoei_tensor_zero(ctx, m);
            aoei_tensor_zero(ctx, v);
            for (uint64_t i = 0; i < STEPS; i++) {
                float grad[P];
                const aoei_optimizer o = {.kind = cases[c].kind,
                                          .lr = 0.01,
                                          .beta1 = 0.9,
                                          .beta2 = cases[c].beta2,
                                          .eps = cases[c].eps,
                                          .no_bias_correction = 1,
                                          .grad_scale = 1,
                                          .step = i + 1,
                                          .segments = &segment,
                                          .n_segments = 1,
                                          .n_tasks = aoei_optimizer_plan(&segment, 1)};
                for (size_t k = 0; k < P; k++)
                    grad[k] = (float)(0.1 * (double)(i + 1) * ((i + k) % 2 ? -1 : 1) + 0.05 * (double)k);
                aoei_tensor_write(ctx, g, grad);
                aoei_optimizer_step(ctx, w, g, moments > 1 ? m : none, moments > 0 ? v : none, &o);
            }
            for (size_t k = 0; k < P; k++)
                if (!(fabs((double)test_at(w, 0, k) - cases[c].want[k]) < 2e-6))
                    fail_msg("case %zu: value %zu is %.9g, expected %.12g", c, k, (double)test_at(w, 0, k),
                             cases[c].want[k]);
            test_tensor_free(w);
            test_tensor_free(g);
            test_tensor_free(m);
            test_tensor_free(v);
            aoe_context_destroy(ctx);
        }
}

/* With decay_all, weight decay also applies to segments without decay. */
static void decay_of_all_segments(void **state) {
    (void)state;
    for (int kind = AOEI_ADAMW; kind <= AOEI_SGD; kind++)
        for (int all = 0; all < 2; all++) {
            aoe_context *ctx = test_context(AOEI_TIER_C, 1);
            const float start[2] = {4, 4};
            aoei_tensor w = test_tensor(1, 2, 0, 1, 1), g = test_tensor(1, 2, 0, 1, 1), m = test_tensor(1, 2, 0, 1, 1),
                        v = test_tensor(1, 2, 0, 1, 1);
            aoei_optimizer_segment segments[] = {{.begin = 0, .end = 1, .decay = 1}, {.begin = 1, .end = 2}};
            aoei_tensor_write(ctx, w, start);
            aoei_tensor_zero(ctx, g);
            aoei_tensor_zero(ctx, m);
            aoei_tensor_zero(ctx, v);
            const aoei_optimizer o = {.kind = (aoei_optimizer_kind)kind,
                                      .lr = 0.5,
                                      .beta1 = 0.9,
                                      .beta2 = 0.9,
                                      .eps = 1e-8,
                                      .weight_decay = 0.5,
                                      .decay_all = all,
                                      .grad_scale = 1,
                                      .step = 1,
                                      .segments = segments,
                                      .n_segments = 2,
                                      .n_tasks = aoei_optimizer_plan(segments, 2)};
            aoei_optimizer_step(ctx, w, g, m, v, &o);
            assert_true(test_at(w, 0, 0) == 3 && test_at(w, 0, 1) == (all ? 3 : 4));
            test_tensor_free(w);
            test_tensor_free(g);
            test_tensor_free(m);
            test_tensor_free(v);
            aoe_context_destroy(ctx);
        }
}

/* ------------------------------------------------------------------ runs */

/* Returns the learning rate of step i of the recorded events, counted from 0. */
static double rate(const train_run *r, size_t i) {
    size_t n = 0;
    for (size_t k = 0; k < r->n; k++)
        if (r->events[k].kind == AOE_TRAIN_STEP && n++ == i)
            return r->events[k].lr;
    fail_msg("the run has only %zu steps", n);
    return 0;
}

static void close_to(double value, double want) {
    if (!(fabs(value - want) <= 1e-12 * want))
        fail_msg("the learning rate is %.15g, expected %.15g", value, want);
}

static void learning_rates(void **state) {
    (void)state;
    train_run r; /* 12 steps, 6 in each of two epochs; evaluations after 4, 8 and 12 steps */
    train_run_create(&r);
    r.o.args.schedule = AOE_SCHEDULE_CONSTANT;
    r.o.args.warmup = 2;
    train_run_ok(&r, 1);
    close_to(rate(&r, 0), 0.5e-3);
    close_to(rate(&r, 1), 1e-3);
    close_to(rate(&r, 11), 1e-3);
    r.o.args.lr_steps[0] = (aoe_lr_step){.step = 3, .lr = 8e-4};
    r.o.args.lr_steps[1] = (aoe_lr_step){.step = 7, .lr = 2e-4};
    r.o.args.n_lr_steps = 2;
    r.o.args.lr_epoch_factor = 0.5;
    r.n = 0;
    train_run_output(&r, "steps");
    train_run_ok(&r, 1);
    close_to(rate(&r, 2), 1e-3);
    close_to(rate(&r, 3), 8e-4);
    close_to(rate(&r, 5), 8e-4);
    close_to(rate(&r, 6), 4e-4);
    close_to(rate(&r, 7), 1e-4);
    train_run_destroy(&r);
}

/* The learning rate is divided after every evaluation whose score is not better than the best one, also if the run was
 * resumed, and training stops below min_lr. */
static void divided_rates(void **state) {
    (void)state;
    static const double scores[] = {0.5, 0.4, 0.6, 0.5, 0.6, 0.1};
    for (int resume = 0; resume < 2; resume++) {
        train_run r;
        aoe_error err = {0};
        train_run_create(&r);
        r.scores = scores;
        r.o.args.schedule = AOE_SCHEDULE_CONSTANT;
        r.o.args.warmup = 0;
        r.o.args.lr_divide = 5;
        r.o.args.min_lr = 1e-5;
        r.o.args.eval_every = 2;
        if (resume) {
            r.stop_kind = AOE_TRAIN_STEP;
            r.stop_step = 5;
            assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
            r.stop_kind = -1;
            r.o.args.resume = 1;
        }
        train_run_ok(&r, 1);
        close_to(rate(&r, 0), 1e-3);
        close_to(rate(&r, 3), 1e-3);
        close_to(rate(&r, 4), 2e-4); /* after the second evaluation */
        close_to(rate(&r, 7), 2e-4);
        close_to(rate(&r, 8), 4e-5);                               /* after the fourth evaluation */
        assert_int_equal(train_run_count(&r, AOE_TRAIN_STEP), 10); /* after the fifth evaluation, the rate would be
                                                                      8e-6 */
        assert_int_equal(train_run_count(&r, AOE_TRAIN_DONE), 1);
        train_run_destroy(&r);
    }
}

/* Every optimizer gives identical bits for any number of threads and after an interruption, and another result than
 * AdamW. */
static void identical_runs(void **state) {
    (void)state;
    for (int kind = AOE_OPTIMIZER_ADAMW; kind <= AOE_OPTIMIZER_SGD; kind++) {
        train_run r;
        aoe_error err = {0};
        size_t size, n;
        train_run_create(&r);
        train_run_ok(&r, 1);
        char *adamw = train_run_read(&r, "model.safetensors", &size);
        r.o.args.optimizer = (aoe_optimizer)kind;
        r.o.args.no_bias_correction = kind == AOE_OPTIMIZER_ADAMW;
        r.o.args.decay_all = 1;
        train_run_output(&r, "first");
        train_run_ok(&r, 1);
        char *want = train_run_read(&r, "model.safetensors", &size);
        assert_true(memcmp(want, adamw, size) != 0);
        train_run_output(&r, "stopped");
        r.n = 0;
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = 5;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
        r.stop_kind = -1;
        r.o.args.resume = 1;
        r.o.args.optimizer = kind == AOE_OPTIMIZER_SGD ? AOE_OPTIMIZER_RMSPROP : AOE_OPTIMIZER_SGD;
        r.o.args.no_bias_correction = 0;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
        assert_non_null(strstr(err.message, "optimizer"));
        r.o.args.optimizer = (aoe_optimizer)kind;
        r.o.args.no_bias_correction = kind == AOE_OPTIMIZER_ADAMW;
        r.n = 0;
        train_run_ok(&r, 3);
        char *got = train_run_read(&r, "model.safetensors", &n);
        assert_true(n == size && !memcmp(got, want, n));
        free(adamw);
        free(want);
        free(got);
        train_run_destroy(&r);
    }
}

static void rejected_options(void **state) {
    (void)state;
    static const struct {
        aoe_training_args a;
        const char *fragment;
    } cases[] = {
        {{.optimizer = 7}, "options.optimizer is 7; give 0 (adamw), 1 (rmsprop) or 2 (sgd)"},
        {{.optimizer_eps = -1}, "options.optimizer_eps is -1"},
        {{.optimizer = AOE_OPTIMIZER_SGD, .no_bias_correction = 1}, "only AdamW has a bias correction"},
        {{.lr_divide = 5}, "set options.schedule to constant"},
        {{.schedule = AOE_SCHEDULE_CONSTANT, .max_minutes = 1}, "options.max_minutes requires the linear schedule"},
        {{.schedule = AOE_SCHEDULE_CONSTANT, .lr_steps = {{5, 1}, {5, 2}}, .n_lr_steps = 2},
         "change 2, to 2 from step 5 on"},
        {{.schedule = AOE_SCHEDULE_CONSTANT, .lr_epoch_factor = 2},
         "options.lr_epoch_factor is 2; give a number above 0 and at most 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_run r;
        aoe_error err = {0};
        const aoe_training_args *a = &cases[i].a;
        train_run_create(&r);
        r.o.args.optimizer = a->optimizer;
        r.o.args.optimizer_eps = a->optimizer_eps < 0 ? a->optimizer_eps : r.o.args.optimizer_eps;
        r.o.args.no_bias_correction = a->no_bias_correction;
        r.o.args.schedule = a->schedule;
        r.o.args.max_minutes = a->max_minutes;
        r.o.args.lr_divide = a->lr_divide > 0 ? a->lr_divide : r.o.args.lr_divide;
        r.o.args.lr_epoch_factor = a->lr_epoch_factor > 0 ? a->lr_epoch_factor : r.o.args.lr_epoch_factor;
        memcpy(r.o.args.lr_steps, a->lr_steps, sizeof a->lr_steps);
        r.o.args.n_lr_steps = a->n_lr_steps;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
        if (!strstr(err.message, cases[i].fragment))
            fail_msg("found the message \"%s\", expected \"%s\"", err.message, cases[i].fragment);
        train_run_destroy(&r);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_steps),     cmocka_unit_test(decay_of_all_segments), cmocka_unit_test(learning_rates),
        cmocka_unit_test(divided_rates), cmocka_unit_test(identical_runs),        cmocka_unit_test(rejected_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
