# SPDX-License-Identifier: MIT
"""`python -m aoe` runs the program aoe that the package contains, with the same arguments as the command `aoe`."""
from __future__ import annotations

import os
import sys

from . import _native


def main() -> None:
    """Replaces this process by the program. Raises ImportError if there is no program."""
    program = _native.program()
    os.execv(program, ["aoe", *sys.argv[1:]])


if __name__ == "__main__":
    main()
