# SPDX-License-Identifier: MIT
"""MTEB 2: an encoder, a cross-encoder, and a search engine over an index of this package.

    from aoe.mteb import AoeCrossEncoder, AoeEncoder, AoeSearch
    result = mteb.evaluate(AoeEncoder(), mteb.get_tasks(["STSBenchmark"]))
"""
from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _adapters
from ._model import _check_device, check_unsupported
from .index import MODES, Index, Mode
from .sentence_transformer import SentenceTransformer

try:
    import torch
    from mteb._create_dataloaders import create_dataloader
    from mteb.models.abs_encoder import get_prompt_name
    from mteb.models.model_meta import ModelMeta, ScoringFunction
    from mteb.types import PromptType
except ImportError:
    raise _adapters.missing("mteb", "aoe.mteb") from None

ENCODE_OPTIONS = ("batch_size", "show_progress_bar", "precision")
SIDES = ("query", "document", "passage", "corpus")  # prompts that encode_query and encode_document choose


def _meta(model: Any, kind: str, loader: Any) -> Any:
    name = _adapters.name_of(model)
    if not name or os.path.exists(name) or "/" not in name:  # MTEB needs a name of the form ORGANIZATION/NAME
        name = "aoe/" + os.path.basename(os.path.normpath(name or str(model.directory)))
    fields: dict[str, Any] = {"name": name, "revision": "local", "loader": loader, "model_type": [kind],
                              "max_tokens": model.max_seq_length}
    if isinstance(model, SentenceTransformer):
        fields["embed_dim"] = model.get_embedding_dimension()
        fields["use_instructions"] = any(model.prompts.values())
        fields["similarity_fn_name"] = ScoringFunction(model.similarity_fn_name)
    return ModelMeta.create_empty(overwrites=fields)


