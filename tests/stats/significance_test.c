/* SPDX-License-Identifier: MIT
 * Tests the t test, the incomplete beta function, the correction of Holm and the bootstrap. The script
 * significance_figures.py in this folder computed the expected values, except those of Holm's correction with few
 * tests, with scipy. The tolerance is 1e-9. Other tests cover cases in which a result is undefined: a single run, equal
 * values, and bootstrap samples whose values are all equal.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "aoe_eval.h"
#include "stats/significance.h"

static void assert_near(double got, double want) {
    if (!(fabs(got - want) <= 1e-9 * fabs(want) + 1e-300))
        fail_msg("found %.17g, expected %.17g", got, want);
}

static const double student[][3] = {
    /* t, degrees of freedom, two-sided p */
    {0, 1, 1},
    {1e-08, 1, 0.99999999363380221},
    {-0.29999999999999999, 1, 0.81445284184451539},
    {1, 1, 0.49999999999999956},
    {2.7764449999999998, 1, 0.22008490243134032},
    {-12.699999999999999, 1, 0.050024327689344152},
    {60, 1, 0.010609347265246538},
    {0, 2, 1},
    {1e-08, 2, 0.99999999292893227},
    {-0.29999999999999999, 2, 0.79248566084017757},
    {1, 2, 0.42264973081037427},
    {2.7764449999999998, 2, 0.1089343073649922},
    {-12.699999999999999, 2, 0.0061429415995957774},
    {60, 2, 0.00027766209059467876},
    {0, 3, 1},
    {1e-08, 3, 0.99999999264894801},
    {-0.29999999999999999, 3, 0.78376329203991901},
    {1, 3, 0.39100221895577053},
    {2.7764449999999998, 3, 0.069195414059404076},
    {-12.699999999999999, 3, 0.0010530526821985989},
    {60, 3, 1.0199593673319746e-05},
    {0, 4, 1},
    {1e-08, 4, 0.99999999250000005},
    {-0.29999999999999999, 4, 0.77912142827745967},
    {1, 4, 0.37390096630005898},
    {2.7764449999999998, 4, 0.05000000538209156},
    {-12.699999999999999, 4, 0.0002214090715509658},
    {60, 4, 4.6210687276351352e-07},
    {0, 9, 1},
    {1e-08, 9, 0.9999999922393018},
    {-0.29999999999999999, 9, 0.7709907037415249},
    {1, 9, 0.34343639613791355},
    {2.7764449999999998, 9, 0.02152549662740488},
    {-12.699999999999999, 9, 4.743838045197261e-07},
    {60, 9, 5.0011904716728965e-13},
    {0, 29, 1},
    {1e-08, 29, 0.99999999208962842},
    {-0.29999999999999999, 29, 0.7663170933289678},
    {1, 29, 0.32558198801619365},
    {2.7764449999999998, 29, 0.0095270017937245603},
    {-12.699999999999999, 29, 2.2576454751201587e-13},
    {60, 29, 5.7080433594020979e-32},
    {0, 2.5, 1},
    {1e-08, 2.5, 0.99999999276382545},
    {-0.29999999999999999, 2.5, 0.78734237149519726},
    {1, 2.5, 0.40406102727827353},
    {2.7764449999999998, 2.5, 0.085015580888310613},
    {-12.699999999999999, 2.5, 0.0024657947951627528},
    {60, 2.5, 5.1557611503468509e-05},
    {0, 1000, 1},
    {1e-08, 1000, 0.99999999202314882},
    {-0.29999999999999999, 1000, 0.76423950416724418},
    {1, 1000, 0.31755241808467261},
    {2.7764449999999998, 1000, 0.0055983308552084582},
    {-12.699999999999999, 1000, 2.277760030496635e-34},
    {60, 1000, 0},
};

