/* SPDX-License-Identifier: MIT
 * `aoe verify`: finds golden cases in a directory and runs them. What is compared
 * is in verify_model.c and verify_objectives.c; here are the walk and the arithmetic of
 * errors. An architecture the encoder does not have is named and passed over when it is
 * one of several folders, and is an error when it was asked for.
 */
#include "bench/check.h"

#include "base/alloc.h"
#include "base/context.h"
#include "base/error.h"
#include "base/file.h"
#include "base/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SMALL_REFERENCE 1e-6 /* golden/README: below this norm the tolerance is absolute */

void aoei_check_begin(aoei_check *c, const char *group, const char *name, double tolerance) {
    memset(c, 0, sizeof *c);
    c->group = group;
    c->tolerance = tolerance;
    snprintf(c->name, sizeof c->name, "%s", name);
}

static void take(aoei_check *c, double difference2, double reference2) {
    if (c->joined) {
        difference2 = c->difference2 += difference2;
        reference2 = c->reference2 += reference2;
        c->worst = isnan(c->worst) ? c->worst : 0;
    }
    const double difference = sqrt(difference2), reference = sqrt(reference2);
    const double error = reference < SMALL_REFERENCE ? difference * (c->tolerance / SMALL_REFERENCE) : difference / reference;
    c->compared++;
    if (!(error <= c->worst)) /* larger, or NaN */
        c->worst = isnan(c->worst) ? c->worst : error;
}

void aoei_check_values(aoei_check *c, const double *got, const double *want, size_t n) {
    double difference2 = 0, reference2 = 0;
    for (size_t i = 0; i < n; i++) {
        difference2 += (got[i] - want[i]) * (got[i] - want[i]);
        reference2 += want[i] * want[i];
    }
    take(c, difference2, reference2);
}

void aoei_check_floats(aoei_check *c, const float *got, const float *want, size_t n) {
    double difference2 = 0, reference2 = 0;
    for (size_t i = 0; i < n; i++) {
        const double d = (double)got[i] - (double)want[i];
        difference2 += d * d;
        reference2 += (double)want[i] * (double)want[i];
    }
    take(c, difference2, reference2);
}

void aoei_check_end(aoei_verify *v, const aoei_check *c) {
    char name[160];
    snprintf(name, sizeof name, "%s/%s", c->group, c->name);
    const aoe_verify_result r = {.name = name,
                                 .error = c->worst,
                                 .tolerance = c->tolerance,
                                 .checks = c->compared,
                                 .passed = c->compared > 0 && c->worst <= c->tolerance};
    v->done++;
    v->failed += !r.passed;
    if (v->report)
        v->report(v->user, &r);
}

static int has_file(const char *dir, const char *name) {
    char *path = aoei_path_join(dir, name);
    const int yes = path && aoei_exists(path);
    aoei_free(path);
    return yes;
}

/* The last component of a path, without trailing slashes, into out. */
static void base_name(char *out, size_t size, const char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t begin = len;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    snprintf(out, size, "%.*s", (int)(len - begin), path + begin);
}

/* One entry of the parent folder; anything that holds no cases is passed over. */
static int verify_entry(aoei_verify *v, const char *dir, const char *name, aoe_error *err) {
    char *path = aoei_path_join(dir, name);
    if (!path)
        return aoei_fail_nomem(err, 0);
    int code = AOE_OK;
    aoe_error inner;
    if (strcmp(name, "objectives.json") == 0) {
        code = aoei_verify_objectives(v, path, err);
    } else if (has_file(path, "cases.json")) {
        code = aoei_verify_model(v, path, name, &inner);
        if (code == AOE_EUNSUPPORTED) {
            aoei_log_write(&v->ctx->log, AOE_LOG_WARNING, "%s passed over: %s", name, inner.message);
            code = AOE_OK;
        } else if (code) {
            aoei_fail(err, code, "%s", inner.message);
        }
    }
    aoei_free(path);
    return code;
}

static int verify_folder(aoei_verify *v, const char *dir, aoe_error *err) {
    char **names;
    size_t n;
    int code = aoei_list_dir(&names, &n, dir, err);
    if (code)
        return code;
    for (size_t i = 0; i < n && !code; i++)
        code = verify_entry(v, dir, names[i], err);
    aoei_list_free(names, n);
    return code;
}

int aoe_verify(aoe_context *ctx, const char *dir, aoe_dtype dtype, aoe_verify_fn report, void *user, aoe_error *err) {
    aoei_verify v = {.ctx = ctx, .dtype = dtype, .report = report, .user = user};
    int code;
    if (!aoei_is_dir(dir))
        return aoei_fail(err, AOE_ENOENT, "%s: not a directory; give a folder with cases.json, or its parent", dir);
    if (has_file(dir, "cases.json")) {
        char name[128];
        base_name(name, sizeof name, dir);
        code = aoei_verify_model(&v, dir, name, err);
    } else {
        code = verify_folder(&v, dir, err);
    }
    if (code)
        return code;
    if (v.done == 0)
        return aoei_fail(err, AOE_ENOENT,
                         "%s: no golden cases; give a folder with cases.json, or a parent with objectives.json", dir);
    if (v.failed)
        return aoei_fail(err, AOE_EMISMATCH, "%s: %zu of %zu checks failed", dir, v.failed, v.done);
    return AOE_OK;
}
