# SPDX-License-Identifier: MIT
"""A server with the routes that the web page uses and with answers that the tests know. It answers as `aoe serve` does,
also with errors, and records the requests. Embeddings are derived from the letters of a text."""
import json
import math
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "src/serve/page/index.html")
BATCH = 4  # texts per request; small, so that the page has to send several requests


def policy():
    """Returns the Content-Security-Policy of src/serve/page.c."""
    options = subprocess.run([os.path.join(ROOT, "tools/page_hashes.sh"), PAGE], check=True, capture_output=True,
                             text=True).stdout
    script, style = (part.split("'\"")[1].split("\"'")[0] for part in options.split(" -D"))
    return (f"default-src 'none'; script-src 'sha256-{script}'; style-src 'sha256-{style}'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'")


def embed(text):
    v = [0.0] * 8
    for i, c in enumerate(text):
        v[ord(c) % 8] += 1.0 if i % 3 else -0.5
    length = math.sqrt(sum(x * x for x in v)) or 1.0
    return [x / length for x in v]


def cosine(a, b):
    return sum(x * y for x, y in zip(embed(a), embed(b)))


LONG = "The first part of a long passage says nothing of interest. " * 20
HITS = [
    {"name": "guide.md", "line": 12, "last_line": 19, "headings": ["Guide", "Cache <b>files</b>"], "score": 0.0328,
     "text": "\U0001f600 The cache is written <script>alert(1)</script> to the directory.\nIt is small.",
     "highlights": [[6, 11], [15, 22]], "fields": {"lang": "en", "year": 2024}},
    {"name": "long.txt", "line": 1, "last_line": 90, "headings": [], "score": 0.0161,
     "text": LONG + "Here is the needle. " + LONG,
     "highlights": [[len(LONG) + 12, len(LONG) + 18]]},
    {"name": "one.txt", "line": 3, "last_line": 3, "headings": [], "score": -0.25, "text": "No highlight.",
     "highlights": []},
]


class MockServer:
    def __init__(self):
        self.key = None  # the API key that requests need
        self.cross_encoder = True
        self.indexes = [{"name": "docs", "passages": 120, "documents": 7, "model": "minilm"},
                        {"name": "mail", "passages": 31000, "documents": 4200, "model": "minilm"}]
        self.models = ["minilm"]
        self.truncated = 0
        self.failure = None  # (status, JSON value) of the next POST request
        self.requests = []  # (method, path, body)
        self.policy = policy()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args):
                pass

            def do_GET(self):
                server.answer(self, "GET", None)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                server.answer(self, "POST", json.loads(body))

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.handle_error = lambda *_: None  # browsers close connections at any time
        self.url = f"http://127.0.0.1:{self.http.server_port}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def answer(self, handler, method, body):
        path = handler.path.split("?")[0]
        if method == "GET" and path == "/":
            with open(PAGE, "rb") as f:
                self.write(handler, 200, "text/html; charset=utf-8", f.read(), {"Content-Security-Policy": self.policy})
            return
        self.requests.append((method, path, body))
        if self.key and handler.headers.get("Authorization") != "Bearer " + self.key:
            status, value = 401, {"error": "missing or wrong API key", "error_type": "Validation"}
        elif method == "POST" and self.failure:
            status, value = self.failure
            self.failure = None
        else:
            status, value = self.route(method, path, body)
        extra = {"x-aoe-truncated": str(self.truncated)} if method == "POST" and self.truncated else {}
        self.write(handler, status, "application/json", json.dumps(value).encode(), extra)

    @staticmethod
    def write(handler, status, kind, data, extra):
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.send_header("Content-Length", str(len(data)))
        for name, value in extra.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    def route(self, method, path, body):
        if method == "GET":
            return {
                "/info": (200, self.info()),
                "/v1/models": (200, {"object": "list", "data": [{"id": m, "object": "model"} for m in self.models]}),
                "/indexes": (200, {"indexes": self.indexes}),
            }.get(path, (404, {"error": "not found", "error_type": "Validation"}))
        if path == "/search":
            if body.get("where") == "year >":
                return 422, {"error": "where: a value is missing after '>'", "error_type": "Validation"}
            return 200, {"hits": [] if body["query"] == "nothing" else HITS[:body["k"]]}
        texts = body.get("inputs") if path != "/rerank" else body.get("texts")
        count = len(texts["sentences"] if isinstance(texts, dict) else texts)
        if path != "/map" and count > BATCH:
            return 422, {"error": f"batch size {count} > maximum allowed batch size {BATCH}",
                         "error_type": "Validation"}
        if path == "/embed":
            return 200, [embed(t) for t in texts]
        if path == "/map":
            return 200, {"points": [embed(t)[:2] for t in texts]}
        if path == "/similarity":
            return 200, [cosine(texts["source_sentence"], t) for t in texts["sentences"]]
        if path == "/rerank" and self.cross_encoder:
            ranked = [{"index": i, "score": len(set(t) & set(body["query"])) / 40} for i, t in enumerate(texts)]
            return 200, sorted(ranked, key=lambda r: -r["score"])
        return 424, {"error": "the model is not a cross-encoder; use /similarity", "error_type": "Backend"}

    def info(self):
        return {"model_id": "sentence-transformers/all-MiniLM-L6-v2", "model_sha": None, "model_dtype": "float32",
                "served_model_name": "minilm", "model_type": {"embedding": {"pooling": "mean"}},
                "max_concurrent_requests": 512, "max_input_length": 256, "max_batch_tokens": 16384,
                "max_client_batch_size": BATCH, "auto_truncate": True, "version": "0.1.0"}


if __name__ == "__main__":
    print(MockServer().url, flush=True)
    threading.Event().wait()
