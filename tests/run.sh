#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh PROGRAM...: runs the test programs (cmocka, fuzz drivers), then the cases of tests/cli, two at a
# time. Prints a line for each, what a failing one printed, and closes with one line alone:
#     aoe: N passed, M failed, K skipped
# N counts single cmocka tests, fuzz drivers and cli cases. The exit code is the verdict.
#
#   BUILD  build directory (build)         SAN        sanitizers of the build, for information
#   CASES  cli cases to run, by name; "none" for none; default all
#   UPDATE=1  writes what the cases print to their .exact files, to be read in the diff
#
# A cli case is tests/cli/NAME.sh, run by sh -eu in a fresh directory with AOE (the program), SRC (the repository),
# AOE_SHARED when there is one. Beside it, each optional:
#   NAME.exit   expected exit code (0)
#   NAME.exact, NAME.err.exact   all of stdout, stderr
#   NAME.glob, NAME.err.glob     a shell pattern for each line of it; a line ... stands for any lines
# A case that cannot run prints "SKIP: why" and exits 77.
set -u

# ---------------------------------------------------------------- one item: sh run.sh --one ITEM

describe() { # describe RESULT NAME SECONDS
    printf '%-7s %s (%s s)\n' "$1" "$2" "$3"
}

show() { # what a failure printed, cut to 200 lines
    sed -e 's/^/    /' "$1" | tail -n 200
}

# Sums of cmocka's closing lines: "passed failed skipped groups"
count_cmocka() {
    LC_ALL=C awk '/^\[  PASSED  \] [0-9]+ test/ { passed += $4; groups++ }
         /^\[  FAILED  \] [0-9]+ test/ { failed += $4 }
         /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4 }
         END { print passed + 0, failed + 0, skipped + 0, groups + 0 }' "$1"
}

