#!/bin/sh
# SPDX-License-Identifier: MIT
# prepare.sh: the training files of aoe-mini-en from the data sets under $AOE_DATA, written to $AOE_WORK. What a text of the
# evaluation sets equals in letters and digits is left out, and so are rows and images that the data sets mark as such.
set -eu
: "${AOE_DATA:?the folder of the data sets: stsb, sts12_14_15, mrpc, qnli, corpus_books, corpus_wiki, nli_part, flickr30k, qqp_part}"
: "${AOE_WORK:?a folder for the files that are made}"
data=$AOE_DATA work=$AOE_WORK
export LC_ALL=C
mkdir -p "$work"

# Letters and digits of every text of the evaluation sets.
{
    tail -qn +2 "$data"/stsb/*.tsv "$data"/mrpc/*.tsv "$data/qqp_part/dev.tsv" "$data/qnli/dev.tsv"
    cat "$data"/sts12_14_15/*/*/STS.input.*
} | tr '\t' '\n' | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9]//g' | sort -u | sed '/^$/d' >"$work/evaluation.keys"

# keep COLUMN...: the rows of a TSV on stdin of which none of these columns is an evaluation text
keep() {
    awk -F '\t' -v columns="$*" -v name="$out" '
        BEGIN { n = split(columns, column, " ") }
        NR == FNR { evaluation[$1] = 1; next }
        {
            for (i = 1; i <= n; i++) {
                key = tolower($column[i])
                gsub(/[^a-z0-9]/, "", key)
                if (key in evaluation) { dropped++; next }
            }
            print
        }
        END { print name ": " dropped + 0 " rows are evaluation texts" > "/dev/stderr" }' "$work/evaluation.keys" -
}

out=books.txt
zstd -dcq "$data/corpus_books/books_1m.txt.zst" | keep 1 >"$work/$out"
out=wiki.txt
zstd -dcq "$data/corpus_wiki/wiki_sentences.tsv.zst" | tail -n +2 | cut -f 2 | keep 1 >"$work/$out"

# label, premise, hypothesis of rows that are in no evaluation set
out=nli.rows
tail -qn +2 "$data/nli_part/pairs_train.tsv" "$data/nli_part/pairs_heldout.tsv" | awk -F '\t' '$5 == 0' | cut -f 1-3 | keep 2 3 >"$work/$out"
{
    printf 'query\tpositive\n'
    awk -F '\t' '$1 == "entailment" { print $2 "\t" $3 }' "$work/nli.rows"
} >"$work/entailments.tsv"
out=triples.tsv
{
    printf 'query\tpositive\tnegative\n'
    tail -n +2 "$data/nli_part/triples.tsv" | awk -F '\t' '$4 != "" && $5 == 0' | cut -f 1-3 | keep 1 2 3
} >"$work/$out"

# the captions of an image are alternatives of each other
out=captions
tail -n +2 "$data/flickr30k/train.tsv" | awk -F '\t' 'NR == FNR { listed[$1] = 1; next } !($1 in listed)' "$data/flickr30k/images_in_sts_eval.txt" - |
    keep 3 | awk -F '\t' '
        { gsub(/[\\"]/, "\\\\&", $3) }
        !($1 in captions) { image[++n] = $1 }
        { count[$1]++; captions[$1] = captions[$1] (captions[$1] == "" ? "" : ", ") "\"" $3 "\"" }
        END {
            for (i = 1; i <= n; i++)
                if (count[image[i]] > 1) print "{\"query\": [" captions[image[i]] "], \"positive\": [" captions[image[i]] "]}"
        }' >"$work/captions.jsonl"

out=questions.tsv
{
    printf 'query\tpositive\n'
    tail -n +2 "$data/qqp_part/train.tsv" | awk -F '\t' '$1 == 1' | cut -f 2-3 | keep 1 2
} >"$work/$out"
rm "$work/nli.rows"
wc -l "$work"/*.txt "$work"/*.tsv "$work"/*.jsonl
