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
    """Replaces what /openapi.json cannot express in a schema: names of models, the number of components, and the
    largest token id. Removes fields that only some of the other values allow, such as prompts, which cannot be added to
    token ids. In valid requests, keys that the document does not name have strings as values, because the server
    rejects large numbers also in these keys."""
    properties = schema.get("properties", {})
    for name in ("prompt_name", *(("prompt", "input_type") if {"input", "inputs"} & set(properties) else ())):
        properties.pop(name, None)
    for name in NOT_SUPPORTED & set(properties):
        if not {"type", "anyOf"} & set(properties[name]):
            del properties[name]
    for name, field in properties.items():
        if name == "model":
            field["enum"] = models
        elif name in ("dimensions", "output_dimension"):
            field["maximum"] = 384 if mode == "positive" else field["maximum"]
        elif name == "max_tokens":  # larger than the number of special tokens
            field["minimum"] = 3
        elif name == "keep_alive" and mode == "positive":
            field["type"] = "string"
        else:
            narrow(field, models, mode)
    if "output_dimension" in properties:  # of Cohere, whose `texts` may be missing only with `inputs`
        schema["required"] = ["texts"]
        properties["texts"]["anyOf"] = [one for one in properties["texts"]["anyOf"] if one.get("enum") != [None]]
    if "model" in properties and None not in models:
        schema["required"] = sorted({*schema.get("required", []), "model"})
        properties["model"].pop("nullable", None)
    if schema.get("type") == "object" and mode == "positive":
        schema["additionalProperties"] = {"type": "string"}
    if schema.get("type") == "integer" and schema.get("maximum") == 2147483647:
        schema["maximum"] = 30521
    for part in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
        narrow(part, models, mode)


NOT_SUPPORTED = {"images", "inputs"}  # fields of Cohere for pictures: every value except null is an error
EXCLUDED = ("/embed_sparse",)         # answers every valid request with an error
PAIRS = ("/predict", "/rerank", "/v1/rerank", "/v2/rerank", "/reranking", "/v1/reranking")


@pytest.fixture(scope="module")
def cross_encoder(tmp_path_factory):
    """A directory with a small random cross-encoder."""
    path = tmp_path_factory.mktemp("cross")
    cross_encoders.save(cross_encoders.build(golden.variants("bert")["default"], 1), path)
    return path


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_openapi(aoe, served, cross_encoder, tmp_path, mode):
    with Server(aoe.program, "-m", f"prompted={served.prompted}", "-m", f"cross={cross_encoder}",
                "--allow-token-ids") as server:
        status, _, document = server.get("/openapi.json")
        assert status == 200
        for path in EXCLUDED:
            del document["paths"][path]
        for path, operations in document["paths"].items():
            for operation in operations.values():
                if "requestBody" in operation:
                    narrow(operation["requestBody"]["content"]["application/json"]["schema"],
                           ["cross"] if path in PAIRS else ["prompted", "", None], mode)
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
        assert server.post("/embed", {"inputs": "a"})[0] == 200  # the server still computes
