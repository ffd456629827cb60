# SPDX-License-Identifier: MIT
"""Trains models.

    record = aoe.train(data=frame, output="my-model", epochs=3, lr=3e-4, dev="dev.tsv")
    model = aoe.SentenceTransformer("my-model")

The keyword arguments are the options of the command `aoe train`, with underscores: `aoe.training_options()` returns
them with their types, defaults and help texts, and docs/objectives.md explains the methods. Equal options give equal
bits: those of the command, of any number of threads, and of an interrupted and resumed run.
"""
from __future__ import annotations

import ctypes
import math
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from . import _context, _data, _native, _options
from ._data import Data
from ._model import Borrowed, Model
from .cross_encoder import CrossEncoder
from .runs import FORMAT, PROGRAM, Callback, ModelLike, Run, StopTraining, TrainingEvent, check_callbacks, execute
from .sentence_transformer import SentenceTransformer

__all__ = ["Callback", "DevFunction", "ModelLike", "StopTraining", "TrainingEvent", "train", "training_options"]
_OWN = ("data", "dev", *PROGRAM)

DevFunction = Callable[[Any], float]


def training_options() -> dict[str, dict[str, Any]]:
    """Returns the options of `train` by name, each with the keys type, default, choices, min, max, methods (None: all
    training methods), requires (an option without which it has no effect), excludes, group and help."""
    return _options.described("train", _OWN)


# ------------------------------------------------------------ options


class _Run(Run):
    """The struct aoe_train_options of a run."""

    def __init__(self, data: Any, output: Any, model: ModelLike, dev: Any, given: dict[str, Any],
                 files: _data.Files, context: _context.Context) -> None:
        super().__init__("train", "aoe_train_options", _OWN, ("data", "dev"), output, given, files, context)
        self.dev, self.dev_set = dev, ctypes.c_void_p()
        self._method()
        _options.check_together(self.rows, self.given, {"dev"} if dev is not None else set(), self.method)
        self.set_model(model)
        self.table = self._new_table()
        self.set_options()
        self._data(data)

    def _method(self) -> None:
        row = self.rows["method"]
        name = self.given.get("method", row["default"])
        self.method = row["choices"][_options.one_of("method", name, row["choices"])]
        _native.load().aoe_train_method_defaults(ctypes.byref(self.options), row["choices"].index(name))

    def _new_table(self) -> Any:
        table = _native.options("aoe_table_options")
        table.log = self.context._log
        return table

    def assign(self, name: str, value: Any) -> None:
        row, options = self.rows[name], self.options
        if name == "teacher":
            teachers = [value] if _data.is_path(value) or isinstance(value, Model) else list(value)
            if len(teachers) > len(options.teachers):
                raise ValueError(f"teacher: at most {len(options.teachers)} teachers, not {len(teachers)}")
            for i, teacher in enumerate(teachers):
                options.teachers[i] = self.text(_options.directory_of(teacher))
        elif name == "matryoshka":
            self._matryoshka(_options.text_of(row, value))
        elif row["struct"] == "aoe_table_options":
            _options.assign(self.table, row, value)
        else:
            super().assign(name, value)

    def _matryoshka(self, text: str) -> None:
        found = _options.numbers("matryoshka", text, ":")
        sizes = (_native.interface().type("aoe_prefix") * len(found))()
        try:
            for size, (dims, weight) in zip(sizes, found):
                size.dims, size.weight = int(dims), float(weight or 1)
        except ValueError:
            raise ValueError(f"matryoshka={text!r} is not a list of sizes, each with an optional weight") from None
        self.options.matryoshka, self.options.n_matryoshka = sizes, len(found)
        self.keep.append(sizes)

    # ------------------------------------------------------------ data sets

    def _settings(self, struct: Any, data: Data, path: str) -> None:
        """Copies the table options, with the settings of a data set. A temporary file needs no options of formats."""
        ctypes.pointer(struct)[0] = self.table
        if self.files.is_temporary(path):
            plain = _native.options("aoe_table_options")
            for field in FORMAT:
                setattr(struct, field, getattr(plain, field))
        for name in ("columns", "label_map"):
            value = getattr(data, name)
            if value is not None:
                setattr(struct, name, self.text(_options.text_of(self.rows[name], value)))

    def _data(self, data: Any) -> None:
        sets = _data.several(data)
        array = (_native.interface().type("aoe_train_data") * len(sets))()
        for item, (label, one) in zip(array, sets):
            path = self.files.path(one.source, label)
            _native._set_sizes(item)
            _native.load().aoe_train_data_fill(ctypes.byref(item))
            self._settings(item.table, one, path)
            item.path = self.text(path)
            if one.weight is not None:
                if not one.weight > 0 or not math.isfinite(one.weight):
                    raise ValueError(f"{label}: weight must be a positive number, not {one.weight!r}")
                item.weight = one.weight
            if one.form is not None:
                item.kind = 1 + _options.one_of("form", one.form, ["pairs", "positives", "triplets"])
            if one.ibn_threshold is not None:
                item.ibn_threshold = one.ibn_threshold
            for name in ("prompt", "doc_prompt"):
                prompt = getattr(one, name)
                if prompt is not None:
                    setattr(item, name, self.text(_options.template(prompt)))
        self.options.data, self.options.n_data = array, len(sets)
        self.keep.append(array)

    def set_dev(self, callbacks: _native.Callbacks) -> None:
        """Sets the evaluation on the dev set, a data set or a function."""
        o = self.options
        if self.dev is None:
            return
        if callable(self.dev):
            kind = dict(type(o)._fields_)["evaluate"]
            cancelled = _native.enum("aoe_code")["AOE_ECANCELLED"]
            o.evaluate = callbacks.add_type(kind, self._call_dev, cancelled)
            name = getattr(self.dev, "__name__", type(self.dev).__name__)
            o.dev_name, o.dev_metric = self.text(name), b"score"
            return
        data = self.dev if isinstance(self.dev, Data) else Data(self.dev)
        unused = [name for name in ("weight", "form", "prompt", "doc_prompt", "ibn_threshold")
                  if getattr(data, name) is not None]
        if unused:
            raise ValueError(f"dev: {unused[0]} applies to training data; a dev set has columns and label_map")
        path = self.files.path(data.source, "dev")
        table = self._new_table()
        self._settings(table, data, path)
        classes = o.classes if self.method == "cross-encoder" and o.classes != _native.AUTO else 1
        table.classes = int(classes > 1)
        if classes > 2 and not table.label_map:
            table.label_map = b"neutral=2"  # as in the training files
        lib = _native.load()
        _native.check(lib.aoe_dev_set_load, ctypes.byref(self.dev_set), self.context.handle, self.text(path),
                      ctypes.byref(table))
        o.evaluate = ctypes.cast(lib.aoe_dev_set_evaluate, type(o.evaluate))
        o.evaluate_user = self.dev_set
        o.dev_name, o.dev_metric = self.text(path), b"accuracy" if classes > 1 else b"spearman"
        o.dev_fingerprint = lib.aoe_dev_set_fingerprint(self.dev_set)

    def _call_dev(self, user: Any, embedder: Any, score: Any, error: Any) -> int:
        kind = CrossEncoder if self.method == "cross-encoder" else SentenceTransformer
        handle = Borrowed(embedder, self.context)
        value: Any
        try:
            value = self.dev(kind._borrow(handle))
        finally:
            handle.close()
        value = primary_score(self.dev, value)
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"the dev function must return a number, not {value!r:.60}") from None
        if not math.isfinite(number):
            raise ValueError(f"the dev function returned {number}, which cannot be compared with other scores; return "
                             "a finite number")
        score[0] = number
        return 0

    def close(self) -> None:
        if self.dev_set:
            _native.load().aoe_dev_set_free(self.dev_set)


