/* SPDX-License-Identifier: MIT
 * Implements aoe_compare, which tests the differences between configurations. It computes a paired t test over the
 * seeds, corrects the p-values of all tests together, and computes bootstrap intervals that resample pairs and seeds.
 */
#include <math.h>
#include <string.h>

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "experiment/experiment.h"
#include "experiment/given.h"

/* State of aoe_compare. */
typedef struct comparison {
    const aoe_compare_options *o; /* options; borrowed */
    const aoei_experiment *e;     /* experiment with finished trials; borrowed */
    double *x, *y; /* [n_seeds] scores of the first and of the second configuration of a comparison, in the order of
                      `seed_index`; owned */
    size_t *seed_index; /* [n_seeds] indices of the seeds for which both configurations of a comparison have a score;
                           owned */
} comparison;

/* Memory of a result. */
typedef struct memory {
    double *scores;               /* [rows, n_seeds] scores of the rows; owned */
    aoe_compare_row *row;         /* [rows] rows; owned */
    const aoe_compare_row **rows; /* [rows] pointers to the rows; array owned */
} memory;

AOEI_DEFAULTS(aoe_compare_options) {
    *o = (aoe_compare_options){.struct_size = sizeof *o};
    aoe_experiment_options_defaults(&o->experiment);
    o->experiment.keep = AOE_KEEP_NONE;
    aoe_bootstrap_options_defaults(&o->bootstrap);
}

void aoe_compare_result_free(aoe_compare_result *r) {
    aoe_compare_result full = {0};
    if (!r || aoei_struct_check(r, &aoei_layout_aoe_compare_result, __func__, NULL))
        return;
    aoei_struct_read(&full, r, &aoei_layout_aoe_compare_result);
    memory *m = full.memory;
    if (m) {
        aoei_free(m->scores);
        aoei_free(m->row);
        aoei_free(m->rows);
    }
    aoei_free(m);
    full = (aoe_compare_result){0};
    aoei_struct_write(r, &full, &aoei_layout_aoe_compare_result);
}

const char *aoe_verdict_name(aoe_verdict v) {
    static const char *const names[] = {"-", "better", "worse", "inconclusive"};
    return (size_t)v < sizeof names / sizeof *names ? names[v] : NULL;
}

/* ---- statistics */

static double score_of(const comparison *c, size_t configuration, size_t s, size_t file) {
    return aoei_trial_score(&c->o->experiment, aoei_experiment_trial(c->e, configuration, s), file);
}

/* Finds the seeds for which both configurations, a and b, have a score. Stores the indices of these seeds in
 * c->seed_index, the scores of a in c->x, and the scores of b in c->y. If a equals b, stores 0 in c->y. Returns the
 * number of seeds found. */
static size_t paired_scores(const comparison *c, size_t a, size_t b, size_t file) {
    size_t n = 0;
    for (size_t s = 0; s < c->o->experiment.n_seeds; s++) {
        c->x[n] = score_of(c, a, s, file);
        c->y[n] = a == b ? 0 : score_of(c, b, s, file);
        c->seed_index[n] = s;
        n += !isnan(c->x[n]) && !isnan(c->y[n]);
    }
    return n;
}

/* Reads the cosines of a configuration on an evaluation file for the first n seeds of c->seed_index. *cosines is set to
 * an array [n, *pairs], and *gold to the gold scores of the file, [*pairs]. The caller frees both arrays with
 * aoei_free, even if this function fails. */
static int load_cosines(const comparison *c, size_t configuration, size_t file, size_t n, double **cosines,
                        double **gold, size_t *pairs, aoe_error *err) {
    int code = 0;
    *cosines = *gold = NULL;
    *pairs = 0;
    for (size_t i = 0; i < n && !code; i++) {
        const aoei_trial *t = aoei_experiment_trial(c->e, configuration, c->seed_index[i]);
        double *cosine, *again;
        size_t count;
        code = aoei_trial_read_pairs(&c->o->experiment, t, file, &cosine, &again, &count, err);
        if (!code && i && count != *pairs)
            code = aoei_fail(
                err, AOE_EFORMAT,
                "%s has scores of %zu pairs, but other runs have scores of %zu; remove the directory of this run to "
                "repeat it",
                t->label, count, *pairs);
        if (!code) {
            double *longer = aoei_realloc_array(*cosines, (i + 1) * count, sizeof *longer);
            *pairs = count;
            if (longer) {
                memcpy(longer + i * count, cosine, count * sizeof *cosine);
                *cosines = longer;
            } else {
                code = aoei_fail_nomem(err, (i + 1) * count * sizeof *longer);
            }
        }
        aoei_free(cosine);
        aoei_free(*gold);
        *gold = again;
    }
    return code;
}

