# SPDX-License-Identifier: MIT
"""The Python package and sentence-transformers: the same calls with the same arguments give the same results."""
import os
import pathlib
import random
import sys

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "python"))
PROGRAM = pathlib.Path(os.environ.get("AOE", ROOT / "build" / "aoe"))
os.environ.setdefault("AOE_LIBRARY", str(PROGRAM.with_name("libaoe.so")))

import aoe
import sentence_transformers
import torch
from sentence_transformers import util as st_util

SCRIPTS = ["部署新的服务器", "東京は日本の首都です", "Привет, мир", "مرحبا بالعالم", "नमस्ते दुनिया",
           "🙂🚀 emoji", "naïve café", "Ωμέγα", "ﬁ ligature",
           "zero\u200bwidth", "tab\tand\nnewline", "UPPER lower", "1,234.56 €", "a" * 300, "", " ", "x"]


def mixed_texts(count):
    """Texts of many lengths and scripts: lines of the documentation, several of them, and texts in other scripts. Texts
    that contain the token <pad> are left out: docs/interoperability.md describes their difference."""
    draw = random.Random(5)
    lines = [line.strip() for path in sorted((ROOT / "docs").glob("*.md"))
             for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and "<pad>" not in line]
    texts = []
    while len(texts) < count:
        kind = draw.random()
        if kind < 0.5:
            texts.append(draw.choice(lines))
        elif kind < 0.8:
            texts.append(" ".join(draw.choice(lines) for _ in range(draw.randint(2, 8))))
        else:
            texts.append(" ".join(draw.choice(SCRIPTS + lines) for _ in range(draw.randint(1, 4))))
    return texts


@pytest.fixture(scope="module", params=["all-MiniLM-L6-v2", "all-mpnet-base-v2"])
def both(request, peers):
    path = str(peers / "models" / request.param)
    return aoe.SentenceTransformer(path, dtype="f32"), sentence_transformers.SentenceTransformer(path, device="cpu")


@pytest.fixture(scope="module")
def mini(peers):
    path = str(peers / "models" / "all-MiniLM-L6-v2")
    arguments = {"prompts": {"query": "query: ", "passage": "passage: ", "long": "Represent this sentence: "}}
    return (aoe.SentenceTransformer(path, dtype="f32", **arguments),
            sentence_transformers.SentenceTransformer(path, device="cpu", **arguments))


def numbers(result):
    """Returns the arrays of a result, as numpy arrays."""
    if isinstance(result, dict):
        return [numbers(result[key])[0] for key in sorted(result) if key != "token_type_ids"]
    if isinstance(result, list):
        return [numbers(element)[0] for element in result]
    return [result.numpy() if isinstance(result, torch.Tensor) else np.asarray(result)]


def assert_equal(ours, theirs, steps=0):
    """Compares shapes, types and values. Components of quantized vectors may differ by `steps`, in one of 200."""
    ours, theirs = numbers(ours), numbers(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs):
        assert a.shape == b.shape and a.dtype == b.dtype
        if steps:
            off = np.abs(a.astype(int) - b.astype(int))
            assert (off != 0).mean() < 0.005 and (steps == 255 or off.max() <= steps)
        elif a.size:
            assert np.allclose(a, b, atol=2e-5)


def test_two_thousand_texts(both):
    texts = mixed_texts(2000)
    ours, theirs = both[0].encode(texts), both[1].encode(texts, batch_size=32)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    cosines = np.einsum("ij,ij->i", ours.astype(float), theirs) / np.linalg.norm(ours.astype(float), axis=1) / \
        np.linalg.norm(theirs.astype(float), axis=1)
    print(f"smallest cosine of 2,000 texts: {cosines.min():.9f}")
    assert cosines.min() > 0.999999


TEXTS = ["She cooks rice.", "A plane is taking off in the rain.", "部署", "", "one two three " * 200]
METHODS = ("encode", "encode_query", "encode_document")
CALLS = [(method, inputs, arguments) for method in METHODS for inputs, arguments in (
    (TEXTS, {}), (TEXTS[0], {}), (tuple(TEXTS), {"batch_size": 2}), (np.array(TEXTS), {}),
    (TEXTS, {"normalize_embeddings": True}), (TEXTS, {"truncate_dim": 100}),
    (TEXTS, {"truncate_dim": 100, "normalize_embeddings": True}), (TEXTS, {"truncate_dim": 10**6}),
    (TEXTS, {"prompt": "search: "}), (TEXTS, {"prompt_name": "long"}), (TEXTS, {"prompt": ""}),
    (mixed_texts(100), {"precision": "uint8"}), (mixed_texts(100), {"precision": "int8"}),
    (TEXTS, {"precision": "binary"}),
    (TEXTS, {"precision": "ubinary", "truncate_dim": 64}), (TEXTS, {"convert_to_tensor": True}),
    (TEXTS[0], {"convert_to_tensor": True}), ([], {}), ([], {"convert_to_numpy": False}),
)]


@pytest.mark.parametrize("method, inputs, arguments", CALLS)
def test_calls(mini, method, inputs, arguments):
    """57 combinations of arguments."""
    ours, theirs = (getattr(model, method)(inputs, **arguments) for model in mini)
    assert type(ours) is type(theirs)
    steps = {"uint8": 1, "int8": 1, "binary": 255, "ubinary": 255}
    assert_equal(ours, theirs, steps.get(arguments.get("precision"), 0))


