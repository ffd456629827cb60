#!/bin/sh
# SPDX-License-Identifier: MIT
# tour.sh: runs the main commands on small data. Each command takes a few seconds. Run the script after `make`, and
# compare its output with the commands in this file.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
build=$(cd "${BUILD:-$src/build}" && pwd)
PATH=$build:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/aoe-tour-XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
cp "$src/examples/train.tsv" "$src/examples/test.tsv" .

run() { # prints a command, then runs it
    printf '\n$ %s\n' "$*"
    "$@"
}

run aoe --version
run aoe init --shape bert-tiny --vocab-from train.tsv --vocab-size 2000 -o start
run aoe info start
echo 'The cat sat on the mat.' >cat.txt
run aoe tokenize -m start --tokens cat.txt

# The last fifth of the training pairs is the dev set, which selects the best model. The test pairs are used only for
# evaluation.
head -n 480 train.tsv >fit.tsv
{ head -n 1 train.tsv; tail -n +481 train.tsv; } >dev.tsv
cat >recipe.args <<'END'
# a response file: one option per line
--data fit.tsv
--dev dev.tsv
--epochs 4
--lr 1e-3
--pooling mean
END
run aoe train @recipe.args -m start -o model
run aoe eval sts -m start test.tsv
run aoe eval sts -m model test.tsv

# AOE_MODEL makes the trained model the default model of the commands below.
export AOE_MODEL=model
run aoe similarity 'The match was called off because of rain.' 'Rain forced the game to be cancelled.'
run aoe embed --dims 4 cat.txt
tail -n +2 test.tsv | cut -f 2 >sentences.txt
run aoe embed --format npy -o vectors.npy sentences.txt
ls -l vectors.npy
run aoe index -o pairs.index --text-column sentence1 test.tsv
run aoe search -i pairs.index -k 3 --where 'score >= 4' 'bad weather'
if [ -x "$build/examples/search" ]; then
    AOE_MODEL=model run "$build/examples/search" sentences.index sentences.txt 'Rain is expected tomorrow.'
fi
run aoe bench --shape bert-tiny --texts 16 --length 32
if command -v gnuplot >/dev/null; then
    run aoe plot density -m start -m model test.tsv -o density
fi
