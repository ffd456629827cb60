# SPDX-License-Identifier: MIT
"""Compares the scores of cross-encoders (aoe rerank) with transformers in float64, and with CrossEncoder of
sentence-transformers for the directories that it writes."""
import json
import pathlib

import numpy as np
import pytest
import tokenizers
import transformers
from sentence_transformers import CrossEncoder
from torch import nn

import cross_encoders
import golden

NAMES = sorted(p.stem for p in (pathlib.Path(__file__).parent / "architectures").glob("[a-z]*.py"))
CASES = [(name, variant) for name in NAMES for variant in golden.variants(name)]


def rerank(aoe, model, pairs, *options):
    """Returns the scores [pairs, outputs] that `aoe rerank --pairs` prints."""
    lines = "".join(json.dumps({"text1": a, "text2": b}) + "\n" for a, b in pairs)
    done = aoe.run("rerank", "-q", "-m", model, "--dtype", "f32", "--json", "--pairs", "-", "--input-format", "jsonl",
                   *options, stdin=lines)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return np.array([row["scores"] if "scores" in row else [row["score"]] for row in rows])


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("name,variant", CASES, ids=[f"{a}-{v}" for a, v in CASES])
def test_logits(aoe, tmp_path, name, variant, labels):
    make = golden.variants(name)[variant]
    _, config, options = (*make(), {})[:3]
    if "config" in options or "rewrite" in options or not isinstance(config, transformers.PreTrainedConfig):
        pytest.skip("the layout of the checkpoint is not the one that transformers writes")
    try:
        model = cross_encoders.build(make, labels)
    except (KeyError, ValueError) as error:
        if "AutoModelForSequenceClassification" not in str(error):
            raise
        pytest.skip("transformers has no class with a classification head")
    longest = getattr(model.config, "max_position_embeddings", 10000) - 2
    pairs = [(a, b) for a, b in cross_encoders.PAIRS if len(a.split()) + len(b.split()) + 3 <= longest]
    assert len(pairs) > 2
    tokenizer = cross_encoders.save(model, tmp_path)
    want = cross_encoders.logits(model, tokenizer, pairs)
    got = rerank(aoe, tmp_path, pairs, "--scores", "logit")
    error = lambda scores: np.abs(scores - want).max() / np.abs(want).max()
    assert got.shape == want.shape
    assert error(got) < max(5e-6, 2 * error(cross_encoders.logits(model.float(), tokenizer, pairs)))


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("variant", golden.variants("jina_bert"))
def test_logits_of_jina(aoe, tmp_path, variant, labels):
    """transformers has no JinaBERT; the reference is tests/peers/jina_reference.py."""
    want, _ = cross_encoders.save_jina(golden.variants("jina_bert")[variant], labels, tmp_path)
    got = rerank(aoe, tmp_path, cross_encoders.PAIRS, "--scores", "logit")
    assert got.shape == want.shape
    assert np.abs(got - want).max() / np.abs(want).max() < 5e-6


def save_cross_encoder(folder, labels, activation, **options):
    """Saves a small BERT with sentence-transformers; returns the CrossEncoder."""
    raw = folder / "raw"
    model = cross_encoders.build(golden.variants("bert")["default"], labels)
    cross_encoders.save(model, raw)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer.from_file(str(raw / "tokenizer.json")), unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]",
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(raw)
    encoder = CrossEncoder(str(raw), device="cpu", activation_fn=activation, **options)
    encoder.save_pretrained(str(folder / "saved"))
    return CrossEncoder(str(folder / "saved"), device="cpu")


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("activation", [None, nn.Sigmoid, nn.Identity, nn.Softmax, nn.Tanh],
                         ids=["default", "sigmoid", "identity", "softmax", "tanh"])
def test_sentence_transformers(aoe, tmp_path, labels, activation):
    encoder = save_cross_encoder(tmp_path, labels, activation and activation())
    want = encoder.predict(cross_encoders.PAIRS).reshape(-1, labels)
    got = rerank(aoe, tmp_path / "saved", cross_encoders.PAIRS)
    assert np.abs(got - want).max() < 2e-6 * max(1, np.abs(want).max())


