# SPDX-License-Identifier: MIT
"""Threads, child processes, threads of the library, memory and the end of the interpreter."""
import json
import multiprocessing
import os
import socket
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import aoe
from aoe import _context, _native
from aoe._model import Borrowed

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


def test_model_of_a_running_training_waits_for_other_threads(model):
    """The library destroys the model after close, so no thread may use it then."""
    for _ in range(2):
        handle = Borrowed(model._handle.embedder.value, model._handle.context)
        borrowed, errors, started = aoe.SentenceTransformer._borrow(handle), [], threading.Event()

        def work():
            try:
                while True:
                    started.set()
                    borrowed.encode(TEXTS * 10)
            except ValueError as error:
                errors.append(str(error))

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        started.wait()
        handle.close()
        assert not handle.users
        for thread in threads:
            thread.join()
        assert len(errors) == 3 and all("the model is closed" in error for error in errors)


def test_training_ends_while_a_thread_uses_the_model(tmp_path):
    program = ("import aoe, sys, threading, warnings; warnings.simplefilter('ignore')\n"
               "def use(model):\n"
               "    try:\n        while True: model.encode(['a text about rice'] * 500)\n"
               "    except ValueError: pass\n"
               "def dev(model):\n"
               "    for _ in range(2): threading.Thread(target=use, args=(model,)).start()\n"
               "    model.encode('a')\n    return 0.5\n"
               "rows = [('a cat', 'a dog', 1.0), ('rice', 'a plane', 0.0)] * 4\n"
               "aoe.train(rows, sys.argv[1], dev=dev, max_steps=2, batch_size=2, eval_every=1)\nprint('done')")
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path / "m")], capture_output=True, text=True,
                          timeout=120, check=False)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_model_that_other_threads_used_during_fork():
    """The threads do not exist in the child, which can therefore free the model."""
    mine = aoe.SentenceTransformer()
    entered, leave = threading.Event(), threading.Event()

    def work():
        with mine._handle.use():
            entered.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    entered.wait()
    with mine._handle.use():  # this thread continues to use the model in the child
        child = os.fork()
        if not child:
            kept = len(mine._handle.users) == 1
    if not child:
        mine.close()
        os._exit(0 if kept and not mine._handle.finalizer.alive else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    leave.set()
    thread.join()
    mine.close()
    assert not mine._handle.finalizer.alive


def test_library_that_does_not_exist(tmp_path):
    done = subprocess.run([sys.executable, "-c", "import aoe"], capture_output=True, text=True, check=False,
                          env={**os.environ, "AOE_LIBRARY": str(tmp_path / "none.so")})
    assert done.returncode and "AOE_LIBRARY" in done.stderr and "none.so" in done.stderr


def test_damaged_record_of_the_library():
    interface = _native.Interface("struct broken\n    size 24\n    0 a: int\n")
    with pytest.raises(ImportError, match="install the wheel"):
        interface.type("unknown_type")
    with pytest.raises(ImportError, match="broken need 4 bytes .* but 24 in abi.txt"):
        interface.type("broken")


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


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """The directory of a static model of three words and two dimensions, with which a call takes microseconds."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    path.mkdir()
    (path / "vocab.txt").write_text("[UNK]\n[CLS]\n[SEP]\ncat\ndog\nrun\n")
    header = json.dumps({"embeddings": {"dtype": "F32", "shape": [6, 2], "data_offsets": [0, 48]}}).encode()
    rows = np.arange(12, dtype="<f4")
    (path / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + rows.tobytes())
    return path


MEMORY = """
import contextlib, gc, os, sys
import aoe

def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024

def growth(call, count):
    for _ in range(count // 10):  # warm-up
        call()
    gc.collect()
    before = resident()
    for _ in range(count):
        call()
    gc.collect()
    return resident() - before

def refused():
    with contextlib.suppress(ValueError):
        model.encode("\\ud800")

kept = []
model = aoe.SentenceTransformer(sys.argv[1], threads=1)
print(growth(lambda: model.encode("cat dog"), 100_000), growth(refused, 10_000),
      growth(lambda: model.tokenize(["cat"]), 10_000), growth(lambda: kept.append(bytes(16)), 100_000))
"""


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", "") or "libtsan" in os.environ.get("LD_PRELOAD", ""),
                    reason="sanitizers keep freed memory")
def test_memory_does_not_grow(tiny):
    """The resident memory before and after 100,000 calls, in a process of its own. The last number shows that the
    measurement finds a leak of one small object per call."""
    done = subprocess.run([sys.executable, "-c", MEMORY, str(tiny)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *growth, leak = map(int, done.stdout.split())
    assert max(growth) < 1024 < leak  # KiB


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


SERVER = """
import json
import os

import aoe

model = aoe.SentenceTransformer(threads=2)
before = model.encode(["rice"] * 50).tobytes()  # the threads of the library run before the workers are forked

def application(environ, start_response):
    same = model.encode(["rice"] * 50).tobytes() == before
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"same": same, "pid": os.getpid()}).encode()]
"""


@pytest.mark.parametrize("kind", ["sync", "gthread"])
def test_gunicorn_with_preload(kind, tmp_path):
    """gunicorn --preload opens and uses the model in the parent, and its forked workers use the model as well."""
    pytest.importorskip("gunicorn")
    (tmp_path / "server.py").write_text(SERVER)
    path = tmp_path / "socket"
    command = [sys.executable, "-m", "gunicorn", "--preload", "--workers", "2", "--worker-class", kind, "--threads",
               "1" if kind == "sync" else "2", "--timeout", "60", "--bind", f"unix:{path}", "--no-control-socket",
               "server:application"]
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        server = subprocess.Popen(command, cwd=tmp_path, stdout=log, stderr=log, env={
            **os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(os.path.abspath(aoe.__file__)))})
    try:
        pids = set()
        for _ in range(200):
            answer = ask(path, server)
            assert answer["same"]
            pids.add(answer["pid"])
            if len(pids) == 2:
                break
        assert pids and server.pid not in pids
    finally:
        server.terminate()
        code = server.wait(30)
    assert code == 0, (tmp_path / "log").read_text()


def ask(path, server):
    """Returns the answer of a server at a Unix socket, after waiting until it listens."""
    for _ in range(600):
        assert server.poll() is None, (path.parent / "log").read_text()
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(60)
            try:
                connection.connect(str(path))
            except OSError:
                time.sleep(0.1)
                continue
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
            return json.loads(answer.partition(b"\r\n\r\n")[2])
    pytest.fail("the server does not listen: " + (path.parent / "log").read_text())
