# SPDX-License-Identifier: MIT
"""Compares the default model, converted to float32, with sentence-transformers. The model is stored as int8, which
sentence-transformers must reject, because it would use the integers without their scales."""
import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from conftest import ROOT, assert_equal
from test_sentence_transformers import sentences

MODEL = ROOT / "models/aoe-small-en"
DIMS = (384, 192, 96)
TEXTS = ["", "A plane is taking off.", "Ünïcödé ☃ 12.5 µm", "flow past a flat plate " * 200] + sentences(100, 31)


@pytest.fixture(scope="module")
def converted(aoe, tmp_path_factory):
    """The default model with float32 weights."""
    output = tmp_path_factory.mktemp("default") / "f32"
    aoe.run("convert", "-q", "-m", MODEL, "--dtype", "f32", "-o", output)
    return output


def test_tokens(aoe, converted):
    reference = SentenceTransformer(str(converted), device="cpu")
    limit = reference.max_seq_length
    want = [reference.tokenizer(text, truncation=True, max_length=limit)["input_ids"] for text in TEXTS]
    assert aoe.tokenize(MODEL, TEXTS, "--max-length", limit) == want


@pytest.mark.parametrize("dims", DIMS)
def test_embeddings(aoe, converted, dims):
    """The int8 weights and their float32 copy have the same embeddings in aoe, and those of sentence-transformers are
    equal."""
    reference = SentenceTransformer(str(converted), device="cpu", truncate_dim=dims)
    want = reference.encode(TEXTS, normalize_embeddings=True, show_progress_bar=False)
    got = aoe.embed(MODEL, TEXTS, "--dims", dims)
    assert want.shape == (len(TEXTS), dims)
    assert_equal(got, want, 1e-5)
    assert np.array_equal(got, aoe.embed(converted, TEXTS, "--dims", dims))


def test_int8_is_rejected():
    with pytest.raises(Exception, match="AoeInt8"):
        SentenceTransformer(str(MODEL), device="cpu")
