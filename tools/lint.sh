#!/bin/sh
# SPDX-License-Identifier: MIT
# lint.sh [CHECK...]: checks rules of the sources that compilers do not check. The checks are:
#   includes   code of a folder includes only headers of lower layers; functions for memory, threads, intrinsics and
#              output are used only in the files in which they are allowed
#   cycles     there are no dependency cycles between units (pairs of a .c and a .h file); the header of a unit declares
#              only functions that the unit defines
#   vocabulary no file contains a word that tools/vocabulary.txt replaces by a standard term
#   sizes      files have fewer than 1,000 lines, public headers fewer than 600, functions fewer than 150
#   columns    lines of sources, scripts, the Makefile and .md files have at most 120 columns, except rows of tables,
#              the output of a program as a table, templates, prompts with special tokens, and lines with a URL
#   flags      the library names no command-line option, such as --lr, except in the tables of options (src/options)
#   words      there are no reminder comments, and every source file has a license line
#   links      relative links of .md files point to existing files, and docs/README.md lists all pages of docs/
#   format     clang-format
#   tests      every unit has a test of its name or is named by a test that covers it (tests/find.sh)
#   tidy       clang-tidy for the files of src and cli that changed since the commit in tools/tidy_base
#   tidy-all   clang-tidy for all files of src and cli (slow). If there are no violations and no uncommitted changes,
#              tools/tidy_base is set to the current commit
# Prints violations as FILE:LINE: MESSAGE. The exit code is 1 if there are violations.
set -eu
cd "$(dirname "$0")/.."
failed=0

sources() { # sources PATTERN...: prints the existing files that match the patterns and that git does not ignore
    git ls-files -co --exclude-standard -- "$@" | sort -u | while IFS= read -r f; do [ ! -f "$f" ] || echo "$f"; done
}

tool() { # tool NAME: prints NAME-14, the version that the project uses, if it is installed; otherwise NAME
    if command -v "$1-14" >/dev/null; then echo "$1-14"; else echo "$1"; fi
}

report() { # report TITLE FUNCTION...: runs the functions, prints their output, and fails if there is any
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

# Layers of the library, one per line: FOLDER: folders that it may include in addition to itself.
allowed='
base:
options: base
kernels: base
comm: base
nn: base kernels
vectors: base nn kernels
document: base
stats: base
loss: base nn
jinja: base
tokenizer: base jinja
encoder: base nn
net: base
hub: base kernels nn tokenizer encoder modeldir net
table: base
model: base options nn tokenizer encoder modeldir
modeldir: base tokenizer encoder
dataset: base table nn vectors model
create: base options nn tokenizer encoder modeldir model table
collect: base options net table dataset
annotate: base options net table dataset
index: base options net nn vectors model table document
postgres: base index
serve: base net
eval: base options nn vectors index model table stats
train: base options comm nn tokenizer encoder model modeldir loss table
bench: base nn encoder model modeldir train
experiment: base options
cli: base options vectors cli
'

# Folders that may include aoe_train.h and the public headers that include it. The other folders need no options of
# training.
trains='base options train bench experiment cli'

check_directions() {
    sources src cli | xargs grep -nE '^ *# *include' /dev/null | awk -v allowed="$allowed" -v trains=" $trains " '
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
            if (name ~ /^pthread/ && folder != "base") print place "threads are created only in base/pool.c"
            if (name ~ /intrin\.h$/ && folder != "kernels") print place "intrinsics are allowed only in kernels/"
            if (name ~ /^aoe_(train|plan|experiment)\.h$/ && !index(trains, " " folder " "))
                print place folder " may not include " name
            if (system_header || name ~ /^aoe(_[a-z]+)?\.h$/) next
            if (name !~ /\//) {
                if (folder != "kernels") print place "include a header with its folder: \"" folder "/" name "\""
                next
            }
            split(name, to, "/")
            if (!((folder, to[1]) in may)) print place folder " may not include " name
        }'
}

check_cycles() {
    # shellcheck disable=SC2046
    awk -f tools/cycles.awk $(sources src cli | grep '\.[ch]$') | sort
}

# Reports the words that tools/vocabulary.txt replaces, except in lines that match a pattern of
# tools/vocabulary_allowed.txt.
check_vocabulary() {
    sources '*.c' '*.h' '*.def' '*.md' '*.sh' '*.inc' 'docs/*.1' Makefile |
        grep -vE '^(tests/golden|recipes/.*/data)/' >"${TMPDIR:-/tmp}/aoe-lint.$$"
    grep -vE '^(#|$)' tools/vocabulary.txt | while IFS="$(printf '\t')" read -r pattern instead; do
        xargs grep -nE -- "$pattern" /dev/null <"${TMPDIR:-/tmp}/aoe-lint.$$" |
            grep -vE -f tools/vocabulary_allowed.txt |
            awk -v instead="$instead" '{ print $0 "   <- write: " instead }'
    done
    rm -f "${TMPDIR:-/tmp}/aoe-lint.$$"
}

