# SPDX-License-Identifier: MIT
"""Evaluates models, with the metrics of the commands `aoe eval` (docs/evaluation.md contains the formulas).

    aoe.evaluate_sts(model, "dev.tsv")["spearman"]
    aoe.evaluate_retrieval(model, queries=queries, corpus=corpus, relevant_docs=relevant)["ndcg"]

`model` is a SentenceTransformer or CrossEncoder, or a name or directory as in SentenceTransformer (None: the default
model). Data sets are given in the forms of aoe.train. The keyword arguments `options` are the options of the command
with underscores, such as columns, label_map, skip_bad_rows, prompt, max_length, pooling, layers and dims; None is the
default. The option similarity is "cosine", "dot", "euclidean" or "manhattan"; its default is the similarity_fn_name of
the model, as in sentence-transformers. For the last two, the values are minus the distances. The results are
dictionaries with the keys of `aoe eval --json`, with the layers and dims of the model if one of them is an option; a
metric that is undefined is None. Ctrl-C ends an evaluation with KeyboardInterrupt.
"""
from __future__ import annotations

import contextlib
import ctypes
import math
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from . import _context, _data, _inputs, _native, _options, util
from ._model import Handle, Model, find
from .sentence_transformer import SentenceTransformer

_PROGRAM = ("model", "verbose", "quiet", "json", "format", "threads")  # options of the program only, or arguments
_STRUCTS = {"sts": "aoe_sts_options", "suite": "aoe_suite_options", "pairs": "aoe_binary_options",
            "triplets": "aoe_triplet_options", "retrieval": "aoe_retrieval_options", "rerank": "aoe_rerank_options"}
SIMILARITIES = list(util.PAIRWISE)  # in the order of aoe_similarity_function


