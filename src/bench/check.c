/* SPDX-License-Identifier: MIT
 * Compares computed values with reference values and reports the errors (formula in check.h).
 */
#include "aoe_eval.h"
#include "bench/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SMALL_REFERENCE 1e-6 /* if the norm of the reference is smaller, the absolute error is checked */

void aoei_check_begin(aoei_check *c, const char *group, const char *name, double tolerance) {
    memset(c, 0, sizeof *c);
    c->group = group;
    c->tolerance = tolerance;
    snprintf(c->name, sizeof c->name, "%s", name);
}

static void add_comparison(aoei_check *c, double difference2, double reference2) {
    if (c->joined) {
        difference2 = c->difference2 += difference2;
        reference2 = c->reference2 += reference2;
        c->worst = isnan(c->worst) ? c->worst : 0;
    }
    const double difference = sqrt(difference2), reference = sqrt(reference2);
    const double error =
        reference < SMALL_REFERENCE ? difference * (c->tolerance / SMALL_REFERENCE) : difference / reference;
    c->compared++;
    if (!(error <= c->worst)) /* also true if error or c->worst is NaN */
        c->worst = isnan(c->worst) ? c->worst : error;
}

void aoei_check_values(aoei_check *c, const double *got, const double *want, size_t n) {
    double difference2 = 0, reference2 = 0;
    for (size_t i = 0; i < n; i++) {
        difference2 += (got[i] - want[i]) * (got[i] - want[i]);
        reference2 += want[i] * want[i];
    }
    add_comparison(c, difference2, reference2);
}

void aoei_check_floats(aoei_check *c, const float *got, const float *want, size_t n) {
    double difference2 = 0, reference2 = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)got[i] - (double)want[i];
        difference2 += d * d;
        reference2 += (double)want[i] * (double)want[i];
    }
    add_comparison(c, difference2, reference2);
}

void aoei_check_end(aoei_verify *v, const aoei_check *c) {
    char name[160];
    snprintf(name, sizeof name, "%s/%s", c->group, c->name);
    const aoe_verify_result r = {.struct_size = sizeof(aoe_verify_result),
                                 .name = name,
                                 .error = c->worst,
                                 .tolerance = c->tolerance,
                                 .checks = c->compared,
                                 .passed = c->compared > 0 && c->worst <= c->tolerance};
    v->done++;
    v->failed += !r.passed;
    if (v->report)
        v->report(v->user, &r);
}
