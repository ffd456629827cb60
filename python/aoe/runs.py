# SPDX-License-Identifier: MIT
"""What training and pretraining have in common: the options of a run, its events, its progress bar, Ctrl-C, and the
record that it returns."""
from __future__ import annotations

import contextlib
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
from collections.abc import Callable, Iterable
from typing import Any, Union

from . import _context, _data, _inputs, _native, _options
from ._model import Model
from .sentence_transformer import SentenceTransformer

# arguments of a function, or options of the program only
PROGRAM = ("model", "threads", "verbose", "quiet", "json", "distributed", "part", "network_timeout")
FORMAT = ("input_format", "delimiter", "no_header", "quoting")  # fields of aoe_table_options for the format of a file


class StopTraining(Exception):
    """A callback raises it to stop the training, which then saves a checkpoint and returns its record."""


@dataclasses.dataclass(frozen=True)
class TrainingEvent:
    """An event of a training, which callbacks receive. Values that an event does not have are None.

    kind: "start", "step" (an optimizer step is complete), "eval" (an evaluation on the dev set or, in pretraining, on
    the held-out texts; at step 0, of the start model), "checkpoint", "done", or "embed" (a teacher has embedded some of
    the training texts).
    """

    kind: str
    step: int  # completed steps
    steps: int  # all steps of the run
    epoch: float  # completed epochs, with a fraction
    loss: dict[str, float]  # step: the loss "total" and its terms, such as "cosine"; eval, in pretraining: "total"
    lr: float | None  # step: learning rate
    grad_norm: float | None  # step: norm of the gradient before clipping
    tokens_per_second: float | None
    pairs_per_second: float | None
    seconds: float  # elapsed time
    seconds_left: float | None  # estimated remaining time
    score: float | None  # eval, done: score on the dev set; in pretraining, the negative loss on the held-out texts
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
    accuracy: float | None = None  # pretraining, step and eval: fraction of the masked tokens that are predicted


_EVENT_FIELDS = [field.name for field in dataclasses.fields(TrainingEvent)]
_ONLY_STEPS = ("lr", "grad_norm", "tokens_per_second", "pairs_per_second")

Callback = Callable[[TrainingEvent], Any]
ModelLike = Union[str, "os.PathLike[str]", Model, None]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _event(pointer: Any, pretrains: bool) -> TrainingEvent:
    e = pointer.contents
    names = {value: name[10:].lower() for name, value in _native.enum("aoe_train_event_kind").items()}
    found: dict[str, Any] = {}
    for field in _EVENT_FIELDS:
        value = getattr(e, field)
        found[field] = _number(value) if isinstance(value, float) else value
    found["kind"] = names[e.kind]
    found["path"] = None if e.path is None else os.fsdecode(e.path)
    found["loss"] = {}
    if found["kind"] == "step" or pretrains and found["kind"] == "eval":
        loss = e.loss.contents
        found["loss"] = {name: value for name, _ in loss._fields_ if name != "struct_size" and
                         ((value := getattr(loss, name)) or name == "total")}
    if found["kind"] != "step":
        found.update(dict.fromkeys(_ONLY_STEPS))
    if found["kind"] != "start":
        found["ibn_threshold"] = None
    if not pretrains or found["kind"] not in ("step", "eval"):
        found["accuracy"] = None
    return TrainingEvent(**found)


# ------------------------------------------------------------ options


class Run:
    """The struct of a run with the options that were given, and the objects that it points to. command: its name in the
    table of options; own: options that are no keyword arguments; arguments: the other arguments of the function."""

    def __init__(self, command: str, struct: str, own: Iterable[str], arguments: Iterable[str], output: Any,
                 given: dict[str, Any], files: _data.Files, context: _context.Context) -> None:
        self.command, self.files, self.context = command, files, context
        self.rows = _options.table(command, own)
        _options.check_names(given, [*self.rows, *arguments, "model", "callbacks", "threads", "show_progress_bar"],
                             command)
        self.given = {name: value for name, value in given.items() if value is not None}
        if not _data.is_path(output) or not os.fspath(output):
            raise TypeError(f"output must be the path of a directory, not {output!r}")
        self.output = os.fspath(output)
        self.options = _native.options(struct)
        self.keep: list[Any] = []

    def set_model(self, model: ModelLike) -> None:
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

    def set_options(self) -> None:
        """Sets the fields of all options that were given, and of the output directory."""
        for name, value in self.given.items():
            self.assign(name, value)
        args = self.options.args
        args.output = _native.path_bytes(self.output)
        if "lr_steps" not in self.given and ("lr" in self.given or "schedule" in self.given):
            args.n_lr_steps = 0  # they belong to the default learning rate and schedule of the method

    def assign(self, name: str, value: Any) -> None:
        row = self.rows[name]
        if name == "seed":
            self.options.args.seed = _options._integer(row, value)
        elif row["struct"] == "aoe_embedder_options":
            setattr(self.options.args, row["field"], _options._integer(row, value))
        elif row["struct"] is None:
            raise NotImplementedError(f"{name} is an option of the program only")
        else:
            _options.assign(self.options, row, value)

    def text(self, text: str) -> bytes:
        """Returns the bytes of a text, which live as long as the run."""
        kept = _options.to_bytes(text, "a text")
        self.keep.append(kept)
        return kept


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
    """A progress bar over the steps, with the loss and the newest score."""

    def __init__(self, show: bool | None, label: str, score: str) -> None:
        self.show = _in_terminal() if show is None else show
        self.label, self.score_name = label, score
        self.bar: Any = None
        self.kind, self.loss, self.shown = "", math.nan, 0.0
        self.score: float | None = None

    def __call__(self, event: TrainingEvent) -> None:
        if not self.show:
            return
        if event.kind == "start" or event.kind == "embed" and (self.kind != "embed" or event.texts <= self.bar.n):
            self.close()
            if event.kind == "start":
                self.bar = _inputs.progress_bar(True, event.steps, self.label, "steps")
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
            self.score = event.loss.get("total", event.score)
            self._postfix()
        self.kind = event.kind

    def _postfix(self) -> None:
        values = {"loss": f"{self.loss:.3f}"} if not math.isnan(self.loss) else {}
        if self.score is not None:
            values[self.score_name] = f"{self.score:.4f}"
        self.bar.set_postfix(values, refresh=False)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()
            self.bar = None