class _Evaluation:
    """The options of an evaluation: the struct of the command, and the settings of the model."""

    def __init__(self, command: str, given: dict[str, Any], threads: int | None, own: tuple[str, ...] = ()) -> None:
        rows = _options.table("eval " + command, (*_PROGRAM, *own))
        _options.check_names(given, [*rows, *own, "threads", "show_progress_bar"], f"evaluate_{command}")
        known = {name: value for name, value in given.items() if value is not None and name in rows}
        _options.check_together(rows, known, set())
        self.threads, self.options = threads, _native.options(_STRUCTS[command])
        self.similarity_given = "similarity" in known
        self.model_fields: dict[str, Any] = {}
        self.embedder_options = None
        self.size: dict[str, int] = {}  # layers and dims of the model, if one of them is an option
        model_options = _native.options("aoe_model_options")
        for name, value in given.items():
            if value is None:
                continue
            row = rows[name]
            if row["struct"] == "aoe_model_options":
                _options.assign(model_options, row, value)
                self.model_fields[row["field"]] = getattr(model_options, row["field"])
            elif row["struct"] == "aoe_embedder_options":
                if self.embedder_options is None:
                    self.embedder_options = _native.options("aoe_embedder_options")
                _options.assign(self.embedder_options, row, value)
            elif name in ("layers", "dims"):
                self.model_fields[name] = _options._integer({**row, "default": None}, value)
            elif name == "seed":
                self.options.seed = _options._integer(row, value)
            else:
                _options.assign(self.options, row, value)
        table = _options.find(self.options, "aoe_table_options")
        if table is not None:
            table.log = _context.context(threads)._log

    def path(self, files: _data.Files, data: Any, label: str = "data", two: tuple[str, str] = ("query", "positive")
             ) -> str:
        """Returns the path of a data set. A temporary file needs no options of formats."""
        path = files.path(data, label, two)
        if files.is_temporary(path):
            table, plain = _options.find(self.options, "aoe_table_options"), _native.options("aoe_table_options")
            for field in ("input_format", "delimiter", "no_header", "quoting"):
                setattr(table, field, getattr(plain, field))
        return path

    @contextlib.contextmanager
    def open(self, model: Any, cross_encoder: int = 0, **fields: Any) -> Iterator[Handle]:
        """Opens a model, or borrows the embedder of a model object. fields: further options of the model, which do not
        replace those that were given."""
        fields = {**fields, **self.model_fields}
        if isinstance(model, Model):
            context = self._of_object(model, fields)
        else:
            context = self._of_name(model, {"cross_encoder": cross_encoder, **fields})
        with context as handle:
            self.set_similarity(model, handle)
            if self.model_fields.keys() & {"layers", "dims"}:
                info = _native.struct("aoe_model_info")
                _native.load().aoe_model_get_info(handle.model, ctypes.byref(info))
                self.size = {"layers": int(info.layers), "dims": int(_native.load().aoe_embedder_dims(handle.embedder))}
            if self.embedder_options is None:
                yield handle
                return
            lib, own = _native.load(), Handle.__new__(Handle)
            own.embedder, own.model, own.context = ctypes.c_void_p(), handle.model, handle.context
            _native.check(lib.aoe_embedder_create, ctypes.byref(own.embedder), own.model,
                          ctypes.byref(self.embedder_options))
            try:
                yield own
            finally:
                lib.aoe_embedder_destroy(own.embedder)

    def set_similarity(self, model: Any, handle: Handle) -> None:
        """Sets the similarity to that of the model, unless the option is given or no embeddings are compared."""
        lexical = _native.enum("aoe_retrieval_mode")["AOE_RETRIEVAL_LEXICAL"]
        is_scored = _native.load().aoe_model_classes(handle.model) or getattr(self.options, "mode", None) == lexical
        if not self.similarity_given and not is_scored:
            self.options.similarity = SIMILARITIES.index(_similarity_of(model, handle))

    def values(self) -> dict[str, Any]:
        """Returns the layers and dims of the model, if one of them is an option, and the similarity, if it is not the
        cosine."""
        similarity = SIMILARITIES[self.options.similarity]
        return {**self.size, **({} if similarity == "cosine" else {"similarity": similarity})}

    @contextlib.contextmanager
    def _of_name(self, name: Any, fields: dict[str, Any]) -> Iterator[Handle]:
        handle = Handle(find(name, None, False, None), self.threads, fields)
        try:
            with handle.use():
                yield handle
        finally:
            handle.close()

    @contextlib.contextmanager
    def _of_object(self, model: Model, fields: dict[str, Any]) -> Iterator[Handle]:
        """Yields the handle of a model object, or opens its directory again with other options."""
        if "prompt" in fields or "prompt_name" in fields:
            pass
        elif isinstance(model, SentenceTransformer) and (template := model._own_template()) is not None:
            fields["prompt"] = _options.to_bytes(template, "prompt")
        if "dims" not in fields and isinstance(model, SentenceTransformer) and model.truncate_dim:
            fields["dims"] = model.get_embedding_dimension()
        if not fields and self.threads is None:
            with model._handle.use() as handle:
                yield handle
            return
        with model._handle.use():
            model._check_owned("changed")
            threads = model._threads if self.threads is None else self.threads
            again = Handle(model._directory, threads, {**model._fields, **fields})
        try:
            with again.use():
                yield again
        finally:
            again.close()


def _similarity_of(model: Any, handle: Handle) -> str:
    """Returns the similarity of a model: the one that was set in the program, or that of its directory."""
    info = _native.struct("aoe_model_info")
    _native.load().aoe_model_get_info(handle.model, ctypes.byref(info))
    own = model._similarity if isinstance(model, SentenceTransformer) else None
    return own or str(info.similarity.decode())


class _Progress:
    """The callback that an evaluation calls regularly. It shows a progress bar and lets Ctrl-C end the evaluation."""

    def __init__(self, show: bool | None, label: str) -> None:
        self.show, self.label = show, label
        self.bar: Any = None

    def __call__(self, user: Any, done: int, total: int) -> int:
        if self.bar is None and total:
            self.bar = _inputs.progress_bar(self.show, total, self.label)
            self.show = self.show if self.bar is not None else False
        if self.bar is not None:
            self.bar.update(done - self.bar.n)
        return 0

    def close(self) -> None:
        if self.bar is not None:
            self.bar.close()


