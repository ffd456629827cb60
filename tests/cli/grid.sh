# SPDX-License-Identifier: MIT
# Tests `aoe grid` with 12 configurations. Two parallel jobs must give the scores of one job. A killed grid must be
# resumed without repeating finished runs. Values and seeds can be added later. The printed command must reproduce the
# best model.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
head -n 41 "$SRC/examples/test.tsv" >dev.tsv
base="-m start -d train.tsv --dev dev.tsv --batch-size 8 --dtype f32 --save-every 20"
over="--over w-angle=0,0.5,1 lr=log:1e-4:1e-2:4"

scores() { # scores FILE: prints the records without their running times
    sed 's/,"seconds":[^}]*//' "$1"
}
# shellcheck disable=SC2086
"$AOE" grid -q -t 2 -o one $over -- $base --epochs 6 >table
wc -l <one/results.jsonl
head -n 1 table
find one/runs -name model | wc -l
find one -name checkpoints
best=$(sed -n 's/^the model of the best run, .*, is in //p' table)
grep '^  aoe train' table | sed -e "s|aoe|$AOE|" -e 's|-o model|-q -o again|' >command.sh
sh command.sh >/dev/null
cmp again/model.safetensors "$best/model.safetensors"

# shellcheck disable=SC2086
"$AOE" grid -q --jobs 2 -t 2 -o killed $over -- $base --epochs 6 >/dev/null 2>&1 &
pid=$!
while [ "$(find killed/runs -name record.json 2>/dev/null | wc -l)" -lt 4 ]; do sleep 0.01; done
kill -KILL $pid
{ wait $pid || echo "exit code $?"; } 2>/dev/null
find killed/runs -name record.json -exec ls -i {} + | sort >before # a record that is written again has another inode
test "$(wc -l <before)" -lt 12
# shellcheck disable=SC2086
"$AOE" grid -q --jobs 2 -t 2 -o killed $over -- $base --epochs 6 >table2
find killed/runs -name record.json -exec ls -i {} + | sort >after
test "$(comm -12 before after | wc -l)" = "$(wc -l <before)"
scores one/results.jsonl >a
scores killed/results.jsonl >b
cmp a b
sed 's|one/|killed/|' table | cmp - table2

# An evaluation file can be a table or a folder. The scores must be equal to the scores of aoe eval. A response file
# contains all options.
cat >grid.args <<'END'
--over max-length=8,16   # tokens
--score dev.tsv
--keep all
--
-m start
-d train.tsv
--dtype f32
END
"$AOE" grid -q -o scored @grid.args >/dev/null
for n in 8 16; do
    "$AOE" eval sts --json --dtype f32 -m "scored/runs/max-length=${n}_seed=42/model" dev.tsv |
        sed 's/.*"spearman":\([^,]*\),.*/\1/'
done >a
sed 's/.*"score":\([^,]*\),.*/\1/' scored/results.jsonl >b
cmp a b
mkdir STS16-en-test
sed 1d dev.tsv | cut -f2,3 >STS16-en-test/STS.input.some.txt
sed 1d dev.tsv | cut -f1 >STS16-en-test/STS.gs.some.txt
"$AOE" grid -q -o folder --over max-length=8,16 --score STS16-en-test -- -m start -d train.tsv --dtype f32 >/dev/null
sed 's/.*"score":\([^,]*\),.*/\1/' folder/results.jsonl | cmp - b

# If values and seeds are added, only the new runs are executed.
# shellcheck disable=SC2086
"$AOE" grid -t 1 -o killed --over w-angle=0,2 lr=0.0001 --seeds 42,43 -- $base --epochs 6 2>&1 >/dev/null |
    grep -v left |
    sed 's/: .*//' | sort
find killed/runs -name record.json | wc -l
"$AOE" grid -q -o killed --json --over w-angle=0,2 lr=0.0001 --seeds 42,43 -- $base --epochs 6 |
    sed 's/[0-9.]*[0-9]e*[-0-9]*/N/g'