run_program() {
    name=${1#"$BUILD"/tests/}
    log=$(mktemp "$WORK/log.XXXXXX")
    start=$(date +%s)
    timeout 900 "$1" </dev/null >"$log" 2>&1
    code=$?
    seconds=$(($(date +%s) - start))
    # shellcheck disable=SC2046
    set -- $(count_cmocka "$log")
    passed=$1 failed=$2 skipped=$3
    case $name in
    fuzz/*) if [ $code = 0 ]; then passed=1; else failed=1; fi ;;
    *)
        # A crash leaves no closing line; a sanitizer may fail the program after it.
        if [ "$4" = 0 ] || { [ $code != 0 ] && [ "$failed" = 0 ]; }; then failed=$((failed + 1)); fi
        ;;
    esac
    echo "$passed $failed $skipped" >"$log.result"
    if [ "$failed" = 0 ]; then
        describe "ok" "$name: $passed passed$([ "$skipped" = 0 ] || echo ", $skipped skipped")" $seconds
        sed -n 's/^SKIP: /    SKIP: /p' "$log" | sort -u
    else
        describe "FAILED" "$name: $failed failed (exit code $code)" $seconds
        show "$log"
    fi
}

# match_lines PATTERNS FILE: 0 when the lines follow the patterns
match_lines() (
    exec 3<"$1" 4<"$2"
    any=0
    while IFS= read -r pattern <&3; do
        if [ "$pattern" = ... ]; then
            any=1
            continue
        fi
        while :; do
            if ! IFS= read -r line <&4; then
                echo "no line matches: $pattern"
                return 1
            fi
            # shellcheck disable=SC2254
            case $line in
            $pattern) break ;;
            esac
            if [ $any = 0 ]; then
                echo "line:    $line"
                echo "pattern: $pattern"
                return 1
            fi
        done
        any=0
    done
    if [ $any = 0 ] && IFS= read -r line <&4; then
        echo "one line too many: $line"
        return 1
    fi
)

compare() { # compare EXPECTED_BASE FILE WHAT
    if [ -e "$1.exact" ] && ! diff -u "$1.exact" "$2"; then
        echo "$3 differs from $(basename "$1").exact"
        return 1
    fi
    if [ -e "$1.glob" ] && ! match_lines "$1.glob" "$2"; then
        echo "$3 does not match $(basename "$1").glob"
        return 1
    fi
}

run_case() {
    name=$(basename "$1" .sh)
    base=${1%.sh}
    dir=$(mktemp -d "$WORK/case.XXXXXX")
    mkdir "$dir/work"
    start=$(date +%s)
    (cd "$dir/work" && timeout 300 sh -eu "$1" </dev/null >"$dir/out" 2>"$dir/err")
    code=$?
    seconds=$(($(date +%s) - start))
    if [ -n "${UPDATE-}" ]; then
        [ ! -e "$base.exact" ] || cp "$dir/out" "$base.exact"
        [ ! -e "$base.err.exact" ] || cp "$dir/err" "$base.err.exact"
    fi
    expected=0
    [ ! -e "$base.exit" ] || expected=$(cat "$base.exit")
    if [ $code = 77 ] && grep -q '^SKIP: ' "$dir/out"; then
        echo "0 0 1" >"$dir.result"
        describe "skipped" "cli/$name: $(sed -n 's/^SKIP: //p' "$dir/out" | head -n 1)" $seconds
        return
    fi
    {
        [ -e "$base.exact" ] || [ -e "$base.glob" ] || [ -e "$base.err.exact" ] || [ -e "$base.err.glob" ] ||
            echo "it expects nothing: write $name.exact, or make an empty one and set UPDATE=1"
        [ $code = "$expected" ] || echo "exit code $code, expected $expected"
        compare "$base" "$dir/out" stdout
        compare "$base.err" "$dir/err" stderr
    } >"$dir/why"
    if [ -s "$dir/why" ]; then
        echo "0 1 0" >"$dir.result"
        describe "FAILED" "cli/$name" $seconds
        show "$dir/why"
        echo "    --- stdout" && show "$dir/out"
        echo "    --- stderr" && show "$dir/err"
    else
        echo "1 0 0" >"$dir.result"
        describe "ok" "cli/$name" $seconds
        rm -rf "$dir"
    fi
}

if [ "${1-}" = --one ]; then
    report=$(mktemp "$WORK/report.XXXXXX")
    case $2 in
    */tests/cli/*.sh) run_case "$2" ;;
    *) run_program "$2" ;;
    esac >"$report"
    cat "$report" # at once, so that two items do not mix
    exit 0
fi

# ---------------------------------------------------------------- all of them

SRC=$(cd "$(dirname "$0")/.." && pwd)
BUILD=$(cd "${BUILD:-$SRC/build}" && pwd)
AOE=$BUILD/aoe
if [ -z "${AOE_SHARED-}" ] && [ -d "$SRC/../shared" ]; then
    AOE_SHARED=$(cd "$SRC/../shared" && pwd)
fi
CMOCKA_MESSAGE_OUTPUT=${CMOCKA_MESSAGE_OUTPUT:-stdout}
SAN=${SAN-}
UBSAN_OPTIONS=${UBSAN_OPTIONS-print_stacktrace=1}
ASAN_OPTIONS=${ASAN_OPTIONS-allocator_may_return_null=1}
TSAN_OPTIONS=${TSAN_OPTIONS-allocator_may_return_null=1}
unset AOE_MODEL # a user's model is not the tests' business
WORK=$(mktemp -d "${TMPDIR:-/tmp}/aoe-tests-XXXXXX")
export SRC BUILD AOE AOE_SHARED CMOCKA_MESSAGE_OUTPUT SAN UBSAN_OPTIONS ASAN_OPTIONS TSAN_OPTIONS WORK
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM

for program in "$@"; do
    case $program in
    /*) echo "$program" ;;
    *) echo "$PWD/$program" ;;
    esac
done >"$WORK/items"
for case in "$SRC"/tests/cli/*.sh; do
    name=$(basename "$case" .sh)
    case " ${CASES-$name} " in
    *" $name "*) echo "$case" ;;
    esac
done >>"$WORK/items"

if [ ! -s "$WORK/items" ]; then
    echo "run.sh: nothing to run: no program was given, and no case in $SRC/tests/cli has the name '${CASES-}'" >&2
    exit 2
fi
tr '\n' '\0' <"$WORK/items" | xargs -0 -n 1 -P 2 sh "$SRC/tests/run.sh" --one
# An item whose run ended without a result (killed) counts as failed.
cat "$WORK"/*.result 2>/dev/null | awk -v items="$(wc -l <"$WORK/items")" '
    { passed += $1; failed += $2; skipped += $3 }
    END { if (NR < items) failed += items - NR
          printf "aoe: %d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }'
