# SPDX-License-Identifier: MIT
"""Data sets of training and evaluation. Files are read by the library; other data sets are written to temporary JSON
Lines files, which keep every text as it is, also texts with tabs, line ends and NUL characters."""
from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
import math
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _native

LABEL_NAMES = {"entailment", "neutral", "contradiction", "not_entailment"}
FILE = re.compile(r"\.(tsv|tab|csv|jsonl|ndjson|jsonlines|ldjson|json|txt|parquet)(\.gz|\.zst)?$", re.IGNORECASE)


@dataclasses.dataclass(frozen=True)
class Data:
    """A data set with settings of its own, for `data` and `dev` of aoe.train.

    source: a file or a data set in memory, as in aoe.train. weight: number of times that each example is used per
    epoch. form: "pairs", "positives" or "triplets"; None: detected from the columns. prompt: the prompt of queries and
    of both texts of pairs; doc_prompt: the prompt of positives and negatives. columns, label_map and ibn_threshold have
    the meaning of the arguments of aoe.train with these names. Of a dev set, only columns and label_map are used; the
    other settings raise ValueError.
    """

    source: Any
    weight: float | None = None
    form: str | None = None
    prompt: str | None = None
    doc_prompt: str | None = None
    columns: Any = None
    label_map: Any = None
    ibn_threshold: float | None = None

    def _settings(self) -> list[str]:
        """Returns the names of the settings that are given."""
        return [field.name for field in dataclasses.fields(self)[1:] if getattr(self, field.name) is not None]


def is_path(source: Any) -> bool:
    return isinstance(source, (str, os.PathLike))


def is_table(source: Any) -> bool:
    """Returns whether an object is one data set in memory, and not a list of rows or of data sets."""
    return any(hasattr(source, name) for name in ("iloc", "iter_rows", "collect_schema", "to_batches", "column_names",
                                                  "to_pylist", "dtype"))


def several(data: Any) -> list[tuple[str, Data]]:
    """Divides the argument `data` into data sets with names for messages."""
    if isinstance(data, Data):
        return [("data", data)]
    if isinstance(data, Mapping) and not _is_columns(data):
        _no_splits(data)
        if not data:
            raise ValueError("data: the data set is empty")
        return [(f"data[{name!r}]", item if isinstance(item, Data) else Data(item)) for name, item in data.items()]
    if isinstance(data, (list, tuple)) and data and all(is_set(item) for item in data):
        return [(f"data[{i}]", item if isinstance(item, Data) else Data(item)) for i, item in enumerate(data)]
    return [("data", Data(data))]


def _no_splits(data: Any) -> None:
    if "DatasetDict" in type(data).__name__:
        raise ValueError(f"this is a dictionary of the splits {', '.join(map(str, data))}; give one of them, such as "
                         f"dataset[{next(iter(data), 'train')!r}]")


def is_set(item: Any) -> bool:
    """Returns whether an element of a list is a data set, and not a row or a text."""
    if isinstance(item, str):
        return FILE.search(item) is not None
    if isinstance(item, (Data, os.PathLike)) or is_table(item):
        return True
    return isinstance(item, list) and bool(item) and isinstance(item[0], (Mapping, tuple))


def _is_columns(data: Mapping[Any, Any]) -> bool:
    """Returns whether a dictionary contains columns: lists of texts and numbers."""
    firsts: list[Any] = []
    for column in data.values():
        values = column.tolist() if hasattr(column, "tolist") else column
        if not isinstance(values, Sequence) or isinstance(values, str) or not len(values):
            return False
        firsts.append(values[0])
    return any(isinstance(value, str) and not FILE.search(value) for value in firsts) and all(
        isinstance(value, (str, int, float, list, np.generic)) or is_missing(value) for value in firsts)


