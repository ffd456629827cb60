#!/bin/sh
# SPDX-License-Identifier: MIT
# prepare.sh: writes the NLI files to $AOE_WORK without the rows whose texts occur in the STS sets. Called by run.sh.
# Input: $AOE_DATA/nli_part/pairs_train.tsv with columns premise, hypothesis, label and in_eval, and
# $AOE_DATA/nli_part/triples.tsv with columns premise, entailment, contradiction and in_eval. Also writes the first
# $SENTENCES sentences of $AOE_DATA/corpus_wiki/wiki_sentences.tsv.zst (column sentence), which must be installed for
# the table unlabelled only.
set -eu
for name in pairs_train triplets; do
    file=$AOE_DATA/nli_part/$name.tsv
    [ $name != triplets ] || file=$AOE_DATA/nli_part/triples.tsv
    [ -r "$file" ] || { echo "prepare.sh: $file: no such file; copy the data set there" >&2; exit 1; }
    awk -F '\t' -v OFS='\t' '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == "in_eval") column = i;
            if (!column) { print FILENAME ": no column in_eval" >"/dev/stderr"; exit 1 } }
        NR == 1 || $column == 0 { print $1, $2, $3 }' "$file" >"$AOE_WORK/$name.part"
    mv "$AOE_WORK/$name.part" "$AOE_WORK/$name.tsv"
done
sentences=$AOE_DATA/corpus_wiki/wiki_sentences.tsv.zst
if [ -r "$sentences" ]; then
    zstd -dcq "$sentences" | awk -F '\t' -v n="${SENTENCES:-65536}" 'NR > 1 && NR <= n + 1 { print $2 }' \
        >"$AOE_WORK/unlabelled.txt.part"
    mv "$AOE_WORK/unlabelled.txt.part" "$AOE_WORK/unlabelled.txt"
fi