static const double beta[][4] = {
    /* a, b, x, I_x(a, b) */
    {0.5, 0.5, 9.9999999999999995e-07, 0.00063661987847092474},
    {0.5, 0.5, 0.10000000000000001, 0.2048327646991335},
    {0.5, 0.5, 0.5, 0.50000000000000011},
    {0.5, 0.5, 0.56000000000000005, 0.53828945877414658},
    {0.5, 0.5, 0.90000000000000002, 0.79516723530086619},
    {0.5, 0.5, 0.999, 0.97986495836662246},
    {2, 0.5, 9.9999999999999995e-07, 3.7500012500007027e-13},
    {2, 0.5, 0.10000000000000001, 0.0038825370469605111},
    {2, 0.5, 0.5, 0.11611652351681559},
    {2, 0.5, 0.56000000000000005, 0.15094405366901764},
    {2, 0.5, 0.90000000000000002, 0.54146973927558473},
    {2, 0.5, 0.999, 0.95258164648577515},
    {0.5, 14.5, 9.9999999999999995e-07, 0.0042598462952009057},
    {0.5, 14.5, 0.10000000000000001, 0.9169253344855709},
    {0.5, 14.5, 0.5, 0.99999130052455165},
    {0.5, 14.5, 0.56000000000000005, 0.99999870417816716},
    {0.5, 14.5, 0.90000000000000002, 0.99999999999999956},
    {0.5, 14.5, 0.999, 0.99999999999999989},
    {3, 5, 9.9999999999999995e-07, 3.4999895000125992e-17},
    {3, 5, 0.10000000000000001, 0.025691499999999999},
    {3, 5, 0.5, 0.77343750000000022},
    {3, 5, 0.56000000000000005, 0.85975524311040008},
    {3, 5, 0.90000000000000002, 0.99982349999999998},
    {3, 5, 0.999, 0.99999999999997902},
    {50, 0.5, 9.9999999999999995e-07, 7.9589276401539323e-302},
    {50, 0.5, 0.10000000000000001, 8.3803325586883138e-52},
    {50, 0.5, 0.5, 9.9016889845941379e-17},
    {50, 0.5, 0.56000000000000005, 3.0427515405267876e-14},
    {50, 0.5, 0.90000000000000002, 0.0012041498325598133},
    {50, 0.5, 0.999, 0.75236901996537675},
    {500, 400, 9.9999999999999995e-07, 0},
    {500, 400, 0.10000000000000001, 2.3305169517883759e-252},
    {500, 400, 0.5, 0.00042141729028093779},
    {500, 400, 0.56000000000000005, 0.60486218724297369},
    {500, 400, 0.90000000000000002, 0.99999999999999989},
    {500, 400, 0.999, 0.99999999999999989},
};

/* Paired samples, and the expected results of their t test. */
typedef struct paired_case {
    size_t n;              /* number of pairs */
    double mean, sd, t, p; /* mean, sd: mean and standard deviation of the differences x - y. t, p: t statistic and p
                              value. */
    double x[7], y[7];     /* [n] samples */
} paired_case;

static const paired_case paired[] = {
    {5,
     0.84000000000000052,
     0.49295030175465332,
     3.8103173776626944,
     0.018934978709362428,
     {81.2, 80.9, 81.7, 81.1, 80.6},
     {80.1, 80.3, 80.2, 80.9, 79.8}},
    {2,
     -9.9999999999988987e-05,
     0.0018384776310849781,
     -0.076923076923070349,
     0.95112549605560937,
     {0.6522, 0.6519},
     {0.6510, 0.6533}},
    {4,
     2.5,
     1.2909944487358056,
     3.872983346207417,
     0.030466291662170977,
     {1e9 + 1, 1e9 + 2, 1e9 + 4, 1e9 + 3},
     {1e9, 1e9, 1e9, 1e9}},
    {7,
     0.5714285714285714,
     4.5864707876224706,
     0.32963425737213164,
     0.75288013598315751,
     {1, 2, 3, 4, 5, 6, 7},
     {7.5, 5, 4, 4, 2, 1, 0.5}},
};

/* A family of tests with two pairs of equal p-values. */
static const double family[][2] = {
    /* p, corrected p */
    {0.0030999999999999999, 0.024799999999999999},
    {0.047, 0.188},
    {0.012, 0.072000000000000008},
    {0.59999999999999998, 0.62},
    {0.012, 0.072000000000000008},
    {1.2999999999999999e-05, 0.00012999999999999999},
    {0.00040000000000000002, 0.0036000000000000003},
    {0.31, 0.62},
    {0.0099000000000000008, 0.0693},
    {0.047, 0.188},
};

