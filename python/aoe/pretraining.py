# SPDX-License-Identifier: MIT
"""Trains models on plain text, with masked language modeling.

    record = aoe.pretrain(texts, "base", model="start", epochs=3, max_length=128)
    aoe.train(pairs, "my-model", model="base")

The keyword arguments are the options of the command `aoe pretrain`, with underscores. Equal options give equal bits:
those of the command, of any number of threads, and of an interrupted and resumed run.
"""
from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable
from typing import Any

from . import _context, _data, _native, _options
from .runs import FORMAT, PROGRAM, Callback, ModelLike, Run, check_callbacks, execute

_OWN = ("data", *PROGRAM)


def pretraining_options() -> dict[str, dict[str, Any]]:
    """Returns the options of `pretrain` by name, each with the keys type, default, choices, min, max, requires,
    excludes, group and help."""
    return _options.described("pretrain", _OWN)


class _Run(Run):
    """The struct aoe_pretrain_options of a run."""

    def __init__(self, data: Any, output: Any, model: ModelLike, given: dict[str, Any], files: _data.Files,
                 context: _context.Context) -> None:
        super().__init__("pretrain", "aoe_pretrain_options", _OWN, ("data",), output, given, files, context)
        _options.check_together(self.rows, self.given, set())
        self.set_model(model)
        self.options.table.log = context._log
        self.set_options()
        for name in ("eval_every", "patience"):
            if self.options.held_out <= 0 and self.given.get(name):
                raise ValueError(f"{name} has no effect without held-out texts, but held_out is 0")
        self._texts(data)

    def _texts(self, data: Any) -> None:
        sets = _data.several(data)
        is_list = isinstance(data, (list, tuple)) and bool(data)
        whole = is_list and self.given.get("whole_files")
        if whole or is_list and all(_is_texts(item) for item in data):
            sets = [(f"data[{i}]", _data.Data(item)) for i, item in enumerate(data)]
        paths = []
        for label, one in sets:
            if one._settings():
                raise ValueError(f"{label}: give columns as an argument of pretrain; texts have no other settings")
            paths.append(self.files.path(one.source, label))
        temporary = [self.files.is_temporary(path) for path in paths]
        if any(temporary):
            names = [name for name in (*FORMAT, "whole_files") if self.given.get(name)]
            if names:
                raise ValueError(f"{names[0]} applies to files, but {sets[temporary.index(True)][0]} is in memory")
        array = (ctypes.c_char_p * len(paths))(*map(_native.path_bytes, paths))
        self.keep.append(array)
        self.options.texts = ctypes.cast(array, type(self.options.texts))
        self.options.n_texts = len(paths)


def _is_texts(item: Any) -> bool:
    """Returns whether an element of a list is a set of texts, and not a text or a row."""
    return isinstance(item, list) and bool(item) and all(isinstance(text, str) for text in item) or _data.is_set(item)


def pretrain(data: Any, output: str | os.PathLike[str], *, model: ModelLike = None,
             callbacks: Callback | Iterable[Callback] | None = None, show_progress_bar: bool | None = None,
             threads: int | None = None, **options: Any) -> dict[str, Any]:
    """Trains a model on plain text with masked language modeling, and writes it to the directory `output`. The trained
    model is a start model for `train`.

    data: the texts, one of
      - the path of a file: .txt (one text per line), or a table with the column text or sentence (.tsv, .csv, .jsonl or
        .json); also .gz and .zst; .parquet needs pyarrow;
      - a list, a generator or a column of strings;
      - a DataFrame, a table or another data set of `train` with such a column, which `columns` selects
        (columns={"text": "body"});
      - a list of several of these.
    model: the start model, which may have random weights (`aoe init`), as in `train`; None: the default model.
    callbacks, show_progress_bar, threads: as in `train`.
    options: the options of `aoe pretrain`, such as epochs, max_steps, lr, batch_size, max_length, mask_rate, held_out
    and seed; see pretraining_options(). None: the default.

    Returns the record: "output", "interrupted", "step", "steps", "seconds", "checkpoint", "log" and "training", as
    `train` does, and the mean loss of masked tokens on the held-out texts: "held_out_loss" (the smallest one, at
    "best_step"), "start_held_out_loss" and "trained_held_out_loss" (None if held_out is 0). The saved model is the one
    with the smallest loss. Ctrl-C saves a checkpoint and returns the record with "interrupted": True; the same call
    with resume=True continues, to the same bits.

    Raises TypeError for an unknown option, ValueError for a value out of range or an option without effect,
    FileExistsError if `output` contains a model and neither force nor resume is True, and the errors of the library.
    """
    functions = check_callbacks(callbacks)
    with _data.Files() as files:
        run = _Run(data, output, model, options, files, _context.context(threads))
        return execute(run, _native.load().aoe_pretrain, functions, show_progress_bar)
