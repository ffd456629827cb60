# SPDX-License-Identifier: MIT
"""Chroma: the embedding function in a collection on disk, which a second client opens again."""
import chromadb
import numpy as np
import pytest
from conftest import TEXTS, expected

import aoe
from aoe.chroma import AoeEmbeddingFunction


def test_collection(tmp_path, prompted):
    q, d = expected(prompted, ["preparing a meal"], TEXTS)
    client = chromadb.PersistentClient(str(tmp_path / "db"))
    notes = client.create_collection("notes", embedding_function=AoeEmbeddingFunction(prompted))
    notes.add(ids=[str(i) for i in range(4)], documents=TEXTS)
    stored = notes.get(include=["embeddings"])["embeddings"]
    assert np.allclose(np.float32(stored), d, atol=1e-6)  # Chroma has scaled them to unit length
    cosines = aoe.util.cos_sim(q, d)[0]
    found = notes.query(query_texts=["preparing a meal"], n_results=4)
    assert found["documents"][0] == [TEXTS[i] for i in np.argsort(-cosines)]
    assert np.allclose(found["distances"][0], 1 - np.sort(cosines)[::-1], atol=1e-5)  # the space is "cosine"
    again = client.get_collection("notes")  # from the stored configuration
    assert again.query(query_texts=["preparing a meal"], n_results=4)["ids"] == found["ids"]
    assert again.configuration["embedding_function"].get_config() == {"model": prompted}


def test_in_memory_with_the_default_model(model):
    client = chromadb.EphemeralClient()
    notes = client.create_collection("memory", embedding_function=AoeEmbeddingFunction(model))
    notes.add(ids=["a", "b"], documents=TEXTS[:2], metadatas=[{"n": 1}, {"n": 2}])
    assert notes.query(query_texts=["rice"], n_results=1, where={"n": 1})["ids"] == [["a"]]


def test_configuration(prompted):
    assert AoeEmbeddingFunction.build_from_config(AoeEmbeddingFunction().get_config()).model.name is None
    assert not AoeEmbeddingFunction(prompted).is_legacy()
    for arguments in ({"truncate_dim": 64}, {"prompts": {"query": "q: "}}, {"max_seq_length": 32}, {"dtype": "f32"}):
        with aoe.SentenceTransformer(**arguments) as changed, pytest.raises(ValueError, match="save_pretrained"):
            AoeEmbeddingFunction(changed).get_config()
    with pytest.raises(ValueError, match="no option"):
        AoeEmbeddingFunction.validate_config({"model": None, "other": 1})
