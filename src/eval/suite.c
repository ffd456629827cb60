/* SPDX-License-Identifier: MIT
 * Evaluates the STS test sets of SentEval. For each available set, the results of all three SentEval settings (all,
 * mean, wmean) are reported, and at the end the average over the sets. suite_sets.c lists the subsets of each SemEval
 * year. If one of these subsets is missing, the evaluation fails. Other subsets are counted and ignored.
 */
#include "eval/suite.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aoe_data.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "stats/correlation.h"
#include "eval/similarities.h"
#include "eval/senteval.h"
#include "eval/suite_sets.h"

/* One of the seven test sets. */
typedef struct set {
    const aoei_suite_set *info;        /* name, layout and subsets of the set; static */
    char *path;                        /* path of the set's folder or file; NULL if it was not found; owned */
    aoe_pairs *part[AOEI_SUITE_PARTS]; /* pairs of each part; owned */
    size_t skipped[AOEI_SUITE_PARTS];  /* number of skipped lines of each part */
    size_t n;                          /* number of parts: the number of subsets, or 1 if the set is a single file */
    size_t pairs;                      /* number of pairs in all parts */
    size_t ignored; /* number of ignored files: subsets that suite_sets.c does not list, and gold files without an input
                       file */
} set;

/* State of aoei_suite_run. */
typedef struct run {
    const aoei_eval_model *e;  /* model that is evaluated; borrowed */
    set set[AOEI_SUITE_SETS];  /* test sets */
    double *similarity, *gold; /* [pairs of the largest set] similarity and gold score of each pair of the current set;
                                  owned */
    aoei_eval_progress progress; /* progress, counted in pairs */
    aoe_suite_fn report;         /* callback that receives each result; may be NULL */
    void *user;                  /* first argument of report */
    aoe_suite_result average;    /* sum of the results of all sets; divided by the number of sets at the end */
    char name[64];               /* name of the subset that is being reported */
} run;

const char *aoe_setting_name(aoe_setting s) {
    static const char *const names[] = {"all", "mean", "wmean"};
    return s >= 0 && s < AOE_SETTING_COUNT ? names[s] : NULL;
}

/* ----------------------------------------------------------------- reading */

/* Moves pairs from `folder` to the set s: the pairs of each subset in s->info->part. Fails if `folder` does not contain
 * one of these subsets. */
static int move_parts(set *s, aoei_senteval *folder, aoe_error *err) {
    s->ignored = folder->n + folder->without_input;
    for (size_t i = 0; i < s->info->n; i++) {
        size_t at = 0;
        while (at < folder->n && strcmp(folder->subset[at].name, s->info->part[i].name) != 0)
            at++;
        if (at == folder->n)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: STS.input.%s.txt, one of the %zu subsets of %s, is missing; download it, or "
                             "remove the folder",
                             s->path, s->info->part[i].name, s->info->n, s->info->name);
        s->part[s->n] = folder->subset[at].pairs;
        s->skipped[s->n++] = folder->subset[at].unscored + folder->subset[at].bad;
        folder->subset[at].pairs = NULL;
        s->ignored--;
    }
    return 0;
}

static int load(set *s, const char *const *dirs, size_t n_dirs, int skip_bad_rows, aoe_error *err) {
    aoei_senteval folder = {0};
    int rc = aoei_suite_find(&s->path, s->info, dirs, n_dirs, err);
    if (rc || !s->path)
        return rc;
    if (s->info->layout == AOEI_SUITE_FOLDER) {
        rc = aoei_senteval_load(&folder, s->path, skip_bad_rows, err);
        if (!rc)
            rc = move_parts(s, &folder, err);
        aoei_senteval_free(&folder);
    } else {
        rc = aoei_suite_read_file(&s->part[0], s->info->layout, s->path, skip_bad_rows, &s->skipped[0], err);
        s->n = !rc;
    }
    for (size_t i = 0; !rc && i < s->n; i++)
        s->pairs += aoe_pairs_count(s->part[i]);
    return rc;
}

