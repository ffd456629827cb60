# SPDX-License-Identifier: MIT
"""The evaluation functions of the Python package with each similarity, compared with the evaluators of
sentence-transformers."""
import os
import pathlib
import random
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
PROGRAM = pathlib.Path(os.environ.get("AOE", ROOT / "build" / "aoe"))
os.environ.setdefault("AOE_LIBRARY", str(PROGRAM.with_name("libaoe.so")))

import aoe
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import evaluation

WORDS = "harbor engine ladder garden window river copper lantern violin meadow".split()
SIMILARITIES = ["cosine", "dot", "euclidean", "manhattan"]


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A model with random weights and without normalization, opened by aoe and by sentence-transformers."""
    folder = tmp_path_factory.mktemp("similarities")
    (folder / "text.txt").write_text("\n".join(WORDS) + "\n")
    subprocess.run([PROGRAM, "init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size",
                    "60", "-o", folder / "model"], check=True)
    reference = SentenceTransformer(str(folder / "model"), device="cpu")
    assert "Normalize" not in [type(module).__name__ for module in reference]
    with aoe.SentenceTransformer(folder / "model", dtype="f32") as opened:
        yield opened, reference


def draw(rng, n):
    return [" ".join(rng.choices(WORDS, k=rng.randint(1, 6))) for _ in range(n)]


def test_similarities_of_pairs(both):
    """The four similarities of EmbeddingSimilarityEvaluator, BinaryClassificationEvaluator and TripletEvaluator."""
    opened, reference = both
    rng = random.Random(4)
    first, second, third = (draw(rng, 60) for _ in range(3))
    labels = [rng.random() for _ in first]
    classes = [int(label > 0.5) for label in labels]
    scored = evaluation.EmbeddingSimilarityEvaluator(first, second, labels, similarity_fn_names=SIMILARITIES,
                                                     write_csv=False)(reference)
    binary = evaluation.BinaryClassificationEvaluator(first, second, classes, similarity_fn_names=SIMILARITIES,
                                           write_csv=False)(reference)
    triplets = evaluation.TripletEvaluator(first, second, third, similarity_fn_names=SIMILARITIES,
                                           write_csv=False)(reference)
    for name in SIMILARITIES:
        got = aoe.evaluate_sts(opened, list(zip(first, second, labels)), similarity=name)
        assert abs(got["pearson"] - scored[f"pearson_{name}"]) < 1e-4, name
        assert abs(got["spearman"] - scored[f"spearman_{name}"]) < 1e-3, name
        got = aoe.evaluate_pairs(opened, list(zip(first, second, map(float, classes))), similarity=name)
        for key, other in (("accuracy", "accuracy"), ("f1", "f1"), ("average_precision", "ap")):
            assert abs(got[key] - binary[f"{name}_{other}"]) < 1e-3, (name, key)
        sign = 1 if name in ("cosine", "dot") else -1  # distances of sentence-transformers are positive
        assert abs(got["f1_threshold"] - sign * binary[f"{name}_f1_threshold"]) < 1e-3 * abs(got["f1_threshold"])
        got = aoe.evaluate_triplets(opened, list(zip(first, second, third)), similarity=name)
        assert abs(got["accuracy"] - triplets[f"{name}_accuracy"]) < 1e-6, name


@pytest.mark.parametrize("name", SIMILARITIES)
def test_similarities_of_retrieval(both, name):
    """InformationRetrievalEvaluator uses the similarity of the model, as evaluate_retrieval does."""
    opened, reference = both
    rng = random.Random(5)
    corpus = {f"d{i}": text for i, text in enumerate(sorted(set(draw(rng, 300))))}
    queries = {f"q{i}": text for i, text in enumerate(sorted(set(draw(rng, 40))))}
    relevant = {q: set(rng.sample(sorted(corpus), 3)) for q in queries}
    reference.similarity_fn_name = opened.similarity_fn_name = name
    found = evaluation.InformationRetrievalEvaluator(queries, corpus, relevant, write_csv=False)(reference)
    got = aoe.evaluate_retrieval(opened, queries=queries, corpus=corpus, relevant_docs=relevant)
    assert abs(got["ndcg"] - found[f"{name}_ndcg@10"]) < 2e-3
    assert abs(got["mrr"] - found[f"{name}_mrr@10"]) < 2e-3
    assert abs(got["recall"]["10"] - found[f"{name}_recall@10"]) < 2e-3
    opened.similarity_fn_name = None
