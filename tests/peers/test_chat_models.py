# SPDX-License-Identifier: MIT
"""Models whose texts are rendered with a chat template: vectors, scores and token ids of aoe are compared with those of
sentence-transformers. The template is the one in the directory; tests/peers/test_chat_templates.py compares templates
alone."""
import json

import numpy as np
import pytest
from sentence_transformers import CrossEncoder, SentenceTransformer

import chat_models
from conftest import assert_equal, relative_error
from test_cross_encoder import rerank

BYTE_TEXTS = ["the capital of Peru", "  spaced \n", "é ünï 東京\u3000", "a <|im_end|> b</s>", "", "line\nline\r\nline",
              "x" * 20, "the river is near the harbor " * 12]
WORD_TEXTS = ["w1 w2 w3", " w5 ", "W7 w7 unknown [MASK] w30", "", " ".join(f"w{i % 35}" for i in range(80)),
              "w9\n[SEP] w8"]
PAIRS = [("capital of Peru", "Lima is the capital."), ("who?", "no one " * 9), ("", "yes"),
         ("a <|im_end|> b", "ünïcödé\n\ntext")]
LONG_PAIRS = [*PAIRS, ("query " * 40, "text"), ("query", "text " * 60), ("a b " * 30, "c d " * 30)]
WORD_PAIRS = [("w1 w2 w3", "w4"), ("w5", "w6 w7 w8 w9"), ("w10 W11", "w12"), ("w1 " * 50, "w2 " * 50), ("", "w3")]
TOLERANCE = 1e-5


def texts_of(folder):
    return WORD_TEXTS if "[CLS]" in "".join(str(file.read_bytes())
                                            for file in folder.rglob("tokenizer.json")) else BYTE_TEXTS


def reference_ids(model, texts, prompt=None):
    """Returns the token ids that sentence-transformers passes to the transformer."""
    features = model[0].preprocess(texts, prompt=prompt)
    return [row[mask.bool()].tolist() for row, mask in zip(features["input_ids"], features["attention_mask"])]


def compare(aoe, folder, prompt=None, name=None, texts=None):
    """Compares the vectors and the token ids of a model, without a prompt option, with a prompt, or with the prompt
    `name`."""
    model = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": "float32"})
    texts = texts or texts_of(folder)
    options = {"prompt": prompt} if prompt is not None else {"prompt_name": name} if name is not None else {}
    flags = ["--prompt", prompt + "{text}"] if prompt is not None else ["--prompt-name",
                                                                        name] if name is not None else []
    want = model.encode(texts, show_progress_bar=False, batch_size=3, **options)
    assert_equal(aoe.embed(folder, texts, *flags), want, TOLERANCE)
    rendered = prompt if prompt is not None else model.prompts.get(name or model.default_prompt_name or "")
    ids = reference_ids(model, texts, rendered)
    flags = ["--prompt", rendered + "{text}"] if rendered else []
    assert aoe.tokenize(folder, texts, *flags, "--max-length", model.max_seq_length) == ids
    return want


def differs(a, b):
    assert relative_error(a, b) > 1e-3, "the setting has no effect"


@pytest.mark.parametrize("kind", chat_models.MODELS)
@pytest.mark.parametrize("mode", ["mean", "lasttoken", "cls"])
def test_models(aoe, tmp_path, kind, mode):
    folder = chat_models.sentence_model(tmp_path, kind, mode=mode)
    plain = compare(aoe, folder)
    compare(aoe, folder, prompt="")
    prompt = "w5 w6 " if kind == "bert" else "find similar texts: "
    prompted = compare(aoe, folder, prompt=prompt)
    if mode != "cls":  # the first token of a causal model depends on no other token
        differs(plain, prompted)


@pytest.mark.parametrize("kind", ["qwen2", "bert"])
def test_prompts_of_the_model(aoe, tmp_path, kind):
    prompts = {"query": "w5: ", "document": "w6 w7\n", "empty": ""}
    folder = chat_models.sentence_model(tmp_path, kind, prompts=prompts, default_prompt_name="query")
    differs(compare(aoe, folder), compare(aoe, folder, name="document"))
    compare(aoe, folder, name="empty")
    compare(aoe, folder, prompt="w8 ")


