# SPDX-License-Identifier: MIT
# Tests the parts of `aoe grid` and `aoe compare`. Parts that run at the same time, one of which is killed and started
# again, must give the records, the table and the best model of one process. A part does not repeat finished runs.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 32
head -n 21 "$SRC/examples/test.tsv" >dev.tsv
base="-m start -d train.tsv --dev dev.tsv --batch-size 8 --dtype f32 --epochs 2"
over="--over w-angle=0,1 lr=1e-4,1e-3 --seeds 2"

scores() { # scores FILE: prints the records without their running times
    sed 's/,"seconds":[^}]*//' "$1"
}
# grid OPTION...: runs the grid in the directory parts
grid() {
    # shellcheck disable=SC2086
    "$AOE" grid -t 1 -o parts $over "$@" -- $base
}
# shellcheck disable=SC2086
"$AOE" grid -q -t 1 -o whole $over -- $base >table

# the first and the last run of part 1
begun="w-angle=0_lr=1e-4_seed=43"
lost="w-angle=1_lr=1e-3_seed=43"
grid -q --part 0/3 &
first=$!
grid -q --part 1/3 &
second=$!
# The process is killed when its first run has begun, or after at most 20 seconds.
wait=0
while [ ! -e "parts/runs/$begun/errors.txt" ] && [ $wait -lt 400 ]; do
    wait=$((wait + 1))
    sleep 0.05
done
kill -KILL $second
{ wait $second || :; } 2>/dev/null
wait $first
# The lock of the part is released when the children of the killed process have ended, too. The part is then not
# complete, even if the computer is so fast that all of its runs had ended.
flock parts/parts/1-of-3 true
rm -f "parts/runs/$lost/record.json"
fails grid -q --join 2>message
sed 's/[0-9]* of 8 runs/N of 8 runs/; s/example .*; run/example RUN; run/' message >&2
is_absent parts/results.jsonl
grid -q --part 1/3
SLURM_PROCID=2 grid -q --part auto/3
grid --part 0/3 2>&1 | grep part
find parts/runs -name record.json | wc -l
grid -q --join >joined
scores whole/results.jsonl >a
scores parts/results.jsonl >b
cmp a b
sed 's|whole/|parts/|g' table | cmp - joined
find parts/runs -name model | wc -l
(cd whole/runs && find . -name model) >a
(cd parts/runs && find . -name model) >b
cmp a b
cmp "whole/runs/$(cat a)/model.safetensors" "parts/runs/$(cat a)/model.safetensors"

echo "CPU tiers"
grep -o '"cpu":"[a-z0-9]*"' parts/runs/*/record.json | sort -u -t: -k2 | wc -l
# The join compares the runs only with each other, so its own tier may be another.
AOE_CPU=c grid -q --join | cmp joined -
# A part must not continue with runs of another tier, and runs of two tiers are not joined.
sed 's/"cpu":"[a-z0-9]*"/"cpu":"other"/' "parts/runs/$lost/record.json" >changed
cat changed >"parts/runs/$lost/record.json"
for option in --part=0/3 --join; do
    fails grid -q $option 2>message
    sed 's/tier [a-z0-9]*, but \(.*\) uses [a-z0-9]*, /tier CPU, but \1 uses CPU, /' message >&2
done

echo "compare"
arms="--arm all: cosine:--w-angle=0 --seeds 2"
# shellcheck disable=SC2086
"$AOE" compare -q -t 1 -o one $arms -- $base >table
for i in 0 1; do
    # shellcheck disable=SC2086
    "$AOE" compare -q -t 1 -o two $arms --part $i/2 -- $base
done
# shellcheck disable=SC2086
"$AOE" compare -q -t 1 -o two $arms --join -- $base | cmp table -