/* Computes a bootstrap interval from the first n seeds of c->seed_index. If a and b are different, this is the interval
 * of the mean score of configuration a minus the mean score of configuration b. If a equals b, it is the interval of
 * the mean score of a. */
static int resample(const comparison *c, size_t a, size_t b, size_t file, size_t n, aoe_interval *interval,
                    aoe_error *err) {
    const aoe_configuration *configuration = c->o->experiment.configurations;
    double *x = NULL, *y = NULL, *gold = NULL, *again = NULL;
    size_t pairs = 0, pairs_b = 0;
    *interval = (aoe_interval){.low = NAN, .high = NAN};
    if (!n)
        return 0;
    int code = load_cosines(c, a, file, n, &x, &gold, &pairs, err);
    if (!code && a != b)
        code = load_cosines(c, b, file, n, &y, &again, &pairs_b, err);
    if (!code && a != b && pairs_b != pairs)
        code = aoei_fail(err, AOE_EFORMAT,
                         "%s was evaluated on %zu pairs, but %s on %zu pairs; use another options.output",
                         configuration[a].name, pairs, configuration[b].name, pairs_b);
    if (!code)
        code = aoe_bootstrap_spearman(gold, pairs, x, y, n, &c->o->bootstrap, interval, err);
    aoei_free(x);
    aoei_free(y);
    aoei_free(gold);
    aoei_free(again);
    return code;
}

/* Returns the verdict for a row. A configuration is called better or worse only if the t test and the bootstrap
 * interval agree.
 */
static aoe_verdict verdict_of(const aoe_compare_row *r) {
    if (!(r->p_corrected < 0.05))
        return AOE_VERDICT_INCONCLUSIVE;
    return r->shift.low > 0 ? AOE_VERDICT_BETTER : r->shift.high < 0 ? AOE_VERDICT_WORSE : AOE_VERDICT_INCONCLUSIVE;
}

/* Computes the statistics of the row for r->configuration and r->file, except the corrected p-value and the verdict. */
static int compute_row(const comparison *c, aoe_compare_row *r, aoe_error *err) {
    const size_t a = r->configuration, b = c->o->against;
    const int untrained = c->o->experiment.configurations[a].untrained;
    size_t n = paired_scores(c, a, a, r->file);
    aoe_t_test(c->x, NULL, untrained && n ? 1 : n, &r->score);
    int code = resample(c, a, a, r->file, untrained && n ? 1 : n, &r->mean, err);
    aoe_t_test(c->x, c->y, 0, &r->difference);
    r->shift = (aoe_interval){.low = NAN, .high = NAN};
    if (code || a == b)
        return code;
    n = paired_scores(c, a, b, r->file);
    aoe_t_test(c->x, c->y, n, &r->difference);
    return resample(c, a, b, r->file, n, &r->shift, err);
}

/* Corrects the p-values of all rows together, and sets the verdicts. */
static int judge_rows(const comparison *c, aoe_compare_result *r, aoe_error *err) {
    const memory *m = r->memory;
    double *p = aoei_malloc_array(r->n, sizeof *p);
    int code = p ? 0 : aoei_fail_nomem(err, r->n * sizeof *p);
    for (size_t i = 0; i < r->n && !code; i++)
        p[i] = r->rows[i]->difference.p;
    if (!code && c->o->correction == AOE_CORRECTION_HOLM)
        code = aoe_holm(p, r->n, p, err);
    for (size_t i = 0; i < r->n && !code; i++) {
        aoe_compare_row *row = &m->row[i];
        row->p_corrected = p[i];
        row->verdict = row->configuration == c->o->against ? AOE_VERDICT_NONE : verdict_of(row);
    }
    aoei_free(p);
    return code;
}

