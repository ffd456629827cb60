# SPDX-License-Identifier: MIT
# Tests the method promptbert: the loss decreases, the saved model has the first template as its prompt and mask
# pooling, its README says that other programs do not support them, the embeddings do not change when the model is
# converted, and wrong templates, models and options are rejected.
. "$SRC/tests/cli/support/model.sh"
cp "$SRC/examples/train.tsv" train.tsv
tiny_model start --pooling cls
"$AOE" train -q -m start -d train.tsv -o prompt --method promptbert --epochs 2 --batch-size 16 --lr 2e-3 -t 1 >/dev/null
sed -n 's/.*"event":"step".*"contrastive":\([^,]*\),.*/\1/p' prompt/train-log.jsonl |
    awk '{ loss[NR] = $1 } END { for (i = 1; i <= 20; i++) { first += loss[i]; last += loss[NR - i + 1] }
         print (last < first ? "the loss decreases" : "the loss changes from " first / 20 " to " last / 20) }'
grep -o '"\(method\|pooling\|max_length\|second_prompt\|default\|tau_ibn\)": *.*[^,]' prompt/aoe.json
tr -d ' \n' <prompt/aoe.json | grep -o '"kept_parts":[^]]*],"dropped_parts":[^]]*]'
grep -o 'they do not support mask pooling' prompt/README.md
tr -d ' \n' <prompt/modules.json | grep -o '"type":"[^"]*"'
sed -n 2,6p prompt/README.md
"$AOE" info -m prompt | grep 'embedding size\|^pooling\|^prompt '
echo 'a small test' >texts.txt
"$AOE" embed -q -m prompt --dtype f32 texts.txt >first.jsonl
"$AOE" convert -q -m prompt -o converted --dtype f32 >/dev/null 2>&1
"$AOE" embed -q -m converted --dtype f32 texts.txt | cmp - first.jsonl
weights() { # weights DIR [OPTION...]: trains DIR
    dir=$1
    shift
    "$AOE" train -q -m start -d train.tsv -o "$dir" --method promptbert --batch-size 16 --lr 2e-3 "$@" >/dev/null 2>&1
}
weights threads --epochs 2 -t 2
cmp prompt/model.safetensors threads/model.safetensors
weights f32 --epochs 1 --dtype f32 -t 1
weights chunks --epochs 1 --dtype f32 -t 2 --cache-chunk 5
cmp f32/model.safetensors chunks/model.safetensors
"$AOE" train --method promptbert --help | tr '\n' ' ' | grep -o 'PromptBERT, Jiang *et *al. *2022'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d train.tsv -o out --method promptbert "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --w-cosine 1
rejected --method simcse-unsup --second-prompt '{text} [MASK]'
fails "$AOE" train -q -m start -d train.tsv -o out --method promptbert --second-prompt 'a [MASK]'
fails "$AOE" train -q -m start -d train.tsv -o out --method promptbert --second-prompt '{text} a'
fails "$AOE" train -q -m start -d train.tsv -o out --method promptbert --pooling cls
fails "$AOE" train -q -m start -d train.tsv -o out --method promptbert --teacher start
fails "$AOE" train -q -m start -d train.tsv -o out --method promptbert --matryoshka 8
fails "$AOE" train -q -m start -d train.tsv 'prompt=x {text}' -o out --method promptbert
fails "$AOE" train -q -m start -d train.tsv -o out --method promptbert --max-length 8
echo 'a [MASK] b' >mask.txt
fails "$AOE" train -q -m start -d mask.txt -o out --method promptbert
# The help contains the defaults of the method.
"$AOE" train --method promptbert --help | tr -s '\n ' ' ' | grep -o 'default: \(This sentence[^)]*\|42\|mask\)'
