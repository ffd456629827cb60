#!/bin/sh
# SPDX-License-Identifier: MIT
# fuzz.sh: runs every libFuzzer harness in $BUILD/libfuzzer for $FUZZ_SECONDS seconds (default: 60), two in parallel.
# The last line of the output is:
#     aoe: N passed, M failed, 0 skipped
# A harness starts from the corpus in tests/fuzz/corpus/NAME. It stores inputs that reach new code in
# $BUILD/corpus/NAME for the next run. It stores inputs that cause a failure in $BUILD/findings. `HARNESS FILE` runs a
# stored input again. The exit code is 0 only if no harness failed. $HARNESSES are the names of the harnesses to run
# (default: all).
#
# fuzz.sh --table [SINCE]: prints the table of tests/README.md from all runs that $RUNS records (default:
# $BUILD/runs.tsv), or from those since the time SINCE in seconds since 1970. Every run adds a line with these columns:
# time, harness, seconds, inputs, exit code, commit. The stored inputs of fixed failures are the files fixed-* of the
# corpus.
#
# fuzz.sh --merge: adds to tests/fuzz/corpus the inputs in $BUILD/corpus that reach code which the stored corpus does
# not reach, as new-*. If these are more than $MERGE_FILES files (default: 80), a selection of all sizes is added. At
# most $MERGE_BYTES bytes (default: 100000) are added to a corpus.
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build/fuzz}
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
RUNS=${RUNS:-$BUILD/runs.tsv}
export BUILD FUZZ_SECONDS RUNS
# With this option, malloc returns NULL for huge allocations. By default, AddressSanitizer ends the program instead.
export ASAN_OPTIONS="${ASAN_OPTIONS-allocator_may_return_null=1}" UBSAN_OPTIONS="${UBSAN_OPTIONS-print_stacktrace=1}"

if [ "${1-}" = --table ]; then
    echo "| harness | seconds | inputs | failed runs | stored inputs of fixed failures |"
    echo "| --- | ---: | ---: | ---: | ---: |"
    for dir in tests/fuzz/corpus/*; do
        name=$(basename "$dir")
        fixed=$(find "$dir" -name 'fixed-*' | wc -l)
        awk -F'\t' -v name="$name" -v since="${2:-0}" -v fixed="$fixed" '
            $2 == name && $1 >= since {
                seconds += $3; inputs += $4; failed += $5 != 0
            }
            END { printf "| `%s` | %d | %d | %d | %d |\n", name, seconds, inputs, failed, fixed }' "$RUNS"
    done
    exit 0
fi

harnesses() { # prints the paths of the harnesses to run
    for path in "$BUILD"/libfuzzer/*_fuzz; do
        name=$(basename "$path" _fuzz)
        case " ${HARNESSES-$name} " in
        *" $name "*) echo "$path" ;;
        esac
    done
}

if [ "${1-}" = --merge ]; then
    for path in $(harnesses); do
        name=$(basename "$path" _fuzz)
        stored=tests/fuzz/corpus/$name
        work=$(mktemp -d)
        mkdir "$work/merged"
        # the files of the project first, so that a new input is kept only if it adds to them
        find "$stored" -type f ! -name 'new-*' -exec cp {} "$work/merged" \;
        find "$stored" -type f ! -name 'new-*' | wc -l >"$work/own"
        "$path" -merge=1 -timeout=25 -rss_limit_mb=4096 "$work/merged" "$stored" "$BUILD/corpus/$name" >"$work/log" 2>&1
        rm -f "$stored"/new-*
        for file in "$stored"/*; do rm -f "$work/merged/$(basename "$file")"; done # the corpus already has these files
        bytes=0
        for file in $(cd "$work/merged" && find . -type f -size -9k | sed 's|^\./||' | xargs -r ls -Sr |
            awk -v max="${MERGE_FILES:-80}" '
                { file[NR] = $0 }
                END { n = NR < max ? NR : max; for (i = 1; i <= n; i++) print file[int(i * NR / n)] }'); do
            bytes=$((bytes + $(wc -c <"$work/merged/$file")))
            [ $bytes -le "${MERGE_BYTES:-100000}" ] || break
            cp "$work/merged/$file" "$stored/new-$(echo "$file" | cut -c1-10)"
        done
        echo "fuzz/$name: $(find "$stored" -type f | wc -l) files, $(cat "$stored"/* | wc -c) bytes"
        rm -rf "$work"
    done
    exit 0
fi

if [ "${1-}" = --one ]; then
    name=$(basename "$2" _fuzz)
    log=$BUILD/log/$name
    mkdir -p "$BUILD/corpus/$name" "$BUILD/findings" "$BUILD/log"
    start=$(date +%s)
    "$2" -max_total_time="$FUZZ_SECONDS" -timeout=25 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$BUILD/findings/$name-" "$BUILD/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1
    code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    # after a failure in a sanitizer, only the lines about new inputs tell the number
    [ -n "$runs" ] || runs=$(sed -n 's/^#\([0-9]*\).*/\1/p' "$log" | tail -n 1)
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$start" "$name" $(($(date +%s) - start)) "${runs:-0}" $code \
        "$(git rev-parse --short HEAD 2>/dev/null)" >>"$RUNS"
    if [ $code = 0 ]; then
        echo "ok      fuzz/$name: ${runs:-0} inputs"
    else
        echo "FAILED  fuzz/$name (exit code $code)"
        # lines that begin with # and a number report new inputs
        grep -v '^#[0-9]' "$log" | tail -n 60 | sed 's/^/    /'
    fi
    exit 0
fi

report=$(mktemp)
trap 'rm -f "$report"' EXIT
trap 'exit 130' INT TERM
harnesses | tr '\n' '\0' | xargs -0 -n 1 -P 2 sh tests/fuzz.sh --one | tee "$report"
passed=$(grep -c '^ok ' "$report")
failed=$(grep -c '^FAILED ' "$report")
echo "aoe: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
