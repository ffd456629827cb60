#!/bin/sh
# SPDX-License-Identifier: MIT
# profile.sh [OPTION...]: prints the percentage of the time of `aoe bench OPTION...` per operation
# (docs/performance.md). Needs perf (Debian: linux-perf). Example: bench/profile.sh --shape bert-base --mode train
# --dtype bf16
set -eu
build=${BUILD:-build}
cd "$(dirname "$0")/.."
command -v perf >/dev/null || { echo "profile.sh: perf is not installed; on Debian, install linux-perf" >&2; exit 1; }
data=$(mktemp)
trap 'rm -f "$data" "$data.old"' EXIT
perf record -q -o "$data" "$build/aoe" bench --runs 15 "$@" >&2
perf report -i "$data" --stdio --no-children -F overhead,symbol 2>/dev/null | awk '
    /^ *[0-9]/ {
        share = $1; sub(/%/, "", share)
        name = $NF
        op = "other (" name ")"
        if (name ~ /rng|randomize|__cos|__ieee754_log|^log|_dl_|strcmp/) next # setup of the benchmark
        if (name ~ /^\[k\]|^0x|page|clear|copy_user|native_|asm_|do_|handle_|_raw_/ ||
            $2 == "[k]") op = "operating system (page faults)"
        else if (name ~ /adamw/) op = "AdamW"
        else if (name ~ /sum_squares/) op = "gradient norm"
        else if (name ~ /gelu/) op = "GELU (not fused)"
        else if (name ~ /layernorm|rmsnorm|param_grad_part|row_sum|row_squares/) op = "normalization"
        else if (name ~ /dropout|philox/) op = "dropout"
        else if (name ~ /softmax/) op = "softmax"
        else if (name ~ /epilogue/) op = "matmul: store and epilogue"
        else if (name ~ /pack|interleave|transpose/) op = "matmul: packing"
        else if (name ~ /^tile|gemm|multiply_block|tile_/) op = "matmul: tiles"
        else if (name ~ /column_sum/) op = "bias gradients"
        else if (name ~ /bf16/) op = "conversions"
        else if (name ~ /add_f32|embedding/) op = "embedding and sums"
        else if (name ~ /memset|memcpy|memmove/) op = "memset, memcpy"
        else if (name ~ /score|panel|objective|rank|angle|cosine/) op = "losses"
        else if (name ~ /worker|pool|futex|wait|relax/) op = "waiting"
        else if (share < 0.5) op = "other"
        sum[op] += share
        all += share
    }
    END { for (op in sum) printf "%6.1f%%  %s\n", 100 * sum[op] / all, op }' | sort -rn
