# SPDX-License-Identifier: MIT
"""Processes that run.py measures. Each process may use only as many CPUs as it has threads."""
import os
import subprocess
import time
from dataclasses import dataclass


class Failed(Exception):
    """An engine cannot be measured; the message is the reason."""


def pinned_environment(threads):
    """Returns the environment of a process with this number of threads. RAYON_NUM_THREADS is that of the tokenizers."""
    n = str(threads)
    return {**os.environ, "OMP_NUM_THREADS": n, "RAYON_NUM_THREADS": n, "TOKENIZERS_PARALLELISM": "true",
            "HF_HUB_OFFLINE": "1",
            "PYTHONDONTWRITEBYTECODE": "1", "PYTHONWARNINGS": "ignore", "TRANSFORMERS_VERBOSITY": "error"}


def open_process(command, threads, **more):
    cpus = sorted(os.sched_getaffinity(0))[: int(threads)]
    return subprocess.Popen([str(word) for word in command], env=pinned_environment(threads),
                            preexec_fn=lambda: os.sched_setaffinity(0, cpus), **more)


@dataclass
class Finished:
    code: int  # exit code
    ms: float  # time from the start of the process to its end
    peak_mb: float  # peak resident memory


def run_pinned(command, threads, log):
    """Runs a command to its end. Its output goes to the file `log`."""
    start = time.perf_counter()
    process = open_process(command, threads, stdout=log, stderr=log)
    _, status, usage = os.wait4(process.pid, 0)
    ms = 1e3 * (time.perf_counter() - start)
    process.returncode = os.waitstatus_to_exitcode(status)
    return Finished(process.returncode, ms, usage.ru_maxrss * 1024 / 1e6)


class Worker:
    """A process that answers each line on stdin with one line of numbers, or with "- REASON"."""

    def __init__(self, command, threads, log, only_first=False):
        """Starts the process and waits until it is ready. only_first: the process ends after its first vector."""
        self.first_ms = None  # time from the start of the process to its first vector
        self.log = log
        start = time.perf_counter()
        with open(log, "w", encoding="utf-8") as stderr:
            self.process = open_process(command, threads, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                        text=True)
        line = self.line()
        if line == "first":
            self.first_ms = 1e3 * (time.perf_counter() - start)
            line = "ready" if only_first else self.line()
        self.version = line.removeprefix("ready").strip()

    def line(self):
        line = self.process.stdout.readline().strip()
        if not line:
            self.close()
            raise Failed(f"the process ended; see {self.log}")
        if line.startswith("-"):
            raise Failed(line.lstrip("- "))
        return line

    def ask(self, command):
        try:
            self.process.stdin.write(command + "\n")
            self.process.stdin.flush()
        except OSError:
            pass  # line() reports that the process ended
        return [float(word) for word in self.line().split()]

    def peak_mb(self):
        """Returns the peak resident memory of the process in MB."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
            return next(int(line.split()[1]) * 1024 / 1e6 for line in file if line.startswith("VmHWM:"))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()
