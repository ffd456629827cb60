#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the vector scans of aoe with vector libraries on the same vectors, in one run.

    bench/peers/vectors.py BASE.npy [--k 10] [--queries 200] [--rounds 3] [--only NAME,...] [--work DIR]

BASE.npy [N, D] contains float32 unit vectors, for example from `aoe embed --normalize --format npy`. The queries are
every (N / QUERIES)-th row, and a query's own row does not count as a result. First every engine builds its index with
all CPUs and writes it to DIR (default: a temporary folder), unless DIR contains it from an earlier run. Then every
engine, in a process of its own, opens its index and answers one query at a time with one thread. The table shows the
recall of the k nearest vectors against exact float32 scores, the queries per second (median of the rounds, and
fastest), the time of the build, the bytes of the index on disk, and the memory of the process that is not a mapped
file. Times are CPU times, which hardly depend on other processes: the time of a build is the sum over all threads.
The rows of aoe come from build/bench/scan_bench: 25 queries for the rates, 1,000 for the recall of the fast scan, and
100 for that of the exact scan; the bytes are those of the rows in the files of an index, and the memory is not
measured. Engines that are not installed are left out, and the output says so.
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
    """Registers a class with build(base, path) and settings(path, base, k), which yields (setting, search)."""

    def add(cls):
        ENGINES[name] = (package, cls)
        return cls

    return add


def own_memory():
    """Memory of this process in bytes, without the pages of mapped files."""
    with open('/proc/self/status', encoding='ascii') as f:
        return 1024 * int(re.search(r'RssAnon:\s+(\d+)', f.read()).group(1))


@engine('faiss IndexFlatIP', 'faiss')
class Flat:
    def build(self, base, path):
        import faiss

        index = faiss.IndexFlatIP(base.shape[1])
        index.add(base)
        faiss.write_index(index, path)

    def settings(self, path, k):
        import faiss

        index = faiss.read_index(path)
        yield '', lambda q: index.search(q[None], k)[1][0]


