# SPDX-License-Identifier: MIT
"""txtai: a database whose vectors the package computes, with the prompts of the model."""
import numpy as np
import pytest
import txtai
from conftest import TEXTS, expected

import aoe
from aoe.txtai import config, transform


def test_database(prompted):
    q, d = expected(prompted, ["preparing a meal"], TEXTS)
    cosines = aoe.util.cos_sim(q, d)[0]
    embeddings = txtai.Embeddings(config(prompted, content=True))
    embeddings.index(TEXTS)
    found = embeddings.search("preparing a meal", 4)
    assert [row["text"] for row in found] == [TEXTS[i] for i in np.argsort(-cosines)]
    assert np.allclose([row["score"] for row in found], np.sort(cosines)[::-1], atol=1e-5)


def test_saved_database(tmp_path, model):
    embeddings = txtai.Embeddings(config(model))
    assert "instructions" not in config(model) or any(model.prompts.values())
    embeddings.index(TEXTS)
    expected_rows = embeddings.search("railway", 2)
    embeddings.save(str(tmp_path / "db"))
    again = txtai.Embeddings()
    again.load(str(tmp_path / "db"), config=config(model))
    assert again.search("railway", 2) == expected_rows
    again.upsert([(9, "A new railway station.", None)])
    assert again.search("railway station", 1)[0][0] == 9


def test_transform(model):
    function = transform(model)
    assert np.array_equal(function(TEXTS), model.encode(TEXTS, prompt=""))
    with pytest.raises(TypeError):
        function([None])
    with aoe.SentenceTransformer(prompts={"query": "a {text} b"}) as changed, pytest.raises(NotImplementedError):
        config(changed)
