# SPDX-License-Identifier: MIT
"""Compares `aoe embed --precision` with quantize_embeddings of sentence-transformers: equal embeddings must give equal
bytes."""
import json

import numpy as np
import pytest

from test_sentence_transformers import sentences

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")
MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
def texts(tmp_path, monkeypatch):
    """The current directory, with the files documents.txt and queries.txt."""
    monkeypatch.chdir(tmp_path)
    for name, n, seed in (("documents", 300, 21), ("queries", 50, 22)):
        (tmp_path / f"{name}.txt").write_text("\n".join(sentences(n, seed)) + "\n", encoding="utf-8")


@pytest.fixture
def embed(aoe, peers, texts):
    def embed(name, *options):
        aoe.run("embed", "-q", "-m", peers / "models" / MODEL, "--dtype", "f32", f"{name}.txt", "-o", "out.npy",
                *options)
        return np.load("out.npy")

    return embed


def assert_same(got, want):
    assert got.dtype == want.dtype and got.shape == want.shape
    assert got.tobytes() == want.tobytes()


@pytest.mark.parametrize("dims", [384, 100, 13, 1])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_ranges_of_the_texts(embed, precision, dims):
    from sentence_transformers.util import quantize_embeddings

    want = quantize_embeddings(embed("documents", "--dims", dims), precision=precision)
    assert_same(embed("documents", "--dims", dims, "--precision", precision), want)


@pytest.mark.parametrize("precision", ["int8", "uint8"])
def test_calibration(embed, precision):
    """Queries with the ranges of documents: from texts, from embeddings of numpy, and from files in both directions."""
    from sentence_transformers.util import quantize_embeddings

    documents, queries = embed("documents"), embed("queries")
    want = quantize_embeddings(queries, precision=precision, calibration_embeddings=documents)
    options = ("queries", "--precision", precision)
    assert_same(embed(*options, "--calibrate", "documents.txt", "--save-ranges", "ranges.json"), want)
    np.save("documents.npy", documents.astype(np.float64))
    assert_same(embed(*options, "--calibrate", "documents.npy", "--save-ranges", "ranges.npy"), want)
    ranges = np.stack([documents.min(axis=0), documents.max(axis=0)])
    assert_same(np.load("ranges.npy"), ranges)
    assert_same(np.array(json.load(open("ranges.json")), dtype=np.float32), ranges)
    assert_same(quantize_embeddings(queries, precision=precision, ranges=np.array(json.load(open("ranges.json")))),
                want)
    for kind in (np.float32, np.float64):
        np.save("ranges.npy", ranges.astype(kind))
        assert_same(embed(*options, "--ranges", "ranges.npy"), want)
    json.dump(ranges.tolist(), open("ranges.json", "w"))
    assert_same(embed(*options, "--ranges", "ranges.json"), want)
    json.dump((ranges / 2).tolist(), open("ranges.json", "w"))  # narrow ranges, so that values are limited
    assert_same(embed(*options, "--ranges", "ranges.json"),
                quantize_embeddings(queries, precision=precision, ranges=ranges / 2))


@pytest.mark.parametrize("precision", PRECISIONS)
def test_text_formats(aoe, peers, embed, precision):
    """The numbers of JSON lines and tables are those of the .npy file."""
    want = embed("documents", "--precision", precision)
    command = ("embed", "-q", "-m", peers / "models" / MODEL, "--dtype", "f32", "documents.txt", "--precision",
               precision)
    lines = aoe.run(*command).stdout.splitlines()
    assert_same(np.array([json.loads(line)["embedding"] for line in lines], dtype=want.dtype), want)
    rows = aoe.run(*command, "--format", "tsv").stdout.splitlines()
    assert_same(np.array([row.split("\t") for row in rows], dtype=np.float64).astype(want.dtype), want)


def test_limits_of_the_ranges(aoe, peers, texts):
    """A single text gives no ranges, and fewer than 100 texts give a warning, as in sentence-transformers."""
    from sentence_transformers.util import quantize_embeddings

    with pytest.raises(ValueError):
        quantize_embeddings(np.ones((1, 4), dtype=np.float32), precision="int8")
    command = ("embed", "-q", "-m", peers / "models" / MODEL, "--precision", "int8", "--format", "tsv")
    aoe.run(*command, stdin="one\n", fails=True)
    assert "99 texts" in aoe.run(*command, stdin="\n".join(sentences(99, 3))).stderr
    assert not aoe.run(*command, stdin="\n".join(sentences(100, 3))).stderr