static int load_all(run *r, const char *const *dirs, size_t n_dirs, int skip_bad_rows, aoe_error *err) {
    size_t max_pairs = 0, found = 0;
    int rc = n_dirs ? 0 : aoei_fail(err, AOE_EARG, "no input folders; give at least one folder with SentEval's data");
    for (size_t i = 0; !rc && i < n_dirs; i++) {
        DIR *d = opendir(dirs[i]);
        if (!d)
            rc = aoei_fail_errno(err, errno, "%s", dirs[i]);
        else
            closedir(d);
    }
    for (size_t i = 0; !rc && i < AOEI_SUITE_SETS; i++) {
        set *s = &r->set[i];
        s->info = &aoei_suite_sets[i];
        rc = load(s, dirs, n_dirs, skip_bad_rows, err);
        for (size_t k = 0; !rc && k < s->n; k++)
            rc = aoei_pairs_check(r->e, s->part[k], err);
        r->progress.total += s->pairs;
        found += s->path != NULL;
        max_pairs = s->pairs > max_pairs ? s->pairs : max_pairs;
    }
    if (!rc && !found)
        rc = aoei_fail(err, AOE_ENOENT,
                       "%s: the folder contains none of the sets; give a folder of SentEval's data, which contains "
                       "STS12-en-test to STS16-en-test, STSBenchmark and SICK",
                       dirs[0]);
    if (rc)
        return rc;
    r->similarity = aoei_malloc_array(max_pairs, sizeof *r->similarity);
    r->gold = aoei_malloc_array(max_pairs, sizeof *r->gold);
    return r->similarity && r->gold ? 0 : aoei_fail_nomem(err, max_pairs * sizeof *r->gold);
}

static void run_free(run *r) {
    for (size_t i = 0; i < AOEI_SUITE_SETS; i++) {
        aoei_free(r->set[i].path);
        for (size_t k = 0; k < AOEI_SUITE_PARTS; k++)
            aoe_pairs_free(r->set[i].part[k]);
    }
    aoei_free(r->similarity);
    aoei_free(r->gold);
}

/* ----------------------------------------------------------------- scoring */

static void report_row(const run *r, const aoe_suite_result *result) {
    if (r->report)
        r->report(r->user, result);
}

/* Evaluates part k of a set. first: index in r->similarity and r->gold of the first pair of the part. */
static int score_part(run *r, const set *s, size_t k, size_t first, aoe_suite_result *result, aoe_error *err) {
    const aoe_pairs *p = s->part[k];
    const size_t n = aoe_pairs_count(p);
    double *similarity = r->similarity + first, *gold = r->gold + first;
    snprintf(r->name, sizeof r->name, "%s/%s", s->info->name, s->info->n ? s->info->part[k].name : "");
    *result = (aoe_suite_result){.struct_size = sizeof(aoe_suite_result),
                                 .row = AOE_SUITE_SUBSET,
                                 .name = r->name,
                                 .parts = 1,
                                 .pairs = n,
                                 .published_pairs = s->info->part[k].pairs,
                                 .skipped = s->skipped[k],
                                 .empty = aoei_pairs_empty(p)};
    for (size_t i = 0; i < n; i++)
        gold[i] = aoe_pairs_label(p, i);
    int rc = aoei_pairs_similarities(r->e, p, similarity, &result->truncated, &r->progress, err);
    if (!rc)
        rc = aoei_correlate(similarity, gold, n, &result->spearman[0], &result->pearson[0], err);
    for (int setting = 1; !rc && setting < AOE_SETTING_COUNT; setting++) {
        result->spearman[setting] = result->spearman[0];
        result->pearson[setting] = result->pearson[0];
    }
    if (!rc && s->info->n)
        report_row(r, result);
    return rc;
}

/* Adds the results of a part to the sums in *total. AOE_SETTING_MEAN and AOE_SETTING_WMEAN are computed from these
 * sums. */
