/* SPDX-License-Identifier: MIT
 * Tests the kernels of RMSprop and SGD of every instruction set. Values are compared with double precision. For all
 * lengths, alignments and special values, the results of all instruction sets must be bit-identical.
 */
#include <math.h>
#include <string.h>

#include "../support/kernel_check.h"
#include "../support/span.h"
#include "../support/support.h"

enum { LONGEST = 2 * 16 + 1, ARRAYS = 3 };

static const aoei_rmsprop_f32 options = {
    .lr_decay = 1e-3f, .rho = 0.9f, .one_minus_rho = 0.1f, .eps = 1e-7f, .lr = 0.01f, .grad_scale = 0.7f};

/* s: the arrays w, grad and v of a step, in this order */
typedef struct state {
    test_span s[ARRAYS];
} parameters;

static parameters state_create(size_t n, size_t slack, int special) {
    parameters x;
    for (unsigned a = 0; a < ARRAYS; a++)
        x.s[a] = test_span_normal(n, slack, 1, a);
    for (size_t i = 0; i < n; i++) {
        x.s[2].data[i] *= x.s[2].data[i]; /* makes the second moment v non-negative */
        if (special)
            x.s[i % 2].data[i] = test_specials[(i * 7 + n) % test_n_specials];
    }
    return x;
}

static void state_free(parameters *x) {
    for (unsigned a = 0; a < ARRAYS; a++)
        test_span_free(&x->s[a]);
}

/* Takes a step of RMSprop, or of SGD if with_v is 0. */
static void step(const aoei_kernels *k, parameters *x, size_t n, int with_v) {
    if (with_v)
        k->rmsprop_f32(x->s[0].data, x->s[1].data, x->s[2].data, &options, n);
    else
        k->sgd_f32(x->s[0].data, x->s[1].data, &options, n);
}

static void compare(const aoei_kernels *k, size_t n, int with_v) {
    const aoei_rmsprop_f32 *o = &options;
    const double unit = kernel_tolerance(with_v ? "rmsprop_f32" : "sgd_f32") * EPS32;
    parameters x = state_create(n, n % 3, 0), old = state_create(n, n % 3, 0);
    step(k, &x, n, with_v);
    for (size_t i = 0; i < n; i++) {
        const double w = (double)old.s[0].data[i], g = (double)old.s[1].data[i] * (double)o->grad_scale;
        const double v = (double)o->rho * (double)old.s[2].data[i] + (double)o->one_minus_rho * g * g;
        const double change = (double)o->lr * g / (with_v ? sqrt(v) + (double)o->eps : 1);
        test_value(x.s[2].data[i], with_v ? v : (double)old.s[2].data[i], unit * v, "v", k->tier, n, i);
        test_value(x.s[0].data[i], w - (double)o->lr_decay * w - change, unit * (fabs(w) + fabs(change)), "w", k->tier,
                   n, i);
        assert_true(x.s[1].data[i] == 0); /* the kernel clears the gradient */
    }
    state_free(&x);
    state_free(&old);
}

static void rmsprop_against_double(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++)
        compare(k, n, 1);
}

static void sgd_against_double(const aoei_kernels *k) {
    for (size_t n = 1; n <= LONGEST; n++)
        compare(k, n, 0);
}

static void test_against_double(void **state) {
    (void)state;
    kernel_each_tier("rmsprop_f32", rmsprop_against_double);
    kernel_each_tier("sgd_f32", sgd_against_double);
}

static void all_tiers_agree(const aoei_kernels *k) {
    for (size_t n = 0; n <= LONGEST; n++)
        for (int variant = 0; variant < 4; variant++) {
            const int special = variant & 1, with_v = variant >> 1;
            parameters want = state_create(n, 0, special);
            if (with_v)
                aoei_rmsprop_f32_c(want.s[0].data, want.s[1].data, want.s[2].data, &options, n);
            else
                aoei_sgd_f32_c(want.s[0].data, want.s[1].data, &options, n);
            for (size_t slack = 0; slack < 3; slack++) {
                parameters got = state_create(n, slack, special);
                step(k, &got, n, with_v);
                for (size_t a = 0; a < ARRAYS; a++)
                    test_same_floats(got.s[a].data, want.s[a].data, n);
                state_free(&got);
            }
            state_free(&want);
        }
}

static void test_all_tiers_agree(void **state) {
    (void)state;
    kernel_each_tier("rmsprop_f32", all_tiers_agree);
    kernel_each_tier("sgd_f32", all_tiers_agree);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_double), cmocka_unit_test(test_all_tiers_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
