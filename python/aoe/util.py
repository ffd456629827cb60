# SPDX-License-Identifier: MIT
"""Similarities of embeddings, search among them, and groups of similar texts, with the interface of
sentence_transformers.util. All functions accept numpy arrays, lists and tensors, and return numpy arrays or lists."""
from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _context, _inputs, _native

Array = NDArray[np.float32]


def _matrix(embeddings: Any) -> Array:
    """Returns embeddings as a float32 matrix [n, D]; one embedding becomes a matrix of one row."""
    if hasattr(embeddings, "detach"):  # a tensor of PyTorch
        embeddings = embeddings.detach().cpu().numpy()
    array = np.asarray(embeddings)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"embeddings must be numbers, not {array.dtype}")
    array = np.ascontiguousarray(array, np.float32)
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2:
        raise ValueError(f"embeddings must have one or two dimensions, not {array.ndim}")
    return array


def _same_size(a: Any, b: Any) -> tuple[Array, Array]:
    x, y = _matrix(a), _matrix(b)
    if x.shape[1] != y.shape[1]:
        raise ValueError(f"the embeddings have {x.shape[1]} and {y.shape[1]} components")
    return x, y


def normalize_embeddings(embeddings: Any) -> Array:
    """Scales embeddings[n, D] to unit length; zero vectors remain zero."""
    x = _matrix(embeddings)
    norms = np.sqrt(np.einsum("ij,ij->i", x, x, dtype=np.float64))
    return np.asarray(x / np.maximum(norms, 1e-12)[:, None].astype(np.float32), np.float32)


def cos_sim(a: Any, b: Any) -> Array:
    """Returns the cosines [n, m] of the rows of a[n, D] and b[m, D]."""
    x, y = _same_size(a, b)
    return np.asarray(normalize_embeddings(x) @ normalize_embeddings(y).T, np.float32)


def dot_score(a: Any, b: Any) -> Array:
    """Returns the dot products [n, m] of the rows of a[n, D] and b[m, D]."""
    x, y = _same_size(a, b)
    return np.asarray(x @ y.T, np.float32)


def euclidean_sim(a: Any, b: Any) -> Array:
    """Returns the negative Euclidean distances [n, m] of the rows of a[n, D] and b[m, D]."""
    x, y = _same_size(a, b)
    return np.stack([-np.linalg.norm(y - row, axis=1) for row in x]) if len(x) else np.empty((0, len(y)), np.float32)


def manhattan_sim(a: Any, b: Any) -> Array:
    """Returns the negative sums of absolute differences [n, m] of the rows of a[n, D] and b[m, D]."""
    x, y = _same_size(a, b)
    return np.stack([-np.abs(y - row).sum(1) for row in x]) if len(x) else np.empty((0, len(y)), np.float32)


def _rows(a: Any, b: Any) -> tuple[Array, Array]:
    x, y = _same_size(a, b)
    if len(x) != len(y):
        raise ValueError(f"there are {len(x)} and {len(y)} embeddings; pairs need equal numbers")
    return x, y


def pairwise_cos_sim(a: Any, b: Any) -> Array:
    """Returns the cosines [n] of the rows of a[n, D] and b[n, D]."""
    x, y = _rows(a, b)
    return np.asarray(np.einsum("ij,ij->i", normalize_embeddings(x), normalize_embeddings(y)), np.float32)


def pairwise_dot_score(a: Any, b: Any) -> Array:
    """Returns the dot products [n] of the rows of a[n, D] and b[n, D]."""
    return np.asarray(np.einsum("ij,ij->i", *_rows(a, b)), np.float32)


def pairwise_euclidean_sim(a: Any, b: Any) -> Array:
    """Returns the negative Euclidean distances [n] of the rows of a[n, D] and b[n, D]."""
    x, y = _rows(a, b)
    return np.asarray(-np.linalg.norm(x - y, axis=1), np.float32)


def pairwise_manhattan_sim(a: Any, b: Any) -> Array:
    """Returns the negative sums of absolute differences [n] of the rows of a[n, D] and b[n, D]."""
    x, y = _rows(a, b)
    return np.asarray(-np.abs(x - y).sum(1), np.float32)


ALL_PAIRS: dict[str, Callable[[Any, Any], Array]] = {
    "cosine": cos_sim, "dot": dot_score, "euclidean": euclidean_sim, "manhattan": manhattan_sim}
PAIRWISE: dict[str, Callable[[Any, Any], Array]] = {
    "cosine": pairwise_cos_sim, "dot": pairwise_dot_score, "euclidean": pairwise_euclidean_sim,
    "manhattan": pairwise_manhattan_sim}


def quantize_embeddings(embeddings: Any, precision: str, ranges: Any = None,
                        calibration_embeddings: Any = None) -> NDArray[Any]:
    """Quantizes embeddings[n, D] to "int8", "uint8", "binary" or "ubinary".

    int8 and uint8 divide the range of each component into 255 steps. ranges[2, D]: smallest and largest values;
    calibration_embeddings[m, D]: embeddings from which the ranges are taken; neither: those of `embeddings`."""
    if ranges is None and calibration_embeddings is not None:
        c = _matrix(calibration_embeddings)
        ranges = np.stack([c.min(0), c.max(0)])
    return _inputs.quantize(_matrix(embeddings), precision, ranges)


# ---------------------------------------------------------------- search


