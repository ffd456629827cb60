# SPDX-License-Identifier: MIT
"""LlamaIndex: the embedding in a vector index, and the postprocessor."""
import asyncio

import numpy as np
import pytest
from conftest import PAIRED, QUERY, TEXTS, expected
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.schema import NodeWithScore, TextNode

import aoe
from aoe.llama_index import AoeEmbedding, AoeRerank


def test_embeddings_use_the_prompts(prompted):
    q, d = expected(prompted, ["food"], TEXTS)
    embedding = AoeEmbedding(prompted)
    assert embedding.model_name == prompted
    assert np.array_equal(np.float32(embedding.get_text_embedding_batch(TEXTS)), d)
    assert np.array_equal(np.float32(embedding.get_text_embedding(TEXTS[1])), d[1])
    assert np.array_equal(np.float32(embedding.get_query_embedding("food")), q[0])
    assert np.array_equal(np.float32(asyncio.run(embedding.aget_text_embedding_batch(TEXTS))), d)
    assert np.array_equal(np.float32(asyncio.run(embedding.aget_query_embedding("food"))), q[0])
    assert embedding.to_dict()["class_name"] == "AoeEmbedding"
    with pytest.raises(FileNotFoundError):
        AoeEmbedding("./missing")


def test_vector_index(model):
    index = VectorStoreIndex.from_documents([Document(text=text) for text in TEXTS], embed_model=AoeEmbedding(model))
    found = index.as_retriever(similarity_top_k=4).retrieve("preparing a meal")
    cosines = model.similarity(model.encode_query(["preparing a meal"]), model.encode_document(TEXTS))[0]
    assert [n.node.get_content() for n in found] == [TEXTS[i] for i in np.argsort(-cosines)]
    assert np.allclose([n.score for n in found], np.sort(cosines)[::-1], atol=1e-5)


def test_postprocessor(ranker, ranks):
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in PAIRED]
    found = AoeRerank(ranker, top_n=2, keep_retrieval_score=True).postprocess_nodes(nodes, query_str=QUERY)
    assert [(n.node.get_content(), n.score) for n in found] == ranks[:2]
    assert found[0].node.metadata == {"retrieval_score": 0.5}
    with aoe.CrossEncoder(ranker) as opened:
        rerank = AoeRerank(opened)
        fresh = [NodeWithScore(node=TextNode(text=text)) for text in PAIRED]
        assert len(asyncio.run(rerank.apostprocess_nodes(fresh, query_str=QUERY))) == 3
        assert rerank.postprocess_nodes([], query_str=QUERY) == []
        with pytest.raises(ValueError, match="query"):
            rerank.postprocess_nodes(nodes)
    with pytest.raises(ValueError):
        AoeRerank(ranker, top_n=0)
