# SPDX-License-Identifier: MIT
"""Runs the Python code and the commands in docs/from-sentence-transformers.md and docs/from-angle_emb.md with a small
model, and compares their results."""
import json
import os
import random
import re
import shlex
import shutil
import subprocess
import sys

import numpy
import pytest

from conftest import ROOT, assert_equal
from test_trained_models import pairs, sentences, start, table  # fixtures

TEXTS = ["A quiet harbor near the market.", "The doctor follows an ancient river!", "Engine repairs without signal",
         "x"]


def page(name):
    """Returns the examples of a page by section: (language, text) for each block of code; indented commands have the
    language "aoe"."""
    sections = {}
    for section in re.split(r"(?m)^## ", (ROOT / "docs" / name).read_text(encoding="utf-8"))[1:]:
        title, body = section.split("\n", 1)
        found = re.findall(r"(?ms)^```(\w+)\n(.*?)^```|^(    aoe (?:[^\n]*\\\n)*[^\n]*\n)", body)
        sections[title] = [(language or "aoe", text or command) for language, text, command in found]
    return sections


def only(examples, language):
    (text,) = [text for each, text in examples if each == language]
    return text


def words_of(command):
    return shlex.split(command.replace("\\\n", " "))


def run(aoe, command, *more):
    """Runs a command of a page with additional arguments in the current directory. Returns what it prints."""
    words = words_of(command)
    assert words[0] == "aoe"
    return aoe.run(*words[1:], *more).stdout


