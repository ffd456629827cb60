#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""make bench-peers: compares aoe with oneDNN, PyTorch and ONNX Runtime on this machine in one run.

    run.py [--quick] [--rounds N] [--threads N] [--only PART] [--shape NAME] [--json FILE]

    --quick       two rounds, fewer shapes, to check that everything runs
    --rounds N    measured runs of each library, alternating (default: 7)
    --threads N   threads of each library (default: the CPUs that this process may use)
    --only PART   gemm, encoder, pretrain, short or start; may be repeated (default: all)
    --shape NAME  shape of the encoder: bert-base, minilm-l6, roberta-base, llama2-7b (one layer); may be
                  repeated (default: bert-base and minilm-l6)
    --json FILE   write every measured time to FILE

$BUILD is the build directory. Each library ("peer") is a process that executes one measured run per command. The processes
alternate, so that a disturbance of the machine affects all of them. bench/README.md explains the tables.
"""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(HERE, "..", "..", "build")))
WORK = os.path.join(BUILD, "peers")  # files for ONNX Runtime, and the model of the cold start
PYTHON = "/usr/bin/python3"  # the distribution's package of torch is installed for this Python
PAUSE = 0.25  # seconds before each run, in which the idle threads of the previous peer stop spinning (OpenBLAS: after 0.1)

# A measured configuration of a peer: column of the table, data type.
AOE_BF16, AOE_F32 = ("aoe", "bf16"), ("aoe", "f32")
TORCH_BF16, TORCH_F32, ORT_F32 = ("PyTorch", "bf16"), ("PyTorch", "f32"), ("ONNX Runtime", "f32")

# Target ratios for BERT-base 64 x 32: (mode, aoe, peer) -> least ratio. The targets of other shapes are 0.85 of these.
FLOORS = {
    ("infer", AOE_BF16, TORCH_BF16): 3.2,
    ("infer", AOE_BF16, ORT_F32): 10.0,
    ("infer", AOE_F32, ORT_F32): 1.05,
    ("train", AOE_BF16, TORCH_BF16): 5.0,
    ("train", AOE_BF16, TORCH_F32): 15.0,
    ("train", AOE_F32, TORCH_F32): 1.8,
}
OTHER_SHAPES = 0.85
SHORT_FLOOR = 2.0  # one text of 16 tokens: at most half of ONNX Runtime's time
START_LIMIT_MS = 60.0
PRETRAIN_FLOOR = 6.0  # ratio of tokens per second to PyTorch, both in bf16


def say(text=""):
    print(text, flush=True)


class Peer:
    """A process that implements the protocol of aoe_encoder.c. If it does not start, `missing` is the reason."""

    def __init__(self, name, command, env=None):
        self.name, self.missing = name, None
        self.process = None
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})}
            )
        except OSError as error:
            self.missing = str(error)
            return
        first = self.process.stdout.readline().strip()
        self.version = first[len("ready ") :]
        if not first.startswith("ready "):
            self.missing = first.lstrip("- ") or "it does not start"

    def milliseconds(self, mode, dtype, count):
        """Returns the time of `count` runs in milliseconds, or None and sets `missing` to the reason."""
        if self.missing:
            return None
        try:
            self.process.stdin.write(f"{mode} {dtype} {count}\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline().strip()
        except OSError:
            line = ""
        if not line:
            self.missing = "it ended"
            return None
        return None if line.startswith("-") else [float(word) for word in line.split()]

    def close(self):
        if self.process:
            self.process.stdin.close()
            self.process.stdout.read()
            self.process.wait()


class Missing:
    """Replaces a peer that is not installed."""

    def __init__(self, name, why):
        self.name, self.missing = name, why

    def milliseconds(self, *_):
        return None

    def close(self):
        pass


class Runner:
    def __init__(self, options):
        self.o = options
        self.figures = {"threads": options.threads, "rounds": options.rounds}
        self.ort_missing = None
        self.versions = {}
        os.makedirs(WORK, exist_ok=True)

    # ------------------------------------------------------------ preparation

    def prepare_ort(self):
        """Installs onnxruntime-node under the build directory."""
        if not shutil.which("node") or not shutil.which("npm"):
            self.ort_missing = "node and npm are not installed"
        elif not os.path.isdir(os.path.join(WORK, "node_modules", "onnxruntime-node")):
            say("installing onnxruntime-node")
            with open(os.path.join(WORK, "package.json"), "w", encoding="utf-8") as f:
                f.write('{"private": true}\n')
            command = ["npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "onnxruntime-node"]
            env = {**os.environ, "ONNXRUNTIME_NODE_INSTALL": "skip"}
            if subprocess.run(command, cwd=WORK, env=env, stdout=subprocess.DEVNULL, check=False).returncode:
                self.ort_missing = "npm could not install onnxruntime-node"
        if self.ort_missing:
            say(f"ONNX Runtime is not measured: {self.ort_missing}")

    def onnx_model(self, shape):
        """Returns the path of the exported encoder, or None and sets ort_missing to the reason."""
        path = os.path.join(WORK, f"{shape}.onnx")
        source = os.path.join(HERE, "torch_encoder.py")
        if os.path.exists(path) and os.path.getmtime(path) > os.path.getmtime(source):
            return path
        command = [PYTHON, "-B", os.path.join(HERE, "export_onnx.py"), shape, path]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        if result.returncode:
            last = (result.stderr.strip().splitlines() or ["no message"])[-1]
            self.ort_missing = f"the model could not be exported ({last})"
            say(f"ONNX Runtime is not measured: {self.ort_missing}")
            return None
        return path

    def threads_env(self):
        n = str(self.o.threads)
        return {"OMP_NUM_THREADS": n, "OPENBLAS_NUM_THREADS": n, "NODE_PATH": os.path.join(WORK, "node_modules")}

    def start(self, name, shape, texts, length):
        tail = [str(texts), str(length), str(self.o.threads)]
        if name == "aoe":
            command = [os.path.join(BUILD, "bench", "peers", "aoe_encoder"), shape, *tail]
        elif name == "PyTorch":
            command = [PYTHON, os.path.join(HERE, "torch_encoder.py"), shape, *tail]
        else:
            model = None if self.ort_missing else self.onnx_model(shape)
            if not model:
                return Missing(name, self.ort_missing)
            command = ["node", os.path.join(HERE, "ort_encoder.js"), model, *tail]
        peer = Peer(name, command, self.threads_env())
        if peer.missing:
            say(f"{name} is not measured: {peer.missing}")
        elif name not in self.versions:
            self.versions[name] = peer.version
        return peer

    # ------------------------------------------------------------ measurement

    def take_turns(self, shape, texts, length, mode, columns, count=1):
        """Returns {column: [milliseconds of each round]} without the columns that cannot be measured."""
        peers = {name: self.start(name, shape, texts, length) for name in dict.fromkeys(name for name, _ in columns)}
        times = {}
        try:
            columns = [c for c in columns if peers[c[0]].milliseconds(mode, c[1], count)]  # creates the state and warms up
            for round_number in range(self.o.rounds):
                first = round_number % max(1, len(columns))
                for column in columns[first:] + columns[:first]:
                    time.sleep(PAUSE)
                    measured = peers[column[0]].milliseconds(mode, column[1], count)
                    if measured:
                        # the first of several runs is slower, because the other peers used the caches
                        times.setdefault(column, []).append(statistics.median(measured[1:] or measured))
        finally:
            for peer in peers.values():
                peer.close()
        self.figures.setdefault("encoder", []).append(
            {
                "shape": shape,
                "texts": texts,
                "length": length,
                "mode": mode,
                "ms": {" ".join(column): values for column, values in times.items()},
            }
        )
        return times

    def encoder(self):
        shapes = self.o.shape or (["minilm-l6"] if self.o.quick else ["bert-base", "minilm-l6"])
        batches = [(64, 32)] if self.o.quick else [(64, 32), (16, 128)]
        columns = [AOE_BF16, AOE_F32, TORCH_BF16, TORCH_F32, ORT_F32]
        ratios = []
        say("\nComplete encoder: milliseconds per run, fastest / median")
        head = f"{'shape':12} {'batch':>7} {'mode':5}" + "".join(f" {' '.join(c):>21}" for c in columns)
        say(head)
        for shape in shapes:
            for texts, length in batches:
                for mode in ("infer", "train"):
                    wanted = columns if mode == "infer" else columns[:-1]
                    times = self.take_turns(shape, texts, length, mode, wanted)
                    cells = "".join(f" {cell(times.get(c)):>21}" for c in columns)
                    say(f"{shape:12} {f'{texts}x{length}':>7} {mode:5}{cells}")
                    scale = 1 if (shape, texts) in (("bert-base", 64), ("roberta-base", 64)) else OTHER_SHAPES
                    for (floor_mode, own, peer), floor in FLOORS.items():
                        if floor_mode == mode:
                            ratios.append((f"{shape} {texts}x{length} {mode}", own, peer, times, floor * scale))
        print_ratios(ratios)

    def short(self):
        say("\nOne text of 16 tokens, MiniLM-L6, inference: milliseconds, fastest / median")
        columns = [AOE_BF16, AOE_F32, TORCH_BF16, TORCH_F32, ORT_F32]
        times = self.take_turns("minilm-l6", 1, 16, "infer", columns, count=21)
        for column in columns:
            say(f"  {' '.join(column):18} {cell(times.get(column), 3):>21}")
        print_ratios([("one short text", own, ORT_F32, times, SHORT_FLOOR) for own in (AOE_BF16, AOE_F32)])

    def pretrain(self):
        texts, length = 256, 28  # a step of recipes/aoe-mini-en, whose sentences have 28 tokens on average
        say(f"\nPretraining step, aoe-mini, {texts} texts of {length} tokens: milliseconds, fastest / median (tokens per second)")
        every = [("PyTorch", "bf16-all"), ("PyTorch", "f32-all")]  # logits of every token, not only of masked tokens
        columns = [AOE_BF16, AOE_F32, TORCH_BF16, TORCH_F32, *every]
        times = self.take_turns("aoe-mini", texts, length, "pretrain", columns)
        for column in columns:
            rate = 1e3 * texts * length / statistics.median(times[column]) if times.get(column) else 0
            say(f"  {' '.join(column):18} {cell(times.get(column)):>21}  {rate:9,.0f}")
        floors = [(AOE_BF16, TORCH_BF16, PRETRAIN_FLOOR), (AOE_F32, TORCH_F32, FLOORS["train", AOE_F32, TORCH_F32])]
        floors += [(AOE_BF16, every[0], PRETRAIN_FLOOR), (AOE_F32, every[1], FLOORS["train", AOE_F32, TORCH_F32])]
        print_ratios([("aoe-mini pretraining", own, peer, times, floor) for own, peer, floor in floors])

    def gemm(self):
        say()
        path = os.path.join(WORK, "gemm.json")
        command = [os.path.join(BUILD, "bench", "peers", "gemm_onednn"), "--threads", str(self.o.threads), "--json", path]
        command += ["--quick"] if self.o.quick else ["--rounds", str(max(7, self.o.rounds))]
        if subprocess.run(command, env={**os.environ, **self.threads_env()}, check=False).returncode:
            say("matmuls: failed")
            return
        with open(path, encoding="utf-8") as f:
            self.figures["gemm"] = json.load(f)

    # ------------------------------------------------------------- cold start

    def small_model(self):
        """Creates a model with the shape and size of MiniLM-L6 (30,522 tokens, 90 MB), random weights and random words."""
        path = os.path.join(WORK, "minilm-model")
        if os.path.exists(os.path.join(path, "model.safetensors")):
            return path
        corpus = os.path.join(WORK, "words.txt")
        rng = random.Random(42)
        with open(corpus, "w", encoding="utf-8") as f:
            for _ in range(24000):
                print("".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=rng.randint(3, 9))), file=f)
        command = [os.path.join(BUILD, "aoe"), "init", "--shape", "minilm-l6", "--force", "-q", "-o", path]
        # corpus is given twice, because words that occur once do not become tokens
        command += ["--vocab-from", corpus, corpus, "--vocab-size", "30522"]
        return None if subprocess.run(command, check=False).returncode else path

    def start_up(self):
        model = self.small_model()
        if not model:
            say("cold start: aoe init failed")
            return
        size = os.path.getsize(os.path.join(model, "model.safetensors")) / 1e6
        text = os.path.join(WORK, "text.txt")
        with open(text, "w", encoding="utf-8") as f:
            f.write("a small text to embed\n")
        command = [os.path.join(BUILD, "aoe"), "embed", "-m", model, "-t", str(self.o.threads), "-q", text]
        times = []
        for run in range(3 + 3 * self.o.rounds):
            start = time.perf_counter()
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            if run >= 3:  # the first runs fill the page cache
                times.append(1e3 * (time.perf_counter() - start))
        self.figures["start_ms"] = times
        median = statistics.median(times)
        say(f"\nCold start of `aoe embed` on one short text, {size:.0f} MB model, warm page cache, process start included:")
        passed = verdict(median < START_LIMIT_MS)
        say(f"  {cell(times)} ms, fastest / median of {len(times)} (limit {START_LIMIT_MS:.0f} ms) {passed}")


def cell(times, digits=1):
    return f"{min(times):.{digits}f} / {statistics.median(times):.{digits}f}" if times else "-"


def verdict(passed):
    return "ok" if passed else "BELOW"


def print_ratios(ratios):
    say(f"\n{'ratio of medians: peer / aoe':28} {'aoe':>5} {'peer':>18} {'fastest':>8} {'median':>8} {'floor':>6}")
    for what, own, peer, times, floor in ratios:
        a, b = times.get(own), times.get(peer)
        row = f"{what:28} {own[1]:>5} {' '.join(peer):>18}"
        if a and b:
            ratio = statistics.median(b) / statistics.median(a)
            say(f"{row} {min(b) / min(a):8.2f} {ratio:8.2f} {floor:6.2f} {verdict(ratio >= floor)}")
        else:
            say(f"{row} {'-':>8} {'-':>8} {floor:6.2f}")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", action="append", choices=["gemm", "encoder", "pretrain", "short", "start"])
    parser.add_argument("--shape", action="append", choices=["bert-base", "minilm-l6", "roberta-base", "llama2-7b"])
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    options.rounds = options.rounds or (2 if options.quick else 7)
    return options


def main():
    options = parse()
    runner = Runner(options)
    parts = options.only or ["gemm", "encoder", "pretrain", "short", "start"]
    if "encoder" in parts or "short" in parts:
        runner.prepare_ort()
    say(f"{options.threads} threads, {options.rounds} alternating rounds; compare only figures of this run")
    for part in parts:
        {"gemm": runner.gemm, "encoder": runner.encoder, "pretrain": runner.pretrain, "short": runner.short, "start": runner.start_up}[part]()
    say()
    if "highest tier amx" not in runner.versions.get("aoe", "highest tier amx"):
        say("The floors are targets for a machine with AMX tiles; this machine has none.")
    for name, version in runner.versions.items():
        say(f"{name}: {version}")
    runner.figures["versions"] = runner.versions
    if options.json:
        with open(options.json, "w", encoding="utf-8") as f:
            json.dump(runner.figures, f, indent=1)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
