#!/bin/sh
# SPDX-License-Identifier: MIT
# arm64.sh: tests the ARM64 build on three CPUs that qemu emulates. Cortex-A72 does not have FEAT_DotProd, and
# Cortex-A76 has FEAT_DotProd but neither FEAT_BF16 nor FEAT_I8MM: if the program executes an instruction that the CPU
# does not have, it ends with SIGILL. The CPU `max` has all extensions that qemu knows. Emulation is slow. A kernel or a
# golden case is therefore tested on only one of the CPUs, and two parts run in parallel:
#     kernels    the kernel tests (aoe-check) of the bf16 matmul on `max`, and of all other ops on Cortex-A76; of the
#                matmuls, only the kernels of the highest tier, because they take longest. The int8 matmul is tested on
#                all three CPUs, which have different kernels for it, and quantization also on Cortex-A72
#     golden     all golden cases in float32 on Cortex-A76, and the case `bert` in bf16 on `max`
#     equality   embeddings and trained weights of tier neon must have the bits of tier avx2 of this machine; in int8,
#                embeddings of the tiers neon and neondot
#     programs   the test programs with the tag `emulated` and without the tag `threads` on `max`; run.sh prints
#                the line with their totals
# The kernel tests test every 7th value and shape; AOE_TEST_EVERY=1 tests all of them.
# Prints SKIP if the packages of `make deps-arm64` are not installed.
set -eu
export AOE_TEST_EVERY="${AOE_TEST_EVERY:-7}"
cd "$(dirname "$0")/.."
cross=aarch64-linux-gnu
build=build/$cross
sysroot=$PWD/build/sysroot/$cross

arm64() { # arm64 CPU PROGRAM ARG...: runs a program of the ARM64 build
    cpu=$1 program=$2
    shift 2
    qemu-aarch64 -cpu "$cpu" -L "$sysroot" "$build/$program" "$@"
}

fail() { # fail MESSAGE: prints the log and the message, and ends the part
    cat "$dir/log"
    echo "$1"
    exit 1
}

kernels() { # kernels CPU TIER ARG...: runs the kernel tests of the ops; TIER is the highest tier of the CPU
    cpu=$1 tier=$2
    shift 2
    arm64 "$cpu" aoe-check --no-speed "$@" >"$dir/log" 2>&1 || fail "CPU $cpu: aoe-check failed"
    grep -q "highest tier $tier;" "$dir/log" || fail "CPU $cpu: the highest tier is not $tier"
    echo "CPU $cpu: $(grep -c ' right$' "$dir/log") kernels are right"
}

golden() { # golden CPU DTYPE DIR: compares hidden states, losses, gradients and optimizer steps with golden cases
    arm64 "$1" aoe verify "$3" -q --dtype "$2" >"$dir/log" 2>&1 || fail "CPU $1: aoe verify failed in $2"
    echo "CPU $1: $(grep -c ' pass$' "$dir/log") golden values agree in $2"
}

# equality DTYPE: compares embeddings of the tiers neon (int8: and neondot) and avx2, and trained weights except in int8
equality() {
    if [ "$(uname -m)" != x86_64 ] || [ ! -x build/aoe ] || ! grep -qw avx2 /proc/cpuinfo; then
        echo "SKIP: the comparison with tier avx2 requires a build and a CPU with AVX2"
        return
    fi
    avx2() { AOE_CPU=avx2 build/aoe "$@"; }
    neon() { AOE_CPU=neon arm64 max aoe "$@"; }
    neondot() { AOE_CPU=neondot arm64 max aoe "$@"; }
    cut -f 2 examples/test.tsv | sed -n 2,21p >"$dir/texts"
    if [ "$1" = int8 ]; then # training does not support int8
        for tier in avx2 neon neondot; do
            $tier embed "$dir/texts" -q --dtype int8 -f npy -o "$dir/$tier.npy"
            cmp "$dir/avx2.npy" "$dir/$tier.npy"
        done
        echo "embeddings of the tiers avx2, neon and neondot are bit-identical in int8"
        return
    fi
    head -n 60 examples/train.tsv >"$dir/data.tsv"
    avx2 init --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 --vocab-from "$dir/data.tsv" \
        --vocab-size 300 -o "$dir/start" -q
    for tier in avx2 neon; do
        $tier embed "$dir/texts" -q --dtype "$1" -f npy -o "$dir/$tier.npy"
        $tier train -m "$dir/start" -d "$dir/data.tsv" -o "$dir/$tier" --batch-size 8 --epochs 1 -q --dtype "$1" \
            >"$dir/log" 2>&1 || fail "aoe train failed in tier $tier"
    done
    cmp "$dir/avx2.npy" "$dir/neon.npy"
    cmp "$dir/avx2/model.safetensors" "$dir/neon/model.safetensors"
    echo "embeddings and trained weights of the tiers avx2 and neon are bit-identical in $1"
}

programs() {
    QEMU_CPU=max make -s check CROSS=$cross TAGS=emulated SKIP=threads
}

if [ "${1-}" = --part ]; then # arm64.sh --part PART ARG...: runs one part
    shift
    dir=$(mktemp -d)
    exec 3>&1 >"$dir/report" 2>&1
    # in one piece, because another part prints at the same time
    trap 'cat "$dir/report" >&3; rm -rf "$dir"' EXIT
    "$@"
    exit
fi

for tool in qemu-aarch64 $cross-gcc; do
    command -v "$tool" >/dev/null || { echo "SKIP: $tool is not installed; run make deps-arm64" && exit 0; }
done
[ -e "$sysroot/packages" ] || { echo "SKIP: $sysroot does not contain the libraries; run make deps-arm64" && exit 0; }
make -s CROSS=$cross all aoe-check
# The parts that take longest are the first ones.
xargs -P 2 -L 1 tests/arm64.sh --part <<END
kernels max neonbf16 --highest gemm_bf16 gemm_int8
golden max bf16 tests/golden/data/bert
kernels cortex-a76 neondot --highest gemm_f32 gemm_int8
kernels cortex-a76 neondot $(arm64 cortex-a76 aoe-check --list |
    grep -v -e '^gemm_f32' -e '^gemm_bf16' -e '^gemm_int8' | paste -s -d ' ' -)
programs
golden cortex-a76 f32 tests/golden/data
kernels cortex-a72 neon --highest gemm_int8 quantize
equality f32
equality bf16
equality int8
END