@pytest.fixture
def folder(start, pairs, tmp_path, monkeypatch):
    """The current directory, with the files that the examples name."""
    for name in ("my-model", "bert-base-uncased"):
        shutil.copytree(start["bert-tiny"], tmp_path / name)
    (tmp_path / "texts.txt").write_text("".join(text + "\n" for text in TEXTS), encoding="utf-8")
    rows = [{"text1": a, "text2": b, "label": score} for a, b, score in pairs]
    for name in ("train", "dev"):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        lines = [f'"{row["text1"]}","{row["text2"]}",{row["label"]}\n' for row in rows]
        (tmp_path / f"{name}.csv").write_text("text1,text2,label\n" + "".join(lines), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_embedding_with_sentence_transformers(aoe, folder):
    from sentence_transformers import SentenceTransformer

    examples = page("from-sentence-transformers.md")["Embedding"]
    exec(only(examples, "python"), {"SentenceTransformer": SentenceTransformer, "numpy": numpy, "texts": TEXTS})
    want = numpy.load("vectors.npy")
    os.remove("vectors.npy")
    run(aoe, only(examples, "aoe"), "-q", "--dtype", "f32")
    assert_equal(numpy.load("vectors.npy"), want, 1e-5)


def test_quantization_with_sentence_transformers(aoe, folder):
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.util import quantize_embeddings

    examples = page("from-sentence-transformers.md")["Quantized embeddings"]
    (folder / "queries.txt").write_text("".join(text + "\n" for text in TEXTS[:2]), encoding="utf-8")
    exec(only(examples, "python"), {"model": SentenceTransformer("my-model", device="cpu"), "numpy": numpy,
                                    "texts": TEXTS, "quantize_embeddings": quantize_embeddings, "queries": TEXTS[:2]})
    want = [numpy.load(name) for name in ("vectors.npy", "queries.npy")]
    for command in [text for language, text in examples if language == "aoe"]:
        run(aoe, command, "-q", "--dtype", "f32")
    # rounding errors of an embedding can change a value by 1
    for name, values in zip(("vectors.npy", "queries.npy"), want):
        got = numpy.load(name)
        assert got.dtype == values.dtype == numpy.int8
        assert numpy.abs(got.astype(int) - values).max() <= 1 and (got != values).mean() < 0.05


def test_similarity_with_sentence_transformers(aoe, folder):
    from sentence_transformers import SentenceTransformer, util

    examples = page("from-sentence-transformers.md")["Similarity and search"]
    model = SentenceTransformer("my-model", device="cpu")
    cosine, search = only(examples, "python").splitlines()
    vectors = model.encode(TEXTS)
    names = {"model": model, "util": util, "query_vectors": vectors[:1], "corpus_vectors": vectors}
    assert len(eval(search, names)[0]) == len(TEXTS)
    got = json.loads(run(aoe, only(examples, "aoe"), "-m", "my-model", "--json", "--dtype", "f32"))
    assert got["cosine"] == pytest.approx(float(eval(cosine, names)), abs=1e-5)


def test_training_with_sentence_transformers(aoe, folder):
    from datasets import load_dataset
    from sentence_transformers import (SentenceTransformer, SentenceTransformerTrainer,
                                       SentenceTransformerTrainingArguments, losses)

    examples = page("from-sentence-transformers.md")["Training"]
    read = lambda path: load_dataset("csv", data_files=path, split="train", cache_dir=str(folder / "cache"))
    names = {"model": SentenceTransformer("my-model", device="cpu"), "train": read("train.csv"), "dev": read("dev.csv"),
             "losses": losses, "SentenceTransformerTrainer": SentenceTransformerTrainer,
             "SentenceTransformerTrainingArguments": SentenceTransformerTrainingArguments}
    before = names["model"].encode(TEXTS)
    exec(only(examples, "python"), names)
    assert numpy.abs(names["model"].encode(TEXTS) - before).max() > 0
    shutil.rmtree("out", ignore_errors=True)  # checkpoints of the trainer
    run(aoe, only(examples, "aoe"), "-q")
    assert (folder / "out" / "model.safetensors").exists()


def test_reranking_with_sentence_transformers(aoe, folder):
    from sentence_transformers import CrossEncoder

    examples = page("from-sentence-transformers.md")["Reranking"]
    aoe.run("train", "-q", "-m", "my-model", "-d", "train.csv", "-o", "my-reranker", "--method", "cross-encoder",
            "--max-steps", 2)
    names = {"CrossEncoder": CrossEncoder, "query": "quiet river", "texts": TEXTS}
    exec(only(examples, "python"), names)
    lines = run(aoe, only(examples, "aoe"), "--json", "--dtype", "f32").splitlines()
    got = {row["text"]: row["score"] for row in map(json.loads, lines)}
    want = {TEXTS[row["corpus_id"]]: row["score"] for row in names["ranking"]}
    assert got == pytest.approx(want, abs=1e-5)


def test_embedding_with_angle_emb(aoe, folder):
    from angle_emb import AnglE

    examples = page("from-angle_emb.md")["Embedding"]
    for text in TEXTS:  # angle_emb pools padding tokens as well, so that each text is encoded alone
        names = {"AnglE": AnglE, "texts": [text]}
        exec(only(examples, "python"), names)
        (folder / "texts.txt").write_text(text + "\n", encoding="utf-8")
        run(aoe, only(examples, "aoe"), "-q", "--dtype", "f32", "--no-normalize")
        assert_equal(numpy.load("vectors.npy"), names["vectors"], 1e-5)


def test_training_and_evaluation_with_angle_emb(aoe, folder, pairs):
    from angle_emb import AnglE
    from angle_emb.evaluation import CorrelationEvaluator

    examples = page("from-angle_emb.md")
    words = words_of(only(examples["Training"], "sh"))
    assert words[0] == "angle-trainer"
    environment = {**os.environ, "HF_HOME": str(folder / "cache"), "WANDB_MODE": "disabled"}
    done = subprocess.run([sys.executable, "-m", "angle_emb.angle_trainer", *words[1:], "--max_steps", "2", "--workers",
                           "1"],
                          env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    shutil.rmtree("out")
    run(aoe, only(examples["Training"], "aoe"), "-q", "--max-steps", 2)
    angle = AnglE.from_pretrained("out", pooling_strategy="cls", max_length=128)
    text1, text2, labels = map(list, zip(*pairs))
    want = eval(only(examples["Evaluation"], "python"),
                {"CorrelationEvaluator": CorrelationEvaluator, "angle": angle, "text1": text1, "text2": text2,
                 "labels": labels})
    got = json.loads(run(aoe, only(examples["Evaluation"], "aoe"), "--json", "--dtype", "f32"))
    assert got["spearman"] == pytest.approx(want, abs=1e-3)


@pytest.mark.parametrize("name", ["from-sentence-transformers.md", "from-angle_emb.md"])
def test_options_exist(aoe, name):
    """Each option of aoe in the last columns of the tables is an option of a command."""
    commands = [["train"], ["embed"], ["similarity"], ["rerank"], ["eval", "sts"], ["data", "mine"]]
    known = set(re.findall(r"--[a-z][a-z0-9-]*", "".join(aoe.run(*command, "--help").stdout for command in commands)))
    rows = re.findall(r"(?m)^\|[^|]*\|(.*)\|$", (ROOT / "docs" / name).read_text(encoding="utf-8"))
    options = set(re.findall(r"--[a-z][a-z0-9-]*", "".join(rows)))
    assert options and options <= known, options - known