def _call(e: _Evaluation, show: bool | None, function: Any, arguments: list[Any], report: str,
          receive: Callable[[Any], None]) -> None:
    """Calls an evaluation of the library. report: the type of its callback, which passes each result to `receive`; "":
    it has none."""
    progress = _Progress(show, "Evaluating")
    try:
        with _native.Callbacks() as callbacks:
            e.options.progress = callbacks.add("aoe_eval_progress_fn", progress, 1)
            if report:
                results = [callbacks.add(report, lambda user, result: receive(result.contents)), None]
                _native.check(function, *arguments, ctypes.byref(e.options), *results)
            else:
                _native.check(function, *arguments, ctypes.byref(e.options))
    finally:
        progress.close()


def _paths(paths: list[str]) -> Any:
    return (ctypes.c_char_p * len(paths))(*map(_native.path_bytes, paths))


def _values(result: Any, fields: str, files: _data.Files) -> dict[str, Any]:
    """Returns the fields of a result as a dictionary. fields: names separated by spaces, as KEY or KEY=PATH."""
    found: dict[str, Any] = {}
    for item in fields.split():
        key, _, path = item.partition("=")
        struct, field = _options.place(result, path or key)
        value = getattr(struct, field)
        if isinstance(value, bytes):
            value = files.named(os.fsdecode(value))
        found[key] = _defined(value) if isinstance(value, float) else value
    return found


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


# ------------------------------------------------------------ pairs and triplets


def evaluate_sts(model: Any, data: Any, *, return_scores: bool = False, show_progress_bar: bool | None = None,
                 threads: int | None = None, **options: Any) -> dict[str, Any]:
    """Computes the correlation of the similarities of text pairs with their labels (semantic textual similarity).

    data: labeled pairs (text1, text2, label), or a list of several data sets; a path may also be a SentEval folder.
    Returns "name", "pairs", "spearman", "pearson" (in [-1, 1]), "skipped" and "truncated", and "parts", the list of the
    results of all data sets, if there are several. return_scores: adds "gold" and the similarities, with the name of
    the similarity as key (such as "cosine"), float64 arrays [pairs]. The similarity is the score of a CrossEncoder with
    one output. The options are those of `aoe eval sts`."""
    e = _Evaluation("sts", options, threads)
    parts: list[dict[str, Any]] = []
    with _data.Files() as files:
        def receive(result: Any) -> None:
            part = {**_values(result, "name pairs spearman pearson skipped truncated", files), **e.values()}
            if return_scores:
                for key, values in ((part.get("similarity", "cosine"), result.cosine), ("gold", result.gold)):
                    part[key] = np.array(np.ctypeslib.as_array(values, (result.pairs,)))
            parts.append(part)

        paths = [e.path(files, one.source, label) for label, one in _plain_sets(data)]
        with e.open(model, _native.AUTO) as handle:
            _call(e, show_progress_bar, _native.load().aoe_eval_sts, [handle.embedder, _paths(paths), len(paths)],
                  "aoe_sts_fn", receive)
    return parts[0] if len(parts) == 1 else {**parts[-1], "parts": parts[:-1]}


def _plain_sets(data: Any) -> list[tuple[str, _data.Data]]:
    sets = _data.several(data)
    for label, one in sets:
        if one._settings():
            raise ValueError(f"{label}: give columns and label_map as arguments of the evaluation")
    return sets


_SETTINGS = ("all", "mean", "wmean")


