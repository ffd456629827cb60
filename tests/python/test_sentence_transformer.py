# SPDX-License-Identifier: MIT
"""Embedding models: vectors, arguments, errors, saved models."""
import json
import logging
import pickle
import subprocess

import numpy as np
import pytest

import aoe

TEXTS = ["She cooks rice.", "", "Ein Flugzeug hebt ab.", "部署", "a\0b", "x" * 5000, "🙂", " \n\t"]


def test_encode_equals_the_program(model, program, tmp_path):
    texts = [text for text in TEXTS if text.strip() and "\0" not in text]
    (tmp_path / "texts.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
    subprocess.run([program, "embed", "-q", "-o", tmp_path / "v.npy", tmp_path / "texts.txt"], check=True)
    assert np.array_equal(model.encode(texts), np.load(tmp_path / "v.npy"))


def test_results_do_not_depend_on_other_texts(model):
    together = model.encode(TEXTS)
    assert together.dtype == np.float32 and together.shape == (len(TEXTS), model.get_embedding_dimension())
    for text, vector in zip(TEXTS, together):
        assert np.array_equal(model.encode(text), vector)
        assert np.array_equal(model.encode([text], batch_size=1)[0], vector)
    many = model.encode(TEXTS * 300)  # several slices
    assert np.array_equal(many[-len(TEXTS):], together)


@pytest.mark.parametrize("make", [tuple, np.array, iter, lambda t: (x for x in t), lambda t: dict.fromkeys(t)])
def test_collections_of_texts(model, make):
    texts = ["a", "b", "c"]
    assert np.array_equal(model.encode(make(texts)), model.encode(texts))


def test_no_texts(model):
    assert model.encode([]).shape == (0,) and model.encode([], convert_to_numpy=False) == []


@pytest.mark.parametrize("bad, error, words", [
    (None, TypeError, "not NoneType"), (b"x", TypeError, "not bytes"), (7, TypeError, "not int"),
    (["a", None], TypeError, "not NoneType"), ([["a"]], TypeError, "not list"), ([b"a"], TypeError, "not bytes"),
    (["\ud800"], ValueError, "lone surrogate"), (np.array([1.0]), TypeError, "not float"),
])
def test_inputs_that_are_no_texts(model, bad, error, words):
    with pytest.raises(error, match=words):
        model.encode(bad)


@pytest.mark.parametrize("arguments, error", [
    ({"batch_size": 0}, ValueError), ({"precision": "int4"}, ValueError), ({"device": "cuda"}, ValueError),
    ({"prompt_name": "none"}, ValueError), ({"prompt": 3}, TypeError),
    ({"pool": {"processes": []}}, NotImplementedError),
    ({"chunk_size": 5}, NotImplementedError),
    ({"output_value": None}, NotImplementedError), ({"truncate_dim": 0}, ValueError), ({"other": 1}, TypeError),
])
def test_arguments_that_are_refused(model, arguments, error):
    with pytest.raises(error):
        model.encode(["a"], **arguments)


def test_normalized_and_truncated_vectors(model):
    full = model.encode(TEXTS)
    unit = model.encode(TEXTS, normalize_embeddings=True)
    assert np.allclose(np.linalg.norm(unit, axis=1), 1, atol=1e-6)
    assert np.array_equal(model.encode(TEXTS, truncate_dim=16), full[:, :16])
    short = model.encode(TEXTS, truncate_dim=16, normalize_embeddings=True)
    assert short.shape[1] == 16 and np.allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)
    with model.truncate_embeddings(8):
        assert model.encode("a").shape == (8,) and model.get_embedding_dimension() == 8
    assert model.encode("a").shape == full[0].shape


