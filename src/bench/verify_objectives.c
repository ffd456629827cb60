/* SPDX-License-Identifier: MIT
 * Compares the training losses and their gradients with golden cases, which are the outputs of a reference
 * implementation. No model is needed. objectives.json is a list of cases. A case is an object with these keys:
 * - "x", "y": [B, D] vectors of the two texts of each pair.
 * - "label": [B] labels.
 * - "scale": for each of the losses "cosine", "angle" and "ibn", the inverse of the temperature.
 * - "out": for each loss, the expected "loss", "grad_x" and "grad_y".
 * For in-batch negatives ("ibn"), pairs with a label of at least 1 are positive, and identical texts are not detected.
 */
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "bench/verify_objectives.h"

#include <stdio.h>
#include <string.h>

static const char *const term_names[] = {"cosine", "angle", "ibn"};
enum { TERMS = 3 };
#define TOLERANCE 1e-6

typedef struct objective_case {
    size_t B, D;        /* B: number of pairs; D: number of components of a vector */
    double *label;      /* [B] labels, owned */
    float *x, *y;       /* [B, D] vectors of the two texts of each pair, owned */
    float *gx, *gy;     /* [B, D] computed gradients of x and y, owned */
    double *got, *want; /* [B, D] workspace for computed and expected values, owned */
} objective_case;

static void case_free(objective_case *c) {
    aoei_free(c->label);
    aoei_free(c->x);
    aoei_free(c->y);
    aoei_free(c->gx);
    aoei_free(c->gy);
    aoei_free(c->got);
    aoei_free(c->want);
    memset(c, 0, sizeof *c);
}

static int read_matrix(double *out, const json_t *rows, size_t B, size_t D, const char *file, const char *what,
                       aoe_error *err) {
    for (size_t i = 0; i < B; i++)
        for (size_t k = 0; k < D; k++) {
            const json_t *row = json_array_get(rows, i), *value = json_array_get(row, k);
            if (json_array_size(rows) != B || json_array_size(row) != D || !json_is_number(value))
                return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not %zu rows of %zu numbers; generate the file again",
                                 file, what, B, D);
            out[i * D + k] = json_number_value(value);
        }
    return AOE_OK;
}

/* Reads the vectors "x" and "y" and the labels of a case. */
static int case_read(objective_case *c, const json_t *o, const char *file, aoe_error *err) {
    memset(c, 0, sizeof *c);
    const json_t *x = json_object_get(o, "x"), *label = json_object_get(o, "label");
    c->B = json_array_size(x);
    c->D = json_array_size(json_array_get(x, 0));
    const size_t n = c->B * c->D;
    if (n == 0 || json_array_size(label) != c->B)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: a case has no \"x\", or its number of labels differs from its number of rows; generate the file again",
            file);
    c->label = aoei_calloc(c->B, sizeof *c->label);
    float **const floats[] = {&c->x, &c->y, &c->gx, &c->gy};
    int bad = !c->label;
    for (size_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        bad |= !(*floats[i] = aoei_calloc(n, sizeof **floats[i]));
    c->got = aoei_calloc(n, sizeof *c->got);
    c->want = aoei_calloc(n, sizeof *c->want);
    if (bad || !c->got || !c->want)
        return aoei_fail_nomem(err, n * sizeof *c->want);
    int code = read_matrix(c->want, x, c->B, c->D, file, "x", err);
    for (size_t i = 0; i < n; i++)
        c->x[i] = (float)c->want[i];
    if (!code)
        code = read_matrix(c->want, json_object_get(o, "y"), c->B, c->D, file, "y", err);
    for (size_t i = 0; i < n; i++)
        c->y[i] = (float)c->want[i];
    for (size_t i = 0; i < c->B && !code; i++) {
        if (!json_is_number(json_array_get(label, i)))
            code = aoei_fail(err, AOE_EFORMAT, "%s: label %zu of a case is not a number; generate the file again", file,
                             i);
        c->label[i] = json_number_value(json_array_get(label, i));
    }
    return code;
}

static void compare_gradient(aoei_check *check, objective_case *c, const float *got) {
    for (size_t i = 0; i < c->B * c->D; i++)
        c->got[i] = (double)got[i];
    aoei_check_values(check, c->got, c->want, c->B * c->D);
}

/* Computes one loss of a case and its gradients, and compares them with the expected loss and gradients. term: index in
 * term_names. */
static int run_term(aoei_check *loss, aoei_check *grad, objective_case *c, const json_t *o, int term, const char *file,
                    aoe_error *err) {
    const json_t *out = json_object_get(json_object_get(o, "out"), term_names[term]);
    const json_t *scale = json_object_get(json_object_get(o, "scale"), term_names[term]);
    if (!out)
        return AOE_OK;
    const json_t *want = json_object_get(out, "loss");
    if (!json_is_number(scale) || !json_is_number(want))
        return aoei_fail(err, AOE_EFORMAT, "%s: a case has no scale or loss for %s; generate the file again", file,
                         term_names[term]);
    aoe_objective_options options;
    aoe_objective_result r = {.struct_size = sizeof r};
    aoe_objective_options_defaults(&options);
    options.w_cosine = term == 0;
    options.w_angle = term == 1;
    options.w_ibn = term == 2;
    options.tau_cosine = options.tau_angle = options.tau_ibn = 1.0 / json_number_value(scale);
    options.isp = 0;
    int code = aoe_objective(&options, c->x, c->y, c->D, c->label, NULL, c->B, c->D, c->gx, c->gy, &r, err);
    if (code)
        return code;
    const double expected = json_number_value(want);
    aoei_check_values(loss, &r.total, &expected, 1);
    code = read_matrix(c->want, json_object_get(out, "grad_x"), c->B, c->D, file, "grad_x", err);
    if (!code)
        compare_gradient(grad, c, c->gx);
    if (!code)
        code = read_matrix(c->want, json_object_get(out, "grad_y"), c->B, c->D, file, "grad_y", err);
    if (!code)
        compare_gradient(grad, c, c->gy);
    return code;
}

int aoei_verify_objectives(aoei_verify *v, const char *path, aoe_error *err) {
    json_t *root = NULL;
    aoei_check loss[TERMS], grad[TERMS];
    int code = aoei_json_load(&root, path, err);
    if (!code && !json_is_array(root))
        code = aoei_fail(err, AOE_EFORMAT, "%s: not a list of cases; generate the file again", path);
    for (int t = 0; t < TERMS; t++) {
        char name[32];
        snprintf(name, sizeof name, "%s.loss", term_names[t]);
        aoei_check_begin(&loss[t], "objectives", name, TOLERANCE);
        snprintf(name, sizeof name, "%s.gradient", term_names[t]);
        aoei_check_begin(&grad[t], "objectives", name, TOLERANCE);
    }
    for (size_t i = 0; !code && i < json_array_size(root); i++) {
        objective_case c;
        code = case_read(&c, json_array_get(root, i), path, err);
        for (int t = 0; t < TERMS && !code; t++)
            code = run_term(&loss[t], &grad[t], &c, json_array_get(root, i), t, path, err);
        case_free(&c);
    }
    for (int t = 0; t < TERMS && !code; t++) {
        aoei_check_end(v, &loss[t]);
        aoei_check_end(v, &grad[t]);
    }
    json_decref(root);
    return code;
}
