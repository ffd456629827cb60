# SPDX-License-Identifier: MIT
"""LangChain: embeddings in a vector store, the reranker, and the retriever over an index."""
import asyncio

import numpy as np
import pytest
from conftest import PAIRED, QUERY, TEXTS, expected
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

import aoe
from aoe.langchain import AoeEmbeddings, AoeReranker, AoeRetriever


def test_embeddings_use_the_prompts(prompted):
    q, d = expected(prompted, ["food"], TEXTS)
    embeddings = AoeEmbeddings(prompted)
    assert np.array_equal(np.float32(embeddings.embed_documents(TEXTS)), d)
    assert np.array_equal(np.float32(embeddings.embed_query("food")), q[0])
    assert embeddings.embed_documents([]) == []
    assert np.array_equal(np.float32(asyncio.run(embeddings.aembed_documents(TEXTS))), d)
    for call in (lambda: embeddings.embed_query(None), lambda: embeddings.embed_documents([None]),
                 lambda: AoeEmbeddings(aoe.SentenceTransformer(), threads=1)):
        with pytest.raises(TypeError):
            call()


def test_vector_store(model):
    store = InMemoryVectorStore(AoeEmbeddings(model))
    store.add_documents([Document(page_content=text) for text in TEXTS])
    found = store.similarity_search_with_score("preparing a meal", k=4)
    cosines = model.similarity(model.encode_query(["preparing a meal"]), model.encode_document(TEXTS))[0]
    assert [d.page_content for d, _ in found] == [TEXTS[i] for i in np.argsort(-cosines)]
    assert np.allclose([score for _, score in found], np.sort(cosines)[::-1], atol=1e-5)


def test_reranker(ranker, ranks):
    documents = [Document(page_content=text, metadata={"n": i}, id=str(i)) for i, text in enumerate(PAIRED)]
    found = AoeReranker(model=ranker, top_n=2).compress_documents(documents, QUERY)
    assert [(d.page_content, d.metadata["relevance_score"]) for d in found] == ranks[:2]
    assert [d.id for d in found] == [str(d.metadata["n"]) for d in found]
    assert "relevance_score" not in documents[0].metadata
    with aoe.CrossEncoder(ranker) as opened:
        every = AoeReranker(model=opened, top_n=None)
        assert len(asyncio.run(every.acompress_documents(documents, QUERY))) == 4
        assert every.compress_documents([], QUERY) == []
    for arguments in ({"model": ranker, "top_n": 0}, {"model": ranker, "other": 1}, {}):
        with pytest.raises(ValueError):
            AoeReranker(**arguments)


def test_retriever(tmp_path, model):
    with aoe.Index(tmp_path / "i", model) as index:
        index.add([(f"d{i}", text, {"year": 2020 + i}) for i, text in enumerate(TEXTS)])
        retriever = AoeRetriever(index=index, k=2, mode="dense")
        hits = index.search("food", k=2, mode="dense")
        found = retriever.invoke("food")
        assert [(d.page_content, d.metadata["source"], d.metadata["score"], d.id) for d in found] == \
            [(h.text, h.id, h.score, h.passage) for h in hits]
        assert [d.metadata["year"] for d in retriever.invoke("food", where="year = 2023", k=1)] == ["2023"]
        assert retriever.batch(["food"]) == [found] and asyncio.run(retriever.ainvoke("food")) == found
        chain = retriever | (lambda documents: [d.metadata["source"] for d in documents])
        assert chain.invoke("food") == [h.id for h in hits]
        with pytest.raises(ValueError):
            retriever.invoke("food", where="nothing = 1")
