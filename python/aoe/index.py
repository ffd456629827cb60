# SPDX-License-Identifier: MIT
"""An index on disk: documents and their embeddings in a directory, which is searched by meaning, by words, or by both.

    with aoe.Index("notes.index") as index:              # created if it does not exist
        index.add([{"id": "a", "text": "She cooks rice.", "metadata": {"year": 2024}}])
        index.update("notes/")                           # a folder; later calls of update() read what changed
        for hit in index.search("preparing food", k=3, where="year >= 2020"):
            print(hit.score, hit.id, hit.text)

The program `aoe` reads and writes the same directories. docs/search.md describes the ranking and all guarantees.
"""
from __future__ import annotations

import contextlib
import ctypes
import os
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, overload

import numpy as np

from . import _context, _inputs, _native
from ._documents import (Document, DocumentArray, Hit, HitLists, Hits, Vectors, as_document, as_hit, as_hits, as_vector,
                         c_string, condition_of, document_items, filter_array, is_integer, name_bytes, strings)
from .sentence_transformer import SentenceTransformer

Mode = Literal["hybrid", "dense", "lexical"]
MODES = ("hybrid", "dense", "lexical")
STORES = ("f32", "bf16", "int8")
SLICE_BYTES = 1 << 20  # bytes of the documents of one call of the library, after which Ctrl-C and progress bars act