def evaluate_suite(model: Any, folders: Any, *, show_progress_bar: bool | None = None, threads: int | None = None,
                   **options: Any) -> dict[str, Any]:
    """Computes the correlations on STS12 to STS16, STS-B and SICK-R, the sets of semantic textual similarity of papers.

    folders: a directory of SentEval, its subdirectory data/downstream, or another directory that contains some of these
    sets; or a list of directories, of which the first one that contains a set is used.

    Returns the average over the sets that were found: "all", "mean" and "wmean", each {"spearman", "pearson"}, where
    the subsets of a year are combined as one set of pairs, by the mean of their correlations, or by the mean weighted
    by their numbers of pairs; the counts "parts" (sets), "pairs", "skipped" and "truncated"; "sets", a list of seven
    dictionaries with these keys, "name" and "path" (None: the set was not found); and "subsets", the same for the
    subsets. The logger "aoe" warns about missing sets, and about sets that have another size than the published ones.
    The options are those of `aoe eval suite`."""
    e = _Evaluation("suite", options, threads, ("setting", "metric", "subsets"))
    paths = [folders] if _data.is_path(folders) else list(folders)
    for path in paths:
        if not _data.is_path(path) or not os.fspath(path):
            raise TypeError(f"folders must be the path of a directory, or a list of paths, not {path!r:.60}")
    rows: dict[int, list[dict[str, Any]]] = {0: [], 1: [], 2: []}  # by the values of aoe_suite_row

    def receive(result: Any) -> None:
        with _data.Files() as files:
            row = {**_values(result, "name", files), **e.values(),
                   **_values(result, "path parts pairs skipped truncated", files)}
        for i, setting in enumerate(_SETTINGS):
            row[setting] = {"spearman": _defined(result.spearman[i]), "pearson": _defined(result.pearson[i])}
        rows[result.row].append(row)
        if result.row < 2 and result.parts == 1 and result.path and result.pairs != result.published_pairs:
            _context.logger.warning("%s has %d scored pairs, but the published set has %d; the score is not comparable",
                                    row["name"], result.pairs, result.published_pairs)

    with e.open(model, _native.AUTO) as handle:
        _call(e, show_progress_bar, _native.load().aoe_eval_suite, [handle.embedder, _paths(paths), len(paths)],
              "aoe_suite_fn", receive)
    missing = [row["name"] for row in rows[1] if row["path"] is None]
    if missing:
        _context.logger.warning("sets not found and excluded from the average: %s", ", ".join(missing))
    return {**rows[2][0], "sets": rows[1], "subsets": rows[0]}


def _one(command: str, model: Any, data: Any, fields: str, report: str, function: Any, show: bool | None,
         threads: int | None, options: dict[str, Any]) -> dict[str, Any]:
    """Evaluates one table."""
    e = _Evaluation(command, options, threads)
    found: dict[str, Any] = {}
    with _data.Files() as files:
        path = e.path(files, data)
        with e.open(model, _native.AUTO) as handle:
            _call(e, show, function, [handle.embedder, _paths([path]), 1], report,
                  lambda result: found.update(_values(result, fields, files), **e.values()))
    return found


def evaluate_pairs(model: Any, data: Any, *, show_progress_bar: bool | None = None, threads: int | None = None,
                   **options: Any) -> dict[str, Any]:
    """Evaluates the classification of text pairs by their similarity, for example of duplicates.

    data: pairs with the labels 0 and 1, or other labels and the option positive_from. Returns "accuracy" and "f1" at
    the best thresholds "accuracy_threshold" and "f1_threshold", "precision" and "recall" at f1_threshold,
    "average_precision", "spearman", "pearson", and the counts "pairs", "positives", "skipped" and "truncated". The
    options are those of `aoe eval pairs`."""
    fields = ("name pairs positives=metrics.positives spearman pearson accuracy=metrics.accuracy "
              "accuracy_threshold=metrics.accuracy_threshold f1=metrics.f1 f1_threshold=metrics.f1_threshold "
              "precision=metrics.f1_precision recall=metrics.f1_recall average_precision=metrics.average_precision "
              "skipped truncated")
    return _one("pairs", model, data, fields, "aoe_binary_fn", _native.load().aoe_eval_binary, show_progress_bar,
                threads, options)


def evaluate_triplets(model: Any, data: Any, *, show_progress_bar: bool | None = None, threads: int | None = None,
                      **options: Any) -> dict[str, Any]:
    """Computes the fraction of triplets (query, positive, negative) whose positive is more similar to the query.

    Returns "accuracy", "ties" (the fraction with equal similarities), "positive_score" and "negative_score" (the mean
    similarities), and the counts "triplets", "skipped" and "truncated". A row with several negatives is one triplet for
    each of them. The options are those of `aoe eval triplets`."""
    fields = "name triplets accuracy ties positive_score negative_score skipped truncated"
    return _one("triplets", model, data, fields, "aoe_triplet_fn", _native.load().aoe_eval_triplets, show_progress_bar,
                threads, options)