def is_missing(value: Any) -> bool:
    """Returns whether a value of a row is None, NaN, or a missing value of pandas."""
    if isinstance(value, (float, np.floating)):
        return math.isnan(value)
    return value is None or type(value).__name__ in ("NAType", "NaTType")


# ------------------------------------------------------------ rows


def rows_of(source: Any, two: tuple[str, str]) -> Iterator[Mapping[str, Any]]:
    """Returns the rows of a data set in memory as dictionaries. two: the columns of tuples of two texts."""
    _no_splits(source)
    if isinstance(source, Data):
        raise TypeError("a Data must not contain another Data")
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):  # a LazyFrame of polars
        source = source.collect()
    if hasattr(source, "iloc"):  # pandas
        if not hasattr(source, "columns"):
            return ({"text": text} for text in source.tolist())
        names = [str(name) for name in source.columns]
        columns = [source.iloc[:, i].tolist() for i in range(len(names))]
        return (dict(zip(names, row)) for row in zip(*columns))
    if hasattr(source, "iter_rows"):  # polars
        rows: Iterator[Mapping[str, Any]] = source.iter_rows(named=True)
        return rows
    if hasattr(source, "to_batches"):  # a table of pyarrow
        return itertools.chain.from_iterable(batch.to_pylist() for batch in source.to_batches())
    if hasattr(source, "to_pylist"):
        return _named(iter(source.to_pylist()), two)
    if hasattr(source, "with_format") and hasattr(source, "features"):  # datasets
        return iter(source.with_format(None))
    if isinstance(source, Mapping):
        columns = [values.tolist() if hasattr(values, "tolist") else list(values) for values in source.values()]
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(f"{name}: {len(column)}" for name, column in zip(source, columns))
            raise ValueError(f"the columns have different lengths ({lengths})")
        names = [str(name) for name in source]
        return (dict(zip(names, row)) for row in zip(*columns))
    if hasattr(source, "tolist"):  # arrays of numpy
        return _named(iter(source.tolist()), two)
    if isinstance(source, (bytes, bytearray)) or not isinstance(source, Iterable):
        raise TypeError("a data set must be a path, a list of dictionaries or tuples, or a table of pandas, polars, "
                        f"pyarrow or datasets, not {type(source).__name__}")
    return _named(iter(source), two)


def _named(rows: Iterator[Any], two: tuple[str, str]) -> Iterator[Mapping[str, Any]]:
    """Names the elements of rows that are no dictionaries."""
    names: list[str] | None = None
    for i, row in enumerate(rows):
        if isinstance(row, Mapping):
            yield row
            continue
        if isinstance(row, str):
            row = (row,)
        elif hasattr(row, "_asdict"):
            yield row._asdict()
            continue
        elif not isinstance(row, (tuple, list)) or not row:
            raise TypeError(f"row {i} must be a dictionary, a tuple or a string, not {type(row).__name__}")
        if names is None:
            names = _tuple_names(row, two)
        if len(row) != len(names):
            raise ValueError(f"row {i} has {len(row)} elements, but the rows before have {len(names)}")
        for name, value in zip(names, row):
            if is_missing(value) or isinstance(value, (float, np.floating)) and name == "label":
                continue  # NaN and infinite values become null, which the library rejects, unless bad rows are skipped
            if (name == "label") != _is_number(value) and name != "group":
                wanted = "number" if name == "label" else "text"
                raise TypeError(f"row {i}: {name} must be a {wanted}, not {value!r:.60}")
            if isinstance(value, str) and value in LABEL_NAMES:
                raise ValueError(f"row {i}: {value!r} is the name of a label; give dictionaries with the keys text1, "
                                 "text2 and label instead of tuples")
        yield dict(zip(names, row))


def _is_number(value: Any) -> bool:
    try:
        return not isinstance(value, (str, bytes, list, tuple)) and math.isfinite(float(value))
    except (TypeError, ValueError):
        return False


