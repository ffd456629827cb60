# SPDX-License-Identifier: MIT
"""Training on rows with any number of negatives: the loss and the gradients equal those of MultipleNegativesRankingLoss
of sentence-transformers, in which all positives and negatives of a batch are candidates."""
import json
import random

import pytest
import torch

from conftest import assert_equal

WORDS = ("river", "stone", "market", "engine", "violin", "garden", "winter", "signal", "harbor", "letter", "doctor",
         "ladder",
         "blue", "quiet", "narrow", "ancient", "carries", "builds", "follows", "repairs", "paints", "near", "under",
         "without")
ROWS, RATE, TOLERANCE = 8, 0.5, 1e-4


def rows(negatives):
    """Rows of an anchor, a positive and negatives. All texts differ."""
    rng = random.Random(negatives)
    return [[" ".join(rng.choice(WORDS) for _ in range(4 + (i + k) % 5)) for k in range(2 + negatives)]
            for i in range(ROWS)]


def write(folder, name, data):
    """Writes the rows as a table whose columns or keys have the given form."""
    n = len(data[0]) - 2
    if name == "columns":
        path = folder / "train.csv"
        header = ["negative_" + str(k + 1) for k in range(n)] if n > 1 else ["negative"] * n
        # The order of the columns must not matter.
        order = list(reversed(range(2 + n)))
        names = ["anchor", "positive"] + header
        path.write_text("\n".join(",".join(row[k] for k in order) for row in [names] + data) + "\n")
    else:
        path = folder / "train.jsonl"
        path.write_text("".join(json.dumps({"query": row[0], "pos": [row[1]], "neg": row[2:]}) + "\n" for row in data))
    return path


@pytest.fixture(scope="module")
def start(aoe, tmp_path_factory):
    folder = tmp_path_factory.mktemp("start")
    rng = random.Random(7)
    (folder / "text.txt").write_text("".join(" ".join(rng.choice(WORDS) for _ in range(8)) + "\n" for _ in range(300)))
    aoe.run("init", "-q", "--shape", "bert-tiny", "--vocab-from", folder / "text.txt", "--vocab-size", 200, "-o",
            folder / "model")
    return folder / "model"


@pytest.mark.parametrize("form", ["columns", "lists"])
@pytest.mark.parametrize("negatives", [0, 1, 2, 5])
@pytest.mark.parametrize("method", ["simcse-sup", "symmetric"])
def test_equals_sentence_transformers(aoe, start, tmp_path, method, negatives, form):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    if form == "lists" and not negatives:
        pytest.skip("a list has at least one negative")
    data = rows(negatives)
    options = ["--no-projection"] if method == "simcse-sup" else []
    aoe.run("train", "-q", "-m", start, "-d", write(tmp_path, form, data), "-o", tmp_path / "out", "--method", method,
            "--tau-ibn",
            0.05, "--epochs", 1, "--batch-size", ROWS, "--lr", RATE, "--warmup", 0, "--schedule", "constant",
            "--optimizer", "sgd",
            "--weight-decay", 0, "--max-grad-norm", 0, "--dropout", 0, "--dtype", "f32", "--allow-duplicates", *options)
    model = SentenceTransformer(str(start), device="cpu").double().eval()
    directions = ("query_to_doc", "doc_to_query") if method == "symmetric" else ("query_to_doc",)
    loss = MultipleNegativesRankingLoss(model, scale=20.0, directions=directions, partition_mode="per_direction")
    value = loss([model.preprocess(list(column)) for column in zip(*data)], torch.zeros(ROWS))
    value.backward()
    with torch.no_grad():
        for p in model.parameters():
            if p.grad is not None:
                p -= RATE * p.grad
    log = [json.loads(line) for line in (tmp_path / "out/train-log.jsonl").read_text().splitlines()]
    got = next(line["loss"] for line in log if "loss" in line)
    assert abs(got - value.item()) < 1e-5 * value.item()
    texts = [text for row in data for text in row]
    want = model.encode(texts, show_progress_bar=False)
    before = SentenceTransformer(str(start), device="cpu").double().encode(texts, show_progress_bar=False)
    assert abs(want - before).max() > 1e-3  # the step changed the model
    assert_equal(aoe.embed(tmp_path / "out", texts) - before, want - before, TOLERANCE)