def evaluate_classes(model: Any, data: Any, *, columns: Any = None, label_map: Any = None,
                     skip_bad_rows: bool | None = None) -> dict[str, Any]:
    """Computes the accuracy of a CrossEncoder with several outputs on pairs whose labels are classes."""
    e = _Evaluation("sts", {"columns": columns, "label_map": label_map, "skip_bad_rows": skip_bad_rows}, None)
    lib = _native.load()
    dev, score = ctypes.c_void_p(), ctypes.c_double()
    e.options.table.classes = 1
    if not e.options.table.label_map:
        e.options.table.label_map = b"neutral=2"
    with _data.Files() as files, e.open(model, 1) as handle:
        path = e.path(files, data)
        _native.check(lib.aoe_dev_set_load, ctypes.byref(dev), handle.context.handle, _native.path_bytes(path),
                      ctypes.byref(e.options.table))
        try:
            _native.check(lib.aoe_dev_set_evaluate, dev, handle.embedder, ctypes.byref(score))
        finally:
            lib.aoe_dev_set_free(dev)
    return {"accuracy": score.value}


# ------------------------------------------------------------ retrieval


def _beir(files: _data.Files, data: Any, queries: Any, corpus: Any, relevant_docs: Any, split: str) -> Any:
    """Returns a BEIR folder with the queries, texts and judgments, or `data` if it is given."""
    parts = {"queries": queries, "corpus": corpus, "relevant_docs": relevant_docs}
    missing = [name for name, part in parts.items() if part is None]
    if (data is None) == bool(missing):
        raise TypeError("give either data, or queries, corpus and relevant_docs" +
                        (f" ({missing[0]} is missing)" if 0 < len(missing) < 3 else ""))
    if data is not None:
        return data
    for name, part in parts.items():
        if not isinstance(part, Mapping):
            raise TypeError(f"{name} must be a dictionary, not {type(part).__name__}")
        names: dict[str, Any] = {}
        for key in part:
            if str(key) in names:
                raise ValueError(f"{name}: the ids {names[str(key)]!r} and {key!r} are the same text; rename one of "
                                 "them")
            names[str(key)] = key
    folder = pathlib.Path(files.folder())
    _data.write(str(folder / "queries.jsonl"), ({"_id": str(key), "text": text} for key, text in queries.items()))
    _data.write(str(folder / "corpus.jsonl"), (_document(key, value) for key, value in corpus.items()))
    (folder / "qrels").mkdir()
    with open(folder / "qrels" / f"{split}.tsv", "w", encoding="utf-8", newline="\n") as file:
        file.write("query-id\tcorpus-id\tscore\n")
        for query, documents in relevant_docs.items():
            if isinstance(documents, (str, bytes)) or not isinstance(documents, Iterable):
                raise TypeError(f"relevant_docs[{query!r}] must be a collection of corpus ids, or a dictionary of "
                                f"grades, not {type(documents).__name__}")
            grades = documents if isinstance(documents, Mapping) else dict.fromkeys(documents, 1)
            for document, grade in grades.items():
                for key in (query, document):
                    if any(c in str(key) for c in "\t\r\n"):
                        raise ValueError(f"the id {key!r} contains a tab or a line end")
                file.write(f"{query}\t{document}\t{grade}\n")
    return str(folder)


def _document(key: Any, value: Any) -> dict[str, Any]:
    fields = value if isinstance(value, Mapping) else {"text": value}
    return {"title": "", **fields, "_id": str(key)}


