# SPDX-License-Identifier: MIT
"""BERTopic: topics of texts about two subjects, with the backend of the package."""
import numpy as np
import pytest
from bertopic import BERTopic
from bertopic.backend import BaseEmbedder
from conftest import TEXTS, expected
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from aoe.bertopic import AoeBackend

FOODS = ["rice", "bread", "soup", "fish", "beans", "pasta", "corn", "eggs", "cake", "stew"]
CITIES = ["Berlin", "Rome", "Paris", "Oslo", "Vienna", "Bern", "Madrid", "Prague", "Lisbon", "Kiel"]
MANY = [f"She cooks {food} in the kitchen." for food in FOODS] + [f"The train to {city} is late." for city in CITIES]


def test_backend(prompted, model):
    _, d = expected(prompted, TEXTS, TEXTS)
    backend = AoeBackend(prompted)
    assert isinstance(backend, BaseEmbedder)
    assert np.array_equal(backend.embed_documents(TEXTS), d) and np.array_equal(backend.embed_words(TEXTS), d)
    assert np.array_equal(AoeBackend(model).embed(np.array(TEXTS)), model.encode_document(TEXTS))
    with pytest.raises(TypeError):
        backend.embed([None])


def test_topics(model):
    topics = BERTopic(embedding_model=AoeBackend(model), umap_model=PCA(n_components=5, random_state=0),
                      hdbscan_model=KMeans(n_clusters=2, random_state=0, n_init=10))
    found, _ = topics.fit_transform(MANY)
    assert found[:10] == [found[0]] * 10 and found[10:] == [1 - found[0]] * 10
    words = {word for word, _ in topics.get_topic(found[0])}
    assert "kitchen" in words and "train" not in words
    again, _ = topics.transform(["He bakes bread in the oven."])
    assert list(again) == [found[0]]
    similar, scores = topics.find_topics("railway", top_n=1)
    assert similar == [found[10]] and scores[0] > 0