static void add_part(aoe_suite_result *total, const aoe_suite_result *part) {
    const double n = (double)part->pairs;
    total->parts++;
    total->skipped += part->skipped;
    total->empty += part->empty;
    total->truncated += part->truncated;
    total->spearman[AOE_SETTING_MEAN] += part->spearman[0];
    total->pearson[AOE_SETTING_MEAN] += part->pearson[0];
    total->spearman[AOE_SETTING_WMEAN] += n * part->spearman[0];
    total->pearson[AOE_SETTING_WMEAN] += n * part->pearson[0];
}

static int score_set(run *r, const set *s, aoe_error *err) {
    aoe_suite_result total = {.struct_size = sizeof(aoe_suite_result),
                              .row = AOE_SUITE_SET,
                              .name = s->info->name,
                              .path = s->path,
                              .published_pairs = s->info->pairs,
                              .pairs = s->pairs,
                              .skipped = s->ignored};
    int rc = 0;
    for (size_t k = 0, first = 0; !rc && k < s->n; first += aoe_pairs_count(s->part[k++])) {
        aoe_suite_result part;
        rc = score_part(r, s, k, first, &part, err);
        if (!rc)
            add_part(&total, &part);
    }
    if (!rc && s->n)
        rc = aoei_correlate(r->similarity, r->gold, s->pairs, &total.spearman[0], &total.pearson[0], err);
    if (rc)
        return rc;
    for (int k = 0; s->n && k < AOE_SETTING_COUNT; k++) {
        const double weight = k == AOE_SETTING_MEAN ? (double)s->n : k == AOE_SETTING_WMEAN ? (double)s->pairs : 1;
        total.spearman[k] /= weight;
        total.pearson[k] /= weight;
        r->average.spearman[k] += total.spearman[k];
        r->average.pearson[k] += total.pearson[k];
    }
    for (int k = 0; !s->n && k < AOE_SETTING_COUNT; k++)
        total.spearman[k] = total.pearson[k] = NAN;
    r->average.parts += s->n > 0;
    r->average.pairs += s->pairs;
    r->average.skipped += total.skipped;
    r->average.empty += total.empty;
    r->average.truncated += total.truncated;
    report_row(r, &total);
    return 0;
}

int aoei_suite_run(const aoei_eval_model *e, const char *const *dirs, size_t n_dirs, const aoe_suite_options *o,
                   aoe_suite_fn report, void *user, aoe_error *err) {
    run r = {.e = e, .progress = {.fn = o->progress, .user = o->user}, .report = report, .user = user};
    r.average =
        (aoe_suite_result){.struct_size = sizeof(aoe_suite_result), .row = AOE_SUITE_AVERAGE, .name = "average"};
    int rc = load_all(&r, dirs, n_dirs, o->skip_bad_rows, err);
    for (size_t i = 0; !rc && i < AOEI_SUITE_SETS; i++)
        rc = score_set(&r, &r.set[i], err);
    for (int k = 0; !rc && k < AOE_SETTING_COUNT; k++) {
        r.average.spearman[k] /= (double)r.average.parts;
        r.average.pearson[k] /= (double)r.average.parts;
    }
    if (!rc)
        report_row(&r, &r.average);
    run_free(&r);
    return rc;
}

AOEI_DEFAULTS(aoe_suite_options) {
    *o = (aoe_suite_options){.struct_size = sizeof *o};
}

int aoe_eval_suite(aoe_embedder *e, const char *const *dirs, size_t n_dirs, const aoe_suite_options *o,
                   aoe_suite_fn report, void *user, aoe_error *err) {
    AOEI_CHECK(err, e, dirs, report);
    AOEI_OPTIONS(aoe_suite_options, o, err);
    aoei_embedder_adapter s;
    aoei_eval_model model = aoei_eval_model_open(&s, e);
    int rc = aoei_eval_model_set_similarity(&model, o->similarity, err);
    if (!rc)
        rc = aoei_suite_run(&model, dirs, n_dirs, o, report, user, err);
    aoei_eval_model_close(&s);
    return rc;
}