@pytest.mark.parametrize("place", [None, "string", "list"])
@pytest.mark.parametrize("form", ["flat", "structured", "auto", "missing"])
@pytest.mark.parametrize("template", ["EITHER", "PARTS", "CHATML"])
def test_formats(aoe, tmp_path, place, form, template):
    """The content of a message is a string or a list. Where sentence-transformers cannot render the template, neither
    can aoe."""
    source = getattr(chat_models, template)
    folder = chat_models.sentence_model(tmp_path, "qwen2", source, form=form, place=place)
    structured = form == "structured" or (form in ("auto", "missing") and (template != "CHATML" or place == "list"))
    if template == "CHATML" and structured:
        with pytest.raises(Exception):
            SentenceTransformer(str(folder), device="cpu").encode(["a"])
        assert "a string and a list" in aoe.run("embed", "-m", folder, stdin="a\n", fails=True).stderr
    elif template == "PARTS" and not structured:
        # the template iterates over characters; the library computes equal vectors for all texts
        assert "same string" in aoe.run("embed", "-m", folder, stdin="a\n", fails=True).stderr
    else:
        compare(aoe, folder)
        compare(aoe, folder, prompt="find: ")


@pytest.mark.parametrize("kind", chat_models.MODELS)
@pytest.mark.parametrize("restore", [None, True, False])
@pytest.mark.parametrize("side", ["right", "left"])
def test_truncation(aoe, tmp_path, kind, restore, side):
    """The end of the template replaces the last tokens of a truncated text, unless restore_suffix is false."""
    options = {} if restore is None else {"restore_suffix": restore}
    folder = chat_models.sentence_model(tmp_path, kind, length=24, options=options, tokenizer={"truncation_side": side},
                                        mode="lasttoken")
    compare(aoe, folder)
    compare(aoe, folder, prompt="w5 w6 w7 ")
    compare(aoe, folder, prompt="w5 w6 w7 " * 12)


@pytest.mark.parametrize("length", range(1, 21))
def test_short_maximum(aoe, tmp_path, length):
    """The maximum is near the length of the template, or shorter than the template."""
    folder = chat_models.sentence_model(tmp_path, "qwen2", length=length, mode="lasttoken")
    compare(aoe, folder)
    if length > 4:
        compare(aoe, folder, prompt="find")


@pytest.mark.parametrize("kind", chat_models.MODELS)
def test_arguments(aoe, tmp_path, kind):
    """processing_kwargs contains arguments of apply_chat_template, which are variables of the template."""
    template = chat_models.MODELS[kind][
        1] + "{% if mark is defined %}{{ mark }}{{ marks[0].w | default('w9') }}{{ none_mark }}{% endif %}"
    made = {}
    for name, options in {"without": {}, "with": {"add_generation_prompt": True},
                          "marks": {"mark": "w7", "marks": [{"v": 1}]},
                          "token": {"bos_token": "w8", "eos_token": "w9"}}.items():
        made[name] = compare(aoe, chat_models.sentence_model(tmp_path / name, kind, template, options=options,
                                                             length=40))
    differs(made["without"], made["with"])
    differs(made["without"], made["marks"])
    if kind == "llama":
        differs(made["without"], made["token"])


@pytest.mark.parametrize("kind", ["llama", "bert", "qwen2"])
def test_lowercase(aoe, tmp_path, kind):
    folder = chat_models.sentence_model(tmp_path, kind, lower=True)
    texts = ["W1 W2", "The CAPITAL of Peru [SEP] <|IM_END|> <|im_end|>", "ÉCOLE"]
    compare(aoe, folder, texts=texts)
    compare(aoe, folder, prompt="W5 Find: ", texts=texts)


@pytest.mark.parametrize("kind", ["qwen2", "bert"])
def test_include_prompt(aoe, tmp_path, kind):
    """Messages have no prompt length, so include_prompt has no effect."""
    folder = chat_models.sentence_model(tmp_path, kind, include_prompt=False, prompts={"q": "w5 w6 "},
                                        default_prompt_name="q")
    compare(aoe, folder)
    compare(aoe, folder, prompt="w7 ")


@pytest.mark.parametrize("place", [None, "string", "list"])
@pytest.mark.parametrize("kind", ["llama", "bert"])
def test_nested(aoe, tmp_path, kind, place):
    form = "flat" if place == "list" else None
    folder = chat_models.sentence_model(tmp_path, kind, nested=True, place=place, form=form, length=30)
    compare(aoe, folder)
    compare(aoe, folder, prompt="w5 ")


