#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh: a BERT and a RAN of about as many parameters on pairs of long texts: pretrained on the same text for the same time, fine-tuned
# with AnglE, Spearman correlation x 100 on the test pairs as a table in markdown on stdout. README.md says more.
#     AOE_DATA=DIR recipes/long-pairs/run.sh
# Everything in between stays in $AOE_WORK (build/long-pairs); a step that was stopped goes on when it is run again.
set -eu
cd "$(dirname "$0")/../.."

# What decides how long it takes: about 45 minutes on two cores as it stands.
MINUTES=${MINUTES:-7} # of pretraining, each model
EPOCHS=${EPOCHS:-1} # of fine-tuning
SEEDS=${SEEDS:-1 2 3} # of fine-tuning, a run each
PAIRS=${PAIRS:-1000000} # of each table, at most
BOOKS=${BOOKS:-200000} # sentences of books to pretrain on
VOCABULARY=${VOCABULARY:-12000} # tokens, of both models

AOE_WORK=${AOE_WORK:-build/long-pairs}
. recipes/steps.sh
export MINUTES EPOCHS PAIRS BOOKS
recipe=recipes/long-pairs

init() { # init OPTION...: random weights
    step "$AOE_WORK/$MODEL/start/config.json" "$aoe" init --shape "$MODEL" "$@" -o "$AOE_WORK/$MODEL/start"
}

# learn SEED...: pretraining, and a fine-tuning run a seed
learn() {
    step "$AOE_WORK/$MODEL/base/config.json" "$aoe" pretrain "@$recipe/pretrain.args" --resume >>"$AOE_WORK/$MODEL/pretrain.txt"
    for SEED; do
        export SEED
        step "$AOE_WORK/$MODEL/seed-$SEED/config.json" "$aoe" train "@$recipe/train.args" --resume >&2
    done
}

score() { # score DIR OPTION...: Spearman x 100 on the test pairs
    dir=$1
    shift
    "$aoe" eval sts -q -m "$dir" "$AOE_WORK/test.tsv" "$@" | sed -n 's/^test\.tsv  *[0-9]*  *\([^ ]*\).*/\1/p'
}

hundredths() { # 65.22 -> 6522, -0.05 -> -5
    echo "$1" | sed 's/\.//; s/^\(-\{0,1\}\)0*\([0-9]\)/\1\2/'
}

mean() { # mean SCORE...: with two decimals
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

# row READS OPTION...: what of a text the model reads, and how it is said to aoe eval
row() {
    reads=$1
    shift
    parameters=$("$aoe" info "$AOE_WORK/$MODEL/base" | sed -n 's/^parameters *//p')
    pretraining=$(sed -n 's/^done: \([0-9]*\) steps .*; perplexity \([0-9.]*\) .*/\1 | \2/p' "$AOE_WORK/$MODEL/pretrain.txt" | tail -n 1)
    echo "evaluating $MODEL, $reads" >&2
    line="| $MODEL, $reads | $parameters | $pretraining | $(score "$AOE_WORK/$MODEL/base" --max-length "$MAX_LENGTH" "$@")"
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
init --positions $MAX_LENGTH --vocab-from "$AOE_WORK/passages.txt" "$AOE_WORK/wiki.txt" "$AOE_WORK/books.txt" --vocab-size "$VOCABULARY"
# shellcheck disable=SC2086
learn $SEEDS
MODEL=ran-mini MAX_LENGTH=16384
init --tokenizer "$AOE_WORK/aoe-mini/start"
# shellcheck disable=SC2086
learn $SEEDS

head="| model, what it reads | parameters | steps of pretraining in $MINUTES minutes | perplexity | pretrained alone"
rule="| --- | --- | --- | --- | ---"
for SEED in $SEEDS; do
    head="$head | seed $SEED" rule="$rule | ---"
done
echo "$head | mean |"
echo "$rule | --- |"
MODEL=aoe-mini MAX_LENGTH=512
row "the first 512 tokens"
row "all, in windows of 512" --chunk mean
MODEL=ran-mini MAX_LENGTH=16384
row "all"
