# SPDX-License-Identifier: MIT
"""BERTopic: a backend for embeddings.

    from aoe.bertopic import AoeBackend
    topics, probabilities = BERTopic(embedding_model=AoeBackend()).fit_transform(texts)
"""
from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _adapters

try:
    from bertopic.backend import BaseEmbedder
except ImportError:
    raise _adapters.missing("bertopic", "aoe.bertopic") from None


class AoeBackend(BaseEmbedder):  # type: ignore[misc, unused-ignore]
    """Embeds documents and words, with the prompt of the model for documents.

    model: a SentenceTransformer, a name, or None for the default model; options: arguments of SentenceTransformer."""

    def __init__(self, model: Any = None, **options: Any) -> None:
        super().__init__(embedding_model=_adapters.embedder(model, options))

    def embed(self, documents: Any, verbose: bool = False) -> NDArray[np.float32]:
        """Returns the embeddings [n, D] of documents or words."""
        return np.asarray(self.embedding_model.encode_document(list(documents), show_progress_bar=verbose), np.float32)


__all__ = ["AoeBackend"]
