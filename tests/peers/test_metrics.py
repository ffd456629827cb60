# SPDX-License-Identifier: MIT
"""Metrics of `aoe eval sts`, `eval pairs` and `eval triplets` on random tables with equal texts and equal labels,
compared with SciPy, scikit-learn and the evaluators of sentence-transformers. The cosines are computed from the
embeddings of aoe."""
import json
import math
import random

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sentence_transformers.sentence_transformer.evaluation import BinaryClassificationEvaluator
from sklearn.metrics import average_precision_score

TABLES = 60
WORDS = "harbor engine ladder garden window river copper lantern violin meadow".split()


@pytest.fixture(scope="module")
def model(aoe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("metrics")
    (folder / "text.txt").write_text("\n".join(WORDS) + "\n")
    aoe.run("init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size", 60, "-o",
            folder / "model")
    return folder / "model"


def cosines(aoe, model, columns):
    """Returns the cosines of the first column with each other column, in float32 as aoe computes them."""
    texts = sorted({text for column in columns for text in column})
    vectors = aoe.embed(model, texts, "--normalize")
    vector = dict(zip(texts, vectors))
    return [np.array([np.float32(vector[a] @ vector[b]) for a, b in zip(columns[0], column)]) for column in columns[1:]]


def write(path, names, columns):
    path.write_text("\n".join("\t".join(map(str, row)) for row in [names, *zip(*columns)]) + "\n")


def draw(rng, n):
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 3))) for _ in range(n)]


def distinct(*scores):
    """Whether no order of scores depends on rounding: different scores differ by more than 1e-6, or are equal."""
    values = np.unique(np.concatenate(scores))
    return len(values) < 2 or np.diff(values).min() > 1e-6


def test_correlations(aoe, model, tmp_path):
    rng, compared = random.Random(1), 0
    for i in range(TABLES):
        n = rng.choice([2, 3, 5, 40])
        first, second = draw(rng, n), draw(rng, n)
        labels = [rng.choice([0, 1, 2.5, 5, "1e0", "-3"]) for _ in range(n)]
        write(tmp_path / "t.tsv", ["sentence1", "sentence2", "score"], [first, second, labels])
        scores, = cosines(aoe, model, [first, second])
        gold = np.array([float(label) for label in labels])
        if not distinct(scores) or np.ptp(gold) == 0 or np.ptp(scores) == 0:
            continue
        got = json.loads(aoe.run("eval", "sts", "-m", model, tmp_path / "t.tsv", "--dtype", "f32",
                                 "--json").stdout.splitlines()[0])
        assert abs(got["spearman"] - spearmanr(scores, gold).statistic) < 1e-6
        assert abs(got["pearson"] - pearsonr(scores.astype(np.float64), gold).statistic) < 1e-4
        compared += 1
    assert compared > TABLES // 3


def test_binary(aoe, model, tmp_path):
    rng, compared = random.Random(2), 0
    for i in range(TABLES):
        n = rng.choice([2, 4, 30])
        first, second = draw(rng, n), draw(rng, n)
        labels = [rng.randint(0, 1) for _ in range(n)]
        scores, = cosines(aoe, model, [first, second])
        if not distinct(scores) or sum(labels) in (0, n):
            continue
        write(tmp_path / "t.tsv", ["sentence1", "sentence2", "label"], [first, second, labels])
        got = json.loads(aoe.run("eval", "pairs", "-m", model, tmp_path / "t.tsv", "--dtype", "f32",
                                 "--json").stdout.splitlines()[0])
        assert abs(got["average_precision"] - average_precision_score(labels, scores)) < 1e-6
        if len(np.unique(scores)) == n:  # the evaluators of sentence-transformers divide pairs with equal scores
            accuracy, _ = BinaryClassificationEvaluator.find_best_acc_and_threshold(scores, np.array(labels), True)
            f1 = BinaryClassificationEvaluator.find_best_f1_and_threshold(scores, np.array(labels), True)[0]
            assert got["accuracy"] >= accuracy - 1e-6  # aoe also considers the thresholds that accept no or all pairs
            assert got["accuracy"] - max(accuracy, 1 - sum(labels) / n, sum(labels) / n) < 1e-6
            assert abs(got["f1"] - f1) < 1e-6 or math.isclose(got["f1"], 2 * sum(labels) / (n + sum(labels)),
                                                              abs_tol=1e-6)
        compared += 1
    assert compared > TABLES // 3


def test_triplets(aoe, model, tmp_path):
    rng = random.Random(3)
    for i in range(TABLES // 3):
        n = rng.choice([1, 3, 20])
        columns = [draw(rng, n) for _ in range(3)]
        positive, negative = cosines(aoe, model, columns)
        if not distinct(positive, negative):
            continue
        write(tmp_path / "t.tsv", ["anchor", "positive", "negative"], columns)
        got = json.loads(aoe.run("eval", "triplets", "-m", model, tmp_path / "t.tsv", "--dtype", "f32",
                                 "--json").stdout.splitlines()[0])
        assert abs(got["accuracy"] - np.mean(positive > negative)) < 1e-6
        assert abs(got["ties"] - np.mean(positive == negative)) < 1e-6
