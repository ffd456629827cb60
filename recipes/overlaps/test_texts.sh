#!/bin/sh
# SPDX-License-Identifier: MIT
# test_texts.sh: prints the distinct texts of files and folders for without.awk: lowercase words of letters and digits,
# separated by single spaces.
#     recipes/overlaps/test_texts.sh FILE|FOLDER...
# Reads every field of .tsv, .tab and .txt files (fields are separated by TAB), and every string of .json, .jsonl and
# .ndjson files, also if they are compressed (.gz, .zst). In a folder, files that contain only labels (STS.gs.*, qrels)
# and documentation (README*, LICENSE*, *.md) are skipped. Any other file is an error, so that no test set is left out
# silently.
set -eu
export LC_ALL=C
[ $# -gt 0 ] || { echo "usage: test_texts.sh FILE|FOLDER..." >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
    echo "test_texts.sh: $1" >&2
    exit 1
}
texts() { # texts FILE: prints the texts of a file, one per line
    name=$1
    case $1 in
    *.gz) name=${1%.gz} && gzip -dc "$1" >"$work/file" || fail "$1 cannot be decompressed" ;;
    *.zst) name=${1%.zst} && zstd -dcq "$1" >"$work/file" || fail "$1 cannot be decompressed" ;;
    *) cp "$1" "$work/file" ;;
    esac
    case $name in
    *.tsv | *.tab | *.txt)
        tr '\t' '\n' <"$work/file"
        echo # the last line need not end in LF
        ;;
    *.json | *.jsonl | *.ndjson) # the title and the text of a document are also embedded together
        jq -r '(.. | strings), (.. | objects | select(has("title") and has("text")) | "\(.title) \(.text)") |
            gsub("[\t\n]"; " ")' "$work/file" ||
            fail "$1 is not valid JSON"
        ;;
    *) fail "$1 has an unknown format; convert it to .tsv, .txt or .jsonl, or move it out of the folder" ;;
    esac
}
for place; do
    [ -e "$place" ] || fail "$place does not exist"
    if [ -d "$place" ]; then
        find -L "$place" -type f ! -name 'STS.gs.*' ! -path '*/qrels/*' ! -iname 'readme*' ! -iname '*license*' ! \
            -iname '*licence*' ! -name '*.md' ! -name '.*' | sort
    else
        echo "$place"
    fi
done >"$work/list"
[ -s "$work/list" ] || fail "no file of texts in $*"
while read -r file; do texts "$file"; done <"$work/list" >"$work/texts"
# HTML entities can be part of a text or not
awk '{ print } /&[a-z#0-9]+;/ { gsub(/&[a-z#0-9]+;/, " "); print }' "$work/texts" | tr '[:upper:]' '[:lower:]' |
    awk '{ gsub(/[^a-z0-9]+/, " "); gsub(/^ | $/, "") } $0 != "" && !seen[$0]++'
