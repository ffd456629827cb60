# SPDX-License-Identifier: MIT
"""Reads the files of `aoe index --export` with numpy and Faiss, and compares `aoe search --mode dense` with the search
of Faiss in the exported index."""
import json

import faiss
import numpy as np
import pytest

from test_sentence_transformers import sentences

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def index(aoe, peers, tmp_path, monkeypatch):
    """The current directory, with the index texts.index and the export of it in the three formats."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts.txt").write_text("\n".join(sentences(200, 31)) + "\n", encoding="utf-8")
    (tmp_path / "queries.txt").write_text("\n".join(sentences(20, 32)) + "\n", encoding="utf-8")
    aoe.run("index", "-q", "-m", peers / "models" / MODEL, "--dtype", "f32", "-o", "texts.index", "texts.txt")
    for form in ("npy", "faiss", "jsonl"):
        aoe.run("index", "-q", "-o", "texts.index", "--export", form, "--export-to", f"out.{form}")
    return tmp_path


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_formats_are_equal(index):
    vectors = np.load("out.npy")
    flat = faiss.read_index("out.faiss")
    passages = lines(index / "out.jsonl")
    assert isinstance(flat, faiss.IndexFlatIP)
    assert vectors.dtype == np.float32 and vectors.shape == (flat.ntotal, flat.d) == (len(passages), 384)
    assert np.array_equal(flat.reconstruct_n(0, flat.ntotal), vectors)
    assert np.array_equal(np.array([p.pop("vector") for p in passages], np.float32), vectors)
    assert lines(index / "out.npy.jsonl") == lines(index / "out.faiss.jsonl") == passages


def test_faiss_writes_the_same_file(index):
    flat = faiss.IndexFlatIP(384)
    flat.add(np.load("out.npy"))
    faiss.write_index(flat, "faiss.faiss")
    assert (index / "faiss.faiss").read_bytes() == (index / "out.faiss").read_bytes()


def test_search_finds_the_neighbors_of_faiss(aoe, peers, index):
    model = peers / "models" / MODEL
    aoe.run("embed", "-q", "-m", model, "--dtype", "f32", "--normalize", "queries.txt", "-o", "queries.npy")
    scores, rows = faiss.read_index("out.faiss").search(np.load("queries.npy"), 5)
    names = [p["name"] for p in lines(index / "out.faiss.jsonl")]
    done = aoe.run("search", "-q", "-i", "texts.index", "--dtype", "f32", "--mode", "dense", "-k", 5, "--json",
                   "--queries", "queries.txt")
    answers = [json.loads(line)["hits"] for line in done.stdout.splitlines()]
    assert len(answers) == 20
    for answer, score, row in zip(answers, scores, rows):
        assert np.allclose([hit["score"] for hit in answer], score, atol=1e-5)
        if np.min(-np.diff(score)) > 1e-5:
            assert [hit["name"] for hit in answer] == [names[i] for i in row]
