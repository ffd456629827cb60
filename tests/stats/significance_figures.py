#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the reference values of significance_test.c as C tables. Student's t and the paired t test use scipy.stats,
the incomplete beta function uses scipy.special, Holm's correction is computed from its definition as a closed test, and
the bootstrap uses scipy.stats.spearmanr and numpy.percentile over resamples drawn with the Philox4x32-10 generator
below. Run by hand: /usr/bin/python3 significance_figures.py (needs python3-scipy)."""
import itertools

import numpy as np
from scipy import special, stats

MASK = 0xFFFFFFFF


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(p1 >> 32) ^ c[1] ^ k[0], p1 & MASK, (p0 >> 32) ^ c[3] ^ k[1], p0 & MASK]
        k = [(k[0] + 0x9E3779B9) & MASK, (k[1] + 0xBB67AE85) & MASK]
    return c


def words(seed, stream, substream):
    for i in itertools.count():
        yield from philox((i & MASK, i >> 32, substream, stream), (seed & MASK, seed >> 32))


def below(source, n):  # Lemire 2019
    while True:
        product = next(source) * n
        if product & MASK >= (1 << 32) % n:
            return product >> 32


def bootstrap(gold, x, y, replicates, confidence, seed):
    n, runs, values = len(gold), len(x), []
    for r in range(replicates):
        source = words(seed, 11, r)
        pair = [below(source, n) for _ in range(n)]
        run = [below(source, runs) for _ in range(runs)]
        rho = [stats.spearmanr(gold[pair], x[i][pair])[0]
               - (stats.spearmanr(gold[pair], y[i][pair])[0] if y is not None else 0)
               for i in run]
        values.append(np.mean(rho))
    values = np.array(values)
    undefined = int(np.isnan(values).sum())
    tail = 50 * (1 - confidence)
    return *np.percentile(values[~np.isnan(values)], [tail, 100 - tail]), undefined


def holm(p):  # a hypothesis is rejected if Bonferroni's test rejects every set of hypotheses that contains it
    family = range(len(p))
    sets = [s for n in range(1, len(p) + 1) for s in itertools.combinations(family, n)]
    return [max(min(1, len(s) * min(p[j] for j in s)) for s in sets if i in s) for i in family]


def table(name, rows):
    print(f"{name}:")
    for row in rows:
        print("    {" + ", ".join(repr(v) if isinstance(v, int) else f"{v:.17g}" for v in row) + "},")


def scores(a, b, modulus, shape):  # the numbers significance_test.c makes, with ties
    i = np.arange(int(np.prod(shape)))
    return ((i * a + b) % modulus / modulus).reshape(shape)


with np.errstate(all="ignore"):
    table("student t: t, df, p", [(t, df, 2 * stats.t.sf(abs(t), df)) for df in (1, 2, 3, 4, 9, 29, 2.5, 1000)
                                  for t in (0.0, 1e-8, -0.3, 1.0, 2.776445, -12.7, 60.0)])
    table("incomplete beta: a, b, x, I", [(a, b, x, special.betainc(a, b, x)) for a, b in
                                          ((0.5, 0.5), (2.0, 0.5), (0.5, 14.5), (3.0, 5.0), (50.0, 0.5), (500.0, 400.0))
                                          for x in (1e-6, 0.1, 0.5, 0.56, 0.9, 0.999)])
    pairs = [([81.2, 80.9, 81.7, 81.1, 80.6], [80.1, 80.3, 80.2, 80.9, 79.8]),
             ([0.6522, 0.6519], [0.6510, 0.6533]),
             ([1e9 + 1, 1e9 + 2, 1e9 + 4, 1e9 + 3], [1e9, 1e9, 1e9, 1e9]),
             ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], [7.5, 5.0, 4.0, 4.0, 2.0, 1.0, 0.5])]
    rows = []
    for a, b in pairs:
        d = np.array(a) - np.array(b)
        t, p = stats.ttest_rel(a, b)
        rows.append((len(a), d.mean(), d.std(ddof=1), float(t), float(p)))
    table("paired t: n, mean, sd, t, p", rows)
    p = [0.0031, 0.047, 0.012, 0.6, 0.012, 1.3e-05, 0.0004, 0.31, 0.0099, 0.047]
    table("holm: p, corrected p", zip(p, holm(p)))
    gold = scores(7, 3, 11, (40,))
    x, y = scores(29, 5, 53, (3, 40)), scores(31, 2, 47, (3, 40))
    x, y = x + gold, y + 0.8 * gold
    short = np.array([0.0, 0.0, 0.0, 1.0])
    table("bootstrap: low, high, undefined",
          [bootstrap(gold, x, None, 200, 0.95, 42), bootstrap(gold, x, y, 200, 0.95, 42),
                                              bootstrap(gold, x, y, 150, 0.8, 12345678901234567),
                                              bootstrap(short, np.array([[0.1, 0.4, 0.3, 0.2]]), None, 50, 0.9, 1)])
