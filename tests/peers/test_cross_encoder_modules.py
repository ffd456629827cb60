# SPDX-License-Identifier: MIT
"""Cross-encoders whose modules.json describes their head, as sentence-transformers writes them since version 5.4:
language models with the module LogitScore, and transformers with the modules Pooling and Dense. The scores are compared
with CrossEncoder.

To write the golden cases of tests/golden/cross_encoder_test.c:

    python tests/peers/test_cross_encoder_modules.py tests/golden/cross_encoders
"""
import json
import pathlib
import sys

import numpy as np
import pytest
import tokenizers
import torch
import transformers
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Dense, Transformer
from sentence_transformers.cross_encoder.modules import LogitScore
from sentence_transformers.sentence_transformer.modules import Dropout, LayerNorm, Pooling

import cross_encoders
import golden
from test_causal_reranker import DEFAULT, END, START, build
from test_cross_encoder import rerank

QWEN_TEMPLATE = START.replace('"', '\\"').join(["{{ \"", "\" }}"]).replace("\n", "\\n") + """\
<Instruct>: {{ messages | selectattr("role", "eq", "system") | map(attribute="content") | first | default("%s") }}
<Query>: {{ messages | selectattr("role", "eq", "query") | map(attribute="content") | first }}
<Document>: {{ messages | selectattr("role", "eq", "document") | map(attribute="content") | first }}""" % DEFAULT + "{{ \"" + END.replace(
    "\n", "\\n") + "\" }}"
WORDS = [("w1 w2 w3", "w4"), ("w5", "w6 w7 w8 w9"), ("w10 w11", "w12")]
TEXTS = [("capital of Peru", "Lima is the capital."), ("who?", "no one " * 30), ("yes", "ünïcödé\n\ntext")]


def fast(folder, tokenizer, **options):
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"],
                                         **options).save_pretrained(folder)


def language_model(folder, tied, template, true_token="yes", false_token="no"):
    """Saves a small Qwen3 with LogitScore; returns the CrossEncoder."""
    raw = folder / "raw"
    raw.mkdir()
    _, tokenizer = build(raw, tied)
    fast(raw, tokenizer, pad_token="<|endoftext|>", eos_token="<|endoftext|>")
    if template:
        (raw / "chat_template.jinja").write_text(template)
    transformer = Transformer(str(raw), transformer_task="text-generation")
    ids = [None if token is None else tokenizer.token_to_id(token) for token in (true_token, false_token)]
    CrossEncoder(modules=[transformer, LogitScore(*ids)], device="cpu").save_pretrained(str(folder / "model"))
    return CrossEncoder(str(folder / "model"), device="cpu")


def pooled_model(folder, labels, pooling, *middle):
    """Saves a small BERT with Pooling, further modules and a Dense module for the scores; returns the CrossEncoder."""
    raw = folder / "raw"
    model = cross_encoders.build(golden.variants("bert")["default"], 1)
    cross_encoders.save(model, raw)
    model.bert.float().save_pretrained(raw)
    fast(raw, tokenizers.Tokenizer.from_file(str(raw / "tokenizer.json")), unk_token="[UNK]", pad_token="[PAD]",
         cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]")
    transformer = Transformer(str(raw))
    transformer.tokenizer.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    hidden = transformer.get_embedding_dimension()
    torch.manual_seed(3)
    first = Pooling(hidden, pooling)
    width = first.get_embedding_dimension()
    modules = [transformer, first, *[make(width) for make in middle],
               Dense(width, labels, activation_function=torch.nn.Identity(), module_output_name="scores")]
    for module in modules[1:]:
        for weight in module.parameters():
            torch.nn.init.normal_(weight)
    CrossEncoder(modules=modules, device="cpu").save_pretrained(str(folder / "model"))
    return CrossEncoder(str(folder / "model"), device="cpu")


def compare(aoe, folder, encoder, pairs, *options, **predict):
    """Compares the scores with and without the activation function. CrossEncoder keeps the activation function of a
    call."""
    for activation, scores in ((None, ()), (torch.nn.Identity(), ("--scores", "logit"))):
        want = np.asarray(encoder.predict(pairs, activation_fn=activation, **predict),
                          dtype=np.float64).reshape(len(pairs), -1)
        got = rerank(aoe, folder / "model", pairs, *scores, *options)
        assert got.shape == want.shape
        assert np.abs(got - want).max() < 2e-5 * np.abs(want).max()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("tokens", [("yes", "no"), ("no", "a"), ("yes", None)])
