# SPDX-License-Identifier: MIT
"""Training from Python: data sets, options, events, interrupts, and the bits of `aoe train`."""
import csv
import ctypes
import dataclasses
import filecmp
import json
import math
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import aoe
from aoe import _native, _options, training

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def start(tmp_path_factory, program):
    """A start model with random weights."""
    path = tmp_path_factory.mktemp("start") / "model"
    subprocess.run([program, "init", "-q", "-o", path, "--hidden", "32", "--layers", "1", "--vocab-from",
                    ROOT / "examples" / "train.tsv", "--vocab-size", "500"], check=True)
    return str(path)


def _first(name, count, path):
    lines = (ROOT / "examples" / name).read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:count + 1]), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Training and dev files, and the rows of the training file."""
    folder = tmp_path_factory.mktemp("files")
    train, dev = _first("train.tsv", 60, folder / "train.tsv"), _first("test.tsv", 20, folder / "dev.tsv")
    with open(train, encoding="utf-8", newline="") as file:
        rows = [{**row, "score": float(row["score"])} for row in csv.DictReader(file, delimiter="\t",
                                                                                quoting=csv.QUOTE_NONE)]
    return train, dev, rows


@pytest.fixture(scope="module")
def expected(tmp_path_factory, program, start, files):
    """The model of `aoe train` with the options of OPTIONS."""
    output = tmp_path_factory.mktemp("expected") / "model"
    subprocess.run([program, "train", "-q", "-m", start, "-d", files[0], "--dev", files[1], "-o", output, "--epochs",
                    "2", "--lr", "2e-4", "--batch-size", "16", "--seed", "7"], check=True, stdout=subprocess.DEVNULL)
    assert json.loads((output / "aoe.json").read_text())["training"]["best_step"] == 8  # not the start model
    return output


OPTIONS = {"epochs": 2, "lr": 2e-4, "batch_size": 16, "seed": 7}


def same(a, b):
    return filecmp.cmp(pathlib.Path(a) / "model.safetensors", pathlib.Path(b) / "model.safetensors", shallow=False)


def columns(rows):
    return {name: [row[name] for row in rows] for name in ("sentence1", "sentence2", "score")}


FORMS = {
    "path": lambda train, rows: train,
    "pathlib": lambda train, rows: pathlib.Path(train),
    "dictionaries": lambda train, rows: rows,
    "generator": lambda train, rows: (row for row in rows),
    "tuples": lambda train, rows: [(row["sentence1"], row["sentence2"], row["score"]) for row in rows],
    "lists": lambda train, rows: [[row["sentence1"], row["sentence2"], np.float64(row["score"])] for row in rows],
    "columns": lambda train, rows: columns(rows),
    "data": lambda train, rows: aoe.Data(train, weight=1),
    "pandas": lambda train, rows: pytest.importorskip("pandas").DataFrame(rows),
    "polars": lambda train, rows: pytest.importorskip("polars").DataFrame(rows),
    "pyarrow": lambda train, rows: pytest.importorskip("pyarrow").table(columns(rows)),
    "datasets": lambda train, rows: pytest.importorskip("datasets").Dataset.from_list(rows),
}


@pytest.mark.parametrize("form", FORMS)
def test_bits_of_the_program(form, tmp_path, start, files, expected):
    train, dev, rows = files
    record = aoe.train(FORMS[form](train, rows), tmp_path / "m", model=start, dev=dev, **OPTIONS)
    assert same(tmp_path / "m", expected)
    assert record["step"] == record["steps"] == 8 and record["interrupted"] is False
    ours, theirs = record["training"], json.loads((expected / "aoe.json").read_text())["training"]
    for record in (ours, theirs):  # the paths differ
        del record["data"]
    assert ours == theirs


def test_parquet(tmp_path, start, files, expected):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame(files[2]).to_parquet(tmp_path / "train.parquet")
    aoe.train(str(tmp_path / "train.parquet"), tmp_path / "m", model=start, dev=files[1], **OPTIONS)
    assert same(tmp_path / "m", expected)


def test_dev_forms_and_record(tmp_path, start, files, expected):
    with open(files[1], encoding="utf-8", newline="") as file:
        dev = [(row["sentence1"], row["sentence2"], float(row["score"]))
               for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]
    record = aoe.train(files[0], tmp_path / "m", model=start, dev=dev, show_progress_bar=False, **OPTIONS)
    assert same(tmp_path / "m", expected)
    log = [json.loads(line) for line in (tmp_path / "m" / "train-log.jsonl").read_text().splitlines()]
    assert record["log"] == log and log[-1]["event"] == "done"
    assert record["dev_score"] == pytest.approx(log[-1]["best_score"], abs=1e-8)
    assert record["start_dev_score"] == pytest.approx(log[-1]["start_score"], abs=1e-8)
    assert record["training"]["dev_score"] == record["dev_score"]
    assert pathlib.Path(record["checkpoint"]).is_dir() and record["output"] == str(tmp_path / "m")


def test_model_object_and_several_data_sets(tmp_path, program, start, files):
    train, dev, rows = files
    positives = [{"query": row["sentence1"], "positive": row["sentence2"]} for row in rows[:20]]
    (tmp_path / "p.jsonl").write_text("".join(json.dumps(row) + "\n" for row in positives))
    subprocess.run([program, "train", "-q", "-m", start, "-d", train, "weight=0.5", "prompt=query: {text}",
                    tmp_path / "p.jsonl", "doc-prompt=passage: {text}", "-o", tmp_path / "a", "--max-length", "16"],
                   check=True, stdout=subprocess.DEVNULL)
    model = aoe.SentenceTransformer(start, max_seq_length=16)
    aoe.train({"pairs": aoe.Data(train, weight=0.5, prompt="query: "),
               "positives": aoe.Data(positives, doc_prompt="passage: {text}")}, tmp_path / "b", model=model)
    assert same(tmp_path / "a", tmp_path / "b")


@pytest.mark.filterwarnings("ignore:no evaluated step")
def test_texts_survive(tmp_path, start):
    """Tabs, line ends, NUL, quotes and separators of Unicode reach the library unchanged."""
    texts = ["a\tb", "line\nend\r\n", "nul \0 inside", 'a "quoted" text', "\u2028 \x85 separators", " spaces "]
    rows = [(text, text[::-1], float(i % 2)) for i, text in enumerate(texts)]
    seen = []

    def score(model):
        seen.append(model.encode(texts))
        return 0.5

    aoe.train(rows, tmp_path / "m", model=start, dev=score, batch_size=2)
    record = aoe.train([{"text1": a, "text2": b, "label": c} for a, b, c in rows], tmp_path / "n", model=start,
                       batch_size=2)
    assert record["training"]["sources"][0]["examples"] == len(texts)
    first = json.loads((tmp_path / "m" / "aoe.json").read_text())["training"]["sources"]
    assert first[0]["fingerprint"] == record["training"]["sources"][0]["fingerprint"]
    np.testing.assert_array_equal(seen[0], aoe.SentenceTransformer(start).encode(texts))


def test_dev_function(tmp_path, start, files):
    train, dev, rows = files
    seen, kept = [], []

    def score(model):
        assert isinstance(model, aoe.SentenceTransformer)
        kept.append(model)
        seen.append(aoe.evaluate_sts(model, dev)["spearman"])
        with pytest.raises(ValueError, match="running training"):
            pickle.dumps(model)
        with pytest.raises(ValueError, match="running training"):
            aoe.evaluate_sts(model, dev, max_length=8)
        return seen[-1]

    record = aoe.train(train, tmp_path / "m", model=start, dev=score, **OPTIONS)
    again = aoe.train(train, tmp_path / "n", model=start, dev=dev, **OPTIONS)
    assert [e["score"] for e in again["log"] if e["event"] == "eval"] == pytest.approx(seen, abs=1e-8)
    assert record["dev_score"] == max(seen) == again["dev_score"] and same(tmp_path / "m", tmp_path / "n")
    assert record["training"]["dev"] == "score"
    with pytest.raises(ValueError, match="closed"):
        kept[0].encode("a text")
    with pytest.raises(ZeroDivisionError):
        aoe.train(train, tmp_path / "o", model=start, dev=lambda model: 1 / 0)
    with pytest.raises(TypeError, match="must return a number"):
        aoe.train(train, tmp_path / "p", model=start, dev=lambda model: None)
    for value in (float("nan"), np.float32("nan"), float("inf"), -np.inf):
        with pytest.raises(ValueError, match="dev function returned .* finite number"):
            aoe.train(train, tmp_path / "q", model=start, dev=lambda model, value=value: value)
    assert not (tmp_path / "q" / "model.safetensors").exists()


@pytest.mark.parametrize("missing", ["label", "text2"])
def test_missing_values_of_dev_sets(missing, tmp_path, start, files):
    """NaN in a dev set is an error that names the row, and never a label of 0 or an empty text."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([(row["sentence1"], row["sentence2"], float(row["score"])) for row in files[2][:4]],
                             columns=["text1", "text2", "label"])
    frame.loc[2, missing] = float("nan")
    columns = {name: frame[name].to_numpy() for name in frame}
    for dev in (frame, frame.to_dict("records"), columns):
        for call in (lambda: aoe.train(files[0], tmp_path / "m", model=start, dev=dev),
                     lambda: aoe.evaluate_sts(start, dev)):
            with pytest.raises(aoe.AoeValueError, match=f"row 2: column '{missing}'"):
                call()
    with pytest.raises((TypeError, aoe.AoeValueError), match=f"row 2: .*{missing}"):
        aoe.evaluate_sts(start, list(frame.itertuples(index=False, name=None)))
    assert not (tmp_path / "m" / "model.safetensors").exists()


