# SPDX-License-Identifier: MIT
"""What aoe.ray and aoe.spark share: a model that a worker opens once, and its vectors for a batch of texts."""
from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .sentence_transformer import SentenceTransformer

KINDS = ("text", "query", "document")
_opened: dict[str, SentenceTransformer] = {}  # models of this process, by their name and options


def model_name(model: Any) -> str | None:
    """Returns the name of a model for workers, which have other working directories; None: the default model."""
    if model is None:
        return None
    if not isinstance(model, (str, os.PathLike)):
        raise TypeError(f"a model for workers is given by its name or directory, not as {type(model).__name__}; each "
                        "worker opens it")
    name = os.fspath(model)
    return os.path.abspath(name) if os.path.isdir(name) else str(name)


def check_kind(kind: str) -> None:
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}, but must be \"text\", \"query\" or \"document\"")


def open_once(name: str | None, threads: int, options: Mapping[str, Any]) -> SentenceTransformer:
    """Returns the model that this process has opened with these arguments, or opens it."""
    key = repr((name, threads, sorted(options.items())))
    if key not in _opened:
        _opened[key] = SentenceTransformer(name, threads=threads, **options)
    return _opened[key]


def vectors(model: SentenceTransformer, kind: str, texts: list[Any], encode: Mapping[str, Any]) -> NDArray[Any]:
    """Returns the embeddings [n, D] of texts."""
    functions: dict[str, Callable[..., Any]] = {"text": model.encode, "query": model.encode_query,
                                                "document": model.encode_document}
    if not texts:
        return np.zeros((0, model.get_embedding_dimension()), np.float32)
    return np.asarray(functions[kind](texts, show_progress_bar=False, **encode))
