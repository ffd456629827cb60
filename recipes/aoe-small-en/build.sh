#!/bin/sh
# SPDX-License-Identifier: MIT
# build.sh: makes models/aoe-small-en from its teachers and the training texts with the commands of this repository.
#     AOE_DATA=DIR AOE_TEXT=DIR AOE_TEACHERS=DIR recipes/aoe-small-en/build.sh [FOLDER...]
# FOLDER: further evaluation sets whose texts must not become training texts (see prepare.sh).
# AOE_TEACHERS contains all-MiniLM-L6-v2 and all-mpnet-base-v2, AOE_TEXT the sources that fetch.sh downloads, AOE_DATA
# the data sets (see prepare.sh). Each stage takes at most 120 minutes on two cores. Intermediate files are kept in
# $AOE_WORK (build/aoe-small-en); the same command continues an interrupted stage. After each stage, the hash of its
# result is compared with hashes.tsv, which contains the hashes of the published model and the CPU tier on which they
# were computed.
set -eu
cd "$(dirname "$0")/../.."
AOE_WORK=${AOE_WORK:-build/aoe-small-en}
. recipes/steps.sh
: "${AOE_TEACHERS:?folder with all-MiniLM-L6-v2 and all-mpnet-base-v2, for example links to the \
directories that aoe pull sentence-transformers/NAME prints}"
export AOE_TEACHERS AOE="$aoe"
recipe=recipes/aoe-small-en
model=models/aoe-small-en

compare() { # compare STAGE FILE: compares the hash of FILE with the recorded one
    hash=$(sha256sum <"$2" | cut -d ' ' -f 1)
    recorded=$(awk -F '\t' -v stage="$1" '$1 == stage { print $3 }' "$recipe/hashes.tsv")
    tier=$(awk -F '\t' -v stage="$1" '$1 == stage { print $2 }' "$recipe/hashes.tsv")
    if [ "$hash" = "$recorded" ]; then
        echo "== $1: $hash, as recorded" >&2
    else
        echo "== $1: $hash; recorded (tier $tier): $recorded" >&2
    fi
}

# 1. training texts
if [ ! -e "$AOE_WORK/texts.txt" ]; then
    : "${AOE_TEXT:?folder for the sources of the training texts (fetch.sh)}"
    export AOE_TEXT
    "$recipe/fetch.sh"
    "$recipe/prepare.sh" "$@"
fi
step "$AOE_WORK/selection.tsv" recipes/overlaps/selection.sh "$AOE_WORK/selection.tsv"
compare texts "$AOE_WORK/texts.txt"
compare pairs "$AOE_WORK/pairs.tsv"
compare pairs-2 "$AOE_WORK/pairs-2.tsv"
compare triplets "$AOE_WORK/snli-triplets.tsv"

# 2. start model: four of the six layers of the first teacher
step "$AOE_WORK/start/config.json" "$aoe" convert -m "$AOE_TEACHERS/all-MiniLM-L6-v2" --take-layers 0,1,3,5 \
    --dtype f32 -o "$AOE_WORK/start"
compare start "$AOE_WORK/start/model.safetensors"

# 3. distillation: brings the four layers back to the embeddings of the six layers
head -n 524288 "$AOE_WORK/texts.txt" >"$AOE_WORK/distill-texts.txt"
step "$AOE_WORK/distilled/config.json" "$aoe" train "@$recipe/distill.args" --resume
compare distilled "$AOE_WORK/distilled/model.safetensors"

# 4. contrastive loss on pairs and triplets: three epochs of fewer pairs, and one epoch of more pairs
step "$AOE_WORK/tuned/config.json" "$aoe" train "@$recipe/tune.args" --resume
compare tuned "$AOE_WORK/tuned/model.safetensors"
step "$AOE_WORK/tuned-2/config.json" "$aoe" train "@$recipe/tune-2.args" --resume
compare tuned-2 "$AOE_WORK/tuned-2/model.safetensors"

# 5. mean of the weights of stage 3 and of the first model of stage 4, then cosines of both teachers for pairs of
#    similar texts
step "$AOE_WORK/mean-1/config.json" "$aoe" merge "$AOE_WORK/tuned" "$AOE_WORK/distilled" --dtype f32 \
    -o "$AOE_WORK/mean-1"
step "$AOE_WORK/near-pairs.tsv" "$recipe/near_pairs.sh"
compare near-pairs "$AOE_WORK/near-pairs.tsv"
step "$AOE_WORK/balanced/config.json" "$aoe" train "@$recipe/balance.args" --resume
compare balanced "$AOE_WORK/balanced/model.safetensors"

# 6. mean of the weights of stage 5, of the second model of stage 4, and of the mean in stage 5
step "$AOE_WORK/mean-3/config.json" "$aoe" merge "$AOE_WORK/balanced" "$AOE_WORK/tuned-2" "$AOE_WORK/mean-1" \
    --dtype f32 -o "$AOE_WORK/mean-3"

# 7. int8 with int5 token embeddings
"$aoe" convert -m "$AOE_WORK/mean-3" --dtype int8 --embedding-dtype int5 --force -o "$model"
cp "$recipe/README.md" "$model/README.md" # replaces the README that convert writes
cp "$recipe/LICENSE.weights" "$model/LICENSE"
cp "$recipe/NOTICE" "$model/NOTICE"
compare model "$model/model.safetensors"
"$aoe" eval sts -m "$model" "$AOE_WORK/selection.tsv"
"$aoe" eval retrieval -m "$model" --max-length 128 "$AOE_WORK/dev-ir" "$AOE_WORK/dev-ir2"
"$aoe" eval retrieval -m "$model" --max-length 256 "$AOE_WORK/dev-ir3"
