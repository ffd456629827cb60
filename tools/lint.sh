#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh [CHECK...]: rules of the tree that a compiler does not know. Without arguments all of them:
#   includes   which folder may include which; one door each to memory, threads, intrinsics, printing
#   cycles     no dependency cycles between units; a function is declared in the header of the unit that defines it
#   vocabulary the field's terms instead of invented ones (tools/vocabulary.txt)
#   sizes      files under 1,000 lines, functions under 150
#   words      no reminders left in the sources
#   format     clang-format
#   tidy       clang-tidy over src and cli (slow)
# Prints what breaks a rule as FILE:LINE: what; the exit code is the verdict.
set -eu
cd "$(dirname "$0")/.."
failed=0

sources() { # tracked and new files, as far as they exist
    git ls-files -co --exclude-standard -- "$@" | sort -u | while IFS= read -r f; do [ ! -f "$f" ] || echo "$f"; done
}

tool() { # tool NAME: the version the project is formatted with, when it is there
    if command -v "$1-14" >/dev/null; then echo "$1-14"; else echo "$1"; fi
}

report() { # report TITLE FUNCTION...: fails when they print lines, and shows those
    title=$1
    shift
    found=$(for f in "$@"; do "$f"; done)
    if [ -n "$found" ]; then
        printf '%s\n' "$found"
        echo "lint: $title: FAILED"
        failed=1
    else
        echo "lint: $title: ok"
    fi
}

# Layers of the library, from the bottom up. FOLDER: the folders that it may include in addition to itself.
allowed='
base:
kernels: base
nn: base kernels
stats: base
loss: base nn
tokenizer: base
encoder: base nn
net: base
table: base
model: base nn tokenizer encoder modeldir
modeldir: base tokenizer encoder
dataset: base table nn model
create: base tokenizer encoder modeldir model table
collect: base net table dataset
annotate: base net table dataset
eval: base nn model table stats
train: base nn tokenizer encoder model modeldir loss table
bench: base nn encoder model modeldir train
experiment: base
cli: base cli
'

