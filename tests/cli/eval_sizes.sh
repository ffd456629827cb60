# SPDX-License-Identifier: MIT
# Tests --layers and --dims of `aoe eval`: the rows must be those of the models that `aoe convert` writes, and wrong
# sizes must be rejected before the first model is evaluated.
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
# The mean over several tables is that of the tables of one size.
cp binary.tsv second.tsv
"$AOE" eval pairs -q -m start --dims 32,4 --format csv binary.tsv second.tsv | cut -d , -f 1-4
# Every kind of evaluation prints the scores of the converted models, in every format.
mkdir -p data/STS13-en-test beir/qrels
for name in FNWN OnWN headlines; do
    head -n 40 "$pairs" | tail -n +2 | cut -f 2,3 >data/STS13-en-test/STS.input.$name.txt
    head -n 40 "$pairs" | tail -n +2 | cut -f 1 >data/STS13-en-test/STS.gs.$name.txt
done
cut -f 2 "$pairs" | tail -n +2 | head -n 60 |
    awk '{ gsub(/"/, ""); printf "{\"_id\":\"%d\",\"title\":\"\",\"text\":\"%s\"}\n", NR, $0 }' >beir/corpus.jsonl
cut -f 3 "$pairs" | tail -n +2 | head -n 60 |
    awk '{ gsub(/"/, ""); printf "{\"_id\":\"q%d\",\"text\":\"%s\"}\n", NR, $0 }' >beir/queries.jsonl
awk 'BEGIN { print "query-id\tcorpus-id\tscore"; for (i = 1; i <= 60; i++) printf "q%d\t%d\t1\n", i, i }' \
    >beir/qrels/test.tsv
cp -r start prompts
sed 's/"prompts": {}/"prompts": {"query": "a cat: {text}", "document": "a dog: {text}"}/' start/aoe.json \
    >prompts/aoe.json
agree() { # agree MODEL KIND ARGUMENT...: compares the rows of a list of sizes with those of converted models
    model=$1
    kind=$2
    shift 2
    "$AOE" eval "$kind" -q --json -m "$model" --layers 3,1 --dims 32,6 "$@" 2>/dev/null >rows
    sed 's/"layers":[0-9]*,"dims":[0-9]*,//' rows >scores
    for layers in 3 1; do
        for dims in 32 6; do
            "$AOE" convert -q "$model" --layers $layers --dims $dims -o "$model-$layers-$dims"
            "$AOE" eval "$kind" -q --json -m "$model-$layers-$dims" "$@" 2>/dev/null
            rm -r "$model-$layers-$dims"
        done
    done | cmp - scores && echo "$kind: $(sort -u scores | wc -l) different rows of $(wc -l <rows)"
}
agree start suite --subsets data
agree start retrieval beir
agree prompts retrieval beir
agree start pairs binary.tsv second.tsv
agree start triplets triplets.tsv
for format in table csv markdown; do
    "$AOE" eval suite -q --format $format -m start --dims 32,4 --layers 3,2 --subsets data 2>/dev/null |
        sed 's/[0-9]*\.[0-9][0-9]/SCORE/g; s/  */ /g; s/---*/-/g'
    "$AOE" eval retrieval -q --format $format -m start --dims 32,4 beir |
        sed 's/[0-9]*\.[0-9][0-9]/SCORE/g; s/  */ /g; s/---*/-/g'
done
# Warnings about the data are printed once.
"$AOE" eval suite -q -m start --dims 4,3,2 data --setting all | awk '{ print $1, $2, $3 }'
"$AOE" eval retrieval -m prompts --dims 8,4 --threads 1 beir 2>&1 >/dev/null | grep prompt
for list in 0 8, 8,,4 -1 x 8:1 8,4,8; do
    code=0
    "$AOE" eval sts -q -m start "--dims=$list" "$pairs" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $list"
done
fails "$AOE" eval sts -q -m start --layers 4 "$pairs"
fails "$AOE" eval sts -q -m start --dims 33 "$pairs"
"$AOE" init -q --shape qwen2.5-0.5b --hidden 32 --layers 2 --heads 2 --intermediate 64 --tokenizer start \
    -o llama 2>/dev/null
fails "$AOE" eval sts -q -m llama --layers 2,1 "$pairs"
"$AOE" eval sts -q -m llama --layers 2 --json "$pairs" 2>/dev/null | sed 's/,"pairs.*//'
word_model words
fails "$AOE" eval retrieval -q -m words --layers 1 beir
# All sizes are checked before the inputs are read.
for kind in sts suite pairs retrieval triplets; do
    fails "$AOE" eval $kind -q -m start --layers 3,1,4 missing
    fails "$AOE" eval $kind -q -m start --dims 32,8,33 missing
done
