# SPDX-License-Identifier: MIT
"""aoe and huggingface_hub share one cache. A local server (tests/servers/hub.c) implements the protocol of the Hub."""
import json
import os
import pathlib
import subprocess
import sys
import time

import pytest

from conftest import ROOT

SERVER = ROOT / "build" / "tests" / "servers" / "hub"
COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "acme/tiny"


@pytest.fixture
def hub(aoe, tmp_path, monkeypatch):
    """Starts the server with one model, sets the environment of aoe and of huggingface_hub, and yields the directory of
    the server's files, of the cache and the log."""
    assert SERVER.exists(), f"{SERVER} does not exist; run `make build-tests`"
    files, cache, log, url = tmp_path / "hub", tmp_path / "hf", tmp_path / "log", tmp_path / "url"
    (files / "acme").mkdir(parents=True)
    cache.mkdir()
    aoe.run("init", "-q", "--hidden", 32, "--layers", 1, "--heads", 2, "--intermediate", 64, "--positions", 64,
            "--vocab-from", ROOT / "examples" / "train.tsv", "--vocab-size", 600, "-o", files / NAME)
    server = subprocess.Popen([str(SERVER), str(url), "/dev/null", str(log), str(files)])
    while not url.exists() or not url.read_text():
        time.sleep(0.02)
    for variable in ("HF_HUB_OFFLINE", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_TOKEN", "TRANSFORMERS_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HF_HOME", str(cache))
    monkeypatch.setenv("HF_ENDPOINT", url.read_text().strip())
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    yield files, cache, log
    server.terminate()
    server.wait()


def python(code):
    """Runs Python code in a new process, because huggingface_hub reads its environment once. Returns its JSON
    output."""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.splitlines()[-1])


def contents(snapshot):
    return {str(path.relative_to(snapshot)): path.read_bytes() for path in sorted(pathlib.Path(snapshot).rglob("*"))
            if path.is_file()}


def test_python_finds_what_aoe_pulled(aoe, hub, monkeypatch):
    files, cache, log = hub
    result = json.loads(aoe.run("pull", "-q", "--json", NAME).stdout)
    assert result["commit"] == COMMIT and result["downloaded"] == result["bytes"] > 100000
    # online, with the server: every file is current, so nothing is downloaded again
    log.write_text("")
    code = "import json, huggingface_hub as h; print(json.dumps(h.snapshot_download('%s', allow_patterns=%r)))"
    wanted = list(contents(result["directory"]))
    assert python(code % (NAME, wanted)) == result["directory"]
    assert " GET /acme" not in log.read_text() and "storage" not in log.read_text()
    # offline
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert python(code % (NAME, wanted)) == result["directory"]
    scan = python("import json, huggingface_hub as h; c = h.scan_cache_dir(); "
                  "print(json.dumps([[r.repo_id, sorted(r.refs), len(c.warnings)] for r in c.repos]))")
    assert scan == [[NAME, ["main"], 0]]
    vectors = python("import json; from sentence_transformers import SentenceTransformer as S; "
                     "print(json.dumps(S('%s', device='cpu').encode(['a plane is taking off']).tolist()))" % NAME)
    assert abs(aoe.embed(NAME, ["a plane is taking off"]) - vectors).max() < 1e-5


def test_aoe_finds_what_python_downloaded(aoe, hub):
    files, cache, log = hub
    code = "import json, huggingface_hub as h; print(json.dumps(h.snapshot_download('%s')))"
    snapshot = python(code % NAME)
    assert contents(snapshot) == contents(files / NAME)
    models = [json.loads(line) for line in aoe.run("models", "--json").stdout.splitlines()]
    assert [(m["name"], m["revision"], m["opens"], m["directory"]) for m in models] == [(NAME, "main", True, snapshot)]
    assert json.loads(aoe.run("info", "--json", "-m", NAME).stdout)["directory"] == snapshot
    log.write_text("")
    result = json.loads(aoe.run("pull", "-q", "--json", NAME).stdout)
    assert (result["directory"], result["downloaded"]) == (snapshot, 0)
    assert " GET /acme" not in log.read_text() and "storage" not in log.read_text()


def test_each_completes_the_other(aoe, hub):
    """Python downloads only the configuration. aoe rejects the partial model, downloads the rest, and Python reads
    it."""
    files, cache, log = hub
    python("import json, huggingface_hub as h; print(json.dumps(h.hf_hub_download('%s', 'config.json')))" % NAME)
    assert f"aoe pull {NAME}" in aoe.run("info", "-m", NAME, fails=True).stderr
    result = json.loads(aoe.run("pull", "-q", "--json", NAME).stdout)
    want = {name: data for name, data in contents(files / NAME).items() if name in contents(result["directory"])}
    assert contents(result["directory"]) == want
    assert python("import json, huggingface_hub as h; print(json.dumps(h.snapshot_download('%s')))" % NAME) == result[
        "directory"]
    assert contents(result["directory"]) == contents(files / NAME)


def test_private_models(aoe, hub, monkeypatch):
    files, cache, log = hub
    (files / "private").mkdir()
    (files / NAME).rename(files / "private" / "tiny")
    assert "private" in aoe.run("pull", "-q", "private/tiny", fails=True).stderr
    monkeypatch.setenv("HF_TOKEN", "good")
    result = json.loads(aoe.run("pull", "-q", "--json", "private/tiny").stdout)
    assert python("import json, huggingface_hub as h; print(json.dumps(h.snapshot_download('private/tiny', "
                  "local_files_only=True)))") == result["directory"]
    assert not any("token" in line for line in log.read_text().splitlines() if line.startswith("storage"))
    for path in cache.rglob("*"):
        assert not (path.is_file() and b"Bearer" in path.read_bytes())