MISSING = {"nan": math.nan, "float32": np.float32("nan"), "infinite": math.inf, "none": None}
LABELED = [("A cat sits.", "A cat is sitting.", 1.0), ("A dog runs.", "Rice is cooked.", 0.0)]


@pytest.mark.parametrize("name", MISSING)
@pytest.mark.parametrize("form", ["tuples", "dictionaries", "columns", "pandas"])
def test_missing_labels_of_a_dev_set(form, name, tmp_path, start, files):
    for at in (0, 2):
        if form == "tuples" and name == "none" and at == 0:
            continue  # test_bad_data
        rows = [*LABELED[:at], ("The train is late.", "A delay.", MISSING[name]), *LABELED[at:]]
        named = [dict(zip(("text1", "text2", "label"), row)) for row in rows]
        dev = {"tuples": lambda: rows, "dictionaries": lambda: named,
               "columns": lambda: {key: [row[key] for row in named] for key in named[0]},
               "pandas": lambda: pytest.importorskip("pandas").DataFrame(named)}[form]()
        with pytest.raises(ValueError, match=f"dev, row {at}: column 'label'"):
            aoe.train(files[0], tmp_path / "m", model=start, dev=dev, max_steps=1)
        with pytest.raises(ValueError, match=f"data, row {at}: column 'label'"):
            aoe.evaluate_sts(start, dev)
        result = aoe.evaluate_sts(start, dev, skip_bad_rows=True)
        assert (result["pairs"], result["skipped"]) == (2, 1)


