# SPDX-License-Identifier: MIT
# Tests the method is-bert: the loss decreases, the saved model keeps the convolutions as the module CNN, its embeddings
# do not change when the model is converted, and wrong data and options are rejected.
. "$SRC/tests/cli/support/model.sh"
pairs=train.tsv
cp "$SRC/examples/train.tsv" "$pairs"
tiny_model start --pooling cls
"$AOE" train -q -m start -d "$pairs" -o isb --method is-bert --epochs 2 --batch-size 16 --lr 2e-3 -t 1 >/dev/null
sed -n 's/.*"event":"step".*"contrastive":\([^,]*\),.*/\1/p' isb/train-log.jsonl |
    awk '{ loss[NR] = $1 } END { for (i = 1; i <= 20; i++) { first += loss[i]; last += loss[NR - i + 1] }
         print (last < first - 1 ? "the loss decreases" : "the loss changes from " first / 20 " to " last / 20) }'
grep -o '"\(format_version\|cnn\|method\|optimizer_eps\)": *[^,]*' isb/aoe.json
tr -d ' \n' <isb/1_CNN/cnn_config.json; echo
tr -d ' \n' <isb/modules.json | grep -o '"type":"[^"]*"'
"$AOE" info -m isb | grep '^parameters\|embedding size\|^modules\|^pooling'
echo 'a small test' >texts.txt
"$AOE" embed -q -m isb --dtype f32 texts.txt >first.jsonl
"$AOE" convert -q -m isb -o converted --dtype f32 >/dev/null
"$AOE" embed -q -m converted --dtype f32 texts.txt | cmp - first.jsonl
"$AOE" train -q -m isb -d "$pairs" -o further --batch-size 16 --max-steps 2 -t 1 >/dev/null
cmp -s isb/1_CNN/model.safetensors further/1_CNN/model.safetensors || echo "angle trains the convolutions"
"$AOE" train --method is-bert --help | tr '\n' ' ' | grep -o 'IS-BERT, Zhang *et *al. *2020'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d "$pairs" -o out --method is-bert "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --w-cosine 1
rejected --batch-size 1
fails "$AOE" train -q -m start -d "$pairs" -o out --method is-bert --pooling cls
fails "$AOE" train -q -m start -d "$pairs" -o out --method is-bert --matryoshka 8
fails "$AOE" train -q -m start -d "$pairs" -o out --method is-bert --teacher start
fails "$AOE" train -q -m start -d texts.txt -o out --method is-bert
fails "$AOE" embed -q -m isb --pooling first-last-avg texts.txt
"$AOE" init -q --shape ran-mini --hidden 32 --layers 2 --heads 2 --head-size 16 --tokenizer start -o ran
fails "$AOE" train -q -m ran -d "$pairs" -o out --method is-bert --pooling mean
# The terminal and the training record name the kept convolutions.
"$AOE" train -m start -d "$SRC/examples/train.tsv" -o parts --method is-bert --max-steps 1 -t 1 2>&1 >/dev/null |
    grep '^saved'
tr -d ' \n' <parts/aoe.json | grep -o '"kept_parts":[^]]*],"dropped_parts":[^]]*]'
