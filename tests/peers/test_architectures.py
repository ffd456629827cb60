# SPDX-License-Identifier: MIT
"""Compares every variant of every architecture (tests/peers/architectures) with the library transformers in float64:
hidden states, poolings, losses, gradients and ten training steps."""
import json
import pathlib

import pytest

import golden
from conftest import record

NAMES = sorted(p.stem for p in (pathlib.Path(__file__).parent / "architectures").glob("[a-z]*.py"))
CASES = [(name, variant) for name in NAMES for variant in golden.variants(name)]


@pytest.mark.parametrize("name,variant", CASES, ids=[f"{a}-{v}" for a, v in CASES])
def test_golden(aoe, tmp_path, name, variant):
    golden.write(golden.variants(name)[variant], tmp_path)
    checks = [json.loads(line) for line in aoe.run("verify", tmp_path, "--dtype", "f32", "--json").stdout.splitlines()]
    for check in checks:
        kind = check["name"].split("/")[-1]  # for example gradient.cosine
        record(kind if kind.startswith("adamw") else kind.split(".")[0], check["error"])
    assert len(checks) > 15 and all(check["passed"] for check in checks)