@pytest.mark.filterwarnings("ignore:no evaluated step")
def test_evaluator_of_sentence_transformers(tmp_path, start, files):
    """An evaluator returns a dictionary, and its attribute primary_metric names the score."""
    class Evaluator:
        primary_metric = "b"

        def __call__(self, model):
            return {"a": 0.25, "b": 0.75}

    record = aoe.train(files[0], tmp_path / "m", model=start, dev=Evaluator(), max_steps=1)
    assert record["dev_score"] == 0.75 and record["training"]["dev"] == "Evaluator"


def test_events(tmp_path, start, files):
    events = []
    aoe.train(files[0], tmp_path / "m", model=start, dev=files[1], callbacks=events.append, **OPTIONS)
    kinds = [event.kind for event in events]
    assert kinds[:3] == ["start", "eval", "step"] and kinds[-1] == "done" and kinds.count("step") == 8
    step = next(event for event in events if event.kind == "step")
    assert step.loss["total"] == pytest.approx(step.loss["cosine"] + step.loss["ibn"] + step.loss["angle"])
    assert step.lr is not None and step.score is step.accuracy is None and step.examples == 16 and step.steps == 8
    assert events[0].pairs == 60 and events[0].lr is None
    assert next(e for e in events if e.kind == "checkpoint").path.endswith("step-4")
    names = {name for name, _ in _native.interface().type("aoe_train_event")._fields_}
    own = {"struct_size", "traffic"}  # traffic: of runs with several ranks, which the package does not start
    assert {field.name for field in dataclasses.fields(aoe.TrainingEvent)} == names - own


