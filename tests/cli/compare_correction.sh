# SPDX-License-Identifier: MIT
# Tests --correction of `aoe compare`. The scores in the records of the runs are replaced by chosen scores, so that
# every p and every corrected p is known.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 8
head -n 9 "$SRC/examples/test.tsv" >test.tsv
head -n 7 "$SRC/examples/test.tsv" >dev.tsv
compare() { # compare SEEDS OPTION...: compares three arms on two files and prints their p
    seeds=$1
    shift
    "$AOE" compare -t 1 -o out --seeds "$seeds" --arm untrained 'a:' 'b: --w-ibn 0' --test test.tsv \
        --replicates 50 "$@" -- -m start -d train.tsv --dev dev.tsv --max-steps 1 --dtype f32 2>notes
}
compare 3 >/dev/null
grep -o 'p: two.*' notes
# scores RUN TEST DEV: replaces the scores of a run, and its cosines on the test set by the gold scores. "untrained"
# keeps its cosines, so that the bootstrap interval of the difference on the test set is above 0.
scores() {
    sed -i "s/\"scores\":{[^}]*}/\"scores\":{\"test.tsv\":$2,\"dev.tsv\":$3}/" "out/runs/$1/record.json"
    if [ "$1" != untrained ]; then
        awk -v OFS='\t' 'NR > 1 { $1 = $2 } { print }' "out/runs/$1/scores-1.tsv" >new
        mv new "out/runs/$1/scores-1.tsv"
    fi
}
scores untrained 0.5 0.5
scores a_seed=42 0.7 0.6
scores a_seed=43 0.75 0.7
scores a_seed=44 0.8 0.8
scores b_seed=42 0.6 0.6
scores b_seed=43 0.7 0.4
scores b_seed=44 0.8 0.5

echo 'Holm:'
compare 3 --format csv | cut -d , -f 1,2,11-14
grep -o 'p: two.*' notes
compare 3 | awk '{ print $NF }' # verdicts
echo 'none:'
compare 3 --correction none --format csv | cut -d , -f 1,2,11-13
grep -o 'p: two.*' notes
compare 3 --correction none --format markdown | head -n 1
for correction in holm none; do
    compare 3 --json --correction $correction | grep -o '"p":.*'
done
echo 'two tests:'
compare 3 --format csv --against b | grep ',a,' | cut -d , -f 12-13
echo 'one seed:'
compare 1 --format csv | cut -d , -f 12-14
grep -o 'p: two.*' notes
code=0
compare 3 --correction bonferroni || code=$?
cat notes
test $code = 2
