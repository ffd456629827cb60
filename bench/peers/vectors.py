#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the vector scans of aoe with vector libraries on the same vectors, in one run.

    bench/peers/vectors.py BASE.npy QUERIES.npy [--k 10] [--queries N] [--rounds 3] [--only NAME,...]

BASE.npy [N, D] and QUERIES.npy [Q, D] contain float32 unit vectors, for example from `aoe embed --normalize --format
npy`. Every engine answers one query at a time with one thread, and builds its index with all CPUs if it can. Each
engine runs in a process of its own, which reports the time for building its index, the bytes of the index on disk, the
memory that the process has more than before, and, for each setting of the engine, the recall of the k nearest vectors
against exact float32 results and the queries per second (median of the rounds). Engines that are not installed are left
out, and the output says so. The output is a Markdown table.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

ENGINES = {}


def engine(name, package):
    """Registers a function that builds its index and yields (1 for the first setting of an index, setting, search)."""

    def add(function):
        ENGINES[name] = (package, function)
        return function

    return add


def resident():
    """Memory of this process in bytes, without the pages of mapped files."""
    with open('/proc/self/status') as f:
        return 1024 * int(re.search(r'RssAnon:\s+(\d+)', f.read()).group(1))


@engine('faiss IndexFlatIP', 'faiss')
def flat(base, k, path):
    import faiss

    index = faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    faiss.write_index(index, path)
    yield 1, '', lambda q: index.search(q[None], k)[1][0]