def test_teacher_events(tmp_path, start, files):
    kinds = []
    aoe.train(files[0], tmp_path / "m", model=start, teacher=aoe.SentenceTransformer(start), max_steps=1,
              callbacks=[lambda event: kinds.append((event.kind, event.path))], show_progress_bar=True)
    assert ("embed", start) in kinds


def test_stop_and_resume(tmp_path, start, files, expected):
    def stop(event):
        if event.kind == "step" and event.step == 3:
            raise aoe.StopTraining

    record = aoe.train(files[2], tmp_path / "m", model=start, dev=files[1], callbacks=stop, **OPTIONS)
    assert record["interrupted"] and record["step"] == 3 and record["training"] is None
    assert record["checkpoint"].endswith("step-3")
    with pytest.raises(aoe.AoeFileExistsError):
        aoe.train(files[2], tmp_path / "m", model=start, dev=files[1], **OPTIONS)
    record = aoe.train(files[2], tmp_path / "m", model=start, dev=files[1], resume=True, **OPTIONS)
    assert not record["interrupted"] and same(tmp_path / "m", expected)

    def fail(event):
        raise RuntimeError("from a callback")

    with pytest.raises(RuntimeError, match="from a callback"):
        aoe.train(files[0], tmp_path / "n", model=start, callbacks=fail)


@pytest.mark.parametrize("where", ["callback", "dev"])
def test_ctrl_c(where, tmp_path, start, files, expected):
    """Ctrl-C in a callback or in the dev function saves a checkpoint, and the resumed run has the same bits."""
    def interrupt():
        os.kill(os.getpid(), signal.SIGINT)

    def on_event(event):
        if where == "callback" and event.kind == "step" and event.step == 2:
            interrupt()

    def score(model):
        value = aoe.evaluate_sts(model, files[1])["spearman"]
        if where == "dev" and len(scores) == 1:
            interrupt()
        scores.append(value)
        return value

    scores = []
    record = aoe.train(files[0], tmp_path / "m", model=start, dev=score, callbacks=on_event, **OPTIONS)
    assert record["interrupted"] and record["step"] == (2 if where == "callback" else 4)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    where = ""
    record = aoe.train(files[0], tmp_path / "m", model=start, dev=score, resume=True, **OPTIONS)
    assert not record["interrupted"] and same(tmp_path / "m", expected)


