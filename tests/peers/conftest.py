# SPDX-License-Identifier: MIT
"""Fixtures of the interoperability tests, which compare aoe with the Python libraries.

`make check-peers` sets two environment variables: AOE, the path of the program, and AOE_PEERS, the directory into which
install.sh installed the Python packages and two models. A missing package or model is an error, not a skipped test.
"""
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))


def wrong_packages(requirements):
    """Returns the lines of a file of requirements whose package is missing or has another version."""
    wrong = []
    for line in filter(None, (line.split("#")[0].strip() for line in open(requirements, encoding="utf-8"))):
        name, version = line.split("==")
        try:
            found = importlib.metadata.version(name).split("+")[0]
        except importlib.metadata.PackageNotFoundError:
            found = "none"
        if found != version:
            wrong.append(f"{line} (found: {found})")
    return wrong


WRONG = wrong_packages(HERE / "requirements.txt")
if WRONG:
    sys.exit(f"Python packages are missing or have another version: {', '.join(WRONG)}. Remove $AOE_PEERS/installed "
             "and run `make check-peers`, which installs them")

import numpy as np
import pytest

from serve import Server


class Aoe:
    """Runs the program aoe."""

    def __init__(self, program):
        self.program = program

    def run(self, *args, stdin=None, fails=False):
        """Runs `aoe ARGS...` and returns the completed process. If `fails` is false, a nonzero exit code is an error;
        if it is true, exit code 0 is an error."""
        text = stdin if stdin is None or isinstance(stdin, bytes) else stdin.encode()
        done = subprocess.run([self.program, *map(str, args)], input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        done.stdout, done.stderr = done.stdout.decode(), done.stderr.decode()
        if (done.returncode == 0) == fails:
            pytest.fail(f"aoe {' '.join(map(str, args))}: exit code {done.returncode}\n"
                        f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        return done

    def embed(self, model, texts, *options, dtype="f32"):
        """Returns the embeddings of the texts as a float32 array [texts, dims]. Texts may contain line breaks."""
        lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        done = self.run("embed", "-q", "-m", model, "--dtype", dtype, "--input-format", "jsonl", "-f", "jsonl",
                        *options, stdin=lines)
        return np.array([json.loads(line)["embedding"] for line in done.stdout.splitlines()], dtype=np.float32)

    def tokenize(self, model, texts, *options):
        """Returns the token ids of each text."""
        lines = "".join(json.dumps(text) + "\n" for text in texts)
        done = self.run("tokenize", "-q", "-m", model, "--jsonl", *options, stdin=lines)
        return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="session")
def aoe():
    program = os.environ.get("AOE", str(ROOT / "build" / "aoe"))
    assert os.access(program, os.X_OK), f"{program} does not exist; run `make` first or set AOE"
    return Aoe(os.path.abspath(program))


@pytest.fixture(scope="session")
def peers():
    """The directory $AOE_PEERS."""
    path = pathlib.Path(os.environ["AOE_PEERS"])
    assert (path / "models").is_dir(), f"{path}/models does not exist; run tests/peers/install.sh {path}"
    return path


class Served:
    """A server and the models that it serves.

    server, url: the server (serve.py).
    minilm: directory of the model all-MiniLM-L6-v2, the first model of the server, with the name "minilm".
    prompted: directory of the same weights with the prompts "query", "document" and "long", with the name "prompted".
    """

    def __init__(self, server, minilm, prompted):
        self.server, self.url, self.minilm, self.prompted = server, server.url, minilm, prompted


@pytest.fixture(scope="session")
def served(aoe, peers, tmp_path_factory):
    """A server that all tests share, with the default options and the default data type."""
    minilm = peers / "models" / "all-MiniLM-L6-v2"
    prompted = tmp_path_factory.mktemp("serve") / "prompted"
    prompted.mkdir()
    for file in minilm.iterdir():
        (prompted / file.name).symlink_to(file)
    (prompted / "config_sentence_transformers.json").unlink()
    prompts = {"query": "query: ", "document": "passage: ", "long": "Represent this sentence for retrieval: "}
    (prompted / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    with Server(aoe.program, "-m", f"minilm={minilm}", "-m", f"prompted={prompted}") as server:
        yield Served(server, minilm, prompted)


@pytest.fixture(scope="session")
def shared():
    """The directory of the shared data (tests/README.md). Tests that use it are skipped where it does not exist."""
    path = pathlib.Path(os.environ.get("AOE_SHARED", ROOT.parent / "shared"))
    if not path.is_dir():
        pytest.skip(f"{path} does not exist")
    return path


def relative_error(got, want):
    """Returns the largest relative error of the rows of two arrays: the norm of the difference over the norm of `want`.
    Rows whose norm is below 1e-6 are compared absolutely."""
    got, want = np.atleast_2d(np.asarray(got, dtype=np.float64)), np.atleast_2d(np.asarray(want, dtype=np.float64))
    assert got.shape == want.shape, f"shapes {got.shape} and {want.shape}"
    norm = np.linalg.norm(want, axis=1)
    return float((np.linalg.norm(got - want, axis=1) / np.where(norm < 1e-6, 1, norm)).max())


# The largest difference of each compared property, or a number of comparisons, by file of tests: {file: {property:
# value}}
DIFFERENCES = {}


def record(name, value):
    """Records a difference for the summary that is printed after the tests."""
    file = os.environ["PYTEST_CURRENT_TEST"].split("::")[0].rsplit("/", 1)[-1]
    values = DIFFERENCES.setdefault(file, {})
    values[name] = max(values.get(name, 0), value if isinstance(value, int) else float(value))


def assert_equal(got, want, tolerance, name="embeddings"):
    """Requires that the relative error of two arrays is at most `tolerance`, and records it."""
    error = relative_error(got, want)
    record(name, error)
    assert error <= tolerance


def pytest_terminal_summary(terminalreporter):
    """Prints the number of tests, the time and the largest differences of each file of tests."""
    counts, seconds = {}, {}
    for outcome in ("passed", "failed", "skipped", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            file = report.nodeid.split("::")[0].rsplit("/", 1)[-1]
            counts.setdefault(file, {}).setdefault(outcome, 0)
            counts[file][outcome] += 1
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration"):
                file = report.nodeid.split("::")[0].rsplit("/", 1)[-1]
                seconds[file] = seconds.get(file, 0) + report.duration
    terminalreporter.section("results")
    for file in sorted(counts):
        tests = ", ".join(f"{number} {outcome}" for outcome, number in counts[file].items())
        values = ", ".join(f"{name} {value}" if isinstance(value, int) else f"{name} {value:.1e}"
                           for name, value in DIFFERENCES.get(file, {}).items())
        differences = f"; largest differences: {values}" if values else ""
        terminalreporter.write_line(f"{file}: {tests}, {seconds.get(file, 0):.0f} s{differences}")
