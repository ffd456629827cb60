#!/bin/sh
# SPDX-License-Identifier: MIT
# plot.sh MODEL OUTPUT: the held-out perplexity of a pretraining run, from MODEL/train-log.jsonl: OUTPUT.svg, with its data and
# script (OUTPUT.dat, OUTPUT.gp) beside it.
set -eu
log=$1/train-log.jsonl out=$2
sed -n 's/.*"event":"eval","step":\([0-9]*\),.*"score":\(-[0-9.e+-]*\),.*/\1 \2/p' "$log" | awk '{ print $1, exp(-$2) }' >"$out.dat"
test -s "$out.dat" || { echo "plot: no evaluations in $log" >&2; exit 1; }
cat >"$out.gp" <<END
# gnuplot $(basename "$out").gp: columns of the data are step and held-out perplexity
set xlabel "step (256 sentences each)"
set ylabel "held-out perplexity of masked words"
set logscale y
set grid
unset key
set terminal svg size 800,450 background rgb "white"
set output "$(basename "$out").svg"
plot '$(basename "$out").dat' with linespoints lw 2 pt 7 ps 0.5 lc rgb "#0060a0"
END
cd "$(dirname "$out")"
gnuplot "$(basename "$out").gp"
