# SPDX-License-Identifier: MIT
"""Ray Data: a class for `Dataset.map_batches` that opens the model once in each worker.

    from aoe.ray import Embedder
    texts = ray.data.read_parquet("texts.parquet")
    vectors = texts.map_batches(Embedder, fn_constructor_kwargs={"column": "text"}, batch_size=4096,
                                concurrency=4, num_cpus=2)
    vectors.write_parquet("vectors")
"""
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _adapters, _batches, _context

try:
    import ray
except ImportError as e:
    raise _adapters.missing("ray[data]", "aoe.ray") from e


def assigned_threads() -> int:
    """Returns the number of CPUs that Ray has assigned to this worker, at most those that the process may use. Outside
    of a worker, it is the default of the package."""
    own = _context.default_threads()
    if not ray.is_initialized():
        return own
    try:
        cpus = float(ray.get_runtime_context().get_assigned_resources().get("CPU", 0))
    except AssertionError:  # this process is the driver
        return own
    return max(1, min(int(cpus), own)) if cpus > 0 else own


class Embedder:
    """Adds the embeddings of the texts in `column` to a batch, as the column `output`.

    model: name or directory of a model; None: the default model. A directory must exist on every node, and a relative
    one is relative to the working directory of the worker. kind: "text" (SentenceTransformer.encode), "query"
    (encode_query) or "document" (encode_document). encode: arguments of this function, such as
    {"normalize_embeddings": True}. threads: number of threads; None: the CPUs that Ray assigns to the worker
    (`num_cpus` of map_batches). options: other arguments of SentenceTransformer.

    A batch is a dictionary of numpy arrays, the default of map_batches, a DataFrame or a pyarrow Table. Raises KeyError
    if it has no such column, and TypeError if a value is not a string."""

    def __init__(self, model: Any = None, *, column: str = "text", output: str = "embedding", kind: str = "text",
                 encode: Mapping[str, Any] | None = None, threads: int | None = None, **options: Any) -> None:
        _batches.check_kind(kind)
        self.column, self.output, self.kind, self.encode = column, output, kind, dict(encode or {})
        threads = assigned_threads() if threads is None else threads
        self.model = _batches.open_once(_batches.model_name(model), threads, options)

    def __call__(self, batch: Any) -> Any:
        names = list(batch.column_names if hasattr(batch, "column_names") else batch)
        if self.column not in names:
            raise KeyError(f"a batch has no column {self.column!r}, but the columns {', '.join(map(repr, names))}; set "
                           "column")
        is_table = hasattr(batch, "append_column")
        texts = batch[self.column].to_pylist() if is_table else list(batch[self.column])
        rows = _batches.vectors(self.model, self.kind, texts, self.encode)
        if is_table:
            import pyarrow
            values = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(rows.reshape(-1)), rows.shape[1])
            return batch.append_column(self.output, values)
        if isinstance(batch, dict):
            return {**batch, self.output: rows}
        return batch.assign(**{self.output: list(rows)})


__all__ = ["Embedder", "assigned_threads"]