def _in_terminal() -> bool:
    """Returns whether the program runs in a terminal or in a notebook."""
    return "ipykernel" in sys.modules or bool(getattr(sys.stderr, "isatty", bool)())


# ------------------------------------------------------------ the run


def check_callbacks(callbacks: Callback | Iterable[Callback] | None) -> list[Callback]:
    """Returns a list of callbacks. Raises TypeError if one of them is no function."""
    if callbacks is None:
        return []
    functions = [callbacks] if callable(callbacks) else list(callbacks)
    for function in functions:
        if not callable(function):
            raise TypeError(f"a callback must be a function that receives a TrainingEvent, not {function!r:.60}")
    return functions


def execute(run: Run, function: Any, functions: list[Callback], show_progress_bar: bool | None,
            prepare: Callable[[_native.Callbacks], None] | None = None) -> dict[str, Any]:
    """Calls aoe_train or aoe_pretrain and returns the record. prepare: sets further callbacks of the run."""
    pretrains = run.command == "pretrain"
    progress = _Progress(show_progress_bar, *(("Pretraining", "held-out") if pretrains else ("Training", "dev")))
    last: list[TrainingEvent] = []
    checkpoint: list[str | None] = [None]
    stopped = False

    def receive(user: Any, pointer: Any) -> int:
        nonlocal stopped
        event = _event(pointer, pretrains)
        last[:] = [event]
        if event.kind == "checkpoint":
            checkpoint[0] = event.path
        progress(event)
        for call in functions:
            try:
                call(event)
            except StopTraining:
                stopped = True
        return int(stopped or interrupts.count > 0)

    with _Interrupts() as interrupts, contextlib.closing(progress):
        try:
            with _native.Callbacks() as callbacks:
                if prepare is not None:
                    prepare(callbacks)
                args = run.options.args
                args.event = callbacks.add_type(dict(type(args)._fields_)["event"], receive, 1)
                _native.check(function, run.context.handle, ctypes.byref(run.options))
        except _native.AoeError as error:
            if error.code != "ECANCELLED" or not (stopped or interrupts.count):
                raise
        except KeyboardInterrupt:  # without the handler of _Interrupts, or the second Ctrl-C
            if interrupts.count > 1 or not last:
                raise
    if not last:
        raise KeyboardInterrupt
    return _record(run.output, last[0], checkpoint[0], pretrains)


def _record(output: str, event: TrainingEvent, checkpoint: str | None, pretrains: bool) -> dict[str, Any]:
    """Returns the record of a run whose last event is `event`."""
    folder, done = pathlib.Path(output), event.kind == "done"
    log, training = folder / "train-log.jsonl", None
    started = event.kind != "embed"
    lines = log.read_text(encoding="utf-8").splitlines() if started and log.exists() else []
    scores = {"": event.best_score, "start_": event.start_score, "trained_": event.trained_score}
    if pretrains:
        scores = {name: None if score is None else -score for name, score in scores.items()}
    name = "held_out_loss" if pretrains else "dev_score"
    if done:
        training = json.loads((folder / "aoe.json").read_text(encoding="utf-8")).get("training")
        if event.best_score is not None and event.start_score is not None and event.best_step == 0:
            warnings.warn(f"no evaluated step is better than the start model ({name.replace('_', ' ')} "
                          f"{scores['start_']:.4f}, at best {scores['trained_']} after step {event.trained_step}); "
                          f"{output} contains the start model", stacklevel=4)
    return {
        "output": output, "interrupted": not done, "step": event.step, "steps": event.steps, "seconds": event.seconds,
        "best_step": event.best_step if event.best_score is not None else None,
        **{prefix + name: score for prefix, score in scores.items()},
        "checkpoint": checkpoint, "log": [json.loads(line) for line in lines], "training": training,
    }  # fmt: skip