check_directions() {
    sources src cli | xargs grep -nE '^ *# *include' /dev/null | awk -v allowed="$allowed" '
        BEGIN {
            n = split(allowed, line, "\n")
            for (i = 1; i <= n; i++) {
                m = split(line[i], word, /[: ]+/)
                if (m) { known[word[1]] = 1; may[word[1], word[1]] = 1 }
                for (j = 2; j <= m; j++) may[word[1], word[j]] = 1
            }
        }
        {
            split($0, part, ":")
            place = part[1] ":" part[2] ": "
            split(part[1], path, "/")
            match($0, /[<"][^>"]*[>"]/)
            name = substr($0, RSTART + 1, RLENGTH - 2)
            system_header = substr($0, RSTART, 1) == "<"
            folder = path[1] == "cli" ? "cli" : path[2]
            if (!(folder in known)) { print place "src/" folder " is not in the list of layers (tools/lint.sh)"; next }
            if (folder == "cli" && system_header) next
            if (name ~ /^pthread/ && folder != "base") print place "threads are made in base/pool.c only"
            if (name ~ /intrin\.h$/ && folder != "kernels") print place "intrinsics are for kernels/"
            if (system_header || name ~ /^aoe(_[a-z]+)?\.h$/) next
            if (name !~ /\//) { if (folder != "kernels") print place "write the folder: \"" folder "/" name "\""; next }
            split(name, to, "/")
            if (!((folder, to[1]) in may)) print place folder " may not include " name
        }'
}

check_cycles() {
    # shellcheck disable=SC2046
    awk -f tools/cycles.awk $(sources src cli | grep '\.[ch]$') | sort
}

# Words that tools/vocabulary.txt replaces, except where tools/vocabulary_allowed.txt has the same line.
check_vocabulary() {
    sources '*.c' '*.h' '*.def' '*.md' '*.sh' '*.inc' 'docs/*.1' Makefile | grep -vE '^(tests/golden|recipes/.*/data)/' >"${TMPDIR:-/tmp}/aoe-lint.$$"
    grep -vE '^(#|$)' tools/vocabulary.txt | while IFS="$(printf '\t')" read -r pattern instead; do
        xargs grep -nE -- "$pattern" /dev/null <"${TMPDIR:-/tmp}/aoe-lint.$$" | grep -vE -f tools/vocabulary_allowed.txt |
            awk -v instead="$instead" '{ print $0 "   <- write: " instead }'
    done
    rm -f "${TMPDIR:-/tmp}/aoe-lint.$$"
}

check_doors() {
    library=$(sources 'src/*.c' 'src/*.h')
    # shellcheck disable=SC2086
    {
        echo $library | tr ' ' '\n' | grep -v '^src/base/alloc\.' |
            xargs grep -nE '(^|[^a-zA-Z0-9_>.])(malloc|calloc|realloc|free|strdup|strndup|aligned_alloc) *\(' /dev/null |
            sed 's/\(:[0-9]*:\).*/\1 memory comes from base\/alloc.h/'
        grep -nE '(^|[^a-zA-Z0-9_])(printf|puts|putchar|perror|exit|abort) *\(|(fprintf|fputs) *\((stderr|stdout)|fputs *\([^;]*(stderr|stdout)\)' $library |
            grep -vE ':[0-9]+: *(/?\*|//)' |
            sed 's/\(:[0-9]*:\).*/\1 the library neither prints nor ends the program/'
        echo $library | tr ' ' '\n' | grep -v '^src/base/compiler\.h$' |
            xargs grep -nE '__attribute__|__builtin_|__asm__' /dev/null | sed 's/\(:[0-9]*:\).*/\1 compiler extensions are for base\/compiler.h/'
        echo $library | tr ' ' '\n' | grep '^src/kernels/' | xargs grep -nE 'aoei_(malloc|calloc|fail|parallel_for)' /dev/null |
            sed 's/\(:[0-9]*:\).*/\1 kernels allocate nothing, fail at nothing and start no threads/'
    } || true
}

# A function is what stands between a line that ends in { and a } at the line's start.
check_sizes() {
    sources '*.c' '*.h' '*.sh' | grep -v '_tables\.h$' | while IFS= read -r f; do
        awk -v f="$f" '
            /^[a-zA-Z_].*\) *\{$/ || (/^\{$/ && last ~ /\)$/) { start = FNR }
            /^\}/ { if (start && FNR - start > 150) print f ":" start ": a function of " FNR - start " lines"; start = 0 }
            { last = $0 }
            END { if (FNR >= 1000) print f ":1: a file of " FNR " lines" }' "$f"
    done
}

check_words() {
    words='TO''DO|FIX''ME|XX''X'
    sources '*.c' '*.h' '*.sh' '*.def' '*.md' 'Makefile' 'docs/*' | xargs grep -nwE "$words" /dev/null | sed 's/\(:[0-9]*:\)/\1 a reminder:/' || true
    sources '*.c' '*.h' '*.sh' | while IFS= read -r f; do
        head -n 2 "$f" | grep -q 'SPDX-License-Identifier: MIT' || echo "$f:1: no licence line"
    done
}

check_format() {
    sources '*.c' '*.h' | xargs "$(tool clang-format)" --dry-run -Werror 2>&1 |
        sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort | uniq -c | awk '{ print $2 ": " $1 " places; make format" }'
}

tier_flags() { # tier_flags FILE: the instruction sets the Makefile gives it
    case $1 in
    *_avx2.c) echo "-mavx2 -mfma -mf16c" ;;
    *_avx512.c) echo "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl" ;;
    *_avx512bf16.c) echo "-mavx2 -mfma -mf16c -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16" ;;
    *_amx.c) echo "-mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx512bf16 -mamx-tile -mamx-bf16" ;;
    esac
}

tidy_one() {
    # shellcheck disable=SC2046
    "$(tool clang-tidy)" --quiet "$1" -- -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. $(pkg-config --cflags jansson libutf8proc libpcre2-8 libzstd zlib libcurl sqlite3) \
        $(tier_flags "$1") 2>&1 | grep -E '(warning|error):' | sed "s|$PWD/||" || true
}

if [ "${1-}" = --tidy-one ]; then
    tidy_one "$2"
    exit 0
fi

check_tidy() {
    sources 'src/*.c' 'cli/*.c' | xargs -P 2 -n 1 sh tools/lint.sh --tidy-one | sort -u
}

for check in ${*:-includes cycles sizes words format tidy}; do
    case $check in
    includes) report "include directions and doors" check_directions check_doors ;;
    cycles) report "cycles between units" check_cycles ;;
    vocabulary) report "vocabulary" check_vocabulary ;;
    sizes) report "sizes" check_sizes ;;
    words) report "words" check_words ;;
    format) report "clang-format" check_format ;;
    tidy) report "clang-tidy" check_tidy ;;
    *) echo "lint: no check '$check'; there are includes, cycles, vocabulary, sizes, words, format, tidy" >&2 && exit 2 ;;
    esac
done
exit $failed
