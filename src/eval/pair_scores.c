/* SPDX-License-Identifier: MIT
 * Computes the scores of labeled pairs and compares them with the labels.
 */
#include "eval/pair_scores.h"

#include <math.h>

#include "base/alloc.h"
#include "base/error.h"
#include "stats/correlation.h"
#include "table/pairs.h"

/* The arrays of an evaluation of n pairs with C outputs; all owned. */
typedef struct arrays {
    aoe_text *first, *second; /* [n] texts; their bytes are borrowed */
    float *scores;            /* [n, C] */
    aoe_text_info *info;      /* [n] */
    double *score, *label;    /* [n] first output and label of each pair */
} arrays;

static int create_arrays(arrays *a, size_t n, size_t classes, aoe_error *err) {
    a->first = aoei_malloc_array(n + 1, sizeof *a->first);
    a->second = aoei_malloc_array(n + 1, sizeof *a->second);
    a->scores = aoei_malloc_array(n + 1, classes * sizeof *a->scores);
    a->info = aoei_malloc_array(n + 1, sizeof *a->info);
    a->score = aoei_malloc_array(n + 1, sizeof *a->score);
    a->label = aoei_malloc_array(n + 1, sizeof *a->label);
    return a->first && a->second && a->scores && a->info && a->score && a->label
               ? 0
               : aoei_fail_nomem(err, n * classes * sizeof *a->scores);
}

static void free_arrays(arrays *a) {
    aoei_free(a->first);
    aoei_free(a->second);
    aoei_free(a->scores);
    aoei_free(a->info);
    aoei_free(a->score);
    aoei_free(a->label);
}

/* Sets *accuracy. */
static int classify(double *accuracy, const arrays *a, const aoe_pairs *p, size_t classes, aoe_error *err) {
    const size_t n = aoe_pairs_count(p);
    size_t correct = 0;
    for (size_t i = 0; i < n; i++) {
        const float *x = a->scores + i * classes;
        size_t best = 0;
        if (!(a->label[i] >= 0 && a->label[i] < (double)classes && !(a->label[i] > floor(a->label[i]))))
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: label %g is not a class: the model has %zu outputs, so labels must be integers from 0 to "
                "%zu; map label names with options.label_map",
                aoei_pairs_name(p), aoe_pairs_line(p, i), a->label[i], classes, classes - 1);
        for (size_t k = 1; k < classes; k++)
            best = x[k] > x[best] ? k : best;
        correct += best == (size_t)a->label[i];
    }
    *accuracy = n ? (double)correct / (double)n : (double)NAN;
    return 0;
}

int aoei_pair_scores_evaluate(aoe_embedder *e, const aoe_pairs *p, aoei_pair_scores *result, aoe_error *err) {
    const size_t n = aoe_pairs_count(p), classes = aoe_model_classes(aoe_embedder_model(e));
    arrays a = {0};
    aoe_error inner;
    *result = (aoei_pair_scores){.spearman = (double)NAN, .pearson = (double)NAN, .accuracy = (double)NAN};
    int rc = create_arrays(&a, n, classes, err);
    for (size_t i = 0; i < n && !rc; i++) {
        a.first[i] = aoe_pairs_text1(p, i);
        a.second[i] = aoe_pairs_text2(p, i);
        a.label[i] = aoe_pairs_label(p, i);
    }
    if (!rc && (rc = aoe_score_pairs(e, a.first, a.second, n, a.scores, a.info, &inner))) {
        const size_t failed = aoe_embed_failed_text(e);
        if (failed < n)
            aoei_fail(err, rc, "%s:%zu: %s", aoei_pairs_name(p), aoe_pairs_line(p, failed), inner.message);
        else
            aoei_fail(err, rc, "%s", inner.message);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        a.score[i] = (double)a.scores[i * classes];
        result->truncated += a.info[i].truncated;
    }
    if (!rc)
        rc = classes > 1 ? classify(&result->accuracy, &a, p, classes, err)
                         : aoei_correlate(a.score, a.label, n, &result->spearman, &result->pearson, err);
    free_arrays(&a);
    return rc;
}
