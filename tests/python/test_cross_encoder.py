# SPDX-License-Identifier: MIT
"""Cross-encoders: scores, ranking, errors."""
import json
import shutil

import numpy as np
import pytest

import aoe
from conftest import ROOT

PAIRS = [("How do I cook rice?", "Boil it."), ("How do I cook rice?", "A plane takes off."), ("", "x")]


@pytest.fixture
def ranker(tmp_path):
    """A cross-encoder with one output: the cross-encoder with random weights, of which the second output is removed."""
    source, target = ROOT / "tests" / "golden" / "cross_encoders" / "bert", tmp_path / "ranker"
    shutil.copytree(source, target)
    config = json.loads((target / "config.json").read_text())
    config["num_labels"] = 1
    config.pop("id2label", None), config.pop("label2id", None)
    (target / "config.json").write_text(json.dumps(config))
    data = (target / "model.safetensors").read_bytes()
    size = int.from_bytes(data[:8], "little")
    header, body, parts, at = json.loads(data[8:8 + size]), data[8 + size:], [], 0
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        if tensor["shape"] and tensor["shape"][0] == 2 and name.startswith("classifier"):
            begin, tensor["shape"] = (begin + end) // 2, [1, *tensor["shape"][1:]]
        parts.append(body[begin:end])
        tensor["data_offsets"], at = [at, at + end - begin], at + end - begin
    text = json.dumps(header).encode()
    (target / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + b"".join(parts))
    return aoe.CrossEncoder(target)


def test_scores_do_not_depend_on_other_pairs(pair_model):
    scores = pair_model.predict(PAIRS)
    assert scores.shape == (3, 2) and scores.dtype == np.float32 and pair_model.num_labels == 2
    for pair, row in zip(PAIRS, scores):
        assert np.array_equal(pair_model.predict(pair), row) and np.array_equal(pair_model.predict([pair])[0], row)
    assert np.array_equal(pair_model.predict(np.array(PAIRS)), scores)


def test_activations(pair_model):
    logits = pair_model.predict(PAIRS, activation_fn="logit")
    powers = np.exp(logits - logits.max(1, keepdims=True))
    softmax = powers / powers.sum(1, keepdims=True)
    assert np.allclose(pair_model.predict(PAIRS, apply_softmax=True), softmax, atol=1e-6)
    assert np.allclose(pair_model.predict(PAIRS, activation_fn="tanh"), np.tanh(logits), atol=1e-6)
    with pytest.raises(NotImplementedError, match="activation_fn"):
        pair_model.predict(PAIRS, activation_fn="relu")
    with pytest.raises(ValueError, match="exclude"):
        pair_model.predict(PAIRS, activation_fn="tanh", apply_softmax=True)


def test_rank(ranker, pair_model):
    documents = ["Boil it.", "A plane takes off.", "Boil it."]
    hits = ranker.rank("How do I cook rice?", documents, return_documents=True)
    scores = ranker.predict([("How do I cook rice?", text) for text in documents])
    assert scores.shape == (3,) and [hit["score"] for hit in hits] == sorted(scores.tolist(), reverse=True)
    assert all(hit["text"] == documents[hit["corpus_id"]] for hit in hits)
    assert [hit["corpus_id"] for hit in hits if hit["text"] == "Boil it."] == [0, 2]  # equal scores keep their order
    assert len(ranker.rank("x", documents, top_k=1)) == 1 and ranker.rank("x", []) == []
    with pytest.raises(ValueError, match="one score"):
        pair_model.rank("x", documents)


@pytest.mark.parametrize("bad", [None, "ab", [None], ["a", "b", "c"], [("a",)], [("a", None)], [("a", b"b")], b"ab"])
def test_inputs_that_are_no_pairs(pair_model, bad):
    with pytest.raises(TypeError):
        pair_model.predict(bad)
    with pytest.raises(TypeError, match="only one"):
        pair_model.predict(PAIRS, sentences=PAIRS)


def test_models_of_the_wrong_kind(model):
    with pytest.raises(aoe.AoeError):
        aoe.CrossEncoder(model.directory)
    with pytest.raises(ValueError, match="num_labels"):
        aoe.CrossEncoder(ROOT / "tests" / "golden" / "cross_encoders" / "bert", num_labels=3)
