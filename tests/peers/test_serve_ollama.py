# SPDX-License-Identifier: MIT
"""Sends requests with ollama's client, with LangChain's OllamaEmbeddings, and as Open WebUI does, to `aoe serve`. Every
vector must have the bits of the vector of `aoe embed`."""
import asyncio
import re

import numpy as np
import ollama
import pytest
from langchain_ollama import OllamaEmbeddings

from serve import Server

TEXTS = ["What is Deep Learning?", "Today is a \"nice\" day", "ein Text mit Umlauten: äöü", "a", "文字"]
LONG = "the first words of the text " + "and then many more words " * 100 + "with an end"


@pytest.fixture
def client(served):
    """The client of a program in which only the URL was changed."""
    return ollama.Client(host=served.url)


@pytest.fixture
def vectors(aoe, served):
    return aoe.embed(served.minilm, TEXTS, "--normalize", dtype="auto")


def equal(got, want):
    np.testing.assert_array_equal(np.array(got, np.float32), want)


@pytest.mark.parametrize("model", ["minilm", "minilm:latest"])
def test_embed(client, aoe, served, vectors, model):
    got = client.embed(model=model, input=TEXTS)
    equal(got.embeddings, vectors)
    equal(got["embeddings"], vectors)
    assert got.model == model
    assert got.prompt_eval_count == sum(map(len, aoe.tokenize(served.minilm, TEXTS)))
    assert 0 <= got.load_duration < got.total_duration
    equal(client.embed(model=model, input=TEXTS[0]).embeddings, vectors[:1])


def test_asynchronous_client(served, vectors):
    async def run():
        client = ollama.AsyncClient(host=served.url)
        return await asyncio.gather(*(client.embed("minilm", text) for text in TEXTS))
    for got, vector in zip(asyncio.run(run()), vectors, strict=True):
        equal(got.embeddings, [vector])


def test_settings(client, aoe, served, vectors):
    """Settings of text generation have no effect on embeddings."""
    options = ollama.Options(temperature=0.5, num_ctx=8192, num_thread=3, stop=["a"])
    equal(client.embed("minilm", TEXTS, keep_alive="10m", truncate=True, options=options).embeddings, vectors)
    equal(client.embed("minilm", TEXTS, keep_alive=-1, options={"seed": 1, "num_ctx": None}).embeddings, vectors)
    body = {"model": "minilm", "input": "a", "keep_alive": 0, "options": {"seed": 1, "num_ctx": 8192, "top_p": None}}
    status, headers, _ = served.server.post("/api/embed", body)
    assert status == 200 and headers["x-aoe-ignored"] == "options.seed"


@pytest.mark.parametrize("dims", [0, 1, 100, 384])
def test_dimensions(client, aoe, served, vectors, dims):
    want = aoe.embed(served.minilm, TEXTS, "--normalize", "--dims", dims, dtype="auto") if dims else vectors
    equal(client.embed("minilm", TEXTS, dimensions=dims).embeddings, want)


def test_embeddings(client, aoe, served):
    """The older route, whose embeddings are not scaled to unit length."""
    want = aoe.embed(served.minilm, TEXTS, "--no-normalize", dtype="auto")
    assert not np.allclose(np.linalg.norm(want, axis=1), 1, atol=0.01)
    for text, vector in zip(TEXTS, want, strict=True):
        equal(client.embeddings(model="minilm", prompt=text)["embedding"], vector)


def test_empty_requests(client):
    """With such requests, programs load a model in advance."""
    assert client.embed("prompted", []).embeddings == []
    assert client.embed("prompted", "").embeddings == []
    assert client.embed("prompted").embeddings == []
    assert client.embeddings("prompted", "").embedding == []
    assert client.embeddings("prompted").embedding == []
    assert "prompted:latest" in [model.model for model in client.ps().models]


def test_length(client, aoe, served):
    want = aoe.embed(served.minilm, [LONG], "--normalize", dtype="auto")
    equal(client.embed("minilm", LONG).embeddings, want)
    equal(client.embed("minilm", LONG, truncate=True, options={"num_ctx": 256}).embeddings, want)
    want = aoe.embed(served.minilm, [LONG], "--normalize", "--max-length", 20, dtype="auto")
    got = client.embed("minilm", LONG, options={"num_ctx": 20})
    equal(got.embeddings, want)
    assert got.prompt_eval_count == 20
    tokens = len(aoe.tokenize(served.minilm, [LONG], "--max-length", "10000")[0])
    for options, limit in (({}, 256), ({"num_ctx": 20}, 20)):
        with pytest.raises(ollama.ResponseError) as caught:
            client.embed("minilm", ["a", LONG], truncate=False, options=options)
        assert caught.value.status_code == 400
        assert caught.value.error == ("the input length exceeds the context length: "
                                      f"text 1 has {tokens} tokens, the maximum is {limit}")


