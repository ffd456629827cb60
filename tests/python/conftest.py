# SPDX-License-Identifier: MIT
"""Fixtures of the tests of the Python package: `make check-python`, or with a built library

    PYTHONPATH=python python -X dev -m pytest tests/python
"""
import os
import pathlib
import signal

import pytest

if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as shells start programs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("HF_HUB_OFFLINE", "1")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
os.environ.setdefault("AOE_MODEL", str(ROOT / "models" / "aoe-small-en"))

import aoe


@pytest.fixture(scope="session")
def model():
    """The default model."""
    with aoe.SentenceTransformer() as opened:
        yield opened


@pytest.fixture(scope="session")
def pair_model():
    """A cross-encoder with two outputs and random weights."""
    with aoe.CrossEncoder(ROOT / "tests" / "golden" / "cross_encoders" / "bert") as opened:
        yield opened


@pytest.fixture(scope="session")
def program():
    """The program aoe, which must give the same results as the package."""
    path = pathlib.Path(os.environ.get("AOE", ROOT / "build" / "aoe"))
    if not path.exists():
        pytest.skip(f"{path} does not exist; run make")
    return str(path)