class Index:
    """An index in a directory, which is created if it does not exist.

    model: a SentenceTransformer, the name of a model, or None: the model of the index, or for a new index the default
    model. False: no model, so that only lexical search and maintenance are possible, and documents need vectors.
    read_only: the index must exist, and is not changed; any number of programs may read an index while one writes.
    create: True: the index must not exist yet; False: it must exist; None: both are accepted.
    passage_tokens (400), store ("f32", "bf16" or "int8") and stem (True: English stems for lexical search) are settings
    of a new index. repair: an index with damaged vectors is opened, so that verify(repair=True) can repair it. wait:
    seconds to wait for another program that writes to the index (3).

    Several threads may use one index at the same time; calls that change it wait for each other. A search uses the
    last commit. `with` commits at its end, or discards what was not committed after an exception. After fork(), a child
    process must open the index again, and an index that is pickled to a worker is opened there for reading.
    """

    def __init__(self, path: str | os.PathLike[str], model: SentenceTransformer | str | os.PathLike[str] | bool | None =
                 None, *, read_only: bool = False, create: bool | None = None, passage_tokens: int | None = None,
                 store: str | None = None, stem: bool | None = None, repair: bool = False,
                 wait: float | None = None) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.read_only = read_only
        if store is not None and store not in STORES:
            raise ValueError(f"store must be one of {', '.join(STORES)}, not {store!r}")
        if model is True:
            raise TypeError("model must be a SentenceTransformer, a name, None or False, not True")
        if read_only and create:
            raise ValueError("read_only=True and create=True exclude each other")
        exists = os.path.isdir(self.path) and bool(os.listdir(self.path))
        if create is False and not read_only and not exists:
            raise _native.error_of(_native.enum("aoe_code")["AOE_ENOENT"],
                                   f"{self.path} is not an index; use create=None to create it")
        self._pid = os.getpid()
        self._lock, self._change_lock = _native.Lock(), _native.Lock()
        self._users, self._closed, self._pending = 0, False, False
        with contextlib.ExitStack() as stack:
            self.model = self._find_model(model, exists, stack)
            self._own_model = self.model is not None and self.model is not model
            handle = None
            if self.model is not None:
                handle = stack.enter_context(self.model._handle.use())
            self._log = _native.interface().type("aoe_log_fn")(_context.Context._receive)
            options = _native.options(
                "aoe_index_options", passage_tokens=passage_tokens, create_only=int(bool(create)), repair=int(repair),
                store=None if store is None else _native.enum("aoe_index_store")["AOE_INDEX_" + store.upper()],
                stem=None if stem is None else int(stem), wait=wait, log=self._log,
                model=None if self.model is None else os.fsencode(os.path.abspath(self.model.directory)))
            access = _native.enum("aoe_index_access")["AOE_INDEX_READ" if read_only else "AOE_INDEX_WRITE"]
            self._index = ctypes.c_void_p()
            _native.check(_native.load().aoe_index_open, ctypes.byref(self._index),
                          _native.path_bytes(self.path), access, None if handle is None else handle.embedder,
                          ctypes.byref(options))
            # objects that are alive when Python exits are not closed: other threads may still use them
            self._finalizer = weakref.finalize(self, Index._destroy, self._index, self._pid, stack.pop_all(), self._log)
            self._finalizer.atexit = False

    def _find_model(self, model: Any, exists: bool, stack: contextlib.ExitStack) -> SentenceTransformer | None:
        if model is False:
            return None
        if isinstance(model, SentenceTransformer):
            for name in model.changed_settings():
                raise NotImplementedError(f"an index uses the settings in the directory of a model, but {name} was set "
                                          "in the program; write the model with save_pretrained, and open it")
            return model
        if model is None and exists:
            recorded = ctypes.create_string_buffer(4096)
            _native.check(_native.load().aoe_index_model, _native.path_bytes(self.path), recorded, len(recorded))
            name = os.fsdecode(recorded.value)
            if name and os.path.exists(name):
                model = name
            elif name:
                _context.logger.info("%s: the model of the index, %s, does not exist; the default model is used",
                                     self.path, name)
        opened = SentenceTransformer(model)
        stack.callback(opened.close)
        return opened

    @staticmethod
    def _destroy(index: Any, pid: int, stack: contextlib.ExitStack, log: Any) -> None:
        if os.getpid() == pid:  # a child process must not use the index of its parent
            _native.load().aoe_index_close(index)
        stack.close()
        del log

    # ------------------------------------------------------------ life

    @contextlib.contextmanager
    def _use(self, change: bool = False) -> Iterator[Any]:
        """Keeps the index open for a call. change: the call changes the index, and waits for others that do."""
        if os.getpid() != self._pid:
            raise ValueError("a child process must not use the index of its parent; open the index again")
        if change and self.read_only:
            raise ValueError(f"{self.path} is open for reading only; open it without read_only")
        with self._lock:
            if self._closed:
                raise ValueError("the index is closed")
            self._users += 1
        try:
            if change:
                with self._change_lock:
                    yield _native.load()
            else:
                yield _native.load()
        finally:
            with self._lock:
                self._users -= 1
                if self._closed and not self._users:
                    self._finalizer()

    def close(self, commit: bool = True) -> None:
        """Commits, and closes the index after the calls of other threads. commit=False: changes that were not committed
        are lost. Later calls raise ValueError."""
        if self._closed or os.getpid() != self._pid:
            return
        try:
            if commit and self._pending:
                self.commit()
        finally:
            with self._lock:
                self._closed = True
                if not self._users:
                    self._finalizer()

    def __enter__(self) -> "Index":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.close(commit=error is None)

    def __del__(self) -> None:
        if getattr(self, "_pending", False) and not self._closed and os.getpid() == self._pid:
            warnings.warn(f"the index {self.path} was not closed; its changes since the last commit are lost",
                          ResourceWarning, source=self)

    def __reduce__(self) -> Any:
        model: Any = self.model if self.model is not None else False
        return _reopen, (self.path, model)

    def __repr__(self) -> str:
        return f"aoe.Index({self.path!r}{', closed' if self._closed else ''})"

    # ------------------------------------------------------------ changes

    def add(self, documents: Any, *, vectors: Any = None, commit: bool = True,
            show_progress_bar: bool | None = None) -> int:
        """Adds documents, or replaces those with the same ids, and returns their number.

        documents: a collection of Document, of dictionaries with the keys of Document, or of tuples (id, text) or (id,
        text, metadata); a dictionary of texts by id; or a DataFrame with the columns id and text, whose other columns
        are metadata. vectors[n, D]: their embeddings; None: computed, or those of the documents. commit=False: searches
        find the documents after `commit`, which saves time if `add` is called often. A document that is equal to the
        one in the index is not changed, and a passage whose text is already in the index keeps its vector.

        Raises TypeError or ValueError, before anything is added, for a document without id or text. Ctrl-C ends the
        call between two slices of documents; those before it are then added, and not committed."""
        items = [as_document(item, i) for i, item in enumerate(document_items(documents))]
        if vectors is not None:
            vectors = np.asarray(vectors)
            if not vectors.ndim:
                raise TypeError("vectors must be a collection with one embedding for each document, not a number")
            if len(vectors) != len(items):
                raise ValueError(f"there are {len(items)} documents and {len(vectors)} vectors")
        with self._use(change=True):
            dims = self._dims()
            rows = [as_vector(item.vector if vectors is None else vectors[i], dims, item.id)
                    for i, item in enumerate(items)]
            sizes = [len(item.text) for item in items]
            bar = _inputs.progress_bar(show_progress_bar, len(items), "Adding") if items else None
            for begin, end in _inputs.slices(sizes, SLICE_BYTES):
                self._pending = True
                part = DocumentArray(items[begin:end], rows[begin:end])
                _native.check(_native.load().aoe_index_add, self._index, part.array, len(part.array))
                if bar is not None:
                    bar.update(end - begin)
            if bar is not None:
                bar.close()
            if commit:
                self.commit()
        return len(items)

    def remove(self, ids: str | int | Iterable[str | int], *, commit: bool = True) -> int:
        """Removes documents by id, and returns how many existed. An id that ends with "/" stands for all documents
        whose ids begin with it. The absolute path of a file, or of a folder with "/" at its end, is also accepted."""
        single = isinstance(ids, str) or is_integer(ids)
        names = [name_bytes(name) for name in ([ids] if single else _inputs.as_list(ids, "ids"))]
        removed = ctypes.c_size_t()
        with self._use(change=True) as lib:
            self._pending = True
            _native.check(lib.aoe_index_remove, self._index, strings(names), len(names), ctypes.byref(removed))
            if commit:
                self.commit()
        return removed.value

    def remove_source(self, path: str | os.PathLike[str], *, commit: bool = True) -> int:
        """Removes the record of a folder or table and its documents, and returns their number."""
        removed = ctypes.c_size_t()
        with self._use(change=True) as lib:
            self._pending = True
            _native.check(lib.aoe_index_remove_source, self._index, _native.path_bytes(path), ctypes.byref(removed))
            if commit:
                self.commit()
        return removed.value

    def commit(self) -> None:
        """Makes the changes since the last commit durable, and visible to searches."""
        with self._use(change=True) as lib:
            self._pending = False  # after an error, the changes are lost
            _native.check(lib.aoe_index_commit, self._index)

    def update(self, sources: Any = None, *, text_column: str | None = None, id_column: str | None = None,
               exclude: Iterable[str] | None = None, vectors: Any = None,
               filters: Mapping[str, Iterable[str]] | None = None, budget: float | None = None,
               commit_seconds: float | None = None, own_only: bool = False, show_progress_bar: bool | None = None,
               progress: Callable[[dict[str, Any]], object] | None = None) -> dict[str, int]:
        """Brings the index up to date with folders, tables and .txt files with one text per line: adds what is new,
        replaces what changed, removes what is gone, and commits.

        sources: a path or several paths, which are recorded in the index; None: those that are recorded. text_column
        and id_column: columns of tables; exclude: patterns as in .gitignore; vectors[n, D]: embeddings of the rows of
        one table. filters: programs that convert files to text, such as {"*.pdf": ["pdftotext", "-", "-"]}, in which
        each argument "-" is replaced by the path of the file. budget: seconds after which changed files are left out.
        progress: receives a dictionary with files, total_files, bytes, total_bytes, passages and file.

        Returns the counts of documents (added, changed, removed, unchanged), passages, and files that were skipped.
        After Ctrl-C or an exception in `progress`, the finished files are in the index."""
        paths = [] if sources is None else [sources] if isinstance(sources, (str, os.PathLike)) else \
            _inputs.as_list(sources, "sources")
        if not paths and any(v is not None for v in (text_column, id_column, exclude, vectors)):
            raise ValueError("text_column, id_column, exclude and vectors need sources")
        if vectors is not None and len(paths) != 1:
            raise ValueError(f"vectors belong to one table, but there are {len(paths)} sources")
        keep: list[Any] = []
        array = self._sources(paths, text_column, id_column, exclude, vectors, keep)
        options = _native.options("aoe_index_update_options", budget=budget, commit_seconds=commit_seconds,
                                  own_only=int(own_only))
        options.filter, options.n_filters = filter_array(filters or {}, keep)
        result = _native.struct("aoe_index_update_result")
        bar = _UpdateBar(show_progress_bar)

        def report(user: Any, state: Any) -> int:
            at = state.contents
            bar.report(at.passages, at.files, at.total_files)
            if progress is not None:
                names = ("files", "total_files", "bytes", "total_bytes", "passages")
                values: dict[str, Any] = {name: getattr(at, name) for name in names}
                values["file"] = None if at.file is None else os.fsdecode(at.file)
                progress(values)
            return 0

        with self._use(change=True) as lib, _native.Callbacks() as callbacks:
            options.progress = callbacks.add_type(dict(type(options)._fields_)["progress"], report, 1)
            self._pending = False
            try:
                _native.check(lib.aoe_index_update, self._index, array, len(paths), ctypes.byref(options),
                              ctypes.byref(result))
            finally:
                bar.close()
        return {name: int(getattr(result, name)) for name, _ in result._fields_ if name != "struct_size"}

    def _sources(self, paths: list[Any], text_column: str | None, id_column: str | None, exclude: Iterable[str] | None,
                 vectors: Any, keep: list[Any]) -> Any:
        if not paths:
            return None
        kind = _native.interface().type("aoe_index_source")
        array = (kind * len(paths))()
        patterns = None if exclude is None else [c_string(p, "pattern") for p in exclude]
        for i, path in enumerate(paths):
            source = array[i]
            source.struct_size = ctypes.sizeof(kind)
            source.path = _native.path_bytes(path)
            source.text_column = None if text_column is None else text_column.encode()
            source.id_column = None if id_column is None else id_column.encode()
            if patterns is not None:  # an empty list replaces the recorded patterns
                source.exclude, source.n_exclude = strings(patterns, keep), len(patterns)
            if vectors is not None:
                matrix = np.ascontiguousarray(vectors, np.float32)
                if matrix.ndim != 2 or matrix.shape[1] != self._dims():
                    raise ValueError(f"vectors must have the shape [rows, {self._dims()}], not {matrix.shape}")
                keep.append(matrix)
                source.vectors = matrix.ctypes.data_as(_native.interface().type("const float *"))
                source.n_vectors = len(matrix)
        return array

    def is_current(self, *, own_only: bool = False) -> bool:
        """Returns True if `update()` would change nothing. Reads no file and changes nothing."""
        options = _native.options("aoe_index_update_options", own_only=int(own_only))
        value = ctypes.c_int()
        with self._use() as lib, _native.Callbacks() as callbacks:
            options.progress = callbacks.add_type(dict(type(options)._fields_)["progress"], lambda u, state: 0, 1)
            _native.check(lib.aoe_index_is_current, self._index, ctypes.byref(options), ctypes.byref(value))
        return bool(value.value)

    # ------------------------------------------------------------ search

    @overload  # a string is also an Iterable[str], but it is one query
    def search(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
            self, query: str, k: int = 10, mode: Mode = "hybrid", where: str | Mapping[str, Any] | None = None,
            min_score: float | None = None, path: str | Iterable[str] | None = None, *,
            dense_weight: float | None = None, lexical_weight: float | None = None, fast: bool = False) -> Hits: ...

    @overload
    def search(self, query: Iterable[str], k: int = 10, mode: Mode = "hybrid",
               where: str | Mapping[str, Any] | None = None, min_score: float | None = None,
               path: str | Iterable[str] | None = None, *, dense_weight: float | None = None,
               lexical_weight: float | None = None, fast: bool = False) -> HitLists: ...

    def search(self, query: str | Iterable[str], k: int = 10, mode: Mode = "hybrid",
               where: str | Mapping[str, Any] | None = None, min_score: float | None = None,
               path: str | Iterable[str] | None = None, *, dense_weight: float | None = None,
               lexical_weight: float | None = None, fast: bool = False) -> Hits | HitLists:
        """Finds the best k passages for a query, or for each of several queries, which takes less time than one call
        for each.

        mode: "dense" (cosine of embeddings), "lexical" (BM25 of words), or "hybrid" (both rankings are fused). where: a
        condition on metadata, such as "year >= 2020 and lang = 'en'", or a dictionary: {"lang": ["en", "de"]} is a list
        of accepted values, and all keys must match. min_score: hits with a lower score are left out; the score is that
        of the mode. path: patterns of documents to search, such as "src/" or "!*.md". dense_weight (1) and
        lexical_weight (0.8): weights in hybrid mode. fast: the vectors are scanned faster, but not exactly.

        Returns Hits, a list of Hit with the method to_pandas; for several queries HitLists. Raises ValueError for a
        wrong condition or option, or if the mode needs a model and the index was opened without one."""
        if mode not in MODES:
            raise ValueError(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
        if not is_integer(k) or k < 1:
            raise ValueError(f"k must be a positive integer, not {k!r}")
        single = isinstance(query, str)
        texts = [query] if isinstance(query, str) else _inputs.as_list(query, "query")
        condition = condition_of(where) if isinstance(where, Mapping) else where
        keep: list[Any] = []
        options = _native.options("aoe_index_search_options", k=int(k), fast=int(fast), min_score=min_score,
                                  mode=_native.enum("aoe_index_mode")["AOE_INDEX_" + mode.upper()],
                                  dense_weight=dense_weight, lexical_weight=lexical_weight,
                                  where=None if condition is None else c_string(condition, "condition"))
        if path is not None:
            patterns = [c_string(p, "pattern") for p in ([path] if isinstance(path, str) else path)]
            options.path, options.n_paths = strings(patterns, keep), len(patterns)
        queries = _inputs.Texts(texts, "query")
        found = (_native.interface().type("aoe_index_hits") * max(len(texts), 1))()
        for hits in found:
            hits.struct_size = ctypes.sizeof(hits)
        with self._use() as lib:
            try:
                if texts:
                    _native.check(lib.aoe_index_search_many, self._index, queries.pointer, len(texts),
                                  ctypes.byref(options), found)
                lists = HitLists(as_hits(hits, text) for hits, text in zip(found, texts))
            finally:
                for hits in found:
                    lib.aoe_index_hits_free(ctypes.byref(hits))
        return lists[0] if single else lists

    def get(self, id: str | int, line: int = 0, count: int = 1) -> Hits:
        """Returns the passages of a document in their order. id: the id of the document, the absolute path of its file,
        or the id of a passage. line: only passages with one of `count` lines from this one on; 0: all of them. Raises
        FileNotFoundError if there is none."""
        found = _native.struct("aoe_index_hits")
        with self._use() as lib:
            try:
                _native.check(lib.aoe_index_get, self._index, name_bytes(id), line, count, ctypes.byref(found))
                return as_hits(found, "")
            finally:
                lib.aoe_index_hits_free(ctypes.byref(found))

    def __contains__(self, id: object) -> bool:
        try:
            return (isinstance(id, str) or is_integer(id)) and bool(self.get(id))  # type: ignore[arg-type]
        except FileNotFoundError:
            return False

    def __len__(self) -> int:
        """Returns the number of documents of the last commit."""
        return int(self.stats()["documents"])

    def __bool__(self) -> bool:
        return True

    def each(self, function: Callable[[Hit, Vectors], object]) -> None:
        """Calls function(passage, vector[D]) with each passage of the last commit, in the order of document ids and
        positions. If it returns False, the iteration ends. The vector belongs to the function."""
        dims = self._dims()

        def receive(user: Any, hit: Any, vector: Any, error: Any) -> int:
            row = np.ctypeslib.as_array(vector, (dims,)).copy()
            return 1 if function(as_hit(hit.contents), row) is False else 0

        with self._use() as lib, _native.Callbacks() as callbacks:
            error = _native.interface().type("aoe_error")()
            callback = callbacks.add("aoe_index_passage_fn", receive, 1)
            code = lib.aoe_index_each(self._index, callback, None, ctypes.byref(error))
            if code < 0:
                raise _native.error_of(code, error.message.decode("utf-8", "replace"))

    def passages(self) -> tuple[Hits, Vectors]:
        """Returns all passages of the last commit, and their vectors [n, D], such as for plots or clustering."""
        hits = Hits()
        rows: list[Vectors] = []

        def receive(hit: Hit, vector: Vectors) -> None:
            hits.append(hit)
            rows.append(vector)

        self.each(receive)
        return hits, np.stack(rows) if rows else np.empty((0, self._dims()), np.float32)

    # ------------------------------------------------------------ maintenance

    def stats(self) -> dict[str, Any]:
        """Returns numbers and settings of the last commit: documents, passages, dims, removed_rows, sources,
        database_bytes, vector_bytes, store, passage_tokens, stem, model, created, updated, commits, created_here."""
        stats = _native.struct("aoe_index_stats")
        with self._use() as lib, self._change_lock:  # the strings are valid until the next call
            _native.check(lib.aoe_index_get_stats, self._index, ctypes.byref(stats))
            values: dict[str, Any] = {name: getattr(stats, name) for name, _ in stats._fields_ if name != "struct_size"}
            for name in ("model", "created", "updated"):
                values[name] = os.fsdecode(values[name] or b"")
        values["store"] = STORES[values["store"]]
        values["stem"], values["created_here"] = bool(values["stem"]), bool(values["created_here"])
        return values

    def _dims(self) -> int:
        return int(self.stats()["dims"])

    def verify(self, repair: bool = False) -> None:
        """Commits, reads the whole index, and compares it with its checksums. repair: passages with damaged vectors are
        embedded again, and the index of words is built again. Raises ValueError if the index is damaged."""
        with self._use(change=not self.read_only or repair) as lib:
            self._pending = False
            _native.check(lib.aoe_index_verify, self._index, int(repair))

    def compact(self) -> None:
        """Commits, and rewrites the files without what was removed. Searches of other programs are not disturbed."""
        with self._use(change=True) as lib:
            self._pending = False
            _native.check(lib.aoe_index_compact, self._index)

    def recall(self, k: int = 10, n_queries: int = 100) -> float:
        """Returns the share of the k nearest neighbors that a search with fast=True also finds, for n_queries stored
        vectors that are drawn with a fixed seed."""
        value = ctypes.c_double()
        with self._use() as lib:
            _native.check(lib.aoe_index_recall, self._index, k, n_queries, ctypes.byref(value))
        return value.value


class _UpdateBar:
    """The progress bar of an update, which appears when the number of files is known."""

    def __init__(self, show: bool | None) -> None:
        self.show, self.bar = show, None

    def report(self, passages: int, done: int, total: int) -> None:
        if self.bar is None and total and self.show is not False:
            self.bar = _inputs.progress_bar(self.show, total, "Indexing")
            self.show = self.show if self.bar is not None else False
        if self.bar is not None:
            self.bar.update(done - self.bar.n)

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _reopen(path: str, model: Any) -> Index:
    return Index(path, model, read_only=True)
