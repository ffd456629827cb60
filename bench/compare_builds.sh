#!/bin/sh
# SPDX-License-Identifier: MIT
# compare_builds.sh OLD NEW: compares the speed of two builds of the program, for changes that must not cost speed.
#   1. Instructions that valgrind's callgrind counts (AOE_CPU=avx2, one thread): inference and training on bert-tiny,
#      and `aoe embed` of 200 texts. The counts hardly depend on the machine.
#   2. The fastest of ten alternating runs of the same three commands with all threads and the best CPU tier.
# Prints old, new and the ratio new / old.
set -eu
old=$1 new=$2
cd "$(dirname "$0")/.."
export AOE_MODEL="${AOE_MODEL:-$PWD/models/aoe-small-en}"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tail -n +2 examples/train.tsv | cut -f 2 | head -n 200 >"$dir/texts.txt"

command_line() { # command_line NAME: the arguments of one of the measured commands
    case $1 in
    inference) echo "bench --shape bert-tiny --mode infer --texts 8 --length 16 --runs 5 -q --json" ;;
    training) echo "bench --shape bert-tiny --mode train --texts 8 --length 16 --runs 5 -q --json" ;;
    embed) echo "embed -q --pooling last-avg --format npy -o $dir/vectors.npy $dir/texts.txt" ;;
    esac
}

instructions() { # instructions PROGRAM NAME: prints the number of instructions that the command executes
    # shellcheck disable=SC2046
    AOE_CPU=avx2 valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" $(command_line "$2") \
        -t 1 2>&1 >/dev/null |
        sed -n 's/.*Collected : \([0-9]*\).*/\1/p'
}

elapsed() { # elapsed PROGRAM NAME: runs the command and prints its time in units of 0.01 ms
    start=$(date +%s%N)
    # shellcheck disable=SC2046
    "$1" $(command_line "$2") >/dev/null
    echo $((($(date +%s%N) - start) / 10000))
}

row() { # row TITLE OLD NEW: prints a row of the table
    awk -v name="$1" -v old="$2" -v new="$3" 'BEGIN { printf "%-24s %16s %16s %8.4f\n", name, old, new, new / old }'
}

printf '%-24s %16s %16s %8s\n' "" old new ratio
for name in inference training embed; do
    row "$name, instructions" "$(instructions "$old" $name)" "$(instructions "$new" $name)"
done
for name in inference training embed; do
    best_old=999999999 best_new=999999999
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        t=$(elapsed "$old" $name) && [ "$t" -ge $best_old ] || best_old=$t
        t=$(elapsed "$new" $name) && [ "$t" -ge $best_new ] || best_new=$t
    done
    row "$name, 0.01 ms" $best_old $best_new
done
