# SPDX-License-Identifier: MIT
"""Spark: a function for columns that opens the model once in each Python worker.

    from aoe.spark import embed_udf
    texts = spark.read.parquet("texts.parquet")
    texts.withColumn("embedding", embed_udf()("text")).write.parquet("vectors")
"""
from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from . import _adapters, _batches, _context

try:
    import pandas as pd
    from pyspark import TaskContext
    from pyspark.sql.functions import pandas_udf
except ImportError as e:
    raise _adapters.missing("pyspark[sql]", "aoe.spark") from e


def assigned_threads() -> int:
    """Returns the number of CPUs that Spark has assigned to this task (`spark.task.cpus`), at most those that the
    process may use. Outside of a task, it is the default of the package."""
    own, task = _context.default_threads(), TaskContext.get()
    return own if task is None else max(1, min(int(task.cpus()), own))


def embed_udf(model: Any = None, *, kind: str = "text", encode: Mapping[str, Any] | None = None,
              threads: int | None = None, **options: Any) -> Any:
    """Returns a pandas function from a column of texts to a column of embeddings (array<float>); null for null.

    model: name or directory of a model; None: the default model. A directory must exist on every node. kind: "text"
    (SentenceTransformer.encode), "query" (encode_query) or "document" (encode_document). encode: arguments of this
    function, such as {"normalize_embeddings": True}. threads: number of threads; None: the CPUs that Spark assigns to a
    task. options: other arguments of SentenceTransformer. `spark.sql.execution.arrow.maxRecordsPerBatch` is the number
    of texts in a batch. The package must be installed on every node. Raises TypeError and ValueError for wrong
    arguments; the errors of a worker become errors of Spark, with the message of the package."""
    _batches.check_kind(kind)
    name, arguments = _batches.model_name(model), dict(encode or {})

    def embed(batches: Iterator[pd.Series]) -> Iterator[pd.Series]:
        opened = _batches.open_once(name, assigned_threads() if threads is None else threads, options)
        for texts in batches:
            rows = iter(_batches.vectors(opened, kind, texts.dropna().tolist(), arguments))
            yield pd.Series([None if missing else next(rows) for missing in texts.isna()], dtype=object)

    # the annotations are strings in this module, so the types are given to Spark in another form
    embed.__annotations__ = {"batches": Iterator[pd.Series], "return": Iterator[pd.Series]}
    return pandas_udf(embed, "array<float>")


__all__ = ["assigned_threads", "embed_udf"]
