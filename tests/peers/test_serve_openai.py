# SPDX-License-Identifier: MIT
"""Sends requests to `aoe serve` with the client of OpenAI. Every vector must have the bits of the vector of
`aoe embed`."""
import asyncio

import numpy as np
import openai
import pytest

from serve import Server

TEXTS = ["The food was delicious and the waiter was friendly", "a", "zwei Wörter", "文字", "many words " * 60]
LONG = "many words " * 400


@pytest.fixture
def client(served):
    """The client of a program in which only the URL was changed."""
    return openai.OpenAI(base_url=served.url + "/v1", api_key="-", max_retries=0)


def vectors(answer):
    """The vectors of an answer in the order of their indexes, as float32."""
    assert [item.index for item in answer.data] == list(range(len(answer.data)))
    return np.array([item.embedding for item in answer.data], dtype=np.float32)


@pytest.mark.parametrize("options", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}],
                         ids=["default", "float", "base64"])
def test_embeddings(aoe, served, client, options):
    """Without an encoding, the client requests base64 and decodes it. If base64 is requested, it does not decode it."""
    answer = client.embeddings.create(model="minilm", input=TEXTS, **options)
    if options.get("encoding_format") == "base64":
        import base64
        for item in answer.data:
            item.embedding = np.frombuffer(base64.b64decode(item.embedding), "<f4")
    np.testing.assert_array_equal(vectors(answer), aoe.embed(served.minilm, TEXTS, dtype="auto"))
    assert answer.object == "list" and answer.model == "minilm" and answer.data[0].object == "embedding"
    tokens = sum(map(len, aoe.tokenize(served.minilm, TEXTS)))
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == tokens


def test_one_text(aoe, served, client):
    answer = client.embeddings.create(model="minilm", input=TEXTS[0])
    np.testing.assert_array_equal(vectors(answer), aoe.embed(served.minilm, TEXTS[:1], dtype="auto"))


@pytest.mark.parametrize("name", ["minilm", "text-embeddings-inference", "tei", "default"])
def test_names_of_the_first_model(aoe, served, client, name):
    """Clients of text-embeddings-inference send one of its names."""
    answer = client.embeddings.create(model=name, input=TEXTS[0])
    np.testing.assert_array_equal(vectors(answer), aoe.embed(served.minilm, TEXTS[:1], dtype="auto"))


@pytest.mark.parametrize("dims", [1, 128, 384])
def test_dimensions(aoe, served, client, dims):
    answer = client.embeddings.create(model="minilm", input=TEXTS, dimensions=dims)
    want = aoe.embed(served.minilm, TEXTS, "--dims", dims, "--normalize", dtype="auto")
    np.testing.assert_array_equal(vectors(answer), want)


@pytest.mark.parametrize("body, prompt", [({"prompt_name": "query"}, "query"), ({"input_type": "query"}, "query"),
                                          ({"input_type": "document"}, "document"),
                                          ({"input_type": "search_document"}, "document")], ids=str)
def test_prompts(aoe, served, client, body, prompt):
    answer = client.embeddings.create(model="prompted", input=TEXTS, extra_body=body)
    want = aoe.embed(served.prompted, TEXTS, "--prompt-name", prompt, dtype="auto")
    np.testing.assert_array_equal(vectors(answer), want)


def test_many_texts(aoe, served, client):
    texts = [f"text {i}" for i in range(2048)]
    answer = client.embeddings.create(model="minilm", input=texts)
    np.testing.assert_array_equal(vectors(answer), aoe.embed(served.minilm, texts, dtype="auto"))


def test_async_client(aoe, served):
    """Many requests at the same time: each answer belongs to the text of its own request."""
    texts = [f"text {i} with {'more ' * (i % 13)}words" for i in range(200)]

    async def embed_all():
        async with openai.AsyncOpenAI(base_url=served.url + "/v1", api_key="-", max_retries=0) as client:
            return await asyncio.gather(*[client.embeddings.create(model="minilm", input=text) for text in texts])
    got = np.concatenate([vectors(answer) for answer in asyncio.run(embed_all())])
    np.testing.assert_array_equal(got, aoe.embed(served.minilm, texts, dtype="auto"))


