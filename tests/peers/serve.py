# SPDX-License-Identifier: MIT
"""Starts `aoe serve` for tests with clients in Python, and sends plain requests to it.

The fixture `served` in conftest.py uses this module. A test that needs other options starts its own server:

    with Server(aoe.program, "-m", f"minilm={directory}", "--max-client-batch-size", 4) as server:
        status, headers, answer = server.post("/embed", {"inputs": "a text"})
"""
import json
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

READY_SECONDS = 60
STOP_SECONDS = 40


class Server:
    """A running `aoe serve` on a free port of 127.0.0.1, without a proxy between the client and the server.

    url: such as http://127.0.0.1:39281, without a slash at the end.
    """

    def __init__(self, program, *options):
        self.errors = tempfile.TemporaryFile()
        command = [program, "serve", "--json", *map(str, options)]
        if "--port" not in options:
            command += ["--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.errors)
        try:
            line = self.process.stdout.readline()  # one line when the server listens, or none if it fails
            if not line:
                raise RuntimeError(f"{' '.join(command)}: exit code {self.process.wait()}: {self.messages()}")
            self.url = json.loads(line)["address"]
            self.port = json.loads(line)["port"]
            self.wait_until_ready()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise

    def wait_until_ready(self):
        end = time.monotonic() + READY_SECONDS
        while self.get("/readyz")[0] != 200:
            if time.monotonic() > end:
                raise RuntimeError(f"the server is not ready after {READY_SECONDS} seconds: {self.messages()}")
            time.sleep(0.01)

    def messages(self):
        """Everything that the program has written to stderr."""
        self.errors.seek(0)
        return self.errors.read().decode()

    def request(self, method, path, body=None, headers=None, timeout=60):
        """Sends a request, and returns the status, the headers, and the answer: parsed if it is JSON, otherwise text.
        A body that is not a byte string is sent as JSON."""
        headers = dict(headers or {})
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        request = urllib.request.Request(self.url + path, data=body, headers=headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout) as answer:
                status, got, text = answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                status, got, text = error.code, error.headers, error.read().decode()
        return status, got, json.loads(text) if got.get_content_type() == "application/json" else text

    def get(self, path, headers=None):
        return self.request("GET", path, None, headers)

    def post(self, path, body, headers=None):
        return self.request("POST", path, body, headers)

    def stop(self):
        """Stops the server with SIGTERM, and returns its exit code, which is 0 if every request was answered."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        self.process.stdout.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *error):
        code = self.stop()
        if error == (None, None, None):
            assert code == 0, f"exit code {code} of aoe serve: {self.messages()}"
        self.errors.close()
