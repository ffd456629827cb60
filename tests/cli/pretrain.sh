# SPDX-License-Identifier: MIT
# covers: cli/train/training_args
# Tests `aoe pretrain`. A model with random weights is pretrained and then fine-tuned. Other tests cover --json,
# --resume, wrong usage and bad input.
. "$SRC/tests/cli/support/model.sh"
cut -f 2 "$SRC/examples/train.tsv" | tail -n +2 >texts.txt
gzip -c texts.txt >texts.txt.gz
printf 'id\tsentence\n1\ta plain sentence\n2\tanother one\n' >more.tsv
"$AOE" init -q --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 --vocab-from texts.txt \
    --vocab-size 500 -o start
run="--dtype f32 --epochs 2 --batch-size 64 --lr 5e-3 --held-out 0.1 --no-pack"
# shellcheck disable=SC2086
"$AOE" pretrain -q -m start -d texts.txt.gz more.tsv -o base $run >table
awk 'NR == 1 { print }
    NR > 1 && NR < 5 {
        print NF, ($3 < last || NR == 2) ? "falls" : "rises",
            exp($3) / $4 < 1.001 && $4 / exp($3) < 1.001 ? "perplexity" : "no perplexity"
        last = $3
    }
    NR == 5 { print $1, $3 }' table
# shellcheck disable=SC2086
"$AOE" pretrain -q -m start -d texts.txt.gz more.tsv -o again $run --threads 1 --json >json
cmp base/model.safetensors again/model.safetensors
sed 's/:[0-9][0-9.e+-]*/:N/g' json
"$AOE" train -q -m base -d "$SRC/examples/train.tsv" -o tuned --batch-size 64 --epochs 1 --dtype f32 |
    sed 's/ in [0-9]* s/ in N s/'
"$AOE" info tuned | grep -c '^architecture *bert'
grep -o '"Bert[A-Za-z]*"' base/config.json tuned/config.json
# shellcheck disable=SC2086
fails "$AOE" pretrain -q -m start -d texts.txt.gz more.tsv -o base $run
# shellcheck disable=SC2086
fails "$AOE" pretrain -q -m start -d texts.txt.gz more.tsv -o again $run --resume --mask-rate 0.2
# shellcheck disable=SC2086
fails "$AOE" pretrain -q -m start -d texts.txt.gz more.tsv -o again $run --resume --batch-tokens 512
# The texts may have moved, but must not have changed.
mkdir moved
cp texts.txt.gz moved
# shellcheck disable=SC2086
"$AOE" pretrain -q -m start -d moved/texts.txt.gz more.tsv -o again $run --resume >/dev/null
cmp base/model.safetensors again/model.safetensors
# shellcheck disable=SC2086
fails "$AOE" pretrain -q -m start -d more.tsv moved/texts.txt.gz -o again $run --resume
fails "$AOE" pretrain -q -m start -d missing.txt -o other
# All words of the texts are unknown, so there is no token to predict.
printf '\347\214\253 \347\212\254\n\347\214\253\n' >foreign.txt
fails "$AOE" pretrain -q -m start -d foreign.txt --held-out 0 -o other
small_table no_texts.tsv 3
fails "$AOE" pretrain -q -m start -d no_texts.tsv -o other
"$AOE" pretrain -q -m start -o other || echo "exit code $?"
"$AOE" pretrain -q -m start -d texts.txt --held-out 0 --patience 2 -o other || echo "exit code $?"
test ! -e other
# A run with very few steps must print a note.
"$AOE" pretrain -m start -d texts.txt --held-out 0 --batch-size 400 -o few 2>&1 >/dev/null | grep 'only'
# A step that takes long prints a line of progress.
"$AOE" pretrain -m start -d texts.txt --held-out 0 --max-steps 1 -o one 2>&1 |
    sed 's/ in [0-9]* s;/;/; s/dtype: .*/dtype: .../; /^pretraining 1\/1 /d'
# All examples have the same query, so each batch contains only one example. There must be a warning.
awk 'BEGIN { print "query\tpositive"; for (i = 0; i < 100; i++) print "the same\t" i " of many" }' >same.tsv
"$AOE" train -m start -d same.tsv -o narrow --max-steps 1 2>&1 >/dev/null | grep '^aoe: warning'
