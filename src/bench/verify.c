/* SPDX-License-Identifier: MIT
 * Implements aoe_verify: finds golden cases (outputs of a reference implementation) in a directory and compares the
 * outputs of aoe with them. aoe_verify fails if the model in the given directory has an unsupported architecture. If
 * the model in a subdirectory has an unsupported architecture, aoe_verify logs a warning and skips the subdirectory.
 */
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/context.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "bench/verify_model.h"
#include "bench/verify_objectives.h"

#include <stdio.h>
#include <string.h>

static int has_file(const char *dir, const char *name) {
    char *path = aoei_path_join(dir, name);
    const int yes = path && aoei_exists(path);
    aoei_free(path);
    return yes;
}

/* Copies the last component of a path to `out`, without slashes at the end. */
static void base_name(char *out, size_t size, const char *path) {
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    size_t begin = len;
    while (begin > 0 && path[begin - 1] != '/')
        begin--;
    snprintf(out, size, "%.*s", (int)(len - begin), path + begin);
}

/* Verifies the golden cases in one entry of the directory. An entry without golden cases is skipped. */
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
            aoei_log_write(&v->ctx->log, AOE_LOG_WARNING, "%s: skipped: %s", name, inner.message);
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
    AOEI_CHECK(err, ctx, dir);
    aoei_verify v = {.ctx = ctx, .dtype = dtype, .report = report, .user = user};
    int code;
    if (!aoei_is_dir(dir))
        return aoei_fail(err, AOE_ENOENT,
                         "%s: not a directory; give a directory with cases.json, or its parent directory", dir);
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
        return aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory contains no reference values; give a directory with cases.json, or its parent directory",
            dir);
    if (v.failed)
        return aoei_fail(err, AOE_EMISMATCH, "%s: %zu of %zu checks failed", dir, v.failed, v.done);
    return AOE_OK;
}