def _texts(inputs: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the texts of batches; a DataLoader of MTEB yields {"text": [n]}."""
    texts: list[str] = []
    for batch in inputs:
        if "text" not in batch:
            raise NotImplementedError(f"aoe computes texts only, but a batch of the task has {', '.join(batch)}")
        texts.extend(batch["text"])
    return texts


def _checked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options for `encode`. Raises NotImplementedError for those that would change the result."""
    check_unsupported(**{key: value for key, value in options.items() if key not in ENCODE_OPTIONS})
    return {key: value for key, value in options.items() if key in ENCODE_OPTIONS}


class AoeEncoder:
    """The EncoderProtocol of MTEB.

    model_name: a SentenceTransformer, a name, or None for the default model; options: arguments of
    SentenceTransformer. Prompts are chosen as in MTEB: the prompt of the model for the task, then for the type of the
    task, then for queries or documents."""

    def __init__(self, model_name: Any = None, revision: str | None = None, *, device: str | None = None,
                 **options: Any) -> None:
        _check_device(device)
        if revision is not None:
            options["revision"] = revision
        self.model = _adapters.embedder(model_name, options)
        self._meta = _meta(self.model, "dense", AoeEncoder)

    @property
    def mteb_model_meta(self) -> Any:
        """Metadata of the model."""
        return self._meta

    def encode(self, inputs: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, prompt_type: Any = None,
               **options: Any) -> Any:
        """Returns the embeddings [n, D] of the texts of a DataLoader."""
        texts, options = _texts(inputs), _checked(options)
        prompts = {name: text for name, text in self.model.prompts.items() if name not in SIDES}
        name = get_prompt_name(prompts, task_metadata, prompt_type)
        if name is not None:
            return self.model.encode(texts, prompt_name=name, **options)
        if prompt_type == PromptType.query:
            return self.model.encode_query(texts, **options)
        if prompt_type == PromptType.document:
            return self.model.encode_document(texts, **options)
        return self.model.encode(texts, **options)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Returns a tensor [n, m] with the similarities of all pairs."""
        return torch.from_numpy(np.ascontiguousarray(self.model.similarity(embeddings1, embeddings2)))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Any:
        """Returns a tensor [n] with the similarities of rows."""
        return torch.from_numpy(np.ascontiguousarray(self.model.similarity_pairwise(embeddings1, embeddings2)))


class AoeCrossEncoder:
    """The CrossEncoderProtocol of MTEB. model_name: a CrossEncoder or a name; options: arguments of CrossEncoder."""

    def __init__(self, model_name: Any, revision: str | None = None, device: str | None = None,
                 **options: Any) -> None:
        _check_device(device)
        if revision is not None:
            options["revision"] = revision
        self.model = _adapters.ranker(model_name, options)
        self._meta = _meta(self.model, "cross-encoder", AoeCrossEncoder)

    @property
    def mteb_model_meta(self) -> Any:
        """Metadata of the model."""
        return self._meta

    def predict(self, inputs1: Any, inputs2: Any, *, task_metadata: Any, hf_split: str, hf_subset: str,
                prompt_type: Any = None, **options: Any) -> Any:
        """Returns the scores [n] of the pairs of two DataLoaders."""
        options = _checked(options)
        if options.pop("precision", "float32") != "float32":
            raise NotImplementedError("precision belongs to embeddings, not to scores")
        return self.model.predict(list(zip(_texts(inputs1), _texts(inputs2), strict=True)), **options)


class AoeSearch:
    """The SearchProtocol of MTEB over an aoe.Index, which measures what users of `aoe search` get.

    mode: "hybrid", "dense" or "lexical". The score of a document is that of its best passage. directory: where the
    index is created; None: a temporary directory."""

    def __init__(self, model_name: Any = None, revision: str | None = None, *, mode: Mode = "hybrid",
                 directory: str | os.PathLike[str] | None = None, device: str | None = None, **options: Any) -> None:
        _check_device(device)
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        if revision is not None:
            options["revision"] = revision
        self.model = _adapters.embedder(model_name, options)
        self.mode: Mode = mode
        self._directory, self._temporary, self._index = directory, None, None  # type: Any, Any, Index | None
        meta = _meta(self.model, "dense", AoeSearch)
        self._meta = meta.model_copy(update={"name": f"{meta.name}-{mode}"})

    @property
    def mteb_model_meta(self) -> Any:
        """Metadata of the model; the name ends with the mode."""
        return self._meta

    def index(self, corpus: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, encode_kwargs: Any = None,
              num_proc: int | None = None, **options: Any) -> None:
        """Indexes a corpus with the columns id, text and perhaps title."""
        _checked(encode_kwargs or {})
        self.close()
        self._temporary = tempfile.TemporaryDirectory(prefix="aoe-mteb-", dir=self._directory)
        texts = self._texts(corpus, PromptType.document, task_metadata, num_proc)
        self._index = Index(os.path.join(self._temporary.name, "index"), self.model)
        self._index.add([{"id": str(i), "text": text, "kind": "text"} for i, text in zip(corpus["id"], texts)])

    def search(self, queries: Any, *, task_metadata: Any, hf_split: str, hf_subset: str, top_k: int,
               encode_kwargs: Any = None, top_ranked: Any = None, num_proc: int | None = None,
               **options: Any) -> dict[str, dict[str, float]]:
        """Returns the scores of the best top_k documents of each query, by ids. top_ranked: documents to order, for
        each query; others are left out."""
        if self._index is None:
            raise ValueError("call index before search")
        texts = self._texts(queries, PromptType.query, task_metadata, num_proc)
        found: dict[str, dict[str, float]] = {}
        for name, text in zip(queries["id"], texts):
            allowed = None if top_ranked is None else {str(i) for i in top_ranked.get(name, [])}
            found[name] = self._best(text, top_k, allowed)
        return found

    def _best(self, text: str, top_k: int, allowed: set[str] | None) -> dict[str, float]:
        """Searches for more passages until they belong to enough documents."""
        assert self._index is not None
        wanted = top_k if allowed is None else min(top_k, len(allowed))
        k = max(2 * wanted, 1) if allowed is None else max(int(self._index.stats()["passages"]), 1)
        while True:
            hits, scores = self._index.search(text, k=k, mode=self.mode), {}  # type: Any, dict[str, float]
            for hit in hits:  # best first
                if (allowed is None or hit.id in allowed) and len(scores) < wanted:
                    scores.setdefault(hit.id, hit.score)
            if len(scores) >= wanted or len(hits) < k:
                return scores
            k *= 2

    @staticmethod
    def _texts(rows: Any, side: Any, task_metadata: Any, num_proc: int | None) -> list[str]:
        return _texts(create_dataloader(rows, task_metadata=task_metadata, prompt_type=side, num_proc=num_proc,
                                        batch_size=1024))

    def close(self) -> None:
        """Closes and removes the index."""
        if self._index is not None:
            self._index.close()
            self._index = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None


__all__ = ["AoeCrossEncoder", "AoeEncoder", "AoeSearch"]
