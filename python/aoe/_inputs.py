# SPDX-License-Identifier: MIT
"""Converts Python's texts to the texts of the library, and its results to the types that callers expect."""
from __future__ import annotations

import ctypes
import importlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _native
from ._context import logger

PRECISIONS = ("float32", "int8", "uint8", "binary", "ubinary")


class Texts:
    """An array of aoe_text, which keeps its strings alive. `pointer` is its address. what: the name of a text in
    errors; begin: the index of texts[0] in the argument of a call, which errors then contain."""

    def __init__(self, texts: list[str], what: str = "text", begin: int | None = None,
                 argument: str = "inputs") -> None:
        parts = []
        for i, text in enumerate(texts):
            try:
                parts.append(_native.to_bytes(text, what))
            except (TypeError, ValueError) as error:
                if begin is None:
                    raise
                raise type(error)(f"{argument}[{begin + i}]: {error}") from None
        lengths = np.fromiter(map(len, parts), np.uint64, len(parts))
        self._bytes = b"".join(parts)
        base = ctypes.cast(ctypes.c_char_p(self._bytes), ctypes.c_void_p).value or 0
        self._array = np.empty((len(parts), 2), np.uint64)
        self._array[:, 1] = lengths
        self._array[:, 0] = base + np.concatenate(([0], np.cumsum(lengths)[:-1])).astype(np.uint64) if parts else 0
        self.pointer = self._array.ctypes.data_as(_native.interface().type("const aoe_text *"))

    def __len__(self) -> int:
        return len(self._array)


def as_list(inputs: Any, what: str = "inputs") -> list[Any]:
    """Returns a list of the elements of a list, tuple, array, column, set or generator."""
    if isinstance(inputs, Mapping) or hasattr(type(inputs), "columns"):  # iteration would give keys or column names
        raise TypeError(f"{what} must be a string or a collection of strings, not {type(inputs).__name__}; select the "
                        f"texts, for example with {what}[\"text\"] or list({what}.values())")
    if isinstance(inputs, np.ndarray) and not inputs.ndim:
        raise TypeError(f"{what} must be a string or a collection of strings, not an array without dimensions; pass "
                        f"{what}.item()")
    if isinstance(inputs, (str, bytes, bytearray)) or not isinstance(inputs, Iterable):
        raise TypeError(f"{what} must be a string or a collection of strings, not {type(inputs).__name__}")
    return inputs.tolist() if isinstance(inputs, np.ndarray) else list(inputs)


def check_texts(texts: list[Any], what: str = "inputs") -> None:
    """Raises TypeError for the first element that is no string, before anything is computed."""
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"{what}[{i}]: a text must be a string, not {type(text).__name__}")


def slices(sizes: list[int], limit: int) -> Iterator[tuple[int, int]]:
    """Divides elements of these sizes into consecutive slices of at most `limit`, or of one element."""
    begin = total = 0
    for i, size in enumerate(sizes):
        if i > begin and total + size > limit:
            yield begin, i
            begin, total = i, 0
        total += size
    if begin < len(sizes):
        yield begin, len(sizes)


def row_pointers(rows: np.ndarray) -> tuple[Any, Any]:
    """Returns an array of pointers to the rows of a float32 matrix, and the object that owns it."""
    pointers = rows.ctypes.data + np.arange(len(rows), dtype=np.uint64) * np.uint64(rows.strides[0])
    return pointers.ctypes.data_as(_native.interface().type("float * const *")), pointers


def quantize(vectors: np.ndarray, precision: str, ranges: np.ndarray | None = None) -> np.ndarray:
    """Quantizes vectors[n, D] as quantize_embeddings of sentence-transformers does. ranges[2, D]: the smallest and the
    largest value of each component, for int8 and uint8; None: those of `vectors`."""
    if precision not in PRECISIONS:
        raise ValueError(f"precision must be one of {', '.join(PRECISIONS)}, not {precision!r}")
    n, dims = vectors.shape
    if ranges is not None and np.shape(ranges) != (2, dims):
        raise ValueError(f"ranges must have the shape (2, {dims}), the smallest and the largest value of each "
                         f"component, not {np.shape(ranges)}")
    if precision == "float32":
        return vectors
    lib, value = _native.load(), _native.enum("aoe_precision")["AOE_PRECISION_" + precision.upper()]
    kind = np.uint8 if precision[0] == "u" else np.int8
    if not n:
        return np.empty((0, dims if "int8" in precision else (dims + 7) // 8), kind)
    vectors = np.ascontiguousarray(vectors, np.float32)
    floats = _native.interface().type("float *")
    given = np.empty((2, dims), np.float32)
    if ranges is None and precision in ("int8", "uint8"):
        if n == 1:
            raise ValueError(f"the ranges of {precision} components cannot be computed from one embedding; use "
                             "aoe.util.quantize_embeddings with `ranges` or `calibration_embeddings`")
        if n < 100:
            logger.warning("the ranges of %s components are those of only %d embeddings; quantize_embeddings with "
                           "`ranges` or `calibration_embeddings` is more accurate", precision, n)
    if ranges is not None:
        given[:] = ranges
    else:
        lib.aoe_ranges_init(given.ctypes.data_as(floats), dims)
        _native.check(lib.aoe_ranges_add, given.ctypes.data_as(floats), vectors.ctypes.data_as(floats), n, dims)
    out = np.empty((n, lib.aoe_precision_bytes(value, dims)), kind)
    _native.check(lib.aoe_quantize, value, vectors.ctypes.data_as(floats), n, dims, given.ctypes.data_as(floats),
                  out.ctypes.data)
    return out


def progress_bar(show: bool | None, total: int, label: str, unit: str = "texts") -> Any:
    """Returns a progress bar of tqdm, or None if none is shown. None: if the logger "aoe" shows messages of level INFO,
    as in sentence-transformers."""
    if show is None:
        show = 10 <= logger.getEffectiveLevel() <= 20
    if not show:
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        from ._progress import Bar as tqdm
    return tqdm(total=total, desc=label, unit=unit)


def check_tensors(wanted: bool) -> None:
    """Raises ImportError, before anything is computed, if tensors are wanted and PyTorch is not installed."""
    if not wanted:
        return
    try:
        importlib.import_module("torch")
    except ImportError:
        raise ImportError("convert_to_tensor=True needs PyTorch, which is not installed; leave it out to get numpy "
                          "arrays") from None


def to_tensor(array: Any) -> Any:
    """Returns a tensor of PyTorch that shares the memory of an array."""
    return importlib.import_module("torch").from_numpy(array)
