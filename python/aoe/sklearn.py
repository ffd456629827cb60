# SPDX-License-Identifier: MIT
"""scikit-learn: a transformer from texts to embeddings, for pipelines, grid searches and column transformers.

    from aoe.sklearn import AoeTransformer
    classifier = make_pipeline(AoeTransformer(), LogisticRegression()).fit(texts, labels)
"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _adapters, _inputs
from .sentence_transformer import SentenceTransformer

try:
    from sklearn.base import BaseEstimator, TransformerMixin
except ImportError:
    raise _adapters.missing("scikit-learn", "aoe.sklearn") from None

KINDS = ("document", "query", "none")


class AoeTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc, unused-ignore]
    """Computes the embeddings of texts. It learns nothing, so `fit` only checks its parameters.

    model: a SentenceTransformer, a name, or None for the default model. kind: the prompt of the model: "document",
    "query" or "none". truncate_dim: number of components; normalize: scale vectors to unit length. The model is opened
    when it is used first. Copies by sklearn.base.clone and in worker processes open it again, and map the same
    weights."""

    def __init__(self, model: Any = None, *, kind: str = "document", truncate_dim: int | None = None,
                 normalize: bool = False) -> None:
        self.model = model
        self.kind = kind
        self.truncate_dim = truncate_dim
        self.normalize = normalize

    def _open(self) -> SentenceTransformer:
        if isinstance(self.model, SentenceTransformer):
            return self.model
        opened: tuple[Any, SentenceTransformer] | None = self.__dict__.get("_opened")
        if opened is None or opened[0] != self.model:
            opened = self.model, SentenceTransformer(self.model)
            self.__dict__["_opened"] = opened
        return opened[1]

    def fit(self, X: Any, y: Any = None) -> "AoeTransformer":
        """Checks the parameters and opens the model. X: texts, of which only the type is checked."""
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        if self.truncate_dim is not None and self.truncate_dim < 1:
            raise ValueError(f"truncate_dim must be positive, not {self.truncate_dim}")
        _texts(X)
        self._open()
        return self

    def transform(self, X: Any) -> NDArray[np.float32]:
        """Returns the embeddings [n, D] of n texts: a list, a column, or a table with one column."""
        if self.kind not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {self.kind!r}")
        model, texts = self._open(), _texts(X)
        arguments: dict[str, Any] = {"truncate_dim": self.truncate_dim, "normalize_embeddings": self.normalize,
                                     "show_progress_bar": False}
        if self.kind == "none":
            vectors = model.encode(texts, prompt="", **arguments)
        else:
            vectors = (model.encode_query if self.kind == "query" else model.encode_document)(texts, **arguments)
        return np.asarray(vectors, np.float32) if texts else np.empty((0, self._dims()), np.float32)

    def _dims(self) -> int:
        dims = self._open().get_embedding_dimension()
        return dims if self.truncate_dim is None else min(dims, self.truncate_dim)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Returns the names of the components."""
        return np.array([f"aoe{i}" for i in range(self._dims())], object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _texts(X: Any) -> list[str]:
    if isinstance(X, str):
        raise TypeError("X must be a collection of texts, not one string")
    if getattr(X, "ndim", 1) == 2:  # a table with one column
        if X.shape[1] != 1:
            raise ValueError(f"X must have one column of texts, not {X.shape[1]}")
        X = X.iloc[:, 0] if hasattr(X, "iloc") else np.asarray(X)[:, 0]
    texts = _inputs.as_list(X, "X")
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"X[{i}] must be a string, not {type(text).__name__}")
    return texts


__all__ = ["AoeTransformer"]
