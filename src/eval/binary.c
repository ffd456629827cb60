/* SPDX-License-Identifier: MIT
 * Evaluates whether the similarity of a text pair predicts the binary label of the pair. All tables are read and
 * checked first. Then the texts of each table are embedded, and the table is evaluated.
 */
#include "eval/binary.h"

#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/path.h"
#include "table/pairs.h"
#include "stats/correlation.h"
#include "eval/similarities.h"

/* A table that is evaluated. */
typedef struct input {
    char *name;       /* name of the table in results; owned */
    aoe_pairs *pairs; /* labeled pairs of the table; owned */
    size_t skipped;   /* number of rows that are not evaluated: bad rows, and rows whose label is mapped to "drop" */
    size_t empty;     /* number of empty texts in the pairs */
} input;

AOEI_DEFAULTS(aoe_binary_options) {
    *o = (aoe_binary_options){.struct_size = sizeof *o, .positive_from = AOE_AUTO};
    aoe_table_options_defaults(&o->table);
}

static int check_labels(const aoe_pairs *p, aoe_error *err) {
    for (size_t i = 0; i < aoe_pairs_count(p); i++) {
        const double label = aoe_pairs_label(p, i);
        if (label != 0 && label != 1)
            return aoei_fail(
                err, AOE_EFORMAT,
                "%s:%zu: the label %g is neither 0 nor 1; set options.positive_from to the lowest label of a positive "
                "pair",
                aoei_pairs_name(p), aoe_pairs_line(p, i), label);
    }
    return 0;
}

static int load(input *in, const aoei_eval_model *e, const char *const *paths, size_t n, size_t i,
                const aoe_binary_options *o, aoe_error *err) {
    aoe_table_options table = o->table;
    table.struct_size = sizeof table;
    table.allow_empty = 1;
    in->name = aoei_path_label(paths, n, i);
    int rc = in->name ? aoe_pairs_load(&in->pairs, paths[i], &table, err) : aoei_fail_nomem(err, 1);
    if (!rc && aoei_is_auto(o->positive_from))
        rc = check_labels(in->pairs, err);
    if (!rc)
        rc = aoei_pairs_check(e, in->pairs, err);
    if (rc)
        return rc;
    in->skipped = aoe_pairs_skipped(in->pairs) + aoe_pairs_dropped(in->pairs);
    in->empty = aoei_pairs_empty(in->pairs);
    return 0;
}

/* Computes the metrics of one table. similarity: [number of pairs] similarity of each pair. label: [number of pairs]
 * workspace. positive: [number of pairs] workspace. */
static int compute_metrics(aoe_binary_result *r, const input *in, double positive_from, const double *similarity,
                           double *label, uint8_t *positive, aoe_error *err) {
    const size_t n = aoe_pairs_count(in->pairs);
    *r = (aoe_binary_result){.struct_size = sizeof(aoe_binary_result),
                             .name = in->name,
                             .pairs = n,
                             .skipped = in->skipped,
                             .empty = in->empty};
    for (size_t i = 0; i < n; i++) {
        label[i] = aoe_pairs_label(in->pairs, i);
        positive[i] = label[i] >= (aoei_is_auto(positive_from) ? 1 : positive_from);
    }
    const int rc = aoei_correlate(similarity, label, n, &r->spearman, &r->pearson, err);
    return rc ? rc : aoe_binary(&r->metrics, similarity, positive, n, err);
}

static int evaluate(const aoei_eval_model *e, const input *in, double positive_from, aoe_binary_result *r,
                    aoei_eval_progress *p, aoe_error *err) {
    const size_t n = aoe_pairs_count(in->pairs);
    double *similarity = aoei_malloc_array(n, 2 * sizeof *similarity);
    uint8_t *positive = aoei_malloc_array(n, sizeof *positive);
    size_t truncated = 0;
    int rc = similarity && positive ? 0 : aoei_fail_nomem(err, 2 * n * sizeof *similarity);
    if (!rc)
        rc = aoei_pairs_similarities(e, in->pairs, similarity, &truncated, p, err);
    if (!rc)
        rc = compute_metrics(r, in, positive_from, similarity, similarity + n, positive, err);
    r->truncated = truncated;
    aoei_free(similarity);
    aoei_free(positive);
    return rc;
}

int aoei_binary_run(const aoei_eval_model *e, const char *const *paths, size_t n_paths, const aoe_binary_options *o,
                    aoe_binary_fn report, void *user, aoe_error *err) {
    if (!n_paths)
        return aoei_fail(err, AOE_EARG, "no input paths; give at least one table of labeled pairs");
    if (aoei_check_option("options.positive_from", o->positive_from, err))
        return AOE_EARG;
    input *in = aoei_calloc(n_paths, sizeof *in);
    if (!in)
        return aoei_fail_nomem(err, n_paths * sizeof *in);
    aoei_eval_progress p = {.fn = o->progress, .user = o->user};
    int rc = 0;
    for (size_t i = 0; !rc && i < n_paths; i++) {
        rc = load(&in[i], e, paths, n_paths, i, o, err);
        p.total += in[i].pairs ? aoe_pairs_count(in[i].pairs) : 0;
    }
    for (size_t i = 0; !rc && i < n_paths; i++) {
        aoe_binary_result result;
        rc = evaluate(e, &in[i], o->positive_from, &result, &p, err);
        if (!rc && report)
            report(user, &result);
    }
    for (size_t i = 0; i < n_paths; i++) {
        aoei_free(in[i].name);
        aoe_pairs_free(in[i].pairs);
    }
    aoei_free(in);
    return rc;
}

int aoe_eval_binary(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_binary_options *o,
                    aoe_binary_fn report, void *user, aoe_error *err) {
    AOEI_CHECK(err, e, paths, report);
    AOEI_OPTIONS(aoe_binary_options, o, err);
    aoei_embedder_adapter s;
    aoei_eval_model model = aoei_eval_model_open(&s, e);
    int rc = aoei_eval_model_set_similarity(&model, o->similarity, err);
    if (!rc)
        rc = aoei_binary_run(&model, paths, n_paths, o, report, user, err);
    aoei_eval_model_close(&s);
    return rc;
}