def test_precisions(model):
    vectors = model.encode(TEXTS)
    assert np.array_equal(model.encode(TEXTS, precision="ubinary"), np.packbits(vectors > 0, axis=1))
    assert np.array_equal(model.encode(TEXTS, precision="binary"),
                          (np.packbits(vectors > 0, axis=1).astype(np.int16) - 128).astype(np.int8))
    codes = model.encode(TEXTS, precision="uint8")
    assert codes.dtype == np.uint8 and codes.min() == 0 and codes.max() >= 254
    assert np.array_equal(codes.astype(np.int16) - 128, model.encode(TEXTS, precision="int8"))
    ranges = np.stack([vectors.min(0) - 1, vectors.max(0) + 1])
    assert not np.array_equal(aoe.util.quantize_embeddings(vectors, "uint8", ranges=ranges), codes)
    assert np.array_equal(aoe.util.quantize_embeddings(vectors, "uint8", calibration_embeddings=vectors), codes)
    first = aoe.util.quantize_embeddings(vectors[0], "uint8", calibration_embeddings=vectors)
    assert np.array_equal(first[0], codes[0])
    with pytest.raises(ValueError, match="one embedding"):
        model.encode("a", precision="int8")


def test_prompts(model):
    assert model.prompts == {"query": "", "document": ""}
    a = model.encode("query: rice")
    assert np.array_equal(model.encode("rice", prompt="query: "), a)
    assert not np.array_equal(model.encode("rice"), a)
    named = aoe.SentenceTransformer(prompts={"query": "query: ", "passage": "passage: "}, default_prompt_name="query")
    assert np.array_equal(named.encode("rice"), a) and np.array_equal(named.encode_query("rice"), a)
    assert np.array_equal(named.encode_document("rice"), model.encode("rice"))  # the prompt "document" is empty
    assert np.array_equal(named.encode_document("rice", prompt_name="passage"), model.encode("passage: rice"))
    assert np.array_equal(named.encode("rice", prompt=""), model.encode("rice"))
    with pytest.raises(ValueError, match="default_prompt_name"):
        aoe.SentenceTransformer(default_prompt_name="none")


def test_tokens_and_token_embeddings(model):
    tokens = model.tokenize(["hello world", "x"])
    assert tokens["input_ids"].shape == tokens["attention_mask"].shape == (2, 4)
    assert tokens["attention_mask"].sum(1).tolist() == [4, 3] and tokens["input_ids"][1, 3] == 0
    states = model.encode(["hello world", "x"], output_value="token_embeddings")
    assert [len(state) for state in states] == [4, 3]
    assert np.allclose(aoe.util.cos_sim(states[0].mean(0), model.encode("hello world")), 1, atol=1e-4)  # mean pooling


def test_similarities(model):
    vectors = model.encode(TEXTS)
    all_pairs, pairs = model.similarity(vectors, vectors), model.similarity_pairwise(vectors, vectors[::-1])
    assert all_pairs.shape == (len(TEXTS), len(TEXTS)) and np.allclose(np.diag(all_pairs[:, ::-1]), pairs, atol=1e-6)
    assert model.similarity_fn_name == "cosine"
    other = aoe.SentenceTransformer(similarity_fn_name="euclidean")
    assert np.allclose(other.similarity(vectors[0], vectors[1]), -np.linalg.norm(vectors[0] - vectors[1]), atol=1e-5)
    with pytest.raises(ValueError, match="similarity_fn_name"):
        other.similarity_fn_name = "none"


def test_longest_text(model):
    short = aoe.SentenceTransformer(max_seq_length=5)
    assert short.max_seq_length == 5 and len(short.tokenize(["a b c d e f g"])["input_ids"][0]) == 5
    assert np.array_equal(short.encode("a b c d e f"), model.encode("a b c"))
    short.max_seq_length = 6
    assert np.array_equal(short.encode("a b c d e f"), model.encode("a b c d"))
    with pytest.raises(ValueError):
        short.max_seq_length = 10**6
    assert short.max_seq_length == 6  # the model is unchanged


