#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# wheel.sh DIR [PYTHON...]: installs the wheel of DIR into a fresh virtual environment of each PYTHON (default: python3)
# without network, and checks it outside of the source tree:
#     size      at most 60 MB
#     platform  auditwheel finds no library or symbol that manylinux_2_34 does not have
#     vectors   the default model gives the same vectors as the program of the package, bit by bit
#     program   `aoe` and `python -m aoe` run
#     import    `import aoe` takes less than 0.1 s of CPU time more than `import numpy`; the shortest of 7 runs of each
# numpy is taken from the folder PACKAGES (default: build/python/packages, to which `make check-python` downloads it),
# or from the packages of PYTHON if the environment variable SYSTEM_NUMPY is set.
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$1 packages=${PACKAGES:-$PWD/build/python/packages}
shift
wheels=("$dist"/aoe_embeddings-*-py3-none-*_"$(uname -m)".whl)
wheel=$(realpath "${wheels[0]}")
[ -f "$wheel" ] || { echo "wheel: $dist contains no wheel; run make wheel" && exit 1; }
bytes=$(stat -c %s "$wheel")
echo "size: $bytes bytes"
[ "$bytes" -le 60000000 ] || { echo "wheel: the wheel has more than 60 MB" && exit 1; }
if build/python/tools/bin/python -c 'import auditwheel' 2>/dev/null; then # versions.sh also runs where it is missing
    shown=$(build/python/tools/bin/auditwheel show "$wheel" | tr '\n' ' ')
    grep -oE 'following platform tag: +"manylinux_2_[0-9]+_[a-z0-9_]+"' <<<"$shown"
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
unset AOE_MODEL AOE_LIBRARY PYTHONPATH XDG_DATA_DIRS
for python in "${@:-python3}"; do
    venv=$directory/venv
    rm -rf "$venv"
    "$python" -m venv ${SYSTEM_NUMPY:+--system-site-packages} "$venv"
    "$venv/bin/pip" --disable-pip-version-check install -q --no-index --find-links "$packages" "$wheel"
    (
        cd "$directory"
        "$venv/bin/python" -X dev - <<'END'
import subprocess
import sys

import aoe
import numpy

texts = ["She cooks rice.", "She boils rice.", "Bücher 図書館 🦊"]
vectors = aoe.SentenceTransformer().encode(texts)
assert aoe.__file__.startswith(sys.prefix), aoe.__file__
out = subprocess.run([sys.prefix + "/bin/aoe", "embed", "-", "-q", "-f", "npy", "-o", "program.npy"],
                     input="\n".join(texts), text=True, check=True)
assert numpy.array_equal(vectors, numpy.load("program.npy")), "the program gives other vectors"
model = aoe.SentenceTransformer()
similarity = model.similarity(vectors, vectors)
assert similarity[0, 1] > similarity[0, 2] and len(vectors) == 3
for command in ([sys.prefix + "/bin/aoe"], [sys.executable, "-m", "aoe"]):
    printed = subprocess.run([*command, "--version"], check=True, stdout=subprocess.PIPE, text=True).stdout
    assert aoe.__version__ in printed, printed


def seconds(name):
    code = "import time; a = time.process_time(); import " + name + "; print(time.process_time() - a)"
    return min(float(subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE).stdout)
               for _ in range(7))


alone, both = seconds("numpy"), seconds("aoe")
print(f"import: {alone:.3f} s of CPU time for numpy, {both:.3f} s for aoe and numpy")
assert both - alone < 0.1, "the import takes too long"
print(f"Python {sys.version.split()[0]}, numpy {numpy.__version__}: the wheel works")
END
    )
done
