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
import dataclasses
import json
import math
import os
import pathlib
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Union

from . import _context, _data, _inputs, _native, _options
from ._data import Data
from ._model import Borrowed, Model
from .cross_encoder import CrossEncoder
from .sentence_transformer import SentenceTransformer

_OWN = ("data", "dev", "model", "threads", "verbose", "quiet", "json")  # arguments of train, or of the program only

# options that have no effect without another option
_REQUIRES = {
    "layers_per_step": "adaptive_layers", "layer_prior": "adaptive_layers", "layer_temperature": "adaptive_layers",
    "w_last_layer": "adaptive_layers", "w_layers": "adaptive_layers", "w_layer_kl": "adaptive_layers",
    "ese_dims": "ese", "w_teacher": "teacher", "distill": "teacher", "teacher_cache": "teacher",
    "lora_alpha": "lora_r", "lora_targets": "lora_r", "matryoshka_per_step": "matryoshka", "eval_every": "dev",
    "patience": "dev",
}  # fmt: skip


class StopTraining(Exception):
    """A callback raises it to stop the training, which then saves a checkpoint and returns its record."""


@dataclasses.dataclass(frozen=True)
class TrainingEvent:
    """An event of a training, which callbacks receive. Values that an event does not have are None.

    kind: "start", "step" (an optimizer step is complete), "eval" (an evaluation on the dev set; at step 0, of the start
    model), "checkpoint", "done", or "embed" (a teacher has embedded some of the training texts).
    """

    kind: str
    step: int  # completed steps
    steps: int  # all steps of the run
    epoch: float  # completed epochs, with a fraction
    loss: dict[str, float]  # step: the loss "total" and its terms, such as "cosine"; otherwise {}
    lr: float | None  # step: learning rate
    grad_norm: float | None  # step: norm of the gradient before clipping
    tokens_per_second: float | None
    pairs_per_second: float | None
    seconds: float  # elapsed time
    seconds_left: float | None  # estimated remaining time
    score: float | None  # eval, done: score on the dev set
    best_score: float | None  # highest score so far
    best_step: int  # steps at best_score; 0: no step is better than the start model
    start_score: float | None  # eval, done: score of the start model
    trained_score: float | None  # eval, done: highest score after a step
    trained_step: int  # steps at trained_score
    pairs: int  # start: number of examples
    unused_rows: int  # start: rows that are not used; the logger "aoe" has the reasons
    examples: int  # step: number of examples in the step
    ibn_threshold: float | None  # start: lowest label of a positive pair
    texts: int  # embed: texts that the teacher has embedded
    all_texts: int  # embed: all training texts
    path: str | None  # checkpoint: its directory; embed: directory of the teacher


_EVENT_FIELDS = [field.name for field in dataclasses.fields(TrainingEvent)]
_ONLY_STEPS = ("lr", "grad_norm", "tokens_per_second", "pairs_per_second")

Callback = Callable[[TrainingEvent], Any]
DevFunction = Callable[[Any], float]
ModelLike = Union[str, "os.PathLike[str]", Model, None]


def training_options() -> dict[str, dict[str, Any]]:
    """Returns the options of `train` by name, each with the keys type, default, choices, min, max, methods (None: all
    training methods), group and help."""
    keys = ("type", "default", "default_text", "choices", "min", "max", "methods", "group", "help")
    return {name: {key: row.get(key) for key in keys} for name, row in option_rows().items()}


def option_rows() -> dict[str, _options.Row]:
    """Returns the options of the program that are keyword arguments of `train`."""
    return _options.table("train", _OWN)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _event(pointer: Any) -> TrainingEvent:
    e = pointer.contents
    names = {value: name[10:].lower() for name, value in _native.enum("aoe_train_event_kind").items()}
    found: dict[str, Any] = {}
    for field in _EVENT_FIELDS:
        value = getattr(e, field)
        found[field] = _number(value) if isinstance(value, float) else value
    found["kind"] = names[e.kind]
    found["path"] = None if e.path is None else os.fsdecode(e.path)
    found["loss"] = {}
    if found["kind"] == "step":
        loss = e.loss.contents
        found["loss"] = {name: value for name, _ in loss._fields_ if name != "struct_size" and
                         ((value := getattr(loss, name)) or name == "total")}
    else:
        found.update(dict.fromkeys(_ONLY_STEPS))
    if found["kind"] != "start":
        found["ibn_threshold"] = None
    return TrainingEvent(**found)


