/* SPDX-License-Identifier: MIT
 * Implements aoe_dev_set (aoe_eval.h): labeled pairs on which a model is evaluated during training.
 */
#include <math.h>

#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/context.h"
#include "base/error.h"
#include "base/options.h"
#include "eval/pair_scores.h"
#include "table/labels.h"
#include "table/pairs.h"

struct aoe_dev_set {
    aoe_pairs *pairs; /* labeled pairs; owned */
    aoei_log log;     /* log of the context, which receives warnings */
    double pearson;   /* Pearson correlation of the latest evaluation; NaN before the first evaluation */
    int evaluated; /* 1: the set was evaluated at least once; only the first evaluation warns about truncated texts */
};

/* Logs how many bad rows were skipped, and how many rows have a label that the label map drops. Errors: AOE_EFORMAT if
 * all labels are equal. */
static int check_pairs(const aoe_dev_set *d, aoe_error *err) {
    const char *name = aoei_pairs_name(d->pairs);
    const size_t skipped = aoe_pairs_skipped(d->pairs), dropped = aoe_pairs_dropped(d->pairs);
    double low = INFINITY, high = -INFINITY;
    if (skipped)
        aoei_log_write(&d->log, AOE_LOG_WARNING, "%s: skipped %zu bad row%s", name, skipped, skipped == 1 ? "" : "s");
    if (dropped)
        aoei_labels_log_dropped(&d->log, name, dropped, "scores, for example neutral=0.5");
    aoei_pairs_label_range(d->pairs, &low, &high);
    if (low < high)
        return 0;
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: all labels are equal, so models cannot be compared; use a dev set with different labels",
                     name);
}

int aoe_dev_set_load(aoe_dev_set **d, aoe_context *ctx, const char *path, const aoe_table_options *o, aoe_error *err) {
    if (d)
        *d = NULL;
    AOEI_CHECK(err, d, ctx, path);
    AOEI_OPTIONS(aoe_table_options, o, err);
    aoe_table_options table = *o;
    table.allow_empty = 1;
    aoe_dev_set *set = aoei_calloc(1, sizeof *set);
    if (!set)
        return aoei_fail_nomem(err, sizeof *set);
    set->log = ctx->log;
    set->pearson = NAN;
    int code = aoe_pairs_load(&set->pairs, path, &table, err);
    if (!code)
        code = check_pairs(set, err);
    if (code)
        aoe_dev_set_free(set);
    else
        *d = set;
    return code;
}

/* Warns during the first evaluation that texts or pairs were truncated. e: embedder of the model; n: number of these
 * texts or pairs; total: number of all. */
static void warn_truncated(aoe_dev_set *d, const aoe_embedder *e, size_t n, size_t total, const char *what) {
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(aoe_embedder_model(e), &info);
    if (n && !d->evaluated)
        aoei_log_write(&d->log, AOE_LOG_WARNING, "%s: %zu of %zu %s %s truncated to the maximum sequence length%s",
                       aoei_pairs_name(d->pairs), n, total, what, n == 1 ? "was" : "were",
                       info.max_length < info.longest ? "; set options.max_length" : " of the model");
    d->evaluated = 1;
}

/* Sets *score to a Spearman correlation. An undefined correlation counts as -1. what: "cosines" or "scores". */
static void set_score(aoe_dev_set *d, double *score, double spearman, const char *what) {
    *score = isfinite(spearman) ? spearman : -1;
    if (!isfinite(spearman))
        aoei_log_write(&d->log, AOE_LOG_WARNING,
                       "%s: all %s are equal, so the Spearman correlation is undefined and counted as -1",
                       aoei_pairs_name(d->pairs), what);
}

/* Evaluates a cross-encoder. */
static int evaluate_scores(aoe_dev_set *d, aoe_embedder *e, double *score, aoe_error *err) {
    aoei_pair_scores result;
    const int code = aoei_pair_scores_evaluate(e, d->pairs, &result, err);
    if (code)
        return code;
    warn_truncated(d, e, result.truncated, aoe_pairs_count(d->pairs), "pairs");
    d->pearson = result.pearson;
    if (isfinite(result.accuracy))
        *score = result.accuracy;
    else
        set_score(d, score, result.spearman, "scores");
    return 0;
}

int aoe_dev_set_evaluate(void *dev_set, aoe_embedder *e, double *score, aoe_error *err) {
    AOEI_CHECK(err, dev_set, e, score);
    aoe_dev_set *d = dev_set;
    aoe_sts_result result = {.struct_size = sizeof result};
    if (aoe_model_classes(aoe_embedder_model(e)))
        return evaluate_scores(d, e, score, err);
    const int code = aoe_eval_pairs(e, d->pairs, &result, err);
    if (code)
        return code;
    warn_truncated(d, e, result.truncated, 2 * result.pairs, "texts");
    d->pearson = result.pearson;
    set_score(d, score, result.spearman, "cosines");
    return 0;
}

double aoe_dev_set_pearson(const aoe_dev_set *d) {
    return d ? d->pearson : (double)NAN;
}

uint64_t aoe_dev_set_fingerprint(const aoe_dev_set *d) {
    return d ? aoe_pairs_fingerprint(d->pairs) : 0;
}

void aoe_dev_set_free(aoe_dev_set *d) {
    if (!d)
        return;
    aoe_pairs_free(d->pairs);
    aoei_free(d);
}
