# SPDX-License-Identifier: MIT
"""Sends requests to `aoe serve` with OpenAIEmbedding of LlamaIndex."""
import asyncio

import numpy as np
import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.embeddings.openai import OpenAIEmbedding

TEXTS = ["The food was delicious", "a", "zwei Wörter", "The waiter was friendly", "many words " * 60]


@pytest.fixture
def embedding(served):
    """LlamaIndex checks `model` against OpenAI's models; `model_name` is sent as it is."""
    return OpenAIEmbedding(api_base=served.url + "/v1", api_key="-", model_name="minilm", max_retries=0)


def test_texts_and_query(aoe, served, embedding):
    want = aoe.embed(served.minilm, TEXTS, dtype="auto")
    np.testing.assert_array_equal(np.array(embedding.get_text_embedding_batch(TEXTS), np.float32), want)
    np.testing.assert_array_equal(np.array(embedding.get_text_embedding(TEXTS[0]), np.float32), want[0])
    np.testing.assert_array_equal(np.array(embedding.get_query_embedding(TEXTS[1]), np.float32), want[1])
    got = asyncio.run(embedding.aget_text_embedding_batch(TEXTS))
    np.testing.assert_array_equal(np.array(got, np.float32), want)


def test_batches(aoe, served):
    """The client divides the texts among requests of embed_batch_size texts."""
    texts = [f"text {i}" for i in range(250)]
    client = OpenAIEmbedding(api_base=served.url + "/v1", api_key="-", model_name="minilm", embed_batch_size=100)
    want = aoe.embed(served.minilm, texts, dtype="auto")
    np.testing.assert_array_equal(np.array(client.get_text_embedding_batch(texts), np.float32), want)


def test_dimensions(aoe, served):
    client = OpenAIEmbedding(api_base=served.url + "/v1", api_key="-", model_name="minilm", dimensions=100)
    want = aoe.embed(served.minilm, TEXTS, "--dims", 100, "--normalize", dtype="auto")
    np.testing.assert_array_equal(np.array(client.get_text_embedding_batch(TEXTS), np.float32), want)


def test_index(embedding):
    """A search in LlamaIndex finds the text with the same meaning."""
    documents = [Document(text=text) for text in ("The certificate expires every 90 days.",
                                                  "Water the tomatoes in the evening.",
                                                  "The meeting was moved to Friday.")]
    index = VectorStoreIndex.from_documents(documents, embed_model=embedding)
    found = index.as_retriever(similarity_top_k=1).retrieve("when to pour water on vegetables")
    assert "tomatoes" in found[0].text
