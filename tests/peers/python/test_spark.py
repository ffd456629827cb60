# SPDX-License-Identifier: MIT
"""Spark with a local cluster: columns of texts from and to Parquet, null, threads of the assigned CPUs, and errors."""
import os
import shutil
import sys

import numpy as np
import pytest
from conftest import PROMPTS, TEXTS

import aoe

if shutil.which("java") is None:
    pytest.skip("Spark needs Java: install default-jre-headless", allow_module_level=True)

from aoe.spark import assigned_threads, embed_udf
from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = (SparkSession.builder.master("local[2]").appName("aoe")
               .config("spark.sql.execution.arrow.maxRecordsPerBatch", 3).config("spark.ui.enabled", "false")
               .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
               .config("spark.sql.shuffle.partitions", 2).getOrCreate())
    yield session
    session.stop()


def test_parquet(spark, model, tmp_path):
    texts = TEXTS * 5
    frame = spark.createDataFrame([(i, text) for i, text in enumerate(texts)] + [(99, None)], "id int, text string")
    frame.repartition(2).write.parquet(str(tmp_path / "in"))
    found = spark.read.parquet(str(tmp_path / "in"))
    found.withColumn("embedding", embed_udf(threads=1)("text")).write.parquet(str(tmp_path / "out"))
    rows = {row["id"]: row for row in spark.read.parquet(str(tmp_path / "out")).collect()}
    assert rows.pop(99)["embedding"] is None
    assert [rows[i]["text"] for i in range(len(texts))] == texts
    vectors = np.array([rows[i]["embedding"] for i in range(len(texts))], np.float32)
    assert np.array_equal(vectors, model.encode(texts))


def test_arguments(spark, prompted):
    with aoe.SentenceTransformer(prompted) as opened:
        want = opened.encode(TEXTS, prompt=PROMPTS["query"], normalize_embeddings=True)
    embed = embed_udf(prompted, kind="query", encode={"normalize_embeddings": True})
    found = spark.createDataFrame([(text,) for text in TEXTS], "text string").select("text", embed("text").alias("v"))
    for row in found.collect():
        assert np.array_equal(np.array(row["v"], np.float32), want[TEXTS.index(row["text"])])


def test_threads(spark):
    counts = spark.sparkContext.parallelize(range(2), 2).map(lambda _: assigned_threads()).collect()
    assert counts == [1, 1]
    assert assigned_threads() >= 1


def test_errors(spark, tmp_path):
    with pytest.raises(ValueError, match="kind is 'texts'"):
        embed_udf(kind="texts")
    with pytest.raises(TypeError, match="by its name or directory"):
        embed_udf(object())
    frame = spark.createDataFrame([("a",)], "text string")
    with pytest.raises(Exception, match="no-such-model"):
        frame.select(embed_udf(str(tmp_path / "no-such-model"))("text")).collect()
