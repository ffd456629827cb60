/* SPDX-License-Identifier: MIT
 * Evaluates semantic textual similarity: the correlation of the similarities of pairs with gold scores. All inputs are
 * read and checked first. The result of this step is a plan, which has one entry for each row of the report. A row for
 * a table or a subset has its own range in the arrays of similarities and gold scores. The range of a total includes
 * the ranges of several rows. Invariant: rows are in the order of the report, and a total comes after the rows that it
 * includes.
 */
#include "eval/sts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/path.h"
#include "eval/similarities.h"
#include "eval/senteval.h"
#include "stats/correlation.h"
#include "table/pairs.h"
#include "table/table.h"

/* A row of the report. */
typedef struct row {
    aoe_sts_row kind;  /* kind of row: table, subset, folder or total */
    char *name;        /* name of the row in the report; owned */
    aoe_pairs *pairs;  /* pairs of the row; NULL for a total; owned */
    size_t begin, end; /* the pairs of the row have the indices [begin, end) in plan.similarity and plan.gold */
    size_t skipped;    /* number of rows in the input file that are not evaluated */
    size_t empty;      /* number of empty texts in the pairs */
    size_t truncated;  /* number of texts truncated to the maximum length; 0 for totals */
} row;

/* The rows of the report, and the similarities and gold scores from which the results are computed. */
typedef struct plan {
    row *row;                  /* [n] rows; owned */
    size_t n, capacity;        /* used and allocated elements of `row` */
    size_t total;              /* number of pairs in all tables and subsets */
    double *similarity, *gold; /* [total] similarity of each pair, and gold score of each pair; owned */
} plan;

/* Appends a row. Its name is "NAME", or "NAME/AFTER_SLASH" if after_slash is not NULL. Takes ownership of pairs, even
 * if it fails. */
static int add_row(plan *l, aoe_sts_row kind, const char *name, const char *after_slash, aoe_pairs *pairs,
                   aoe_error *err) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s%s%s", name, after_slash ? "/" : "", after_slash ? after_slash : "");
    if (b.failed || aoei_grow((void **)&l->row, &l->capacity, l->n, sizeof *l->row)) {
        aoei_buffer_free(&b);
        aoe_pairs_free(pairs);
        aoei_fail_nomem(err, sizeof *l->row);
        return AOE_ENOMEM;
    }
    size_t n = pairs ? aoe_pairs_count(pairs) : 0;
    l->row[l->n++] = (row){.kind = kind, .name = b.data, .pairs = pairs, .begin = l->total, .end = l->total + n};
    l->total += n;
    return 0;
}

/* Appends a total that includes row `first` and all rows after it. */
static int add_total(plan *l, aoe_sts_row kind, const char *name, size_t first, aoe_error *err) {
    int rc = add_row(l, kind, name, NULL, NULL, err);
    if (rc)
        return rc;
    row *total = &l->row[l->n - 1];
    total->begin = l->row[first].begin;
    for (size_t i = first; i + 1 < l->n; i++) {
        total->empty += l->row[i].pairs ? l->row[i].empty : 0;
        /* a total over all inputs ignores subsets here, because the count of a folder already includes its subsets */
        total->skipped += l->row[i].kind == AOE_STS_SUBSET && kind == AOE_STS_ALL ? 0 : l->row[i].skipped;
    }
    return 0;
}

static int add_table(plan *l, const char *path, const char *name, const aoe_table_options *o, aoe_error *err) {
    aoe_table_options table = o ? *o : (aoe_table_options){0};
    table.struct_size = sizeof table;
    table.allow_empty = 1;
    aoe_pairs *pairs;
    int rc = aoe_pairs_load(&pairs, path, &table, err);
    if (!rc)
        rc = add_row(l, AOE_STS_FILE, name, NULL, pairs, err);
    if (rc)
        return rc;
    l->row[l->n - 1].skipped = aoe_pairs_skipped(pairs) + aoe_pairs_dropped(pairs);
    l->row[l->n - 1].empty = aoei_pairs_empty(pairs);
    return 0;
}

