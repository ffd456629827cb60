# SPDX-License-Identifier: MIT
"""Contexts: the threads of the library, which all models of a process share, and its messages, which go to the logger
"aoe" of Python's logging."""
from __future__ import annotations

import ctypes
import logging
import os
from typing import Any

from . import _native

logger = logging.getLogger("aoe")
logger.addHandler(logging.NullHandler())
_LEVELS = {0: logging.INFO, 1: logging.WARNING}
_lock = _native.Lock()
_contexts: dict[int, "Context"] = {}


def default_threads() -> int:
    """Returns the number of threads that a model uses by default: the CPUs that the process may use, limited by its
    cgroup and then by OMP_NUM_THREADS."""
    context = ctypes.c_void_p()
    lib = _native.load()
    _native.check(lib.aoe_context_create, ctypes.byref(context), None)
    threads = int(lib.aoe_context_threads(context))
    lib.aoe_context_destroy(context)
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(threads, int(text)) if text.isascii() and text.isdigit() and int(text) else threads


class Context:
    """A context of the library. It is never destroyed, because other objects may still use it when Python exits."""

    def __init__(self, threads: int) -> None:
        options = _native.options("aoe_context_options", threads=threads)
        self._log = _native.interface().type("aoe_log_fn")(self._receive)
        options.log = self._log
        self.handle = ctypes.c_void_p()
        _native.check(_native.load().aoe_context_create, ctypes.byref(self.handle), ctypes.byref(options))

    @staticmethod
    def _receive(user: Any, level: int, message: bytes) -> None:
        logger.log(_LEVELS.get(level, logging.WARNING), "%s", message.decode("utf-8", "replace"))


def context(threads: int | None = None) -> Context:
    """Returns the context with this number of threads; None: default_threads()."""
    count = default_threads() if threads is None else _native.positive(threads, "threads")
    with _lock:
        if count not in _contexts:
            _contexts[count] = Context(count)
        return _contexts[count]
