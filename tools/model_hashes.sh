#!/bin/sh
# SPDX-License-Identifier: MIT
# model_hashes.sh [AOE]: trains six small models for different tasks, architectures and data types. Prints the SHA-256
# of the weights of each model. A change of the code that does not change results must not change these six lines. AOE
# is the program to run (default: build/aoe). The hashes depend on the instruction set. AOE_CPU=avx2 selects an
# instruction set that most machines have.
set -eu
cd "$(dirname "$0")/.."
aoe=${1:-build/aoe}
export AOE_MODEL="$PWD/models/aoe-small-en"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Creates triplets from scored pairs. The query is text1, the positive is text2, and the negative is text2 of the row
# before.
awk -F '\t' 'BEGIN { print "query\tpositive\tnegative" } NR > 2 { print $2 "\t" $3 "\t" above } { above = $3 }' \
    examples/train.tsv |
    head -n 200 >"$work/triplets.tsv"
cut -f 2 examples/train.tsv | tail -n +2 >"$work/texts.txt"

init() { # init DIR OPTIONS...: a model with random weights
    dir=$1
    shift
    "$aoe" init -q -o "$work/$dir" --vocab-from examples/train.tsv --vocab-size 800 --layers 2 --hidden 64 --heads 4 \
        --seed 3 "$@"
}

hash() { # hash NAME: the SHA-256 of the weights in $work/NAME
    for file in "$work/$1"/model.safetensors "$work/$1"/adapter_model.safetensors; do
        [ ! -f "$file" ] || printf '%s  %s\n' "$(sha256sum <"$file" | cut -d ' ' -f 1)" "$1"
    done
}

init bert --shape bert-tiny
init roberta --shape roberta-base --intermediate 128 --positions 130
init llama --shape tinyllama-1.1b --kv-heads 2 --intermediate 128 --positions 128
init ran --shape ran-mini --head-size 16 --window 8 --intermediate 128 --positions 128

{
    "$aoe" train -q -d examples/train.tsv -o "$work/bert-pairs-f32" --dtype f32 --pooling cls --epochs 2 --seed 1
    "$aoe" train -q -m "$work/roberta" -d "$work/triplets.tsv" -o "$work/roberta-triplets-bf16" --dtype bf16 \
        --pooling last-avg --epochs 2
    "$aoe" pretrain -q -m "$work/bert" -d "$work/texts.txt" -o "$work/bert-masked-words-f32" --dtype f32 --epochs 2 \
        --batch-size 16
    "$aoe" train -q -m "$work/ran" -d examples/train.tsv -o "$work/ran-pairs-f32" --dtype f32 --pooling cell-mean \
        --epochs 1
    "$aoe" train -q -m "$work/llama" -d examples/train.tsv -o "$work/llama-lora-bf16" --dtype bf16 \
        --pooling last-token --lora-r 4 --epochs 1
    "$aoe" train -q -m "$work/bert" -d examples/train.tsv --dev examples/test.tsv -o "$work/bert-regression-bf16" \
            --method sbert-regression --dtype bf16 --pooling last-avg --epochs 2 --lr 1e-3
} >/dev/null
for name in bert-pairs-f32 roberta-triplets-bf16 bert-masked-words-f32 ran-pairs-f32 llama-lora-bf16 \
    bert-regression-bf16; do
    hash "$name"
done