def test_ctrl_c_twice(tmp_path, start, files):
    def score(model):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)
        return 0

    with pytest.raises(KeyboardInterrupt):
        aoe.train(files[0], tmp_path / "m", model=start, dev=score)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_in_a_notebook(tmp_path, start, files):
    """The interrupt of a kernel saves a checkpoint, and the cell returns the record."""
    pytest.importorskip("ipykernel")
    manager, client = pytest.importorskip("jupyter_client.manager").start_new_kernel()
    try:
        client.execute(f"""
import aoe
def event(e):
    if e.kind == "step" and e.step == 3:
        print("running", flush=True)
record = aoe.train({files[0]!r}, {str(tmp_path / "m")!r}, model={start!r}, epochs=100000, callbacks=event)
print("returned", record["interrupted"], record["checkpoint"] is not None, flush=True)
""")
        text, state = "", ""
        while "returned" not in text or state != "idle":  # the streams of a cell are complete when the kernel is idle
            message = client.get_iopub_msg(timeout=60)
            state = message["content"].get("execution_state", state)
            if message["msg_type"] == "error":
                pytest.fail("\n".join(message["content"]["traceback"]))
            if message["msg_type"] == "stream":
                if "running" in message["content"]["text"]:
                    manager.interrupt_kernel()
                text += message["content"]["text"]
        assert "returned True True" in text and "stopping after this step" in text
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def test_in_a_thread(tmp_path, start, files, expected):
    records = []
    thread = threading.Thread(target=lambda: records.append(
        aoe.train(files[0], tmp_path / "m", model=start, dev=files[1], **OPTIONS)))
    thread.start()
    thread.join()
    assert not records[0]["interrupted"] and same(tmp_path / "m", expected)


# ------------------------------------------------------------ options


def test_option_table(program):
    """Every option of the program is an argument, and its default is the default of the library."""
    lines = subprocess.run([program, "options", "train", "--json"], check=True, capture_output=True, text=True).stdout
    rows = {row["option"].replace("-", "_"): row for row in map(json.loads, lines.splitlines())}
    assert set(aoe.training_options()) == set(rows) - set(training._OWN)
    options = _native.options("aoe_train_options")
    for name, row in _options.table("train").items():
        target = _options.find(options, row["struct"]) if row["struct"] else None
        if target is None or row["default"] is None or row["type"] == "flag":
            continue
        before = getattr(*_options.place(target, row["field"]))
        _options.assign(options, row, row["default"])
        assert getattr(*_options.place(target, row["field"])) == before, name


@pytest.mark.parametrize("name, value, field, expected", [
    ("no_isp", True, "objective.isp", 0), ("normalize", True, "args.model_options.normalize", 1),
    ("normalize", False, "args.model_options.normalize", 0), ("no_isp", False, "objective.isp", 1),
    ("schedule", "constant", "args.schedule", 1), ("batch_size", np.int32(8), "batch_size", 8),
    ("lr", np.float32(0.5), "args.lr", 0.5), ("pooling", "cls", "args.model_options.pooling", 1),
    ("pooling", ["cls", "mean"], "args.model_options.pooling", None),
    ("lora_targets", ["a", "b"], "lora.targets", b"a,b"),
    ("features", ["u", "v", "product"], "objective.features", 11), ("features", "u,v", "objective.features", 3),
    ("directions", "all", "objective.directions", 15), ("max_steps", 0, "args.max_steps", 0),
    ("prompt", "query: ", "args.model_options.prompt", b"query: {text}"),
])
def test_values(name, value, field, expected):
    options = _native.options("aoe_train_options")
    _options.assign(options, _options.table("train")[name], value)
    found = getattr(*_options.place(options, field))
    assert found > 64 if expected is None else found == expected


def test_lists():
    options, rows = _native.options("aoe_train_options"), _options.table("train")
    for value in ("500:8e-6,1000:6e-6", {500: 8e-6, 1000: 6e-6}, [(500, 8e-6), (1000, 6e-6)]):
        _options.assign(options, rows["lr_steps"], value)
        steps = options.args.lr_steps
        assert options.args.n_lr_steps == 2 and (steps[1].step, steps[1].lr) == (1000, 6e-6)
    _options.assign(options, rows["views"], ["feature-cut:0.2", "shuffle"])
    assert (options.views[0].kind, options.views[0].rate, options.views[1].kind) == (2, 0.2, 1)
    assert _options.text_of(rows["columns"], {"text1": "a", "label": "b"}) == "text1=a,label=b"
    assert _options.text_of(rows["label_map"], {"good": 1, "unsure": None}) == "good=1,unsure=drop"


