# SPDX-License-Identifier: MIT
"""Runs the Python blocks of docs/python.md, each in a program and a directory of its own."""
import json
import os
import re
import subprocess
import sys

import aoe
import pytest

from conftest import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_notebook_is_stored_without_outputs():
    cells = json.loads((ROOT / "examples" / "notebook.ipynb").read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) > 5 and all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_number_of_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("program", EXAMPLES, ids=range(1, len(EXAMPLES) + 1))
def test_example(program, tmp_path):
    package = os.path.dirname(os.path.dirname(aoe.__file__))
    path = os.pathsep.join([package, *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=200,
                          env={**os.environ, "PYTHONPATH": path}, check=False)
    assert done.returncode == 0, done.stderr
    assert "print(" not in program or done.stdout.strip()
