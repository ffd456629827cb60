# SPDX-License-Identifier: MIT
"""The class `Trainer`, for programs that were written for the trainers of sentence-transformers."""
from __future__ import annotations

import contextlib
import os
import pathlib
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

from . import _options, evaluation, training
from ._data import Data
from ._model import Model
from .cross_encoder import CrossEncoder
from .sentence_transformer import SentenceTransformer
from .training import Callback, ModelLike


class Trainer:
    """Trains a model, in the form of the trainers of sentence-transformers.

        trainer = aoe.Trainer(model, train_dataset=frame, eval_dataset=dev, output="my-model", epochs=3)
        trainer.train()
        trainer.evaluate()

    model: as in `train`. If it is a SentenceTransformer or CrossEncoder, this object has the trained weights after
    `train`. train_dataset, eval_dataset: `data` and `dev` of `train`. All other arguments are those of `train`, which
    takes the place of the training arguments and of the loss (method) of sentence-transformers.
    """

    def __init__(self, model: ModelLike = None, train_dataset: Any = None, eval_dataset: Any = None,
                 callbacks: Callback | Iterable[Callback] | None = None, *, output: str | os.PathLike[str],
                 show_progress_bar: bool | None = None, threads: int | None = None, **options: Any) -> None:
        own = ["model", "train_dataset", "eval_dataset", "callbacks", "threads", "show_progress_bar"]
        _options.check_names(options, [*training.training_options(), *own], "Trainer")
        if train_dataset is None:
            raise TypeError("Trainer() needs train_dataset")
        self._model, self.train_dataset, self.eval_dataset = model, train_dataset, eval_dataset
        self.callbacks, self.output = callbacks, os.fspath(output)
        self._general: dict[str, Any] = {"show_progress_bar": show_progress_bar, "threads": threads}
        self.options = options
        self.record: dict[str, Any] | None = None
        self._opened: Any = model if isinstance(model, Model) else None

    def train(self, resume_from_checkpoint: bool | None = None) -> dict[str, Any]:
        """Trains the model and returns the record of `train`. resume_from_checkpoint: True: continues from the newest
        checkpoint in the output directory."""
        options = dict(self.options)
        if resume_from_checkpoint is not None:
            if not isinstance(resume_from_checkpoint, bool):
                raise TypeError("resume_from_checkpoint must be True or False; the newest checkpoint of the output "
                                "directory is used")
            options["resume"] = resume_from_checkpoint
        self.record = training.train(self.train_dataset, self.output, model=self._model, dev=self.eval_dataset,
                            callbacks=self.callbacks, **self._general, **options)
        if not self.record["interrupted"]:
            if isinstance(self._model, Model) and isinstance(self._model, CrossEncoder) == self._is_pair_model():
                self._model._replace(self.output)
            else:
                self._opened = None
        return self.record

    def _is_pair_model(self) -> bool:
        return self.options.get("method") == "cross-encoder"

    @property
    def model(self) -> Any:
        """The trained model, or the start model before `train`."""
        if self._opened is None:
            trained = self.record is not None and not self.record["interrupted"]
            kind: Any = CrossEncoder if trained and self._is_pair_model() else SentenceTransformer
            self._opened = kind(self.output if trained else self._model, threads=self._general["threads"])
        return self._opened

    def evaluate(self, eval_dataset: Any = None) -> dict[str, Any]:
        """Evaluates `model` on eval_dataset, or on that of the trainer. Returns the metrics of evaluate_sts, or
        {"score": ...} if eval_dataset is a function."""
        data = self.eval_dataset if eval_dataset is None else eval_dataset
        if data is None:
            raise ValueError("evaluate() needs eval_dataset")
        if callable(data):
            score: Any = training.primary_score(data, data(self.model))
            return {"score": float(score)}
        settings: dict[str, Any] = {name: self.options.get(name) for name in ("columns", "label_map", "skip_bad_rows")}
        if isinstance(data, Data):
            settings.update({name: value for name in ("columns", "label_map")
                             if (value := getattr(data, name)) is not None})
            data = data.source
        if isinstance(self.model, CrossEncoder) and self.model.num_labels > 1:
            return evaluation.evaluate_classes(self.model, data, **settings)
        return evaluation.evaluate_sts(self.model, data, show_progress_bar=self._general["show_progress_bar"],
                                       **settings)

    def save_model(self, output_dir: str | os.PathLike[str] | None = None) -> None:
        """Copies the trained model, without checkpoints, to a directory that does not exist or is empty. Without
        output_dir, it does nothing: the model is in the output directory of the trainer after `train`."""
        if self.record is None or self.record["interrupted"]:
            raise ValueError("the model is not trained; call train() first")
        if output_dir is None:
            return
        target = pathlib.Path(output_dir)
        if target.exists() and (not target.is_dir() or any(target.iterdir())):
            raise FileExistsError(f"{target} exists; choose another path, or remove it")
        target.parent.mkdir(parents=True, exist_ok=True)
        with _part(target) as part:
            shutil.copytree(self.output, part, ignore=shutil.ignore_patterns("checkpoints"))


@contextlib.contextmanager
def _part(target: pathlib.Path) -> Iterator[pathlib.Path]:
    """A directory that takes the place of `target` when it is complete."""
    with tempfile.TemporaryDirectory(prefix=target.name + ".", dir=target.parent) as folder:
        part = pathlib.Path(folder) / "model"
        yield part
        if target.exists():
            target.rmdir()
        part.rename(target)