# ------------------------------------------------------------ options


class _Run:
    """The structs of a run, and the objects that they point to."""

    def __init__(self, data: Any, output: Any, model: ModelLike, dev: Any, given: dict[str, Any],
                 files: _data.Files, context: _context.Context) -> None:
        self.given = {name: value for name, value in given.items() if value is not None}
        self.rows, self.files, self.context = option_rows(), files, context
        _options.check_names(given, [*self.rows, "data", "model", "dev", "callbacks", "threads", "show_progress_bar"],
                             "train")
        if not _data.is_path(output) or not os.fspath(output):
            raise TypeError(f"output must be the path of a directory, not {output!r}")
        self.options = _native.struct("aoe_train_options")
        _native.load().aoe_train_options_fill(ctypes.byref(self.options))
        self.keep: list[Any] = []
        self.dev_set = ctypes.c_void_p()
        self._method()
        self._check_used(dev)
        self._model(model)
        self.table = self._new_table()
        for name, value in self.given.items():
            self._assign(name, value)
        args = self.options.args
        args.output = os.fsencode(output)
        if "lr_steps" not in self.given and ("lr" in self.given or "schedule" in self.given):
            args.n_lr_steps = 0  # they belong to the default learning rate and schedule of the method
        self._data(data)
        self.dev = dev

    def _method(self) -> None:
        row = self.rows["method"]
        name = self.given.get("method", row["default"])
        self.method = row["choices"][_options.one_of("method", name, row["choices"])]
        _native.load().aoe_train_method_defaults(ctypes.byref(self.options), row["choices"].index(name))

    def _check_used(self, dev: Any) -> None:
        """Raises ValueError for an option that would have no effect."""
        def is_set(name: str) -> bool:
            value = self.given.get(name)
            return dev is not None if name == "dev" else value is not None and value is not False

        for name in self.given:
            methods, other = self.rows[name]["methods"], _REQUIRES.get(name)
            if is_set(name) and methods is not None and self.method not in methods:
                raise ValueError(f"{name} has no effect with method={self.method!r}; leave it out")
            if is_set(name) and other and not is_set(other):
                raise ValueError(f"{name} has no effect without {other}")
        if is_set("resume") and is_set("force"):
            raise ValueError("resume and force exclude each other")

    def _model(self, model: ModelLike) -> None:
        """Sets the start model. Settings of a model object apply to the training."""
        options = self.options.args.model_options
        self.options.args.model = os.fsencode(_options.directory_of(model))
        if isinstance(model, Model):
            for field in ("max_length", "dtype"):
                if model._fields.get(field):
                    setattr(options, field, model._fields[field])
            if isinstance(model, SentenceTransformer) and not self.given.keys() & {"prompt", "prompt_name"}:
                prompt = model._own_template()
                if prompt is not None:
                    options.prompt = _options.to_bytes(prompt, "prompt")

    def _new_table(self) -> Any:
        table = _native.options("aoe_table_options")
        table.log = self.context._log
        return table

    def _assign(self, name: str, value: Any) -> None:
        row, options = self.rows[name], self.options
        if name == "teacher":
            teachers = [value] if _data.is_path(value) or isinstance(value, Model) else list(value)
            if len(teachers) > len(options.teachers):
                raise ValueError(f"teacher: at most {len(options.teachers)} teachers, not {len(teachers)}")
            for i, teacher in enumerate(teachers):
                options.teachers[i] = self._text(_options.directory_of(teacher))
        elif name == "matryoshka":
            self._matryoshka(_options.text_of(row, value))
        elif name == "seed":
            options.args.seed = _options._integer(row, value)
        elif row["struct"] == "aoe_embedder_options":
            setattr(options.args, row["field"], _options._integer(row, value))
        elif row["struct"] == "aoe_table_options":
            _options.assign(self.table, row, value)
        elif row["struct"] is None:
            raise NotImplementedError(f"{name} is an option of the program only")
        else:
            _options.assign(options, row, value)

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
            for field in ("input_format", "delimiter", "no_header", "quoting"):
                setattr(struct, field, getattr(plain, field))
        for name in ("columns", "label_map"):
            value = getattr(data, name)
            if value is not None:
                setattr(struct, name, self._text(_options.text_of(self.rows[name], value)))

    def _data(self, data: Any) -> None:
        sets = _data.several(data)
        array = (_native.interface().type("aoe_train_data") * len(sets))()
        for item, (label, one) in zip(array, sets):
            path = self.files.path(one.source, label)
            _native._set_sizes(item)
            _native.load().aoe_train_data_fill(ctypes.byref(item))
            self._settings(item.table, one, path)
            item.path = self._text(path)
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
                    setattr(item, name, self._text(_options.template(prompt)))
        self.options.data, self.options.n_data = array, len(sets)
        self.keep.append(array)

    def _text(self, text: str) -> bytes:
        """Returns the bytes of a text, which live as long as the run."""
        kept = _options.to_bytes(text, "a text")
        self.keep.append(kept)
        return kept

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
            o.dev_name, o.dev_metric = self._text(name), b"score"
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
        _native.check(lib.aoe_dev_set_load, ctypes.byref(self.dev_set), self.context.handle, self._text(path),
                      ctypes.byref(table))
        o.evaluate = ctypes.cast(lib.aoe_dev_set_evaluate, type(o.evaluate))
        o.evaluate_user = self.dev_set
        o.dev_name, o.dev_metric = self._text(path), b"accuracy" if classes > 1 else b"spearman"
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
            score[0] = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"the dev function must return a number, not {value!r:.60}") from None
        return 0

    def close(self) -> None:
        if self.dev_set:
            _native.load().aoe_dev_set_free(self.dev_set)