def test_options_reach_the_library(tmp_path, start, files):
    record = aoe.train(files[0], tmp_path / "m", model=start, max_steps=1, matryoshka={32: 1, 16: 0.5}, w_angle=0,
                       dropout=0.2, weight_decay=0, no_isp=True, tau_ibn=0.1, decay_all=True, schedule="constant",
                       lr_steps={1: 1e-5}, batch_tokens=100, label_map={"a": 1})
    training_record = record["training"]
    wanted = {"max_steps": 1, "w_angle": 0, "hidden_dropout": 0.2, "weight_decay": 0, "isp": False, "tau_ibn": 0.1,
              "decay_all": True, "schedule": "constant", "lr_steps": [[1, 1e-5]]}
    assert {name: training_record[name] for name in wanted} == wanted
    assert "32" in json.dumps(training_record["matryoshka"])


@pytest.mark.parametrize("options, error, words", [
    ({"batchsize": 8}, TypeError, "batch_size"),
    ({"learning_rate": 1e-3}, TypeError, "use lr$"), ({"loss": None}, TypeError, "method selects the loss"),
    ({"args": None}, TypeError, "training arguments are keyword"), ({"evaluator": None}, TypeError, "eval_dataset"),
    ({"gradient_checkpointing": True}, TypeError, "use recompute$"),
    ({"num_epochs": 3}, TypeError, "epochs"), ({"quiet": True}, TypeError, "unexpected"),
    ({"epochs": 1.5}, TypeError, "epochs must be an integer"), ({"epochs": -1}, ValueError, "epochs"),
    ({"epochs": True}, TypeError, "epochs"), ({"batch_size": 1}, ValueError, "batch_size must be at least 2"),
    ({"lr": "fast"}, TypeError, "lr must be a finite number"), ({"lr": float("nan")}, TypeError, "lr"),
    ({"resume": 1}, TypeError, "resume must be True or False"),
    ({"schedule": "cosine"}, ValueError, "linear, constant"),
    ({"method": "cosnet"}, ValueError, "cosent"), ({"classes": 3}, ValueError, "no effect with method='angle'"),
    ({"layers_per_step": 2}, ValueError, "no effect without adaptive_layers"), ({"patience": 2}, ValueError, "dev"),
    ({"resume": True, "force": True}, ValueError, "exclude"), ({"pooling": "best"}, ValueError, "best"),
    ({"columns": "sentence1"}, aoe.AoeValueError, "columns"), ({"seed": -1}, ValueError, "seed"),
    ({"matryoshka": "x"}, ValueError, "matryoshka"), ({"lr_steps": "x"}, ValueError, "lr_steps"),
    ({"columns": {"text1": "a,b"}}, ValueError, "comma"), ({"prompt": "a\0b"}, ValueError, "NUL"),
    ({"model": 3}, TypeError, "model"), ({"threads": 0}, ValueError, "threads"), ({"callbacks": 1}, TypeError, "iter"),
    ({"callbacks": [1]}, TypeError, "callback"), ({"dev": aoe.Data("x.tsv", weight=2)}, ValueError, "dev"),
    ({"model": "/nowhere"}, aoe.AoeFileNotFoundError, "/nowhere"),
])
def test_bad_options(options, error, words, tmp_path, start, files):
    with pytest.raises(error, match=words):
        aoe.train(files[0], tmp_path / "m", **{"model": start, **options})
    assert not (tmp_path / "m" / "model.safetensors").exists()


