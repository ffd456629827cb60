# SPDX-License-Identifier: MIT
"""make bench-peers: compares aoe with PyTorch, sentence-transformers, ONNX Runtime, OpenVINO, llama.cpp and oneDNN in
one run.

    run.py [--quick] [--rounds N] [--threads N] [--only PART] [--engine NAME] [--docs FILE]

    --quick        one round with few texts and small models, to check that everything runs
    --rounds N     measured runs of each engine, alternating (default: 5)
    --threads N    number of threads; may be repeated (default: 1 and the number of CPUs that this process may use)
    --only PART    embed, train or matmul; may be repeated (default: all)
    --engine NAME  measure only this engine and aoe-f32, for example torch-bf16; may be repeated (default: all)
    --docs FILE    replace the tables in FILE, between the lines "<!-- bench-peers -->" and
                   "<!-- end of bench-peers -->"

The program writes the figures to $BUILD/peers/figures.json, the tables to tables.md in the same folder, and a plot.
$AOE_PEERS is the directory of install.sh, and $AOE_DATA the folder of the data sets. bench/README.md explains the
measurements.
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

import tables
import texts
from worker import Failed, Worker, pinned_environment, run_pinned

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
WORK = BUILD / "peers"
AOE = BUILD / "aoe"
STARTS = 5  # minimum number of measured cold starts
PAUSE = 0.25  # seconds before each run, in which the idle threads of other processes stop spinning

# name of the engine -> label in the tables
ENGINES = {
    "aoe-f32": "aoe f32",
    "aoe-bf16": "aoe bf16",
    "aoe-int8": "aoe int8",
    "torch-f32": "PyTorch f32",
    "torch-bf16": "PyTorch bf16",
    "torch-compiled": "PyTorch bf16, compiled",
    "st-f32": "sentence-transformers f32",
    "st-bf16": "sentence-transformers bf16",
    "ort-f32": "ONNX Runtime f32",
    "ort-int8": "ONNX Runtime int8",
    "openvino-bf16": "OpenVINO bf16",
    "openvino-int8": "OpenVINO int8 (NNCF)",
    "llama-f32": "llama.cpp F32",
    "llama-bf16": "llama.cpp BF16",
    "llama-q8_0": "llama.cpp Q8_0",
}
REFERENCES = ("torch-f32", "aoe-f32")  # the cosines are computed with the vectors of the first of these that runs


def say(text=""):
    print(text, flush=True)


class Peers:
    """The benchmark: options, prepared files and figures."""

    def __init__(self, options, home):
        self.o, self.home = options, home
        self.minilm = home / "models" / "all-MiniLM-L6-v2"
        self.results = []
        self.missing = {}  # label of an engine or name of a part -> why it was not measured
        # name of a library -> name and version
        self.versions = {"aoe": subprocess.run([AOE, "--version"], capture_output=True, text=True,
                                               check=True).stdout.strip()}
        self.calibration = None  # file of texts for the calibration of int8 models
        WORK.mkdir(parents=True, exist_ok=True)
        self.corpus = texts.Corpus(WORK, self.minilm)

    def engines(self):
        """Returns the names of the engines that are measured."""
        names = [name for name in ENGINES if not self.o.engine or name == "aoe-f32" or name in self.o.engine]
        if "aoe-int8" in names and not self.has_int8():
            names.remove("aoe-int8")
        return names

    @staticmethod
    def has_int8():
        """Returns whether this build computes in int8: `aoe embed --help` lists the values of --dtype."""
        text = subprocess.run([AOE, "embed", "--help"], capture_output=True, text=True, check=True).stdout
        return "int8" in text.split("--dtype", 1)[1].split("\n      --", 1)[0]

    def skip(self, what, reason):
        if what not in self.missing:
            self.missing[what] = str(reason)
            say(f"{what} is not measured: {reason}")

    def add(self, **result):
        self.results.append(result)

    # ------------------------------------------------------------- preparation

    def prepared(self, kind, model, *argument, suffix=""):
        """Returns the path of a file that prepare.py creates from a model, once. kind: a format of prepare.py. The file
        is created in another folder, which is renamed at the end, so an interrupted conversion is not used later."""
        name = f"{pathlib.Path(model).stem}-{kind}{suffix}"
        path, unfinished = WORK / "models" / name / name, WORK / "models" / f"{name}.unfinished"
        source = HERE / "prepare.py"
        if not path.exists() or path.stat().st_mtime < source.stat().st_mtime:
            say(f"creating {name}")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir(parents=True)
            with open(WORK / "prepare.log", "a", encoding="utf-8") as log:
                done = run_pinned([sys.executable, source, kind, model, unfinished / name, *argument], os.cpu_count(),
                                  log)
            if done.code:
                raise Failed(f"{name} could not be created; see {log.name}")
            shutil.rmtree(path.parent, ignore_errors=True)
            unfinished.rename(path.parent)
            os.utime(path)
        return path

    def file_of(self, engine, model):
        """Returns the file that an engine opens, or "-" if it opens the model directory."""
        library, kind = engine.split("-")
        if library == "ort":
            graph = self.prepared("onnx", model, suffix=".onnx")
            return graph if kind == "f32" else self.prepared("onnx-int8", graph, suffix=".onnx")
        if library == "openvino":
            graph = self.prepared("openvino", self.prepared("onnx", model, suffix=".onnx"), suffix=".xml")
            if kind == "bf16":
                return graph
            return self.prepared("openvino-int8", graph, f"{model},{self.calibration}",
                                 suffix=f"-{self.calibration.stem}.xml")
        if library == "llama":
            sources = self.home / "llama-cpp-python"
            if not sources.exists():
                raise Failed(f"{sources} does not exist; run: tests/peers/install.sh {self.home} llama")
            return self.prepared(f"gguf-{kind}", model, sources, suffix=".gguf")
        return "-"

    def command(self, engine, model, threads, *more):
        library, kind = engine.split("-")
        if library == "aoe":
            return [BUILD / "bench" / "peers" / "aoe_engine", kind, model, threads]
        return [sys.executable, HERE / "engine.py", engine, model, self.file_of(engine, model), threads, *more]

    # --------------------------------------------------------------- embedding

    def embed(self):
        quick = self.o.quick
        corpus = self.corpus
        inputs = [corpus.sentences(60 if quick else 2000), corpus.abstracts(6 if quick else 200)]
        self.calibration = corpus.calibration(30 if quick else 300)
        self.embed_model("all-MiniLM-L6-v2", self.minilm, inputs, [16, 128])
        if not quick:
            try:
                model = self.prepared("bert-base", self.minilm)
                self.embed_model("BERT-base, random weights", model, [corpus.sentences(400), corpus.abstracts(40)], [])
            except Failed as reason:
                self.skip("BERT-base", reason)

    def embed_model(self, name, model, inputs, lengths):
        """Measures all engines with one model. inputs: files of texts; lengths: tokens of the single texts."""
        corpus, cosines = self.corpus, {}
        singles = {n: corpus.single(n) for n in lengths}
        for threads in self.o.threads:
            workers = self.start(model, threads)
            try:
                for file in inputs:
                    tokens = corpus.count_tokens(file)
                    if file not in cosines:
                        cosines[file] = self.cosines(workers, file)
                    self.warm_up(workers, file)
                    times = self.rounds(workers, f"embed {file}")
                    for engine, ms in times.items():
                        seconds = statistics.median(m[0] for m in ms) / 1e3
                        low, mean = cosines[file].get(engine, (None, None))
                        self.add(measure="embed", input=f"{name}, {corpus.titles[file]}", engine=ENGINES[engine],
                                 threads=threads, ms=[m[0] for m in ms], texts_per_second=corpus.count(file) / seconds,
                                 tokens_per_second=tokens / seconds, tokens=tokens, cosine_min=low, cosine_mean=mean,
                                 peak_mb=workers[engine].peak_mb() if file == inputs[0] else None)
                    say(f"{name}, {corpus.titles[file]}, {threads} threads: measured {len(times)} engines")
                for n, file in singles.items():
                    self.latency(workers, f"{name}, one text of {n} tokens", file, threads)
            finally:
                for worker in workers.values():
                    worker.close()
        if lengths:
            self.cold_start(name, model)

    def start(self, model, threads):
        """Starts a worker for each engine."""
        workers = {}
        for engine in self.engines():
            try:
                worker = Worker(self.command(engine, model, threads), threads, WORK / f"{engine}.log")
                workers[engine] = worker
                self.versions[worker.version.split()[0]] = worker.version
            except (Failed, OSError) as reason:
                self.skip(ENGINES[engine], reason)
        return workers

    def ask(self, workers, engine, command):
        """Returns the answer of a worker, or None and removes the worker if it fails."""
        try:
            return workers[engine].ask(command)
        except Failed as reason:
            self.skip(ENGINES[engine], reason)
            workers.pop(engine).close()
            return None

    def warm_up(self, workers, file):
        for engine in list(workers):
            self.ask(workers, engine, f"embed {file}")

    def cosines(self, workers, file):
        """Returns {engine: (lowest, mean) cosine to the vectors of the reference}."""
        import numpy as np

        vectors = {}
        count = self.corpus.count(file)
        for engine in list(workers):
            output = WORK / "vectors.bin"
            if self.ask(workers, engine, f"embed {file} {output}"):
                v = np.fromfile(output, np.float32).reshape(count, -1).astype(np.float64)
                vectors[engine] = v / np.linalg.norm(v, axis=1, keepdims=True)
        reference = next((vectors[name] for name in REFERENCES if name in vectors), None)
        pairs = {engine: (v * reference).sum(1) for engine, v in vectors.items()}
        return {engine: (float(c.min()), float(c.mean())) for engine, c in pairs.items()}

    def rounds(self, workers, command):
        """Executes a command in alternating rounds. Returns {engine: [answer of each round]}."""
        answers = {}
        for number in range(self.o.rounds):
            names = list(workers)
            first = number % max(1, len(names))
            for engine in names[first:] + names[:first]:
                time.sleep(PAUSE)
                answer = self.ask(workers, engine, command)
                if answer:
                    answers.setdefault(engine, []).append(answer)
        return {engine: answer for engine, answer in answers.items() if engine in workers}

    def latency(self, workers, name, file, threads):
        count = 10 if self.o.quick else 100
        for engine, rounds in self.rounds(workers, f"single {file} {count}").items():
            ms = sorted(ms for answer in rounds for ms in answer[count // 10 :])  # without the first runs after a pause
            self.add(measure="latency", input=name, engine=ENGINES[engine], threads=threads, runs=len(ms),
                     p50_ms=statistics.median(ms), p99_ms=ms[min(len(ms) - 1, int(0.99 * len(ms)))])

    def cold_start(self, name, model):
        """Measures the time from the start of a process to the first vector. Model files are in the page cache."""
        runs = max(STARTS, self.o.rounds)
        text = WORK / "first.txt"
        text.write_text("a small text to embed\n", encoding="utf-8")
        for threads in self.o.threads:
            for engine in self.engines():
                if ENGINES[engine] in self.missing:
                    continue
                times = []
                try:
                    for _ in range(1 if self.o.quick else runs):
                        time.sleep(PAUSE)
                        times.append(self.first_vector(engine, model, threads, text))
                except Failed as reason:
                    self.skip(ENGINES[engine], reason)
                    continue
                self.add(measure="start", input=f"{name}, cold start", engine=ENGINES[engine], threads=threads,
                         ms=times, first_vector_ms=statistics.median(times))

    def first_vector(self, engine, model, threads, text):
        log = WORK / f"{engine}.log"
        if not engine.startswith("aoe"):
            worker = Worker(self.command(engine, model, threads, "--first"), threads, log, only_first=True)
            worker.close()
            return worker.first_ms
        command = [AOE, "embed", "-q", "-m", model, "--dtype", engine.split("-")[1], "-t", threads, text]
        with open(log, "a", encoding="utf-8") as file:
            done = run_pinned(command, threads, file)
        if done.code:
            raise Failed(f"aoe embed failed; see {log}")
        return done.ms

    # ---------------------------------------------------------------- training

    def train(self):
        quick = self.o.quick
        corpus = self.corpus
        scored = ["--method", "cosent", "--batch-size", "32", "--max-length", "128", "--lr", "2e-5"]
        self.train_task("cosent", "fine-tuning with CoSENT, 32 pairs per step, all-MiniLM-L6-v2", self.minilm,
                        corpus.pairs(64 if quick else 640), 2 if quick else 20, ["f32", "bf16"], scored)
        size = 128 if quick else 4096
        cached = ["--method", "contrastive", "--allow-duplicates", "--batch-size", str(size), "--cache-chunk", "64"]
        cached += ["--max-length", "128", "--lr", "2e-5"]
        self.train_task("contrastive", f"contrastive, {size} pairs per step with gradient caching, all-MiniLM-L6-v2",
                        self.minilm, corpus.pairs(size), 1, ["f32", "bf16"], cached, corpus.positives(size))
        work = WORK / ("lora-quick" if quick else "lora")
        env = {**os.environ, "BUILD": os.path.relpath(BUILD, ROOT)}
        if quick:
            env["INIT"] = "--hidden 256 --layers 2 --heads 4 --kv-heads 2 --intermediate 512"
        if subprocess.run([ROOT / "bench" / "lora.sh", "--prepare", work], env=env, check=False).returncode:
            return self.skip("LoRA", "bench/lora.sh failed")
        steps = 2 if quick else 5
        rows = texts.first_rows(work / "pairs.tsv", work / "rows.tsv", 16 * steps)
        adapters = ["--batch-size", "16", "--max-length", "32", "--lora-r", "32", "--lr", "2e-4"]
        self.train_task("lora", f"LoRA, 16 pairs of 32 tokens per step, {'small' if quick else '1.1B'} LLaMA",
                        work / "model", rows, steps, ["bf16"], adapters)
        return None

    def train_task(self, task, name, model, data, steps, types, aoe_options, aoe_data=None):
        """Measures one epoch of `steps` training steps. aoe_data: the same pairs in another format; None: `data`."""
        threads = self.o.threads[-1]
        workers, peaks, times = {}, {}, {}
        for dtype in types:
            command = [sys.executable, HERE / "step.py", task, dtype, model, data, threads]
            try:
                workers[dtype] = Worker(command, threads, WORK / f"step-{task}-{dtype}.log")
                self.versions["PyTorch"] = workers[dtype].version
            except Failed as reason:
                self.skip(f"PyTorch {dtype}, {task}", reason)
        for number in range(self.o.rounds):
            runs = [("aoe", dtype) for dtype in types] + [("PyTorch", dtype) for dtype in workers]
            first = number % len(runs)
            for library, dtype in runs[first:] + runs[:first]:
                time.sleep(PAUSE)
                label = f"{library} {dtype}"
                try:
                    if library == "aoe":
                        ms, peaks[label] = self.aoe_epoch(model, aoe_data or data, steps, dtype, aoe_options, threads)
                    else:
                        ms = workers[dtype].ask("run")[0]
                        peaks[label] = workers[dtype].peak_mb()
                    times.setdefault(label, []).append(ms)
                except Failed as reason:
                    self.skip(f"{label}, {task}", reason)
        for worker in workers.values():
            worker.close()
        with open(data, encoding="utf-8") as file:
            pairs = sum(1 for _ in file) - 1
        for label, ms in times.items():
            median = statistics.median(ms)
            self.add(measure="train", input=name, engine=label, threads=threads, ms=ms, step_ms=median / steps,
                     pairs_per_second=1e3 * pairs / median, peak_mb=peaks[label])
        say(f"{name}: measured {len(times)} engines")

    def aoe_epoch(self, model, data, steps, dtype, options, threads):
        """Trains for two epochs and returns the time of the second one in milliseconds, and the peak memory in MB."""
        output = WORK / "trained"
        command = [AOE, "train", "-q", "--force", "-m", model, "-d", data, "-o", output, "--dtype", dtype, "-t",
                   threads, "--epochs", "2", "--save-every", "1000000", *options]
        with open(WORK / "train.log", "a", encoding="utf-8") as log:
            done = run_pinned(command, threads, log)
        if done.code:
            raise Failed(f"aoe train failed; see {log.name}")
        events = [json.loads(line) for line in (output / "train-log.jsonl").read_text(encoding="utf-8").splitlines()]
        seconds = {event["step"]: event["seconds"] for event in events if event["event"] == "step"}
        return 1e3 * (seconds[2 * steps] - seconds[steps]), done.peak_mb

    # ----------------------------------------------------------------- matmuls

    def matmul(self):
        threads = self.o.threads[-1]
        path = WORK / "matmul.json"
        program = BUILD / "bench" / "peers" / "gemm_onednn"
        if not program.exists():
            return self.skip("matmuls", f"{program} does not exist; run: make bench-peers")
        command = [program, "--threads", str(threads), "--json", path]
        command += ["--quick"] if self.o.quick else ["--rounds", str(max(7, self.o.rounds))]
        if subprocess.run(command, env=pinned_environment(threads), stdout=subprocess.DEVNULL, check=False).returncode:
            return self.skip("matmuls", "gemm_onednn failed")
        figures = json.loads(path.read_text(encoding="utf-8"))
        self.versions["oneDNN"] = figures["version"]
        for row in figures["rows"]:
            work = 2e-6 * row["M"] * row["N"] * row["K"]  # GFLOP per ms
            medians = {}
            for side in row["sides"]:
                name = "aoe" if side["name"] == "aoe" else "oneDNN"
                medians[name] = min(medians.get(name, float("inf")), statistics.median(side["ms"]))
            for name, ms in medians.items():
                self.add(measure="matmul", input=f"{row['M']} x {row['N']} x {row['K']}, {row['type']}", engine=name,
                         threads=threads, gflops=work / ms, of_peak=work / ms / figures["peak_gflops"][row["type"]])
        return None

    # ------------------------------------------------------------------ output

    def figures(self):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")
        return {"cpu": cpu, "threads": self.o.threads, "rounds": self.o.rounds, "quick": self.o.quick,
                "versions": self.versions, "missing": self.missing, "results": self.results}

    def save(self):
        """Writes the figures of the parts that have been measured, and returns them and the path."""
        figures, path = self.figures(), WORK / "figures.json"
        path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
        return figures, path

    def write(self):
        figures, path = self.save()
        text = tables.markdown(figures)
        (WORK / "tables.md").write_text(text, encoding="utf-8")
        say("\n" + text)
        say(f"{path}\n{WORK / 'tables.md'}")
        if any(result["measure"] == "embed" for result in self.results):
            subprocess.run([AOE, "plot", "bench", path, "-o", WORK / "bench"], check=False)
        if self.o.docs:
            tables.replace(self.o.docs, text)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--threads", type=int, action="append")
    parser.add_argument("--only", action="append", choices=["embed", "train", "matmul"])
    parser.add_argument("--engine", action="append", choices=list(ENGINES))
    parser.add_argument("--docs", metavar="FILE")
    options = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    options.rounds = options.rounds or (1 if options.quick else 5)
    options.threads = sorted(set(options.threads or ([cpus] if options.quick else [1, cpus])))
    if options.threads[-1] > cpus:
        parser.error(f"--threads {options.threads[-1]}: this process may use only {cpus} CPUs")
    return options


def main():
    options = parse()
    home = pathlib.Path(os.environ.get("AOE_PEERS", pathlib.Path.home() / ".cache/aoe/peers"))
    if not (home / "models" / "all-MiniLM-L6-v2").exists():
        sys.exit(f"run.py: {home} contains no model; run: tests/peers/install.sh {home}")
    peers = Peers(options, home)
    for part in peers.o.only or ["embed", "train", "matmul"]:
        {"embed": peers.embed, "train": peers.train, "matmul": peers.matmul}[part]()
        peers.save()
    peers.write()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
