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

step "3. the loss, a mean over the last epoch at each step, of all objectives together; each by itself is in the picture"
(cd "$src" && "$aoe" plot curve "$where/model" --characters --title "aoe demo: training loss" -o "$where/loss")

step "4. before and after"
after=$(score "$demo/model")
printf 'Spearman on examples/test.tsv   before %s   after %s\n' "$before" "$after"
cosine() { # cosine MODEL TEXT TEXT
    "$aoe" similarity -q -m "$1" "$2" "$3" | awk '/^cosine/ { print $2 }'
}
echo 'Of cosines only the order counts: what means the same should have a higher one than what says the opposite.'
pair() { # pair TEXT TEXT
    printf 'cosine, before %s, after %s: "%s" and "%s"\n' "$(cosine "$start" "$1" "$2")" "$(cosine "$demo/model" "$1" "$2")" "$1" "$2"
}
pair 'It is going to rain tomorrow.' 'Rain is expected tomorrow.'
pair 'It is going to rain tomorrow.' 'It is not going to rain tomorrow.'
pair 'He is at home.' 'He is in his house.'
pair 'He is at home.' 'He is not at home.'
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