def evaluate_retrieval(model: Any, data: Any = None, *, queries: Any = None, corpus: Any = None,
                       relevant_docs: Any = None, doc_prompt: str | None = None, show_progress_bar: bool | None = None,
                       threads: int | None = None, **options: Any) -> dict[str, Any]:
    """Evaluates exact search.

    data: a BEIR folder, or a table of texts in groups (columns group and text; tuples (group, text)), in which the
    relevant texts of a text are those of its group. Instead of data, three dictionaries as in the
    InformationRetrievalEvaluator of sentence-transformers: queries {id: text}, corpus {id: text or {"title", "text"}},
    and relevant_docs {query id: set of corpus ids, or {corpus id: grade}}.

    Returns "recall" ({k: value} for each k of the option recall_at), "mrr" and "ndcg" (at the option top),
    "strict_accuracy" (groups only), and the counts "texts", "queries", "without", "skipped", "truncated",
    "missing_texts", "unknown_queries" and "duplicates". If the model has the prompts query and document, they are used
    unless the option prompt or prompt_name is given. The options are those of `aoe eval retrieval`."""
    e = _Evaluation("retrieval", options, threads, ("doc_prompt",))
    found: dict[str, Any] = {}
    o = e.options
    split = options.get("split") or "test"
    with _data.Files() as files, contextlib.ExitStack() as stack:
        source = _beir(files, data, queries, corpus, relevant_docs, split)
        path = e.path(files, source, "data", ("group", "text"))
        handle = stack.enter_context(_stage(e, model, "query"))
        docs = stack.enter_context(_documents(e, model, handle, doc_prompt))
        o.doc_embedder = docs.embedder if docs is not None else None

        def receive(result: Any) -> None:
            found.update(_values(result, "name texts queries strict_accuracy=strict", files))
            found["recall"] = {str(o.recall_at[i]): result.recall[i] for i in range(o.n_recall)}
            found.update(_values(result, "mrr ndcg", files), top=o.top, **e.values())
            found.update(_values(result, "without skipped truncated missing_texts=missing unknown_queries duplicates",
                                 files))

        _call(e, show_progress_bar, _native.load().aoe_eval_retrieval, [handle.embedder, _paths([path]), 1],
              "aoe_retrieval_fn", receive)
    if data is None:
        found["name"] = "data"
    return found


def _stage(e: _Evaluation, model: Any, name: str) -> Any:
    """Opens a model with the prompt "query" or "document", if no option sets a prompt."""
    if e.model_fields.keys() & {"prompt", "prompt_name"} or isinstance(model, Model) and model._handle.borrowed:
        return e.open(model)
    if isinstance(model, SentenceTransformer) and "prompts" in model.changed_settings():
        names = [name] if name == "query" else ["document", "passage", "corpus"]
        prompt = next((model.prompts[key] for key in names if model.prompts.get(key)), "")
        return e.open(model, prompt=_options.to_bytes(_options.template(prompt), "prompt"))
    return e.open(model, prompt_name=name.encode(), prompt_optional=1)


@contextlib.contextmanager
def _documents(e: _Evaluation, model: Any, queries: Handle, doc_prompt: str | None) -> Iterator[Handle | None]:
    """Opens the model for the documents; None: the prompt of the documents is that of the queries."""
    lib = _native.load()
    automatic = not e.model_fields.keys() & {"prompt", "prompt_name"}
    own = isinstance(model, SentenceTransformer) and "prompts" in model.changed_settings()
    has_names = own or any(lib.aoe_model_prompt(queries.model, name) for name in (b"query", b"document"))
    borrowed = isinstance(model, Model) and model._handle.borrowed
    if doc_prompt is None and (not automatic or not has_names or borrowed):
        yield None
        return
    if doc_prompt is None:
        with _stage(e, model, "document") as handle:
            yield handle
        return
    given, e.model_fields = e.model_fields, {k: v for k, v in e.model_fields.items() if not k.startswith("prompt")}
    try:
        context = e.open(model, prompt=_options.to_bytes(_options.template(doc_prompt), "doc_prompt"))
        with context as handle:
            yield handle
    finally:
        e.model_fields = given


