# SPDX-License-Identifier: MIT
"""Cross-encoders: scores, ranking, errors."""
import json
import shutil
import sys
import types

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
    powers = np.exp(np.tanh(logits))  # softmax of the activated scores, as in sentence-transformers
    assert np.allclose(pair_model.predict(PAIRS, activation_fn="tanh", apply_softmax=True),
                       powers / powers.sum(1, keepdims=True), atol=1e-6)


class Module:
    """Stands for torch.nn.Module."""


def test_activations_of_torch(pair_model, monkeypatch):
    """Only the modules of torch.nn themselves are recognized: a class of the same name may compute anything."""
    kinds = {name: type(name, (Module,), {}) for name in ("Identity", "Sigmoid", "Softmax", "Tanh", "ReLU")}
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(nn=types.SimpleNamespace(**kinds)))
    for name, kind in (("logit", "Identity"), ("sigmoid", "Sigmoid"), ("softmax", "Softmax"), ("tanh", "Tanh")):
        assert np.array_equal(pair_model.predict(PAIRS, activation_fn=kinds[kind]()),
                              pair_model.predict(PAIRS, activation_fn=name))
    first = kinds["Softmax"]()
    first.dim = 0

    def sigmoid(scores):
        return scores

    for refused in (kinds["ReLU"](), type("Sigmoid", (kinds["Sigmoid"],), {})(), type("Sigmoid", (), {})(), sigmoid,
                    kinds["Sigmoid"], first, "relu"):
        with pytest.raises(NotImplementedError, match="activation_fn"):
            pair_model.predict(PAIRS, activation_fn=refused)


def test_one_output(ranker):
    """apply_softmax has no effect on one output, as in sentence-transformers."""
    logits, scores = ranker.predict(PAIRS, activation_fn="logit"), ranker.predict(PAIRS)
    assert np.allclose(scores, 1 / (1 + np.exp(-logits)), atol=1e-6) and len(set(scores.tolist())) == len(PAIRS)
    assert np.array_equal(ranker.predict(PAIRS, apply_softmax=True), scores)
    assert np.array_equal(ranker.predict(PAIRS, activation_fn="logit", apply_softmax=True), logits)


def test_saved_cross_encoder(ranker, tmp_path):
    changed = aoe.CrossEncoder(ranker.directory, max_length=8, activation_fn="tanh")
    changed.save_pretrained(tmp_path / "saved")
    saved = aoe.CrossEncoder(tmp_path / "saved")
    pairs = [("How do I cook rice in a pot?", "Boil it for twelve minutes.")]
    assert saved.max_length == 8 and np.array_equal(saved.predict(pairs), changed.predict(pairs))
    assert not np.array_equal(saved.predict(pairs), ranker.predict(pairs))
    ranker.save_pretrained(tmp_path / "copy")
    assert np.array_equal(aoe.CrossEncoder(tmp_path / "copy").predict(PAIRS), ranker.predict(PAIRS))
    with pytest.raises(FileExistsError):
        ranker.save_pretrained(tmp_path / "saved")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy", "ranker", "saved"]
    changed.max_length = 10
    changed.save_pretrained(tmp_path / "longer")
    assert aoe.CrossEncoder(tmp_path / "longer").max_seq_length == 10


def test_rank(ranker, pair_model):
    documents = ["Boil it.", "A plane takes off.", "Boil it."]
    hits = ranker.rank("How do I cook rice?", documents, return_documents=True)
    scores = ranker.predict([("How do I cook rice?", text) for text in documents])
    assert scores.shape == (3,) and [hit["score"] for hit in hits] == sorted(scores.tolist(), reverse=True)
    assert all(hit["text"] == documents[hit["corpus_id"]] for hit in hits)
    assert [hit["corpus_id"] for hit in hits if hit["text"] == "Boil it."] == [0, 2]  # equal scores keep their order
    assert len(ranker.rank("x", documents, top_k=1)) == 1 and ranker.rank("x", []) == []
    positional = ranker.rank("x", documents, 2, True, None, None, np.int64(4), False, "tanh")  # batch_size, ...
    assert [hit["score"] for hit in positional] == sorted(
        ranker.predict([("x", text) for text in documents], activation_fn="tanh").tolist(), reverse=True)[:2]
    for query, texts in ((None, documents), ("x", ["a", None])):
        with pytest.raises(TypeError, match=r"query must|documents\[1\]: "):
            ranker.rank(query, texts)
    with pytest.raises(ValueError, match="one score"):
        pair_model.rank("x", documents)


@pytest.mark.parametrize("bad", [None, "ab", [None], ["a", "b", "c"], [("a",)], [("a", None)], [("a", b"b")], b"ab",
                                 {"a": "b"}, [{"a": 1, "b": 2}], np.array("ab")])
def test_inputs_that_are_no_pairs(pair_model, bad):
    with pytest.raises(TypeError):
        pair_model.predict(bad)
    with pytest.raises(TypeError, match="only one"):
        pair_model.predict(PAIRS, sentences=PAIRS)
    for bad_pair in (None, ("a", None), ("a",)):
        with pytest.raises(TypeError, match=r"inputs\[1\]: "):
            pair_model.predict([("a", "b"), bad_pair])
    with pytest.raises(ValueError, match=r"inputs\[1\]: .*surrogate"):
        pair_model.predict([("a", "b"), ("a", "\ud800")])
    for arguments, error in (({"batch_size": 0}, ValueError), ({"batch_size": 1.5}, TypeError)):
        with pytest.raises(error, match="batch_size"):
            pair_model.predict(PAIRS, **arguments)


def test_models_of_the_wrong_kind(model):
    with pytest.raises(aoe.AoeError):
        aoe.CrossEncoder(model.directory)
    with pytest.raises(ValueError, match="num_labels"):
        aoe.CrossEncoder(ROOT / "tests" / "golden" / "cross_encoders" / "bert", num_labels=3)