/* ---- result */

/* Adds one row for each test file and configuration, and compares the rows with the reference. */
static int fill_rows(const comparison *c, aoe_compare_result *r, aoe_error *err) {
    const aoe_experiment_options *x = &c->o->experiment;
    const memory *m = r->memory;
    double *scores = m->scores;
    int code = 0;
    for (size_t f = 0; f < x->n_files && !code; f++) {
        for (size_t a = 0; a < x->n_configurations && !code; a++) {
            aoe_compare_row *row = &m->row[r->n];
            m->rows[r->n] = row;
            *row = (aoe_compare_row){.struct_size = sizeof *row,
                                     .file = f,
                                     .configuration = a,
                                     .scores = scores,
                                     .n_scores = aoei_experiment_seeds(c->e, a),
                                     .p_corrected = NAN};
            for (size_t s = 0; s < row->n_scores; s++)
                scores[s] = score_of(c, a, s, f);
            scores += x->n_seeds;
            code = compute_row(c, row, err);
            r->n += !code;
        }
    }
    return code ? code : judge_rows(c, r, err);
}

static int fill_result(const aoe_compare_options *o, const aoei_experiment *e, aoe_compare_result *r, aoe_error *err) {
    const size_t n_seeds = o->experiment.n_seeds, rows = o->experiment.n_files * o->experiment.n_configurations;
    comparison c = {.o = o, .e = e};
    c.x = aoei_malloc_array(n_seeds, sizeof *c.x);
    c.y = aoei_malloc_array(n_seeds, sizeof *c.y);
    c.seed_index = aoei_malloc_array(n_seeds, sizeof *c.seed_index);
    memory *m = r->memory = aoei_calloc(1, sizeof *m);
    if (m) {
        m->scores = aoei_malloc_array(rows * n_seeds, sizeof *m->scores);
        m->row = aoei_calloc(rows, sizeof *m->row);
        m->rows = aoei_malloc_array(rows, sizeof *m->rows);
        r->rows = m->rows;
    }
    r->runs = aoei_experiment_runs(e);
    r->finished = aoei_experiment_finished(e);
    r->failed = aoei_experiment_failed(e);
    const int code = c.x && c.y && c.seed_index && m && m->scores && m->row && m->rows ? fill_rows(&c, r, err)
                                                                                       : aoei_fail_nomem(err, 0);
    aoei_free(c.x);
    aoei_free(c.y);
    aoei_free(c.seed_index);
    return code;
}

int aoe_compare(const aoe_compare_options *o, aoe_compare_result *result, aoe_error *err) {
    aoei_experiment *e = NULL;
    AOEI_CHECK(err, result);
    AOEI_RESULT(aoe_compare_result, result, err);
    AOEI_OPTIONS(aoe_compare_options, o, err);
    AOEI_CLEANUP(aoei_given_free) aoei_given given;
    int code = aoei_given_read(&given, &o->experiment, __func__, err);
    if (code)
        return code;
    o_copy_.experiment = given.o;
    const aoe_experiment_options *x = &o->experiment;
    if (x->n_configurations < 2)
        return aoei_fail(err, AOE_EARG, "a comparison needs at least two configurations in options.configurations");
    if (!x->n_files)
        return aoei_fail(err, AOE_EARG, "a comparison needs an evaluation file in options.files");
    if (o->against >= x->n_configurations)
        return aoei_fail(err, AOE_EARG, "options.against is %zu, but there are %zu configurations", o->against,
                         x->n_configurations);
    if (o->correction != AOE_CORRECTION_HOLM && o->correction != AOE_CORRECTION_NONE)
        return aoei_fail(err, AOE_EARG, "options.correction is %d; use AOE_CORRECTION_HOLM or AOE_CORRECTION_NONE",
                         (int)o->correction);
    code = aoei_experiment_create(&e, "compare", x, 1, err);
    if (code)
        return code;
    code = aoei_experiment_run(e, err);
    const int fill_code = aoei_experiment_is_open(e) ? fill_result(o, e, result, code ? NULL : err) : 0;
    aoei_experiment_free(e);
    return code ? code : fill_code;
}
