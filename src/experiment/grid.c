/* SPDX-License-Identifier: MIT
 * Implements aoe_grid, which ranks configurations by their mean score over the seeds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "experiment/experiment.h"
#include "experiment/given.h"

/* Memory that an aoe_grid_result points to. */
typedef struct memory {
    double *score;             /* [n_configurations, n_seeds] score of each run; owned */
    char *label, *model;       /* label and model directory of the best run; both owned */
    aoe_grid_row *row;         /* [n_configurations] rows; owned */
    const aoe_grid_row **rows; /* [n_configurations] the rows in the order of the result; array owned */
} memory;

AOEI_DEFAULTS(aoe_grid_options) {
    *o = (aoe_grid_options){.struct_size = sizeof *o};
    aoe_experiment_options_defaults(&o->experiment);
}

void aoe_grid_result_free(aoe_grid_result *r) {
    aoe_grid_result full = {0};
    if (!r || aoei_struct_check(r, &aoei_layout_aoe_grid_result, __func__, NULL))
        return;
    aoei_struct_read(&full, r, &aoei_layout_aoe_grid_result);
    memory *m = full.memory;
    if (m) {
        aoei_free(m->score);
        aoei_free(m->label);
        aoei_free(m->model);
        aoei_free(m->row);
        aoei_free(m->rows);
    }
    aoei_free(m);
    full = (aoe_grid_result){0};
    aoei_struct_write(r, &full, &aoei_layout_aoe_grid_result);
}

/* Comparison function for qsort: sorts rows by descending mean. Rows without a score are last. Rows with equal means
 * are in the order of their configurations. */
static int compare_rows(const void *a, const void *b) {
    const aoe_grid_row *x = *(const aoe_grid_row *const *)a, *y = *(const aoe_grid_row *const *)b;
    const int x_missing = isnan(x->statistics.mean), y_missing = isnan(y->statistics.mean);
    if (x_missing != y_missing)
        return x_missing ? 1 : -1;
    if (x->statistics.mean < y->statistics.mean || x->statistics.mean > y->statistics.mean)
        return x->statistics.mean > y->statistics.mean ? -1 : 1;
    return (x->configuration > y->configuration) - (x->configuration < y->configuration);
}

/* Computes the statistics of a row from its n scores. Scores that are NaN are ignored. defined: [n] workspace. */
static void compute_statistics(aoe_grid_row *row, size_t n, double *defined) {
    size_t count = 0;
    for (size_t s = 0; s < n; s++)
        if (!isnan(row->score[s]))
            defined[count++] = row->score[s];
    aoe_t_test(defined, NULL, count, &row->statistics);
}

static void choose_best(aoe_grid_result *r, size_t n_seeds) {
    r->best = 0;
    while (r->best < r->n && r->rows[r->best]->statistics.n < n_seeds)
        r->best++;
    for (size_t s = 1; r->best < r->n && s < n_seeds; s++)
        if (r->rows[r->best]->score[s] > r->rows[r->best]->score[r->best_seed])
            r->best_seed = s;
}

static int fill_best_run(const aoe_experiment_options *o, const aoei_experiment *e, aoe_grid_result *r) {
    const aoei_trial *t = aoei_experiment_best(e);
    memory *m = r->memory;
    if (!t)
        return 0;
    m->label = aoei_strdup(t->label);
    m->model = aoei_trial_path(o, t, "model");
    r->best_run_label = m->label;
    r->best_run_model = m->model;
    r->best_run_configuration = (size_t)(t->configuration - o->configurations);
    r->best_run_seed = t->seed;
    r->best_run_score = aoei_trial_score(o, t, 0);
    return !m->label || !m->model;
}

static int fill_result(const aoe_experiment_options *o, const aoei_experiment *e, aoe_grid_result *r, aoe_error *err) {
    const size_t n = o->n_configurations;
    memory *m = r->memory = aoei_calloc(1, sizeof *m);
    double *defined = aoei_malloc_array(o->n_seeds, sizeof *defined);
    if (m) {
        m->row = aoei_calloc(n, sizeof *m->row);
        m->rows = aoei_malloc_array(n, sizeof *m->rows);
        m->score = aoei_malloc_array(n * o->n_seeds, sizeof *m->score);
        r->rows = m->rows;
    }
    int bad = !m || !m->score || !m->row || !m->rows || !defined;
    for (size_t c = 0; c < n && !bad; c++) {
        double *score = m->score + c * o->n_seeds;
        for (size_t s = 0; s < o->n_seeds; s++)
            score[s] = aoei_trial_score(o, aoei_experiment_trial(e, c, s), 0);
        m->row[c] = (aoe_grid_row){.struct_size = sizeof *m->row, .configuration = c, .score = score};
        m->rows[c] = &m->row[c];
        compute_statistics(&m->row[c], o->n_seeds, defined);
        r->n++;
    }
    if (!bad) {
        qsort(m->rows, r->n, sizeof *m->rows, compare_rows);
        choose_best(r, o->n_seeds);
        bad = fill_best_run(o, e, r);
    }
    aoei_free(defined);
    r->runs = aoei_experiment_runs(e);
    r->finished = aoei_experiment_finished(e);
    r->failed = aoei_experiment_failed(e);
    return bad ? aoei_fail_nomem(err, 0) : 0;
}

int aoe_grid(const aoe_grid_options *o, aoe_grid_result *result, aoe_error *err) {
    aoei_experiment *e = NULL;
    AOEI_CHECK(err, result);
    AOEI_RESULT(aoe_grid_result, result, err);
    AOEI_OPTIONS(aoe_grid_options, o, err);
    AOEI_CLEANUP(aoei_given_free) aoei_given given;
    int code = aoei_given_read(&given, &o->experiment, __func__, err);
    if (code)
        return code;
    const aoe_experiment_options *x = &given.o;
    if (x->n_files > 1)
        return aoei_fail(err, AOE_EARG, "a grid has one score: give at most one file in options.files");
    if (!x->n_files && !x->dev)
        return aoei_fail(err, AOE_EARG, "a grid needs a score: give options.dev or a file in options.files");
    code = aoei_experiment_create(&e, "grid", x, 0, err);
    if (code)
        return code;
    code = aoei_experiment_run(e, err);
    const int fill_code = aoei_experiment_is_open(e) ? fill_result(x, e, result, code ? NULL : err) : 0;
    aoei_experiment_free(e);
    return code ? code : fill_code;
}
