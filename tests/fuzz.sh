#!/bin/sh
# SPDX-License-Identifier: MIT
# fuzz.sh: runs every libFuzzer harness in $BUILD/libfuzzer for $FUZZ_SECONDS seconds (default: 60), two in parallel.
# The last line of the output is:
#     aoe: N passed, M failed, 0 skipped
# A harness starts from the corpus in tests/fuzz/corpus/NAME. It stores inputs that reach new code in
# $BUILD/corpus/NAME for the next run. It stores inputs that cause a failure in $BUILD/findings. `HARNESS FILE` runs a
# stored input again. The exit code is 0 only if no harness failed.
set -u
cd "$(dirname "$0")/.."
BUILD=${BUILD:-build/fuzz}
FUZZ_SECONDS=${FUZZ_SECONDS:-60}
export BUILD FUZZ_SECONDS
# With this option, malloc returns NULL for huge allocations. By default, AddressSanitizer ends the program instead.
export ASAN_OPTIONS="${ASAN_OPTIONS-allocator_may_return_null=1}" UBSAN_OPTIONS="${UBSAN_OPTIONS-print_stacktrace=1}"

if [ "${1-}" = --one ]; then
    name=$(basename "$2" _fuzz)
    log=$BUILD/log/$name
    mkdir -p "$BUILD/corpus/$name" "$BUILD/findings" "$BUILD/log"
    "$2" -max_total_time="$FUZZ_SECONDS" -timeout=25 -rss_limit_mb=4096 -print_final_stats=1 \
        -artifact_prefix="$BUILD/findings/$name-" "$BUILD/corpus/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1
    code=$?
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
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
printf '%s\0' "$BUILD"/libfuzzer/*_fuzz | xargs -0 -n 1 -P 2 sh tests/fuzz.sh --one | tee "$report"
passed=$(grep -c '^ok ' "$report")
failed=$(grep -c '^FAILED ' "$report")
echo "aoe: $passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
