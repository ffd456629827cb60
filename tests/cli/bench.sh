# SPDX-License-Identifier: MIT
# Tests the table and the --json output of `aoe bench`, its modes and data types, and text lengths from a file.
. "$SRC/tests/cli/support/model.sh"
"$AOE" bench --shape bert-tiny --texts 4 --length 8 --runs 5 | sed -n 1p | sed 's/  */ /g'
keys() { sed 's/"\([a-z_]*\)":[^,}]*/\1/g'; }
"$AOE" bench --shape bert-tiny --texts 4 --length 8 --runs 5 --json | keys
"$AOE" bench --shape bert-tiny --texts 4 --length 8 --runs 5 --mode train --dtype f32 --json |
    sed 's/.*\("mode":"train"\).*\("texts":4,"tokens":32\).*/\1 \2/'
"$AOE" bench --shape bert-tiny --texts 3 --length 8 --runs 5 --mode pretrain --dtype f32 --json |
    sed 's/.*\("mode":"pretrain"\).*\("texts":3,"tokens":24\).*/\1 \2/'
for type in f32 bf16; do
    "$AOE" bench --shape bert-tiny --texts 4 --length 8 --runs 5 --dtype $type --json |
        sed 's/.*\("dtype":"[^"]*"\).*/\1/'
done
printf '3\n9\n5\n7\n' >lengths
"$AOE" bench --shape bert-tiny --lengths lengths --runs 5 --json | sed 's/.*\("texts":[0-9]*,"tokens":[0-9]*\).*/\1/'
printf '3\nfour\n' >lengths
fails "$AOE" bench --shape bert-tiny --lengths lengths
printf '3\n4\n' >lengths
fails "$AOE" bench --shape bert-tiny --lengths lengths --texts 3
fails "$AOE" bench --shape bert-tiny --texts 2 --length 100000
fails "$AOE" bench --shape bert-tiny --texts 2 --length 9 --positions 8
"$AOE" bench --shape bert-tiny --texts 1 --length 600 --positions 600 --runs 5 --json |
    sed 's/.*\("texts":[0-9]*,"tokens":[0-9]*\).*/\1/'