@pytest.mark.parametrize("template", [
    chat_models.CHATML.replace("\n", "\r\n"), chat_models.CHATML + "\n\n", "\ufeff" + chat_models.CHATML,
    "{{ messages[-1].content }}", "{{ messages | length }}{% for m in messages %}{{ m.content | upper }}{% endfor %}",
    "{{ bos_token }}{{ messages[-1].content }}{{ eos_token }}{{ pad_token }}{{ unk_token }}{{ cls_token }}"],
    ids=["crlf", "line-ends", "mark", "plain", "upper", "tokens"])
def test_template_files(aoe, tmp_path, template):
    folder = chat_models.sentence_model(tmp_path, "qwen2", template, length=40)
    texts = ["the capital of Peru", "  spaced \n", "line\nline\r\nline", "a <|im_end|> b",
             "the river is near the harbor " * 12]
    compare(aoe, folder, texts=texts)
    compare(aoe, folder, prompt="find", texts=texts)


# ------------------------------------------------------------------------------------------------------------
# cross-encoders


def compare_pairs(aoe, folder, pairs, *options, **predict):
    encoder = CrossEncoder(str(folder), device="cpu")
    want = np.asarray(encoder.predict(pairs, show_progress_bar=False, batch_size=3, **predict),
                      dtype=np.float64).reshape(len(pairs), -1)
    got = rerank(aoe, folder, pairs, *options)
    assert got.shape == want.shape
    assert np.abs(got - want).max() < 2e-5 * np.abs(want).max()
    features = encoder[0].preprocess(pairs, prompt=predict.get("prompt"))
    ids = [row[mask.bool()].tolist() for row, mask in zip(features["input_ids"], features["attention_mask"])]
    assert aoe.tokenize(folder, pairs, *options, "--max-length", encoder.max_seq_length) == ids
    return want


@pytest.mark.parametrize("labels", [1, 3])
@pytest.mark.parametrize("length", [None, 24])
@pytest.mark.parametrize("kind", chat_models.MODELS)
def test_cross_encoders(aoe, tmp_path, kind, labels, length):
    folder = chat_models.cross_encoder(tmp_path, kind, labels=labels, length=length)
    pairs = WORD_PAIRS if kind == "bert" else LONG_PAIRS if length else PAIRS
    compare_pairs(aoe, folder, pairs)
    compare_pairs(aoe, folder, pairs, "--prompt", "w5 find: {text}", prompt="w5 find: ")


@pytest.mark.parametrize("form", ["flat", "structured", "auto"])
@pytest.mark.parametrize("place", [None, "string", "list"])
def test_cross_encoder_formats(aoe, tmp_path, form, place):
    folder = chat_models.cross_encoder(tmp_path, "qwen2", chat_models.EITHER, form=form, place=place)
    compare_pairs(aoe, folder, PAIRS)


@pytest.mark.parametrize("restore", [True, False])
@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("kind", ["qwen2", "bert"])
def test_cross_encoder_truncation(aoe, tmp_path, kind, restore, side):
    folder = chat_models.cross_encoder(tmp_path, kind, length=20,
                                       options={"restore_suffix": restore, "add_generation_prompt": True},
                                       tokenizer={"truncation_side": side})
    compare_pairs(aoe, folder, WORD_PAIRS if kind == "bert" else LONG_PAIRS)


@pytest.mark.parametrize("template", ["{% for m in messages if m.role == 'user' %}{{ m.content }}{% endfor %}",
                                      "{% for m in messages if m.role != 'document' %}{{ m.content }}{% endfor %}",
                                      "{{ messages[-1].content }}"], ids=["neither", "query", "document"])
def test_template_without_a_text(aoe, tmp_path, template):
    """A template that does not print both texts of a pair is rejected, as in sentence-transformers."""
    folder = chat_models.cross_encoder(tmp_path, "qwen2", template)
    with pytest.raises(ValueError, match="cannot carry"):
        CrossEncoder(str(folder), device="cpu").predict(PAIRS)
    done = aoe.run("rerank", "-m", folder, "--query", "a", stdin="b\n", fails=True)
    assert "chat template" in done.stderr and "query" in done.stderr


# ---------------------------------------------------------------------------------------------------------------- saved
# models


def write_table(path, texts):
    """Writes a table of pairs of the texts that are not empty."""
    texts = [text for text in texts if text]
    path.write_text("".join(json.dumps({"text1": a, "text2": b, "label": i % 3 / 2}) + "\n" for i,
                            (a, b) in enumerate(zip(texts, texts[1:]))))
    return path


