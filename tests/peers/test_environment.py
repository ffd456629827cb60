# SPDX-License-Identifier: MIT
"""The check of the Python packages, which conftest.py makes before it imports them."""
import os
import shutil
import subprocess
import sys

from conftest import HERE, wrong_packages


def test_wrong_packages(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("# comment\nnumpy==0.0.1\n\nno-such-package-of-aoe==1.0\n")
    wrong = wrong_packages(path)
    assert len(wrong) == 2 and wrong[0].startswith("numpy==0.0.1 (found: ") and wrong[
        1] == "no-such-package-of-aoe==1.0 (found: none)"


def test_missing_package_fails_the_run(tmp_path):
    """A run with a missing package ends with one message and runs no test."""
    shutil.copy(HERE / "conftest.py", tmp_path)
    (tmp_path / "requirements.txt").write_text("no-such-package-of-aoe==1.0\n")
    (tmp_path / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=tmp_path,
                          capture_output=True, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    assert done.returncode != 0 and "passed" not in done.stdout
    assert "no-such-package-of-aoe==1.0 (found: none)" in done.stderr
    assert "Traceback" not in done.stderr
