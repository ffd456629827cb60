/* SPDX-License-Identifier: MIT
 * Computes whether differences between runs are significant. The methods are Student's t test over runs, the correction
 * of Holm (1979) for several tests, and percentile bootstrap intervals (Efron 1979), which draw runs and text pairs. A
 * bootstrap resample is represented by the number of times that each pair is drawn. The values are sorted once. The
 * average ranks of each resample are then computed in one pass over the sorted values. Invariant: the draws of
 * replicate r depend only on the seed, r, the number of pairs and the number of runs. They do not depend on the scores.
 */
#include "stats/significance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe.h"
#include "aoe_eval.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/random.h"
#include "base/sort.h"

/* ------------------------------------------------------------ Student's t test */

/* Returns the continued fraction of the incomplete beta function (DLMF 8.17.22), computed with Lentz's method. It
 * converges quickly if x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
    enum { MAX_TERMS = 100000 };
    const double tiny = 1e-300;
    double c = 1.0, d = 1.0 - (a + b) * x / (a + 1.0);
    d = 1.0 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < MAX_TERMS; m++) {
        const double k = m;
        const double coefficient[2] = {k * (b - k) * x / ((a + 2.0 * k - 1.0) * (a + 2.0 * k)),
                                       -(a + k) * (a + b + k) * x / ((a + 2.0 * k) * (a + 2.0 * k + 1.0))};
        double step = 1.0;
        for (int i = 0; i < 2; i++) {
            d = 1.0 + coefficient[i] * d;
            d = 1.0 / (fabs(d) < tiny ? tiny : d);
            c = 1.0 + coefficient[i] / c;
            c = fabs(c) < tiny ? tiny : c;
            step = c * d;
            h *= step;
        }
        if (fabs(step - 1.0) < 1e-16)
            break;
    }
    return h;
}

static double log_gamma(double x) {
    int sign;
    return lgamma_r(x, &sign); /* lgamma is not thread-safe: it writes a global variable */
}

double aoei_incomplete_beta(double a, double b, double x, double y) {
    if (isnan(x) || isnan(y))
        return NAN;
    if (x <= 0.0)
        return 0.0;
    if (y <= 0.0)
        return 1.0;
    if (x > (a + 1.0) / (a + b + 2.0))
        return 1.0 - aoei_incomplete_beta(b, a, y, x);
    const double log_front = log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * log(x) + b * log(y);
    return exp(log_front) * beta_fraction(a, b, x) / a;
}

double aoe_student_t_p(double t, double df) {
    if (isnan(t) || !(df > 0.0))
        return NAN;
    if (isinf(t))
        return 0.0;
    const double square = t * t, sum = df + square;
    if (isinf(sum))
        return 0.0;
    return aoei_incomplete_beta(0.5 * df, 0.5, df / sum, square / sum);
}

void aoe_t_test(const double *x, const double *y, size_t n, aoe_t_test_result *result) {
    if (!x || !result)
        return;
    *result = (aoe_t_test_result){.n = n, .mean = NAN, .sd = NAN, .t = NAN, .df = NAN, .p = NAN};
    if (!n)
        return;
    double sum = 0.0, squares = 0.0, residual = 0.0;
    int equal = 1;
    const double first = x[0] - (y ? y[0] : 0.0);
    for (size_t i = 0; i < n; i++) {
        const double d = x[i] - (y ? y[i] : 0.0);
        sum += d - first; /* subtracting the first difference makes the mean of equal differences exact */
        equal = equal && !(d < first) && !(d > first);
    }
    const double shift = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = x[i] - (y ? y[i] : 0.0) - first - shift;
        squares += d * d;
        residual += d;
    }
    result->mean = first + shift;
    if (n < 2 || isnan(result->mean))
        return;
    const double df = (double)(n - 1);
    squares -= residual * residual / (double)n; /* corrects for the rounding of the mean */
    result->sd = equal ? 0.0 : sqrt(squares > 0.0 ? squares / df : 0.0);
    result->df = df;
    if (result->mean < 0.0 || result->mean > 0.0)
        result->t = result->mean / (result->sd / sqrt((double)n));
    else
        result->t = 0.0;
    result->p = aoe_student_t_p(result->t, df);
}

/* ------------------------------------------------------------ several tests */

