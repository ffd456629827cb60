# SPDX-License-Identifier: MIT
"""Changes one key of a JSON file of a model directory and compares the embeddings of aoe with those of a reference
library.

The outcome of a change is one of these:
- equal: aoe and the reference compute the same embeddings
- refused: aoe rejects the model with a message that names the key, or the tensors or the file that the change
contradicts
- warned: aoe says that it does not know the key, or that its embeddings differ because of the key
- unreadable: the reference cannot open the model, and aoe computes the embeddings of the unchanged model. This is a
fault unless
  other values show that the key has no effect (`prove`)
Every other outcome is a fault.
"""
import copy
import json
import os
import shutil
import subprocess

import numpy as np
import torch

torch.set_num_threads(1)
TOLERANCE = 1e-5
GENERIC = (None, True, False, 0, 1, -1, 0.5, "x", "", [], {}, [1], ["x"], {"x": 1})


def key_lists(program):
    """Returns {(kind, subject): keys} of the lists of src/base/json_keys.c. program: tests/servers/json_keys. Lists
    with equal kind and subject are joined. The subject is None for lists that are valid for all subjects."""
    lists = {}
    for line in subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines():
        kind, subject, keys = line.split("\t")
        lists.setdefault((kind, None if subject == "-" else subject), []).extend(keys.split())
    return lists


def difference(got, want):
    """Returns the largest relative error of the rows of two arrays; infinity if their shapes differ or `want` is not
    finite."""
    if got.shape != want.shape or not np.isfinite(want).all():
        return np.inf
    norm = np.linalg.norm(want, axis=1)
    return float((np.linalg.norm(got - want, axis=1) / np.where(norm < 1e-6, 1, norm)).max())


class Model:
    """A model directory whose files can be changed for one comparison."""

    def __init__(self, program, folder, texts, reference, options=()):
        """reference: function that returns the embeddings of a list of texts, given the folder; it may raise any
        exception."""
        self.program, self.folder, self.texts, self.reference, self.options = program, folder, texts, reference, options
        self.lines = "".join(json.dumps({"text": text}) + "\n" for text in texts)
        self.runs = {"aoe": 0, "reference": 0}
        self.plain = self.embed()[0]
        assert self.plain is not None, self.embed()[1]
        error = difference(self.plain, self.call())
        assert error <= TOLERANCE, f"{folder}: the unchanged model differs by {error:.1e}"

    def embed(self):
        """Returns the embeddings, or None if aoe rejects the model, and the messages of aoe."""
        self.runs["aoe"] += 1
        done = subprocess.run([self.program, "embed", "-m", str(self.folder), "--dtype", "f32", "--threads", "1",
                               "--input-format",
                               "jsonl", "-f", "jsonl", *self.options], input=self.lines, capture_output=True, text=True)
        if done.returncode < 0:
            raise AssertionError(f"aoe was stopped by signal {-done.returncode}")
        if done.returncode:
            return None, done.stderr
        return np.array([json.loads(line)["embedding"] for line in done.stdout.splitlines()]), done.stderr

    @staticmethod
    def summary(result):
        """Returns two numbers per text that are stored for a result (key_tables.py)."""
        return np.asarray(result)[:, :2]

    def call(self):
        self.runs["reference"] += 1
        return np.asarray(self.reference(self.folder, self.texts), dtype=np.float64)

    def reference_result(self):
        """Returns the embeddings of the reference, or the exception."""
        try:
            return self.call()
        except (Exception, SystemExit) as error:  # any exception of the libraries
            return error


class File:
    """A JSON file of a model, or a part of it. where: keys and indices that lead to the object whose keys are
    changed."""

    def __init__(self, model, path, where=()):
        self.model, self.path, self.where = model, model.folder / path, where
        self.text = self.path.read_text() if self.path.exists() else None
        self.root = json.loads(self.text) if self.text is not None else {}

    def object(self, root=None):
        found = self.root if root is None else root
        for step in self.where:
            found = found[step]
        return found

    def write(self, changes):
        """Writes the file with the changed keys. A value that is the class `object` removes the key."""
        root = copy.deepcopy(self.root)
        target = self.object(root)
        for key, value in changes.items():
            if value is object:
                target.pop(key, None)
            else:
                target[key] = value
        self.path.parent.mkdir(exist_ok=True)
        temporary = self.path.with_name("changed")
        temporary.write_text(json.dumps(root))
        os.replace(temporary, self.path)

    def restore(self):
        if self.text is None:
            self.path.unlink(missing_ok=True)
        else:
            temporary = self.path.with_name("changed")
            temporary.write_text(self.text)
            os.replace(temporary, self.path)


def same(a, b):
    """Returns whether two JSON values are equal, where true and 1 differ."""
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def named_cause(message, key, known_causes):
    """Returns the first of the key and the known causes that the message contains, or None."""
    return next((cause for cause in (key, *known_causes) if cause in message), None)