def primary_score(function: Any, value: Any) -> Any:
    """Returns the score of a dev function: a number, or the primary metric of an evaluator of sentence-transformers."""
    return value.get(getattr(function, "primary_metric", None)) if isinstance(value, Mapping) else value


# ------------------------------------------------------------ training


def train(data: Any, output: str | os.PathLike[str], *, model: ModelLike = None, dev: Any = None,
          callbacks: Callback | Iterable[Callback] | None = None, show_progress_bar: bool | None = None,
          threads: int | None = None, **options: Any) -> dict[str, Any]:
    """Fine-tunes a model and writes it to the directory `output`.

    data: the training data, one of
      - the path of a file (.tsv, .csv, .jsonl, .json or .txt, also .gz and .zst; .parquet needs pyarrow);
      - a list or another iterable of rows: dictionaries, or the tuples (text1, text2, label), (query, positive) and
        (query, positive, negative, ...), or strings for the methods that train on plain texts;
      - a DataFrame of pandas or polars, a table of pyarrow, a data set of `datasets`, or a dictionary of columns;
      - a list or dictionary of several of these, each of which may be a Data with a weight and prompts.
    The names of the columns are recognized as in files (docs/data.md); `columns` selects others.
    model: the start model, a name or directory, or a SentenceTransformer or CrossEncoder, whose directory and settings
    (max_seq_length, dtype, default prompt) are used; None: the default model.
    dev: the dev set of labeled pairs, in the same forms, or a function that receives the model and returns a score,
    a finite number. The model with the highest score is saved; without a dev set, the last one. The start model is also
    evaluated.
    callbacks: functions that receive a TrainingEvent. An exception in one of them stops the training with a checkpoint
    and is raised; StopTraining only stops it.
    show_progress_bar: None: in terminals and notebooks. threads: as in SentenceTransformer.
    options: the options of `aoe train`, such as epochs, lr, batch_size, method and seed; see training_options(). A list
    may be given as a list or dictionary: columns={"text1": "a", "text2": "b"}, matryoshka=[256, 128]. None: the
    default.

    Returns the record: "output"; "interrupted"; "step" and "steps", the completed and all steps; "seconds";
    "best_step", "dev_score", "start_dev_score" and "trained_dev_score" (None without a dev set); "checkpoint", the
    newest checkpoint; "log", the events of OUTPUT/train-log.jsonl; "training", the options and results in
    OUTPUT/aoe.json, or None if the training was interrupted. Ctrl-C saves a checkpoint and returns the record with
    "interrupted": True; the same call with resume=True continues, to the same bits.

    Raises TypeError for an unknown option, ValueError for a value out of range or an option without effect,
    FileExistsError if `output` contains a model and neither force nor resume is True, and the errors of the library.
    """
    functions = check_callbacks(callbacks)
    with _data.Files() as files:
        run = _Run(data, output, model, dev, options, files, _context.context(threads))
        try:
            return execute(run, _native.load().aoe_train, functions, show_progress_bar, run.set_dev)
        finally:
            run.close()