def test_logit_score(aoe, tmp_path, tied, tokens):
    compare(aoe, tmp_path, language_model(tmp_path, tied, None, *tokens), TEXTS)


def test_template_of_qwen3_reranker(aoe, tmp_path):
    encoder = language_model(tmp_path, True, QWEN_TEMPLATE)
    compare(aoe, tmp_path, encoder, TEXTS)
    compare(aoe, tmp_path, encoder, TEXTS, "--prompt", "Find facts{text}", prompt="Find facts")


def edit(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def name_templates(folder):
    template = (folder / "chat_template.jinja").read_text()
    (folder / "chat_template.jinja").unlink()
    edit(folder / "tokenizer_config.json",
         lambda c: c.update(chat_template=[{"name": "default", "template": template},
                                           {"name": "tool_use", "template": "x"}]))


def move_transformer(folder):
    (folder / "0_Transformer").mkdir()
    for path in list(folder.iterdir()):
        if path.is_file() and path.name not in ("modules.json", "config_sentence_transformers.json", "README.md"):
            path.rename(folder / "0_Transformer" / path.name)
    edit(folder / "modules.json", lambda modules: modules[0].update(path="0_Transformer"))


def replace(old, new):
    def change(folder):
        path = folder / "chat_template.jinja"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return change


@pytest.mark.parametrize("change", [
    pytest.param(replace("Judge whether", "Decide if"), id="other text"),
    pytest.param(replace("Given a web", "Given no web"), id="other instruction"),
    pytest.param(replace("<Query>: ", "<Query>: please "), id="text before the query"),
    pytest.param(replace('map(attribute="content") | first }}', 'map(attribute="content") | first | trim }}'),
                 id="filter"),
    pytest.param(name_templates, id="named templates"),
    pytest.param(move_transformer, id="subfolder"),
    pytest.param(lambda folder: edit(folder / "sentence_bert_config.json",
                                     lambda c: c["modality_config"].pop("message")), id="no message"),
    pytest.param(lambda folder: edit(folder / "tokenizer_config.json", lambda c: c.update(truncation_side="left")),
                 id="left"),
])
def test_changed_templates(aoe, tmp_path, change):
    language_model(tmp_path, True, QWEN_TEMPLATE)
    change(tmp_path / "model")
    encoder = CrossEncoder(str(tmp_path / "model"), device="cpu")
    compare(aoe, tmp_path, encoder, TEXTS)
    encoder.max_length = 64
    compare(aoe, tmp_path, encoder, TEXTS, "--max-length", "64")


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max", ["cls", "mean"]])
def test_pooling_and_dense(aoe, tmp_path, labels, pooling):
    compare(aoe, tmp_path, pooled_model(tmp_path, labels, pooling), WORDS)


def test_modules_before_the_scores(aoe, tmp_path):
    encoder = pooled_model(tmp_path, 1, "mean", LayerNorm, lambda width: Dropout(0.3),
                           lambda width: Dense(width, width, activation_function=torch.nn.GELU()))
    compare(aoe, tmp_path, encoder, WORDS)


def test_embedding_with_a_cross_encoder(aoe, tmp_path):
    """Commands that compute embeddings name the command that scores pairs."""
    for name, make in {"logits": lambda f: language_model(f, True, None),
                       "pooled": lambda f: pooled_model(f, 1, "mean")}.items():
        folder = tmp_path / name
        folder.mkdir()
        make(folder)
        assert "aoe rerank" in aoe.run("embed", "-m", folder / "model", "-", fails=True, stdin="a\n").stderr


if __name__ == "__main__":
    import shutil
    import tempfile

    for name, make, pairs in (("logit_score", lambda f: language_model(f, False, None, "yes", None), TEXTS),
                              ("pooled_modules", lambda f: pooled_model(f, 3, ["cls", "mean"], LayerNorm), WORDS)):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            encoder = make(folder)
            values = np.asarray(encoder.predict(pairs, activation_fn=torch.nn.Identity()),
                                dtype=np.float64).reshape(len(pairs), -1)
            target = pathlib.Path(sys.argv[1]) / name
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(folder / "model", target, ignore=shutil.ignore_patterns("README.md"))
            (target / "expected.json").write_text(json.dumps({"pairs": pairs, "logits": values.tolist()}) + "\n")
