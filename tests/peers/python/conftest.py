# SPDX-License-Identifier: MIT
"""Models of the tests of adapters: the default model, copies with prompts, and a tiny cross-encoder. `run.sh` runs the
tests, each adapter in an environment of its own."""
import json
import os
import pathlib
import shutil
import struct

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
os.environ.setdefault("AOE_MODEL", str(ROOT / "models" / "aoe-small-en"))

import aoe

TEXTS = ["She cooks rice with vegetables.", "He bakes bread in the oven.", "The train to Berlin is late.",
         "A ticket for the railway costs ten euros."]
PROMPTS = {"query": "query: ", "document": "passage: "}


@pytest.fixture(scope="session")
def model():
    """The default model."""
    with aoe.SentenceTransformer() as opened:
        yield opened


@pytest.fixture(scope="session")
def prompted(tmp_path_factory):
    """The directory of the default model with prompts for queries and documents."""
    path = tmp_path_factory.mktemp("models") / "prompted"
    with aoe.SentenceTransformer(prompts=PROMPTS) as opened:
        opened.save_pretrained(path)
    return str(path)


def expected(path, queries, texts):
    """Returns the vectors that a model with PROMPTS must compute, from encode with explicit prompts."""
    with aoe.SentenceTransformer(path) as opened:
        q = opened.encode(queries, prompt=PROMPTS["query"])
        d = opened.encode(texts, prompt=PROMPTS["document"])
    assert not np.allclose(q, d[0], atol=1e-3)
    return q, d


@pytest.fixture(scope="session")
def ranker(tmp_path_factory):
    """The directory of a cross-encoder of two layers with one output and random weights. Its words are w0 to w34."""
    path = tmp_path_factory.mktemp("models") / "ranker"
    source = ROOT / "tests" / "golden" / "cross_encoders" / "bert"
    shutil.copytree(source, path)
    config = json.loads((path / "config.json").read_text())
    config["num_labels"] = 1
    (path / "config.json").write_text(json.dumps(config))
    data = (path / "model.safetensors").read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header, body, parts, at = json.loads(data[8:8 + size]), data[8 + size:], [], 0
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        if name.startswith("classifier."):  # the second of two outputs remains
            begin, entry["shape"][0] = (begin + end) // 2, 1
        parts.append(body[begin:end])
        entry["data_offsets"] = [at, at + end - begin]
        at += end - begin
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + b"".join(parts))
    return str(path)


QUERY = "w1 w2"
PAIRED = ["w3 w4", "w5", "w6 w7 w8 w9", "w10 w30 w12"]


@pytest.fixture(scope="session")
def ranks(ranker):
    """(text, score) of PAIRED for QUERY, best first, from CrossEncoder.rank."""
    with aoe.CrossEncoder(ranker) as opened:
        found = [(PAIRED[r["corpus_id"]], r["score"]) for r in opened.rank(QUERY, PAIRED)]
    assert found[0][1] - found[-1][1] > 1e-3
    assert [text for text, _ in found] != PAIRED
    return found
