#!/bin/sh
# SPDX-License-Identifier: MIT
# qemu.sh: runs the program on two emulated CPUs, Haswell (AVX2, no AVX-512) and Nehalem (no AVX). If the program
# executes an instruction that the CPU does not have, it ends with SIGILL. Also compares the embeddings that both CPUs
# compute, and runs the kernel tests (aoe-check) on both CPUs. Prints SKIP if qemu-user is not installed.
set -eu
build=${BUILD:-build}
command -v qemu-x86_64 >/dev/null || { echo "SKIP: qemu-x86_64 (package qemu-user) is not installed"; exit 0; }
[ "$(uname -m)" = x86_64 ] || { echo "SKIP: not an x86-64 machine"; exit 0; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$(dirname "$0")/.."
head -n 60 examples/train.tsv >"$dir/data.tsv"
check() { # check CPU: runs the program and the kernel tests on a CPU
    cpu=$1
    run() { qemu-x86_64 -cpu $cpu "$build/aoe" "$@"; }
    run init --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 --vocab-from "$dir/data.tsv" \
        --vocab-size 300 -o "$dir/$cpu-start" --quiet
    run train -m "$dir/$cpu-start" -d "$dir/data.tsv" -o "$dir/$cpu-model" --batch-size 8 --epochs 1 --quiet
    printf 'a plain sentence\nanother one, 42 words shorter\n' |
        run embed -m "$dir/$cpu-model" --format tsv --quiet >"$dir/$cpu.tsv"
    run train -m "$dir/$cpu-start" -d "$dir/data.tsv" -o "$dir/$cpu-bf16" --batch-size 8 --epochs 1 --quiet --dtype bf16
    printf 'a plain sentence\n' | run embed -m "$dir/$cpu-bf16" --format tsv --quiet --dtype bf16 | wc -l | grep -qx 1
    run eval sts -m "$dir/$cpu-model" "$dir/data.tsv" --quiet
    run init --shape tinyllama-1.1b --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 \
        --vocab-from "$dir/data.tsv" --vocab-size 300 -o "$dir/$cpu-llama" --quiet
    run train -m "$dir/$cpu-llama" -d "$dir/data.tsv" -o "$dir/$cpu-silu" --batch-size 8 --max-steps 2 --quiet
    wc -l <"$dir/$cpu.tsv" | grep -qx 2
    if [ -x "$build/aoe-check" ]; then
        # The tests of matmuls, GELU and SiLU are omitted because they take long; the training above calls these
        # kernels. Of the other tests, every 7th value and shape is sufficient, because `make check` runs the same
        # kernels without emulation. AOE_TEST_GUARDS=0 is necessary because masked loads and stores in qemu also access
        # the disabled lanes.
        ops=$("$build/aoe-check" --list | grep -v -e gemm -e gelu -e silu)
        # shellcheck disable=SC2086
        AOE_TEST_EVERY=${AOE_TEST_EVERY:-7} AOE_TEST_GUARDS=0 qemu-x86_64 -cpu $cpu "$build/aoe-check" \
            --no-speed $ops >"$dir/$cpu.check" 2>&1 ||
            { cat "$dir/$cpu.check"; exit 1; }
        if grep -E 'avx512|amx' "$dir/$cpu.check"; then
            echo "aoe-check ran kernels that the CPU does not support"
            exit 1
        fi
    fi
}
check Nehalem >"$dir/Nehalem.log" 2>&1 &
nehalem=$!
check Haswell >"$dir/Haswell.log" 2>&1 &
haswell=$! code=0
wait $nehalem || code=$?
wait $haswell || code=$?
for cpu in Nehalem Haswell; do
    echo "CPU $cpu"
    cat "$dir/$cpu.log"
done
[ $code = 0 ] || exit $code
cmp "$dir/Nehalem-start/model.safetensors" "$dir/Haswell-start/model.safetensors"
# Only one of the two CPUs has fused multiply-adds, so the embeddings of the trained models agree only in a few digits.
paste "$dir/Nehalem.tsv" "$dir/Haswell.tsv" | awk '
    { n = NF / 2; d = r = 0; for (i = 1; i <= n; i++) { d += ($i - $(i + n)) ^ 2; r += $i ^ 2 }
      if (!(sqrt(d / r) <= 1e-3)) { print "vectors differ by " sqrt(d / r); bad = 1 } }
    END { exit bad }'
echo "the program executed no instruction of a higher tier"