def test_truncation(aoe, served, client):
    raw = client.embeddings.with_raw_response.create(model="minilm", input=[LONG, "a"])
    assert raw.headers["x-aoe-truncated"] == "1"
    np.testing.assert_array_equal(vectors(raw.parse()), aoe.embed(served.minilm, [LONG, "a"], dtype="auto"))
    with pytest.raises(openai.APIStatusError) as caught:
        client.embeddings.create(model="minilm", input=LONG, extra_body={"truncate": False})
    tokens = len(aoe.tokenize(served.minilm, [LONG], "--max-length", "10000")[0])
    assert f"256 tokens. Given: {tokens}" in caught.value.message


def test_models(served, client):
    models = client.models.list()
    assert [model.id for model in models] == ["minilm", "prompted"]
    assert all(model.object == "model" for model in models)


# (body, class of the exception, param, part of the message)
ERRORS = [
    ({"input": []}, openai.BadRequestError, None, "`input` cannot be empty"),
    ({"input": ["a"] * 2049}, openai.BadRequestError, None, "2049"),
    ({"input": {"text": "a"}}, openai.BadRequestError, "input", "input"),
    ({"input": "a", "dimensions": 0}, openai.BadRequestError, None, "dimensions"),
    ({"input": "a", "dimensions": 385}, openai.BadRequestError, None, "384"),
    ({"input": "a", "encoding_format": "hex"}, openai.BadRequestError, "encoding_format", "hex"),
    ({"input": "a", "model": "text-embedding-3-small"}, openai.NotFoundError, None, "text-embedding-3-small"),
    ({"input": [1, 2, 3]}, openai.BadRequestError, None, "check_embedding_ctx_length=False"),
    ({"input": "a", "extra_body": {"prompt_name": "missing"}, "model": "prompted"}, openai.BadRequestError, None,
     "missing"),
]


@pytest.mark.parametrize("arguments, kind, param, message", ERRORS, ids=lambda v: str(v)[:40])
def test_errors(client, arguments, kind, param, message):
    with pytest.raises(kind) as caught:
        client.embeddings.create(**{"model": "minilm", **arguments})
    assert message in caught.value.message
    assert caught.value.body["type"] == "invalid_request_error"
    if param:
        assert caught.value.body["param"] == param


def test_key(aoe, served, tmp_path):
    (tmp_path / "key").write_text("secret-of-the-test\n")
    (tmp_path / "key").chmod(0o600)
    with Server(aoe.program, "-m", f"minilm={served.minilm}", "--api-key-file", tmp_path / "key") as server:
        def client(key):
            return openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)
        for call in (lambda c: c.embeddings.create(model="minilm", input="a"), lambda c: c.models.list()):
            with pytest.raises(openai.AuthenticationError):
                call(client("wrong"))
        answer = client("secret-of-the-test").embeddings.create(model="minilm", input="a")
    np.testing.assert_array_equal(vectors(answer), aoe.embed(served.minilm, ["a"], dtype="auto"))


def test_token_ids(aoe, served):
    """The server computes with ids of the model's tokenizer if its operator allows them."""
    with Server(aoe.program, "-m", f"minilm={served.minilm}", "--allow-token-ids") as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="-")
        answer = client.embeddings.create(model="minilm", input=aoe.tokenize(served.minilm, TEXTS))
    np.testing.assert_array_equal(vectors(answer), aoe.embed(served.minilm, TEXTS, dtype="auto"))


def test_too_many_requests(aoe, served):
    """The client waits and repeats requests that got the status 429, until all are answered."""
    from concurrent.futures import ThreadPoolExecutor
    texts = [f"text {i} " * 40 for i in range(48)]
    want = aoe.embed(served.minilm, texts, dtype="auto")
    with Server(aoe.program, "-m", f"minilm={served.minilm}", "--max-concurrent-requests", 2) as server:
        def embed(text):
            client = openai.OpenAI(base_url=server.url + "/v1", api_key="-", max_retries=50)
            return vectors(client.embeddings.create(model="minilm", input=text))[0]
        with ThreadPoolExecutor(12) as pool:
            got = np.array(list(pool.map(embed, texts)))
        metrics = server.get("/metrics")[2]
    np.testing.assert_array_equal(got, want)
    overloaded = [line for line in metrics.splitlines() if line.startswith('te_request_failure{err="overloaded"}')]
    assert overloaded and int(float(overloaded[0].split()[-1])) > 0
