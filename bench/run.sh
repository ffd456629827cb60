#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [PART...]: runs the benchmarks of `make bench`. Parts: matmuls, layers, tokenizer, loss, issues, encoder
# (default: all). Prints fastest and median times. Compare only figures of one run.
set -eu
build=${BUILD:-build}
cd "$(dirname "$0")/.."

program() { # program NAME TITLE
    echo "# $2"
    "$build/bench/$1_bench"
}

# encoder OPTION...: measures an encoder in every data type. Prints the reason if the mode does not support a type, such
# as int8 in training.
encoder() {
    for type in f32 bf16 int8; do
        "$build/aoe" bench --dtype $type "$@" 2>"$build/bench/unsupported" || sed 's/^/- /' "$build/bench/unsupported"
    done
}

encoders() {
    for mode in infer train; do
        for shape in minilm-l6 bert-mini bert-base; do
            for texts in 64x32 16x128; do
                echo "# $shape, $mode, $texts"
                encoder --shape $shape --mode $mode --texts "${texts%x*}" --length "${texts#*x}"
            done
        done
    done
    echo "# one short text"
    encoder --shape minilm-l6 --texts 1 --length 16 --runs 21
}

for part in ${*:-matmuls layers tokenizer loss issues encoder}; do
    case $part in
    matmuls) program gemm "matmuls" ;;
    layers) program layer "layers of BERT-base and its optimiser" ;;
    tokenizer) program tokenizer "tokenizer" ;;
    loss) program loss "losses" ;;
    issues) program issues "duplicate issues" ;;
    encoder) encoders ;;
    *) echo "run.sh: unknown part '$part'; use matmuls, layers, tokenizer, loss, issues or encoder" >&2 && exit 2 ;;
    esac
done
