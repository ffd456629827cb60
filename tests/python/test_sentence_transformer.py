# SPDX-License-Identifier: MIT
"""Embedding models: vectors, arguments, errors, saved models."""
import json
import logging
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import aoe
from aoe._model_files import Padding
from conftest import ROOT

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


@pytest.mark.parametrize("make", [tuple, np.array, iter, lambda t: (x for x in t), pd.Series,
                                  lambda t: dict.fromkeys(t).keys()])
def test_collections_of_texts(model, make):
    texts = ["a", "b", "c"]
    assert np.array_equal(model.encode(make(texts)), model.encode(texts))


def test_no_texts(model):
    assert model.encode([]).shape == (0,) and model.encode([], convert_to_numpy=False) == []


@pytest.mark.parametrize("bad, error, words", [
    (None, TypeError, "not NoneType"), (b"x", TypeError, "not bytes"), (7, TypeError, "not int"),
    (["a", None], TypeError, r"inputs\[1\]: .*not NoneType"), ([["a"]], TypeError, "not list"),
    ([b"a"], TypeError, "not bytes"),
    (["a", "\ud800"], ValueError, r"inputs\[1\]: .*lone surrogate"),
    ({"text": "a"}, TypeError, "not dict"), (pd.DataFrame({"text": ["a"]}), TypeError, "not DataFrame"),
    (np.array("text"), TypeError, "without dimensions"), (np.array([1.0]), TypeError, "not float"),
])
def test_inputs_that_are_no_texts(model, bad, error, words):
    with pytest.raises(error, match=words):
        model.encode(bad)


