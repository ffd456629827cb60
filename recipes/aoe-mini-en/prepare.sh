#!/bin/sh
# SPDX-License-Identifier: MIT
# prepare.sh: writes the training files of aoe-mini-en to $AOE_WORK, from the data sets in $AOE_DATA. The files are
# moved there when all of them are complete. Texts are left out if their letters and digits equal those of a text of the
# evaluation sets, or of a caption of an image that occurs in these sets. Rows that the data sets mark as part of an
# evaluation set are also left out.
set -eu
: "${AOE_DATA:?folder of the data sets: stsb, sts12_14_15, mrpc, qnli, corpus_books, corpus_wiki, \
nli_part, flickr30k, qqp_part}"
: "${AOE_WORK:?folder for the output files}"
data=$AOE_DATA work=$AOE_WORK/prepare.part
export LC_ALL=C
for file in stsb/train.tsv stsb/dev.tsv stsb/test.tsv mrpc/train.tsv mrpc/test.tsv qqp_part/dev.tsv qqp_part/train.tsv \
    qnli/dev.tsv \
    sts12_14_15/senteval/STS12-en-test sts12_14_15/senteval/STS14-en-test sts12_14_15/senteval/STS15-en-test \
    corpus_books/books_1m.txt.zst corpus_wiki/wiki_sentences.tsv.zst nli_part/pairs_train.tsv \
    nli_part/pairs_heldout.tsv \
    nli_part/triples.tsv flickr30k/train.tsv flickr30k/val.tsv flickr30k/test.tsv flickr30k/images_in_sts_eval.txt; do
    [ -e "$data/$file" ] && continue
    echo "prepare.sh: $data/$file is missing; copy the data set there (without it, evaluation texts could become" \
        "training texts)" >&2
    exit 1
done
rm -rf "$work"
mkdir -p "$work"

keys() { # prints the distinct texts on stdin, reduced to lowercase letters and digits
    tr '\t' '\n' | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9]//g' | sort -u | sed '/^$/d'
}
evaluation() { # prints every text of the evaluation sets
    tail -qn +2 "$data"/stsb/*.tsv "$data"/mrpc/*.tsv "$data/qqp_part/dev.tsv" "$data/qnli/dev.tsv"
    cat "$data"/sts12_14_15/*/*/STS.input.*
}
flickr() { # flickr 1|0 FILE...: prints the rows of images that occur in evaluation sets (1) or do not (0)
    shown=$1
    shift
    awk -F '\t' -v shown="$shown" 'NR == FNR { listed[$1] = 1; next } FNR > 1 && ($1 in listed) == shown' \
        "$data/flickr30k/images_in_sts_eval.txt" "$@"
}
evaluation | keys >"$work/evaluation.keys"
# also all captions of images in evaluation sets (SNLI's premises are captions), and evaluation texts without entities
# such as "&amp;"
{
    evaluation | sed 's/&[a-z]*;//g'
    flickr 1 "$data/flickr30k/train.tsv" "$data/flickr30k/val.tsv" "$data/flickr30k/test.tsv" | cut -f 3
} | keys | sort -u - "$work/evaluation.keys" >"$work/related.keys"

# keep KEYS COLUMN...: prints the rows of the TSV file on stdin, except those with one of the columns in $work/KEYS.keys
keep() {
    which=$1
    shift
    awk -F '\t' -v columns="$*" -v name="$out" -v which="$which" '
        BEGIN { n = split(columns, column, " ") }
        NR == FNR { keys[$1] = 1; next }
        {
            for (i = 1; i <= n; i++) {
                key = tolower($column[i])
                if (which == "related") gsub(/&(amp;)*[a-z]*;/, "", key)
                gsub(/[^a-z0-9]/, "", key)
                if (key in keys) { dropped++; next }
            }
            print
            kept++
        }
        END {
            print name ": " kept + 0 " rows; " dropped + 0 " left out, " which > "/dev/stderr"
            exit !kept
        }' "$work/$which.keys" -
}

out=books.txt
zstd -dcq "$data/corpus_books/books_1m.txt.zst" | keep evaluation 1 >"$work/$out"
out=wiki.txt
zstd -dcq "$data/corpus_wiki/wiki_sentences.tsv.zst" | tail -n +2 | cut -f 2 | keep evaluation 1 >"$work/$out"

# label, premise, hypothesis of rows that are in no evaluation set; words/ contains the texts for the vocabulary
mkdir "$work/words"
out=nli.rows
tail -qn +2 "$data/nli_part/pairs_train.tsv" "$data/nli_part/pairs_heldout.tsv" | awk -F '\t' '$5 == 0' | cut -f 1-3 |
    keep evaluation 2 3 >"$work/$out"
out=entailments.tsv
{
    printf 'query\tpositive\n'
    awk -F '\t' '$1 == "entailment" { print $2 "\t" $3 }' "$work/nli.rows"
} >"$work/words/$out"
keep related 1 2 <"$work/words/$out" >"$work/$out"
out=triplets.tsv
{
    printf 'query\tpositive\tnegative\n'
    tail -n +2 "$data/nli_part/triples.tsv" | awk -F '\t' '$4 != "" && $5 == 0' | cut -f 1-3 | keep related 1 2 3
} >"$work/$out"
out=questions.tsv
{
    printf 'query\tpositive\n'
    tail -n +2 "$data/qqp_part/train.tsv" | awk -F '\t' '$1 == 1' | cut -f 2-3 | keep evaluation 1 2
} >"$work/words/$out"
keep related 1 2 <"$work/words/$out" >"$work/$out"

# several: prints the rows of images that have more than one caption
several() {
    awk -F '\t' '
        !($1 in rows) { image[++n] = $1 }
        { count[$1]++; rows[$1] = rows[$1] $0 "\n" }
        END { for (i = 1; i <= n; i++) if (count[image[i]] > 1) printf "%s", rows[image[i]] }'
}
out=captions
flickr 0 "$data/flickr30k/train.tsv" | keep evaluation 3 | several >"$work/captions.rows"
cut -f 3 "$work/captions.rows" | sed 's/[{}":[]//g; s/]//g' >"$work/words/captions.txt"
# one row per image, with its captions as alternatives
keep related 3 <"$work/captions.rows" | several | awk -F '\t' '
    function done() { if (captions != "") print "{\"query\": [" captions "], \"positive\": [" captions "]}" }
    { gsub(/[\\"]/, "\\\\&", $3) }
    $1 != image { done(); captions = ""; image = $1 }
    { captions = captions (captions == "" ? "" : ", ") "\"" $3 "\"" }
    END { done() }' >"$work/captions.jsonl"

rm "$work"/*.rows
for file in books.txt wiki.txt entailments.tsv triplets.tsv captions.jsonl questions.tsv; do
    [ "$(head -n 2 "$work/$file" | wc -l)" = 2 ] || { echo "prepare.sh: no rows are left for $file" >&2; exit 1; }
done
wc -l "$work"/*.txt "$work"/*.tsv "$work"/*.jsonl
rm -rf "$AOE_WORK/words"
mv "$work"/* "$AOE_WORK"
rmdir "$work"