@pytest.mark.parametrize("key", ["sentence_transformers", "sbert_ce_default_activation_function"])
def test_older_directories(aoe, tmp_path, key):
    """Before version 5.4, sentence-transformers wrote no modules.json, and the activation function was in
    config.json."""
    save_cross_encoder(tmp_path, 1, None)
    folder = tmp_path / "raw"
    config = json.loads((folder / "config.json").read_text())
    name = "torch.nn.modules.activation.Tanh"
    config[key] = {"activation_fn": name, "version": "5.0.0"} if key == "sentence_transformers" else name
    (folder / "config.json").write_text(json.dumps(config))
    want = CrossEncoder(str(folder), device="cpu").predict(cross_encoders.PAIRS).reshape(-1, 1)
    assert want.min() < -0.01 or want.max() > 0.01
    assert np.abs(rerank(aoe, folder, cross_encoders.PAIRS) - want).max() < 2e-6


@pytest.mark.parametrize("name", ["bert", "electra", "albert", "deberta", "nomic_bert"])
@pytest.mark.parametrize("class_name", [None, "BertTokenizer", "PreTrainedTokenizerFast"])
@pytest.mark.parametrize("names",
                         [None, ["input_ids", "attention_mask"], ["input_ids", "token_type_ids", "attention_mask"]],
                         ids=["default", "without", "with"])
def test_token_types(aoe, tmp_path, name, class_name, names):
    """transformers passes token types if the tokenizer's model_input_names contain them, which depends on its class."""
    if class_name is None and name in ("albert", "deberta"):
        pytest.skip("the class of the architecture replaces the WordPiece model of the tokenizer")
    model = cross_encoders.build(golden.variants(name)["positions" if name == "deberta" else "default"], 1)
    cross_encoders.save(model, tmp_path)
    config = {"tokenizer_class": class_name, "pad_token": "[PAD]", "model_input_names": names, "model_max_length": 64}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({key: value for key, value in config.items() if value}))
    want = CrossEncoder(str(tmp_path), device="cpu").predict(cross_encoders.PAIRS).reshape(-1, 1)
    assert np.abs(rerank(aoe, tmp_path, cross_encoders.PAIRS) - want).max() < 2e-6


def test_convert(aoe, tmp_path):
    """A copy by aoe opens as a CrossEncoder with equal scores."""
    encoder = save_cross_encoder(tmp_path, 3, nn.Softmax())
    aoe.run("convert", "-q", tmp_path / "saved", "--dtype", "f32", "-o", tmp_path / "copy")
    got = CrossEncoder(str(tmp_path / "copy"), device="cpu").predict(cross_encoders.PAIRS)
    assert np.abs(got - encoder.predict(cross_encoders.PAIRS)).max() < 1e-6


def test_max_length(aoe, tmp_path):
    """Pairs that are too long are truncated at the same tokens."""
    encoder = save_cross_encoder(tmp_path, 1, nn.Identity(), processor_kwargs={"model_max_length": 16})
    assert encoder.max_seq_length == 16
    want = encoder.predict(cross_encoders.PAIRS).reshape(-1, 1)
    assert np.abs(rerank(aoe, tmp_path / "saved", cross_encoders.PAIRS) - want).max() < 2e-6 * np.abs(want).max()


def test_rank(aoe, tmp_path):
    """The order of the texts is that of CrossEncoder.rank, and prompts are added to the query."""
    encoder = save_cross_encoder(tmp_path, 1, None, prompts={"ask": "w1 w2 "}, default_prompt_name="ask")
    texts = [b for _, b in cross_encoders.PAIRS]
    want = encoder.rank("w9 w4", texts)
    done = aoe.run("rerank", "-q", "-m", tmp_path / "saved", "--dtype", "f32", "--json", "--query", "w9 w4",
                   stdin="".join(text + "\n" for text in texts))
    got = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["index"] for row in got] == [row["corpus_id"] for row in want]
    assert max(abs(row["score"] - other["score"]) for row, other in zip(got, want)) < 2e-6