/* An expected confidence interval. */
typedef struct expected_interval {
    double low, high; /* lower and upper bound */
    size_t undefined; /* number of bootstrap samples for which the correlation is undefined */
} expected_interval;

static const expected_interval intervals[] = {
    {0.41480912738199638, 0.79513836778627311, 0},
    {-0.29585682274268188, 0.21771872153267391, 0},
    {-0.13370969628131738, 0.15160068512882569, 0},
    {-1, 1, 17},
};

static void test_student(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof student / sizeof *student; i++)
        assert_near(aoe_student_t_p(student[i][0], student[i][1]), student[i][2]);
    assert_true(aoe_student_t_p(INFINITY, 3) == 0.0);
    assert_true(aoe_student_t_p(1e200, 3) == 0.0);
    assert_true(isnan(aoe_student_t_p(NAN, 3)));
    assert_true(isnan(aoe_student_t_p(1, 0)));
}

static void test_beta(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof beta / sizeof *beta; i++)
        assert_near(aoei_incomplete_beta(beta[i][0], beta[i][1], beta[i][2], 1.0 - beta[i][2]), beta[i][3]);
    assert_true(aoei_incomplete_beta(2, 3, 0, 1) == 0.0);
    assert_true(aoei_incomplete_beta(2, 3, 1, 0) == 1.0);
    assert_true(isnan(aoei_incomplete_beta(2, 3, NAN, NAN)));
}

static void test_paired(void **state) {
    aoe_t_test_result r;
    (void)state;
    for (size_t i = 0; i < sizeof paired / sizeof *paired; i++) {
        const paired_case *c = &paired[i];
        double d[7];
        aoe_t_test(c->x, c->y, c->n, &r);
        assert_int_equal(r.n, c->n);
        assert_near(r.mean, c->mean);
        assert_near(r.sd, c->sd);
        assert_near(r.t, c->t);
        assert_near(r.df, (double)(c->n - 1));
        assert_near(r.p, c->p);
        for (size_t k = 0; k < c->n; k++)
            d[k] = c->x[k] - c->y[k];
        aoe_t_test(d, NULL, c->n, &r);
        assert_near(r.mean, c->mean);
        assert_near(r.p, c->p);
    }
}

static void test_degenerate(void **state) {
    const double x[] = {0.1, 0.2, 0.3, 0.4}, equal[] = {0.7, 0.7, 0.7, 0.7}, nan[] = {0.1, NAN};
    aoe_t_test_result r;
    (void)state;
    aoe_t_test(x, NULL, 0, &r);
    assert_true(isnan(r.mean) && isnan(r.sd) && isnan(r.p));
    aoe_t_test(x, NULL, 1, &r);
    assert_true(r.mean == 0.1 && isnan(r.sd) && isnan(r.t) && isnan(r.df) && isnan(r.p));
    aoe_t_test(x, x, 4, &r);
    assert_true(r.mean == 0.0 && r.sd == 0.0 && r.t == 0.0 && r.p == 1.0);
    aoe_t_test(equal, NULL, 4, &r);
    assert_true(r.mean == 0.7 && r.sd == 0.0 && isinf(r.t) && r.t > 0 && r.p == 0.0);
    aoe_t_test(x, nan, 2, &r);
    assert_true(isnan(r.mean) && isnan(r.sd) && isnan(r.p));
}

