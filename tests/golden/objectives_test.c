/* SPDX-License-Identifier: MIT
 * tags: numbers
 * Tests the objectives against golden cases of an independent float64 implementation. A case contains the vectors x and
 * y, the labels, and the scales, which are 1 / temperature. It also contains the expected loss and gradients of one or
 * more objectives (cosine, ibn, angle). One test uses the cases in the repository. Another test uses the complete file
 * in the shared data; it is skipped if the file is not available.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <jansson.h>

#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "loss/pair_objective.h"
#include "../support/support.h"

#define TERMS 3
static const char *const terms[TERMS] = {"cosine", "ibn", "angle"};

/* One case. gx and gy are the computed gradients with respect to x and y; want_x and want_y are the expected
 * gradients. */
typedef struct golden {
    size_t B, D;
    double *x, *y, *gx, *gy, *want_x, *want_y, *label; /* label: [B]; all others: [B, D]; owned */
    float *xf, *yf, *gxf, *gyf;                        /* [B, D] x, y, gx and gy in float32; owned */
} golden;

static double *new_doubles(size_t n) {
    return test_calloc(n, sizeof(double));
}

static float *new_floats(size_t n) {
    return test_calloc(n, sizeof(float));
}

static void read_matrix(const json_t *rows, double *out, size_t B, size_t D) {
    assert_int_equal(json_array_size(rows), B);
    for (size_t i = 0; i < B; i++) {
        const json_t *row = json_array_get(rows, i);
        assert_int_equal(json_array_size(row), D);
        for (size_t k = 0; k < D; k++) {
            assert_true(json_is_number(json_array_get(row, k)));
            out[i * D + k] = json_number_value(json_array_get(row, k));
        }
    }
}

static void create(golden *g, const json_t *c) {
    *g = (golden){.B = json_array_size(json_object_get(c, "x"))};
    assert_true(g->B > 0);
    g->D = json_array_size(json_array_get(json_object_get(c, "x"), 0));
    size_t n = g->B * g->D;
    g->x = new_doubles(n);
    g->y = new_doubles(n);
    g->gx = new_doubles(n);
    g->gy = new_doubles(n);
    g->want_x = new_doubles(n);
    g->want_y = new_doubles(n);
    g->label = new_doubles(g->B);
    g->xf = new_floats(n);
    g->yf = new_floats(n);
    g->gxf = new_floats(n);
    g->gyf = new_floats(n);
    read_matrix(json_object_get(c, "x"), g->x, g->B, g->D);
    read_matrix(json_object_get(c, "y"), g->y, g->B, g->D);
    for (size_t i = 0; i < g->B; i++)
        g->label[i] = json_number_value(json_array_get(json_object_get(c, "label"), i));
    for (size_t i = 0; i < n; i++) {
        g->xf[i] = (float)g->x[i];
        g->yf[i] = (float)g->y[i];
    }
}

static void destroy(golden *g) {
    double *d[] = {g->x, g->y, g->gx, g->gy, g->want_x, g->want_y, g->label};
    float *f[] = {g->xf, g->yf, g->gxf, g->gyf};
    for (size_t i = 0; i < sizeof d / sizeof *d; i++)
        test_free(d[i]);
    for (size_t i = 0; i < sizeof f / sizeof *f; i++)
        test_free(f[i]);
}

static aoe_objective_options options_of(const json_t *c, const char *term) {
    const json_t *scale = json_object_get(c, "scale");
    aoe_objective_options o;
    aoe_objective_options_defaults(&o);
    o.w_cosine = strcmp(term, "cosine") == 0;
    o.w_ibn = strcmp(term, "ibn") == 0;
    o.w_angle = strcmp(term, "angle") == 0;
    o.tau_cosine = 1.0 / json_number_value(json_object_get(scale, "cosine"));
    o.tau_ibn = 1.0 / json_number_value(json_object_get(scale, "ibn"));
    o.tau_angle = 1.0 / json_number_value(json_object_get(scale, "angle"));
    return o;
}

