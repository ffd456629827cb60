#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [TABLE...]: the tables of docs/results.md, each as markdown in $AOE_WORK (build/results): what is trained, and how often,
# stands here and in the .args files beside. Runs that are finished are not repeated; README.md says more.
#     AOE_DATA=DIR AOE_MODELS=DIR recipes/results/run.sh [TABLE...]
#   TABLE      lr, objectives, pooling, isp, batch, methods, mrpc, quora, nli, retrieval (all of them)
#   ENCODERS   aoe-mini-en and bert-mini (both)      SEEDS   5, from 42 on
set -eu
cd "$(dirname "$0")/../.."
AOE_WORK=${AOE_WORK:-build/results}
# shellcheck source=recipes/steps.sh
. recipes/steps.sh
mkdir -p "$AOE_WORK"
recipe=recipes/results
SEEDS=${SEEDS:-5}
ENCODERS=${ENCODERS:-aoe-mini-en bert-mini}
export START LR POOLING TRAIN EPOCHS
sts=$AOE_DATA/sts12_14_15/senteval

encoder() { # encoder NAME: its directory, learning rate ("lr" compares rates on dev) and pooling
    case $1 in
    aoe-mini-en) START=models/aoe-mini-en LR=2e-4 POOLING=last-avg ;;
    bert-mini) START=${AOE_MODELS:?the folder that bert-mini is in}/bert-mini LR=2e-4 POOLING=cls ;;
    *) echo "run.sh: encoder $1 is unknown" >&2 && exit 2 ;;
    esac
}

# compare TABLE ARGS --test FILE... --arm ARM...: one directory and one markdown file for a table and encoder
compare() {
    out=$AOE_WORK/$1-$name args=$2
    shift 2
    "$aoe" compare -o "$out" --seeds "$SEEDS" --format markdown --keep "${KEEP:-none}" "$@" -- "@$recipe/$args.args" >"$out.part"
    mv "$out.part" "$out.md"
    echo "$out.md" >&2
}

lr() {
    "$aoe" grid -o "$AOE_WORK/lr-$name" --over lr=5e-5,1e-4,2e-4,4e-4,8e-4 --seeds 2 -- "@$recipe/stsb.args" >"$AOE_WORK/lr-$name.txt"
}
objectives() {
    compare objectives stsb --test "$AOE_DATA/stsb/test.tsv" --arm untrained all: 'no-ibn: --w-ibn 0' 'no-angle: --w-angle 0' 'no-cosine: --w-cosine 0' \
        'cosine: --w-ibn 0 --w-angle 0' 'ibn: --w-cosine 0 --w-angle 0' 'angle: --w-cosine 0 --w-ibn 0' \
        'cosine-angle-little-ibn: --w-ibn 0.1'
}
pooling() {
    compare pooling stsb --test "$AOE_DATA/stsb/test.tsv" --arm 'cls: --pooling cls' 'cls-last-avg: --pooling cls-last-avg' \
        'last-avg: --pooling last-avg' 'last-max: --pooling last-max' 'first-last-avg: --pooling first-last-avg'
}
isp() {
    compare isp stsb --test "$AOE_DATA/stsb/test.tsv" --arm isp: 'no-isp: --no-isp' 'threshold-3: --ibn-threshold 3' \
        'no-threshold: --no-isp --ibn-threshold 0' 'angle-phase: --angle-form phase'
}
batch() {
    compare batch stsb --test "$AOE_DATA/stsb/test.tsv" --arm '32:' '8: --batch-size 8' '16: --batch-size 16' '50: --batch-size 50' '256: --batch-size 256'
}
methods() {
    compare methods stsb --test "$AOE_DATA/stsb/test.tsv" --arm angle: untrained 'cosent: --method cosent' 'sbert-regression: --method sbert-regression' \
        'simcse-unsup: --method simcse-unsup'
}
mrpc() {
    TRAIN=$AOE_DATA/mrpc/train.tsv EPOCHS=3
    compare mrpc pairs --test "$AOE_DATA/mrpc/test.tsv" --arm angle: untrained 'cosent: --method cosent' 'sbert-regression: --method sbert-regression' \
        'sbert-classification: --method sbert-classification' 'simcse-unsup: --method simcse-unsup'
}
quora() {
    TRAIN=$AOE_DATA/qqp_part/train.tsv EPOCHS=1
    compare quora pairs --test "$AOE_DATA/qqp_part/dev.tsv" --arm angle: untrained 'cosent: --method cosent' 'sbert-regression: --method sbert-regression' \
        'sbert-classification: --method sbert-classification' 'simcse-unsup: --method simcse-unsup'
}
nli() {
    [ -e "$AOE_WORK/triples.tsv" ] || "$recipe/prepare.sh"
    pairs=$AOE_WORK/pairs_train.tsv triples=$AOE_WORK/triples.tsv
    KEEP=all compare nli nli --test "$sts/STS12-en-test" "$sts/STS14-en-test" "$sts/STS15-en-test" --arm "angle: --data $pairs" \
        "untrained: --data $pairs" "cosent: --method cosent --data $pairs --label-map entailment=1,neutral=0.5,contradiction=0" \
        "sbert-classification: --method sbert-classification --data $pairs" "sbert-regression: --method sbert-regression --data $pairs" \
        "simcse-unsup: --method simcse-unsup --data $pairs" "simcse-sup: --method simcse-sup --data $triples" \
        "angle-triples: --data $triples" "angle-ibn-35: --w-cosine 0 --w-ibn 35 --data $pairs"
}
retrieval() { # of the models that nli kept
    [ -e "$AOE_WORK/nli-$name.md" ] || nli
    for model in "$START" "$AOE_WORK/nli-$name"/runs/*/model; do
        [ ! -e "$model/config.json" ] || echo "$model $("$aoe" eval retrieval -q --json -m "$model" "$AOE_DATA/flickr30k/test.tsv")"
    done >"$AOE_WORK/retrieval-$name.txt"
}

[ $# -gt 0 ] || set -- lr objectives pooling isp batch methods mrpc quora nli retrieval
for table; do
    for name in $ENCODERS; do
        encoder "$name"
        "$table"
    done
done