def test_saved_model(model, tmp_path):
    changed = aoe.SentenceTransformer(prompts={"query": "q: ", "document": ""}, truncate_dim=64, max_seq_length=7)
    changed.save_pretrained(tmp_path / "saved")
    saved = aoe.SentenceTransformer(tmp_path / "saved")
    assert saved.prompts["query"] == "q: " and saved.max_seq_length == 7
    long = "one two three four five six seven eight"
    assert np.array_equal(saved.encode(long)[:64], changed.encode(long))
    assert json.loads((tmp_path / "saved" / "config_sentence_transformers.json").read_text())["truncate_dim"] == 64
    with pytest.raises(FileExistsError):
        model.save_pretrained(tmp_path / "saved")
    assert [p.name for p in tmp_path.iterdir()] == ["saved"]


def test_closed_model():
    opened = aoe.SentenceTransformer()
    with opened:
        opened.encode("a")
    for call in (lambda: opened.encode("a"), lambda: opened.tokenize(["a"]), opened.describe,
                 opened.get_embedding_dimension, lambda: pickle.loads(pickle.dumps(opened)).encode("a")):
        with pytest.raises(ValueError, match="closed"):
            call()
    opened.close()


def test_pickled_model(model):
    named = aoe.SentenceTransformer(prompts={"query": "query: "}, truncate_dim=32, max_seq_length=9)
    again = pickle.loads(pickle.dumps(named))
    assert np.array_equal(again.encode_query("rice " * 20), named.encode_query("rice " * 20))


def test_models_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError, match="aoe pull"):
        aoe.SentenceTransformer("no-such-org/no-such-model", local_files_only=True)
    with pytest.raises(FileNotFoundError):
        aoe.SentenceTransformer(tmp_path / "none")
    with pytest.raises(aoe.AoeError):
        aoe.SentenceTransformer(tmp_path)
    with pytest.raises(ValueError, match="revision"):
        aoe.SentenceTransformer(tmp_path, revision="main")
    with pytest.raises(ValueError, match="revision"):
        aoe.SentenceTransformer(revision="main")
    with pytest.raises(ValueError, match="must not be empty"):
        aoe.SentenceTransformer("")
    for arguments in ({"device": "cuda"}, {"dtype": "f64"}, {"threads": 0}, {"threads": "2"}):
        with pytest.raises(ValueError):
            aoe.SentenceTransformer(**arguments)
    for name in ("modules", "cache_folder", "model_kwargs", "processor_kwargs", "config_kwargs"):
        with pytest.raises(NotImplementedError, match=name):
            aoe.SentenceTransformer(**{name: {"x": 1}})


def test_model_directory_that_is_removed(tmp_path, model):
    model.save_pretrained(tmp_path / "copy")
    copy = aoe.SentenceTransformer(tmp_path / "copy")
    for path in (tmp_path / "copy").iterdir():
        path.unlink()
    (tmp_path / "copy").rmdir()
    assert np.array_equal(copy.encode(TEXTS), model.encode(TEXTS))  # its files stay mapped
    with pytest.raises(FileNotFoundError):
        pickle.loads(pickle.dumps(copy))


def test_messages_go_to_logging(tmp_path, model, caplog):
    model.save_pretrained(tmp_path / "copy")
    config = json.loads((tmp_path / "copy" / "config.json").read_text())
    (tmp_path / "copy" / "config.json").write_text(json.dumps({**config, "unknown_factor": 3}))
    with caplog.at_level(logging.INFO, "aoe"):
        aoe.SentenceTransformer(tmp_path / "copy")
    assert any("unknown_factor" in record.getMessage() for record in caplog.records)
    assert all(record.name == "aoe" for record in caplog.records)


def test_progress_bar(model, capsys):
    model.encode(["a", "b"], show_progress_bar=True)
    assert "2/2" in capsys.readouterr().err
    model.encode(["a", "b"])
    assert not capsys.readouterr().err
