#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# arm64.sh DIR: imports the ARM64 wheel of DIR with Debian's Python for ARM64, which qemu emulates, and compares the
# vectors of the default model in tier neon with those of build/aoe in tier avx2, bit by bit. Also runs the program of
# the wheel. Python and numpy are unpacked to build/sysroot/aarch64-python (tools/sysroot.sh).
# `make check-python CROSS=aarch64-linux-gnu` runs it.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(uname -m)" = x86_64 ] && grep -qw avx2 /proc/cpuinfo || { echo "SKIP: the comparison requires AVX2" && exit 0; }
sysroot=$PWD/build/sysroot/aarch64-python
wheels=("$1"/aoe_embeddings-*_aarch64.whl)
[ -f "${wheels[0]}" ] || { echo "arm64: $1 contains no wheel for ARM64" && exit 1; }
[ "$(stat -c %s "${wheels[0]}")" -le 60000000 ] || { echo "arm64: the wheel has more than 60 MB" && exit 1; }
tools/sysroot.sh arm64 "$sysroot" python3 python3-numpy
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
python3 -m zipfile -e "${wheels[0]}" "$directory"
printf '%s\n' "She cooks rice." "She boils rice." "Bücher 図書館 🦊" >"$directory/texts"
AOE_CPU=avx2 build/aoe embed "$directory/texts" -q -f npy -o "$directory/avx2.npy"
unset AOE_MODEL AOE_LIBRARY
cd "$directory"
emulate() { # emulate PROGRAM ARG...; BLAS of numpy is in a folder that Debian's ldconfig would configure
    AOE_CPU=neon qemu-aarch64 -cpu max -L "$sysroot" -E PYTHONPATH="$directory:/usr/lib/python3/dist-packages" \
        -E LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu/blas:/usr/lib/aarch64-linux-gnu/lapack "$@"
}
emulate "$sysroot/usr/bin/python3" - <<'END'
import os
import platform

import aoe
import numpy

assert platform.machine() == "aarch64" and aoe.__file__.startswith(os.getcwd()), (platform.machine(), aoe.__file__)
vectors = aoe.SentenceTransformer().encode(open("texts", encoding="utf-8").read().splitlines())
assert vectors.shape[0] == 3 and numpy.array_equal(vectors, numpy.load("avx2.npy")), "other vectors than tier avx2"
print("ARM64: the vectors of the wheel have the bits of tier avx2, with Python", platform.python_version())
END
chmod +x aoe/bin/aoe
emulate aoe/bin/aoe embed texts -q -f npy -o neon.npy
cmp neon.npy avx2.npy
echo "ARM64: the program of the wheel gives the same file"
