# SPDX-License-Identifier: MIT
"""A progress bar for environments without tqdm: one line on stderr, updated at most five times per second."""
from __future__ import annotations

import sys
import time


class Bar:
    """The part of the interface of tqdm that this package uses."""

    def __init__(self, total: int, desc: str = "", unit: str = "") -> None:
        self.total, self.label, self.unit = total, desc, unit
        self.n, self.start, self.shown = 0, time.monotonic(), 0.0
        self.note, self.width = "", 0

    def set_postfix(self, values: dict[str, str], refresh: bool = True) -> None:
        self.note = "".join(f", {name} {value}" for name, value in values.items())

    def update(self, n: int) -> None:
        self.n += n
        now = time.monotonic()
        if now - self.shown >= 0.2 or self.n >= self.total:
            self.shown = now
            rate = self.n / max(now - self.start, 1e-9)
            left = (self.total - self.n) / rate if rate else 0.0
            text = (f"{self.label}: {self.n}/{self.total} {self.unit}, {rate:.0f} per second, {left:.0f} s left"
                    f"{self.note} ")
            sys.stderr.write("\r" + text.ljust(self.width))  # spaces erase the end of a longer text
            self.width = len(text)
            sys.stderr.flush()

    def close(self) -> None:
        if self.n:
            sys.stderr.write("\n")
            sys.stderr.flush()  # a notebook shows the output of the next cell after it
