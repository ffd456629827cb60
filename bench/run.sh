#!/bin/sh
# SPDX-License-Identifier: MIT
# make bench: matrix kernels, then whole encoders, inference and training. Fastest and median of each; compare only within one run.
set -eu
build=${BUILD:-build}
cd "$(dirname "$0")/.."
echo "# matrix products"
"$build/bench/gemm_bench"
for mode in infer train; do
    for shape in minilm-l6 bert-mini bert-base; do
        for texts in 64x32 16x128; do
            echo "# $shape, $mode, $texts"
            "$build/aoe" bench --shape $shape --mode $mode --texts "${texts%x*}" --length "${texts#*x}"
        done
    done
done
echo "# one short text"
"$build/aoe" bench --shape minilm-l6 --texts 1 --length 16 --runs 21