@pytest.mark.parametrize("arguments", [{}, {"prompt": "search: "}])
@pytest.mark.parametrize("inputs", [TEXTS, TEXTS[0]])
def test_token_embeddings(mini, inputs, arguments):
    assert_equal(*(model.encode(inputs, output_value="token_embeddings", **arguments) for model in mini))


def test_lists_of_vectors(mini):
    ours, theirs = (model.encode(TEXTS, convert_to_numpy=False) for model in mini)
    assert isinstance(ours, list) and isinstance(theirs, list)
    assert_equal(ours, theirs)  # arrays here, tensors there


def test_tokens(mini):
    ours, theirs = mini[0].tokenize(TEXTS), mini[1].tokenize(TEXTS)
    assert_equal(ours, {key: theirs[key] for key in ours})


def test_properties(both):
    ours, theirs = both
    for name in ("max_seq_length", "similarity_fn_name", "truncate_dim", "prompts", "default_prompt_name"):
        assert getattr(ours, name) == getattr(theirs, name), name
    for name in ("get_embedding_dimension", "get_max_seq_length"):
        assert getattr(ours, name)() == getattr(theirs, name)(), name


@pytest.mark.parametrize("function", ["cosine", "dot", "euclidean", "manhattan"])
def test_similarities(mini, function):
    for model in mini:
        model.similarity_fn_name = function
    a, b = mini[0].encode(TEXTS), mini[0].encode(TEXTS[::-1])
    for name in ("similarity", "similarity_pairwise"):
        assert np.allclose(getattr(mini[0], name)(a, b), getattr(mini[1], name)(a, b), atol=1e-4)
    for model in mini:
        model.similarity_fn_name = None


@pytest.mark.parametrize("arguments", [{"batch_size": 0}, {"precision": "int4"}, {"prompt_name": "none"},
                                       {"unknown": 1}])
def test_errors(mini, arguments):
    for model in mini:
        with pytest.raises((ValueError, TypeError)):
            model.encode(TEXTS, **arguments)


def test_saved_model(mini, tmp_path):
    """A saved model gives the same vectors in both libraries."""
    mini[0].save_pretrained(tmp_path / "saved")
    ours, theirs = aoe.SentenceTransformer(tmp_path / "saved", dtype="f32"), \
        sentence_transformers.SentenceTransformer(str(tmp_path / "saved"), device="cpu")
    assert {k: v for k, v in theirs.prompts.items() if v} == {k: v for k, v in ours.prompts.items() if v}
    assert_equal(ours.encode_query(TEXTS), theirs.encode_query(TEXTS))


def test_search_and_groups(mini):
    vectors = mini[0].encode(mixed_texts(300))
    queries = vectors[:20]
    scores = [[[hit["score"] for hit in hits] for hits in library.semantic_search(queries, vectors, top_k=7)]
              for library in (aoe.util, st_util)]
    assert np.allclose(*scores, atol=1e-5)
    a, b = aoe.util.paraphrase_mining_embeddings(vectors), st_util.paraphrase_mining_embeddings(torch.tensor(vectors))
    assert len(a) == len(b) and np.allclose([p[0] for p in a], [p[0] for p in b], atol=1e-5)
    for threshold, size in ((0.5, 3), (0.7, 2), (0.3, 10)):
        ours = aoe.util.community_detection(vectors, threshold=threshold, min_community_size=size)
        theirs = st_util.community_detection(torch.tensor(vectors), threshold=threshold, min_community_size=size)
        assert [(g[0], sorted(g)) for g in ours] == [(g[0], sorted(g)) for g in theirs]  # equal scores have any order


def test_cross_encoder():
    """Scores and ranks of a model with random weights and two outputs, and of one with one output."""
    path = ROOT / "tests" / "golden" / "cross_encoders" / "bert"
    ours, theirs = aoe.CrossEncoder(path, dtype="f32"), sentence_transformers.CrossEncoder(str(path), device="cpu")
    pairs = [(a, b) for a in TEXTS[:3] for b in TEXTS[:2]]
    assert ours.num_labels == theirs.num_labels
    theirs.tokenizer.pad_token = "[PAD]"
    for pair in pairs:
        for arguments in ({}, {"apply_softmax": True}, {"convert_to_tensor": True}):
            a, b = ours.predict(pair, **arguments), theirs.predict(pair, **arguments)
            assert type(a) is type(b)
            assert_equal(a, b)
        assert_equal(ours.predict([pair], activation_fn=torch.nn.Tanh()),
                     theirs.predict([pair], activation_fn=torch.nn.Tanh()))


def test_map_of_datasets_in_processes(mini):
    """`Dataset.map` forks, and sends the function with the model in its closure to the processes."""
    import datasets

    texts = [f"text {i} about rice" for i in range(120)]
    model = mini[0]
    rows = datasets.Dataset.from_dict({"text": texts}).map(
        lambda batch: {"vector": model.encode(batch["text"])}, batched=True, batch_size=30, num_proc=2)
    assert np.array_equal(np.array(rows["vector"], np.float32), model.encode(texts))
