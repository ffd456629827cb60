#!/bin/sh
# SPDX-License-Identifier: MIT
# The demo (`make demo`): the default model, fine-tuned and judged on examples/, with its loss curve. Under a minute.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-build}
mkdir -p "$build/demo"
build=$(cd "$build" && pwd)
aoe=$build/aoe
demo=$build/demo
where=${demo#"$src"/} # as the reader sees it from the top folder
data=$src/examples
start=$src/models/aoe-mini-en
rm -rf "$demo/model"

step() { # step TEXT: what comes next, in words
    printf '\n== %s\n' "$1"
}
score() { # score MODEL: Spearman on the test pairs
    "$aoe" eval sts -q -m "$1" "$data/test.tsv" | awk 'END { print $3 }'
}

cat <<END
aoe turns sentences into vectors, so that sentences of like meaning get like vectors. This demo takes the English model that
comes with it, fine-tunes it on $(($(wc -l <"$data/train.tsv") - 1)) pairs of sentences with scores from 0 (unrelated) to 5 (same meaning), and checks it on
$(($(wc -l <"$data/test.tsv") - 1)) other pairs. The figure is the Spearman correlation (100: all pairs are in the right order).
END

step "1. the default model, as it comes"
"$aoe" info -m "$start" | grep -E '^(directory|architecture|parameters|weights)'
before=$(score "$start")
echo "Spearman on examples/test.tsv: $before"

step "2. training (the loss to watch is the first number; it is the sum of the three objectives behind it)"
"$aoe" train -m "$start" -d "$data/train.tsv" -o "$demo/model" --epochs 8 --lr 3e-4 --max-length 64

step "3. the loss, a mean over the last epoch at each step ($where/loss.svg, loss.png, loss.gp to restyle)"
sed -n 's/.*"event":"step","step":\([0-9]*\),.*"loss":\([^,]*\),"cosine":\([^,]*\),"ibn":\([^,]*\),"angle":\([^,]*\),.*/\1 \2 \3 \4 \5/p' \
    "$demo/model/train-log.jsonl" |
    awk -v epoch=19 '{ # means over one epoch of steps: its last batch is short, and a small batch has a small loss
        for (c = 2; c <= 5; c++) { sum[c] += $c - kept[NR % epoch, c]; kept[NR % epoch, c] = $c }
        if (NR >= epoch) print $1, sum[2] / epoch, sum[3] / epoch, sum[4] / epoch, sum[5] / epoch
    }' >"$demo/loss.dat"
test -s "$demo/loss.dat" || { echo "demo: no steps in $demo/model/train-log.jsonl" >&2; exit 1; }
cat >"$demo/loss.gp" <<'END'
# gnuplot loss.gp: the loss of the demo, its three terms and their sum (columns of loss.dat: step total cosine ibn angle;
# each a mean over the last epoch of steps)
set title "aoe demo: training loss"
set xlabel "step"
set ylabel "loss, mean over an epoch"
set grid
set key center right
plot_all = "plot 'loss.dat' using 1:2 with lines lw 2 title 'total', '' using 1:3 with lines title 'cosine', '' using 1:4 with lines title 'in-batch negatives', '' using 1:5 with lines title 'angle'"
set terminal svg size 800,500 background rgb "white"
set output "loss.svg"
eval plot_all
set terminal png size 800,500
set output "loss.png"
eval plot_all
set terminal dumb 96 20
set output
unset title
unset key
set xlabel ""
set ylabel ""
plot 'loss.dat' using 1:2 with lines notitle
END
(cd "$demo" && gnuplot loss.gp)

step "4. before and after"
after=$(score "$demo/model")
printf 'Spearman on examples/test.tsv   before %s   after %s\n' "$before" "$after"
cosine() { # cosine MODEL TEXT TEXT
    "$aoe" similarity -q -m "$1" "$2" "$3" | awk '/^cosine/ { print $2 }'
}
one='The match was called off because of rain.'
for other in 'Rain forced the game to be cancelled.' 'She lit the candle with a match.'; do
    printf 'cosine, before %s, after %s: "%s" and "%s"\n' "$(cosine "$start" "$one" "$other")" \
        "$(cosine "$demo/model" "$one" "$other")" "$one" "$other"
done
if ! awk -v b="$before" -v a="$after" 'BEGIN { exit !(a > b) }'; then
    echo "demo: training did not raise the correlation; something is wrong with this build" >&2
    exit 1
fi

cat <<END

What next:
  examples/tour.sh                 all the commands, one after the other
  ${where%/demo}/aoe train --help           train on your own pairs; -m names another model to start from
  echo 'A plane is taking off.' | ${where%/demo}/aoe embed -m $where/model
END
