# SPDX-License-Identifier: MIT
"""Haystack: components that embed queries and documents, and a ranker.

    from aoe.haystack import AoeDocumentEmbedder, AoeTextEmbedder
    store.write_documents(AoeDocumentEmbedder().run(documents)["documents"])
    pipeline.add_component("embedder", AoeTextEmbedder())     # its output "embedding" belongs to a retriever
"""
from __future__ import annotations

from dataclasses import replace
from typing import Any

from . import _adapters

try:
    from haystack import Document, component, default_from_dict, default_to_dict
except ImportError:
    raise _adapters.missing("haystack-ai", "aoe.haystack") from None


@component
class AoeTextEmbedder:
    """Embeds a query, with the prompt of the model for queries.

    model: a SentenceTransformer, a name, or None for the default model."""

    def __init__(self, model: Any = None) -> None:
        self._model = _adapters.embedder(model, {})

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, Any]:
        """Returns {"embedding": [D]}."""
        return {"embedding": _adapters.query(self._model, text)}

    def to_dict(self) -> dict[str, Any]:
        """Returns the configuration, which contains the name of the model."""
        values: dict[str, Any] = default_to_dict(self, model=_adapters.saved_name(self._model))
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AoeTextEmbedder":
        """Creates the component from its configuration."""
        created: AoeTextEmbedder = default_from_dict(cls, data)
        return created


@component
class AoeDocumentEmbedder:
    """Embeds documents, with the prompt of the model for documents.

    meta_fields_to_embed: metadata that precede the content, with embedding_separator between them."""

    def __init__(self, model: Any = None, meta_fields_to_embed: list[str] | None = None,
                 embedding_separator: str = "\n") -> None:
        self._model = _adapters.embedder(model, {})
        self.meta_fields_to_embed = list(meta_fields_to_embed or [])
        self.embedding_separator = embedding_separator

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, Any]:
        """Returns {"documents": copies of the documents with their embeddings}."""
        if not isinstance(documents, list) or any(not isinstance(d, Document) for d in documents):
            raise TypeError("documents must be a list of Document; for a string use AoeTextEmbedder")
        texts = []
        for document in documents:
            values = [document.meta.get(key) for key in self.meta_fields_to_embed]
            texts.append(self.embedding_separator.join([str(v) for v in values if v is not None] +
                                                       [document.content or ""]))
        vectors = _adapters.documents(self._model, texts)
        return {"documents": [replace(d, embedding=v) for d, v in zip(documents, vectors)]}

    def to_dict(self) -> dict[str, Any]:
        """Returns the configuration, which contains the name of the model."""
        values: dict[str, Any] = default_to_dict(self, model=_adapters.saved_name(self._model),
                                                 meta_fields_to_embed=self.meta_fields_to_embed,
                                                 embedding_separator=self.embedding_separator)
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AoeDocumentEmbedder":
        """Creates the component from its configuration."""
        created: AoeDocumentEmbedder = default_from_dict(cls, data)
        return created


@component
class AoeRanker:
    """Orders documents by the score of a cross-encoder with the query, and keeps the best top_k (None: all).

    model: a CrossEncoder or a name."""

    def __init__(self, model: Any, top_k: int | None = 10) -> None:
        if top_k is not None and top_k < 1:
            raise ValueError(f"top_k must be positive, not {top_k}")
        self._model = _adapters.ranker(model, {})
        self.top_k = top_k

    @component.output_types(documents=list[Document])
    def run(self, query: str, documents: list[Document], top_k: int | None = None) -> dict[str, Any]:
        """Returns {"documents": copies of the best documents with their scores, best first}."""
        if top_k is not None and top_k < 1:
            raise ValueError(f"top_k must be positive, not {top_k}")
        ranks = self._model.rank(query, [d.content or "" for d in documents], top_k=top_k or self.top_k,
                                 show_progress_bar=False)
        return {"documents": [replace(documents[r["corpus_id"]], score=r["score"]) for r in ranks]}

    def to_dict(self) -> dict[str, Any]:
        """Returns the configuration, which contains the name of the model."""
        values: dict[str, Any] = default_to_dict(self, model=_adapters.saved_name(self._model), top_k=self.top_k)
        return values

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "AoeRanker":
        """Creates the component from its configuration."""
        created: AoeRanker = default_from_dict(cls, data)
        return created


__all__ = ["AoeDocumentEmbedder", "AoeRanker", "AoeTextEmbedder"]