int aoe_holm(const double *p, size_t n, double *corrected, aoe_error *err) {
    AOEI_CHECK(err, p, corrected);
    size_t m = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < 0.0 || p[i] > 1.0)
            return aoei_fail(err, AOE_EARG, "p[%zu] is %g; a p-value is at least 0 and at most 1", i, p[i]);
        m += isnan(p[i]) ? 0 : 1;
    }
    if (!n)
        return 0;
    double *key = aoei_malloc_array(n, sizeof *key);
    size_t *order = aoei_malloc_array(n, sizeof *order), *scratch = aoei_malloc_array(n, sizeof *scratch);
    const int code = key && order && scratch ? 0 : aoei_fail_nomem(err, n * sizeof *key);
    if (!code) {
        double highest = 0.0;
        for (size_t i = 0; i < n; i++)
            key[i] = isnan(p[i]) ? 2.0 : p[i]; /* sorted after all p-values */
        aoei_argsort(key, n, order, scratch);
        for (size_t i = 0; i < n; i++) {
            const size_t k = order[i];
            if (i < m)
                highest = fmax(highest, fmin(1.0, (double)(m - i) * key[k]));
            corrected[k] = i < m ? highest : NAN;
        }
    }
    aoei_free(key);
    aoei_free(order);
    aoei_free(scratch);
    return code;
}

/* ------------------------------------------------------------------- bootstrap */

/* One variable of a correlation (gold scores, or the scores of one run), prepared for resampling. */
typedef struct column {
    const double *value; /* [n] values; borrowed */
    size_t *order;       /* [n] indices that sort value in ascending order; owned */
    double *rank; /* [n] ranks in the resample minus the mean rank; undefined for values that are not drawn; owned */
} column;

/* State of aoe_bootstrap_spearman. */
typedef struct bootstrap {
    const aoe_bootstrap_options *o; /* options; borrowed */
    size_t pairs, runs;             /* number of text pairs; number of runs */
    column gold;                    /* gold scores; a copy of columns[0] that borrows its pointers */
    column *x, *y;   /* [runs] scores x and y of each run, pointers into columns; y is NULL if the caller passes no y */
    column *columns; /* [n_columns] gold, x and y; owned */
    size_t n_columns;     /* 1 + runs, or 1 + 2 * runs if y is set */
    size_t *scratch;      /* [pairs] workspace for sorting; owned */
    uint32_t *pair_count; /* [pairs] number of times that each pair is drawn; owned */
    uint32_t *run_count;  /* [runs] number of times that each run is drawn; owned */
    double *statistic;    /* [replicates] values of the statistic, without NaN; owned */
} bootstrap;

AOEI_DEFAULTS(aoe_bootstrap_options) {
    *o = (aoe_bootstrap_options){.struct_size = sizeof *o, .replicates = 2000, .confidence = 0.95, .seed = 42};
}

static int column_create(column *c, const double *value, size_t n, size_t *scratch) {
    c->value = value;
    c->order = aoei_malloc_array(n, sizeof *c->order);
    c->rank = aoei_malloc_array(n, sizeof *c->rank);
    if (!c->order || !c->rank)
        return AOE_ENOMEM;
    aoei_argsort(value, n, c->order, scratch);
    return 0;
}

/* Computes the average ranks of the resample minus their mean, (n + 1) / 2. count: [n] number of times that each value
 * is drawn. */
static void rank_resample(column *c, const uint32_t *count, size_t n) {
    const double middle = 0.5 * ((double)n + 1.0);
    double before = 0.0;
    for (size_t first = 0, end; first < n; first = end) {
        const double value = c->value[c->order[first]];
        double total = 0.0;
        for (end = first; end < n && c->value[c->order[end]] == value; end++)
            total += (double)count[c->order[end]];
        for (size_t i = first; i < end; i++)
            c->rank[c->order[i]] = before + 0.5 * (total + 1.0) - middle;
        before += total;
    }
}

/* Returns Spearman's correlation of the resample, computed from the ranks of both columns; NaN if a column is constant
 * in the resample. */
static double correlate(const column *a, const column *b, const uint32_t *count, size_t n) {
    double aa = 0.0, bb = 0.0, ab = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double c = (double)count[i];
        aa += c * a->rank[i] * a->rank[i];
        bb += c * b->rank[i] * b->rank[i];
        ab += c * a->rank[i] * b->rank[i];
    }
    return aa > 0.0 && bb > 0.0 ? ab / (sqrt(aa) * sqrt(bb)) : NAN;
}

static void draw(aoei_rng *r, uint32_t *count, size_t n) {
    memset(count, 0, n * sizeof *count);
    for (size_t i = 0; i < n; i++)
        count[aoei_rng_below(r, (uint32_t)n)]++;
}

static double replicate(const bootstrap *b, uint32_t number) {
    aoei_rng r;
    aoei_rng_init(&r, b->o->seed, AOEI_STREAM_BOOTSTRAP, number);
    draw(&r, b->pair_count, b->pairs);
    draw(&r, b->run_count, b->runs);
    column gold = b->gold;
    rank_resample(&gold, b->pair_count, b->pairs);
    double sum = 0.0;
    for (size_t i = 0; i < b->runs; i++) {
        if (!b->run_count[i])
            continue;
        rank_resample(&b->x[i], b->pair_count, b->pairs);
        double value = correlate(&gold, &b->x[i], b->pair_count, b->pairs);
        if (b->y) {
            rank_resample(&b->y[i], b->pair_count, b->pairs);
            value -= correlate(&gold, &b->y[i], b->pair_count, b->pairs);
        }
        sum += (double)b->run_count[i] * value;
    }
    return sum / (double)b->runs;
}

