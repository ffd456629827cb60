# SPDX-License-Identifier: MIT
"""LangChain: embeddings, a reranker, and a retriever over an index of this package.

    from aoe.langchain import AoeEmbeddings, AoeRetriever, AoeReranker
    store = InMemoryVectorStore(AoeEmbeddings())
    retriever = AoeRetriever(index=aoe.Index("notes.index"), k=5)
    reranker = AoeReranker(model="cross-encoder/ms-marco-MiniLM-L6-v2", top_n=3)
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _adapters
from ._documents import Hit
from .index import Index

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun, Callbacks
    from langchain_core.documents import BaseDocumentCompressor, Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from pydantic import ConfigDict, PrivateAttr
except ImportError:
    raise _adapters.missing("langchain-core", "aoe.langchain") from None


class AoeEmbeddings(Embeddings):
    """Embeddings with the prompts of the model for queries and documents.

    model: a SentenceTransformer, a name, or None for the default model; options: arguments of SentenceTransformer."""

    def __init__(self, model: Any = None, **options: Any) -> None:
        self.model = _adapters.embedder(model, options)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Returns the embeddings [n][D] of documents."""
        return _adapters.documents(self.model, texts)

    def embed_query(self, text: str) -> list[float]:
        """Returns the embedding [D] of a query."""
        return _adapters.query(self.model, text)


class AoeReranker(BaseDocumentCompressor):
    """Orders documents by the score of a cross-encoder with the query, and keeps the best top_n (None: all).

    model: a CrossEncoder or a name. The metadata of the returned copies contain "relevance_score"."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    model: Any
    top_n: int | None = 3
    _ranker: Any = PrivateAttr()

    def model_post_init(self, context: Any) -> None:
        if self.top_n is not None and self.top_n < 1:
            raise ValueError(f"top_n must be positive, not {self.top_n}")
        self._ranker = _adapters.ranker(self.model, {})

    def compress_documents(self, documents: Sequence[Document], query: str,
                           callbacks: Callbacks | None = None) -> Sequence[Document]:
        """Returns the best documents, best first."""
        ranks = self._ranker.rank(query, [d.page_content for d in documents], top_k=self.top_n,
                                  show_progress_bar=False)
        found = []
        for rank in ranks:
            document = documents[rank["corpus_id"]]
            metadata = {**document.metadata, "relevance_score": rank["score"]}
            found.append(Document(page_content=document.page_content, metadata=metadata, id=document.id))
        return found


def _document(hit: Hit) -> Document:
    metadata = {**hit.metadata, "source": hit.path or hit.id, "score": hit.score}
    if hit.heading:
        metadata["heading"] = hit.heading
    if hit.line is not None:
        metadata["line"] = hit.line
    return Document(id=hit.passage, page_content=hit.text, metadata=metadata)


class AoeRetriever(BaseRetriever):
    """Searches an index. k, mode, where, min_score and path are those of aoe.Index.search, and `invoke` also accepts
    them as keyword arguments. The metadata of a document contain those of the index, and source, score, heading and
    line."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")
    index: Index
    k: int = 10
    mode: str = "hybrid"
    where: Any = None
    min_score: float | None = None
    path: Any = None

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun,
                                **options: Any) -> list[Document]:
        arguments: dict[str, Any] = {"k": self.k, "mode": self.mode, "where": self.where,
                                     "min_score": self.min_score, "path": self.path, **options}
        return [_document(hit) for hit in self.index.search(query, **arguments)]


__all__ = ["AoeEmbeddings", "AoeReranker", "AoeRetriever"]
