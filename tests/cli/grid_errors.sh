# SPDX-License-Identifier: MIT
# covers: cli/experiment/experiment
# Tests errors of `aoe grid`. Invalid configurations must be rejected before the first run. An output directory with
# runs of other settings must be rejected. If a run fails, its error must be reported and the other runs must continue.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 16
head -n 21 "$SRC/examples/test.tsv" >dev.tsv
{ cat train.tsv && printf 'one\ttwo\tmany\n'; } >bad.tsv
sed '1s/sentence1\tsentence2/left\tright/' dev.tsv >other.tsv
awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = 3 } { print }' dev.tsv >equal.tsv
train="-m start -d train.tsv --dev dev.tsv --batch-size 8 --dtype f32"
rejected() { # rejected OPTION...: prints the exit code (1 or 2) and expects no output directory
    code=0
    # shellcheck disable=SC2086
    "$AOE" grid -q -o new "$@" -- $train || code=$?
    echo "$code: $*"
    is_absent new
}
rejected
rejected --over lrr=1
rejected --over xyzzy=1
rejected --over lr
rejected --over lr=
rejected --over lr=1e-4,0.0001
rejected --over lr=1e-4,fast
rejected --over lr=1e-4,5000
rejected --over lr=1e-4,1e-3 lr=1e-2
rejected --over epochs=1,1.5
rejected --over epochs=1.5
rejected --over lr=log:0:1:3
rejected --over lr=lin:0:1
rejected --over pooling=lin:0:1:2
rejected --over pooling=cls,middle
rejected --over no-isp=on,maybe
rejected --over output=a,b
rejected --over seed=1,2
rejected --over dev=a.tsv,b.tsv
rejected --over lr=1e-4,1e-4
rejected --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=0,1
rejected --over data=train.tsv,nowhere.tsv
rejected --over data=train.tsv,bad.tsv
rejected --over method=angle,gist
rejected --over method=angle,sbert-classification
rejected --over w-cosine=1,0 w-ibn=0 w-angle=0
rejected --over model=start,nowhere
rejected --over lr=1e-4 --score nowhere.tsv
rejected --over lr=1e-4 --score other.tsv
rejected --over lr=1e-4 --score equal.tsv
rejected --over lr=1e-4 --seeds 0
rejected --over lr=1e-4 --seeds 1,1
rejected --over lr=1e-4 --seeds 5..1
rejected --over lr=1e-4 --jobs 3 --threads 2
rejected --over lr=1e-4 --memory lots
rejected --over lr=1e-4 --memory 2M 2>&1 | sed 's/about [0-9.]*/about X/'
rejected --over lr=1e-4 batch-size=100000 --memory 2147483647 2>&1 | sed 's/about [0-9.]*/about X/'
rejected --over lr=1e-4 --keep some
code=0
"$AOE" grid -q --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv -o out || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv --seed 7 || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv --lrr 7 || code=$?
is_absent new

# Combinations that `aoe train` rejects can be skipped.
# shellcheck disable=SC2086
# The earlier name of the option --skip-rejected is also accepted.
"$AOE" grid -o some --skip-refused --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=0,1 -- $train 2>&1 >/dev/null |
    sed -e '/seed 42: [0-9]/d' -e 's/at a time.*/at a time/'
wc -l <some/results.jsonl

# shellcheck disable=SC2086
"$AOE" grid -o methods --skip-rejected --over method=cosent,gist -- $train 2>&1 >/dev/null |
    sed -e '/seed 42: [0-9]/d' -e 's/at a time.*/at a time/'

# The output directory contains another file, then runs of other settings.
mkdir full && echo text >full/file
# shellcheck disable=SC2086
fails "$AOE" grid -q -o full --over lr=1e-4 -- $train
# shellcheck disable=SC2086
fails "$AOE" grid -q -o some --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=1 -- $train --epochs 2
# shellcheck disable=SC2086
fails "$AOE" grid -q -o some --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=1 -- $train --optimizer sgd
# shellcheck disable=SC2086
fails "$AOE" grid -q -o some --over w-angle=1 -- $train
# shellcheck disable=SC2086
fails "$AOE" grid -q -o some --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=1 --score dev.tsv -- $train
cp some/results.jsonl before
cp dev.tsv dev.before
tail -n 1 dev.before >>dev.tsv
# shellcheck disable=SC2086
fails "$AOE" grid -q -o some --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=1 -- $train
cmp before some/results.jsonl
mv dev.before dev.tsv

# One of three runs fails, because a file has the path of its model directory. After the file was removed, only the
# failed run must be repeated.
cp train.tsv copy.tsv
grid_of() { # grid_of VALUES OPTION...: trains with these values of --over
    values=$1
    shift
    "$AOE" grid -o failing --over "data=$values" "$@" -- -m start --dev dev.tsv --batch-size 8 --dtype f32
}
grid_of train.tsv -q >/dev/null
mkdir failing/runs/data=copy.tsv_seed=42
: >failing/runs/data=copy.tsv_seed=42/model
code=0
grid_of train.tsv,copy.tsv,dev.tsv -q --jobs 2 >table || code=$?
echo "exit code $code"
sed -n '1,4s/  *[^ ]*  *[^ ]*$//p' table | sort
wc -l <failing/results.jsonl
rm failing/runs/data=copy.tsv_seed=42/model
grid_of train.tsv,copy.tsv,dev.tsv -t 1 2>&1 >table | sed 's/42: .*/42/'
