#!/bin/sh
# SPDX-License-Identifier: MIT
# arm64.sh: tests the ARM64 build on two CPUs that qemu emulates. Cortex-A76 does not have FEAT_BF16: if the program
# executes one of its instructions, it ends with SIGILL. The CPU `max` has all extensions that qemu knows. Runs the
# kernel tests (aoe-check) and golden cases on both CPUs, and the tests with the tag `emulated` on `max`. Compares the
# embeddings of tier neon with those of tier avx2 of this machine, which must have equal bits. Prints SKIP if the packages of
# `make deps-arm64` are not installed. The line with the totals of the tests is that of run.sh.
set -eu
cd "$(dirname "$0")/.."
cross=aarch64-linux-gnu
build=build/$cross
sysroot=$PWD/build/sysroot/$cross
if ! command -v qemu-aarch64 >/dev/null || ! command -v $cross-gcc >/dev/null || [ ! -e "$sysroot/packages" ]; then
    echo "SKIP: the cross-compiler, qemu or the libraries are not installed; run make deps-arm64"
    exit 0
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

arm64() { # arm64 PROGRAM ARG...: runs a program of the ARM64 build
    program=$1
    shift
    qemu-aarch64 -L "$sysroot" "$build/$program" "$@"
}

kernels() { # kernels OP...: runs the kernel tests of the ops
    log=$dir/check-$QEMU_CPU-$1
    arm64 aoe-check --no-speed "$@" >"$log" 2>&1 || { cat "$log" && exit 1; }
    echo "CPU $QEMU_CPU: $(grep -c ' right$' "$log") kernels are right"
}

golden() { # golden: compares hidden states, losses, gradients and optimizer steps with the golden cases
    for dtype in f32 bf16; do
        arm64 aoe verify tests/golden/data/bert -q --dtype $dtype >"$dir/golden" || { cat "$dir/golden" && exit 1; }
        echo "CPU $QEMU_CPU: $(grep -c ' pass$' "$dir/golden") golden values agree in $dtype"
    done
}

make -s CROSS=$cross all aoe-check
ops=$(arm64 aoe-check --list)

export QEMU_CPU=cortex-a76
# The tests of matmuls, GELU and SiLU are omitted because they take long; the CPU `max` also runs the tier neon.
# shellcheck disable=SC2046
kernels $(echo "$ops" | grep -v -e gemm -e gelu -e silu)
if grep neonbf16 "$dir"/check-cortex-a76-*; then
    echo "aoe-check ran kernels that the CPU does not support"
    exit 1
fi
golden

export QEMU_CPU=max
kernels gemm_bf16 & # takes as long as all other ops
# shellcheck disable=SC2046
kernels $(echo "$ops" | grep -v '^gemm_bf16')
wait $!
golden

if [ "$(uname -m)" = x86_64 ] && [ -x build/aoe ] && grep -qw avx2 /proc/cpuinfo; then
    cut -f 2 examples/test.tsv | sed -n 2,21p >"$dir/texts"
    for dtype in f32 bf16; do
        AOE_CPU=avx2 build/aoe embed "$dir/texts" -q --dtype $dtype -f npy -o "$dir/avx2.npy"
        AOE_CPU=neon arm64 aoe embed "$dir/texts" -q --dtype $dtype -f npy -o "$dir/neon.npy"
        cmp "$dir/avx2.npy" "$dir/neon.npy"
    done
    echo "the embeddings of the tiers avx2 and neon are bit-identical"
fi
make -s check CROSS=$cross TAGS=emulated