static void check_holm(size_t n, const double *p, const double *want) {
    double got[10];
    assert_int_equal(aoe_holm(p, n, got, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        if (isnan(want[i]))
            assert_true(isnan(got[i]));
        else
            assert_near(got[i], want[i]);
    }
}

static void test_holm(void **state) {
    enum { N = sizeof family / sizeof *family };
    double p[N], want[N];
    (void)state;
    for (size_t i = 0; i < N; i++) {
        p[i] = family[i][0];
        want[i] = family[i][1];
    }
    check_holm(N, p, want);
    assert_int_equal(aoe_holm(p, N, p, NULL), 0); /* in place */
    for (size_t i = 0; i < N; i++)
        assert_near(p[i], want[i]);
    /* 4 x 0.005; 3 x 0.01; 2 x 0.03; 0.04, but at least 0.06 */
    check_holm(4, (const double[]){0.01, 0.04, 0.03, 0.005}, (const double[]){0.03, 0.06, 0.06, 0.02});
    /* 3 x 0.5 and 2 x 0.6 are above 1 */
    check_holm(3, (const double[]){0.5, 0.9, 0.6}, (const double[]){1, 1, 1});
    check_holm(3, (const double[]){0.02, 0.02, 0.02}, (const double[]){0.06, 0.06, 0.06});
    check_holm(2, (const double[]){0, 1}, (const double[]){0, 1});
    check_holm(1, (const double[]){0.03}, (const double[]){0.03});
}

/* Tests that were not made have no p-value. They do not count. */
static void test_holm_missing(void **state) {
    (void)state;
    check_holm(4, (const double[]){NAN, 0.02, NAN, 0.04}, (const double[]){NAN, 0.04, NAN, 0.04});
    check_holm(2, (const double[]){0.03, NAN}, (const double[]){0.03, NAN});
    check_holm(2, (const double[]){NAN, NAN}, (const double[]){NAN, NAN});
    check_holm(0, (const double[]){0.5}, NULL);
}

static void test_holm_errors(void **state) {
    const double negative[] = {0.5, -0.1}, large[] = {1.1};
    double got[2];
    aoe_error err;
    (void)state;
    assert_int_equal(aoe_holm(negative, 2, got, &err), AOE_EARG);
    assert_string_equal(err.message, "p[1] is -0.1; a p-value is at least 0 and at most 1");
    assert_int_equal(aoe_holm(large, 1, got, &err), AOE_EARG);
    assert_int_equal(aoe_holm(NULL, 1, got, &err), AOE_EARG);
    assert_int_equal(aoe_holm(large, 1, NULL, &err), AOE_EARG);
}

static int holm(void *arg) {
    const double p[] = {0.01, 0.02, NAN};
    double corrected[3];
    (void)arg;
    return aoe_holm(p, 3, corrected, NULL);
}

static void test_holm_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(holm, NULL, 0) >= 3);
}

/* Writes n numbers in [0, 1), some of them equal, to out. significance_figures.py uses the same formula. */
static void scores(double *out, size_t n, size_t a, size_t b, size_t modulus) {
    for (size_t i = 0; i < n; i++)
        out[i] = (double)((i * a + b) % modulus) / (double)modulus;
}

enum { PAIRS = 40, RUNS = 3 };

/* Sets gold to gold scores. Sets x and y to the scores of two systems, each with RUNS runs. */
static void make_runs(double gold[PAIRS], double x[RUNS * PAIRS], double y[RUNS * PAIRS]) {
    scores(gold, PAIRS, 7, 3, 11);
    scores(x, (size_t)RUNS * PAIRS, 29, 5, 53);
    scores(y, (size_t)RUNS * PAIRS, 31, 2, 47);
    for (size_t i = 0; i < (size_t)RUNS * PAIRS; i++) {
        x[i] += gold[i % PAIRS];
        y[i] += 0.8 * gold[i % PAIRS];
    }
}

static void check_interval(const aoe_interval *i, const expected_interval *want) {
    assert_near(i->low, want->low);
    assert_near(i->high, want->high);
    assert_int_equal(i->undefined, want->undefined);
}

