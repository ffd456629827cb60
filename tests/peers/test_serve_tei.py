# SPDX-License-Identifier: MIT
"""Sends the requests of programs that use text-embeddings-inference to `aoe serve`: with InferenceClient of
huggingface_hub, and the requests of the documentation of text-embeddings-inference with curl. Every vector must have
the bits of the vector of `aoe embed`."""
import json
import subprocess

import huggingface_hub.constants
import numpy as np
import pytest
from huggingface_hub import InferenceClient
from huggingface_hub.errors import HfHubHTTPError

from serve import Server

TEXTS = ["What is Deep Learning?", "Today is a nice day", "I like you", "ein Text mit Umlauten: äöü", "a", "文字"]
LONG = "the first words of the text " + "and then many more words " * 100 + "with an end"


@pytest.fixture(autouse=True)
def online(monkeypatch):
    """InferenceClient sends no request while huggingface_hub is offline, which conftest.py requests for all tests."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)


@pytest.fixture
def client(served):
    """The client of a program in which only the URL was changed."""
    return InferenceClient(base_url=served.url)


def curl(url, body, *options):
    """Sends the body as text-embeddings-inference's documentation does, and returns the parsed answer."""
    done = subprocess.run(["curl", "-sS", "--noproxy", "*", url, "-X", "POST", "-d", body, "-H",
                           "Content-Type: application/json", *options], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def failure(call):
    """Runs a call that must fail, and returns the status and the parsed body of the error."""
    with pytest.raises(HfHubHTTPError) as caught:
        call()
    return caught.value.response.status_code, caught.value.response.json()


# ------------------------------------------------------------ InferenceClient

@pytest.mark.parametrize("path", ["", "/", "/embed"])
def test_feature_extraction(aoe, served, path):
    client = InferenceClient(base_url=served.url + path)
    want = aoe.embed(served.minilm, TEXTS, dtype="auto")
    np.testing.assert_array_equal(client.feature_extraction(TEXTS), want)
    one = client.feature_extraction(TEXTS[0])
    assert one.shape == (1, 384) and one.dtype == np.float32
    np.testing.assert_array_equal(one, want[:1])


def test_model_as_url(aoe, served):
    """The call in the documentation of text-embeddings-inference."""
    embedding = InferenceClient().feature_extraction("What is deep learning?", model=served.url + "/embed")
    np.testing.assert_array_equal(embedding, aoe.embed(served.minilm, ["What is deep learning?"], dtype="auto"))


def test_without_normalization(aoe, served, client):
    got = client.feature_extraction(TEXTS, normalize=False)
    np.testing.assert_array_equal(got, aoe.embed(served.minilm, TEXTS, "--no-normalize", dtype="auto"))


@pytest.mark.parametrize("dims", [1, 100, 384])
def test_dimensions(aoe, served, client, dims):
    got = client.feature_extraction(TEXTS, dimensions=dims)
    np.testing.assert_array_equal(got, aoe.embed(served.minilm, TEXTS, "--dims", dims, dtype="auto"))


@pytest.mark.parametrize("dims", [0, 385])
def test_invalid_dimensions(client, dims):
    status, error = failure(lambda: client.feature_extraction(TEXTS, dimensions=dims))
    assert status == 422 and error["error_type"] == "Validation" and "dimensions" in error["error"]


@pytest.mark.parametrize("name", ["query", "document", "long"])
def test_prompt_name(aoe, served, name):
    status, _, got = served.server.post("/embed", {"inputs": TEXTS, "prompt_name": name, "model": "prompted"})
    want = aoe.embed(served.prompted, TEXTS, "--prompt-name", name, dtype="auto")
    assert status == 200
    np.testing.assert_array_equal(np.array(got, np.float32), want)
    with Server(aoe.program, "-m", served.prompted) as other:
        got = InferenceClient(base_url=other.url).feature_extraction(TEXTS, prompt_name=name)
    np.testing.assert_array_equal(got, want)


def test_unknown_prompt_name(client):
    status, error = failure(lambda: client.feature_extraction(TEXTS, prompt_name="passage"))
    assert status == 422 and "passage" in error["error"]


@pytest.mark.parametrize("direction", ["Left", "Right", "left", "right"])
def test_truncation(aoe, served, client, direction):
    """InferenceClient documents the directions in lowercase, text-embeddings-inference documents Left and Right."""
    got = client.feature_extraction(LONG, truncate=True, truncation_direction=direction)
    if direction.lower() == "right":
        np.testing.assert_array_equal(got, aoe.embed(served.minilm, [LONG], dtype="auto"))
    else:  # the last 254 tokens and two special tokens
        ids = aoe.tokenize(served.minilm, [LONG], "--max-length", "10000")[0]
        kept = [ids[0], *ids[-255:]]
        status, _, want = served.server.post("/embed", {"inputs": [kept]})
        assert status == 200
        np.testing.assert_array_equal(got, np.array(want, np.float32))


def test_truncation_is_reported(aoe, served, client):
    tokens = len(aoe.tokenize(served.minilm, [LONG], "--max-length", "10000")[0])
    _, headers, _ = served.server.post("/embed", {"inputs": [LONG, "a", LONG]})
    assert headers["x-aoe-truncated"] == "2"
    _, headers, _ = served.server.post("/embed", {"inputs": "a"})
    assert headers["x-aoe-truncated"] is None
    status, error = failure(lambda: client.feature_extraction(LONG, truncate=False))
    assert status == 422 and error["error_type"] == "Validation"
    assert error["error"] == f"`inputs` must have less than 256 tokens. Given: {tokens}"


def test_sentence_similarity(aoe, served, client):
    others = ["That is a happy dog", "That is a very happy person", "Today is a sunny day"]
    got = client.sentence_similarity("That is a happy person", other_sentences=others,
                                     model=served.url + "/similarity")
    vectors = aoe.embed(served.minilm, ["That is a happy person", *others], dtype="auto").astype(np.float64)
    np.testing.assert_allclose(got, vectors[1:] @ vectors[0], atol=1e-6, rtol=0)


def test_requests_of_several_threads(aoe, served):
    """Each answer belongs to the texts of its own request."""
    from concurrent.futures import ThreadPoolExecutor
    texts = [f"text number {i} of {'many ' * (i % 17)}texts" for i in range(240)]
    want = aoe.embed(served.minilm, texts, dtype="auto")

    def embed(at):
        client = InferenceClient(base_url=served.url)
        return client.feature_extraction(texts[at:at + 1 + at % 7])
    with ThreadPoolExecutor(16) as pool:
        for at, got in enumerate(pool.map(embed, range(len(texts)))):
            np.testing.assert_array_equal(got, want[at:at + 1 + at % 7])


def test_key(aoe, served, tmp_path):
    (tmp_path / "key").write_text("secret-of-the-test\n")
    (tmp_path / "key").chmod(0o600)
    with Server(aoe.program, "-m", served.minilm, "--api-key-file", tmp_path / "key") as server:
        for token in ("wrong", None):
            status, _ = failure(lambda: InferenceClient(base_url=server.url, token=token).feature_extraction("a"))
            assert status == 401
        got = InferenceClient(base_url=server.url, token="secret-of-the-test").feature_extraction("a")
    np.testing.assert_array_equal(got, aoe.embed(served.minilm, ["a"], dtype="auto"))


# ------------------------------------------------ requests of the documentation of text-embeddings-inference

def test_documented_embed(aoe, served):
    got = curl(served.url + "/embed", '{"inputs":"What is Deep Learning?"}')
    want = aoe.embed(served.minilm, ["What is Deep Learning?"], dtype="auto")
    np.testing.assert_array_equal(np.array(got, np.float32), want)


def test_documented_batch(aoe, served):
    got = curl(served.url + "/embed", '{"inputs":["Today is a nice day", "I like you"]}')
    want = aoe.embed(served.minilm, ["Today is a nice day", "I like you"], dtype="auto")
    np.testing.assert_array_equal(np.array(got, np.float32), want)


def test_documented_openai(aoe, served):
    got = curl(served.url + "/v1/embeddings", '{"input": "What is Deep Learning?", "model": '
               '"text-embeddings-inference", "encoding_format": "float"}')
    want = aoe.embed(served.minilm, ["What is Deep Learning?"], dtype="auto")
    assert set(got) == {"object", "data", "model", "usage"} and got["object"] == "list"
    assert set(got["data"][0]) == {"object", "index", "embedding"}
    np.testing.assert_array_equal(np.array(got["data"][0]["embedding"], np.float32), want[0])


def test_documented_sparse(served):
    """The models of aoe are dense, so the answer is the one of text-embeddings-inference for a dense model."""
    status, _, error = served.server.post("/embed_sparse", {"inputs": "I like you."})
    assert status == 424 and error["error_type"] == "Backend"


def test_embed_all(served):
    status, _, got = served.server.post("/embed_all", {"inputs": ["What is Deep Learning?", "a"]})
    assert status == 200 and [np.shape(text) for text in got] == [(7, 384), (3, 384)]
    # the mean of the hidden states, normalized, is the embedding
    mean = np.array(got[0]).mean(0)
    _, _, vector = served.server.post("/embed", {"inputs": "What is Deep Learning?"})
    np.testing.assert_allclose(mean / np.linalg.norm(mean), vector[0], atol=1e-6, rtol=0)


def test_token_ids(aoe, served):
    ids = aoe.tokenize(served.minilm, TEXTS)
    want = aoe.embed(served.minilm, TEXTS, dtype="auto")
    status, _, got = served.server.post("/embed", {"inputs": ids})
    assert status == 200
    np.testing.assert_array_equal(np.array(got, np.float32), want)


def test_info(served):
    status, _, info = served.server.get("/info")
    assert status == 200
    for key in ("model_id", "model_sha", "model_dtype", "served_model_name", "model_type", "max_concurrent_requests",
                "max_input_length", "max_batch_tokens", "max_batch_requests", "max_client_batch_size",
                "auto_truncate", "tokenization_workers", "version", "sha", "docker_label"):
        assert key in info
    assert info["model_type"] == {"embedding": {"pooling": "mean"}} and info["max_input_length"] == 256
    assert info["auto_truncate"] is True and info["max_client_batch_size"] == 32


@pytest.mark.parametrize("path", ["/health", "/ping"])
def test_health(served, path):
    assert served.server.get(path)[0] == 200


HEADERS = ["x-compute-type", "x-compute-time", "x-compute-characters", "x-compute-tokens", "x-total-time",
           "x-tokenization-time", "x-queue-time", "x-inference-time"]


def test_headers(served):
    _, headers, _ = served.server.post("/embed", {"inputs": ["What is Deep Learning?", "äöü"]})
    assert all(name in headers for name in HEADERS)
    assert headers["x-compute-type"] == "cpu" and headers["x-compute-characters"] == "25"


# (body, status, error_type, part of the message)
ERRORS = [
    ({"inputs": []}, 400, "Empty", "`inputs` cannot be empty"),
    ({"inputs": ["a"] * 33}, 422, "Validation", "batch size 33 > maximum allowed batch size 32"),
    ({}, 422, "Validation", "inputs"),
    ({"inputs": 1}, 422, "Validation", "inputs"),
    ({"inputs": "a", "truncate": "yes"}, 422, "Validation", "truncate"),
    ({"inputs": "a", "truncation_direction": "Middle"}, 422, "Validation", "truncation_direction"),
    ({"inputs": [[999999]]}, 422, "Validation", "999999"),
]


@pytest.mark.parametrize("body, status, kind, message", ERRORS, ids=lambda v: str(v)[:30])
def test_errors(served, body, status, kind, message):
    got, _, error = served.server.post("/embed", body)
    assert (got, error.get("error_type")) == (status, kind), error
    assert message in error["error"]


def test_large_body(served):
    status, _, error = served.server.post("/embed", b'{"inputs": "' + b"a" * 2000000 + b'"}')
    assert status == 413 and "2000000" in json.dumps(error)


def test_unknown_fields_are_reported(served):
    status, headers, _ = served.server.post("/embed", {"inputs": "a", "pooling": "cls"})
    assert status == 200 and "pooling" in headers["x-aoe-ignored"]
