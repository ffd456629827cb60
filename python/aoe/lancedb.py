# SPDX-License-Identifier: MIT
"""LanceDB: an embedding function, which is stored in the schema of a table by its name and options.

    import aoe.lancedb                                       # registers "aoe"
    function = lancedb.embeddings.get_registry().get("aoe").create()
    class Note(lancedb.pydantic.LanceModel):
        text: str = function.SourceField()
        vector: lancedb.pydantic.Vector(function.ndims()) = function.VectorField()
"""
from __future__ import annotations

from typing import Any

from . import _adapters
from .sentence_transformer import SentenceTransformer

try:
    from lancedb.embeddings import TextEmbeddingFunction, register
    from pydantic import PrivateAttr
except ImportError:
    raise _adapters.missing("lancedb", "aoe.lancedb") from None


@register("aoe")
class AoeEmbeddingFunction(TextEmbeddingFunction):
    """Embeddings with the prompts of the model for queries and documents.

    model: the name of a model, or None for the default model. max_retries is 0, because a repetition of a failed
    computation fails again."""

    model: str | None = None
    max_retries: int = 0
    _opened: Any = PrivateAttr(default=None)

    def _model(self) -> SentenceTransformer:
        if self._opened is None:
            self._opened = SentenceTransformer(self.model)
        opened: SentenceTransformer = self._opened
        return opened

    def ndims(self) -> int:
        """Returns the number of components of a vector."""
        return self._model().get_embedding_dimension()

    def generate_embeddings(self, texts: Any, *arguments: Any, **keywords: Any) -> list[Any]:
        """Returns the embeddings of documents; None for None."""
        known = [text for text in texts if text is not None]
        vectors = iter(_adapters.documents(self._model(), known))
        return [None if text is None else next(vectors) for text in texts]

    def compute_query_embeddings(self, query: Any, *arguments: Any, **keywords: Any) -> list[Any]:
        """Returns the embeddings of a query, or of several queries."""
        return [_adapters.query(self._model(), text) for text in self.sanitize_input(query)]


__all__ = ["AoeEmbeddingFunction"]
