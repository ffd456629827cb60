# SPDX-License-Identifier: MIT
"""Sends requests with Cohere's client (ClientV2) to `aoe serve`. Every vector must have the bits of the vector of `aoe
embed`; the other encodings are computed here from these vectors."""
import asyncio
import base64

import cohere
import numpy as np
import pytest
from cohere.errors import BadRequestError, NotFoundError, UnauthorizedError

from serve import Server

TEXTS = ["What is Deep Learning?", "Today is a \"nice\" day", "ein Text mit Umlauten: äöü", "a", "文字"]
LONG = "the first words of the text " + "and then many more words " * 100 + "with an end"
TYPES = ["float", "int8", "uint8", "binary", "ubinary", "base64"]


@pytest.fixture
def client(served):
    """The client of a program in which only the URL was changed."""
    return cohere.ClientV2(api_key="none", base_url=served.url)


def embed(client, texts=TEXTS, model="prompted", **settings):
    settings.setdefault("input_type", "search_document")
    return client.embed(texts=texts, model=model, **settings)


def floats(response):
    return np.array(response.embeddings.float_, np.float32)


@pytest.mark.parametrize("input_type, prompt", [("search_document", ("--prompt-name", "document")),
                                                ("search_query", ("--prompt-name", "query")),
                                                ("classification", ("--prompt", "")), ("clustering", ("--prompt", ""))])
def test_input_type(aoe, served, client, input_type, prompt):
    got = embed(client, input_type=input_type, embedding_types=["float"])
    want = aoe.embed(served.prompted, TEXTS, "--normalize", *prompt, dtype="auto")
    np.testing.assert_array_equal(floats(got), want)


def test_answer(aoe, served, client):
    got = embed(client, model="minilm")
    assert got.response_type == "embeddings_by_type" and got.texts == TEXTS and len(got.id) == 36
    assert got.meta.api_version.version == "2"
    assert got.meta.billed_units.input_tokens == sum(map(len, aoe.tokenize(served.minilm, TEXTS)))
    assert got.embeddings.int8 is None and got.embeddings.base64 is None
    np.testing.assert_array_equal(floats(got), aoe.embed(served.minilm, TEXTS, dtype="auto"))
    assert embed(client, model="minilm").id != got.id


def test_asynchronous_client(aoe, served):
    async def run():
        client = cohere.AsyncClientV2(api_key="none", base_url=served.url)
        return await asyncio.gather(*(embed(client, [text], "minilm") for text in TEXTS))
    want = aoe.embed(served.minilm, TEXTS, dtype="auto")
    for got, vector in zip(asyncio.run(run()), want, strict=True):
        np.testing.assert_array_equal(floats(got), [vector])


@pytest.mark.parametrize("dims", [384, 100, 5])
def test_encodings(aoe, served, client, dims):
    want = aoe.embed(served.minilm, TEXTS, "--dims", dims, dtype="auto")
    got = embed(client, model="minilm", embedding_types=TYPES, output_dimension=dims).embeddings
    np.testing.assert_array_equal(np.array(got.float_, np.float32), want)
    for text, vector in zip(got.base64, want, strict=True):
        assert base64.b64decode(text, validate=True) == vector.astype("<f4").tobytes()
    largest = np.abs(want).max(1, keepdims=True).astype(np.float64)
    codes = np.rint(want / largest * 127).astype(int)
    np.testing.assert_array_equal(got.int8, codes)
    np.testing.assert_array_equal(got.uint8, codes + 128)
    bits = np.packbits(want > 0, axis=1).astype(int)
    np.testing.assert_array_equal(got.ubinary, bits)
    np.testing.assert_array_equal(got.binary, bits - 128)


def test_one_encoding(client):
    got = embed(client, embedding_types=["ubinary"]).embeddings
    assert got.float_ is None and np.shape(got.ubinary) == (len(TEXTS), 48)


def test_truncation(aoe, served, client):
    want = aoe.embed(served.minilm, [LONG], dtype="auto")
    for settings in ({}, {"truncate": "END"}, {"truncate": "END", "max_tokens": 5000}):
        np.testing.assert_array_equal(floats(embed(client, [LONG], "minilm", **settings)), want)
    want = aoe.embed(served.minilm, [LONG], "--max-length", 20, dtype="auto")
    np.testing.assert_array_equal(floats(embed(client, [LONG], "minilm", max_tokens=20)), want)
    # [CLS], the last three words, [SEP]
    want = aoe.embed(served.minilm, ["with an end"], dtype="auto")
    np.testing.assert_array_equal(floats(embed(client, [LONG], "minilm", truncate="START", max_tokens=5)), want)
    tokens = len(aoe.tokenize(served.minilm, [LONG], "--max-length", "10000")[0])
    with pytest.raises(BadRequestError) as caught:
        embed(client, ["a", LONG], "minilm", truncate="NONE")
    assert f"text 1 has {tokens} tokens, the maximum is 256" in caught.value.body["message"]


def test_many_texts(aoe, served, client):
    """Cohere's own limit of 96 texts does not exist."""
    texts = [f"text number {i}" for i in range(300)]
    want = aoe.embed(served.minilm, texts, dtype="auto")
    np.testing.assert_array_equal(floats(embed(client, texts, "minilm")), want)


# (arguments, part of the message)
ERRORS = [
    ({"texts": []}, "`texts` cannot be empty"),
    ({"texts": None, "images": ["data:image/png;base64,AA=="]}, "`images` is not supported"),
    ({"texts": None, "inputs": [{"content": [{"type": "text", "text": "a"}]}]}, "`inputs` is not supported"),
    ({"input_type": "image"}, "`input_type` must be"),
    ({"embedding_types": ["int4"]}, "`embedding_types`[0]"),
    ({"output_dimension": 385}, "`output_dimension` is 385, but the embeddings have 384 components"),
    ({"output_dimension": 0}, "`output_dimension`"),
    ({"truncate": "MIDDLE"}, "`truncate`"),
]


@pytest.mark.parametrize("arguments, message", ERRORS, ids=lambda v: str(v)[:40])
def test_errors(client, arguments, message):
    with pytest.raises(BadRequestError) as caught:
        embed(client, **arguments)
    assert message in caught.value.body["message"]


def test_unknown_model(client):
    with pytest.raises(NotFoundError) as caught:
        embed(client, model="embed-v4.0")
    assert caught.value.body == {"message": "no model has the name 'embed-v4.0'; models: minilm, prompted"}


def test_key(aoe, served, tmp_path):
    (tmp_path / "key").write_text("secret-of-the-test\n")
    (tmp_path / "key").chmod(0o600)
    with Server(aoe.program, "-m", f"minilm={served.minilm}", "--api-key-file", tmp_path / "key") as server:
        with pytest.raises(UnauthorizedError):
            embed(cohere.ClientV2(api_key="wrong", base_url=server.url), model="minilm")
        got = embed(cohere.ClientV2(api_key="secret-of-the-test", base_url=server.url), model="minilm")
    np.testing.assert_array_equal(floats(got), aoe.embed(served.minilm, TEXTS, dtype="auto"))
