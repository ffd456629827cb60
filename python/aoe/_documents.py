# SPDX-License-Identifier: MIT
"""Documents, hits and conditions of an index, and their conversion to the structs of the library and back."""
from __future__ import annotations

import ctypes
import math
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _inputs, _native

Vectors = NDArray[np.float32]

COLLECTIONS = (list, tuple, set, frozenset)  # several values of a key of metadata
KINDS = ("auto", "text", "markdown", "html", "code")


@dataclass(frozen=True)
class Document:
    """A document to add. A document with the same id is replaced.

    id: a string, or an integer, which stands for its decimal digits. metadata: numbers, strings, booleans, dates, None
    and NaN (left out), also as scalars and arrays of numpy, lists of them (several values of a key), and
    dictionaries, whose keys become "outer.inner". vector[D]: the embedding of the document, which then is one passage;
    None: it is divided into passages, which the model embeds. title: first part of the heading of each passage. kind:
    "text", "markdown", "html" or "code"; "auto": by the extension of the id."""

    id: str | int
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    vector: Any = None
    title: str | None = None
    kind: str = "auto"


@dataclass(frozen=True)
class Hit:
    """A passage of a document.

    id: the id of the document; passage: the id of the passage; path: the file, or None; heading: "A > B", or "". line
    and last_line: lines of the passage, from 1; None: unknown. score: the score of the mode of the search; NaN: not the
    result of a search. dense_rank, lexical_rank, cosine, bm25: ranks and scores of both halves; None: not among the
    first ones. metadata: strings, or lists of strings for keys with several values."""

    id: str
    text: str
    score: float
    metadata: dict[str, Any]
    passage: str
    path: str | None
    heading: str
    line: int | None
    last_line: int | None
    dense_rank: int | None
    lexical_rank: int | None
    cosine: float | None
    bm25: float | None


class Hits(list[Hit]):
    """The hits of a query, best first. terms: the words of the query that were searched; stems: True if passages were
    searched for words with the same English stems."""

    query: str = ""
    terms: tuple[str, ...] = ()
    stems: bool = False

    def to_pandas(self) -> Any:
        """Returns a DataFrame with one row per hit and one column per field of Hit."""
        pandas = _pandas()
        names = [f.name for f in fields(Hit)]
        return pandas.DataFrame([[getattr(hit, name) for name in names] for hit in self], columns=names)


class HitLists(list[Hits]):
    """The hits of several queries."""

    def to_pandas(self) -> Any:
        """Returns a DataFrame with one row per hit: the columns query_index and query, and the fields of Hit."""
        pandas = _pandas()
        names = [f.name for f in fields(Hit)]
        rows = [[i, hits.query] + [getattr(hit, name) for name in names] for i, hits in enumerate(self) for hit in hits]
        return pandas.DataFrame(rows, columns=["query_index", "query"] + names)


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas needs pandas, which is not installed") from None
    return pandas


def condition_of(values: Mapping[str, Any]) -> str | None:
    """Returns the condition that all keys have the given values; None: there are no keys. A list stands for any of its
    values."""
    parts = []
    for key, value in values.items():
        if not isinstance(key, str) or not key:
            raise TypeError(f"a key of a condition must be a string, not {key!r}")
        name = "`" + key.replace("`", "``") + "`"
        value = _array(value)
        if isinstance(value, COLLECTIONS):
            if not value:
                raise ValueError(f"the list of accepted values for {key!r} is empty")
            parts.append(f"{name} in ({', '.join(map(_literal, value))})")
        else:
            parts.append(f"{name} = {_literal(value)}")
    return " and ".join(parts) or None


def _literal(value: Any) -> str:
    text = _scalar(value)
    if text is None:
        raise ValueError("a condition cannot contain None; use the condition \"not exists key\"")
    return "'" + text.replace("'", "''") + "'"


def _scalar(value: Any) -> str | None:
    """Returns the text of a value of metadata; None if there is no value."""
    is_nan = isinstance(value, (float, np.floating)) and math.isnan(value)
    if value is None or is_nan or type(value).__name__ in ("NaTType", "NAType"):  # the last two are of pandas
        return None
    if isinstance(value, str):
        return str(value)
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, np.datetime64):
        return _date(value)
    if is_integer(value):
        return str(int(value))
    if isinstance(value, np.floating):  # the shortest text with this value of the type: "0.1" for np.float32(0.1)
        return np.format_float_positional(value, trim="-")
    if isinstance(value, numbers.Real) and not isinstance(value, np.timedelta64):
        return np.format_float_positional(float(value), trim="-")
    isoformat = getattr(value, "isoformat", None)
    if isoformat:
        return str(isoformat())
    raise TypeError(f"a value of metadata must be a string, a number, a boolean, a date, None, or a list of them, not "
                    f"{type(value).__name__}")


