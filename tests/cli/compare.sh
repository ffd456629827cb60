# SPDX-License-Identifier: MIT
# Tests `aoe compare` with several arms and seeds. The printed statistics are recomputed from the records of the runs.
# Arms can be added to an existing directory, and changed arms must be rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
head -n 61 "$SRC/examples/test.tsv" >test.tsv
head -n 41 "$SRC/examples/test.tsv" >dev.tsv
base="-m start -d train.tsv --dev dev.tsv --batch-size 8 --dtype f32 --lr 1e-3"
compare() { # compare OPTION...: runs aoe compare with three seeds and the training options $base
    # shellcheck disable=SC2086
    "$AOE" compare -q -t 2 -o out --seeds 3 --test test.tsv --replicates 200 "$@" -- $base
}
compare --arm untrained 'all:' 'cosine: --w-ibn 0 --w-angle 0' --jobs 2 >table
awk '{ print $1, $2, $3, NF }' table | sed 's/ [0-9]*$//'
cut -d, -f1-2 out/results.jsonl
sed 's/.*"scores"/"scores"/; s/[0-9]\.[0-9e-]*/N/g; s/,"seconds.*//' out/results.jsonl | sort -u
find out -name model

# Repeating the command must train nothing and print the same table.
sha=$(cat out/runs/*/record.json | cksum)
compare --arm untrained 'all:' 'cosine: --w-ibn 0 --w-angle 0' | cmp - table
test "$sha" = "$(cat out/runs/*/record.json | cksum)"

# A run without a record must be trained again, even if its directory contains a partial or complete model. The scores
# must not change.
rm out/runs/all_seed=43/record.json out/runs/cosine_seed=44/record.json
mkdir out/runs/all_seed=43/model out/runs/cosine_seed=44/model
echo '{' >out/runs/all_seed=43/model/config.json
cp -r start/. out/runs/cosine_seed=44/model
compare --arm untrained 'all:' 'cosine: --w-ibn 0 --w-angle 0' | cmp - table
find out -name model

# Recomputes the mean, the standard deviation, the mean difference and t from the records.
compare --json --arm untrained 'all:' 'cosine: --w-ibn 0 --w-angle 0' >json
wc -l <json
sed -n 's/.*"arm":"\([^"]*\)".*"dev.tsv":\([0-9.e-]*\).*/\1 \2/p' out/results.jsonl >scores
difference='"difference":([^,]*),"difference_low":([^,]*),"difference_high":([^,]*),"t":([^,]*)'
sed -nE 's/.*"dev.tsv","arm":"cosine".*"mean":([^,]*),"sd":([^,]*),.*'"$difference"',.*/\1 \2 \3 \4 \5 \6/p' json |
    awk 'function off(a, b) { return a - b > 1e-12 || b - a > 1e-12 }
         NR == FNR { n[$1]++; sum[$1] += $2; score[$1, n[$1]] = $2; next }
         { mean = sum["cosine"] / 3; start = sum["untrained"]
           for (i = 1; i <= 3; i++) squares += (score["cosine", i] - mean) ^ 2
           sd = sqrt(squares / 2)
           t = (mean - start) / (sd / sqrt(3))
           print n["cosine"], n["untrained"], off($1, mean), off($2, sd), off($3, mean - start), off($6 / t, 1),
               $4 <= $3 && $3 <= $5 }' scores -

# other output formats; an added arm; another reference arm
compare --arm untrained 'all:' --format markdown | sed 's/-*[0-9][0-9.]*[0-9]/N/g' | head -n 3
compare --arm untrained 'all:' --format csv | cut -d, -f1-3
compare --arm untrained 'all:' 'fast: --lr 1e-2' --against all | awk '{ print $1, $2, $3 }'
ls out/runs | wc -l

compare --arm 'all:' "prompt: --prompt 'query: {text}' --epochs=1" >/dev/null
grep -o '"prompt":"[^"]*"' out/runs/prompt_seed=42/record.json
fails compare --arm untrained 'all: --lr 1e-2'
fails compare --arm untrained 'all:' --test train.tsv
usage() { # usage OPTION...: prints the exit code and expects no output directory
    code=0
    # shellcheck disable=SC2086
    "$AOE" compare -q -o new "$@" -- $base || code=$?
    echo "$code: $*"
    is_absent new
}
usage --arm untrained
usage --arm 'a: --lr 1' 'b: --lrr 1'
usage --arm 'a: --lr 1' 'b: --lr x'
usage --arm 'a: --lr 1' 'b: --dev x.tsv'
usage --arm 'a: --lr 1' 'b: --seed 3'
usage --arm 'a:' 'b: --prompt "x'
usage --arm 'a:' 'a:'
usage --arm 'a:' frobnicate
usage --arm 'a:' ': --lr 1'
usage --arm 'a:' 'b:' --against c
usage --arm 'a:' 'b:' --json --format csv
usage --arm 'a:' 'b:' --format tex
usage --arm 'a:' 'b:' --test nowhere.tsv
usage --arm 'a:' 'b:' -d train.tsv
usage --arm 'a:' 'b:' --batch-size 8
usage --arm 'a:' 'b:' --method cosent
usage --arm 'a:' 'b: --method gist'
usage --arm 'a:' 'b: --lr 900'
usage --arm 'a:' 'b: --method sbert-classification'
sed 1d train.tsv | cut -f 2 >plain.txt
usage --arm 'a:' 'b: -d plain.txt'
usage --arm untrained 'b: --method simcse-unsup --dropout 0'
code=0
"$AOE" compare -q -o new --arm 'a:' 'b:' -- -m start -d train.tsv || code=$?
# The arm "untrained" does not read the training file, which the method of the shared options does not support.
"$AOE" compare -q -t 2 -o plain --seeds 1 --arm untrained simcse-unsup --test test.tsv -- -m start -d plain.txt \
    --max-steps 1 |
    awk '{ print $1, $2, $3 }'

# An evaluation file is read with its own settings (columns=...), before any training.
sed '1s/score\tsentence1\tsentence2/gold\tleft\tright/' dev.tsv >other.tsv
columns=columns=text1=left,text2=right,label=gold
own() { # own OPTION...: prints the first three columns of a comparison with one seed
    "$AOE" compare -q -t 2 -o own --seeds 1 --arm untrained 'a:' "$@" | awk '{ print $1, $2, $3 }'
}
fails "$AOE" compare -q -o own --arm 'a:' 'b:' --test other.tsv -- -m start -d train.tsv
fails "$AOE" compare -q -o own --arm 'a:' 'b:' --test dev.tsv -- -m start -d other.tsv --$columns
is_absent own
own --test test.tsv -- -m start -d other.tsv $columns --dev other.tsv $columns --max-steps 1
compare --arm untrained 'all:' | awk '$1 == "dev.tsv" { print $4 }' >expected
"$AOE" compare -q -t 2 -o own2 --seeds 3 --replicates 200 --arm untrained 'all:' -- -m start -d train.tsv \
    --dev other.tsv $columns --batch-size 8 --dtype f32 --lr 1e-3 | awk 'NR > 1 { print $4 }' | cmp - expected

# A model directory is identified by the contents of all its files, including the files in its subdirectories.
cp -r start model
"$AOE" compare -q -t 2 -o folder --seeds 1 --arm untrained 'a:' --test test.tsv -- -m model -d train.tsv \
    --max-steps 1 >/dev/null
mkdir -p model/1_Pooling
echo '{}' >model/1_Pooling/notes.json
fails "$AOE" compare -q -t 2 -o folder --seeds 1 --arm untrained 'a:' --test test.tsv -- -m model -d train.tsv \
    --max-steps 1
