# SPDX-License-Identifier: MIT
"""Stored results of the comparison of keys (test_key_values.py), which tests/golden/keys_test.c repeats without Python.

tests/golden/keys/NAME.json describes a model directory and the outcome of each change of a key:
- files: contents of the JSON files; the text FOLDER stands for the directory that contains the model
- tensors: shapes of the tensors of each safetensors file; the values are those of `values`
- texts, plain: the texts, and the result of the unchanged model
- values: the values of GENERIC (key_comparison.py)
- results: results of the reference for changed models, without repetitions. A result contains two numbers per text: the
first
  two components of an embedding, or the number of tokens and a checksum of the ids
- same: the keys of each file, and the path to the object that contains them, for which every value of GENERIC gives the
result
  of the unchanged model
- changes: [file, path to the object, key, outcomes of the values of GENERIC, [[other value, outcome], ...], outcome
without the
  key or null]
An outcome is one of these:
- 0: the result of the unchanged model
- n > 0: results[n - 1]
- -1: aoe rejects the model with a message that names the key
- a string: aoe rejects the model with a message that contains this string instead of the key
- null: a difference that is intended (INTENDED), which is not tested again
"""
import json
import os
import pathlib

import numpy as np
from safetensors.numpy import load_file, save_file

import key_comparison as kc

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "golden" / "keys"
TOLERANCE = 1e-4  # relative to the norm of a row; stored numbers are rounded


def values(name, shape):
    """Returns the float32 values of a tensor, which depend on its name and shape only: 64-bit FNV-1a of the name,
    splitmix64 of the index, and the scale of golden.randomize."""
    seed = 0xcbf29ce484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001b3) & 0xffffffffffffffff
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + np.arange(1, int(np.prod(shape)) + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        z ^= z >> np.uint64(31)
    uniform = (z >> np.uint64(40)).astype(np.float64) / (1 << 23) - 1  # from -1 to 1
    if len(shape) > 1:
        uniform *= 0.75 if "embed" in name or "relative_attention_bias" in name else 2 / np.sqrt(float(shape[-1]))
    elif "norm" in name.lower() and name.endswith("weight"):
        uniform = 1 + 0.25 * uniform
    else:
        uniform *= 0.25
    return uniform.reshape(shape).astype(np.float32)


def refill(folder):
    """Replaces the values of all tensors in a directory by `values`."""
    for path in sorted(pathlib.Path(folder).rglob("*.safetensors")):
        tensors = load_file(path)
        assert all(tensor.dtype == np.float32 for tensor in tensors.values()), path
        save_file({name: values(name, tensor.shape) for name, tensor in tensors.items()}, path, {"format": "pt"})


def write_stored_files(name, root):
    """Writes the JSON files of a stored table to the directory `root`. Returns False if there is no such table. A
    tokenizer is taken from its table, because training it again can give another vocabulary."""
    path = FOLDER / f"{name}.json"
    if not path.exists():
        return False
    for file, content in json.loads(path.read_text())["files"].items():
        (root / file).write_text(json.dumps(content))
    return True


class Table:
    """Collects the outcomes of the comparisons of one model."""

    def __init__(self, name, root, model):
        """root: directory that contains the model directory and the directory `base` of the base model of adapters."""
        self.path = FOLDER / f"{name}.json"
        text = lambda path: json.loads(path.read_text().replace(str(root), "FOLDER"))
        inside = lambda path: str(path.relative_to(root))
        files = [path for top in (model.folder, model.folder.parent / "base") for path in sorted(top.rglob("*"))]
        self.table = {
            "model": inside(model.folder),
            "files": {inside(path): text(path) for path in files if path.suffix == ".json"},
            "tensors": {inside(path): {name: list(tensor.shape) for name, tensor in sorted(load_file(path).items())}
                        for path in files if path.suffix == ".safetensors"},
            "texts": model.texts, "values": list(kc.GENERIC), "plain": [], "results": [], "same": [], "changes": []}
        self.root, self.model = root, model
        self.table["plain"] = self.numbers(model.plain)

    def numbers(self, result):
        """Returns the numbers of a result that are stored, as a flat list."""
        return [float(f"{x:.6g}") for x in np.asarray(self.model.summary(result), dtype=np.float64).ravel()]

    def code(self, outcome):
        if outcome.excused or outcome.kind in kc.FAULTS or outcome.kind == "warned":
            return None
        if outcome.kind == "refused":
            return -1 if outcome.cause == outcome.key else outcome.cause
        if not outcome.changed:
            return 0
        result = self.numbers(outcome.result)
        for i, known in enumerate(self.table["results"]):
            if len(known) == len(result) and np.allclose(known, result, rtol=1e-5, atol=1e-6):
                return i + 1
        self.table["results"].append(result)
        return len(self.table["results"])

    def add(self, file, outcomes):
        """Adds the outcomes of the keys of a file."""
        path, where = str(file.path.relative_to(self.root)), list(file.where)
        rows, same = {}, []
        for outcome in outcomes:
            rows.setdefault(outcome.key, []).append((outcome.value, self.code(outcome)))
        for key, found in rows.items():
            generic = [next((code for value, code in found if value is not object and kc.same(value, v)), None)
                       for v in kc.GENERIC]
            other = [[value, code] for value, code in found
                     if value is not object and not any(kc.same(value, v) for v in kc.GENERIC)]
            without = next((code for value, code in found if value is object), None)
            if generic == [0] * len(generic) and not other and without in (0, None):
                same.append(key)
            else:
                self.table["changes"].append([path, where, key, generic, other, without])
        if same:
            self.table["same"].append([path, where, same])

    def text(self):
        """Returns the file, with one line per element."""
        line = lambda value: json.dumps(value, ensure_ascii=True, separators=(",", ":"))
        parts = []
        for name, value in self.table.items():
            if isinstance(value, list) and name not in ("plain", "texts", "values"):
                parts.append(f'"{name}": [' + ",".join("\n" + line(element) for element in value) + "]")
            elif isinstance(value, dict):
                parts.append(f'"{name}": {{' + ",".join(f"\n{line(k)}: {line(v)}" for k, v in value.items()) + "}")
            else:
                parts.append(f'"{name}": {line(value)}')
        return "{" + ",\n".join(parts) + "}\n"

    def finish(self, wrong):
        """Requires that the list of faults is empty, and that the stored table is up to date. If the environment
        variable UPDATE is 1, stores the table before."""
        if os.environ.get("UPDATE") == "1":
            FOLDER.mkdir(exist_ok=True)
            self.path.write_text(self.text())
        assert not wrong, "\n".join(wrong)
        stored = json.loads(self.path.read_text()) if self.path.exists() else None
        assert equal(stored, json.loads(self.text())), f"{self.path.name} is not up to date; run the test with UPDATE=1"


def equal(a, b):
    """Returns whether two JSON values are equal, up to the rounding of numbers."""
    if isinstance(a, float) and isinstance(b, (int, float)) or isinstance(b, float) and isinstance(a, int):
        return abs(a - b) <= TOLERANCE * max(1, abs(a))
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    return kc.same(a, b)
