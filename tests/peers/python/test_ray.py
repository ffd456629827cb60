# SPDX-License-Identifier: MIT
"""Ray Data with a local cluster: batches in every format, threads from the assigned CPUs, and errors."""
import numpy as np
import pyarrow.parquet
import pytest
import ray
from conftest import PROMPTS, TEXTS

import aoe
from aoe.ray import Embedder, assigned_threads


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.parametrize("form", ["numpy", "pandas", "pyarrow"])
def test_parquet(model, tmp_path, form):
    texts = TEXTS * 5
    pyarrow.parquet.write_table(pyarrow.table({"id": range(len(texts)), "text": texts}), tmp_path / "in.parquet")
    found = ray.data.read_parquet(str(tmp_path / "in.parquet")).map_batches(
        Embedder, fn_constructor_kwargs={"threads": 1}, batch_size=3, batch_format=form, concurrency=2, num_cpus=1)
    found.write_parquet(str(tmp_path / "out"))
    table = pyarrow.parquet.read_table(tmp_path / "out").to_pandas().sort_values("id")
    assert table["text"].tolist() == texts
    assert np.array_equal(np.stack([np.asarray(v, np.float32) for v in table["embedding"]]), model.encode(texts))


def test_arguments(prompted):
    with aoe.SentenceTransformer(prompted) as opened:
        want = opened.encode(TEXTS, prompt=PROMPTS["document"], normalize_embeddings=True)
    found = ray.data.from_items([{"body": text} for text in TEXTS]).map_batches(
        Embedder, fn_constructor_args=(prompted,), concurrency=1, num_cpus=1,
        fn_constructor_kwargs={"column": "body", "output": "v", "kind": "document",
                               "encode": {"normalize_embeddings": True}}).take_all()
    assert sorted(row["body"] for row in found) == sorted(TEXTS)
    for row in found:
        assert np.array_equal(row["v"], want[TEXTS.index(row["body"])])


def test_threads():
    @ray.remote(num_cpus=1)
    def count():
        return assigned_threads()
    assert ray.get(count.remote()) == 1
    assert assigned_threads() >= 1


def test_errors():
    with pytest.raises(ValueError, match="kind is 'texts'"):
        Embedder(kind="texts")
    with pytest.raises(TypeError, match="by its name or directory"):
        Embedder(object())
    embed = Embedder(threads=1)
    with pytest.raises(KeyError, match="no column 'text', but the columns 'body'"):
        embed({"body": np.array(["a"])})
    with pytest.raises(TypeError, match=r"inputs\[1\]"):
        embed({"text": np.array(["a", None], object)})
    assert embed({"text": np.array([], object)})["embedding"].shape == (0, 384)