@pytest.mark.parametrize("data, error, words", [
    ([], ValueError, "data: the data set is empty"), ({}, ValueError, "data: the data set is empty"),
    (None, TypeError, "data set must be"), (b"x", TypeError, "bytes"),
    (7, TypeError, "data set must be"), ([1, 2], TypeError, "row 0 must be"), ("", ValueError, "empty path"),
    ([("a", "b", 1.0), ("c", "d")], ValueError, "row 1 has 2 elements"),
    ([("a", "b", None), ("c", "d", 1.0)], ValueError, "row 0: the last element, None, may be a missing label"),
    ([{"text1": "a", "text2": math.inf, "label": 1}], aoe.AoeValueError, "row 0: column 'text2'"),
    ([("a", "b", 1.0), ("c", "d", "e")], TypeError, "row 1: label must be a number"),
    ([("a", "b", "entailment")], ValueError, "name of a label"), ([("a", 1.0)], ValueError, "text1, text2, label"),
    ([("a", "b\ud800", 1.0)], ValueError, "row 0 contains the lone surrogate"),
    ([{"text1": b"a", "text2": "b", "label": 1}], TypeError, "row 0: bytes"),
    ([{"text1": "a", "text2": "b", "label": 1}, {"text1": "a", "text2": None, "label": 1}], aoe.AoeValueError,
     "data, row 1: column 'text2'"),
    ([{"text1": "a", "text2": "b", "label": float("nan")}], aoe.AoeValueError, "data, row 0"),
    ({"a": [("a", "b", 1.0), ("a", "c", 0.0)], "b": [("a", " ", 1.0)]}, aoe.AoeValueError, r"data\['b'\], row 0"),
    ({"text1": ["a"], "text2": ["b", "c"]}, ValueError, "different lengths"),
    ([{"q": "a", "d": "b"}], aoe.AoeValueError, "column"), ("missing.tsv", aoe.AoeFileNotFoundError, "missing.tsv"),
    (aoe.Data("x.tsv", weight=0), ValueError, "weight"), (aoe.Data("x.tsv", form="pair"), ValueError, "pairs"),
])
def test_bad_data(data, error, words, tmp_path, start):
    with pytest.raises(error, match=words):
        aoe.train(data, tmp_path / "m", model=start)
    assert not (tmp_path / "m" / "model.safetensors").exists()


def test_splits(tmp_path, start):
    datasets = pytest.importorskip("datasets")
    split = datasets.Dataset.from_dict({"text1": ["a"], "text2": ["b"], "label": [1.0]})
    with pytest.raises(ValueError, match="splits train, test"):
        aoe.train(datasets.DatasetDict(train=split, test=split), tmp_path / "m", model=start)


def test_temporary_files_are_removed(tmp_path, start, files, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    aoe.train(files[2], tmp_path / "m", model=start, max_steps=1)
    with pytest.raises(aoe.AoeValueError):
        aoe.train([{"text1": "a"}], tmp_path / "n", model=start)
    assert not list(folder.iterdir())


def test_plain_texts_and_methods(tmp_path, program, start, files):
    texts = [row["sentence1"] for row in files[2]]
    (tmp_path / "t.txt").write_text("".join(text + "\n" for text in texts), encoding="utf-8")
    subprocess.run([program, "train", "-q", "-m", start, "-d", tmp_path / "t.txt", "-o", tmp_path / "a", "--method",
                    "simcse-unsup"], check=True, stdout=subprocess.DEVNULL)
    aoe.train(texts, tmp_path / "b", model=start, method="simcse-unsup")
    assert same(tmp_path / "a", tmp_path / "b")


@pytest.mark.filterwarnings("ignore:no evaluated step")
def test_frames(tmp_path, start):
    """Columns with other names, names of labels, missing values and columns that are not used, in DataFrames."""
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"id": [1, 2, 3], "a": ["x y", "y z", "z x"], "b": ["x", "y\t", "z\n"],
                              "verdict": ["same", "other", "same"], "day": pandas.to_datetime(["2026-01-01"] * 3)})
    settings = {"columns": {"text1": "a", "text2": "b", "label": "verdict"}, "label_map": {"same": 1, "other": 0}}
    record = aoe.train(frame, tmp_path / "m", model=start, dev=frame, batch_size=2, show_progress_bar=True, **settings)
    assert record["training"]["pairs"] == 3
    record = aoe.train([aoe.Data(frame, **settings), aoe.Data(frame, **settings)], tmp_path / "n", model=start,
                       dev=aoe.Data(frame, **settings), batch_size=2)
    assert record["training"]["pairs"] == 6
    frame.loc[1, "b"] = None
    with pytest.raises(aoe.AoeValueError, match="data, row 1: column 'b'"):
        aoe.train(frame, tmp_path / "o", model=start, **settings)
    series = pandas.Series(["a b c", "b c d", "c d e"])
    assert aoe.train(series, tmp_path / "p", model=start, method="simcse-unsup")["training"]["pairs"] == 3


