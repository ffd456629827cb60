/* SPDX-License-Identifier: MIT
 * Tests the AdamW kernel of every instruction set. Values are compared with double precision. For all lengths,
 * alignments and special values, the results of all instruction sets must be bit-identical.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1, ARRAYS = 4 };

static const aoei_adamw_f32 options = {.lr_decay = 1e-3f,
                                       .beta1 = 0.9f,
                                       .beta2 = 0.999f,
                                       .eps = 1e-8f,
                                       .step_size = 0.01f,
                                       .sqrt_bias2 = 0.05f,
                                       .grad_scale = 0.7f,
                                       .one_minus_beta1 = 0.1f,
                                       .one_minus_beta2 = 0.001f};

/* s: the arrays w, grad, m and v of an AdamW step, in this order */
typedef struct state {
    test_span s[ARRAYS];
} parameters;

static parameters state_create(size_t n, size_t slack, int special) {
    parameters x;
    for (unsigned a = 0; a < ARRAYS; a++)
        x.s[a] = test_span_normal(n, slack, 1, a);
    for (size_t i = 0; i < n; i++) {
        x.s[3].data[i] *= x.s[3].data[i]; /* makes the second moment v non-negative */
        if (special)
            x.s[i % 3].data[i] = test_specials[(i * 7 + n) % test_n_specials];
    }
    return x;
}

static void state_free(parameters *x) {
    for (unsigned a = 0; a < ARRAYS; a++)
        test_span_free(&x->s[a]);
}

static void step(const aoei_kernels *k, parameters *x, size_t n) {
    k->adamw_f32(x->s[0].data, x->s[1].data, x->s[2].data, x->s[3].data, &options, n);
}

static void against_double(const aoei_kernels *k) {
    const aoei_adamw_f32 *o = &options;
    for (size_t n = 1; n <= LONGEST; n++) {
        parameters x = state_create(n, n % 3, 0), old = state_create(n, n % 3, 0);
        step(k, &x, n);
        for (size_t i = 0; i < n; i++) {
            const double w = (double)old.s[0].data[i], g = (double)old.s[1].data[i] * (double)o->grad_scale;
            const double m1 = (double)o->beta1 * (double)old.s[2].data[i], m2 = (double)o->one_minus_beta1 * g;
            const double v = (double)o->beta2 * (double)old.s[3].data[i] + (double)o->one_minus_beta2 * g * g;
            const double root = sqrt(v) / (double)o->sqrt_bias2 + (double)o->eps, size = (double)o->step_size / root;
            const double want = w - (double)o->lr_decay * w - size * (m1 + m2);
            const double unit = kernel_tolerance("adamw_f32") * EPS32;
            test_value(x.s[2].data[i], m1 + m2, unit * (fabs(m1) + fabs(m2)), "m", k->tier, n, i);
            test_value(x.s[3].data[i], v, unit * v, "v", k->tier, n, i);
            test_value(x.s[0].data[i], want, unit * (fabs(w) + size * (fabs(m1) + fabs(m2))), "w", k->tier, n, i);
            assert_true(x.s[1].data[i] == 0); /* the kernel clears the gradient */
        }
        state_free(&x);
        state_free(&old);
    }
}

static void test_against_double(void **state) {
    (void)state;
    kernel_each_tier("adamw_f32", against_double);
}

static void all_tiers_agree(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (int special = 0; special <= 1; special++) {
            parameters want = state_create(n, 0, special);
            aoei_adamw_f32_c(want.s[0].data, want.s[1].data, want.s[2].data, want.s[3].data, &options, n);
            for (size_t slack = 0; slack < 3; slack++) {
                parameters got = state_create(n, slack, special);
                step(k, &got, n);
                for (size_t a = 0; a < ARRAYS; a++)
                    test_same_floats(got.s[a].data, want.s[a].data, n);
                state_free(&got);
            }
            state_free(&want);
        }
}

static void test_all_tiers_agree(void **state) {
    (void)state;
    kernel_each_tier("adamw_f32", all_tiers_agree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_double), cmocka_unit_test(test_all_tiers_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