static int add_folder(plan *l, const char *path, const char *name, const aoe_table_options *o, aoe_error *err) {
    aoei_senteval s;
    size_t first = l->n;
    aoei_table_warn_options(o, path, AOEI_FOLDER_FORMATS);
    int rc = aoei_senteval_load(&s, path, o && o->skip_bad_rows, err);
    for (size_t i = 0; !rc && i < s.n; i++) {
        aoei_senteval_subset *subset = &s.subset[i];
        aoe_pairs *pairs = subset->pairs;
        subset->pairs = NULL; /* add_row takes ownership of the pairs */
        rc = add_row(l, AOE_STS_SUBSET, name, subset->name, pairs, err);
        if (rc)
            break;
        l->row[l->n - 1].skipped = subset->unscored + subset->bad;
        l->row[l->n - 1].empty = aoei_pairs_empty(pairs);
    }
    if (!rc)
        rc = add_total(l, AOE_STS_FOLDER, name, first, err);
    if (!rc)
        l->row[l->n - 1].skipped += s.without_input;
    aoei_senteval_free(&s);
    return rc;
}

static int add_path(plan *l, const char *const *paths, size_t n, size_t i, const aoe_table_options *o, aoe_error *err) {
    char *name = aoei_path_label(paths, n, i);
    if (!name)
        return aoei_fail_nomem(err, strlen(paths[i]));
    const int rc = aoei_is_dir(paths[i]) ? add_folder(l, paths[i], name, o, err) : add_table(l, paths[i], name, o, err);
    aoei_free(name);
    return rc;
}

static void plan_free(plan *l) {
    for (size_t i = 0; i < l->n; i++) {
        aoei_free(l->row[i].name);
        aoe_pairs_free(l->row[i].pairs);
    }
    aoei_free(l->row);
    aoei_free(l->similarity);
    aoei_free(l->gold);
}

static int create_arrays(plan *l, aoe_error *err) {
    l->similarity = aoei_malloc_array(l->total, sizeof *l->similarity);
    l->gold = aoei_malloc_array(l->total, sizeof *l->gold);
    if (l->similarity && l->gold)
        return 0;
    aoei_fail_nomem(err, l->total * sizeof *l->gold);
    return AOE_ENOMEM;
}

static int read_inputs(plan *l, const char *const *paths, size_t n_paths, const aoe_table_options *o, aoe_error *err) {
    int rc = n_paths ? 0 : aoei_fail(err, AOE_EARG, "no input paths; give at least one table or SentEval folder");
    for (size_t i = 0; !rc && i < n_paths; i++)
        rc = add_path(l, paths, n_paths, i, o, err);
    if (!rc && n_paths > 1)
        rc = add_total(l, AOE_STS_ALL, "all", 0, err);
    return rc;
}

/* Reads and checks all inputs, and allocates the arrays of the plan. */
static int make_plan(plan *l, const aoei_eval_model *e, const char *const *paths, size_t n_paths,
                     const aoe_table_options *o, aoe_error *err) {
    int rc = read_inputs(l, paths, n_paths, o, err);
    for (size_t i = 0; !rc && i < l->n; i++)
        if (l->row[i].pairs)
            rc = aoei_pairs_check(e, l->row[i].pairs, err);
    return rc ? rc : create_arrays(l, err);
}

/* Returns the number of truncated texts of a row. For a total, this is the sum over the rows that it includes. */
static size_t truncated_of(const plan *l, const row *r) {
    size_t n = r->truncated;
    for (size_t i = 0; i < l->n; i++)
        if (l->row + i != r && l->row[i].begin >= r->begin && l->row[i].end <= r->end)
            n += l->row[i].truncated; /* 0 for totals */
    return n;
}

static int score(const plan *l, const row *r, aoe_sts_result *result, aoe_error *err) {
    *result = (aoe_sts_result){.struct_size = sizeof(aoe_sts_result),
                               .row = r->kind,
                               .name = r->name,
                               .pairs = r->end - r->begin,
                               .skipped = r->skipped,
                               .empty = r->empty,
                               .truncated = truncated_of(l, r)};
    return aoei_correlate(l->similarity + r->begin, l->gold + r->begin, result->pairs, &result->spearman,
                          &result->pearson, err);
}

/* Computes the similarities of a row and copies its gold scores to the plan. Then frees the pairs of the row. */
static int evaluate(plan *l, row *r, const aoei_eval_model *e, aoei_eval_progress *p, aoe_error *err) {
    for (size_t k = r->begin; k < r->end; k++)
        l->gold[k] = aoe_pairs_label(r->pairs, k - r->begin);
    int rc = aoei_pairs_similarities(e, r->pairs, l->similarity + r->begin, &r->truncated, p, err);
    aoe_pairs_free(r->pairs);
    r->pairs = NULL;
    return rc;
}