/* Returns the relative error of n values: the L2 norm of the difference, divided by the L2 norm of `want`. If the norm
 * of `want` is below 1e-6, returns the L2 norm of the difference. The computed values are `got` or, if `got` is NULL,
 * got_f. */
static double error_of(const double *got, const float *got_f, const double *want, size_t n) {
    double error = 0.0, norm = 0.0;
    for (size_t i = 0; i < n; i++) {
        double d = (got ? got[i] : (double)got_f[i]) - want[i];
        error += d * d;
        norm += want[i] * want[i];
    }
    return norm < 1e-12 ? sqrt(error) : sqrt(error / norm);
}

/* Computes the loss and the gradients in double from x and y. Returns the largest relative error. */
static double run_double(golden *g, const aoe_objective_options *o, double loss) {
    aoei_pair_batch b = {
        .B = g->B,
        .D = g->D,
        .stride = g->D,
        .x64 = g->x,
        .y64 = g->y,
        .grad_x64 = g->gx,
        .grad_y64 = g->gy,
        .label = g->label,
    };
    size_t bytes = aoei_pair_objective_workspace(g->B, g->D);
    void *workspace = aoei_aligned(bytes);
    aoe_objective_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    if (aoei_pair_objective(o, &b, workspace, bytes, NULL, &r, &err))
        fail_msg("%s", err.message);
    aoei_aligned_free(workspace);
    double worst = error_of(&r.total, NULL, &loss, 1);
    worst = fmax(worst, error_of(g->gx, NULL, g->want_x, g->B * g->D));
    return fmax(worst, error_of(g->gy, NULL, g->want_y, g->B * g->D));
}

/* Computes the loss and the gradients from the float32 vectors xf and yf. Returns the largest relative error. */
static double run_float(golden *g, const aoe_objective_options *o, double loss) {
    aoe_objective_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    if (aoe_objective(o, g->xf, g->yf, g->D, g->label, NULL, g->B, g->D, g->gxf, g->gyf, &r, &err))
        fail_msg("%s", err.message);
    double worst = error_of(&r.total, NULL, &loss, 1);
    worst = fmax(worst, error_of(NULL, g->gxf, g->want_x, g->B * g->D));
    return fmax(worst, error_of(NULL, g->gyf, g->want_y, g->B * g->D));
}

static void check_file(const char *path) {
    json_error_t where;
    json_t *cases = json_load_file(path, JSON_ALLOW_NUL, &where);
    if (!cases)
        fail_msg("%s: line %d: %s", path, where.line, where.text);
    size_t checks[TERMS] = {0};
    double worst64[TERMS] = {0}, worst32[TERMS] = {0};
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        golden g;
        create(&g, c);
        for (size_t t = 0; t < TERMS; t++) {
            const json_t *out = json_object_get(json_object_get(c, "out"), terms[t]);
            if (!out)
                continue;
            aoe_objective_options o = options_of(c, terms[t]);
            double loss = json_number_value(json_object_get(out, "loss"));
            read_matrix(json_object_get(out, "grad_x"), g.want_x, g.B, g.D);
            read_matrix(json_object_get(out, "grad_y"), g.want_y, g.B, g.D);
            worst64[t] = fmax(worst64[t], run_double(&g, &o, loss));
            worst32[t] = fmax(worst32[t], run_float(&g, &o, loss));
            checks[t]++;
        }
        destroy(&g);
    }
    json_decref(cases);
    for (size_t t = 0; t < TERMS; t++) {
        print_message("%-7s %zu cases: largest error %.1e in double, %.1e in float32\n", terms[t], checks[t],
                      worst64[t], worst32[t]);
        assert_true(checks[t] > 0);
        assert_true(worst64[t] <= 1e-11);
        assert_true(worst32[t] <= 1e-6);
    }
}

static void copied_cases(void **state) {
    (void)state;
    check_file("tests/golden/data/objectives.json");
}

static void shared_cases(void **state) {
    char *path = test_shared_path("golden/objectives.json");
    (void)state;
    if (!path)
        skip();
    check_file(path);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copied_cases),
        cmocka_unit_test(shared_cases),
    };
    return cmocka_run_group_tests_name("objectives", tests, NULL, NULL);
}
