# SPDX-License-Identifier: MIT
"""Pretraining from Python: data sets, options, events, interrupts, and the bits of `aoe pretrain`."""
import csv
import filecmp
import json
import os
import pathlib
import signal
import subprocess

import pytest

import aoe

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
OPTIONS = {"epochs": 2, "batch_size": 16, "max_length": 32, "held_out": 0.2, "lr": 2e-3, "seed": 7}


@pytest.fixture(scope="module")
def start(tmp_path_factory, program):
    """A start model with random weights."""
    path = tmp_path_factory.mktemp("start") / "model"
    subprocess.run([program, "init", "-q", "-o", path, "--hidden", "32", "--layers", "1", "--vocab-from",
                    ROOT / "examples" / "train.tsv", "--vocab-size", "500"], check=True)
    return str(path)


@pytest.fixture(scope="module")
def texts():
    with open(ROOT / "examples" / "train.tsv", encoding="utf-8", newline="") as file:
        return [row["sentence1"] for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)][:300]


@pytest.fixture(scope="module")
def path(tmp_path_factory, texts):
    file = tmp_path_factory.mktemp("texts") / "texts.txt"
    file.write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    return str(file)


def command(program, start, path, output, options):
    """Runs `aoe pretrain` and returns the last object that it prints."""
    arguments = [str(part) for name, value in options.items() for part in
                 (["--" + name.replace("_", "-")] + ([] if value is True else [value]))]
    text = subprocess.run([program, "pretrain", "-q", "--json", "-m", start, "-d", path, "-o", output, *arguments],
                          check=True, capture_output=True, text=True).stdout
    return json.loads(text.splitlines()[-1])


@pytest.fixture(scope="module")
def expected(tmp_path_factory, program, start, path):
    """The model of `aoe pretrain` with the options of OPTIONS, and its last line."""
    output = tmp_path_factory.mktemp("expected") / "model"
    return output, command(program, start, path, output, OPTIONS)


def same(a, b):
    return filecmp.cmp(pathlib.Path(a) / "model.safetensors", pathlib.Path(b) / "model.safetensors", shallow=False)


FORMS = {
    "path": lambda path, texts: path,
    "list": lambda path, texts: texts,
    "generator": lambda path, texts: (text for text in texts),
    "dictionaries": lambda path, texts: [{"sentence": text, "other": 1} for text in texts],
    "columns": lambda path, texts: {"text": texts},
    "two": lambda path, texts: [texts[:100], pathlib.Path(path).parent / "rest.txt"],
    "series": lambda path, texts: pytest.importorskip("pandas").Series(texts),
    "pandas": lambda path, texts: pytest.importorskip("pandas").DataFrame({"text": texts}),
}


@pytest.mark.parametrize("form", FORMS)
def test_bits_of_the_program(form, tmp_path, start, path, texts, expected):
    output, last = expected
    (pathlib.Path(path).parent / "rest.txt").write_text("".join(text + "\n" for text in texts[100:]), encoding="utf-8")
    events = []
    record = aoe.pretrain(FORMS[form](path, texts), tmp_path / "m", model=start, callbacks=events.append, **OPTIONS)
    assert same(tmp_path / "m", output)
    ours, theirs = record["training"], json.loads((output / "aoe.json").read_text())["training"]
    for training in (ours, theirs):
        training.pop("texts"), training.pop("data_fingerprint")  # paths, and the contents of the files
    assert ours == theirs and record["interrupted"] is False and record["step"] == record["steps"] == last["steps"]
    for name in ("held_out_loss", "start_held_out_loss", "trained_held_out_loss"):
        assert record[name] == pytest.approx(last[name], abs=1e-12)
    assert record["best_step"] == last["best_step"] and record["held_out_loss"] < record["start_held_out_loss"]
    evaluation = [event for event in events if event.kind == "eval"][-1]
    assert evaluation.loss["total"] == pytest.approx(-evaluation.score) and 0 <= evaluation.accuracy <= 1
    step = next(event for event in events if event.kind == "step")
    assert step.accuracy is not None and step.examples == 16 and events[-1].accuracy is None


def test_options_reach_the_library(tmp_path, program, start, path):
    options = {"max_steps": 2, "batch_size": 4, "mask_rate": 0.3, "no_pack": True, "shuffle": 64, "held_out": 0,
               "schedule": "constant", "batch_tokens": 256, "dropout": 0.2, "optimizer": "sgd", "dtype": "f32"}
    command(program, start, path, tmp_path / "a", options)
    record = aoe.pretrain(path, tmp_path / "b", model=start, **options)
    assert same(tmp_path / "a", tmp_path / "b")
    assert record["training"] == json.loads((tmp_path / "a" / "aoe.json").read_text())["training"]
    assert record["held_out_loss"] is record["best_step"] is None


