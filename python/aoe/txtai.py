# SPDX-License-Identifier: MIT
"""txtai: the configuration of an Embeddings database whose vectors this package computes.

    from aoe.txtai import config
    embeddings = txtai.Embeddings(config(content=True))
    embeddings.index(["She cooks rice.", "The train is late."])
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _adapters


def transform(model: Any = None, **options: Any) -> Callable[[Any], NDArray[np.float32]]:
    """Returns a function from texts to vectors [n, D], without a prompt, for the key "transform" of txtai.

    model: a SentenceTransformer, a name, or None for the default model. txtai accepts only plain functions here: it
    calls other objects without arguments."""
    opened = _adapters.embedder(model, options)

    def encode(texts: Any) -> NDArray[np.float32]:
        return np.asarray(opened.encode(list(texts), prompt="", show_progress_bar=False), np.float32)

    return encode


def config(model: Any = None, **options: Any) -> dict[str, Any]:
    """Returns a configuration for txtai.Embeddings with the model and its prompts for queries and documents. options:
    other keys, such as content=True. txtai does not save functions: a database is loaded with
    `Embeddings().load(path, config=config(...))`."""
    opened = _adapters.embedder(model, {})
    names = ("document", "passage", "corpus")
    document = next((opened.prompts[name] for name in names if opened.prompts.get(name)), "")
    prompts = {"query": opened.prompts.get("query", ""), "data": document}
    for kind, prompt in prompts.items():
        if "{text}" in prompt:
            raise NotImplementedError(f"the prompt of the model for {kind} has words after the text, which txtai "
                                      "cannot add")
    values: dict[str, Any] = {"method": "external", "transform": transform(opened), **options}
    if any(prompts.values()):
        values["instructions"] = prompts
    return values


__all__ = ["config", "transform"]
