# SPDX-License-Identifier: MIT
"""Haystack: the embedders and the ranker in pipelines, and their configurations."""
import numpy as np
import pytest
from conftest import PAIRED, QUERY, TEXTS, expected
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

import aoe
from aoe.haystack import AoeDocumentEmbedder, AoeRanker, AoeTextEmbedder


def test_pipeline(prompted):
    q, d = expected(prompted, ["preparing a meal"], TEXTS)
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    documents = AoeDocumentEmbedder(prompted).run([Document(content=text) for text in TEXTS])["documents"]
    assert np.array_equal(np.float32([document.embedding for document in documents]), d)
    store.write_documents(documents)
    pipeline = Pipeline()
    pipeline.add_component("embedder", AoeTextEmbedder(prompted))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=4))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    found = pipeline.run({"embedder": {"text": "preparing a meal"}})["retriever"]["documents"]
    cosines = aoe.util.cos_sim(q, d)[0]
    assert [document.content for document in found] == [TEXTS[i] for i in np.argsort(-cosines)]
    text = pipeline.dumps()
    assert prompted in text


def test_meta_fields(model):
    document = Document(content=TEXTS[0], meta={"title": "Food", "none": None})
    embedder = AoeDocumentEmbedder(model, meta_fields_to_embed=["title", "none", "missing"])
    found = embedder.run([document])["documents"][0]
    assert np.array_equal(np.float32(found.embedding), model.encode_document("Food\n" + TEXTS[0]))
    assert document.embedding is None and found.meta == document.meta
    assert embedder.run([])["documents"] == []


def test_ranker(ranker, ranks):
    documents = [Document(content=text) for text in PAIRED]
    found = AoeRanker(ranker, top_k=3).run(QUERY, documents, top_k=2)["documents"]
    assert [(document.content, document.score) for document in found] == ranks[:2]
    assert len(AoeRanker(ranker, top_k=3).run(QUERY, documents)["documents"]) == 3
    assert AoeRanker(ranker).run(QUERY, [])["documents"] == []
    pipeline = Pipeline()
    pipeline.add_component("ranker", AoeRanker(ranker))
    again = pipeline.run({"ranker": {"query": QUERY, "documents": documents}})["ranker"]["documents"]
    assert [document.content for document in again] == [text for text, _ in ranks]


def test_configurations(prompted, ranker):
    for made in (AoeTextEmbedder(), AoeTextEmbedder(prompted), AoeDocumentEmbedder(prompted, ["title"], " "),
                 AoeRanker(ranker, top_k=2)):
        data = made.to_dict()
        assert type(made).from_dict(data).to_dict() == data
    with aoe.SentenceTransformer(truncate_dim=8) as changed, pytest.raises(ValueError, match="save_pretrained"):
        AoeTextEmbedder(changed).to_dict()


def test_wrong_input(ranker):
    for call in (lambda: AoeTextEmbedder().run(None), lambda: AoeTextEmbedder().run(["a"]),
                 lambda: AoeDocumentEmbedder().run("text"), lambda: AoeDocumentEmbedder().run(["text"])):
        with pytest.raises(TypeError):
            call()
    with pytest.raises(ValueError):
        AoeRanker(ranker, top_k=0)
    with pytest.raises(FileNotFoundError):
        AoeTextEmbedder("./missing")
