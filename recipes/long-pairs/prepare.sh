#!/bin/sh
# SPDX-License-Identifier: MIT
# prepare.sh: the files of the comparison from the data sets under $AOE_DATA, written to $AOE_WORK: the pairs, and three texts to
# pretrain on: the passages of the training pairs, sentences of Wikipedia, sentences of books. These are books that the evaluation
# pairs were cut from, too: a sentence whose first five and last five words stand in a passage of dev or test is left out.
set -eu
: "${AOE_DATA:?the folder of the data sets: long_pairs, corpus_wiki, corpus_books}"
: "${AOE_WORK:?a folder for the files that are made}"
: "${PAIRS:?how many pairs of each table}" "${BOOKS:?how many sentences of books}"
data=$AOE_DATA work=$AOE_WORK
export LC_ALL=C
mkdir -p "$work"

first() { # first N: as head does, but reads on, so that what is before it does not break off
    awk -v n="$1" 'NR <= n'
}

# unpack NAME: a table, and its passages to stdout, a line each
unpack() {
    zstd -dcq "$data/long_pairs/$1.tsv.zst" | first $((PAIRS + 1)) >"$work/$1.tsv"
    tail -n +2 "$work/$1.tsv" | cut -f 2,3 | tr '\t' '\n' | sort -u
}
unpack train >"$work/passages.txt"
unpack dev >"$work/evaluation.txt"
unpack test >>"$work/evaluation.txt"

zstd -dcq "$data/corpus_wiki/wiki_sentences.tsv.zst" | tail -n +2 | cut -f 2 >"$work/wiki.txt"
zstd -dcq "$data/corpus_books/books_1m.txt.zst" | first "$BOOKS" | awk '
    function words() { # of the line, as word[1] to word[n]
        line = tolower($0)
        gsub(/[^a-z0-9]+/, " ", line)
        return split(line, word, " ")
    }
    function five(i) { return word[i] " " word[i + 1] " " word[i + 2] " " word[i + 3] " " word[i + 4] }
    { n = words() }
    NR == FNR { for (i = 1; i + 4 <= n; i++) evaluation[five(i)] = 1; next }
    n >= 5 && five(1) in evaluation && five(n - 4) in evaluation { dropped++; next }
    { print }
    END { print "books.txt: " dropped + 0 " sentences are in evaluation texts" > "/dev/stderr" }' "$work/evaluation.txt" - >"$work/books.part"
wc -l "$work"/*.tsv "$work"/*.txt >&2
mv "$work/books.part" "$work/books.txt" # complete