# Reports functions and compiler extensions that are allowed only in some files.
check_restricted() {
    library=$(sources 'src/*.c' 'src/*.h')
    # shellcheck disable=SC2086
    {
        echo $library | tr ' ' '\n' | grep -v '^src/base/alloc\.' |
            xargs grep -nE '(^|[^a-zA-Z0-9_>.])(malloc|calloc|realloc|free|strdup|strndup|aligned_alloc) *\(' \
                /dev/null |
            sed 's/\(:[0-9]*:\).*/\1 allocate memory with base\/alloc.h/'
        grep -nE -e '(^|[^a-zA-Z0-9_])(printf|puts|putchar|perror|exit|abort) *\(|(fprintf|fputs) *\((stderr|stdout)' \
            -e 'fputs *\([^;]*(stderr|stdout)\)' $library |
            grep -vE ':[0-9]+: *(/?\*|//)' |
            sed 's/\(:[0-9]*:\).*/\1 the library must not print or exit/'
        echo $library | tr ' ' '\n' | grep -v '^src/base/compiler\.h$' |
            xargs grep -nE '__attribute__|__builtin_|__asm__' /dev/null |
            sed 's/\(:[0-9]*:\).*/\1 compiler extensions are allowed only in base\/compiler.h/'
        # A program that is started can do anything, so there are few places. command.c limits environment, folder, time
        # and memory of the programs that convert documents; process.c forks this process.
        echo $library | tr ' ' '\n' | grep -vE '^src/(document/command|experiment/process)\.c$' |
            xargs grep -nE '(^|[^a-zA-Z0-9_>.])(v?fork|exec[lv]p?e?|fexecve|execvpe|system|popen|posix_spawnp?) *\(' \
                /dev/null |
            grep -vE ':[0-9]+: *(/?\*|//)' |
            sed 's/\(:[0-9]*:\).*/\1 only document\/command.c and experiment\/process.c may start processes/'
        echo $library | tr ' ' '\n' | grep '^src/kernels/' |
            xargs grep -nE 'aoei_(malloc|calloc|fail|parallel_for)' /dev/null |
            sed 's/\(:[0-9]*:\).*/\1 kernels must not allocate memory, report errors or start threads/'
    } || true
}

# A function begins at a line that ends with `) {`, or at a line `{` after a line that contains `)`. It ends at the
# next line `}`.
check_sizes() {
    sources '*.c' '*.h' '*.sh' | grep -v '_tables\.h$' | while IFS= read -r f; do
        awk -v f="$f" '
            /^[a-zA-Z_].*\) *\{$/ || (/^\{$/ && last ~ /\)$/) { start = FNR }
            /^\}/ {
                lines = FNR - start
                if (start && lines > 150) print f ":" start ": the function has " lines " lines; the maximum is 150"
                start = 0
            }
            { last = $0 }
            END {
                max = f ~ /^include\// ? 599 : 999
                if (FNR > max) print f ":1: the file has " FNR " lines; the maximum is " max
            }' "$f"
    done
}

check_columns() {
    sources '*.c' '*.cpp' '*.h' '*.def' '*.md' '*.sh' '*.py' '*.awk' '*.gp' Makefile '.ci/*' 'docs/*.1' |
        grep -vE '^tests/(golden|fuzz/corpus)/' | LC_ALL=C.UTF-8 xargs grep -nE '.{121}' /dev/null |
        grep -vE '^[^:]*:[0-9]+:( *>? *\||    .*[^ ]  +[^ ].*  +[^ ].*  +)|https?://|<\||\{[{%]' |
        sed 's/^\([^:]*:[0-9]*:\).*/\1 the line has more than 120 columns/' || true
}

# The commands of other programs (pandoc, soffice, jupyter) have options, and modeldir/readme.c writes examples of
# commands into the README of a model.
check_flags() {
    sources 'src/*.c' 'src/*.h' | grep -vE '^src/(options/|modeldir/readme\.c)' |
        xargs grep -nE '["(`]--[a-z]{2}|[a-z] --[a-z]{2}' /dev/null |
        grep -vE 'pandoc|soffice|jupyter|PLAIN|CODE' |
            sed 's/^\([^:]*:[0-9]*:\)/\1 names a command-line option; write the field, such as options.lr:/' || true
}

check_words() {
    words='TO''DO|FIX''ME|XX''X'
    sources '*.c' '*.h' '*.sh' '*.def' '*.md' 'Makefile' 'docs/*' | xargs grep -nwE "$words" /dev/null |
        sed 's/\(:[0-9]*:\)/\1 reminder comment:/' || true
    sources '*.c' '*.h' '*.sh' | while IFS= read -r f; do
        head -n 2 "$f" | grep -q 'SPDX-License-Identifier: MIT' ||
            echo "$f:1: missing license line in the first two lines (SPDX-License-Identifier: MIT)"
    done
}

