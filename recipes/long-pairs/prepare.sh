#!/bin/sh
# SPDX-License-Identifier: MIT
# prepare.sh: writes the files of the comparison to $AOE_WORK, from the data sets in $AOE_DATA: the pairs, and three
# files for pretraining (the passages of the training pairs, sentences of Wikipedia, sentences of books). The evaluation
# pairs come from the same books, so a sentence is left out if its first five and its last five words occur in a passage
# of dev or test.
set -eu
: "${AOE_DATA:?folder of the data sets: long_pairs, corpus_wiki, corpus_books}"
: "${AOE_WORK:?folder for the output files}"
: "${PAIRS:?maximum number of pairs of each table}" "${BOOKS:?number of sentences of books}"
data=$AOE_DATA work=$AOE_WORK
export LC_ALL=C
mkdir -p "$work"

first() { # first N: like head -n N, but reads all of stdin, so that the program before it in the pipe gets no SIGPIPE
    awk -v n="$1" 'NR <= n'
}

# unpack NAME: decompresses a table and prints its passages, one per line
unpack() {
    zstd -dcq "$data/long_pairs/$1.tsv.zst" | first $((PAIRS + 1)) >"$work/$1.tsv"
    tail -n +2 "$work/$1.tsv" | cut -f 2,3 | tr '\t' '\n' | sort -u
}
unpack train >"$work/passages.txt"
unpack dev >"$work/evaluation.txt"
unpack test >>"$work/evaluation.txt"

zstd -dcq "$data/corpus_wiki/wiki_sentences.tsv.zst" | tail -n +2 | cut -f 2 >"$work/wiki.txt"
zstd -dcq "$data/corpus_books/books_1m.txt.zst" | first "$BOOKS" | awk '
    function words() { # splits the line into word[1] to word[n]
        line = tolower($0)
        gsub(/[^a-z0-9]+/, " ", line)
        return split(line, word, " ")
    }
    function five(i) { return word[i] " " word[i + 1] " " word[i + 2] " " word[i + 3] " " word[i + 4] }
    { n = words() }
    NR == FNR { for (i = 1; i + 4 <= n; i++) evaluation[five(i)] = 1; next }
    n >= 5 && five(1) in evaluation && five(n - 4) in evaluation { dropped++; next }
    { print }
    END {
        print "books.txt: " dropped + 0 " sentences left out, because they occur in evaluation texts" > "/dev/stderr"
    }' \
    "$work/evaluation.txt" - >"$work/books.part"
wc -l "$work"/*.tsv "$work"/*.txt >&2
mv "$work/books.part" "$work/books.txt" # the complete file