@engine('faiss IndexHNSWFlat', 'faiss')
class Hnsw:
    def build(self, base, path):
        import faiss

        index = faiss.IndexHNSWFlat(base.shape[1], 32, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = 100
        index.add(base)
        faiss.write_index(index, path)

    def settings(self, path, k):
        import faiss

        index = faiss.read_index(path)
        for ef in 32, 64, 128, 256, 512:
            index.hnsw.efSearch = ef
            yield f'M 32, efConstruction 100, efSearch {ef}', lambda q: index.search(q[None], k)[1][0]


@engine('faiss IndexIVFPQFastScan', 'faiss')
class FastScan:
    def build(self, base, path):
        import faiss

        lists = max(16, int(2 * len(base) ** 0.5))
        quantizer = faiss.IndexFlatIP(base.shape[1])
        codes = faiss.IndexIVFPQFastScan(quantizer, base.shape[1], lists, base.shape[1] // 2, 4,
                                         faiss.METRIC_INNER_PRODUCT)
        index = faiss.IndexRefineFlat(codes)
        index.train(base[:: max(1, len(base) // (40 * lists))])
        index.add(base)
        faiss.write_index(index, path)

    def settings(self, path, k):
        import faiss

        index = faiss.read_index(path)
        codes = faiss.downcast_index(index.base_index)
        for probes, factor in (16, 10), (64, 10), (64, 40), (256, 40), (1024, 40):
            codes.nprobe = min(probes, codes.nlist)
            index.k_factor = factor
            yield f'nprobe {codes.nprobe}, {factor} k rescored', lambda q: index.search(q[None], k)[1][0]


@engine('hnswlib', 'hnswlib')
class HnswLib:
    def build(self, base, path):
        import hnswlib

        index = hnswlib.Index('ip', base.shape[1])
        index.init_index(len(base), M=16, ef_construction=100)
        index.add_items(base)
        index.save_index(path)

    def settings(self, path, k):
        import hnswlib

        index = hnswlib.Index('ip', DIMS)
        index.load_index(path)
        index.set_num_threads(1)
        for ef in 32, 64, 128, 256, 512:
            index.set_ef(ef)
            yield f'M 16, ef_construction 100, ef {ef}', lambda q: index.knn_query(q[None], k)[0][0]


class USearch:
    def build(self, base, path):
        import numpy
        from usearch.index import Index

        index = Index(ndim=base.shape[1], metric='ip', dtype=self.dtype, connectivity=16, expansion_add=100)
        index.add(numpy.arange(len(base)), base)
        index.save(path)

    def settings(self, path, k):
        from usearch.index import Index

        index = Index.restore(path)
        for ef in 64, 256, 512:
            index.expansion_search = ef
            yield f'connectivity 16, expansion {ef}', lambda q: index.search(q, k, threads=1).keys


@engine('usearch f32', 'usearch')
class USearchFloat(USearch):
    dtype = 'f32'


@engine('usearch i8', 'usearch')
class USearchInt8(USearch):
    dtype = 'i8'


@engine('sqlite-vec', 'sqlite_vec')
class SqliteVec:
    def connect(self, path):
        import pysqlite3 as sqlite3  # sqlite3 of Python may lack the loading of extensions
        import sqlite_vec

        db = sqlite3.connect(path)
        db.enable_load_extension(True)
        sqlite_vec.load(db)
        return db

    def build(self, base, path):
        db = self.connect(path)
        db.execute(f'CREATE VIRTUAL TABLE v USING vec0(e float[{base.shape[1]}] distance_metric=cosine)')
        with db:
            db.executemany('INSERT INTO v(rowid, e) VALUES (?, ?)', ((i, r.tobytes()) for i, r in enumerate(base)))
        db.close()

    def settings(self, path, k):
        db = self.connect(path)
        yield '', lambda q: [r for (r,) in db.execute('SELECT rowid FROM v WHERE e MATCH ? AND k = ? ORDER BY distance',
                                                      (q.tobytes(), k))]


def build(name, arguments, path):
    """Builds the index of one engine and writes the CPU time next to it."""
    import numpy

    base = numpy.load(arguments.base)
    start = time.process_time()
    ENGINES[name][1]().build(base, path + '.new')
    seconds = time.process_time() - start
    os.replace(path + '.new', path)
    with open(path + '.json', 'w', encoding='utf-8') as f:
        json.dump({'seconds': seconds}, f)


def measure(name, arguments, path):
    """Measures one engine and prints one JSON object per setting."""
    import numpy

    global DIMS
    base = numpy.load(arguments.base, mmap_mode='r')
    DIMS = base.shape[1]
    rows = query_rows(len(base), arguments)
    queries = numpy.array(base[rows])
    truth = numpy.load(os.path.join(arguments.work, 'truth.npy'))
    before = own_memory()
    with open(path + '.json', encoding='utf-8') as f:
        seconds = json.load(f)['seconds']
    for setting, search in ENGINES[name][1]().settings(path, arguments.k + 1):
        rates = []
        for _ in range(arguments.rounds):
            first = time.process_time()
            found = [search(q) for q in queries]
            rates.append(len(queries) / (time.process_time() - first))
        recall = 0
        for row, f, t in zip(rows, found, truth):
            recall += len({int(x) for x in f if x != row} & {int(x) for x in t})
        print(json.dumps({'engine': name, 'setting': setting, 'recall': recall / truth.size,
                          'rate': sorted(rates)[len(rates) // 2], 'best': max(rates), 'build': seconds,
                          'disk': os.path.getsize(path), 'memory': own_memory() - before}), flush=True)


def query_rows(n, arguments):
    return [i * (n // arguments.queries) for i in range(arguments.queries)]


def write_truth(arguments):
    """Writes the k best rows of every query by float32 scores."""
    import numpy

    base = numpy.load(arguments.base, mmap_mode='r')
    rows = query_rows(len(base), arguments)
    scores = numpy.concatenate([base[i : i + 100000] @ base[rows].T for i in range(0, len(base), 100000)])
    scores[rows, range(len(rows))] = -2
    best = numpy.argpartition(-scores, arguments.k, axis=0)[: arguments.k]
    numpy.save(os.path.join(arguments.work, 'truth.npy'), best.T)


def print_row(r):
    memory = f'{r["memory"] / 1e6:.0f}' if 'memory' in r else ''
    print(f'| {r["engine"]} | {r["setting"]} | {r["recall"]:.4f} | {r["rate"]:.1f} | {r["best"]:.1f} | '
          f'{r["build"]:.0f} | {r["disk"] / 1e6:.0f} | {memory} |', flush=True)


def measure_aoe(arguments):
    """Prints the rows of aoe, from the output of scan_bench."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    command = [os.path.join(root, 'build', 'bench', 'scan_bench'), arguments.base, '--threads', '1', '--check', '100',
               '--k', str(arguments.k)]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    n, dims, encoding = re.search(r'(\d+) vectors of (\d+) components.*encoding ([\d.]+) us', out).groups()
    n, dims = int(n), int(dims)
    wrong = int(re.search(r'(\d+) differ', out).group(1))
    recall = float(re.search(r'recall@.*: ([\d.]+)', out).group(1))
    for name, bytes_, found in ('exact', dims + 8, 1 - wrong / 100), ('fast', dims + 8 + dims / 8, recall):
        best, median = re.search(rf'\| {name} +\| +1 \|.*', out).group(0).split('|')[4:6]
        print_row({'engine': f'aoe, {name}', 'setting': '', 'recall': found, 'rate': 1000 / float(median),
                   'best': 1000 / float(best), 'build': n * float(encoding) / 1e6, 'disk': n * (bytes_ + 4 * dims)})


def compare(arguments):
    """Builds and measures all engines."""
    names = [n for n in ENGINES if not arguments.only or any(o in n for o in arguments.only.split(','))]

    def step(option, name, threads):
        command = [sys.executable, __file__, arguments.base, option, name, '--work', arguments.work, '--k',
                   str(arguments.k), '--queries', str(arguments.queries), '--rounds', str(arguments.rounds)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, OMP_NUM_THREADS=threads)) as process:
            for line in process.stdout:
                print_row(json.loads(line))
            error = process.stderr.read()
        if process.returncode:
            print(f'{name} was left out: {error.strip().splitlines()[-1]}', file=sys.stderr)
        return process.returncode == 0

    names = [name for name in names if os.path.exists(os.path.join(arguments.work, name.replace(' ', '-') + '.json'))
             or step('--build', name, str(os.cpu_count()))]
    if arguments.build_only:
        return 0
    write_truth(arguments)
    print('| engine | setting | recall | queries/s | fastest | build, CPU s | MB on disk | MB in memory |')
    print('| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |')
    measure_aoe(arguments)
    for name in names:
        step('--measure', name, '1')
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('base')
    parser.add_argument('--k', type=int, default=10)
    parser.add_argument('--queries', type=int, default=200)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--only', default='')
    parser.add_argument('--work')
    parser.add_argument('--build', help=argparse.SUPPRESS)
    parser.add_argument('--measure', help=argparse.SUPPRESS)
    parser.add_argument('--build-only', action='store_true', help='builds the indexes in DIR, without measuring')
    arguments = parser.parse_args()
    for run, name in (build, arguments.build), (measure, arguments.measure):
        if name:
            return run(name, arguments, os.path.join(arguments.work, name.replace(' ', '-')))
    if arguments.work:
        os.makedirs(arguments.work, exist_ok=True)
        return compare(arguments)
    with tempfile.TemporaryDirectory(prefix='vectors-') as arguments.work:
        return compare(arguments)


if __name__ == '__main__':
    sys.exit(main())