class Outcome:
    def __init__(self, key, value, kind, detail="", changed=False, cause=None, result=None):
        """changed: the embeddings of aoe are not those of the unchanged model; cause: string that the message of a
        rejection contains; result: the embeddings of the reference, if they are those of aoe."""
        self.key, self.value, self.kind, self.detail = key, value, kind, detail
        self.changed, self.cause, self.result, self.excused = changed, cause, result, False

    def __str__(self):
        value = "missing" if self.value is object else json.dumps(self.value)
        return f"{self.key} = {value[:60]}: {self.kind} {self.detail}"


FAULTS = ("different", "unnamed", "unknown", "unneeded", "unreadable-changed", "unproved")


def compare(file, key, value, known=True, causes=(), defaults=()):
    """Returns the outcome of one change. causes: strings that may replace the key in the message of a rejection."""
    model = file.model
    file.write({key: value})
    try:
        got, messages = model.embed()
        last = messages.strip().splitlines()[-1] if messages.strip() else ""
        if got is None:
            cause = named_cause(last, key, causes)
            if cause is None:
                return Outcome(key, value, "unnamed", last)
            if value is not None and not any(same(value, default) for default in defaults):
                return Outcome(key, value, "refused", last, cause=cause)
            want = model.reference_result()
            if isinstance(want, Exception) or difference(model.plain, want) > TOLERANCE:
                return Outcome(key, value, "refused", last, cause=cause)
            return Outcome(key, value, "unneeded", last)
        if "unknown key" in messages and f'{key}"' in messages:
            return Outcome(key, value, "unknown" if known else "warned", messages.strip())
        want = model.reference_result()
        changed = difference(got, model.plain) > TOLERANCE
        if isinstance(want, (Exception, SystemExit)):
            text = f"{type(want).__name__}: {str(want).strip().splitlines()[0][:150] if str(want).strip() else ''}"
            return Outcome(key, value, "unreadable-changed" if changed else "unreadable", text)
        error = difference(got, want)
        if error <= TOLERANCE:
            return Outcome(key, value, "equal", changed=changed, result=want)
        if any("warning" in line and key in line for line in messages.splitlines()):
            return Outcome(key, value, "warned", f"by {error:.1e}")
        return Outcome(key, value, "different",
                       f"by {error:.1e}, aoe {'changed' if changed else 'ignores it'} {last[:200]}")
    finally:
        file.restore()


def compare_group(file, pairs, causes=()):
    """Returns the outcomes of changes of keys that are claimed to have no effect. The reference computes several
    changes at once; if the result is not that of the unchanged model, it computes each half alone."""
    model, outcomes, rest = file.model, [], []
    for key, value in pairs:
        file.write({key: value})
        got, messages = model.embed()
        last = messages.strip().splitlines()[-1] if messages.strip() else ""
        if got is None or f'{key}"' in messages or difference(got, model.plain) > TOLERANCE:
            outcomes.append(compare(file, key, value, causes=causes))
        else:
            rest.append((key, value))
    file.restore()

    def check(part):
        if len(part) == 1:
            outcomes.append(compare(file, *part[0], causes=causes))
            return
        file.write(dict(part))
        want = model.reference_result()
        file.restore()
        if not isinstance(want, (Exception, SystemExit)) and difference(model.plain, want) <= TOLERANCE:
            outcomes.extend(Outcome(key, value, "equal") for key, value in part)
        else:
            check(part[:len(part) // 2])
            check(part[len(part) // 2:])

    if rest:
        check(rest)
    return outcomes


def prove(outcomes):
    """Turns "unreadable" into "unproved", a fault, for keys of which no compared value shows that they have no effect:
    the reference must read another value, and none may change the embeddings. null is excepted, because it is a missing
    key."""
    for key in {outcome.key for outcome in outcomes if outcome.kind == "unreadable"}:
        of_key = [outcome for outcome in outcomes if outcome.key == key and outcome.value not in (None, object)]
        equal = [outcome for outcome in of_key if outcome.kind == "equal"]
        if not equal or any(outcome.changed for outcome in of_key):
            for outcome in of_key:
                outcome.kind = "unproved" if outcome.kind == "unreadable" else outcome.kind


def sentence_transformers_reference(folder, texts):
    from sentence_transformers import SentenceTransformer

    torch.manual_seed(1)
    with torch.no_grad():
        return SentenceTransformer(str(folder), device="cpu").encode(texts, batch_size=1, show_progress_bar=False)


def quiet():
    """Turns off the messages and the progress bars of the reference libraries."""
    import logging
    import warnings

    import transformers
    transformers.logging.set_verbosity(50)
    transformers.logging.disable_progress_bar()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
