# SPDX-License-Identifier: MIT
"""The settings of the package in pyproject.toml, and its installation from a source tree."""
import os
import re
import subprocess
import sys

import pytest

from conftest import ROOT

tomllib = pytest.importorskip("tomllib")  # Python 3.11

TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "python" / "aoe").glob("*.py")}


def test_overrides_of_type_checkers_name_modules_that_exist():
    modules = [name for override in TOOLS["mypy"]["overrides"] for name in override["module"]]
    own = {name[len("aoe."):] for name in modules if name.startswith("aoe.")}
    assert own <= SOURCES.keys()
    imported = re.findall(r"^ *(?:from|import) (\w+)", "\n".join(SOURCES.values()), re.MULTILINE)
    assert {name[:-len(".*")] for name in modules if not name.startswith("aoe.")} <= set(imported)
    assert {path[len("**/"):-len(".py")] for path in TOOLS["pyright"]["exclude"]} == own


@pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="the installation builds without sanitizers")
def test_editable_installation(tmp_path):
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("AOE", "AOE_LIBRARY", "AOE_MODEL", "BUILD", "PYTHONPATH")}

    def run(*command):
        done = subprocess.run([*map(str, command)], cwd=tmp_path, env=environment, capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    run(sys.executable, "-m", "venv", "venv")
    binaries = tmp_path / "venv" / "bin"
    run(binaries / "pip", "install", "-q", "--no-index", "--no-deps", "--no-build-isolation", "-e", ROOT)
    assert run(binaries / "aoe", "--version").startswith("aoe ")
    found = run(binaries / "python", "-c", "import importlib.util; print(importlib.util.find_spec('aoe').origin)")
    assert found == str(ROOT / "python" / "aoe" / "__init__.py")
