# SPDX-License-Identifier: MIT
"""LlamaIndex: an embedding model, and a postprocessor that reranks nodes with a cross-encoder.

    from aoe.llama_index import AoeEmbedding, AoeRerank
    index = VectorStoreIndex.from_documents(documents, embed_model=AoeEmbedding())
    nodes = index.as_retriever(similarity_top_k=10).retrieve("preparing food")
"""
from __future__ import annotations

import asyncio
from typing import Any

from . import _adapters

try:
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.bridge.pydantic import Field, PrivateAttr
    from llama_index.core.postprocessor.types import BaseNodePostprocessor
    from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle
except ImportError:
    raise _adapters.missing("llama-index-core", "aoe.llama_index") from None


class AoeEmbedding(BaseEmbedding):  # type: ignore[misc, unused-ignore]
    """Embeddings with the prompts of the model for queries and texts.

    model: a SentenceTransformer, a name, or None for the default model; options: fields of BaseEmbedding, such as
    embeddings_cache. The vectors do not depend on embed_batch_size."""

    _model: Any = PrivateAttr()

    def __init__(self, model: Any = None, **options: Any) -> None:
        opened = _adapters.embedder(model, {})
        options.setdefault("model_name", _adapters.name_of(opened) or "aoe")
        super().__init__(**options)
        self._model = opened

    @classmethod
    def class_name(cls) -> str:
        """Returns the name of the class in records of LlamaIndex."""
        return "AoeEmbedding"

    def _get_query_embedding(self, query: str) -> list[float]:
        return _adapters.query(self._model, query)

    def _get_text_embedding(self, text: str) -> list[float]:
        return _adapters.documents(self._model, [text])[0]

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return _adapters.documents(self._model, texts)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        return await asyncio.to_thread(self._get_query_embedding, query)

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return await asyncio.to_thread(self._get_text_embedding, text)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return await asyncio.to_thread(self._get_text_embeddings, texts)


class AoeRerank(BaseNodePostprocessor):  # type: ignore[misc, unused-ignore]
    """Orders nodes by the score of a cross-encoder with the query, and keeps the best top_n.

    model: a CrossEncoder or a name. keep_retrieval_score: the metadata of a node then contain its former score as
    "retrieval_score"."""

    top_n: int = Field(default=3, gt=0)
    keep_retrieval_score: bool = False
    _ranker: Any = PrivateAttr()

    def __init__(self, model: Any, top_n: int = 3, keep_retrieval_score: bool = False, **options: Any) -> None:
        opened = _adapters.ranker(model, {})
        super().__init__(top_n=top_n, keep_retrieval_score=keep_retrieval_score, **options)
        self._ranker = opened

    @classmethod
    def class_name(cls) -> str:
        """Returns the name of the class in records of LlamaIndex."""
        return "AoeRerank"

    def _postprocess_nodes(self, nodes: list[NodeWithScore],
                           query_bundle: QueryBundle | None = None) -> list[NodeWithScore]:
        if query_bundle is None:
            raise ValueError("a reranker needs a query; pass query_str or query_bundle")
        texts = [node.node.get_content(metadata_mode=MetadataMode.EMBED) for node in nodes]
        found = []
        for rank in self._ranker.rank(query_bundle.query_str, texts, top_k=self.top_n, show_progress_bar=False):
            node = nodes[rank["corpus_id"]]
            if self.keep_retrieval_score:
                node.node.metadata["retrieval_score"] = node.score
            found.append(NodeWithScore(node=node.node, score=rank["score"]))
        return found


__all__ = ["AoeEmbedding", "AoeRerank"]