@engine('faiss IndexHNSWFlat', 'faiss')
def hnsw(base, k, path):
    import faiss

    index = faiss.IndexHNSWFlat(base.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 100
    faiss.omp_set_num_threads(int(os.environ['BUILD_THREADS']))
    index.add(base)
    faiss.omp_set_num_threads(1)
    faiss.write_index(index, path)
    for ef in 32, 64, 128, 256, 512:
        index.hnsw.efSearch = ef
        yield ef == 32, f'efSearch {ef}', lambda q: index.search(q[None], k)[1][0]


@engine('faiss IndexIVFPQFastScan, rescored', 'faiss')
def fast_scan(base, k, path):
    import faiss

    lists = max(16, int(4 * len(base) ** 0.5))
    quantizer = faiss.IndexFlatIP(base.shape[1])
    codes = faiss.IndexIVFPQFastScan(quantizer, base.shape[1], lists, base.shape[1] // 2, 4, faiss.METRIC_INNER_PRODUCT)
    index = faiss.IndexRefineFlat(codes)
    faiss.omp_set_num_threads(int(os.environ['BUILD_THREADS']))
    index.train(base[: 100 * lists])
    index.add(base)
    faiss.omp_set_num_threads(1)
    faiss.write_index(index, path)
    for probes, factor in (16, 10), (64, 10), (64, 40), (256, 40), (1024, 40):
        codes.nprobe = min(probes, lists)
        index.k_factor = factor
        yield probes == 16, f'nprobe {codes.nprobe}, k_factor {factor}', lambda q: index.search(q[None], k)[1][0]


@engine('hnswlib', 'hnswlib')
def hnswlib_engine(base, k, path):
    import hnswlib

    index = hnswlib.Index('ip', base.shape[1])
    index.init_index(len(base), M=32, ef_construction=100)
    index.set_num_threads(int(os.environ['BUILD_THREADS']))
    index.add_items(base)
    index.set_num_threads(1)
    index.save_index(path)
    for ef in 32, 64, 128, 256, 512:
        index.set_ef(ef)
        yield ef == 32, f'ef {ef}', lambda q: index.knn_query(q[None], k)[0][0]


@engine('usearch', 'usearch')
def usearch_engine(base, k, path):
    import numpy
    from usearch.index import Index

    for dtype in 'f32', 'i8':
        index = Index(ndim=base.shape[1], metric='ip', dtype=dtype, connectivity=32, expansion_add=100)
        index.add(numpy.arange(len(base)), base, threads=int(os.environ['BUILD_THREADS']))
        index.save(path)
        for ef in 64, 256, 512:
            index.expansion_search = ef
            yield ef == 64, f'{dtype}, expansion {ef}', lambda q: index.search(q, k, threads=1).keys
        if dtype == 'f32':
            index.reset()


@engine('sqlite-vec', 'sqlite_vec')
def sqlite_vec_engine(base, k, path):
    import pysqlite3 as sqlite3  # sqlite3 of Python may lack the loading of extensions
    import sqlite_vec

    db = sqlite3.connect(path)
    db.enable_load_extension(True)
    sqlite_vec.load(db)
    db.execute(f'CREATE VIRTUAL TABLE v USING vec0(e float[{base.shape[1]}] distance_metric=cosine)')
    with db:
        db.executemany('INSERT INTO v(rowid, e) VALUES (?, ?)', ((i, r.tobytes()) for i, r in enumerate(base)))
    yield 1, '', lambda q: [r for (r,) in db.execute('SELECT rowid FROM v WHERE e MATCH ? AND k = ? ORDER BY distance',
                                                  (q.tobytes(), k))]


def run_engine(name, arguments):
    """Measures one engine and prints one JSON object per setting."""
    import numpy

    base = numpy.load(arguments.base)
    queries = numpy.load(arguments.queries_file)[: arguments.queries]
    truth = numpy.load(arguments.truth)
    before = resident()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'index')
        start = time.perf_counter()
        built = None
        for new, setting, search in ENGINES[name][1](base, arguments.k, path):
            if new:
                seconds = time.perf_counter() - start
            rates = []
            for _ in range(arguments.rounds):
                first = time.perf_counter()
                found = [search(q) for q in queries]
                rates.append(len(queries) / (time.perf_counter() - first))
            recall = sum(len(set(map(int, f)) & set(map(int, t))) for f, t in zip(found, truth))
            print(json.dumps({'engine': name, 'setting': setting, 'recall': recall / truth.size,
                              'rate': sorted(rates)[len(rates) // 2], 'best': max(rates), 'build': seconds,
                              'disk': os.path.getsize(path), 'memory': resident() - before}), flush=True)
            start = time.perf_counter()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('base')
    parser.add_argument('queries_file')
    parser.add_argument('--k', type=int, default=10)
    parser.add_argument('--queries', type=int, default=100)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--only', default='')
    parser.add_argument('--engine', help=argparse.SUPPRESS)
    parser.add_argument('--truth', help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.engine:
        return run_engine(arguments.engine, arguments)
    import numpy

    with tempfile.TemporaryDirectory() as folder:
        base = numpy.load(arguments.base)
        queries = numpy.load(arguments.queries_file)[: arguments.queries]
        scores = numpy.concatenate([base[i : i + 100000] @ queries.T for i in range(0, len(base), 100000)])
        truth = numpy.argsort(-scores.T, axis=1, kind='stable')[:, : arguments.k]
        numpy.save(os.path.join(folder, 'truth.npy'), truth)
        del base, scores
        print('| engine | setting | recall | queries/s | fastest | build s | MB on disk | MB in memory |')
        print('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |')
        names = [n for n in ENGINES if not arguments.only or any(o in n for o in arguments.only.split(','))]
        for name in names:
            environment = dict(os.environ, OMP_NUM_THREADS='1', BUILD_THREADS=str(os.cpu_count()))
            command = [sys.executable, __file__, arguments.base, arguments.queries_file, '--engine', name, '--truth',
                       os.path.join(folder, 'truth.npy'), '--k', str(arguments.k), '--queries', str(arguments.queries),
                       '--rounds', str(arguments.rounds)]
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env=environment) as process:
                for line in process.stdout:
                    r = json.loads(line)
                    print(f'| {r["engine"]} | {r["setting"]} | {r["recall"]:.4f} | {r["rate"]:.1f} | {r["best"]:.1f} | '
                          f'{r["build"]:.0f} | {r["disk"] / 1e6:.0f} | {r["memory"] / 1e6:.0f} |', flush=True)
                error = process.stderr.read()
            if process.returncode:
                print(f'{name} was left out: {error.strip().splitlines()[-1]}', file=sys.stderr)


if __name__ == '__main__':
    sys.exit(main())