@pytest.mark.parametrize("arguments, error", [
    ({"batch_size": 0}, ValueError), ({"batch_size": 2.0}, TypeError), ({"batch_size": True}, TypeError),
    ({"prompt": "a\0b"}, ValueError), ({"prompt": "\ud800"}, ValueError), ({"task": "query"}, NotImplementedError),
    ({"truncate_dim": 2.5}, TypeError),
    ({"output_value": "token_embeddings", "precision": "int8"}, NotImplementedError),
    ({"precision": "int4"}, ValueError), ({"device": "cuda"}, ValueError),
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
    assert np.array_equal(first, codes[0])
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
    for prompts, error in (({"a": "x\0"}, ValueError), ({"a\0": "x"}, ValueError), ({"a": 3}, TypeError)):
        with pytest.raises(error, match="prompt"):
            aoe.SentenceTransformer(prompts=prompts)
    assert aoe.SentenceTransformer(prompts={"query": None}).prompts["query"] == ""


def test_prompt_templates(model):
    expected = model.encode("a text about rice, in short")
    assert np.array_equal(model.encode("rice", prompt="a text about {text}, in short"), expected)
    named = aoe.SentenceTransformer(prompts={"about": "a text about {text}, in short"})
    assert np.array_equal(named.encode("rice", prompt_name="about"), expected)


def test_tokens_and_token_embeddings(model):
    tokens = model.tokenize(["hello world", "x"])
    assert tokens["input_ids"].shape == tokens["attention_mask"].shape == (2, 4)
    assert tokens["attention_mask"].sum(1).tolist() == [4, 3] and tokens["input_ids"][1, 3] == 0
    assert list(tokens) == ["input_ids", "token_type_ids", "attention_mask"] and not tokens["token_type_ids"].any()
    with pytest.raises(ValueError, match=r"texts\[1\]"):
        model.tokenize(["a", "\ud800"])
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
    for value, error in ((10**6, ValueError), (0, ValueError), (6.5, TypeError), (None, TypeError), (True, TypeError)):
        with pytest.raises(error):
            short.max_seq_length = value
    for value, error in ((0, ValueError), (6.5, TypeError)):
        with pytest.raises(error, match="max_seq_length"):
            aoe.SentenceTransformer(max_seq_length=value)
    assert short.max_seq_length == 6  # the model is unchanged


def test_saved_model(model, tmp_path):
    changed = aoe.SentenceTransformer(prompts={"query": "q: ", "document": ""}, truncate_dim=64, max_seq_length=7)
    changed.save_pretrained(tmp_path / "saved")
    saved = aoe.SentenceTransformer(tmp_path / "saved")
    assert saved.prompts["query"] == "q: " and saved.max_seq_length == 7
    long = "one two three four five six seven eight"
    assert saved.truncate_dim == 64 and np.array_equal(saved.encode(long), changed.encode(long))
    assert json.loads((tmp_path / "saved" / "config_sentence_transformers.json").read_text())["truncate_dim"] == 64
    with pytest.raises(FileExistsError):
        model.save_pretrained(tmp_path / "saved")
    assert [p.name for p in tmp_path.iterdir()] == ["saved"]


@pytest.fixture(params=["with aoe.json", "without aoe.json"])
def start(request, tmp_path, program):
    """A directory of a model with random weights. The settings in aoe.json take precedence over those of
    sentence-transformers."""
    path = tmp_path / "start"
    subprocess.run([program, "init", "-q", "-o", path, "--hidden", "32", "--layers", "1", "--vocab-from",
                    ROOT / "examples" / "train.tsv", "--vocab-size", "500"], check=True)
    if request.param == "without aoe.json":
        (path / "aoe.json").unlink()
    return path


def test_saved_default_prompt(start, tmp_path):
    model, own_settings = aoe.SentenceTransformer(start), (start / "aoe.json").exists()
    changed = aoe.SentenceTransformer(start, prompts={"search": "q: ", "other": "q: "}, default_prompt_name="other")
    changed.save_pretrained(tmp_path / "a")
    saved = aoe.SentenceTransformer(tmp_path / "a")
    assert np.array_equal(saved.encode(TEXTS), changed.encode(TEXTS))
    assert np.array_equal(saved.encode("rice"), model.encode("q: rice"))
    assert not np.array_equal(saved.encode("rice"), model.encode("rice"))
    assert saved.default_prompt_name == "other" and saved.prompts["search"] == "q: " and not saved.changed_settings()
    saved.default_prompt_name = None
    assert np.array_equal(saved.encode("rice"), model.encode("rice"))
    saved.save_pretrained(tmp_path / "b")  # removes the default prompt
    again = aoe.SentenceTransformer(tmp_path / "b")
    assert np.array_equal(again.encode("rice"), model.encode("rice"))
    assert again.default_prompt_name is None and again.prompts["search"] == "q: "
    again.prompts["search"] = "{text} in short"
    if own_settings:
        again.save_pretrained(tmp_path / "c")
        assert aoe.SentenceTransformer(tmp_path / "c").prompts["search"] == "{text} in short"
        config = json.loads((tmp_path / "c" / "config_sentence_transformers.json").read_text())
        assert "search" not in config["prompts"] and config["prompts"]["other"] == "q: "
        again.prompts["default"] = "x: "
        with pytest.raises(ValueError, match="rename"):
            again.save_pretrained(tmp_path / "d")
    else:
        with pytest.raises(ValueError, match="text after {text}"):
            again.save_pretrained(tmp_path / "c")
    assert not (tmp_path / "d").exists()


def test_truncation_of_the_model_directory(start, tmp_path):
    """truncate_dim of the directory is a default, as in sentence-transformers: arguments may exceed it."""
    model = aoe.SentenceTransformer(start)
    aoe.SentenceTransformer(start, truncate_dim=16).save_pretrained(tmp_path / "a")
    full, short = model.encode(TEXTS), aoe.SentenceTransformer(tmp_path / "a")
    assert short.truncate_dim == 16 and not short.changed_settings() and short.get_embedding_dimension() == 16
    for dims, expected in ((None, 16), (8, 8), (16, 16), (30, 30), (1000, 32), (np.int64(20), 20)):
        assert np.array_equal(short.encode(TEXTS, truncate_dim=dims), full[:, :expected])
        opened = aoe.SentenceTransformer(tmp_path / "a", truncate_dim=dims)
        assert np.array_equal(opened.encode(TEXTS), full[:, :expected])
        assert opened.get_embedding_dimension() == expected
        assert np.array_equal(pickle.loads(pickle.dumps(opened)).encode(TEXTS), full[:, :expected])
    with short.truncate_embeddings(None):
        assert np.array_equal(short.encode(TEXTS), full) and short.changed_settings() == ["truncate_dim"]
        short.save_pretrained(tmp_path / "b")  # removes the setting
    assert np.array_equal(short.encode(TEXTS), full[:, :16])
    assert aoe.SentenceTransformer(tmp_path / "b").truncate_dim is None
    assert np.array_equal(aoe.SentenceTransformer(tmp_path / "b").encode(TEXTS), full)
    short.encode("a", truncate_dim=20)
    short.close()
    with pytest.raises(ValueError, match="closed"):
        short.encode("a", truncate_dim=20)
    for value, error in ((0, ValueError), (-1, ValueError), (2.5, TypeError), ("8", TypeError), (True, TypeError)):
        with pytest.raises(error, match="truncate_dim"):
            aoe.SentenceTransformer(truncate_dim=value)
        with pytest.raises(error, match="truncate_dim"):
            model.truncate_dim = value


@pytest.mark.parametrize("config, tokens, pad, left, types", [
    ({"tokenizer_class": "MPNetTokenizer", "pad_token": "<pad>"}, ["<s>", "<pad>"], 1, False, False),
    ({"tokenizer_class": "Qwen2Tokenizer", "pad_token": {"content": "<|end|>"}, "padding_side": "left"},
     ["a", "b", "<|end|>"], 2, True, False),
    ({"model_input_names": ["input_ids", "attention_mask"]}, ["[CLS]", "[SEP]", "[UNK]", "[PAD]"], 3, False, False),
    ({"tokenizer_class": "BertTokenizerFast"}, ["[PAD]"], 0, False, True),
])
def test_padding_of_token_ids(tmp_path, config, tokens, pad, left, types):
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    (tmp_path / "tokenizer.json").write_text(json.dumps(
        {"added_tokens": [{"id": i, "content": token} for i, token in enumerate(tokens)]}))
    found = Padding([tmp_path / "none", tmp_path])
    assert (found.id, found.left, found.types) == (pad, left, types)


def test_token_ids_are_padded_on_the_side_of_the_tokenizer(model, tmp_path):
    model.save_pretrained(tmp_path / "left")
    file = tmp_path / "left" / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "padding_side": "left", "pad_token": "[MASK]"}))
    tokens = aoe.SentenceTransformer(tmp_path / "left").tokenize(["hello world", "x"])
    assert tokens["attention_mask"].tolist() == [[1, 1, 1, 1], [0, 1, 1, 1]] and tokens["input_ids"][1, 0] == 103