int aoei_sts_run(const aoei_eval_model *e, const char *const *paths, size_t n_paths, const aoe_sts_options *o,
                 aoe_sts_fn report, void *user, aoe_error *err) {
    plan l = {0};
    aoe_sts_result result;
    int rc = make_plan(&l, e, paths, n_paths, o ? &o->table : NULL, err);
    aoei_eval_progress p = {.fn = o ? o->progress : NULL, .user = o ? o->user : NULL, .total = l.total};
    for (size_t i = 0; !rc && i < l.n; i++) {
        row *r = &l.row[i];
        if (r->pairs)
            rc = evaluate(&l, r, e, &p, err);
        if (!rc)
            rc = score(&l, r, &result, err);
        result.cosine = l.similarity + r->begin;
        result.gold = l.gold + r->begin;
        if (!rc && report)
            report(user, &result);
    }
    plan_free(&l);
    return rc;
}

int aoei_sts_pairs(const aoei_eval_model *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *err) {
    static char unnamed[] = "";
    row r = {.kind = AOE_STS_FILE, .name = unnamed, .end = aoe_pairs_count(p)};
    r.skipped = aoe_pairs_skipped(p) + aoe_pairs_dropped(p);
    r.empty = aoei_pairs_empty(p);
    plan l = {.total = r.end};
    int rc = create_arrays(&l, err);
    if (!rc)
        rc = aoei_pairs_check(e, p, err);
    for (size_t i = 0; !rc && i < r.end; i++)
        l.gold[i] = aoe_pairs_label(p, i);
    if (!rc)
        rc = aoei_pairs_similarities(e, p, l.similarity, &r.truncated, NULL, err);
    if (!rc)
        rc = score(&l, &r, result, err);
    if (rc)
        *result = (aoe_sts_result){.struct_size = sizeof(aoe_sts_result)};
    plan_free(&l);
    return rc;
}

/* Returns 1 if the gold scores of a row are not all equal. */
static int has_different_scores(const plan *l, const row *r) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < l->n; i++)
        if (l->row[i].pairs && l->row[i].begin >= r->begin && l->row[i].end <= r->end)
            aoei_pairs_label_range(l->row[i].pairs, &low, &high);
    return low < high;
}

int aoe_sts_check(const char *const *paths, size_t n_paths, const aoe_table_options *o, aoe_error *err) {
    AOEI_CHECK(err, paths);
    AOEI_OPTIONS(aoe_table_options, o, err);
    plan l = {0};
    int rc = read_inputs(&l, paths, n_paths, o, err);
    for (size_t i = 0; !rc && i < l.n; i++)
        if ((l.row[i].kind == AOE_STS_FILE || l.row[i].kind == AOE_STS_FOLDER) && !has_different_scores(&l, &l.row[i]))
            rc = aoei_fail(err, AOE_EFORMAT,
                           "%s: all scores are equal, so models cannot be compared; give pairs with different scores",
                           l.row[i].name);
    plan_free(&l);
    return rc;
}

AOEI_DEFAULTS(aoe_sts_options) {
    *o = (aoe_sts_options){.struct_size = sizeof *o};
    aoe_table_options_defaults(&o->table);
}

int aoe_eval_sts(aoe_embedder *e, const char *const *paths, size_t n_paths, const aoe_sts_options *o, aoe_sts_fn report,
                 void *user, aoe_error *err) {
    AOEI_CHECK(err, e, paths, report);
    AOEI_OPTIONS(aoe_sts_options, o, err);
    aoei_embedder_adapter s;
    aoei_eval_model model = aoei_eval_model_open(&s, e);
    int rc = aoei_eval_model_set_similarity(&model, o->similarity, err);
    if (!rc)
        rc = aoei_sts_run(&model, paths, n_paths, o, report, user, err);
    aoei_eval_model_close(&s);
    return rc;
}

int aoe_eval_pairs(aoe_embedder *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *err) {
    AOEI_CHECK(err, e, p, result);
    AOEI_RESULT(aoe_sts_result, result, err);
    aoei_embedder_adapter s;
    aoei_eval_model model = aoei_eval_model_open(&s, e);
    int rc = aoei_sts_pairs(&model, p, result, err);
    aoei_eval_model_close(&s);
    return rc;
}
