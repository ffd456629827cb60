#!/bin/sh
# SPDX-License-Identifier: MIT
# prepare.sh: the NLI files without the rows whose texts the STS sets hold, under $AOE_WORK. Called by run.sh.
#   $AOE_DATA/nli_part/{pairs_train,triples}.tsv: columns premise, hypothesis and label, or entailment and contradiction; in_eval
set -eu
for name in pairs_train triples; do
    file=$AOE_DATA/nli_part/$name.tsv
    [ -r "$file" ] || { echo "prepare.sh: no $file" >&2; exit 1; }
    awk -F '\t' -v OFS='\t' '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "in_eval") column = i; if (!column) { print FILENAME ": no column in_eval" >"/dev/stderr"; exit 1 } }
        NR == 1 || $column == 0 { print $1, $2, $3 }' "$file" >"$AOE_WORK/$name.part"
    mv "$AOE_WORK/$name.part" "$AOE_WORK/$name.tsv"
done