def _date(value: Any) -> str | None:
    """Returns a np.datetime64 as ISO 8601, in the form of `isoformat` of Python and pandas; None for NaT."""
    if np.isnat(value):
        return None
    unit = np.datetime_data(value)[0]
    if unit in ("Y", "M", "W", "D"):
        return str(value.astype("datetime64[D]"))
    text, _, fraction = str(value.astype("datetime64[s]") if unit in ("h", "m") else value).partition(".")
    fraction = fraction.rstrip("0")
    return text + ("." + fraction.ljust(6 if len(fraction) <= 6 else 9, "0") if fraction else "")


def _pairs(metadata: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[bytes, bytes]]:
    """Yields the keys and values of metadata, several for lists and dictionaries."""
    for key, value in metadata.items():
        name = prefix + str(key)
        if isinstance(value, Mapping):
            yield from _pairs(value, name + ".")
            continue
        value = _array(value)
        for item in value if isinstance(value, COLLECTIONS) else [value]:
            text = _scalar(item)
            if text is not None:
                yield c_string(name, "key"), _native.to_bytes(text, f"value of {name}")


def _array(value: Any) -> Any:
    """Returns the elements of an array of numpy as a list; a value of any other type, and an array without dimensions,
    is returned as a value."""
    return value if not isinstance(value, np.ndarray) else value[()] if value.ndim == 0 else list(value)


def c_string(text: Any, what: str) -> bytes:
    data = _native.to_bytes(text, what)
    if b"\0" in data:
        raise ValueError(f"a{'n' if what[0] in 'aeiou' else ''} {what} must not contain the character U+0000")
    return data


def name_bytes(name: Any) -> bytes:
    """Returns the bytes of an id. Integers, also those of numpy, stand for their decimal digits."""
    if is_integer(name):
        return c_string(str(int(name)), "id")
    if not isinstance(name, str):
        hint = "; a column of integers with missing values has floating-point numbers" if _is_real(name) else ""
        raise TypeError(f"an id must be a string or an integer, not {type(name).__name__}{hint}")
    return c_string(name, "id")


def is_integer(value: Any) -> bool:
    """Returns whether a value is an integer of Python or numpy. Booleans and durations are none."""
    return isinstance(value, numbers.Integral) and not isinstance(value, (bool, np.timedelta64))


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, (numbers.Integral, bool))


def document_items(documents: Any) -> list[Any]:
    if hasattr(documents, "to_dict") and hasattr(documents, "columns"):  # a DataFrame
        columns = [c for c in documents.columns if c not in ("id", "text")]
        for name in ("id", "text"):
            if name not in documents.columns:
                raise ValueError(f"the DataFrame has no column {name!r}, but {list(documents.columns)}")
        data = {c: list(documents[c]) for c in documents.columns}
        return [{"id": i, "text": t, "metadata": {c: data[c][row] for c in columns}}
                for row, (i, t) in enumerate(zip(data["id"], data["text"]))]
    if isinstance(documents, Document):
        return [documents]
    if isinstance(documents, Mapping):
        if documents.keys() >= {"id", "text"} and not documents.keys() - {f.name for f in fields(Document)}:
            return [documents]
        return list(documents.items())
    if isinstance(documents, str):
        raise TypeError("documents must be a collection of documents, such as [{\"id\": ..., \"text\": ...}]")
    return _inputs.as_list(documents, "documents")


def as_document(item: Any, i: int) -> Document:
    if isinstance(item, Mapping):
        known = [f.name for f in fields(Document)]
        unknown = [key for key in item if key not in known]
        if unknown:
            raise ValueError(f"documents[{i}] has the unknown key {unknown[0]!r}; a document has the keys "
                             f"{', '.join(known)}")
        if "id" not in item or "text" not in item:
            raise ValueError(f"documents[{i}] has no {'text' if 'id' in item else 'id'}")
        item = Document(**item)
    elif isinstance(item, tuple) and len(item) in (2, 3):
        item = Document(*item)
    if not isinstance(item, Document):
        raise TypeError(f"documents[{i}] must be a Document, a dictionary, or a tuple (id, text), not "
                        f"{type(item).__name__}")
    try:
        name_bytes(item.id)
    except (TypeError, ValueError) as error:
        raise type(error)(f"documents[{i}]: {error}") from None
    if not isinstance(item.text, str):
        raise TypeError(f"documents[{i}]: the text must be a string, not {type(item.text).__name__}")
    if item.kind not in KINDS:
        raise ValueError(f"documents[{i}]: kind must be one of {', '.join(KINDS)}, not {item.kind!r}")
    if item.metadata is not None and not isinstance(item.metadata, Mapping):
        raise TypeError(f"documents[{i}]: metadata must be a dictionary, not {type(item.metadata).__name__}")
    try:
        _native.to_bytes(item.text)
        list(_pairs(item.metadata or {}))
    except TypeError as error:
        raise TypeError(f"documents[{i}]: {error}") from None
    except ValueError as error:
        raise ValueError(f"documents[{i}]: {error}") from None
    return item