def test_unknown_model(client):
    for call in (lambda: client.embed("llama3.2", "a"), lambda: client.embeddings("llama3.2", "a"),
                 lambda: client.show("llama3.2")):
        with pytest.raises(ollama.ResponseError) as caught:
            call()
        assert caught.value.status_code == 404
        assert caught.value.error == "model 'llama3.2' not found; the server has: minilm, prompted"


def test_unsupported_route(client):
    with pytest.raises(ollama.ResponseError) as caught:
        client.generate("minilm", "a")
    assert caught.value.status_code == 404 and "/api/generate" in caught.value.error


def test_models(client, served):
    models = client.list().models
    assert [model.model for model in models] == ["minilm:latest", "prompted:latest"]
    size = sum(file.stat().st_size for file in served.minilm.iterdir() if file.is_file())
    assert models[0].size == size and re.fullmatch("[0-9a-f]{64}", models[0].digest)
    newest = max(file.stat().st_mtime for file in served.minilm.iterdir() if file.is_file())
    assert models[0].modified_at.timestamp() == int(newest)
    details = models[0].details
    assert details.family == "bert" and details.parameter_size == "22.6M" and details.quantization_level == "F32"
    assert client.ps().models[0].context_length == 256


def test_show(client):
    got = client.show("minilm")
    assert got.capabilities == ["embedding"] and got.details.format == "safetensors"
    assert got.modelinfo["general.architecture"] == "bert" and got.modelinfo["bert.embedding_length"] == 384
    assert got.modelinfo["bert.context_length"] == 256


def test_langchain(served, vectors):
    """With validate_model_on_init, LangChain looks for the model in the list first."""
    embeddings = OllamaEmbeddings(model="minilm", base_url=served.url, validate_model_on_init=True)
    equal(embeddings.embed_documents(TEXTS), vectors)
    equal(embeddings.embed_query(TEXTS[0]), vectors[0])
    equal(asyncio.run(embeddings.aembed_documents(TEXTS)), vectors)
    limited = OllamaEmbeddings(model="minilm", base_url=served.url, num_ctx=8192, dimensions=100, keep_alive=300)
    assert np.shape(limited.embed_documents(TEXTS)) == (len(TEXTS), 100)
    with pytest.raises(ValueError, match="not found"):
        OllamaEmbeddings(model="other", base_url=served.url, validate_model_on_init=True)


def test_open_webui(served, vectors):
    """The requests with which Open WebUI checks a connection, lists models, and embeds documents."""
    status, _, version = served.server.get("/api/version", {"Authorization": "Bearer none"})
    # Open WebUI parses the version in this way
    assert status == 200 and tuple(map(int, re.sub(r"^v|-.*", "", version["version"]).split("."))) >= (0, 3, 0)
    status, _, tags = served.server.get("/api/tags")
    assert status == 200 and all(model["name"] == model["model"] for model in tags["models"])
    status, _, running = served.server.get("/api/ps")
    assert status == 200 and running["models"][0]["name"] == "minilm:latest"
    headers = {"Authorization": "Bearer ", "X-OpenWebUI-User-Name": "a%20name"}
    status, _, got = served.server.post("/api/embed", {"input": TEXTS, "model": "minilm:latest"}, headers)
    assert status == 200
    equal(got["embeddings"], vectors)


def test_key(aoe, served, tmp_path, vectors):
    (tmp_path / "key").write_text("secret-of-the-test\n")
    (tmp_path / "key").chmod(0o600)
    with Server(aoe.program, "-m", f"minilm={served.minilm}", "--api-key-file", tmp_path / "key") as server:
        with pytest.raises(ollama.ResponseError) as caught:
            ollama.Client(host=server.url).embed("minilm", TEXTS)
        assert caught.value.status_code == 401
        client = ollama.Client(host=server.url, headers={"Authorization": "Bearer secret-of-the-test"})
        equal(client.embed("minilm", TEXTS).embeddings, vectors)
