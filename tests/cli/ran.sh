# SPDX-License-Identifier: MIT
# Tests recurrent attention networks (RAN) in the commands init, info, pretrain, train, embed and bench. Other tests
# cover the poolings of RAN models and rejected options.
. "$SRC/tests/cli/support/model.sh"
cut -f 2 "$SRC/examples/train.tsv" | tail -n +2 >texts.txt
"$AOE" init -q --shape ran-mini --hidden 32 --layers 2 --heads 2 --head-size 16 --window 4 --vocab-from texts.txt \
    --vocab-size 500 -o start
AOE_CPU=c "$AOE" info start --dtype f32 | sed 's/  */ /g' | grep -vE '^directory'
"$AOE" info start --json | grep -o '"head_size":[0-9]*,"window":[0-9]*,"min_window":[0-9]*'
"$AOE" pretrain -q -m start -d texts.txt -o base --dtype f32 --max-steps 3 --batch-size 64 --held-out 0.1 --json |
    sed 's/:[0-9][0-9.e+-]*/:N/g'
grep -o '"Ran[A-Za-z]*"' start/config.json base/config.json
for name in token_embedding.weight ran.0.cell_initializer_layernorm.bias ran.1.output_attn.glu.dense_g.bias \
    mlm_hidden.dense.weight mlm_matching.bias; do
    grep -aq "\"$name\"" base/model.safetensors || echo "expected tensor: $name"
done
grep -aq 'ran.1.cell_initializer' base/model.safetensors && echo "unexpected tensor: ran.1.cell_initializer"
for threads in 1 2; do
    "$AOE" train -q -m base -d "$SRC/examples/train.tsv" -o tuned$threads --batch-size 32 --max-steps 3 --dtype f32 \
        --threads $threads >run
done
cmp tuned1/model.safetensors tuned2/model.safetensors
"$AOE" info tuned1 | grep -E '^(architecture|pooling)' | sed 's/  */ /g'
ls tuned1
embed() { "$AOE" embed -q --format tsv --dtype f32 "$@" <texts.txt | cksum; }
test "$(embed -m tuned1)" = "$(embed -m tuned2 --threads 2 --batch-tokens 50)" ||
    echo "expected equal vectors for 2 threads and small batches"
for pooling in cell-last cell-max last-avg; do
    test "$(embed -m tuned1)" != "$(embed -m tuned1 --pooling $pooling)" ||
        echo "expected other vectors with $pooling than with cell-mean"
done
yes 'a very long text' | head -n 800 | tr '\n' ' ' >long.txt
"$AOE" embed -q -m tuned1 --format jsonl --max-length 3000 <long.txt |
    sed 's/.*\("tokens":[0-9]*,"truncated":[a-z]*\).*/\1/'
"$AOE" bench --shape ran-mini --texts 2 --length 300 --runs 5 --json |
    sed 's/.*\("shape":"[^"]*"\).*\("texts":2,"tokens":600\).*/\1 \2/'
"$AOE" bench --shape ran-mini --texts 2 --length 20 --runs 5 --mode train --json |
    sed 's/.*\("shape":"[^"]*"\).*\("texts":2,"tokens":40\).*/\1 \2/'
"$AOE" init -q --shape bert-tiny --layers 1 --tokenizer start -o bert
fails "$AOE" embed -q -m bert --pooling cell-mean </dev/null
"$AOE" init -q --shape bert-tiny --window 8 --tokenizer start -o other || echo "exit code $?"
fails "$AOE" init -q --shape ran-mini --head-size 15 --tokenizer start -o other
sed 's/"norm_variant": "textbook"/"norm_variant": "other"/' start/config.json >config.json
mv config.json start/config.json
fails "$AOE" info start
