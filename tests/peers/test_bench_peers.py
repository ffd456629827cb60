# SPDX-License-Identifier: MIT
"""The tables and the protocol of `make bench-peers` (bench/peers)."""
import sys

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "bench" / "peers"))

import tables
from worker import Failed, Worker

MODEL = "all-MiniLM-L6-v2"


def figures():
    def embed(engine, threads, rate):
        return {"measure": "embed", "input": f"{MODEL}, 2 sentences", "engine": engine, "threads": threads,
                "tokens": 20,
                "texts_per_second": rate / 10, "tokens_per_second": rate, "cosine_min": 0.99, "cosine_mean": None,
                "peak_mb": 1234.4}

    def latency(engine, p50):
        return {"measure": "latency", "input": f"{MODEL}, one text of 16 tokens", "engine": engine, "threads": 1,
                "p50_ms": p50, "p99_ms": 2 * p50}

    results = [embed("aoe bf16", 1, 2800), embed("PyTorch bf16", 1, 1000), embed("aoe bf16", 2, 3000),
               embed("PyTorch bf16", 2, 2500), latency("aoe bf16", 1.0), latency("OpenVINO bf16", 4.0)]
    return {"cpu": "a CPU", "rounds": 1, "threads": [1, 2], "versions": {"aoe": "aoe 0.1"},
            "missing": {"llama.cpp F32": "no file"}, "results": results}


def test_tables():
    text = tables.markdown(figures())
    assert "| aoe bf16 | 280.0 | 2,800 | 300.0 | 3,000 | 0.9900 |  |\n" in text
    assert "| aoe bf16 | 1.00 / 2.00 |  | 1,234 |\n" in text
    assert "Not measured: llama.cpp F32 (no file)." in text


def test_ratios_of_rates_and_times():
    """A ratio above 1 means that aoe is faster, for rates and for times."""
    rows = [line for line in tables.ratios(figures()).splitlines() if " to " in line]
    assert [row.split("|")[4:7] for row in rows] == [
        [" 2.80 ", " 1.40 ", " yes "], [" 1.20 ", " 1.40 ", " no "], [" 4.00 ", " 1.33 ", " yes "]]


def test_replace_tables(tmp_path):
    path = tmp_path / "page.md"
    path.write_text(f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n")
    tables.replace(path, "new\n")
    assert path.read_text() == f"before\n{tables.BEGIN}\n\nnew\n\n{tables.END}\nafter\n"


def test_worker(tmp_path):
    """A worker answers commands; an engine that cannot be opened and a process that ends are reported with the
    reason."""
    program = 'print("first"); print("ready 1.0"); input(); print("1.5 2"); input(); print("- bad")'
    worker = Worker([sys.executable, "-u", "-c", program], 1, tmp_path / "log")
    assert worker.version == "1.0" and worker.first_ms > 0 and worker.peak_mb() > 1
    assert worker.ask("run") == [1.5, 2.0]
    with pytest.raises(Failed, match="^bad$"):
        worker.ask("run")
    with pytest.raises(Failed, match="the process ended"):
        worker.ask("run")
    with pytest.raises(Failed, match="^no library$"):
        Worker([sys.executable, "-c", 'print("- no library")'], 1, tmp_path / "log")