def _nearest(queries: Array, vectors: Array, k: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns the rows [n, k] and the cosines [n, k] of the nearest vectors, best first. The search is exact."""
    k = min(k, len(vectors))
    kind = np.dtype([("index", np.uint64), ("score", np.float64)])
    found = np.empty((len(queries), k), kind)
    if found.size:
        interface = _native.interface()
        floats, neighbors = interface.type("const float *"), interface.type("aoe_neighbor *")
        _native.check(_native.load().aoe_nearest, _context.context().handle, queries.ctypes.data_as(floats),
                      len(queries), vectors.ctypes.data_as(floats), len(vectors), vectors.shape[1], k,
                      found.ctypes.data_as(neighbors))
    return found["index"].astype(np.int64), found["score"]


def _best(queries: Array, vectors: Array, k: int, score_function: Callable[[Any, Any], Any],
          query_chunk_size: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """_nearest for any score function. Equal scores are ordered by the row."""
    if score_function is cos_sim:
        return _nearest(queries, vectors, k)
    k = min(k, len(vectors))
    rows, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k), np.float64)
    for begin in range(0, len(queries), query_chunk_size):
        block = _matrix(score_function(queries[begin:begin + query_chunk_size], vectors))
        order = np.argsort(-block, axis=1, kind="stable")[:, :k]
        rows[begin:begin + len(block)] = order
        scores[begin:begin + len(block)] = np.take_along_axis(block, order, 1)
    return rows, scores


def semantic_search(query_embeddings: Any, corpus_embeddings: Any, query_chunk_size: int = 100,
                    corpus_chunk_size: int = 500000, top_k: int = 10,
                    score_function: Callable[[Any, Any], Any] = cos_sim) -> list[list[dict[str, Any]]]:
    """Finds the best embeddings of a corpus for each query, by exact search.

    Returns one list per query, best first, of {"corpus_id": row, "score": similarity}. Equal scores are ordered by the
    row. corpus_chunk_size is accepted for compatibility and has no effect."""
    del corpus_chunk_size
    queries, vectors = _same_size(query_embeddings, corpus_embeddings)
    if top_k < 1:
        raise ValueError(f"top_k must be positive, not {top_k}")
    rows, scores = _best(queries, vectors, top_k, score_function, query_chunk_size)
    return [[{"corpus_id": i, "score": s} for i, s in zip(r, t)] for r, t in zip(rows.tolist(), scores.tolist())]


def paraphrase_mining(model: Any, sentences: list[str], show_progress_bar: bool = False, batch_size: int = 32,
                      query_chunk_size: int = 5000, corpus_chunk_size: int = 100000, max_pairs: int = 500000,
                      top_k: int = 100, score_function: Callable[[Any, Any], Any] = cos_sim,
                      truncate_dim: int | None = None, prompt_name: str | None = None,
                      prompt: str | None = None) -> list[list[float | int]]:
    """Finds the most similar pairs of texts. Returns lists [score, i, j] with i < j, best first."""
    vectors = model.encode(sentences, show_progress_bar=show_progress_bar, batch_size=batch_size,
                           truncate_dim=truncate_dim, prompt_name=prompt_name, prompt=prompt)
    return paraphrase_mining_embeddings(vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k,
                                        score_function)


def paraphrase_mining_embeddings(embeddings: Any, query_chunk_size: int = 5000, corpus_chunk_size: int = 100000,
                                 max_pairs: int = 500000, top_k: int = 100,
                                 score_function: Callable[[Any, Any], Any] = cos_sim) -> list[list[float | int]]:
    """paraphrase_mining for embeddings[n, D]. Each text is compared with its top_k most similar texts."""
    del corpus_chunk_size
    vectors = _matrix(embeddings)
    n = len(vectors)
    if n < 2:
        return []
    rows, scores = _best(vectors, vectors, top_k + 1, score_function, query_chunk_size)
    own = rows == np.arange(n)[:, None]
    own[~own.any(1), -1] = True  # a text that is not among its own neighbors has top_k others
    i = np.repeat(np.arange(n), rows.shape[1] - 1)
    j, score = rows[~own], scores[~own]
    low, high = np.minimum(i, j), np.maximum(i, j)
    _, first = np.unique(low * n + high, return_index=True)
    order = first[np.lexsort((high[first], low[first], -score[first]))][:max_pairs]
    return [[s, a, b] for s, a, b in zip(score[order].tolist(), low[order].tolist(), high[order].tolist())]


def community_detection(embeddings: Any, threshold: float = 0.75, min_community_size: int = 10, batch_size: int = 1024,
                        show_progress_bar: bool = False) -> list[list[int]]:
    """Finds groups of embeddings whose cosine with a central embedding is at least `threshold`.

    Returns lists of at least min_community_size rows, the largest group first. The first row of a group is its center,
    and no row is in two groups."""
    vectors = normalize_embeddings(embeddings) if len(embeddings) else np.empty((0, 1), np.float32)
    n = len(vectors)
    bar = _inputs.progress_bar(show_progress_bar, n, "Finding groups")
    groups: list[tuple[int, NDArray[np.int64]]] = []
    for begin in range(0, n, batch_size):
        block = vectors[begin:begin + batch_size] @ vectors.T
        for i in np.flatnonzero((block >= threshold).sum(1) >= min_community_size):
            near = np.flatnonzero(block[i] >= threshold)
            groups.append((begin + int(i), near[np.argsort(-block[i][near], kind="stable")]))
        if bar is not None:
            bar.update(len(block))
    if bar is not None:
        bar.close()
    groups.sort(key=lambda group: len(group[1]), reverse=True)
    used, found = np.zeros(n, bool), []
    for center, near in groups:
        free = near[~used[near]]
        if not used[center] and len(free) >= min_community_size:
            found.append([center] + free[free != center].tolist())
            used[found[-1]] = True
    return sorted(found, key=len, reverse=True)