static void test_bootstrap(void **state) {
    double gold[PAIRS], x[RUNS * PAIRS], y[RUNS * PAIRS];
    aoe_bootstrap_options o;
    aoe_interval i;
    aoe_error err;
    (void)state;
    make_runs(gold, x, y);
    aoe_bootstrap_options_defaults(&o);
    o.replicates = 200;
    assert_int_equal(aoe_bootstrap_spearman(gold, PAIRS, x, NULL, RUNS, &o, &i, &err), 0);
    check_interval(&i, &intervals[0]);
    assert_int_equal(aoe_bootstrap_spearman(gold, PAIRS, x, y, RUNS, &o, &i, &err), 0);
    check_interval(&i, &intervals[1]);
    o = (aoe_bootstrap_options){
        .struct_size = sizeof(aoe_bootstrap_options), .replicates = 150, .confidence = 0.8, .seed = 12345678901234567};
    assert_int_equal(aoe_bootstrap_spearman(gold, PAIRS, x, y, RUNS, &o, &i, &err), 0);
    check_interval(&i, &intervals[2]);
    const double few[] = {0, 0, 0, 1}, one[] = {0.1, 0.4, 0.3, 0.2};
    o = (aoe_bootstrap_options){
        .struct_size = sizeof(aoe_bootstrap_options), .replicates = 50, .confidence = 0.9, .seed = 1};
    assert_int_equal(aoe_bootstrap_spearman(few, 4, one, NULL, 1, &o, &i, &err), 0);
    check_interval(&i, &intervals[3]);
}

static void test_bootstrap_constant(void **state) {
    const double gold[] = {1, 2, 3, 4}, equal[] = {5, 5, 5, 5}, x[] = {1, 3, 2, 4};
    aoe_interval i;
    aoe_error err;
    (void)state;
    assert_int_equal(aoe_bootstrap_spearman(gold, 4, equal, NULL, 1, NULL, &i, &err), 0);
    assert_true(isnan(i.low) && isnan(i.high) && i.undefined == 2000);
    assert_int_equal(aoe_bootstrap_spearman(gold, 4, x, x, 1, NULL, &i, NULL), 0);
    assert_true(i.low == 0.0 && i.high == 0.0 && i.undefined < 2000);
}

static void test_bootstrap_errors(void **state) {
    const double gold[] = {1, 2, NAN}, x[] = {1, 3, 2};
    aoe_bootstrap_options o;
    aoe_interval i;
    aoe_error err;
    (void)state;
    assert_int_equal(aoe_bootstrap_spearman(gold, 3, x, NULL, 1, NULL, &i, &err), AOE_ENUMERIC);
    assert_true(isnan(i.low) && isnan(i.high));
    assert_int_equal(aoe_bootstrap_spearman(x, 3, x, gold, 1, NULL, &i, NULL), AOE_ENUMERIC);
    assert_int_equal(aoe_bootstrap_spearman(x, 1, x, NULL, 1, NULL, &i, &err), AOE_EARG);
    assert_int_equal(aoe_bootstrap_spearman(x, 3, x, NULL, 0, NULL, &i, &err), AOE_EARG);
    assert_int_equal(aoe_bootstrap_spearman(x, SIZE_MAX, x, NULL, 2, NULL, &i, &err), AOE_EARG);
    aoe_bootstrap_options_defaults(&o);
    o.confidence = 1;
    assert_int_equal(aoe_bootstrap_spearman(x, 3, x, NULL, 1, &o, &i, &err), AOE_EARG);
    aoe_bootstrap_options_defaults(&o);
    o.replicates = 0;
    assert_int_equal(aoe_bootstrap_spearman(x, 3, x, NULL, 1, &o, &i, &err), AOE_EARG);
}

static int bootstrap_both(void *arg) {
    double gold[PAIRS], x[RUNS * PAIRS], y[RUNS * PAIRS];
    aoe_bootstrap_options o = {
        .struct_size = sizeof(aoe_bootstrap_options), .replicates = 3, .confidence = 0.9, .seed = 1};
    aoe_interval i;
    (void)arg;
    make_runs(gold, x, y);
    return aoe_bootstrap_spearman(gold, PAIRS, x, y, RUNS, &o, &i, NULL);
}

static void test_bootstrap_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(bootstrap_both, NULL, 0) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_student),
        cmocka_unit_test(test_beta),
        cmocka_unit_test(test_paired),
        cmocka_unit_test(test_degenerate),
        cmocka_unit_test(test_holm),
        cmocka_unit_test(test_holm_missing),
        cmocka_unit_test(test_holm_errors),
        cmocka_unit_test(test_holm_memory),
        cmocka_unit_test(test_bootstrap),
        cmocka_unit_test(test_bootstrap_constant),
        cmocka_unit_test(test_bootstrap_errors),
        cmocka_unit_test(test_bootstrap_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
