#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh PROGRAM...: runs the given test programs (cmocka tests and fuzz drivers) and the command-line cases in
# tests/cli, two in parallel. Prints one line per program or case. The output of the programs and cases that failed is
# printed at the end. The last line is:
#     aoe: N passed, M failed, K skipped
# N counts the cmocka test functions, fuzz drivers and cases. The exit code is 0 only if nothing failed. Environment
# variables:
#   BUILD     build directory (default: build)
#   CASES     names of the cases to run, or "none" (default: all)
#   SAN       sanitizers of the build; if it is set, some cases are skipped
#   EMULATOR  command that runs programs of another architecture, such as "qemu-aarch64 -L /sysroot" (default: none)
#   AOE_FUZZ_SEED  random seed of the mutated inputs of the fuzz drivers (default: another one each time)
#   UPDATE=1  writes the output of the cases to their .exact files; check the changes with git diff
#
# A case is a file tests/cli/NAME.sh, which `sh -eu` runs in an empty directory. These environment variables are set
# for it:
#   AOE         path of the program
#   BUILD       build directory
#   SRC         path of the repository
#   AOE_SHARED  directory of the shared data; not set if it does not exist
# These files contain the expected results of a case. At least one file with expected output must exist.
#   NAME.exact, NAME.err.exact   expected stdout, stderr
#   NAME.glob, NAME.err.glob     one shell pattern per line of stdout, stderr; the line `...` matches any number of
#                                lines
#   NAME.exit                    expected exit code (default: 0)
# A case that cannot run prints "SKIP: REASON" and exits with code 77.
set -u

# ---------------------------------------------------------------- one program or case: sh run.sh --one PATH

describe() { # describe RESULT NAME SECONDS
    printf '%-7s %s (%s s)\n' "$1" "$2" "$3"
}

show() { # show FILE: prints the last 200 lines, indented
    sed -e 's/^/    /' "$1" | tail -n 200
}

# count_cmocka FILE: reads the totals that cmocka printed for each group of tests. Prints their sums and the number of
# groups, as "PASSED FAILED SKIPPED GROUPS".
count_cmocka() {
    LC_ALL=C awk '/^\[  PASSED  \] [0-9]+ test/ { passed += $4; groups++ }
         /^\[  FAILED  \] [0-9]+ test/ { failed += $4 }
         /^\[  SKIPPED \] [0-9]+ test/ { skipped += $4 }
         END { print passed + 0, failed + 0, skipped + 0, groups + 0 }' "$1"
}

# run_program PROGRAM: runs a test program and prints its result
run_program() {
    name=${1#"$BUILD"/tests/}
    log=$(mktemp "$WORK/log.XXXXXX")
    start=$(date +%s)
    # shellcheck disable=SC2086
    timeout 900 ${EMULATOR-} "$1" </dev/null >"$log" 2>&1
    code=$?
    seconds=$(($(date +%s) - start))
    # shellcheck disable=SC2046
    set -- $(count_cmocka "$log")
    passed=$1 failed=$2 skipped=$3
    case $name in
    fuzz/*) if [ $code = 0 ]; then passed=1; else failed=1; fi ;;
    *)
        # A program that crashed printed no totals. A sanitizer can make a program fail after it printed the totals.
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

# match_lines PATTERNS FILE: returns 0 if the lines of FILE match the patterns in order. Otherwise prints the
# difference.
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
                echo "no line matches the pattern: $pattern"
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
        echo "unexpected line after the last pattern: $line"
        return 1
    fi
)

# compare BASE FILE STREAM: compares FILE with BASE.exact and BASE.glob, if they exist. STREAM is stdout or stderr; it
# appears in messages.
compare() {
    if [ -e "$1.exact" ] && ! diff -u "$1.exact" "$2"; then
        echo "$3 differs from $(basename "$1").exact"
        return 1
    fi
    if [ -e "$1.glob" ] && ! match_lines "$1.glob" "$2"; then
        echo "$3 does not match $(basename "$1").glob"
        return 1
    fi
}

# run_case SCRIPT: runs a case and prints its result
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
            echo "$name has no expected output: create an empty $name.exact and set UPDATE=1"
        [ $code = "$expected" ] || echo "expected exit code $expected, got $code"
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
    if [ "$(head -c 6 "$report")" = FAILED ]; then
        head -n 1 "$report"
        mv "$report" "$report.failed"
    else
        cat "$report" # in one piece, because another process prints at the same time
    fi
    exit 0
fi

# ---------------------------------------------------------------- all programs and cases

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
unset SENTENCE_TRANSFORMERS_HOME
unset AOE_MODEL # the tests use their own models
XDG_DATA_DIRS=/nonexistent # not the models that are installed on this machine
WORK=$(mktemp -d "${TMPDIR:-/tmp}/aoe-tests-XXXXXX")
export XDG_DATA_DIRS SRC BUILD AOE AOE_SHARED CMOCKA_MESSAGE_OUTPUT SAN UBSAN_OPTIONS ASAN_OPTIONS TSAN_OPTIONS WORK
trap 'rm -rf "$WORK"' EXIT
trap 'exit 130' INT TERM
if [ -n "${EMULATOR-}" ]; then
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$EMULATOR" "$AOE" >"$WORK/aoe"
    chmod +x "$WORK/aoe"
    AOE=$WORK/aoe
fi

cases() { # cases GREP_OPTION: prints the selected cases with (-l) or without (-L) the tag network
    grep "$1" '^# tags:.*network' "$SRC"/tests/cli/*.sh | while IFS= read -r case; do
        name=$(basename "$case" .sh)
        case " ${CASES-$name} " in
        *" $name "*) echo "$case" ;;
        esac
    done
}
{
    cases -l # first, because they wait most of the time; at the end, they would run alone
    for program in "$@"; do
        case $program in
        /*) echo "$program" ;;
        *) echo "$PWD/$program" ;;
        esac
    done
    cases -L
} >"$WORK/items"

if grep -q '/fuzz/[^/]*_fuzz$' "$WORK/items"; then
    AOE_FUZZ_SEED=${AOE_FUZZ_SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
    export AOE_FUZZ_SEED
    echo "fuzz tests: random seed $AOE_FUZZ_SEED (AOE_FUZZ_SEED=$AOE_FUZZ_SEED repeats them)"
fi
if [ ! -s "$WORK/items" ]; then
    echo "run.sh: nothing to run: no program was given, and $SRC/tests/cli has no case '${CASES-}'" >&2
    exit 2
fi
tr '\n' '\0' <"$WORK/items" | xargs -0 -n 1 -P 2 sh "$SRC/tests/run.sh" --one
cat "$WORK"/report.*.failed 2>/dev/null
# If the process of a program or case was killed, there is no result. Such a program or case is counted as failed.
cat "$WORK"/*.result 2>/dev/null | awk -v items="$(wc -l <"$WORK/items")" '
    { passed += $1; failed += $2; skipped += $3 }
    END { if (NR < items) failed += items - NR
          printf "aoe: %d passed, %d failed, %d skipped\n", passed, failed, skipped; exit failed > 0 }'