def requested(log):
    """The files that were requested from the Hub since the log was emptied."""
    return [line.split()[2].split("/resolve/")[1].split("/", 1)[1] for line in log.read_text().splitlines()
            if line.startswith("hub") and "/resolve/" in line]


def test_python_does_not_request_missing_files(aoe, hub):
    """aoe pull records the optional files that the model does not have (.no_exist)."""
    files, cache, log = hub
    aoe.run("pull", "-q", NAME)
    log.write_text("")
    python("import json; from sentence_transformers import SentenceTransformer as S; "
           "print(json.dumps(S('%s', device='cpu').encode(['a plane']).tolist()))" % NAME)
    missing = sorted({name for name in requested(log) if not (files / NAME / name).exists()})
    assert missing == []


def test_without_symbolic_links(aoe, hub, monkeypatch):
    files, cache, log = hub
    monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    result = json.loads(aoe.run("pull", "-q", "--json", NAME).stdout)
    snapshot = pathlib.Path(result["directory"])
    assert not any(path.is_symlink() for path in snapshot.rglob("*"))
    wanted = list(contents(snapshot))
    log.write_text("")
    code = "import json, huggingface_hub as h; print(json.dumps(h.snapshot_download('%s', allow_patterns=%r)))"
    assert python(code % (NAME, wanted)) == str(snapshot)
    assert json.loads(aoe.run("pull", "-q", "--json", NAME).stdout)["downloaded"] == 0
    assert " GET /acme" not in log.read_text() and "storage" not in log.read_text()
    # files that Python placed without links
    for path in sorted(snapshot.rglob("*.json")):
        path.unlink()
    python("import json, huggingface_hub as h; print(json.dumps(h.snapshot_download('%s')))" % NAME)
    assert json.loads(aoe.run("pull", "-q", "--json", NAME).stdout)["downloaded"] == 0
    assert contents(snapshot) == contents(files / NAME)


def test_both_download_at_the_same_time(aoe, hub):
    files, cache, log = hub
    code = "import huggingface_hub as h; print(h.snapshot_download('%s'))" % NAME
    commands = [[str(aoe.program), "pull", "-q", NAME], [sys.executable, "-c", code]] * 2
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
               for command in commands]
    outputs = [process.communicate() for process in running]
    assert [process.returncode for process in running] == [0] * 4, outputs
    directories = {output.strip().splitlines()[-1] for output, _ in outputs}
    assert len(directories) == 1
    assert contents(directories.pop()) == contents(files / NAME)
    blobs = cache / "hub" / "models--acme--tiny" / "blobs"
    assert not [path.name for path in blobs.iterdir() if "." in path.name]


def test_adapters_name_their_base(aoe, hub, tmp_path, monkeypatch):
    """Adapters that were trained on a model of the cache open in PEFT and sentence-transformers by the name of this
    model."""
    aoe.run("pull", "-q", NAME)
    adapters = tmp_path / "adapters"
    aoe.run("train", "-q", "-m", NAME, "-d", ROOT / "examples" / "train.tsv", "-o", adapters, "--lora-r", 2,
            "--max-steps", 5, "--lr", 0.01)
    config = json.loads((adapters / "adapter_config.json").read_text())
    assert (config["base_model_name_or_path"], config["revision"]) == (NAME, COMMIT)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    name, revision, shape = python(
        "import json; from peft import AutoPeftModelForFeatureExtraction as A; m = A.from_pretrained('%s'); "
        "c = m.peft_config['default']; print(json.dumps([c.base_model_name_or_path, c.revision, "
        "m.base_model.model.config.hidden_size]))" % adapters)
    assert (name, revision, shape) == (NAME, COMMIT, 32)
    vectors = python("import json; from sentence_transformers import SentenceTransformer as S; "
                     "print(json.dumps(S('%s', device='cpu').encode(['a plane is taking off']).tolist()))" % adapters)
    assert abs(aoe.embed(adapters, ["a plane is taking off"]) - vectors).max() < 1e-5


@pytest.mark.parametrize("kind", ["bert", "qwen3"])
def test_cross_encoders(aoe, hub, monkeypatch, kind):
    """aoe pull downloads cross-encoders as sentence-transformers saves them (modules.json without a Pooling module).
    Their scores are those of CrossEncoder, and aoe models lists their kind."""
    files, cache, log = hub
    source = ROOT / "tests" / "golden" / "cross_encoders" / kind
    python("import json; from sentence_transformers import CrossEncoder as C; m = C('%s', device='cpu'); "
           "m.save_pretrained('%s'); print('{}')" % (source, files / "acme" / "ce"))
    assert (files / "acme" / "ce" / "modules.json").exists()
    directory = json.loads(aoe.run("pull", "-q", "--json", "acme/ce").stdout)["directory"]
    models = {m["name"]: m for m in map(json.loads, aoe.run("models", "--json").stdout.splitlines())}
    assert (models["acme/ce"]["opens"], models["acme/ce"]["kind"]) == (True, "cross-encoder")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    want = python("import json; from sentence_transformers import CrossEncoder as C; m = C('acme/ce', device='cpu'); "
                  "pair = m.tokenizer(['a plane'], ['it is taking off'], return_tensors='pt'); "
                  "print(json.dumps(m.model(**pair).logits[0].tolist()))")
    done = aoe.run("rerank", "-q", "-m", directory, "--dtype", "f32", "--json", "--scores", "logit", "--pairs", "-",
                   "--input-format", "jsonl", stdin=json.dumps({"text1": "a plane", "text2": "it is taking off"}))
    row = json.loads(done.stdout)
    got = row["scores"] if "scores" in row else [row["score"]]
    assert max(abs(x - y) for x, y in zip(got, want, strict=True)) < 1e-5
