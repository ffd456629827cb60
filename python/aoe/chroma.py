# SPDX-License-Identifier: MIT
"""Chroma: an embedding function, which Chroma stores by its name, so that a collection opens it again.

    from aoe.chroma import AoeEmbeddingFunction
    collection = chromadb.PersistentClient("db").create_collection("notes", embedding_function=AoeEmbeddingFunction())
"""
from __future__ import annotations

from typing import Any

import numpy as np

from . import _adapters

try:
    from chromadb.api.types import Documents, EmbeddingFunction, Embeddings, Space
    from chromadb.utils.embedding_functions import register_embedding_function
except ImportError:
    raise _adapters.missing("chromadb", "aoe.chroma") from None


@register_embedding_function
class AoeEmbeddingFunction(EmbeddingFunction[Documents]):
    """Embeddings with the prompts of the model for queries and documents, compared by cosine.

    model: a SentenceTransformer, a name, or None for the default model. A program that opens an existing collection
    without an embedding function must import this module first."""

    def __init__(self, model: Any = None) -> None:
        self.model = _adapters.embedder(model, {})

    def __call__(self, input: Documents) -> Embeddings:
        """Returns the embeddings of documents."""
        return [np.asarray(row, np.float32) for row in self.model.encode_document(list(input), show_progress_bar=False)]

    def embed_query(self, input: Documents) -> Embeddings:
        """Returns the embeddings of queries."""
        return [np.asarray(row, np.float32) for row in self.model.encode_query(list(input), show_progress_bar=False)]

    @staticmethod
    def name() -> str:
        """Returns the name in the registry of Chroma."""
        return "aoe"

    def default_space(self) -> Space:
        """Returns "cosine"; Chroma's own default is the Euclidean distance."""
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        """Returns all spaces."""
        return ["cosine", "l2", "ip"]

    def get_config(self) -> dict[str, Any]:
        """Returns the name of the model."""
        return {"model": _adapters.saved_name(self.model)}

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> "AoeEmbeddingFunction":
        """Opens the model of a configuration."""
        return AoeEmbeddingFunction(config.get("model"))

    @staticmethod
    def validate_config(config: dict[str, Any]) -> None:
        """Raises ValueError for unknown keys."""
        unknown = [key for key in config if key != "model"]
        if unknown:
            raise ValueError(f"the embedding function aoe has no option {unknown[0]!r}")

    def validate_config_update(self, old_config: dict[str, Any], new_config: dict[str, Any]) -> None:
        """Accepts every update: the directory of a model may move."""


__all__ = ["AoeEmbeddingFunction"]
