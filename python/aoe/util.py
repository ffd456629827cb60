# SPDX-License-Identifier: MIT
"""Similarities of embeddings, search among them, and groups of similar texts, with the interface of
sentence_transformers.util. All functions accept numpy arrays, lists and tensors, and return numpy arrays or lists."""
from __future__ import annotations

import ctypes
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _context, _inputs, _native

Array = NDArray[np.float32]
Floats = NDArray[Any]  # float32 or float64


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


def _floats(embeddings: Any) -> Floats:
    """Returns embeddings[D] or [n, D] as float64 if their type is float64 or an integer of at least 32 bits, and
    otherwise as float32."""
    if hasattr(embeddings, "detach"):  # a tensor of PyTorch
        embeddings = embeddings.detach().cpu()
        embeddings = (embeddings if str(embeddings.dtype) != "torch.bfloat16" else embeddings.float()).numpy()
    given, array = getattr(embeddings, "dtype", None), np.asarray(embeddings)
    if array.dtype.kind not in "fiub":
        raise TypeError(f"embeddings must be numbers, not {array.dtype}")
    if array.ndim not in (1, 2):
        raise ValueError(f"embeddings must have one or two dimensions, not {array.ndim}")
    if given is None and array.dtype.kind in "fi" and not _of_arrays(embeddings):
        return np.asarray(array, np.float32)  # numbers of Python
    return np.asarray(array, np.float64 if array.dtype.kind != "b" and array.dtype.itemsize > 4 or
                      array.dtype.kind in "iu" and array.dtype.itemsize > 2 else np.float32)


def _of_arrays(embeddings: Any) -> bool:
    return len(embeddings) > 0 and hasattr(embeddings[0], "dtype")


def _check_size(x: Floats, y: Floats) -> None:
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(f"the embeddings have {x.shape[-1]} and {y.shape[-1]} components")


def _same_size(a: Any, b: Any) -> tuple[Floats, Floats]:
    """Returns two matrices; one embedding becomes a matrix of one row."""
    x, y = np.atleast_2d(_floats(a)), np.atleast_2d(_floats(b))
    _check_size(x, y)
    return x, y


def normalize_embeddings(embeddings: Any) -> Floats:
    """Scales embeddings[n, D] or [D] to unit length; zero vectors remain zero."""
    x = _floats(embeddings)
    norms = np.sqrt(np.einsum("...j,...j->...", x, x, dtype=np.float64))
    return np.asarray(x / np.maximum(norms, 1e-12)[..., None].astype(x.dtype), x.dtype)


def cos_sim(a: Any, b: Any) -> Floats:
    """Returns the cosines [n, m] of the rows of a[n, D] and b[m, D]. As in all functions of similarity, the result is
    float64 if an argument is float64 or has integers of at least 32 bits, and otherwise float32."""
    x, y = _same_size(a, b)
    return np.asarray(normalize_embeddings(x) @ normalize_embeddings(y).T)


def dot_score(a: Any, b: Any) -> Floats:
    """Returns the dot products [n, m] of the rows of a[n, D] and b[m, D]."""
    x, y = _same_size(a, b)
    return np.asarray(x @ y.T)


def euclidean_sim(a: Any, b: Any) -> Floats:
    """Returns the negative Euclidean distances [n, m] of the rows of a[n, D] and b[m, D]."""
    x, y = _same_size(a, b)
    rows = [-np.linalg.norm(y - row, axis=1) for row in x]
    return np.stack(rows) if rows else np.empty((0, len(y)), np.result_type(x, y))


def manhattan_sim(a: Any, b: Any) -> Floats:
    """Returns the negative sums of absolute differences [n, m] of the rows of a[n, D] and b[m, D]."""
    x, y = _same_size(a, b)
    rows = [-np.abs(y - row).sum(1) for row in x]
    return np.stack(rows) if rows else np.empty((0, len(y)), np.result_type(x, y))


def _rows(a: Any, b: Any) -> tuple[Floats, Floats]:
    """Returns the arguments of a pairwise function, of which one or both may be a single embedding."""
    x, y = _floats(a), _floats(b)
    _check_size(x, y)
    if x.ndim == y.ndim == 2 and len(x) != len(y):
        raise ValueError(f"there are {len(x)} and {len(y)} embeddings; pairs need equal numbers")
    return x, y


def pairwise_cos_sim(a: Any, b: Any) -> Any:
    """Returns the cosines [n] of the rows of a[n, D] and b[n, D]. As in all pairwise functions, an embedding [D] is
    compared with each row of the other argument, and the result for two embeddings [D] is a number."""
    x, y = _rows(a, b)
    return np.einsum("...j,...j->...", normalize_embeddings(x), normalize_embeddings(y))[()]


def pairwise_dot_score(a: Any, b: Any) -> Any:
    """Returns the dot products [n] of the rows of a[n, D] and b[n, D]."""
    return np.einsum("...j,...j->...", *_rows(a, b))[()]


def pairwise_euclidean_sim(a: Any, b: Any) -> Any:
    """Returns the negative Euclidean distances [n] of the rows of a[n, D] and b[n, D]."""
    x, y = _rows(a, b)
    return -np.linalg.norm(x - y, axis=-1)


def pairwise_manhattan_sim(a: Any, b: Any) -> Any:
    """Returns the negative sums of absolute differences [n] of the rows of a[n, D] and b[n, D]."""
    x, y = _rows(a, b)
    return -np.abs(x - y).sum(-1)


ALL_PAIRS: dict[str, Callable[[Any, Any], Floats]] = {
    "cosine": cos_sim, "dot": dot_score, "euclidean": euclidean_sim, "manhattan": manhattan_sim}
