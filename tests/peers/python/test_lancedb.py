# SPDX-License-Identifier: MIT
"""LanceDB: a table with vectors that the embedding function computes, opened again from its schema."""
import lancedb
import numpy as np
import pytest
from conftest import TEXTS, expected
from lancedb.embeddings import get_registry
from lancedb.pydantic import LanceModel, Vector

import aoe
from aoe.lancedb import AoeEmbeddingFunction


def test_table(tmp_path, prompted):
    q, d = expected(prompted, ["preparing a meal"], TEXTS)
    function = get_registry().get("aoe").create(model=prompted)
    assert isinstance(function, AoeEmbeddingFunction) and function.ndims() == 384

    class Note(LanceModel):
        text: str = function.SourceField()
        vector: Vector(function.ndims()) = function.VectorField()

    table = lancedb.connect(str(tmp_path)).create_table("notes", schema=Note)
    table.add([{"text": text} for text in TEXTS])
    rows = table.to_arrow().to_pylist()
    assert np.array_equal(np.float32([row["vector"] for row in rows]), d)
    again = lancedb.connect(str(tmp_path)).open_table("notes")  # the function comes from the schema
    found = again.search("preparing a meal").distance_type("cosine").limit(4).to_list()
    cosines = aoe.util.cos_sim(q, d)[0]
    assert [row["text"] for row in found] == [TEXTS[i] for i in np.argsort(-cosines)]
    assert np.allclose([row["_distance"] for row in found], 1 - np.sort(cosines)[::-1], atol=1e-5)
    assert len(again.search("preparing a meal").limit(2).to_pydantic(Note)) == 2


def test_default_model_and_missing_texts(model):
    function = get_registry().get("aoe").create()
    vectors = function.compute_source_embeddings([TEXTS[0], None, TEXTS[1]])
    assert vectors[1] is None and np.array_equal(np.float32([vectors[0], vectors[2]]), model.encode_document(TEXTS[:2]))
    assert np.array_equal(np.float32(function.compute_query_embeddings("food")[0]), model.encode_query("food"))
    assert function.safe_model_dump() == {}
    with pytest.raises(TypeError):
        function.compute_source_embeddings([5])
    with pytest.raises(Exception, match="must be a string"):  # without retries, which would take minutes
        function.compute_source_embeddings_with_retry([5])