# Reports relative links to missing files, outside code. The heading of a link to a part of a page is not checked.
check_links() {
    sources '*.md' | grep -v '^recipes/.*/data/' | while IFS= read -r f; do
        awk '/^ *```/ { code = !code } code || /^    / { next }
            {
                gsub(/`[^`]*`/, "")
                while (match($0, /\]\([^) ]+\)/)) {
                    print FNR, substr($0, RSTART + 2, RLENGTH - 3)
                    $0 = substr($0, RSTART + RLENGTH)
                }
            }' "$f" |
            while read -r line link; do
                case $link in *:* | '#'*) continue ;; esac
                [ -e "$(dirname "$f")/${link%%#*}" ] || echo "$f:$line: the link $link points to a missing file"
            done
    done
    sources 'docs/*.md' | sed 's/^docs\///' | while IFS= read -r f; do
        [ "$f" = README.md ] || grep -q "($f)" docs/README.md || echo "docs/README.md:1: the page $f is not listed"
    done
}

check_format() {
    sources '*.c' '*.h' | xargs "$(tool clang-format)" --dry-run -Werror 2>&1 |
        sed -n 's/^\([^:]*\):[0-9]*:[0-9]*: error:.*/\1/p' | sort | uniq -c |
        awk '{ print $2 ": " $1 " places are not formatted; run make format" }'
}

# tidy_one FILE: runs clang-tidy, for a kernel once per CPU tier for which the Makefile compiles it
tidy_one() {
    printf '%s\n' "${TIER_FLAGS-$(make -s tier-flags)}" |
        awk -v f="$1" '$1 == f { $1 = ""; print; found = 1 } END { if (!found) print "" }' |
        while IFS= read -r flags; do
            case $flags in
            # pkg-config prints the directories of this machine
            *=neon*) packages="--target=aarch64-linux-gnu --sysroot=build/sysroot/aarch64-linux-gnu" ;;
            *) packages=$(pkg-config --cflags jansson libutf8proc libpcre2-8 libzstd zlib libcurl libmicrohttpd \
                sqlite3) ;;
            esac
            # max-nodes: the analyzer explores at most 75,000 states of a function (default: 225,000). It can find fewer
            # errors, but takes less than half of the time.
            # shellcheck disable=SC2086
            "$(tool clang-tidy)" --quiet --extra-arg=-Xclang --extra-arg=-analyzer-config --extra-arg=-Xclang \
                --extra-arg=max-nodes=75000 "$1" -- -std=c11 -D_GNU_SOURCE -Iinclude -Isrc -I. $packages $flags 2>&1 |
                grep -E '(warning|error):' | sed "s|$PWD/||" || true
        done
}

if [ "${1-}" = --tidy-one ]; then
    tidy_one "$2"
    exit 0
fi

# Reports the violations in the files whose names are read from stdin.
tidy_files() {
    TIER_FLAGS=$(make -s tier-flags)
    export TIER_FLAGS
    xargs -r -P 2 -n 1 sh tools/lint.sh --tidy-one | sort -u
}

# A changed header is checked with the .c file of its unit. If the commit is not in this clone, or if the configuration
# of clang-tidy changed, all files are checked.
check_tidy() {
    base=$(cat tools/tidy_base)
    if git cat-file -e "$base^{commit}" 2>/dev/null && git diff --quiet "$base" -- .clang-tidy; then
        { git diff --name-only "$base" -- src cli && git ls-files -o --exclude-standard -- src cli; } |
            sed -n 's/\.[ch]$/.c/p' | sort -u | while IFS= read -r f; do [ ! -f "$f" ] || echo "$f"; done | tidy_files
    else
        check_tidy_all
    fi
}

check_tidy_all() { sources 'src/*.c' 'cli/*.c' | tidy_files; }

check_tests() { tests/find.sh --check; }

for check in ${*:-includes cycles vocabulary sizes columns flags words links format tests tidy}; do
    case $check in
    includes) report "includes and restricted functions" check_directions check_restricted ;;
    cycles) report "cycles between units" check_cycles ;;
    vocabulary) report "vocabulary" check_vocabulary ;;
    sizes) report "sizes" check_sizes ;;
    columns) report "columns" check_columns ;;
    flags) report "command-line options in the library" check_flags ;;
    words) report "words" check_words ;;
    links) report "links" check_links ;;
    format) report "clang-format" check_format ;;
    tests) report "tests of units" check_tests ;;
    tidy) report "clang-tidy" check_tidy ;;
    tidy-all)
        failed_before=$failed
        report "clang-tidy of all files" check_tidy_all
        [ $failed != "$failed_before" ] || ! git diff --quiet HEAD -- src cli || git rev-parse HEAD >tools/tidy_base
        ;;
    *)
        echo "lint: unknown check '$check'; use includes, cycles, vocabulary, sizes, columns, flags, words, links," \
            "format, tests, tidy or tidy-all" >&2
        exit 2
        ;;
    esac
done
exit $failed
