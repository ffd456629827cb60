#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [PART...]: make bench. Parts: products, layers, tokenizer, loss, issues, encoder; all without arguments.
# Fastest and median of each; compare only within one run.
set -eu
build=${BUILD:-build}
cd "$(dirname "$0")/.."

program() { # program NAME TITLE
    echo "# $2"
    "$build/bench/$1_bench"
}

# An encoder in every type this build has.
encoder() {
    for type in f32 bf16; do
        "$build/aoe" bench --dtype $type "$@" 2>"$build/bench/refused" || sed 's/^/- /' "$build/bench/refused"
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

for part in ${*:-products layers tokenizer loss issues encoder}; do
    case $part in
    products) program gemm "matrix products" ;;
    layers) program layer "layers of BERT-base and its optimiser" ;;
    tokenizer) program tokenizer "tokenizer" ;;
    loss) program loss "objectives" ;;
    issues) program issues "duplicates among issues" ;;
    encoder) encoders ;;
    *) echo "run.sh: no part '$part'; there are products, layers, tokenizer, loss, issues and encoder" >&2 && exit 2 ;;
    esac
done