def as_vector(vector: Any, dims: int, name: Any) -> Vectors | None:
    if vector is None:
        return None
    if hasattr(vector, "detach"):
        vector = vector.detach().cpu().numpy()
    if (kind := np.asarray(vector).dtype).kind in "cSU":
        raise ValueError(f"the vector of the document {name!r} must have real numbers, not {kind}")
    row = np.ascontiguousarray(vector, np.float32)
    if row.shape != (dims,):
        raise ValueError(f"the vector of the document {name!r} has the shape {row.shape}, but the index has {dims} "
                         "components")
    return row


class DocumentArray:
    """An array of aoe_index_document, which keeps its strings and vectors alive."""

    def __init__(self, items: list[Document], vectors: list[Vectors | None]) -> None:
        interface = _native.interface()
        kind, field_kind = interface.type("aoe_index_document"), interface.type("aoe_index_field")
        floats = interface.type("const float *")
        kinds = _native.enum("aoe_index_kind")
        self.array = (kind * len(items))()
        self.kept: list[Any] = [vectors]
        for document, item, vector in zip(self.array, items, vectors):
            document.struct_size = ctypes.sizeof(kind)
            document.name = name_bytes(item.id)
            self._set(document.text, _native.to_bytes(item.text))
            document.kind = kinds["AOE_INDEX_" + item.kind.upper()]
            document.title = None if item.title is None else c_string(item.title, "title")
            pairs = list(_pairs(item.metadata or {}))
            values = (field_kind * len(pairs))()
            for value, (key, content) in zip(values, pairs):
                value.key = key
                self._set(value.value, content)
            self.kept.append(values)
            document.field, document.n_fields = values, len(pairs)
            if vector is not None:
                document.vector = vector.ctypes.data_as(floats)

    def _set(self, text: Any, content: bytes) -> None:
        self.kept.append(content)
        text.data, text.len = content, len(content)


def strings(values: list[bytes], keep: list[Any] | None = None) -> Any:
    array = (ctypes.c_char_p * max(len(values), 1))(*values)
    if keep is not None:
        keep.append(array)
    return array


def filter_array(filters: Mapping[str, Iterable[str]], keep: list[Any]) -> tuple[Any, int]:
    kind = _native.interface().type("aoe_index_filter")
    array = (kind * max(len(filters), 1))()
    for entry, (pattern, program) in zip(array, filters.items()):
        if isinstance(program, str):
            raise TypeError(f"the program for {pattern!r} must be a list of arguments, not a string")
        argv = [_native.path_bytes(argument, "program argument") for argument in program]
        entry.struct_size = ctypes.sizeof(kind)
        entry.pattern = c_string(pattern, "pattern")
        entry.argv, entry.n = strings(argv, keep), len(argv)
    keep.append(array)
    return array, len(filters)


def _text(value: Any) -> str:
    return ctypes.string_at(value.data, value.len).decode("utf-8", "replace") if value.len else ""


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def as_hit(hit: Any) -> Hit:
    metadata: dict[str, Any] = {}
    for i in range(hit.n_fields):
        key, value = hit.field[i].key.decode("utf-8", "replace"), _text(hit.field[i].value)
        if key not in metadata:
            metadata[key] = value
        elif isinstance(metadata[key], list):
            metadata[key].append(value)
        else:
            metadata[key] = [metadata[key], value]
    return Hit(id=hit.name.decode("utf-8", "replace"), text=_text(hit.text), score=hit.score, metadata=metadata,
               passage=hit.id.decode(), path=None if hit.path is None else os.fsdecode(hit.path),
               heading=(hit.heading or b"").decode("utf-8", "replace"), line=hit.line or None,
               last_line=hit.last_line or None, dense_rank=hit.dense_rank or None,
               lexical_rank=hit.lexical_rank or None, cosine=_number(hit.cosine), bm25=_number(hit.bm25))


def as_hits(found: Any, query: str) -> Hits:
    hits = Hits(as_hit(found.hit[i]) for i in range(found.n))
    hits.query, hits.stems = query, bool(found.stems)
    hits.terms = tuple(found.term[i].decode("utf-8", "replace") for i in range(found.n_terms))
    return hits
