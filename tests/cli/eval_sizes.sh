# SPDX-License-Identifier: MIT
# Tests --layers and --dims of `aoe eval`: the rows must be those of the models that `aoe convert` writes, and wrong sizes must be
# rejected.
. "$SRC/tests/cli/support/model.sh"
pairs=$SRC/examples/train.tsv
tiny_model start --pooling mean --layers 3
"$AOE" eval sts -q --json -m start --layers 3,2,1 --dims 32,8 "$pairs" >rows
sed 's/,"pairs.*//' rows
sed 's/"layers.*"pairs"/"pairs"/' rows >scores
for layers in 3 2 1; do
    for dims in 32 8; do
        "$AOE" convert -q start --layers $layers --dims $dims -o size-$layers-$dims
        "$AOE" eval sts -q --json -m size-$layers-$dims "$pairs" 2>/dev/null
    done
done | cmp - scores && echo 'the rows are those of converted models'
sort -u scores | wc -l
# Without --layers, the model has all layers; the table has one row for each size.
"$AOE" eval sts -q --format csv -m start --dims 16,4 "$pairs" | cut -d , -f 1-4
printf 'text1\ttext2\tlabel\na cat\ta dog\t0\na small cat\tone cat\t1\na big dog\ttwo dogs\t1\n' >binary.tsv
"$AOE" eval pairs -q --json -m start --layers 1,3 binary.tsv | sed 's/,"pairs.*//'
printf 'query\tpositive\tnegative\na cat\ta small cat\ta dog\n' >triplets.tsv
"$AOE" eval triplets -q --json -m start --dims 8 triplets.tsv | grep -o '"layers":3,"dims":8'
for list in 0 8, 8,,4 -1 x 8:1; do
    code=0
    "$AOE" eval sts -q -m start "--dims=$list" "$pairs" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $list"
done
fails "$AOE" eval sts -q -m start --layers 4 "$pairs"
fails "$AOE" eval sts -q -m start --dims 33 "$pairs"
"$AOE" init -q --shape qwen2.5-0.5b --hidden 32 --layers 2 --heads 2 --intermediate 64 --tokenizer start -o llama 2>/dev/null
fails "$AOE" eval sts -q -m llama --layers 2,1 "$pairs"
