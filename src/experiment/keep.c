/* SPDX-License-Identifier: MIT
 * Finds the best trial and removes the models that are not kept.
 */
#include "experiment/keep.h"

#include <math.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"

/* Returns 1 if trial i is better than the trial `best`. If best is n, there is no best trial yet. */
static int is_best(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, size_t i, size_t best) {
    const double x = aoei_trial_score(o, &trial[i], 0);
    if (isnan(x) || best == n)
        return !isnan(x);
    const double y = aoei_trial_score(o, &trial[best], 0);
    return x > y || (!(x < y) && i < best);
}

int aoei_keep_find_best(size_t *best, const aoe_experiment_options *o, const aoei_trial *trial, size_t n,
                        aoe_error *err) {
    *best = n;
    for (size_t i = 0; i < n; i++) {
        if (!trial[i].record || trial[i].configuration->untrained)
            continue;
        char *model = aoei_trial_path(o, &trial[i], "model");
        if (!model)
            return aoei_fail_nomem(err, 0);
        if (aoei_exists(model) && is_best(o, trial, n, i, *best))
            *best = i;
        aoei_free(model);
    }
    return 0;
}

static int remove_part(const aoe_experiment_options *o, const aoei_trial *t, const char *part, aoe_error *err) {
    char *path = aoei_trial_path(o, t, part);
    const int code = path ? aoei_remove_tree(path, err) : aoei_fail_nomem(err, 0);
    aoei_free(path);
    return code;
}

int aoei_keep_clean_up(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, size_t i, size_t *best,
                       aoe_error *err) {
    size_t removed = i;
    if (trial[i].configuration->untrained)
        return 0;
    int code = remove_part(o, &trial[i], "model/checkpoints", err);
    if (o->keep != AOE_KEEP_NONE && is_best(o, trial, n, i, *best)) {
        removed = *best;
        *best = i;
    }
    if (!code && o->keep != AOE_KEEP_ALL && removed < n)
        code = remove_part(o, &trial[removed], "model", err);
    return code;
}

int aoei_keep_remove_others(const aoe_experiment_options *o, const aoei_trial *trial, size_t n, size_t best,
                            aoe_error *err) {
    int code = 0;
    for (size_t i = 0; i < n && !code && o->keep != AOE_KEEP_ALL; i++)
        if (trial[i].record && !trial[i].configuration->untrained && (i != best || o->keep == AOE_KEEP_NONE))
            code = remove_part(o, &trial[i], "model", err);
    return code;
}