def evaluate_rerank(model: Any, data: Any = None, *, first: Any = None, queries: Any = None, corpus: Any = None,
                    relevant_docs: Any = None, score_class: int | str | None = None,
                    output: str | os.PathLike[str] | None = None, show_progress_bar: bool | None = None,
                    threads: int | None = None, **options: Any) -> dict[str, Any]:
    """Evaluates a cross-encoder that reranks the documents that a first stage finds for each query.

    data: a BEIR folder; or queries, corpus and relevant_docs as in evaluate_retrieval. first: the embedding model of
    the first stage (exact search with its prompts query and document); or the option run, a run file of TREC.
    score_class: the output that is the score, for a model with several outputs. output: a file that receives the
    reranked lists as a run file of TREC.

    Returns "first" and "reranked", each with "ndcg" and "mrr" (at the option cutoff), "recall" (at the option top) and
    "seconds", and the counts "texts", "queries", "pairs", "without", "missing", "skipped", "truncated",
    "missing_texts", "unknown_queries" and "duplicates". The options are those of `aoe eval rerank`."""
    e = _Evaluation("rerank", options, threads, ("first", "class", "output"))
    o = e.options
    written: list[bytes] = []
    if (first is None) == (o.run is None):
        raise TypeError("give the first stage: either first, an embedding model, or run, a run file")
    result = _native.struct("aoe_rerank_result")
    with _data.Files() as files, contextlib.ExitStack() as stack:
        folder = _beir(files, data, queries, corpus, relevant_docs, options.get("split") or "test")
        if not _data.is_path(folder):
            raise TypeError(f"data must be the path of a BEIR folder, not {type(folder).__name__}")
        handle = stack.enter_context(e.open(model, 1))
        if score_class is not None:
            o.score_class = _class(handle, score_class)
        if first is not None:
            stage = _Evaluation("rerank", {}, threads, ("first", "class", "output"))
            stage.embedder_options = e.embedder_options
            if "dtype" in e.model_fields and not isinstance(first, Model):
                stage.model_fields["dtype"] = e.model_fields["dtype"]
            query = stack.enter_context(_stage(stage, first, "query"))
            docs = stack.enter_context(_documents(stage, first, query, None))
            if not e.similarity_given:
                o.similarity = stage.options.similarity
            o.first, o.first_docs = query.embedder, docs.embedder if docs is not None else None
        with _native.Callbacks() as callbacks:
            if output is not None:
                def write(user: Any, part: int, text: Any, length: int) -> int:
                    written.append(ctypes.string_at(text, length))
                    return 0

                kind = dict(type(o)._fields_)["write"]
                o.write = ctypes.cast(callbacks.add_type(_bytes_callback(kind), write, 1), kind)
            _call(e, show_progress_bar, _Rerank(_native.load().aoe_eval_rerank, result),
                  [handle.embedder, _native.path_bytes(folder)], "", lambda result: None)
    if output is not None:
        pathlib.Path(output).write_bytes(b"".join(written))
    counts = "without missing skipped truncated missing_texts=missing_documents unknown_queries duplicates"
    metrics = "ndcg mrr recall seconds"
    return {"name": "data" if data is None else os.fspath(folder), **_values(result, "texts queries pairs", files),
            **e.values(), "top": o.top, "cutoff": o.cutoff, "first": _values(result.first, metrics, files),
            "reranked": _values(result.reranked, metrics, files), **_values(result, counts, files)}


class _Rerank:
    """aoe_eval_rerank with its result before the error."""

    def __init__(self, function: Any, result: Any) -> None:
        self.function, self.result = function, result

    def __call__(self, embedder: Any, folder: bytes, options: Any, error: Any) -> int:
        return int(self.function(embedder, folder, options, ctypes.byref(self.result), error))


def _bytes_callback(kind: Any) -> Any:
    """Returns the type of a function that receives the address of a text, which may contain NUL characters."""
    arguments = [ctypes.c_void_p if argument is ctypes.c_char_p else argument for argument in kind._argtypes_]
    return ctypes.CFUNCTYPE(kind._restype_, *arguments)


def _class(handle: Handle, name: int | str) -> int:
    """Returns the index of an output of a cross-encoder."""
    lib = _native.load()
    count = int(lib.aoe_model_classes(handle.model))
    names = [lib.aoe_model_class_name(handle.model, i) for i in range(count)]
    labels = [str(i) if label is None else label.decode() for i, label in enumerate(names)]
    if isinstance(name, str):
        return _options.one_of("score_class", name, labels)
    if isinstance(name, bool) or not hasattr(name, "__index__"):
        raise TypeError(f"score_class must be the name or the index of an output, not {name!r:.60}")
    if not 0 <= name < count:
        raise ValueError(f"score_class must be from 0 to {count - 1}, not {name}")
    return int(name)
