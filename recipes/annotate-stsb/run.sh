#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [--dry-run]: table 5 of the AnglE paper. Three chat models write synonymous and opposite sentences for every
# sentence1 of STS-B's training set. A BERT is trained on the pairs of each chat model and on all pairs, and evaluated
# on the test set. See README.md.
#     AOE_DATA=DIR AOE_MODELS=DIR CHATGPT_MODEL=NAME CHATGPT_API=URL ... recipes/annotate-stsb/run.sh
# --dry-run sends no requests; it prints the prompts, the number of requests and their estimated cost.
set -eu
cd "$(dirname "$0")/../.."
AOE_WORK=${AOE_WORK:-build/annotate-stsb}
# shellcheck source=recipes/steps.sh
. recipes/steps.sh

ANNOTATORS=${ANNOTATORS:-chatgpt llama chatglm}
SIZE=${SIZE:-5}         # sentences of each kind per text; the paper does not state its number
LIMIT=${LIMIT:-1000000} # maximum number of texts
OPTIONS=${OPTIONS:-}    # additional options of aoe train, after those of recipes/paper/table5-*.args
: "${AOE_MODELS:?folder that contains bert-base-uncased}"
export AOE_MODELS
mkdir -p "$AOE_WORK" "$AOE_DATA/llm"

# setting ANNOTATOR NAME: prints the value of a variable such as $CHATGPT_MODEL (ANNOTATOR chatgpt, NAME MODEL)
setting() {
    eval "printf '%s' \"\${$(printf '%s' "$1" | tr 'a-z-' 'A-Z_')_$2-}\""
}

# ask "ANNOTATOR..." FILE OPTION...: writes the pairs of the annotators to FILE. All calls share a cache, so no request
# is repeated.
ask() {
    names=$1 file=$2
    shift 2
    for name in $names; do
        model=$(setting "$name" MODEL) api=$(setting "$name" API)
        key=$(setting "$name" KEY_ENV) price=$(setting "$name" PRICE)
        if [ -z "$model" ] || [ -z "$api" ]; then
            echo "run.sh: no model or endpoint for $name; set $(printf '%s' "$name" |
                tr 'a-z-' 'A-Z_')_MODEL and _API" >&2
            exit 2
        fi
        set -- "$@" -m "$model" "source=$name" "api=$api" ${key:+"key-env=$key"} ${price:+"price=$price"}
    done
    "$aoe" data annotate "$AOE_WORK/texts.tsv" --columns text=sentence1 --positives "$SIZE" --negatives "$SIZE" \
        --cache "$AOE_WORK/answers.sqlite" -o "$file" "$@"
}

head -n $((LIMIT + 1)) "$AOE_DATA/stsb/train.tsv" >"$AOE_WORK/texts.tsv"
if [ "${1-}" = --dry-run ]; then
    for name in $ANNOTATORS; do
        ask "$name" "$AOE_WORK/$name.tsv" --dry-run
    done
    exit 0
fi
for name in $ANNOTATORS; do
    step "$AOE_DATA/llm/$name.tsv" ask "$name" "$AOE_DATA/llm/$name.tsv" >&2
done
# the ensemble: the stored answers of all annotators; a sentence that two annotators wrote is used once
step "$AOE_DATA/llm/ensemble.tsv" ask "$ANNOTATORS" "$AOE_DATA/llm/ensemble.tsv" >&2
echo "| model | Spearman x 100 |"
echo "| --- | --- |"
for name in $ANNOTATORS ensemble; do
    # shellcheck disable=SC2086
    step "$AOE_WORK/table5-angle-$name/config.json" "$aoe" train "@recipes/paper/table5-angle-$name.args" \
        --resume $OPTIONS >&2
    score=$("$aoe" eval sts -q -m "$AOE_WORK/table5-angle-$name" "$AOE_DATA/stsb/test.tsv" |
        sed -n 's/^test\.tsv  *[0-9]*  *\([^ ]*\).*/\1/p')
    echo "| AnglE-BERT + $name | $score |"
done
