# SPDX-License-Identifier: MIT
# Tests the method dan: the loss decreases, the saved model consists of trained word embeddings, bigram embeddings
# and two dense layers, its embeddings do not change when it is converted and depend on the order of the words, further
# training continues with these layers, and wrong data and options are rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start --pooling cls
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "premise", "hypothesis"; next }
    { print ($1 >= 3.5 ? "entailment" : $1 < 1.5 ? "contradiction" : "neutral"), $2, $3 }' "$SRC/examples/train.tsv" \
        >nli.tsv
"$AOE" train -m start -d nli.tsv -o dan --method dan --bigrams 256 --epochs 3 --batch-size 16 -t 1 2>&1 >/dev/null |
    grep '^saved'
sed -n 's/.*"event":"step".*"classification":\([^,]*\),.*/\1/p' dan/train-log.jsonl |
    awk '{ loss[NR] = $1 } END { for (i = 1; i <= 20; i++) { first += loss[i]; last += loss[NR - i + 1] }
         print (last < first ? "the loss decreases" : "the loss changes from " first / 20 " to " last / 20) }'
grep -o '"\(format_version\|method\|optimizer\|bigrams\)": *[^,]*' dan/aoe.json
grep -o '"\(update_embeddings\|bigrams\)": *[^,]*' dan/config.json
tr -d ' \n' <dan/modules.json | grep -o '"type":"[^"]*"'
"$AOE" info -m dan | grep 'architecture\|parameters\|embedding size\|^modules\|^pooling'
grep 'Use aoe\|^library\|hashed' dan/README.md
echo 'a small test' >texts.txt
"$AOE" embed -q -m dan --dtype f32 texts.txt >first.jsonl
echo 'test small a' | "$AOE" embed -q -m dan --dtype f32 | cut -d : -f 3 >second.txt
cut -d : -f 3 first.jsonl | cmp -s - second.txt && echo "the order of the words has no effect"
"$AOE" convert -q -m dan -o converted --dtype f32 >/dev/null
"$AOE" embed -q -m converted --dtype f32 texts.txt | cmp - first.jsonl
"$AOE" train -q -m dan -d nli.tsv -o further --method dan --max-steps 1 -t 1 >/dev/null
"$AOE" info -m further | grep 'parameters\|^modules'
grep -o '"bigrams": *[^,]*' further/aoe.json
fails "$AOE" train -q -m dan -d nli.tsv -o out --method dan --bigrams 128 --max-steps 1 -t 1
fails "$AOE" train -q -m dan -d nli.tsv -o out --method dan --bigrams 65536 --max-steps 1 -t 1
"$AOE" train -q -m dan -d "$SRC/examples/train.tsv" -o angle --batch-size 16 --max-steps 2 -t 1 >/dev/null
"$AOE" info -m angle | grep 'parameters'
# A template for mask pooling is not a prompt of the new model.
"$AOE" train -q -m start -d "$SRC/examples/train.tsv" -o prompt --method promptbert --max-steps 1 --batch-size 8 \
    -t 1 >/dev/null 2>&1
"$AOE" train -q -m prompt -d nli.tsv -o plain --method dan --bigrams 16 --max-steps 1 -t 1 >/dev/null
"$AOE" info -m plain | grep '^prompt\|^pooling'
# Without bigrams, the model consists of modules of sentence-transformers.
"$AOE" train -q -m start -d nli.tsv -o words --method dan --bigrams 0 --max-steps 1 -t 1 >/dev/null
tr -d ' \n' <words/modules.json | grep -o '"type":"[^"]*"'
tr -d ' \n' <words/wordembedding_config.json; echo
"$AOE" train --method dan --help | tr '\n' ' ' | grep -o 'DAN, Iyyer *et *al. *2015'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d nli.tsv -o out --method dan "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --lstm-dims 4
rejected --method infersent --bigrams 4
fails "$AOE" train -q -m start -d nli.tsv -o out --method dan --bigrams 100
fails "$AOE" train -q -m start -d nli.tsv -o out --method dan --lora-r 4
fails "$AOE" train -q -m start -d nli.tsv -o out --method dan --pooling cls
cp "$SRC/examples/train.tsv" scores.tsv
fails "$AOE" train -q -m start -d scores.tsv -o out --method dan
sed 's/"bigrams": 256/"bigrams": 255/' dan/config.json >dan/config.json.part && mv dan/config.json.part dan/config.json
fails "$AOE" info -m dan
sed 's/"bigrams": 255/"bigrams": 128/' dan/config.json >dan/config.json.part && mv dan/config.json.part dan/config.json
fails "$AOE" info -m dan