def test_columns_and_model_object(tmp_path, start, texts):
    model = aoe.SentenceTransformer(start, max_seq_length=16)
    rows = [{"id": i, "body": text} for i, text in enumerate(texts)]
    options = {"max_steps": 1, "batch_size": 8, "show_progress_bar": True}
    record = aoe.pretrain(rows, tmp_path / "a", model=model, columns={"text": "body"}, **options)
    aoe.pretrain(texts, tmp_path / "b", model=start, max_length=16, **options)
    assert same(tmp_path / "a", tmp_path / "b") and record["steps"] == 1


def test_whole_files(tmp_path, start, texts):
    for i in range(2):
        (tmp_path / f"{i}.md").write_text("\n".join(texts[i * 50:i * 50 + 50]))
    options = {"max_steps": 1, "batch_size": 2, "held_out": 0}
    aoe.pretrain([tmp_path / "0.md", str(tmp_path / "1.md")], tmp_path / "a", model=start, whole_files=True, **options)
    aoe.pretrain([{"text": (tmp_path / f"{i}.md").read_text()} for i in range(2)], tmp_path / "b", model=start,
                 **options)
    assert same(tmp_path / "a", tmp_path / "b")


def test_ctrl_c_stop_and_resume(tmp_path, start, texts, expected):
    def interrupt(event):
        if event.kind == "step" and event.step == 2:
            os.kill(os.getpid(), signal.SIGINT)

    def stop(event):
        if event.kind == "step" and event.step == 4:
            raise aoe.StopTraining

    for callback, step in ((interrupt, 2), (stop, 4)):
        record = aoe.pretrain(texts, tmp_path / "m", model=start, callbacks=callback, resume=step > 2, **OPTIONS)
        assert record["interrupted"] and record["step"] == step and record["training"] is None
    with pytest.raises(aoe.AoeFileExistsError):
        aoe.pretrain(texts, tmp_path / "m", model=start, **OPTIONS)
    record = aoe.pretrain(texts, tmp_path / "m", model=start, resume=True, **OPTIONS)
    assert not record["interrupted"] and same(tmp_path / "m", expected[0])


def test_pretrained_model_is_a_start_model(tmp_path, expected):
    pairs = [("A cat sits outside.", "A cat sits outdoors.", 1.0), ("A cat sits outside.", "Rice is cooked.", 0.0)]
    record = aoe.train(pairs, tmp_path / "m", model=expected[0], batch_size=2)
    assert record["step"] == 1


@pytest.mark.parametrize("data, options, error, words", [
    (None, {}, TypeError, "data set"), ([], {}, ValueError, "empty"), ("", {}, ValueError, "empty path"),
    ("missing.txt", {}, aoe.AoeFileNotFoundError, "missing.txt"), (["a", None], {}, TypeError, "row 1"),
    (["a\ud800"], {}, ValueError, "lone surrogate"), ([{"body": "a"}], {}, aoe.AoeValueError, "column"),
    (aoe.Data(["a"], weight=2), {}, ValueError, "other settings"),
    (["a"], {"num_train_epochs": 1}, TypeError, "epochs"),
    (["a"], {"mlm_probability": 0.2}, TypeError, "arguments are"),
    (["a"], {"maskrate": 0.2}, TypeError, "mask_rate"), (["a"], {"mask_rate": 2}, ValueError, "mask_rate"),
    (["a"], {"held_out": 0, "patience": 2}, ValueError, "patience has no effect without held-out texts"),
    (["a"], {"resume": True, "force": True}, ValueError, "exclude"),
    (["a"], {"delimiter": ","}, ValueError, "delimiter applies to files, but data is in memory"),
    (["a"], {"output": ""}, TypeError, "output"), (["a"], {"callbacks": [1]}, TypeError, "callback"),
])
def test_bad_input(data, options, error, words, tmp_path, start):
    with pytest.raises(error, match=words):
        aoe.pretrain(data, **{"output": tmp_path / "m", "model": start, **options})
    assert not (tmp_path / "m" / "model.safetensors").exists()


def test_option_table(program):
    lines = subprocess.run([program, "options", "pretrain", "--json"], check=True, capture_output=True,
                           text=True).stdout
    rows = {row["option"].replace("-", "_"): row for row in map(json.loads, lines.splitlines())}
    options = aoe.pretraining_options()
    assert set(options) == set(rows) - {"data", "model", "threads", "verbose", "quiet", "json", "distributed",
                                        "network_timeout"}
    assert options["mask_rate"]["default"] == 0.15 and "methods" not in options["mask_rate"]
