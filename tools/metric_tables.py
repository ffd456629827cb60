#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes tests/support/metric_tables.h: figures of scipy and scikit-learn that the metrics of src/eval must agree with.

    apt-get install python3-scipy python3-sklearn
    tools/metric_tables.py >tests/support/metric_tables.h && clang-format -i tests/support/metric_tables.h

Run by hand when a case is added; the tests read the header alone. Inputs are random with a fixed seed, rounded to a few
digits so that they are exact in the header, many of them equal: ties are where implementations differ.
"""
import numpy
import scipy
import sklearn
from scipy.stats import pearsonr, spearmanr
from sklearn.metrics import (accuracy_score, average_precision_score, f1_score, label_ranking_average_precision_score,
                             ndcg_score, precision_recall_curve, recall_score)

random = numpy.random.RandomState(6)


def array(name, values, kind="double"):
    number = (lambda v: str(int(v))) if kind != "double" else (lambda v: repr(float(v)))
    print(f"static const {kind} {name}[] = {{{', '.join(map(number, values))}}};")


def correlations():
    cases = [(n, step_x, step_y, noise) for n, step_x, step_y, noise in
             [(2, 0, 0, 1), (3, 1, 0, 1), (10, 0, 0, 0.5), (40, 0.5, 1, 0.5), (97, 1, 0, 2), (150, 0.2, 0.2, 1), (60, 2, 2, 3)]]
    rows = []
    for i, (n, step_x, step_y, noise) in enumerate(cases):
        x = random.normal(size=n)
        y = x + noise * random.normal(size=n)
        x, y = (numpy.round(v / step) * step if step else v for v, step in ((x, step_x), (y, step_y)))
        x, y = numpy.round(x, 4), numpy.round(y, 4)
        if n == 3:
            x = numpy.array([0.0, 1.0, 1.0])
        array(f"correlation_x_{i}", x)
        array(f"correlation_y_{i}", y)
        rows.append(f"{{correlation_x_{i}, correlation_y_{i}, {n}, {spearmanr(x, y)[0]!r}, {pearsonr(x, y)[0]!r}}}")
    print("static const metric_correlation metric_correlations[] = {" + ", ".join(rows) + "};")


def binaries():
    rows = []
    for i, (n, share, pull, digits) in enumerate([(1, 1, 0, 2), (8, 0.5, 1, 1), (50, 0.3, 0.6, 1), (50, 0.7, 0.2, 1),
                                                  (120, 0.1, 0.5, 2), (40, 0.5, -0.8, 1), (30, 0.4, 0, 0), (200, 0.5, 0.3, 4)]):
        label = (random.uniform(size=n) < share).astype(int)
        label[0] = 1
        score = numpy.round(0.4 * random.normal(size=n) + pull * label, digits) + 0.0
        best_f1 = max(f1_score(label, score >= t) for t in precision_recall_curve(label, score)[2])
        thresholds = list(numpy.unique(score)) + [numpy.inf]
        best_accuracy = max(accuracy_score(label, score >= t) for t in thresholds)
        array(f"binary_score_{i}", score)
        array(f"binary_label_{i}", label, "uint8_t")
        rows.append(f"{{binary_score_{i}, binary_label_{i}, {n}, {float(best_accuracy)!r}, {float(best_f1)!r}, "
                    f"{float(average_precision_score(label, score))!r}}}")
    print("static const metric_binary metric_binaries[] = {" + ", ".join(rows) + "};")


def rankings():
    rows = []
    for i, (n, relevant, grades, digits, k) in enumerate([(5, 1, 1, 1, 3), (20, 4, 1, 1, 10), (20, 4, 1, 0, 5), (30, 6, 3, 1, 10),
                                                          (12, 12, 2, 1, 20), (50, 1, 1, 2, 10), (60, 8, 4, 1, 1)]):
        gain = numpy.zeros(n)
        gain[random.permutation(n)[:relevant]] = random.randint(1, grades + 1, size=relevant)
        score = numpy.round(random.normal(size=n) + 0.5 * gain, digits) + 0.0
        order = numpy.argsort(-score, kind="stable")  # equal scores: the lower index first
        place = numpy.empty(n)
        place[order] = numpy.arange(n)
        top = place < k
        ndcg = ndcg_score([gain], [-place], k=k, ignore_ties=True)
        recall = recall_score(gain > 0, top)
        first = order[gain[order] > 0][0]  # the best of the relevant: alone, its LRAP is the reciprocal rank
        mrr = label_ranking_average_precision_score([numpy.arange(n) == first], [-place]) if top[first] else 0.0
        array(f"ranking_score_{i}", score)
        array(f"ranking_gain_{i}", gain)
        rows.append(f"{{ranking_score_{i}, ranking_gain_{i}, {n}, {k}, {float(recall)!r}, {float(mrr)!r}, {float(ndcg)!r}}}")
    print("static const metric_ranking metric_rankings[] = {" + ", ".join(rows) + "};")


print(f"""/* SPDX-License-Identifier: MIT
 * Made by tools/metric_tables.py with scipy {scipy.__version__} and scikit-learn {sklearn.__version__}.
 */
#ifndef AOE_TESTS_METRIC_TABLES_H
#define AOE_TESTS_METRIC_TABLES_H

#include <stddef.h>
#include <stdint.h>

typedef struct metric_correlation {{
    const double *x, *y; /* [n] */
    size_t n;
    double spearman, pearson;
}} metric_correlation;

typedef struct metric_binary {{
    const double *score;    /* [n] */
    const uint8_t *label; /* [n] */
    size_t n;
    double accuracy, f1, average_precision;
}} metric_binary;

typedef struct metric_ranking {{
    const double *score, *gain; /* [n] by text; of equal scores the lower index comes first */
    size_t n, k;
    double recall, reciprocal_rank, ndcg; /* of the first k */
}} metric_ranking;
""")
correlations()
binaries()
rankings()
print("\n#endif")
