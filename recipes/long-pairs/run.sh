#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh: compares a BERT and a RAN with a similar number of parameters on pairs of long texts. Both are pretrained on
# the same text for the same time and fine-tuned with AnglE. Prints the Spearman correlations x 100 on the test pairs as
# a Markdown table. See README.md.
#     AOE_DATA=DIR recipes/long-pairs/run.sh
# Intermediate files are kept in $AOE_WORK (build/long-pairs); the same command resumes an interrupted step.
set -eu
cd "$(dirname "$0")/../.."

# Settings that determine the running time: about 45 minutes on two cores with these values.
MINUTES=${MINUTES:-7} # minutes of pretraining per model
EPOCHS=${EPOCHS:-1} # epochs of fine-tuning
SEEDS=${SEEDS:-1 2 3} # seeds of fine-tuning, one run per seed
PAIRS=${PAIRS:-1000000} # maximum number of rows of each table
BOOKS=${BOOKS:-200000} # sentences of books for pretraining
VOCABULARY=${VOCABULARY:-12000} # vocabulary size of both models

AOE_WORK=${AOE_WORK:-build/long-pairs}
. recipes/steps.sh
export MINUTES EPOCHS PAIRS BOOKS
recipe=recipes/long-pairs

init() { # init OPTION...: creates $MODEL with random weights
    step "$AOE_WORK/$MODEL/start/config.json" "$aoe" init --shape "$MODEL" "$@" -o "$AOE_WORK/$MODEL/start"
}

# learn SEED...: pretrains $MODEL and fine-tunes it once per seed
learn() {
    step "$AOE_WORK/$MODEL/base/config.json" "$aoe" pretrain "@$recipe/pretrain.args" \
        --resume >>"$AOE_WORK/$MODEL/pretrain.txt"
    for SEED; do
        export SEED
        step "$AOE_WORK/$MODEL/seed-$SEED/config.json" "$aoe" train "@$recipe/train.args" --resume >&2
    done
}

score() { # score DIR OPTION...: prints the Spearman correlation x 100 on the test pairs
    dir=$1
    shift
    "$aoe" eval sts -q -m "$dir" "$AOE_WORK/test.tsv" "$@" | sed -n 's/^test\.tsv  *[0-9]*  *\([^ ]*\).*/\1/p'
}

hundredths() { # hundredths NUMBER: prints 100 x NUMBER: 65.22 -> 6522, -0.05 -> -5
    echo "$1" | sed 's/\.//; s/^\(-\{0,1\}\)0*\([0-9]\)/\1\2/'
}

mean() { # mean SCORE...: prints the mean with two decimals
    sum=0 half=$(($# / 2))
    for score; do
        case $score in '' | *[!0-9.-]*) echo undefined && return ;; esac
        sum=$((sum + $(hundredths "$score")))
    done
    sign=
    [ $sum -ge 0 ] || { sign=- && sum=$((-sum)); }
    sum=$(((sum + half) / $#))
    printf '%s%d.%02d' "$sign" $((sum / 100)) $((sum % 100))
}

# row INPUT OPTION...: prints a row of the table. INPUT describes which part of a text the model reads; OPTION selects
# it in aoe eval.
row() {
    input=$1
    shift
    parameters=$("$aoe" info "$AOE_WORK/$MODEL/base" | sed -n 's/^parameters *//p')
    pretraining=$(sed -n 's/^done: \([0-9]*\) steps .*; perplexity \([0-9.]*\) .*/\1 | \2/p' \
        "$AOE_WORK/$MODEL/pretrain.txt" | tail -n 1)
    echo "evaluating $MODEL, $input" >&2
    line="| $MODEL, $input | $parameters | $pretraining | $(score "$AOE_WORK/$MODEL/base" \
        --max-length "$MAX_LENGTH" "$@")"
    scores=
    for SEED in $SEEDS; do
        one=$(score "$AOE_WORK/$MODEL/seed-$SEED" "$@")
        scores="$scores $one"
        line="$line | $one"
    done
    # shellcheck disable=SC2086
    echo "$line | **$(mean $scores)** |"
}

step "$AOE_WORK/books.txt" "$recipe/prepare.sh"
export MODEL MAX_LENGTH

MODEL=aoe-mini MAX_LENGTH=512
init --positions $MAX_LENGTH --vocab-from "$AOE_WORK/passages.txt" "$AOE_WORK/wiki.txt" "$AOE_WORK/books.txt" \
    --vocab-size "$VOCABULARY"
# shellcheck disable=SC2086
learn $SEEDS
MODEL=ran-mini MAX_LENGTH=16384
init --tokenizer "$AOE_WORK/aoe-mini/start"
# shellcheck disable=SC2086
learn $SEEDS

head="| model, input | parameters | pretraining steps in $MINUTES minutes | perplexity | without fine-tuning"
rule="| --- | --- | --- | --- | ---"
for SEED in $SEEDS; do
    head="$head | seed $SEED" rule="$rule | ---"
done
echo "$head | mean |"
echo "$rule | --- |"
MODEL=aoe-mini MAX_LENGTH=512
row "first 512 tokens"
row "full text, in chunks of 512 tokens" --chunk mean
MODEL=ran-mini MAX_LENGTH=16384
row "full text"
