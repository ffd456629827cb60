#!/bin/sh
# SPDX-License-Identifier: MIT
# ran_length.sh [OUTPUT [OPTION...]]: measures time and memory for one text of 256 to 16,384 tokens, for a RAN and for a
# BERT with a similar number of parameters, whose attention is quadratic: inference, and one pretraining step. Prints
# the tables of docs/ran.md and writes OUTPUT.svg (build/ran_length.svg), OUTPUT.dat and OUTPUT.gp. OPTION: options of
# `aoe bench`, for example --threads 1.
#   RAN, BERT   shapes (default: ran-mini, aoe-mini)
#   LENGTHS     numbers of tokens, ascending; each is measured in its own process
set -eu
cd "$(dirname "$0")/.."
build=${BUILD:-build}
ran=${RAN:-ran-mini} bert=${BERT:-aoe-mini}
lengths=${LENGTHS:-256 512 1024 2048 4096 8192 16384}
out=${1:-$build/ran_length}
[ $# = 0 ] || shift
mkdir -p "$(dirname "$out")"

# measure SHAPE MODE LENGTH OPTION...: prints the fastest and median time in ms and the peak memory of the process in
# MB. Short texts are measured more often.
measure() {
    shape=$1 mode=$2 length=$3 runs=5
    shift 3
    [ "$length" -gt 4096 ] || runs=21
    echo "$shape, $mode, $length tokens" >&2
    "$build/aoe" bench --json --shape "$shape" --positions "$length" --mode "$mode" --texts 1 --length "$length" \
        --runs $runs "$@" >"$out.json"
    sed 's/.*"ms":\([^,]*\),"ms_min":\([^,]*\),.*"peak_rss_mb":\([^,}]*\).*/\2 \1 \3/' "$out.json"
}

for length in $lengths; do
    echo "$length" "$(measure "$ran" infer "$length" "$@")" "$(measure "$bert" infer "$length" "$@")" \
        "$(measure "$ran" pretrain "$length" "$@")" "$(measure "$bert" pretrain "$length" "$@")"
done >"$out.dat"

# table TITLE FIRST: prints the three columns of each shape, which start at column FIRST of the data. The last row of
# the table is the ratio between the last and the first row.
table() {
    awk -v title="$1" -v at="$2" -v ran="$ran" -v bert="$bert" '
        function cell(k) { return sprintf(" %.1f / %.1f | %.1f | %.0f |", $k, $(k + 1), 1e3 * $(k + 1) / $1, $(k + 2)) }
        function more(k) { return sprintf(" %.0f / %.0f | %.1f | %.1f |", $k / first[k], $(k + 1) / first[k + 1],
            ($(k + 1) / $1) / (first[k + 1] / first[1]), $(k + 2) / first[k + 2]) }
        NR == 1 {
            columns = "ms, fastest / median | µs per token | peak MB |"
            printf "| %s, tokens | %s: %s %s: %s\n", title, ran, columns, bert, columns
            print "| --- | --- | --- | --- | --- | --- | --- |"
            for (i = 1; i <= NF; i++) first[i] = $i
        }
        { print "| " $1 " |" cell(at) cell(at + 3) }
        END { print "| **x " $1 / first[1] "** |" more(at) more(at + 3) }' "$out.dat"
}

name=$(basename "$out")
cat >"$out.gp" <<END
# gnuplot $name.gp. Columns of the data: tokens, then fastest ms, median ms and peak MB for inference with
# $ran and with $bert, and for a pretraining step with $ran and with $bert
set terminal svg size 900,450 background rgb "white"
set output "$name.svg"
set multiplot layout 1,2
set logscale xy
set xtics (256, 1024, 4096, 16384)
set xrange [${lengths%% *} * 0.8:${lengths##* } * 1.25]
set grid
set key below maxcols 2
set xlabel "tokens of a text"
set ylabel "time, ms"
plot '$name.dat' using 1:3 title "$ran, inference" with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0060a0", \\
     '' using 1:9 title "$ran, training step" with linespoints lw 2 dt 2 pt 7 ps 0.5 lc rgb "#0060a0", \\
     '' using 1:6 title "$bert, inference" with linespoints lw 2 pt 5 ps 0.5 lc rgb "#c04000", \\
     '' using 1:12 title "$bert, training step" with linespoints lw 2 dt 2 pt 5 ps 0.5 lc rgb "#c04000"
set ylabel "peak memory, MB"
plot '$name.dat' using 1:4 title "$ran, inference" with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0060a0", \\
     '' using 1:10 title "$ran, training step" with linespoints lw 2 dt 2 pt 7 ps 0.5 lc rgb "#0060a0", \\
     '' using 1:7 title "$bert, inference" with linespoints lw 2 pt 5 ps 0.5 lc rgb "#c04000", \\
     '' using 1:13 title "$bert, training step" with linespoints lw 2 dt 2 pt 5 ps 0.5 lc rgb "#c04000"
END
(cd "$(dirname "$out")" && gnuplot "$name.gp")

sed 's/.*"dtype":"\([^"]*\)","tier":"\([^"]*\)","threads":\([0-9]*\).*/\1, kernels of tier \2, \3 threads;/
    s/$/ peak memory is the peak of the process, including the weights./' "$out.json"
rm "$out.json"
echo
table "inference" 2
echo
table "pretraining step" 8