def test_texts_truncated_at_the_start_keep_the_prompt(model, tmp_path):
    model.save_pretrained(tmp_path / "left")
    file = tmp_path / "left" / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "truncation_side": "left"}))
    left = aoe.SentenceTransformer(tmp_path / "left", max_seq_length=5)
    assert np.array_equal(left.encode("a b c d e", prompt="q: "), model.encode("q: e"))


def test_attributes_that_are_missing(model, pair_model):
    for opened, name in ((model, "start_multi_process_pool"), (model, "half"), (model, "fit"),
                         (pair_model, "tokenizer"), (pair_model, "push_to_hub")):
        assert not hasattr(opened, name)
        with pytest.raises(NotImplementedError, match=f"{name} of sentence-transformers"):
            getattr(opened, name)
    with pytest.raises(AttributeError, match="no attribute 'none'"):
        _ = model.none
    assert model.to("cpu") is model and model.to(device=None, non_blocking=True) is model
    with pytest.raises(NotImplementedError, match="dtype"):
        model.to(dtype="float16")
    with pytest.raises(NotImplementedError, match="dtype"):
        model.to("cpu", "float16")


def test_representation(model, pair_model):
    """Notebooks show it for the last line of a cell."""
    assert repr(model) == f"<SentenceTransformer the default model: {model.describe()}>"
    assert repr(pair_model).startswith("<CrossEncoder '") and "/cross_encoders/bert'" in repr(pair_model)
    with aoe.SentenceTransformer() as closed:
        pass
    assert repr(closed) == "<SentenceTransformer the default model, closed>"


def test_tensors_without_torch(model, pair_model, monkeypatch):
    """The error comes before the computation, which may take hours."""
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setattr(aoe._inputs, "Texts", None)  # the computation cannot start
    for call, inputs in ((model.encode, ["a"]), (pair_model.predict, [("a", "b")])):
        with pytest.raises(ImportError, match="needs PyTorch"):
            call(inputs, convert_to_tensor=True)


def test_directory_of_an_open_model(model, tmp_path, monkeypatch):
    """A relative path is that of the directory in which the model was opened."""
    model.save_pretrained(tmp_path / "copy")
    monkeypatch.chdir(tmp_path)
    opened = aoe.SentenceTransformer("copy")
    monkeypatch.chdir(tmp_path.parent)
    opened.max_seq_length = 5
    assert np.array_equal(opened.encode("a b c d e f"), model.encode("a b c"))
    assert np.array_equal(pickle.loads(pickle.dumps(opened)).encode("a"), model.encode("a"))


def test_closed_model():
    opened = aoe.SentenceTransformer()
    with opened:
        opened.encode("a")
    for call in (lambda: opened.encode("a"), lambda: opened.tokenize(["a"]), opened.describe,
                 opened.get_embedding_dimension, lambda: pickle.loads(pickle.dumps(opened)).encode("a")):
        with pytest.raises(ValueError, match="closed"):
            call()
    opened.close()
    with pytest.raises(ValueError, match="closed"):  # the model is not opened again
        opened.max_seq_length = 5


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
    for name in ("models/a\0b", "model-\ud800"):
        with pytest.raises(ValueError, match="U\\+0000|surrogate") as error:
            aoe.SentenceTransformer(name)
        assert not isinstance(error.value, UnicodeError)
    for arguments, error in (({"device": "cuda"}, ValueError), ({"dtype": "f64"}, ValueError),
                             ({"threads": 0}, ValueError), ({"threads": "2"}, TypeError), ({"threads": 1.0}, TypeError),
                             ({"threads": True}, TypeError)):
        with pytest.raises(error):
            aoe.SentenceTransformer(**arguments)
    assert aoe.SentenceTransformer(threads=np.int32(2), max_seq_length=np.int64(5)).threads == 2
    aoe.SentenceTransformer(model_kwargs={}, processor_kwargs={}, config_kwargs=None, modules=[])
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