PAIRWISE: dict[str, Callable[[Any, Any], Any]] = {
    "cosine": pairwise_cos_sim, "dot": pairwise_dot_score, "euclidean": pairwise_euclidean_sim,
    "manhattan": pairwise_manhattan_sim}


def quantize_embeddings(embeddings: Any, precision: str, ranges: Any = None,
                        calibration_embeddings: Any = None) -> Any:
    """Quantizes embeddings[n, D] or [D] to "int8", "uint8", "binary" or "ubinary"; n may be 0.

    int8 and uint8 divide the range of each component into 255 steps. ranges[2, D]: smallest and largest values;
    calibration_embeddings[m, D]: embeddings from which the ranges are taken; neither: those of `embeddings`. A list
    without embeddings remains an empty list, because D is unknown. Embeddings of type int8 or uint8, which are already
    quantized, raise TypeError."""
    if isinstance(embeddings, (list, tuple)) and not len(embeddings):
        if precision not in _inputs.PRECISIONS:
            raise ValueError(f"precision must be one of {', '.join(_inputs.PRECISIONS)}, not {precision!r}")
        return []
    kind = str(getattr(embeddings, "dtype", "")).split(".")[-1]
    if kind in ("int8", "uint8"):
        raise TypeError(f"embeddings of type {kind} are already quantized; pass floating-point embeddings")
    if hasattr(ranges, "detach"):
        ranges = ranges.detach().cpu().numpy()
    if ranges is None and calibration_embeddings is not None and precision in ("int8", "uint8"):
        c = _matrix(calibration_embeddings)
        if not len(c):
            raise ValueError("calibration_embeddings is empty; the ranges need at least one embedding")
        ranges = np.stack([c.min(0), c.max(0)])
    x = _floats(embeddings)
    codes = _inputs.quantize(np.asarray(np.atleast_2d(x), np.float32), precision, ranges)
    return codes if x.ndim == 2 else codes[0]


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


def _count(value: Any, what: str) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be an integer, not {value!r:.60}")
    if value < 0:
        raise ValueError(f"{what} must not be negative, but is {value}")
    return operator.index(value)


def semantic_search(query_embeddings: Any, corpus_embeddings: Any, query_chunk_size: int = 100,
                    corpus_chunk_size: int = 500000, top_k: int = 10,
                    score_function: Callable[[Any, Any], Any] = cos_sim) -> list[list[dict[str, Any]]]:
    """Finds the best embeddings of a corpus for each query, by exact search.

    Returns one list per query, best first, of {"corpus_id": row, "score": similarity}. Equal scores are ordered by the
    row. top_k=0 returns empty lists. corpus_chunk_size is accepted for compatibility and has no effect."""
    del corpus_chunk_size
    queries, vectors = _matrix(query_embeddings), _matrix(corpus_embeddings)
    _check_size(queries, vectors)
    query_chunk_size = _native.positive(query_chunk_size, "query_chunk_size")
    top_k = _count(top_k, "top_k")
    if top_k == 0:
        return [[] for _ in queries]
    rows, scores = _best(queries, vectors, top_k, score_function, query_chunk_size)
    return [[{"corpus_id": i, "score": s} for i, s in zip(r, t)] for r, t in zip(rows.tolist(), scores.tolist())]


def paraphrase_mining(model: Any, sentences: list[str], show_progress_bar: bool = False, batch_size: int = 32,
                      query_chunk_size: int = 5000, corpus_chunk_size: int = 100000, max_pairs: int = 500000,
                      top_k: int = 100, score_function: Callable[[Any, Any], Any] = cos_sim,
                      truncate_dim: int | None = None, prompt_name: str | None = None,
                      prompt: str | None = None) -> list[list[float | int]]:
    """Finds the most similar pairs of texts. Returns lists [score, i, j] with i < j, best first."""
    max_pairs, top_k = _count(max_pairs, "max_pairs"), _count(top_k, "top_k")  # before hours of computation
    query_chunk_size = _native.positive(query_chunk_size, "query_chunk_size")
    vectors = model.encode(sentences, show_progress_bar=show_progress_bar, batch_size=batch_size,
                           truncate_dim=truncate_dim, prompt_name=prompt_name, prompt=prompt)
    return paraphrase_mining_embeddings(vectors, query_chunk_size, corpus_chunk_size, max_pairs, top_k,
                                        score_function)


def paraphrase_mining_embeddings(embeddings: Any, query_chunk_size: int = 5000, corpus_chunk_size: int = 100000,
                                 max_pairs: int = 500000, top_k: int = 100,
                                 score_function: Callable[[Any, Any], Any] = cos_sim) -> list[list[float | int]]:
    """paraphrase_mining for embeddings[n, D]. Each text is compared with its top_k most similar texts."""
    del corpus_chunk_size
    max_pairs, top_k = _count(max_pairs, "max_pairs"), _count(top_k, "top_k")
    query_chunk_size = _native.positive(query_chunk_size, "query_chunk_size")
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
    if not isinstance(threshold, (int, float, np.number)) or threshold != threshold:
        raise ValueError(f"threshold must be a number, not {threshold!r:.60}")
    min_community_size = _count(min_community_size, "min_community_size")
    batch_size = _native.positive(batch_size, "batch_size")
    vectors = _matrix(normalize_embeddings(embeddings)) if len(embeddings) else np.empty((0, 1), np.float32)
    n = len(vectors)
    if not (finite := np.isfinite(vectors).all(1)).all():
        raise ValueError(f"embeddings[{int(np.argmin(finite))}] is not finite; remove it")
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