def primary_score(function: Any, value: Any) -> Any:
    """Returns the score of a dev function: a number, or the primary metric of an evaluator of sentence-transformers."""
    return value.get(getattr(function, "primary_metric", None)) if isinstance(value, Mapping) else value


# ------------------------------------------------------------ interrupts and progress


class _Interrupts:
    """Ctrl-C sets a flag, which stops the training after its current step and evaluation. A second Ctrl-C raises
    KeyboardInterrupt at once."""

    def __init__(self) -> None:
        self.count, self._old = 0, signal.default_int_handler

    def __enter__(self) -> "_Interrupts":
        self._is_set = (threading.current_thread() is threading.main_thread() and
                        signal.getsignal(signal.SIGINT) is signal.default_int_handler)
        if self._is_set:
            signal.signal(signal.SIGINT, self._receive)
        return self

    def _receive(self, number: int, frame: Any) -> None:
        self.count += 1
        if self.count > 1:
            raise KeyboardInterrupt
        sys.stderr.write("\nstopping after this step; Ctrl-C again stops at once, without a checkpoint\n")

    def __exit__(self, *exception: object) -> None:
        if self._is_set:
            signal.signal(signal.SIGINT, self._old)


class _Progress:
    """A progress bar over the steps, with the loss and the score on the dev set."""

    def __init__(self, show: bool | None) -> None:
        self.show = _in_terminal() if show is None else show
        self.bar: Any = None
        self.kind, self.loss, self.shown = "", math.nan, 0.0
        self.score: float | None = None

    def __call__(self, event: TrainingEvent) -> None:
        if not self.show:
            return
        if event.kind == "start" or event.kind == "embed" and (self.kind != "embed" or event.texts <= self.bar.n):
            self.close()
            if event.kind == "start":
                self.bar = _inputs.progress_bar(True, event.steps, "Training")
                self.bar.unit = "steps"
                self.bar.update(event.step)
            else:
                self.bar = _inputs.progress_bar(True, event.all_texts, "Teacher embeddings")
        if event.kind == "embed":
            self.bar.update(event.texts - self.bar.n)
        if event.kind == "step":
            total = event.loss["total"]
            self.loss = total if math.isnan(self.loss) else 0.9 * self.loss + 0.1 * total
            if event.step < event.steps and event.seconds - self.shown < 0.2:
                return
            self.shown = event.seconds
            self.bar.total = event.steps
            self._postfix()
            self.bar.update(event.step - self.bar.n)
        if event.kind == "eval":
            self.score = event.score
            self._postfix()
        self.kind = event.kind

    def _postfix(self) -> None:
        if hasattr(self.bar, "set_postfix"):
            values = {"loss": f"{self.loss:.3f}"} if not math.isnan(self.loss) else {}
            if self.score is not None:
                values["dev"] = f"{self.score:.4f}"
            self.bar.set_postfix(values, refresh=False)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _in_terminal() -> bool:
    """Returns whether the program runs in a terminal or in a notebook."""
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())


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
    dev: the dev set of labeled pairs, in the same forms, or a function that receives the model and returns a score. The
    model with the highest score is saved; without a dev set, the last one. The start model is also evaluated.
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
    if callbacks is None:
        functions: list[Callback] = []
    else:
        functions = [callbacks] if callable(callbacks) else list(callbacks)
    for function in functions:
        if not callable(function):
            raise TypeError(f"a callback must be a function that receives a TrainingEvent, not {function!r:.60}")
    progress = _Progress(show_progress_bar)
    with _data.Files() as files:
        run = _Run(data, output, model, dev, options, files, _context.context(threads))
        try:
            return _train(run, os.fspath(output), functions, progress)
        finally:
            progress.close()
            run.close()