SAVED = {
    "qwen2": dict(kind="qwen2", mode="lasttoken", length=30, prompts={"q": "find: "}, default_prompt_name="q"),
    "llama": dict(kind="llama", options={"add_generation_prompt": True, "restore_suffix": False}, length=30),
    "bert": dict(kind="bert", include_prompt=False, prompts={"q": "w5 "}, length=20),
    "list": dict(kind="qwen2", template=chat_models.EITHER, place="list", form="auto"),
    "string": dict(kind="qwen2", place="string"),
    "structured": dict(kind="qwen2", template=chat_models.EITHER, form="structured"),
    "nested": dict(kind="bert", nested=True),
    "lower": dict(kind="bert", lower=True),
}


@pytest.mark.parametrize("name", SAVED)
@pytest.mark.parametrize("command", ["convert", "bf16", "train", "lora"])
def test_saved_by_aoe(aoe, tmp_path, name, command):
    """Models and adapters that aoe writes give equal vectors in sentence-transformers."""
    start, out = chat_models.sentence_model(tmp_path, **SAVED[name]), tmp_path / "out"
    table = write_table(tmp_path / "pairs.jsonl", texts_of(start))
    train = ["train", "-q", "-m", start, "-d", table, "-o", out, "--epochs", 1, "--batch-size", 4, "--lr", 0.05,
             "--dtype", "f32"]
    aoe.run(*{"convert": ["convert", "-q", start, "--dtype", "f32", "-o", out],
              "bf16": ["convert", "-q", start, "--dtype", "bf16", "-o", out],
              "train": train, "lora": [*train, "--lora-r", 2]}[command])
    before = compare(aoe, start)
    after = compare(aoe, out)
    if command == "convert":
        assert_equal(after, before, 1e-6)
    elif command in ("train", "lora"):
        differs(before, after)
    for prompt in ("", "w7 "):
        compare(aoe, out, prompt=prompt)


@pytest.mark.parametrize("kind", chat_models.MODELS)
def test_adapters_of_a_raw_model(aoe, tmp_path, kind):
    """aoe does not render the texts of a raw model, and warns. Adapters of such a model contain modules.json, so that
    sentence-transformers does not render them either."""
    start, out = chat_models.raw(tmp_path / "raw", kind), tmp_path / "out"
    texts = WORD_TEXTS if kind == "bert" else BYTE_TEXTS
    done = aoe.run("train", "-m", start, "-d", write_table(tmp_path / "pairs.jsonl", texts), "-o", out, "--epochs", 1,
                   "--batch-size", 4, "--lr", 0.05, "--dtype", "f32", "--lora-r", 2, "--pooling", "mean")
    assert "chat_template.jinja" in done.stderr
    assert (out / "modules.json").is_file()
    compare_plain(aoe, out, texts)


def compare_plain(aoe, folder, texts):
    model = SentenceTransformer(str(folder), device="cpu")
    assert "message" not in model[0].modality_config
    texts = [text for text in texts if text]
    assert_equal(aoe.embed(folder, texts), model.encode(texts, show_progress_bar=False), TOLERANCE)


@pytest.mark.parametrize("kind", chat_models.MODELS)
def test_raw_model_trained(aoe, tmp_path, kind):
    start, out = chat_models.raw(tmp_path / "raw", kind), tmp_path / "out"
    texts = WORD_TEXTS if kind == "bert" else BYTE_TEXTS
    aoe.run("train", "-m", start, "-d", write_table(tmp_path / "pairs.jsonl", texts), "-o", out, "--epochs", 1,
            "--batch-size", 4, "--lr", 0.05, "--dtype", "f32", "--pooling", "mean")
    compare_plain(aoe, out, texts)


@pytest.mark.parametrize("command", ["convert", "train", "lora"])
@pytest.mark.parametrize("kind", chat_models.MODELS)
def test_saved_cross_encoders(aoe, tmp_path, kind, command):
    start, out = chat_models.cross_encoder(tmp_path, kind, options={"add_generation_prompt": True},
                                           length=30), tmp_path / "out"
    pairs = WORD_PAIRS if kind == "bert" else LONG_PAIRS
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps({"text1": a, "text2": b, "label": i % 2}) + "\n" for i,
                            (a, b) in enumerate(pairs) if a))
    train = ["train", "-q", "-m", start, "-d", path, "-o", out, "--method", "cross-encoder", "--epochs", 1,
             "--batch-size", 4, "--lr", 0.05, "--dtype", "f32"]
    aoe.run(*{"convert": ["convert", "-q", start, "--dtype", "f32", "-o", out], "train": train,
              "lora": [*train, "--lora-r", 2]}[command])
    compare_pairs(aoe, out, pairs)
