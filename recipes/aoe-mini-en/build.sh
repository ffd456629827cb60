#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh: models/aoe-mini-en from data sets, with this repository's commands alone; about 100 minutes on two cores.
#     AOE_DATA=DIR recipes/aoe-mini-en/build.sh
# Everything in between stays in $AOE_WORK (build/aoe-mini-en); a step that was stopped goes on when it is run again.
set -eu
cd "$(dirname "$0")/../.."
AOE_WORK=${AOE_WORK:-build/aoe-mini-en}
. recipes/steps.sh
recipe=recipes/aoe-mini-en
step "$AOE_WORK/questions.tsv" "$recipe/prepare.sh"
head -n 300000 "$AOE_WORK/books.txt" >"$AOE_WORK/books_part.txt" # enough for a vocabulary
sed 's/[{}":[]//g; s/]//g; s/query//; s/positive.*//' "$AOE_WORK/captions.jsonl" >"$AOE_WORK/captions.txt"
step "$AOE_WORK/start/config.json" "$aoe" init --shape aoe-mini --vocab-from "$AOE_WORK/books_part.txt" "$AOE_WORK/wiki.txt" \
    "$AOE_WORK/captions.txt" "$AOE_WORK/entailments.tsv" "$AOE_WORK/questions.tsv" --vocab-size 12000 -o "$AOE_WORK/start"
step "$AOE_WORK/base/config.json" "$aoe" pretrain "@$recipe/pretrain.args" --resume
"$recipe/plot.sh" "$AOE_WORK/base" "$AOE_WORK/perplexity"
step "$AOE_WORK/tuned/config.json" "$aoe" train "@$recipe/train.args" --resume
"$aoe" convert "$AOE_WORK/tuned" --dtype bf16 --force -o models/aoe-mini-en
"$aoe" eval sts -m models/aoe-mini-en "$AOE_DATA/stsb/dev.tsv" "$AOE_DATA/stsb/test.tsv" "$AOE_DATA"/sts12_14_15/senteval/STS*-en-test
