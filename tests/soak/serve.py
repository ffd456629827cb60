#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sends mixed requests and faults to `aoe serve` for a long time: serve.py PROGRAM MINUTES [SEED]

`make soak SAN=address,undefined MINUTES=30` and `make soak SAN=thread MINUTES=30` run it. Clients send texts to the
routes, and compare every answer with the value that the same server returned for the text at the start, which must
equal the output of `aoe embed`. At the same time, other clients close connections while their request is queued, send
slowly, send malformed requests, exceed the limits, and open idle connections, and the models are opened anew by SIGHUP.
At the end, the server must stop after SIGTERM with the exit code 0, without a report of a sanitizer.

The script uses only the Python standard library, and only the loopback interface.
"""
import base64
import collections
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MODEL = ROOT / "models" / "aoe-small-en"
TIMEOUT = 120  # seconds for an answer; a program with sanitizers is slow


def read_texts():
    """Returns lines of the documentation: short ones, long ones, and some that are truncated."""
    lines = []
    for path in sorted((ROOT / "docs").glob("*.md")):
        lines += [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    unique = list(dict.fromkeys(lines))[:800]
    return unique + [" ".join(unique[i:i + 40]) for i in range(0, 400, 40)] + ["Ä", "日本語の文", "a\x00b", " "]


def float32(values):
    return struct.pack(f"<{len(values)}f", *values)


class Soak:
    def __init__(self, program, minutes, seed):
        self.random = random.Random(seed)
        self.folder = tempfile.TemporaryDirectory(prefix="aoe-soak-")
        self.end = time.monotonic() + 60 * minutes
        self.counts = collections.Counter()
        self.failures = []
        self.lock = threading.Lock()
        self.texts = read_texts()
        self.index = self.make_index(program)
        self.errors = open(os.path.join(self.folder.name, "stderr"), "w+", encoding="utf-8")
        self.server = subprocess.Popen(
            [program, "serve", "-m", f"small={MODEL}", "-m", f"other={MODEL}", "-i", f"notes={self.index}",
             "--port", "0", "--json", "--cache-mb", "1", "--max-concurrent-requests", "40", "--header-timeout", "5",
             "--body-timeout", "5"], stdout=subprocess.PIPE, stderr=self.errors, text=True)
        self.address = json.loads(self.server.stdout.readline())["address"]
        self.port = int(self.address.rsplit(":", 1)[1])
        self.expected = self.embed_with_program(program)

    def make_index(self, program):
        folder = os.path.join(self.folder.name, "notes")
        os.mkdir(folder)
        for i in range(20):
            with open(os.path.join(folder, f"{i}.txt"), "w", encoding="utf-8") as out:
                out.write("\n\n".join(self.texts[i * 10:i * 10 + 10]))
        subprocess.run([program, "index", "-m", MODEL, "-o", folder + ".index", folder], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return folder + ".index"

    def embed_with_program(self, program):
        rows = "".join(json.dumps({"text": text}) + "\n" for text in self.texts)
        out = subprocess.run([program, "embed", "-m", MODEL, "--input-format", "jsonl", "--columns", "text=text"],
                             input=rows, text=True, capture_output=True, check=True).stdout
        return [float32(json.loads(line)["embedding"]) for line in out.splitlines()]

    # ------------------------------------------------------------ requests

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)

    def post(self, connection, path, body):
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def fail(self, what):
        with self.lock:
            self.failures.append(what)

    def check_vectors(self, chosen, vectors, path):
        if len(vectors) != len(chosen):
            self.fail(f"{path}: {len(vectors)} vectors for {len(chosen)} texts")
        for number, vector in zip(chosen, vectors):
            if vector != self.expected[number]:
                self.fail(f"{path}: the vector of text {number} differs")

    def one_request(self, connection, rng):
        chosen = [rng.randrange(len(self.texts)) for _ in range(rng.choice([1, 1, 1, 2, 8, 32]))]
        inputs = [self.texts[i] for i in chosen]
        model = rng.choice(["small", "other"])
        kind = rng.choice(["tei", "tei", "float", "base64", "cosine", "search", "get"])
        if kind == "tei":
            status, body = self.post(connection, "/embed", {"inputs": inputs, "model": model})
            if status == 200:
                self.check_vectors(chosen, [float32(v) for v in json.loads(body)], "/embed")
        elif kind in ("float", "base64"):
            status, body = self.post(connection, "/v1/embeddings",
                                     {"input": inputs, "encoding_format": kind, "model": model})
            if status == 200:
                data = [row["embedding"] for row in json.loads(body)["data"]]
                self.check_vectors(chosen, [base64.b64decode(v) if kind == "base64" else float32(v) for v in data],
                                   "/v1/embeddings")
        elif kind == "cosine":
            status, body = self.post(connection, "/similarity", {
                "inputs": {"source_sentence": inputs[0], "sentences": inputs[:1]}})
            if status == 200 and abs(json.loads(body)[0] - 1) > 1e-5:
                self.fail(f"/similarity: a text compared with itself has the score {body!r}")
        elif kind == "search":
            status, body = self.post(connection, "/search", {"query": inputs[0], "index": "notes", "k": 3})
        else:
            path = rng.choice(["/info", "/metrics", "/health", "/openapi.json", "/", "/docs", "/v1/models"])
            connection.request("GET", path)
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
        self.counts[f"{kind} {status}"] += 1
        if kind == "search" and not inputs[0].strip() and status == 422:
            status = 200  # a search needs a word
        if status not in (200, 429):
            self.fail(f"{kind}: status {status}: {body[:200]!r}")

    def client(self, rng):
        while time.monotonic() < self.end:
            connection = self.connect()
            for _ in range(rng.randrange(1, 50)):
                if time.monotonic() >= self.end:
                    break
                self.one_request(connection, rng)
            connection.close()

    # -------------------------------------------------------------- faults

    def raw(self, data, close=False, half_close=False):
        """Sends bytes. Returns the answer up to the end of the connection, or nothing if the connection is closed."""
        s = socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT)
        try:
            s.sendall(data)
            if close:
                if self.random.random() < 0.5:  # reset instead of a regular close
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                return b""
            if half_close:
                s.shutdown(socket.SHUT_WR)
            received = b""
            while chunk := s.recv(65536):
                received += chunk
            return received
        except (ConnectionResetError, BrokenPipeError):
            return b"reset"
        finally:
            s.close()

    def request_bytes(self, body, extra=""):
        return (f"POST /embed HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n{extra}Content-Length: {len(body)}\r\n\r\n"
                .encode() + body)

    def leaver(self, rng):
        """Closes the connection while the request is queued, or before it is complete."""
        while time.monotonic() < self.end:
            body = json.dumps({"inputs": [rng.choice(self.texts) for _ in range(16)], "model": "other"}).encode()
            data = self.request_bytes(body)
            self.raw(data if rng.random() < 0.6 else data[:rng.randrange(1, len(data))], close=True)
            self.counts["closed by the client"] += 1
            time.sleep(rng.random() * 0.2)

    def half_closer(self, rng):
        while time.monotonic() < self.end:
            body = json.dumps({"inputs": rng.choice(self.texts)}).encode()
            answer = self.raw(self.request_bytes(body, "Connection: close\r\n"), half_close=True)
            if answer.startswith(b"HTTP/1.1 100 "):  # libmicrohttpd may send it before the final status
                answer = answer.partition(b"\r\n\r\n")[2]
            self.counts["half-closed " + answer[9:12].decode("latin-1")] += 1
            time.sleep(rng.random() * 0.5)

    def slow_client(self, rng):
        """Sends a request byte by byte; the server closes connections that are slower than its timeouts."""
        while time.monotonic() < self.end:
            data = self.request_bytes(json.dumps({"inputs": "a"}).encode())
            with socket.create_connection(("127.0.0.1", self.port), timeout=TIMEOUT) as s:
                pause = rng.choice([0.01, 0.1, 1.0])
                try:
                    for byte in data:
                        s.sendall(bytes([byte]))
                        time.sleep(pause)
                    s.settimeout(20)
                    s.recv(65536)
                    self.counts["slow, answered"] += 1
                except (ConnectionError, socket.timeout):
                    self.counts["slow, closed"] += 1

    def malformed(self, rng):
        body = b'{"inputs":"a"}'
        while time.monotonic() < self.end:
            kind = rng.randrange(11)
            noise = rng.randbytes(rng.randrange(1, 400))
            data = [
                self.request_bytes(body, "Content-Length: 2\r\n"),
                self.request_bytes(body, "Transfer-Encoding: chunked\r\n"),
                self.request_bytes(body, "Host: b\r\n"),
                self.request_bytes(body, "").replace(b"127.0.0.1", b"evil.example"),
                self.request_bytes(body, "Origin: http://evil.example\r\nConnection: close\r\n"),
                self.request_bytes(body, "Connection: close\r\n").replace(b"Length: 14", b"Length: 9000000"),
                self.request_bytes(b'{"inputs":"\xff\xfe"}', "Connection: close\r\n"),
                self.request_bytes(b"[" * 5000, "Connection: close\r\n"),
                self.request_bytes(b'{"inputs":[' + b'"a",' * 60 + b'"a"]}', "Connection: close\r\n"),
                noise + b"\r\n\r\n",
                self.request_bytes(noise, "Connection: close\r\n"),
            ][kind]
            answer = self.raw(data, half_close=kind == 9)
            status = answer[9:12]
            if kind != 9 and answer not in (b"", b"reset") and not status.startswith(b"4"):
                self.fail(f"malformed request {kind}: {answer[:100]!r}")
            self.counts[f"malformed {status.decode('latin-1', 'replace') if status[:1].isdigit() else 'closed'}"] += 1

    def idle(self):
        """Keeps connections open that send nothing."""
        while time.monotonic() < self.end:
            sockets = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(100)]
            time.sleep(min(8, max(0, self.end - time.monotonic())))
            for s in sockets:
                s.close()
            self.counts["idle connections"] += len(sockets)

    def reload(self):
        while time.monotonic() < self.end:
            time.sleep(min(7, max(0.1, self.end - time.monotonic())))
            self.server.send_signal(signal.SIGHUP)
            self.counts["reloads"] += 1

    # ---------------------------------------------------------------- run

    def memory(self):
        for line in open(f"/proc/{self.server.pid}/status", encoding="ascii"):
            if line.startswith("VmRSS"):
                return int(line.split()[1]) // 1024
        return 0

    def guarded(self, function, *arguments):
        try:
            function(*arguments)
        except Exception as error:  # a thread must not end without a report
            if self.server.poll() is None:
                self.fail(f"{function.__name__}: {error!r}")

    def run(self):
        workers = ([self.client] * 6 + [self.slow_client] * 2 +
                   [self.leaver, self.half_closer, self.malformed])
        threads = [threading.Thread(target=self.guarded, args=(w, random.Random(self.random.random())))
                   for w in workers]
        threads += [threading.Thread(target=self.guarded, args=(w,)) for w in (self.idle, self.reload)]
        for thread in threads:
            thread.start()
        report = time.monotonic() + 60
        while time.monotonic() < self.end and self.server.poll() is None and not self.failures:
            time.sleep(1)
            if time.monotonic() >= report:
                report += 60
                print(f"{sum(self.counts.values())} requests and faults, {self.memory()} MiB", flush=True)
        self.end = min(self.end, time.monotonic() + 2)  # the stop is under load
        time.sleep(1)
        memory = self.memory() if self.server.poll() is None else 0
        self.end = 0
        for thread in threads:
            thread.join()
        if self.server.poll() is None:
            self.server.send_signal(signal.SIGTERM)
        code = self.server.wait(timeout=TIMEOUT)
        self.errors.seek(0)
        errors = self.errors.read()
        if code or "Sanitizer" in errors or "runtime error" in errors:
            self.failures.append(f"the server ended with the code {code}:\n{errors[-8000:]}")
        for name, count in sorted(self.counts.items()):
            print(f"{count:8d}  {name}")
        for failure in self.failures[:20]:
            print(f"FAILED: {failure}")
        print(f"soak: {sum(self.counts.values())} requests and faults, {len(self.failures)} failures, {memory} MiB")
        return 1 if self.failures else 0


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().randrange(1 << 32)
    print(f"random seed {seed}", flush=True)
    sys.exit(Soak(sys.argv[1], float(sys.argv[2]), seed).run())
