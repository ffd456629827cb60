# SPDX-License-Identifier: MIT
"""Checks the answers of `aoe serve` with tools that know the formats: /metrics with promtool of Prometheus, and every
route with schemathesis, which sends requests that match /openapi.json and requests that do not, and compares the
statuses and the answers with the document."""
import json
import os
import shutil
import subprocess
import sys

import pytest

import cross_encoders
import golden
from serve import Server

EXAMPLES = int(os.environ.get("AOE_SCHEMATHESIS_EXAMPLES", 15))  # random requests per route and kind

# Names of text-embeddings-inference, which its dashboards use, do not follow the rules of Prometheus.
TEI_NAMES = {"te_request_count", "te_request_success", "te_request_failure", "te_embed_count", "te_embed_success",
             "te_predict_count", "te_predict_success"}
TEI_RULES = ('counter metrics should have "_total" suffix',
             'non-histogram and non-summary metrics should not have "_count" suffix')


def test_metrics(served):
    """promtool only reports names of text-embeddings-inference."""
    assert shutil.which("promtool"), "promtool is missing; install it with apt-get install prometheus"
    served.server.post("/embed", {"inputs": ["a", "b"]})
    served.server.post("/embed", {"inputs": []})
    status, headers, metrics = served.server.get("/metrics")
    assert status == 200 and headers.get_content_type() == "text/plain"
    done = subprocess.run(["promtool", "check", "metrics"], input=metrics.encode(), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    findings = [line.split(" ", 1) for line in done.stdout.decode().splitlines() if line]
    assert findings and all(name in TEI_NAMES and rule in TEI_RULES for name, rule in findings), findings
    families = {line.split()[2]: line.split()[3] for line in metrics.splitlines() if line.startswith("# TYPE ")}
    samples = [line for line in metrics.splitlines() if line and not line.startswith("#")]
    for name in ("aoe_tokens_total", "aoe_truncated_total", "aoe_cache_hits_total", "process_resident_memory_bytes",
                 "process_start_time_seconds", "te_queue_size", "te_request_duration", "te_batch_next_tokens",
                 *TEI_NAMES):
        assert name in families
        assert any(line.startswith((name + " ", name + "{", name + "_bucket{")) for line in samples), name


def narrow(schema, models, mode):
    """Replaces what /openapi.json cannot express in a schema: names of models and indexes, the number of components,
    and the largest token id. Removes fields that only some of the other values allow, such as prompts, which cannot be
    added to token ids, and conditions. In valid requests, keys that the document does not name have strings as values,
    because the server rejects large numbers also in these keys."""
    properties = schema.get("properties", {})
    dropped = {"prompt_name", "where", "path"}
    if {"input", "inputs"} & set(properties):
        dropped |= {"prompt", "input_type"}
    for name in dropped & set(properties):
        del properties[name]
    for name in NOT_SUPPORTED & set(properties):
        if not {"type", "anyOf"} & set(properties[name]):
            del properties[name]
    for name, field in properties.items():
        if name == "model":
            field["enum"] = models
        elif name == "index":
            field["enum"] = ["notes", None]
        elif name in MAXIMA and mode == "positive":
            field["maximum"] = MAXIMA[name]
        elif name == "max_tokens":  # larger than the number of special tokens
            field["minimum"] = 3
        elif name == "keep_alive" and mode == "positive":
            field["type"] = "string"
        elif name == "query" and "index" in properties:  # a search needs a word
            field["pattern"] = "^[a-z]+$" if mode == "positive" else "."
        elif name == "ids":  # the text of no ids is empty
            field["anyOf"][-1]["items"].pop("minItems", None)
        else:
            narrow(field, models, mode)
    if schema.get("type") == "object" and mode == "positive":
        schema["additionalProperties"] = {"type": "string"}
    if schema.get("type") == "integer" and schema.get("maximum") == 2147483647:
        schema["maximum"] = 30521
    for part in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        narrow(part, models, mode)


NOT_SUPPORTED = {"images", "inputs"}  # fields of Cohere for pictures: every value except null is an error
EXCLUDED = ("/embed_sparse",)         # answers every valid request with an error
PAIRS = ("/predict", "/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking")
MAXIMA = {"dimensions": 384, "output_dimension": 384, "k": 1000}


@pytest.fixture(scope="module")
def models(served, tmp_path_factory):
    """The options for the models of each kind of server: one with embeddings, one with scores of pairs."""
    cross = tmp_path_factory.mktemp("cross")
    cross_encoders.save(cross_encoders.build(golden.variants("bert")["default"], 1), cross)
    return {"prompted": ["-m", f"prompted={served.prompted}"], "cross": ["-m", f"cross={cross}"]}


@pytest.fixture(scope="module")
def index(aoe, tmp_path_factory):
    """An index of two documents."""
    folder = tmp_path_factory.mktemp("notes")
    (folder / "certificates.md").write_text("# Certificates\n\nThe certificate expires every 90 days.\n")
    (folder / "garden.md").write_text("# Garden\n\nWater the tomatoes in the evening.\n")
    aoe.run("index", "-q", "-o", folder / ".aoe-index", folder)
    return folder / ".aoe-index"


def document_of(server, model, mode):
    """The part of /openapi.json that a server with this model answers with success, narrowed."""
    status, _, document = server.get("/openapi.json")
    assert status == 200
    paths = document["paths"]
    for path in [path for path in paths if path in EXCLUDED or model == "cross" and path not in PAIRS or
                 model != "cross" and path in PAIRS]:
        del paths[path]
    for path, operations in paths.items():
        for operation in operations.values():
            if "requestBody" in operation:
                body = operation["requestBody"]["content"]["application/json"]
                if path == "/" and "anyOf" in body["schema"]:  # the first form is that of embedding models
                    body["schema"] = body["schema"]["anyOf"][0]
                narrow(body["schema"], [model, "", None], mode)
    return document


@pytest.mark.parametrize("mode", ["positive", "negative"])
@pytest.mark.parametrize("model", ["prompted", "cross"])
def test_openapi(aoe, models, index, tmp_path, model, mode):
    with Server(aoe.program, *models[model], "-i", f"notes={index}", "--allow-token-ids") as server:
        document = document_of(server, model, mode)
        if not document["paths"]:
            pytest.skip("the server has no route for pairs")
        (tmp_path / "openapi.json").write_text(json.dumps(document))
        done = subprocess.run(
            [os.path.join(os.path.dirname(sys.executable), "schemathesis"), "run", str(tmp_path / "openapi.json"),
             "--url", server.url, "--mode", mode, "--max-examples", str(EXAMPLES), "--continue-on-failure",
             "--no-color", "--phases", "examples,coverage,fuzzing", "--generation-deterministic",
             "--generation-allow-x00", "false", "--request-timeout", "60"],
            cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env={**os.environ, "NO_PROXY": "*", "no_proxy": "*"})
        output = done.stdout.decode()
        assert done.returncode == 0, output[-20000:]
        assert f"Tested: {sum(map(len, document['paths'].values()))}" in output
        assert server.get("/readyz")[0] == 200
