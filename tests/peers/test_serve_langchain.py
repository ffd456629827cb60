# SPDX-License-Identifier: MIT
"""Sends requests to `aoe serve` with OpenAIEmbeddings of LangChain. By default, this class sends token ids of OpenAI's
tokenizer, which no other model can read: the server rejects them with the remedy in the message."""
import asyncio
import importlib.util
import pathlib

import numpy as np
import openai
import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_openai import OpenAIEmbeddings

TEXTS = ["The food was delicious", "a", "zwei Wörter", "The waiter was friendly", "many words " * 60]


@pytest.fixture(autouse=True)
def tiktoken_files(monkeypatch):
    """OpenAI's tokenizer reads its vocabulary from the files in the package of LlamaIndex, not from the network."""
    package = pathlib.Path(importlib.util.find_spec("llama_index.core").origin).parent
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(package / "_static" / "tiktoken_cache"))


def embeddings(served, **options):
    return OpenAIEmbeddings(base_url=served.url + "/v1", api_key="-", model="minilm", max_retries=0, **options)


def test_documents_and_query(aoe, served):
    client = embeddings(served, check_embedding_ctx_length=False)
    want = aoe.embed(served.minilm, TEXTS, dtype="auto")
    np.testing.assert_array_equal(np.array(client.embed_documents(TEXTS), np.float32), want)
    np.testing.assert_array_equal(np.array(client.embed_query(TEXTS[0]), np.float32), want[0])
    got = asyncio.run(client.aembed_documents(TEXTS))
    np.testing.assert_array_equal(np.array(got, np.float32), want)


def test_dimensions(aoe, served):
    client = embeddings(served, check_embedding_ctx_length=False, dimensions=100)
    want = aoe.embed(served.minilm, TEXTS, "--dims", 100, "--normalize", dtype="auto")
    np.testing.assert_array_equal(np.array(client.embed_documents(TEXTS), np.float32), want)


def test_prompt(aoe, served):
    client = OpenAIEmbeddings(base_url=served.url + "/v1", api_key="-", model="prompted",
                              check_embedding_ctx_length=False, model_kwargs={"extra_body": {"input_type": "query"}})
    want = aoe.embed(served.prompted, TEXTS, "--prompt-name", "query", dtype="auto")
    np.testing.assert_array_equal(np.array(client.embed_documents(TEXTS), np.float32), want)


def test_token_ids_are_rejected(served):
    client = embeddings(served, tiktoken_model_name="text-embedding-3-small")
    for call in (lambda: client.embed_documents(TEXTS), lambda: client.embed_query("a text")):
        with pytest.raises(openai.BadRequestError) as caught:
            call()
        assert "token ids" in caught.value.message
        assert "OpenAIEmbeddings(check_embedding_ctx_length=False)" in caught.value.message


def test_vector_store(served):
    """A search in LangChain finds the text with the same meaning."""
    store = InMemoryVectorStore(embeddings(served, check_embedding_ctx_length=False))
    store.add_texts(["The certificate expires every 90 days.", "Water the tomatoes in the evening.",
                     "The meeting was moved to Friday."])
    assert "tomatoes" in store.similarity_search("when to pour water on vegetables", k=1)[0].page_content
