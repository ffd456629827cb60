#!/bin/sh
# SPDX-License-Identifier: MIT
# selection.sh: writes the selection set, a table of labelled pairs for choices (learning rates, weights, checkpoints).
#     AOE_DATA=DIR recipes/overlaps/selection.sh FILE
# STS-B consists of pairs of STS12 to STS17, and two thirds of its dev set are pairs of the test sets of STS12, STS14
# and STS15. The selection set has the pairs of STS-B train and dev that come from the training set of STS12 (year
# 2012train: video captions and news), which is part of no test set. Pairs with a text that overlaps STS12, STS14, STS15
# or STS-B test (see without.awk) are left out.
set -eu
: "${AOE_DATA:?folder of the data sets: stsb, sts12_14_15}"
output=${1:?usage: selection.sh FILE}
here=$(cd "$(dirname "$0")" && pwd)
export LC_ALL=C
for file in stsb/train.tsv stsb/dev.tsv stsb/test.tsv sts12_14_15/senteval; do
    [ -e "$AOE_DATA/$file" ] || { echo "selection.sh: $AOE_DATA/$file is missing; copy the data set there" >&2;
        exit 1; }
done
"$here/test_texts.sh" "$AOE_DATA/stsb/test.tsv" "$AOE_DATA/sts12_14_15/senteval" >"$output.texts"
{
    head -n 1 "$AOE_DATA/stsb/dev.tsv" | cut -f 1-3
    tail -qn +2 "$AOE_DATA/stsb/train.tsv" "$AOE_DATA/stsb/dev.tsv" | awk -F '\t' '$6 == "2012train"' | cut -f 1-3 |
        ${AWK:-mawk} -v name="selection set" -v from=2 -f "$here/without.awk" "$output.texts" -
} >"$output.part"
rm "$output.texts"
mv "$output.part" "$output"