def test_messages_go_to_logging(tmp_path, start, files, caplog):
    with caplog.at_level("INFO", "aoe"):
        aoe.train(files[0], tmp_path / "m", model=start, max_steps=1)
    assert any("text1 from 'sentence1'" in message for message in caplog.messages)


# ------------------------------------------------------------ Trainer


def test_trainer(tmp_path, start, files, expected):
    model = aoe.SentenceTransformer(start)
    before = model.encode("a text")
    trainer = aoe.Trainer(model, train_dataset=files[2], eval_dataset=files[1], output=tmp_path / "m", **OPTIONS)
    with pytest.raises(ValueError, match="not trained"):
        trainer.save_model()
    start_score = trainer.evaluate()["spearman"]
    record = trainer.train()
    assert same(tmp_path / "m", expected) and record["start_dev_score"] == start_score
    assert trainer.model is model and not np.array_equal(before, model.encode("a text"))
    np.testing.assert_array_equal(model.encode("a text"), aoe.SentenceTransformer(tmp_path / "m").encode("a text"))
    assert trainer.evaluate()["spearman"] == record["dev_score"]
    assert trainer.evaluate(lambda model: 0.25) == {"score": 0.25}
    trainer.save_model(tmp_path / "copy")
    assert same(tmp_path / "copy", expected) and not (tmp_path / "copy" / "checkpoints").exists()
    with pytest.raises(FileExistsError):
        trainer.save_model(tmp_path / "copy")


def test_trainer_by_name(tmp_path, start, files, expected):
    trainer = aoe.Trainer(start, files[0], files[1], output=tmp_path / "m", **OPTIONS)

    def stop(event):
        if event.kind == "step" and event.step == 5:
            raise aoe.StopTraining

    trainer.callbacks = [stop]
    assert trainer.train()["interrupted"]
    trainer.callbacks = None
    trainer.train(resume_from_checkpoint=True)
    assert same(tmp_path / "m", expected)
    assert trainer.model.directory == tmp_path / "m"
    with pytest.raises(TypeError, match="output"):
        aoe.Trainer(start, files[0])
    with pytest.raises(TypeError, match="epochs"):
        aoe.Trainer(start, files[0], output="m", num_train_epochs=3)


@pytest.mark.filterwarnings("ignore:no evaluated step")
def test_cross_encoder(tmp_path, start, files):
    rows = [{**row, "score": float(row["score"] > 2.5)} for row in files[2]]
    seen = []
    trainer = aoe.Trainer(start, rows, lambda model: seen.append(model) or 0.5, output=tmp_path / "m",
                          method="cross-encoder", max_steps=2)
    trainer.train()
    assert isinstance(seen[0], aoe.CrossEncoder) and isinstance(trainer.model, aoe.CrossEncoder)
    assert trainer.model.predict(("a", "b")).shape == ()
    classes = [{**row, "score": int(row["score"]) % 3} for row in files[2]]
    trainer = aoe.Trainer(start, classes, classes, output=tmp_path / "n", method="cross-encoder", classes=3,
                          max_steps=2)
    record = trainer.train()
    assert trainer.evaluate()["accuracy"] == record["dev_score"]


def test_threads_and_import(tmp_path, start, files, expected):
    """The number of threads does not change the bits, and `import aoe` reads no table of options."""
    aoe.train(files[0], tmp_path / "m", model=start, dev=files[1], threads=1, **OPTIONS)
    assert same(tmp_path / "m", expected)
    code = "import sys, aoe; assert aoe._options._tables.cache_info().currsize == 0; assert 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_start_model_is_saved(tmp_path, start, files):
    scores = iter([0.9, 0.1])
    with pytest.warns(UserWarning, match="contains the start model"):
        record = aoe.train(files[0], tmp_path / "m", model=start, dev=lambda model: next(scores))
    assert record["best_step"] == 0 and record["trained_dev_score"] == 0.1