def _train(run: _Run, output: str, functions: list[Callback], progress: _Progress) -> dict[str, Any]:
    last: list[TrainingEvent] = []
    checkpoint: list[str | None] = [None]
    stopped = False

    def receive(user: Any, pointer: Any) -> int:
        nonlocal stopped
        event = _event(pointer)
        last[:] = [event]
        if event.kind == "checkpoint":
            checkpoint[0] = event.path
        progress(event)
        for function in functions:
            try:
                function(event)
            except StopTraining:
                stopped = True
        return int(stopped or interrupts.count > 0)

    with _Interrupts() as interrupts:
        try:
            with _native.Callbacks() as callbacks:
                run.set_dev(callbacks)
                args = run.options.args
                args.event = callbacks.add_type(dict(type(args)._fields_)["event"], receive, 1)
                _native.check(_native.load().aoe_train, run.context.handle, ctypes.byref(run.options))
        except _native.AoeError as error:
            if error.code != "ECANCELLED" or not (stopped or interrupts.count):
                raise
        except KeyboardInterrupt:  # without the handler of _Interrupts, or the second Ctrl-C
            if interrupts.count > 1 or not last:
                raise
    if not last:
        raise KeyboardInterrupt
    return _record(output, last[0], checkpoint[0])


def _record(output: str, event: TrainingEvent, checkpoint: str | None) -> dict[str, Any]:
    """Returns the record of a run whose last event is `event`."""
    folder, done = pathlib.Path(output), event.kind == "done"
    log, training = folder / "train-log.jsonl", None
    started = event.kind != "embed"
    lines = log.read_text(encoding="utf-8").splitlines() if started and log.exists() else []
    if done:
        training = json.loads((folder / "aoe.json").read_text(encoding="utf-8")).get("training")
        if event.best_score is not None and event.start_score is not None and event.best_step == 0:
            warnings.warn(f"no evaluated step is better than the start model (dev score {event.start_score:.4f}, at "
                          f"best {event.trained_score} after step {event.trained_step}); {output} contains the start "
                          "model", stacklevel=4)
    return {
        "output": output, "interrupted": not done, "step": event.step, "steps": event.steps, "seconds": event.seconds,
        "best_step": event.best_step if event.best_score is not None else None, "dev_score": event.best_score,
        "start_dev_score": event.start_score, "trained_dev_score": event.trained_score, "checkpoint": checkpoint,
        "log": [json.loads(line) for line in lines], "training": training,
    }  # fmt: skip
