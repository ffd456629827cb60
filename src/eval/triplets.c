/* SPDX-License-Identifier: MIT
 * Evaluates triplets: computes the fraction of triplets in which the similarity of query and positive is higher
 * than the similarity of query and negative. A row with several negatives contains one triplet for each of them. A row
 * is evaluated as pairs: (query, positive), followed by (query, negative) for each negative. Every text is embedded
 * once.
 */
#include "eval/triplets.h"

#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/path.h"
#include "table/columns.h"
#include "table/examples.h"
#include "eval/similarities.h"

/* A table that is evaluated. */
typedef struct input {
    char *name;             /* name of the table in results; owned */
    aoei_examples examples; /* rows of the table; owned */
} input;

static aoe_text pair_text(const void *source, size_t pair, size_t side) {
    const aoei_examples *x = source;
    const size_t pairs = x->roles - 1; /* of a row */
    return x->text[x->first[pair / pairs * x->roles + (side ? 1 + pair % pairs : 0)]];
}

static size_t pair_line(const void *source, size_t pair) {
    const aoei_examples *x = source;
    return x->line[pair / (x->roles - 1)];
}

static const char *side_name(const void *source, size_t pair, size_t side) {
    const aoei_examples *x = source;
    return !side ? "query" : pair % (x->roles - 1) ? "negative" : "positive";
}

static aoei_text_pairs pairs_of(const aoei_examples *x) {
    return (aoei_text_pairs){(x->roles - 1) * x->n, x->name, x, pair_text, pair_line, side_name, x->roles - 1};
}

static int load(input *in, const aoei_eval_model *e, const char *const *paths, size_t n, size_t i,
                const aoe_triplet_options *o, aoe_error *err) {
    aoe_table_options table = o->table;
    table.allow_empty = 1;
    aoei_table *t;
    in->name = aoei_path_label(paths, n, i);
    if (!in->name)
        return aoei_fail_nomem(err, 1);
    int rc = aoei_table_open(&t, paths[i], &table, err);
    if (rc)
        return rc;
    rc = aoei_columns_check_used(t, AOE_EXAMPLES_TRIPLETS, table.columns, err);
    rc = rc ? rc : aoei_examples_read(&in->examples, t, AOE_EXAMPLES_TRIPLETS, 0, &table, err);
    aoei_table_close(t);
    if (rc)
        return rc;
    const aoei_text_pairs pairs = pairs_of(&in->examples);
    return aoei_text_pairs_check(e, &pairs, err);
}

/* similarity: [n, roles - 1] similarities of each query with its positive and then with its negatives */
static void compute_metrics(aoe_triplet_result *r, const input *in, const double *similarity) {
    const aoei_examples *x = &in->examples;
    *r = (aoe_triplet_result){.struct_size = sizeof(aoe_triplet_result),
                              .name = in->name,
                              .triplets = x->n * (x->roles - 2),
                              .skipped = x->skipped};
    for (size_t i = 0; i < x->n_texts; i++)
        r->empty += (size_t)aoei_text_is_empty(x->text[i]);
    size_t correct = 0, ties = 0;
    for (size_t i = 0; i < x->n; i++) {
        const double *row = similarity + i * (x->roles - 1);
        for (size_t k = 1; k + 1 < x->roles; k++) {
            correct += row[0] > row[k];
            ties += row[0] == row[k];
            r->negative_score += row[k];
        }
        r->positive_score += row[0];
    }
    r->accuracy = (double)correct / (double)r->triplets;
    r->ties = (double)ties / (double)r->triplets;
    r->positive_score /= (double)x->n;
    r->negative_score /= (double)r->triplets;
}

static int evaluate(const aoei_eval_model *e, const input *in, aoe_triplet_result *r, aoei_eval_progress *p,
                    aoe_error *err) {
    const aoei_text_pairs pairs = pairs_of(&in->examples);
    double *similarity = aoei_malloc_array(pairs.n, sizeof *similarity);
    if (!similarity)
        return aoei_fail_nomem(err, pairs.n * sizeof *similarity);
    size_t truncated;
    const int rc = aoei_similarities(e, &pairs, similarity, &truncated, p, err);
    if (!rc)
        compute_metrics(r, in, similarity);
    r->truncated = truncated;
    aoei_free(similarity);
    return rc;
}

int aoei_triplets_run(const aoei_eval_model *e, const char *const *paths, size_t n_paths, const aoe_triplet_options *o,
                      aoe_triplet_fn report, void *user, aoe_error *err) {
    if (!n_paths)
        return aoei_fail(err, AOE_EARG, "no input paths; give at least one table of triplets");
    input *in = aoei_calloc(n_paths, sizeof *in);
    if (!in)
        return aoei_fail_nomem(err, n_paths * sizeof *in);
    aoei_eval_progress p = {.fn = o->progress, .user = o->user};
    int rc = 0;
    for (size_t i = 0; !rc && i < n_paths; i++) {
        rc = load(&in[i], e, paths, n_paths, i, o, err);
        p.total += pairs_of(&in[i].examples).n;
    }
    for (size_t i = 0; !rc && i < n_paths; i++) {
        aoe_triplet_result result;
        rc = evaluate(e, &in[i], &result, &p, err);
        if (!rc && report)
            report(user, &result);
    }
    for (size_t i = 0; i < n_paths; i++) {
        aoei_free(in[i].name);
        aoei_examples_free(&in[i].examples);
    }
    aoei_free(in);
    return rc;
}

AOEI_DEFAULTS(aoe_triplet_options) {
    *o = (aoe_triplet_options){.struct_size = sizeof *o};
    aoe_table_options_defaults(&o->table);
}

int aoe_eval_triplets(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_triplet_options *o,
                      aoe_triplet_fn report, void *user, aoe_error *err) {
    AOEI_CHECK(err, e, paths, report);
    AOEI_OPTIONS(aoe_triplet_options, o, err);
    aoei_embedder_adapter s;
    aoei_eval_model model = aoei_eval_model_open(&s, e);
    int rc = aoei_eval_model_set_similarity(&model, o->similarity, err);
    if (!rc)
        rc = aoei_triplets_run(&model, paths, n_paths, o, report, user, err);
    aoei_eval_model_close(&s);
    return rc;
}
