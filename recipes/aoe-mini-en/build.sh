#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh: trains the model aoe-mini-en from random weights, with data sets and the commands of this repository. Takes
# two to two and a half hours on two cores of a Zen 4 server.
#     AOE_DATA=DIR recipes/aoe-mini-en/build.sh
# Writes the model to $AOE_WORK/aoe-mini-en. Intermediate files are kept in $AOE_WORK (build/aoe-mini-en); the same
# command resumes an interrupted step.
set -eu
cd "$(dirname "$0")/../.."
AOE_WORK=${AOE_WORK:-build/aoe-mini-en}
. recipes/steps.sh
recipe=recipes/aoe-mini-en
model=$AOE_WORK/aoe-mini-en
step "$AOE_WORK/questions.tsv" "$recipe/prepare.sh"
head -n 300000 "$AOE_WORK/books.txt" >"$AOE_WORK/books_part.txt" # enough for a vocabulary
step "$AOE_WORK/start/config.json" "$aoe" init --shape aoe-mini \
    --vocab-from "$AOE_WORK/books_part.txt" "$AOE_WORK/wiki.txt" \
    "$AOE_WORK/words/captions.txt" "$AOE_WORK/words/entailments.tsv" "$AOE_WORK/words/questions.tsv" \
    --vocab-size 12000 -o "$AOE_WORK/start"
step "$AOE_WORK/base/config.json" "$aoe" pretrain "@$recipe/pretrain.args" --resume
"$aoe" plot curve "$AOE_WORK/base" -o "$AOE_WORK/perplexity"
step "$AOE_WORK/tuned/config.json" "$aoe" train "@$recipe/train.args" --resume
cat "$AOE_WORK/wiki.txt" "$AOE_WORK/words/captions.txt" >"$AOE_WORK/texts.txt"
# names FILE NUMBER: writes triplets that differ in rare words to FILE. NUMBER determines the random numbers. mawk is
# required, because random numbers differ between awk programs.
names() {
    draw() { mawk "$@" -f "$recipe/names.awk" "$AOE_WORK/texts.txt" "$AOE_WORK/wiki.txt"; }
    {
        draw -v seed=$((2 * $2 - 1)) -v rare=60 -v longest=16
        draw -v seed=$((2 * $2)) -v rare=2000 -v longest=14 -v often=1 | tail -n +2
    } >"$1.part" && mv "$1.part" "$1"
}
# two runs of two rounds each, from the same model; the average of the two resulting models is better than each of them
export AOE_FROM AOE_ROUND=0
for run in 1 2; do
    AOE_FROM=tuned
    for round in 1 2; do
        AOE_ROUND=$((AOE_ROUND + 1))
        step "$AOE_WORK/names-$AOE_ROUND.tsv" names "$AOE_WORK/names-$AOE_ROUND.tsv" "$AOE_ROUND"
        step "$AOE_WORK/round-$AOE_ROUND/config.json" "$aoe" train "@$recipe/round.args" --seed $((42 + AOE_ROUND)) \
            --resume
        AOE_FROM=round-$AOE_ROUND
    done
done
"$aoe" merge "$AOE_WORK/round-2" "$AOE_WORK/round-4" --dtype bf16 --force -o "$model"
cp "$recipe/LICENSE.weights" "$model/LICENSE"
"$aoe" eval sts -m "$model" "$AOE_DATA/stsb/dev.tsv" "$AOE_DATA/stsb/test.tsv" \
    "$AOE_DATA"/sts12_14_15/senteval/STS*-en-test
