# SPDX-License-Identifier: MIT
# Tests the method infersent: the loss decreases, the saved model consists of the word embeddings of the start model and
# an LSTM, its embeddings do not change when it is converted, it starts from a transformer and from word vectors, and
# wrong data and options are rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start --pooling cls
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "premise", "hypothesis"; next }
    { print ($1 >= 3.5 ? "entailment" : $1 < 1.5 ? "contradiction" : "neutral"), $2, $3 }' "$SRC/examples/train.tsv" \
        >nli.tsv
"$AOE" train -q -m start -d nli.tsv -o inf --method infersent --lstm-dims 16 --epochs 3 --batch-size 16 -t 1 >/dev/null
sed -n 's/.*"event":"step".*"classification":\([^,]*\),.*/\1/p' inf/train-log.jsonl |
    awk '{ loss[NR] = $1 } END { for (i = 1; i <= 20; i++) { first += loss[i]; last += loss[NR - i + 1] }
         print (last < first ? "the loss decreases" : "the loss changes from " first / 20 " to " last / 20) }'
grep -o '"\(format_version\|lstm\|method\|optimizer\|schedule\|lr_epoch_factor\|lr_divide\|lstm_dims\)": *[^,]*' \
    inf/aoe.json
tr -d ' \n' <inf/1_LSTM/lstm_config.json; echo
tr -d ' \n' <inf/wordembedding_config.json; echo
tr -d ' \n' <inf/modules.json | grep -o '"type":"[^"]*"'
"$AOE" info -m inf | grep 'architecture\|^parameters\|embedding size\|^modules\|^pooling'
echo 'a small test' >texts.txt
"$AOE" embed -q -m inf --dtype f32 texts.txt >first.jsonl
"$AOE" convert -q -m inf -o converted --dtype f32 >/dev/null
"$AOE" embed -q -m converted --dtype f32 texts.txt | cmp - first.jsonl
"$AOE" train -q -m inf -d "$SRC/examples/train.tsv" -o further --batch-size 16 --max-steps 2 -t 1 >/dev/null
cmp inf/model.safetensors further/model.safetensors
cmp -s inf/1_LSTM/model.safetensors further/1_LSTM/model.safetensors || echo "angle trains the LSTM"
"$AOE" train -q -m inf -d nli.tsv -o longer --method infersent --max-steps 1 -t 1 >/dev/null
grep -o '"lstm_dims": *[^,]*' longer/aoe.json
fails "$AOE" train -q -m inf -d nli.tsv -o out --method infersent --lstm-dims 8 --max-steps 1 -t 1
# Word vectors as the start.
printf 'the 1 2 0 1\na 3 4 1 0\nof 5 6 2 1\nis 0 1 2 3\nman 4 4 1 2\n' >glove.txt
"$AOE" convert -q glove.txt -o glove >/dev/null
"$AOE" train -q -m glove -d nli.tsv -o words --method infersent --lstm-dims 4 --batch-size 64 --max-steps 2 \
    -t 1 >/dev/null
"$AOE" info -m words | grep 'embedding size\|^vocabulary'
"$AOE" train -m start -d nli.tsv -o log --method infersent --lstm-dims 4 --max-steps 1 -t 1 2>&1 >/dev/null |
    grep -o '^saved.*\|^pooling.*; CPU'
grep -A9 '"kept_parts"' inf/aoe.json | tr -d ' \n' | grep -o '.*"classifier"]'
"$AOE" train --method infersent --help | tr '\n' ' ' | grep -o 'InferSent, Conneau *et *al. *2017'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d nli.tsv -o out --method infersent "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --w-cosine 1
rejected --lstm-dims 0
rejected --method sbert-classification --lstm-dims 4
fails "$AOE" train -q -m start -d nli.tsv -o out --method infersent --lora-r 4
cp "$SRC/examples/train.tsv" scores.tsv
fails "$AOE" train -q -m start -d scores.tsv -o out --method infersent
fails "$AOE" train -q -m start -d nli.tsv -o out --method infersent --matryoshka 8
fails "$AOE" train -q -m start -d nli.tsv -o out --method infersent --adaptive-layers
"$AOE" train -q -m start -d nli.tsv -o adapters --lora-r 2 --max-steps 1 -t 1 \
    --label-map entailment=1,neutral=0.5,contradiction=0 >/dev/null
fails "$AOE" train -q -m adapters -d nli.tsv -o out --method infersent
fails "$AOE" embed -q -m inf --pooling first-last-avg texts.txt
