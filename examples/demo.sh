#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh (`make demo`): evaluates the default model on examples/test.tsv, fine-tunes it on examples/train.tsv,
# evaluates the result, plots the loss, and searches the documentation of aoe. Takes about a minute. The number of
# epochs and the learning rate were chosen on parts of train.tsv.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-build}
mkdir -p "$build/demo"
build=$(cd "$build" && pwd)
aoe=$build/aoe
demo=$build/demo
where=${demo#"$src"/} # path relative to the top folder, for messages
data=$src/examples
start=$src/models/aoe-small-en
rm -rf "$demo/model" "$demo/index"

step() { # step TEXT: prints a heading
    printf '\n== %s\n' "$1"
}
score() { # score MODEL: prints the Spearman correlation on the test pairs
    "$aoe" eval sts -q -m "$1" "$data/test.tsv" | awk 'END { print $3 }'
}

train_pairs=$(($(wc -l <"$data/train.tsv") - 1))
test_pairs=$(($(wc -l <"$data/test.tsv") - 1))
cat <<END
aoe computes sentence embeddings: vectors that are similar for sentences with similar meanings. This demo fine-tunes
the default English model on $train_pairs pairs of sentences with scores from 0 (unrelated) to 5 (same meaning). Before
and after that, it evaluates the model on $test_pairs other pairs. The metric is the Spearman correlation (100: all
pairs are in the right order).
END

step "1. the default model, aoe-small-en, before fine-tuning"
"$aoe" info -m "$start" | grep -E '^(directory|architecture|parameters|stored)'
before=$(score "$start")
echo "Spearman on examples/test.tsv: $before"

step "2. training (the first number is the loss, the sum of the three losses that follow it)"
"$aoe" train -m "$start" -d "$data/train.tsv" -o "$demo/model" --epochs 8 --lr 1e-4 --max-length 64

step "3. the loss, averaged over the last epoch (the plot file also shows the three losses separately)"
(cd "$src" && "$aoe" plot curve "$where/model" --characters --title "aoe demo: training loss" -o "$where/loss")

step "4. scores before and after fine-tuning"
after=$(score "$demo/model")
printf 'Spearman on examples/test.tsv, %s pairs that were not used in training:\n' "$(($(wc -l <"$data/test.tsv") - 1))"
printf '  before fine-tuning on examples/train.tsv   %s\n' "$before"
printf '  after fine-tuning on examples/train.tsv    %s\n' "$after"
cosine() { # cosine MODEL TEXT TEXT: prints the cosine of two texts
    "$aoe" similarity -q -m "$1" "$2" "$3" | awk '/^cosine/ { print $2 }'
}
echo 'Only the order of cosines matters: a paraphrase should have a higher cosine than a negation.'
pair() { # pair TEXT TEXT: prints the cosine of two texts before and after training
    printf 'cosine, before %s, after %s: "%s" and "%s"\n' "$(cosine "$start" "$1" "$2")" \
        "$(cosine "$demo/model" "$1" "$2")" "$1" "$2"
}
pair 'It is going to rain tomorrow.' 'Rain is expected tomorrow.'
pair 'It is going to rain tomorrow.' 'It is not going to rain tomorrow.'
pair 'He is at home.' 'He is in his house.'
pair 'He is at home.' 'He is not at home.'
if ! awk -v b="$before" -v a="$after" 'BEGIN { exit !(a > b) }'; then
    echo "demo: training did not improve the correlation; run make check to test this build" >&2
    exit 1
fi

step "5. search: an index of the documentation of aoe, and a question"
(cd "$src" && "$aoe" index -o "$where/index" docs)
question='how do I continue an interrupted training run'
echo "$question?"
"$aoe" search -i "$demo/index" -k 3 "$question"

cat <<END

Next steps:
  examples/tour.sh                 shows all commands
  ${where%/demo}/aoe train --help           options for training on your own pairs; -m selects another start model
  ${where%/demo}/aoe search -i $where/index 'a question of your own'
  echo 'A plane is taking off.' | ${where%/demo}/aoe embed -m $where/model
  ${where%/demo}/aoe convert -m $where/model --dtype int8 --embedding-dtype int5 -o small
      stores the new model in the data types of the default model
END
