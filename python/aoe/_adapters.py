# SPDX-License-Identifier: MIT
"""What the adapters for other packages share: models that are given by name or opened, and vectors as lists."""
from __future__ import annotations

import os
from typing import Any

import numpy as np

from . import _native
from .cross_encoder import CrossEncoder
from .sentence_transformer import SentenceTransformer


def embedder(model: Any, options: dict[str, Any]) -> SentenceTransformer:
    """Returns an opened model, or opens it by its name; None: the default model. options: arguments of
    SentenceTransformer, for a name."""
    if isinstance(model, SentenceTransformer):
        if options:
            raise TypeError(f"the option {next(iter(options))!r} belongs to a model that is given by its name; set it "
                            "when the model is opened")
        return model
    return SentenceTransformer(model, **options)


def ranker(model: Any, options: dict[str, Any]) -> CrossEncoder:
    """Returns an opened cross-encoder with one score per pair, or opens it by its name."""
    if isinstance(model, CrossEncoder):
        if options:
            raise TypeError(f"the option {next(iter(options))!r} belongs to a model that is given by its name; set it "
                            "when the model is opened")
        opened = model
    else:
        opened = CrossEncoder(model, **options)
    if opened.num_labels != 1:
        raise ValueError(f"a reranker needs a cross-encoder with one score per pair, but the model has "
                         f"{opened.num_labels}")
    return opened


def name_of(model: Any) -> str:
    """Returns the name of a model for messages and records; "" for the default model."""
    name = getattr(model, "name", model)
    return "" if name is None else os.fspath(name)


def documents(model: SentenceTransformer, texts: list[str]) -> list[list[float]]:
    """Returns the embeddings of documents, with the prompt of the model for documents."""
    return as_lists(model.encode_document(list(texts), show_progress_bar=False), len(texts))


def query(model: SentenceTransformer, text: str) -> list[float]:
    """Returns the embedding of a query, with the prompt of the model for queries."""
    if not isinstance(text, str):
        raise TypeError(f"a query must be a string, not {type(text).__name__}")
    row: list[float] = model.encode_query(text, show_progress_bar=False).tolist()
    return row


def as_lists(vectors: Any, n: int) -> list[list[float]]:
    rows: list[list[float]] = np.asarray(vectors, np.float32).tolist() if n else []
    return rows


def missing(package: str, name: str) -> ImportError:
    """Returns the error for a package that is not installed."""
    return ImportError(f"{name} needs the package {package}, which is not installed; run pip install {package}")


def saved_name(model: Any) -> str | None:
    """Returns the name of a model for a configuration from which it is opened again. Raises ValueError if the model was
    opened with other settings than those in its directory, which the configuration would lose."""
    changed = list(model.changed_settings()) if isinstance(model, SentenceTransformer) else []
    if model._fields.get("max_length") is not None:
        changed.append("max_seq_length")
    if model._fields.get("dtype") != _native.enum("aoe_dtype")["AOE_DTYPE_AUTO"]:
        changed.append("dtype")
    if model._fields.get("activation") is not None:
        changed.append("activation_fn")
    if changed:
        raise ValueError(f"a configuration stores only the name of the model, but {changed[0]} was set in the program; "
                         "write the model with save_pretrained, and give its directory")
    return None if model.name is None else str(model.name)
