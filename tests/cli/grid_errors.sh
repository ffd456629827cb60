# SPDX-License-Identifier: MIT
# aoe grid refuses before anything runs what cannot be run, and other settings in a directory that holds runs; a run that
# fails is named with its error, and the others go on.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 16
head -n 21 "$SRC/examples/test.tsv" >dev.tsv
{ cat train.tsv && printf 'one\ttwo\tmany\n'; } >bad.tsv
sed '1s/sentence1\tsentence2/left\tright/' dev.tsv >other.tsv
awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = 3 } { print }' dev.tsv >equal.tsv
train="-m start -d train.tsv --dev dev.tsv --batch-size 8 --dtype f32"
refused() { # refused OPTION...: exit code 1 or 2 and nothing written
    code=0
    # shellcheck disable=SC2086
    "$AOE" grid -q -o new "$@" -- $train || code=$?
    echo "$code: $*"
    is_absent new
}
refused
refused --over lrr=1
refused --over xyzzy=1
refused --over lr
refused --over lr=
refused --over lr=1e-4,0.0001
refused --over lr=1e-4,fast
refused --over lr=1e-4,5000
refused --over lr=1e-4,1e-3 lr=1e-2
refused --over epochs=1,1.5
refused --over epochs=1.5
refused --over lr=log:0:1:3
refused --over lr=lin:0:1
refused --over pooling=lin:0:1:2
refused --over pooling=cls,middle
refused --over no-isp=on,maybe
refused --over output=a,b
refused --over seed=1,2
refused --over dev=a.tsv,b.tsv
refused --over lr=1e-4,1e-4
refused --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=0,1
refused --over data=train.tsv,nowhere.tsv
refused --over model=start,nowhere
refused --over lr=1e-4 --score nowhere.tsv
refused --over lr=1e-4 --score other.tsv
refused --over lr=1e-4 --score equal.tsv
refused --over lr=1e-4 --seeds 0
refused --over lr=1e-4 --seeds 1,1
refused --over lr=1e-4 --seeds 5..1
refused --over lr=1e-4 --jobs 3 --threads 2
refused --over lr=1e-4 --memory lots
refused --over lr=1e-4 --memory 2M 2>&1 | sed 's/about [0-9.]*/about X/'
refused --over lr=1e-4 --keep some
code=0
"$AOE" grid -q --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv -o out || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv --seed 7 || code=$?
"$AOE" grid -q -o new --over lr=1e-4 -- -m start -d train.tsv --dev dev.tsv --lrr 7 || code=$?
is_absent new

# combinations that train refuses can be left out
# shellcheck disable=SC2086
"$AOE" grid -o some --skip-refused --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=0,1 -- $train 2>&1 >/dev/null | sed -e '/seed 42: [0-9]/d' -e 's/at a time.*/at a time/'
wc -l <some/results.jsonl

# a directory with something else in it, and one with runs of other settings
mkdir full && echo text >full/file
# shellcheck disable=SC2086
fails "$AOE" grid -q -o full --over lr=1e-4 -- $train
# shellcheck disable=SC2086
fails "$AOE" grid -q -o some --over w-angle=0 w-ibn=0 w-cln=0 w-cosine=1 -- $train --epochs 2
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

# one of three runs fails; when its data are corrected it is run, and no other
code=0
"$AOE" grid -q --jobs 2 -o failing --over data=train.tsv,bad.tsv,dev.tsv -- -m start --dev dev.tsv --batch-size 8 --dtype f32 >table || code=$?
echo "exit code $code"
sed -n '1,4s/  *[^ ]*  *[^ ]*$//p' table | sort
wc -l <failing/results.jsonl
cp train.tsv bad.tsv # corrected
"$AOE" grid -t 1 -o failing --over data=train.tsv,bad.tsv,dev.tsv -- -m start --dev dev.tsv --batch-size 8 --dtype f32 2>&1 >table |
    sed 's/42: .*/42/'
