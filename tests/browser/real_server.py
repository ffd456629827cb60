# SPDX-License-Identifier: MIT
"""`aoe serve` with the models and indexes that the tests of the web page use: the default model, an index of pages of
the documentation, an index of a table with metadata, and a tiny cross-encoder whose words are w0 to w34."""
import json
import os
import shutil
import struct
import subprocess
from urllib.request import Request, urlopen

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
AOE = os.environ["AOE"]
MODEL = os.path.join(ROOT, "models/aoe-small-en")
PAGES = ["network.md", "rerank.md", "search.md", "serve.md"]
# Rows of the table. The characters before the words are longer in UTF-16 and in UTF-8 than in code points.
ROWS = [
    {"id": "smile", "lang": "en", "year": 2021,
     "text": "\U0001f600\U0001f680 The rocket é reached the orbit of the moon."},
    {"id": "mond", "lang": "de", "year": 2019, "text": "Die Rakete erreichte die Umlaufbahn des Mondes."},
    {"id": "tags", "lang": "en", "year": 1999,
     "text": "A <b>rocket</b> & an <script>alert(1)</script> element are no markup."},
    {"id": "long", "lang": "en", "year": 2023,
     "text": "Bread rises slowly. " * 60 + "A rocket stood behind the bakery. " + "The oven is hot. " * 60},
]
ENVIRONMENT = {k: v for k, v in os.environ.items() if not k.startswith("AOE_") and not k.lower().endswith("_proxy")}


def aoe(*arguments, text=None):
    """Runs aoe and returns its output. The models and indexes are the same as those of the server."""
    return subprocess.run([AOE, *arguments], check=True, capture_output=True, text=True, input=text, cwd=ROOT,
                          env=ENVIRONMENT, timeout=60).stdout


def write_cross_encoder(directory):
    """Writes a cross-encoder with one output: the golden one has two, and the second one is kept."""
    golden = os.path.join(ROOT, "tests/golden/cross_encoders/bert")
    shutil.copytree(golden, directory)
    with open(os.path.join(golden, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config | {"num_labels": 1}, f)
    with open(os.path.join(golden, "model.safetensors"), "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    tensors, parts, at = {}, [], 0
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        start, end = tensor["data_offsets"]
        shape = tensor["shape"]
        if name.startswith("classifier."):
            start, shape = (start + end) // 2, [1] + shape[1:]
        tensors[name] = {"dtype": tensor["dtype"], "shape": shape, "data_offsets": [at, at + end - start]}
        parts.append(data[start:end])
        at += end - start
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    with open(os.path.join(directory, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(parts))


class Data:
    """The directories that the servers of all tests share."""

    def __init__(self, directory):
        self.docs, self.table, self.reranker, self.key = (
            os.path.join(directory, name) for name in ("docs-index", "table-index", "reranker", "key"))
        pages = os.path.join(directory, "docs")
        os.mkdir(pages)
        for name in PAGES:
            shutil.copy(os.path.join(ROOT, "docs", name), pages)
        rows = os.path.join(directory, "rows.jsonl")
        with open(rows, "w", encoding="utf-8") as f:
            f.writelines(json.dumps(row) + "\n" for row in ROWS)
        aoe("index", "--quiet", pages, "-o", self.docs)
        aoe("index", "--quiet", rows, "--id-column", "id", "--passage-tokens", "500", "-o", self.table)
        write_cross_encoder(self.reranker)
        with open(self.key, "w", encoding="ascii", opener=lambda p, flags: os.open(p, flags, 0o600)) as f:
            f.write("right-key\n")


class RealServer:
    """`aoe serve` on a free port of the loopback interface."""

    def __init__(self, *options):
        self.process = subprocess.Popen([AOE, "serve", "--port", "0", "--json", *options], cwd=ROOT,
                                        env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError("aoe serve: " + self.process.communicate()[1])
        started = json.loads(line)
        self.url = started["address"] + "/"

    def close(self):
        """Stops the server. Returns its exit code and its messages."""
        self.process.terminate()
        _, messages = self.process.communicate(timeout=30)
        return self.process.returncode, messages

    def post(self, path, body, key=None):
        headers = {"Content-Type": "application/json"} | ({"Authorization": "Bearer " + key} if key else {})
        with urlopen(Request(self.url + path, json.dumps(body).encode(), headers), timeout=60) as answer:
            return json.load(answer)

    def get(self, path):
        with urlopen(self.url + path, timeout=60) as answer:
            return json.load(answer)
