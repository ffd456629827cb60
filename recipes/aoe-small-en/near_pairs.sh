#!/bin/sh
# SPDX-License-Identifier: MIT
# near_pairs.sh: writes pairs of similar short texts to $AOE_WORK/near-pairs.tsv, from texts.txt and snli-triplets.tsv
# in $AOE_WORK. Each pair is a text and one of the texts whose embeddings of all-MiniLM-L6-v2 ($AOE_TEACHERS) are
# nearest to its embedding, or a premise of SNLI and one of its hypotheses. The pairs have no labels.
set -eu
: "${AOE_WORK:?folder of texts.txt and snli-triplets.tsv}" "${AOE_TEACHERS:?folder of the teachers}"
aoe=${AOE:-build/aoe}
work=$AOE_WORK/near.part
export LC_ALL=C
tab=$(printf '\t')
mkdir -p "$work"

# mine FILE N RANGE: prints 4 pairs for each of the first N texts of FILE, with 4 of the RANGE texts nearest to it
mine() {
    { echo "query${tab}positive"; awk -v n="$2" 'NR <= n { print $0 "\t" $0 }' "$1"; } >"$work/self.tsv"
    "$aoe" data mine -m "$AOE_TEACHERS/all-MiniLM-L6-v2" "$work/self.tsv" --corpus "$1" --form positives -n 4 \
        --range "$3" --sample -f tsv | tail -n +2 | cut -f 1,3
}

# texts that are not used for distillation, without quotation marks, which have a meaning in tables
grep -v '"' "$AOE_WORK/texts.txt" | tail -n +524289 | awk 'length($0) >= 25 && length($0) <= 140 && NF >= 4' |
    head -n 200000 >"$work/sentences.txt"
tail -n +2 "$AOE_WORK/snli-triplets.tsv" | tr '\t' '\n' | grep -v '"' | sort -u >"$work/sorted.txt"
shuf --random-source="$work/sorted.txt" "$work/sorted.txt" >"$work/captions.txt" # the same order in every run
{
    echo "query${tab}positive"
    mine "$work/sentences.txt" 100000 40
    mine "$work/captions.txt" 26000 60
    awk -F '\t' -v OFS='\t' 'NR > 1 { print $1, $2; print $1, $3 }' "$AOE_WORK/snli-triplets.tsv" | grep -v '"'
} >"$work/near-pairs.tsv"
mv "$work/near-pairs.tsv" "$AOE_WORK/near-pairs.tsv"
rm -r "$work"
