# SPDX-License-Identifier: MIT
"""Threads, child processes, threads of the library, memory and the end of the interpreter."""
import multiprocessing
import os
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest

import aoe
from aoe import _context

TEXTS = [f"text number {i} about {'rice ' * (i % 7)}" for i in range(60)]
opened = None


def encode_in_child(texts):
    return opened.encode(texts)


def test_several_threads_compute_the_same_bits(model):
    expected, failures = model.encode(TEXTS), []

    def work():
        for _ in range(5):
            if not np.array_equal(model.encode(TEXTS), expected):
                failures.append("other bits")

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_close_waits_for_other_threads():
    for _ in range(10):
        mine, errors = aoe.SentenceTransformer(), []

        def work():
            try:
                while True:
                    mine.encode(TEXTS)
            except ValueError as error:
                errors.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        mine.close()
        for thread in threads:
            thread.join()
        assert errors == ["the model is closed"] * 3


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_child_processes(model, method):
    global opened
    opened, expected = model, model.encode(TEXTS)
    if method == "fork":
        with multiprocessing.get_context(method).Pool(2) as pool:
            results = pool.map(encode_in_child, [TEXTS] * 4)
    else:  # the model is pickled
        with multiprocessing.get_context(method).Pool(1) as pool:
            results = [pool.apply_async(model.encode, (TEXTS,)).get(60)]
    assert all(np.array_equal(result, expected) for result in results)


def test_number_of_threads(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cpus = len(os.sched_getaffinity(0))
    assert 1 <= _context.default_threads() <= cpus
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert _context.default_threads() == 1 and aoe.SentenceTransformer().threads == 1
    monkeypatch.setenv("OMP_NUM_THREADS", str(10 * cpus))
    assert _context.default_threads() <= cpus  # an upper limit
    assert aoe.SentenceTransformer(threads=3).threads == 3


def test_memory_does_not_grow(model):
    for _ in range(300):
        model.encode("a")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(3000):
        model.encode("a")
        with pytest.raises(ValueError):
            model.encode("\ud800")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 3000  # KiB


@pytest.mark.parametrize("program", [
    "import aoe; m = aoe.SentenceTransformer(); m.encode('a')",
    "import aoe; m = aoe.SentenceTransformer(); n = aoe.SentenceTransformer(threads=1); n.encode('a'); del m",
    "import aoe, threading; m = aoe.SentenceTransformer()\n"
    "t = threading.Thread(target=lambda: [m.encode(['a'] * 50) for _ in range(10**6)], daemon=True); t.start()",
])
def test_end_of_the_interpreter(program):
    done = subprocess.run([sys.executable, "-X", "dev", "-c", program], capture_output=True, text=True, timeout=60,
                          check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_ctrl_c_ends_a_call(model):
    program = ("import aoe, os, signal, threading\n"
               "m = aoe.SentenceTransformer()\n"
               "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
               "try:\n    m.encode(['word ' * 300] * 10**5)\n"
               "except KeyboardInterrupt:\n    print('stopped', m.encode('a').shape)\n")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "stopped (384,)\n", done.stderr


def test_import_needs_only_numpy():
    program = ("import sys, numpy; before = set(sys.modules); import aoe\n"
               "names = {n.split('.')[0] for n in set(sys.modules) - before} - set(sys.stdlib_module_names)\n"
               "print(sorted(n for n in names if not n.startswith('_')))")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['aoe', 'numpy']\n" or done.stdout == "['aoe']\n"
