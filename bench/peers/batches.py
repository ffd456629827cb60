#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares aoe.ray and aoe.spark with a plain Python loop over the same batches of texts.

    batches.py MODEL DIR [--texts 50000] [--rounds 2] [--only ray|spark]

DIR is the directory of the virtual environments of tests/peers/python/run.sh (DIR/ray, DIR/spark). Each program reads
the texts (32 tokens each) from a Parquet file in batches of 4,096, computes the vectors in one worker with as many
threads as CPUs, and writes a Parquet file. The time starts with the first batch in the worker, after the model is
open, and ends when the output is complete. The programs alternate; the fastest round of each counts. The output must be
equal. $AOE_LIBRARY is the library (default: build/libaoe.so).
"""
import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BATCH = 4096


def stamp(path):
    """Writes the current time into a file, unless it exists."""
    if not os.path.exists(path):
        pathlib.Path(path).write_text(repr(time.time()))


def run_plain(model, folder, threads):
    import aoe
    import pyarrow
    import pyarrow.parquet as parquet
    opened, writer = aoe.SentenceTransformer(model, threads=threads), None
    stamp(folder / "start")
    for batch in parquet.ParquetFile(folder / "in.parquet").iter_batches(BATCH):
        texts = batch.column("text").to_pylist()
        rows = opened.encode(texts)
        table = pyarrow.table({"text": texts, "embedding": pyarrow.FixedSizeListArray.from_arrays(
            pyarrow.array(rows.reshape(-1)), rows.shape[1])})
        writer = writer or parquet.ParquetWriter(folder / "out.parquet", table.schema)
        writer.write_table(table)
    writer.close()


def run_ray(model, folder, threads):
    import ray
    from aoe.ray import Embedder

    class Stamped(Embedder):
        def __call__(self, batch):
            stamp(folder / "start")
            return super().__call__(batch)

    os.environ["RAY_worker_niceness"] = "0"  # the same priority as the plain loop
    ray.init(num_cpus=threads + 1, include_dashboard=False, log_to_driver=False)
    ray.data.read_parquet(str(folder / "in.parquet")).map_batches(
        Stamped, fn_constructor_kwargs={"model": model}, batch_size=BATCH, concurrency=1,
        num_cpus=threads).write_parquet(str(folder / "out.parquet"))
    done = time.time()
    ray.shutdown()
    return done


def run_spark(model, folder, threads):
    import pandas
    from aoe.spark import embed_udf
    from pyspark.sql import SparkSession
    from pyspark.sql.functions import pandas_udf
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    spark = (SparkSession.builder.master(f"local[{threads}]").config("spark.task.cpus", threads)
             .config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH).config("spark.ui.enabled", "false")
             .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate())
    spark.sparkContext.setLogLevel("ERROR")
    path = str(folder / "start")

    def first(texts: pandas.Series) -> pandas.Series:
        import os
        import time
        if not os.path.exists(path):
            with open(path, "w", encoding="utf-8") as file:
                file.write(repr(time.time()))
        return texts

    embed = embed_udf(model)
    frame = spark.read.parquet(str(folder / "in.parquet"))
    frame = frame.withColumn("text", pandas_udf(first, "string")("text"))
    frame.withColumn("embedding", embed("text")).write.parquet(str(folder / "out.parquet"))
    done = time.time()
    spark.stop()
    return done


def measure(name, args, source):
    """Runs one program. Returns its seconds and a hash of its vectors in the order of the texts."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "in.parquet").symlink_to(source)
        python = args.dir / ("spark" if name == "spark" else "ray") / "bin" / "python"
        environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), PYTHONDONTWRITEBYTECODE="1",
                           AOE_LIBRARY=os.environ.get("AOE_LIBRARY", str(ROOT / "build" / "libaoe.so")),
                           RAY_worker_niceness="0")
        done = subprocess.run([python, __file__, "--run", name, args.model, folder], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"{name} failed:\n{done.stderr[-3000:]}")
        seconds, digest = done.stdout.split()[-2:]
        return float(seconds), digest


def program(name, model, folder):
    folder = pathlib.Path(folder)
    end = {"plain": run_plain, "ray": run_ray, "spark": run_spark}[name](
        model, folder, len(os.sched_getaffinity(0))) or time.time()
    import hashlib

    import numpy as np
    import pyarrow.parquet as parquet
    table = parquet.read_table(folder / "out.parquet", columns=["text", "embedding"]).sort_by("text")
    column = table["embedding"].combine_chunks()
    rows = np.array(getattr(column, "storage", column).flatten().to_numpy(), np.float32)
    print(end - float((folder / "start").read_text()), hashlib.sha256(rows.tobytes()).hexdigest())


def write_texts(path, model, count, python):
    """Writes texts of 30 words of the vocabulary, so that they have 32 tokens with [CLS] and [SEP]."""
    words = [w for w in (pathlib.Path(model) / "vocab.txt").read_text(encoding="utf-8").split("\n")
             if w.isascii() and w.isalpha() and len(w) > 2]
    draw = random.Random(1)
    texts = "\n".join(" ".join(draw.choices(words, k=30)) for _ in range(count))
    code = ("import sys, pyarrow, pyarrow.parquet as p\n"
            "p.write_table(pyarrow.table({'text': sys.stdin.read().split('\\n')}), sys.argv[1])")
    subprocess.run([python, "-c", code, path], input=texts, text=True, check=True)


def main():
    if sys.argv[1:2] == ["--run"]:
        return program(*sys.argv[2:])
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--texts", type=int, default=50000)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", choices=["ray", "spark"])
    args = parser.parse_args()
    names = ["plain", args.only] if args.only else ["plain", "ray", "spark"]
    times = {name: [] for name in names}
    hashes = set()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "texts.parquet"
        write_texts(source, args.model, args.texts, args.dir / "ray" / "bin" / "python")
        for _ in range(args.rounds):
            for name in names:
                seconds, digest = measure(name, args, source)
                times[name].append(seconds)
                hashes.add(digest)
                print(f"{name}: {seconds:.2f} s", flush=True)
    if len(hashes) != 1:
        sys.exit("the vectors differ")
    for name in names[1:]:
        print(f"{name}: {100 * (min(times[name]) / min(times['plain']) - 1):+.1f}% compared with the plain loop")
    return 0


if __name__ == "__main__":
    sys.exit(main())