/* Returns the quantile q of sorted[n] with linear interpolation; NaN if n is 0. */
static double quantile(const double *sorted, size_t n, double q) {
    if (!n)
        return NAN;
    const double at = q * (double)(n - 1);
    const size_t below = (size_t)at;
    if (below + 1 >= n)
        return sorted[n - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

static void bootstrap_free(bootstrap *b) {
    for (size_t i = 0; b->columns && i < b->n_columns; i++) {
        aoei_free(b->columns[i].order);
        aoei_free(b->columns[i].rank);
    }
    aoei_free(b->columns);
    aoei_free(b->scratch);
    aoei_free(b->pair_count);
    aoei_free(b->run_count);
    aoei_free(b->statistic);
}

static int bootstrap_create(bootstrap *b, const double *gold, const double *x, const double *y, aoe_error *err) {
    b->n_columns = 1 + b->runs * (y ? 2 : 1);
    b->columns = aoei_calloc(b->n_columns, sizeof *b->columns);
    b->scratch = aoei_malloc_array(b->pairs, sizeof *b->scratch);
    b->pair_count = aoei_malloc_array(b->pairs, sizeof *b->pair_count);
    b->run_count = aoei_malloc_array(b->runs, sizeof *b->run_count);
    b->statistic = aoei_malloc_array(b->o->replicates, sizeof *b->statistic);
    int rc = b->columns && b->scratch && b->pair_count && b->run_count && b->statistic ? 0 : AOE_ENOMEM;
    for (size_t i = 0; !rc && i < b->n_columns; i++) {
        const double *value = i == 0 ? gold : i <= b->runs ? x + (i - 1) * b->pairs : y + (i - 1 - b->runs) * b->pairs;
        rc = column_create(&b->columns[i], value, b->pairs, b->scratch);
    }
    if (rc) {
        aoei_fail_nomem(err, b->pairs * sizeof *gold);
        return rc;
    }
    b->gold = b->columns[0];
    b->x = b->columns + 1;
    b->y = y ? b->columns + 1 + b->runs : NULL;
    return 0;
}

static int has_nan(const double *value, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (isnan(value[i]))
            return 1;
    return 0;
}

static int check_bootstrap(const bootstrap *b, const double *gold, const double *x, const double *y, aoe_error *err) {
    size_t values;
    if (b->pairs < 2 || b->pairs > UINT32_MAX || !b->runs || b->runs > UINT32_MAX / 2 ||
        aoei_mul_size(b->pairs, b->runs, &values))
        return aoei_fail(err, AOE_EARG,
                         "%zu runs over %zu pairs cannot be resampled; give at least 2 pairs and at least 1 run",
                         b->runs, b->pairs);
    if (!b->o->replicates || b->o->replicates > UINT32_MAX || !(b->o->confidence > 0.0 && b->o->confidence < 1.0))
        return aoei_fail(
            err, AOE_EARG,
            "options.replicates is %zu and options.confidence is %g; use at least 1 replicate and a confidence "
            "between 0 and 1",
            b->o->replicates, b->o->confidence);
    if (has_nan(gold, b->pairs) || has_nan(x, values) || (y && has_nan(y, values)))
        return aoei_fail(err, AOE_ENUMERIC, "a score is NaN, which cannot be resampled; remove its run");
    return 0;
}

int aoe_bootstrap_spearman(const double *gold, size_t n_pairs, const double *x, const double *y, size_t n_runs,
                           const aoe_bootstrap_options *o, aoe_interval *interval, aoe_error *err) {
    AOEI_CHECK(err, gold, x, interval);
    AOEI_OPTIONS(aoe_bootstrap_options, o, err);
    bootstrap b = {.o = o, .pairs = n_pairs, .runs = n_runs};
    *interval = (aoe_interval){.low = NAN, .high = NAN};
    int rc = check_bootstrap(&b, gold, x, y, err);
    if (!rc)
        rc = bootstrap_create(&b, gold, x, y, err);
    if (!rc) {
        size_t n = 0;
        for (size_t i = 0; i < b.o->replicates; i++) {
            const double value = replicate(&b, (uint32_t)i);
            if (isnan(value))
                interval->undefined++;
            else
                b.statistic[n++] = value;
        }
        qsort(b.statistic, n, sizeof *b.statistic, aoei_compare_doubles);
        interval->low = quantile(b.statistic, n, 0.5 * (1.0 - b.o->confidence));
        interval->high = quantile(b.statistic, n, 0.5 * (1.0 + b.o->confidence));
    }
    bootstrap_free(&b);
    return rc;
}