def _tuple_names(row: Any, two: tuple[str, str]) -> list[str]:
    count, labeled = len(row), _is_number(row[-1]) or isinstance(row[-1], (float, np.floating))  # also NaN
    if count == 1:
        return ["text"]
    if labeled and (count != 3 or _is_number(row[0])):
        raise ValueError(f"a tuple with a label must be (text1, text2, label), not {row!r:.80}; give dictionaries for "
                         "other columns")
    if labeled:
        return ["text1", "text2", "label"]
    if count == 3 and is_missing(row[-1]):
        raise ValueError(f"row 0: the last element, {row[-1]!r}, may be a missing label or a missing negative; give "
                         "dictionaries, or another first row")
    negatives = ["negative", *(f"negative_{i}" for i in range(1, count - 2))]
    return list(two) if count == 2 else ["query", "positive", *negatives]


def _plain(value: Any) -> Any:
    """Returns a value that JSON can store. Missing and infinite values become null, which the library rejects in a
    column that it reads, with the row. Values of other types, such as dates, become strings."""
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):  # arrays and scalars of numpy
        return _plain(value.tolist())
    if isinstance(value, (bytes, bytearray)):
        raise TypeError("bytes are no text; decode them")
    return None if type(value).__name__ in ("NAType", "NaTType") else str(value)


# ------------------------------------------------------------ files


class Files:
    """Temporary files, which are removed when the block ends. An error of the library about a temporary file names the
    data set and the row instead."""

    def __init__(self) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._labels: dict[str, str] = {}

    def __enter__(self) -> "Files":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if self._folder is not None:
            self._folder.cleanup()
        if isinstance(error, _native.AoeError):
            message = self.named(str(error))
            if message != str(error):
                renamed = type(error)(message)
                renamed.code = error.code
                raise renamed from None

    def named(self, message: str) -> str:
        """Replaces the names of temporary files in a message, and the fields of structs by arguments."""
        message = re.sub(r"\boptions\.(?=[a-z])", "", message)
        for path, label in self._labels.items():
            message = re.sub(re.escape(path) + r":(\d+)", lambda at: f"{label}, row {int(at[1]) - 1}", message)
            message = message.replace(path, label)
        return message

    def is_temporary(self, path: str) -> bool:
        return path in self._labels

    def folder(self) -> str:
        """Returns a new temporary folder."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="aoe-")
        return tempfile.mkdtemp(dir=self._folder.name)

    def path(self, source: Any, label: str, two: tuple[str, str] = ("query", "positive")) -> str:
        """Returns the path of a data set, which is written to a temporary file if it is no file of the library."""
        if is_path(source):
            path = os.fspath(source)
            if not isinstance(path, str):
                raise TypeError(f"{label} must be a string, not bytes")
            if not path:
                raise ValueError(f"{label} is an empty path")
            if not path.lower().endswith(".parquet"):
                return path
            source = _read_parquet(path)
        path = os.path.join(self.folder(), f"{type(source).__name__}.jsonl")
        self._labels[path] = label
        try:
            write(path, rows_of(source, two))
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{label}: {error}") from None
        return path


def write(path: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Writes rows to a JSON Lines file."""
    count = 0
    with open(path, "wb") as file:
        for count, row in enumerate(rows, 1):
            try:
                plain = {str(name): _plain(value) for name, value in row.items()}
                file.write(json.dumps(plain, ensure_ascii=False, allow_nan=False).encode() + b"\n")
            except UnicodeEncodeError as error:
                raise ValueError(f"row {count - 1} contains the lone surrogate {error.object[error.start]!r}; it is "
                                 "not valid Unicode") from None
            except (TypeError, AttributeError) as error:
                raise TypeError(f"row {count - 1}: {error}") from None
    if not count:
        raise ValueError("the data set is empty")


def _read_parquet(path: str) -> Any:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise ImportError(f"reading {path} needs pyarrow, which is not installed: pip install pyarrow") from None
    return parquet.read_table(path)
