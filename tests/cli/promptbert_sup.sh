# SPDX-License-Identifier: MIT
# Tests the method promptbert-sup: the loss decreases, the saved model has the transform of the masked-LM head and
# subtracts the embedding of its empty prompt, its embeddings do not change when it is converted or when texts are
# embedded together, and wrong models, prompts and options are rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start --pooling cls
cut -f 2 "$SRC/examples/train.tsv" >corpus.txt
"$AOE" pretrain -q -m start -d corpus.txt -o mlm --max-steps 2 -t 1 >/dev/null
awk -F '\t' \
    -v OFS='\t' \
    'NR == 1 { print "query", "positive", "negative"; next } NR > 2 && $1 > 3 { print $2, $3, last } { last = $2 }' \
    "$SRC/examples/train.tsv" >triplets.tsv
"$AOE" train -q -m mlm -d triplets.tsv -o sup --method promptbert-sup --epochs 3 --batch-size 16 --lr 2e-3 \
    -t 1 >/dev/null
sed -n 's/.*"event":"step".*"contrastive":\([^,]*\),.*/\1/p' sup/train-log.jsonl |
    awk '{ loss[NR] = $1 } END { for (i = 1; i <= 10; i++) { first += loss[i]; last += loss[NR - i + 1] }
         print (last < first ? "the loss decreases" : "the loss changes from " first / 10 " to " last / 10) }'
grep -o '"\(format_version\|method\|pooling\|max_length\|subtract_empty_prompt\|default\|tau_ibn\)": *.*[^,]' \
    sup/aoe.json
tr -d ' \n' <sup/3_LayerNorm/config.json; echo
grep -o 'they do not subtract the embedding of the empty prompt' sup/README.md
tr -d ' \n' <sup/modules.json | grep -o '"type":"[^"]*"'
"$AOE" info -m sup | grep 'embedding size\|^modules\|^pooling\|^prompt '
printf 'a small test\nanother test of a much longer text\ntest\n' >texts.txt
"$AOE" embed -q -m sup --dtype f32 texts.txt >first.jsonl
"$AOE" convert -q -m sup -o converted --dtype f32 >/dev/null 2>&1
"$AOE" embed -q -m converted --dtype f32 texts.txt | cmp - first.jsonl
while read -r line; do echo "$line" | "$AOE" embed -q -m sup --dtype f32 -t 2; done <texts.txt | cmp - first.jsonl
"$AOE" train -m sup -d triplets.tsv -o further --method promptbert-sup --max-steps 1 -t 1 2>&1 >/dev/null |
    grep -o '^pooling: [^;]*\|^saved.*'
"$AOE" info -m further | grep '^modules'
# The head of the base model is used if training starts from adapters.
"$AOE" train -q -m mlm -d triplets.tsv -o adapters --method simcse-sup --no-projection --lora-r 2 --max-steps 1 \
    -t 1 >/dev/null 2>&1
"$AOE" train -q -m adapters -d triplets.tsv -o adapted --method promptbert-sup --max-steps 1 -t 1 >/dev/null 2>&1
"$AOE" info -m adapted | grep '^modules'
"$AOE" train --method promptbert-sup --help | tr '\n' ' ' | grep -o 'PromptBERT, Jiang *et *al. *2022'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m mlm -d triplets.tsv -o out --method promptbert-sup "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --w-cosine 1
rejected --second-prompt 'a {text} [MASK]'
fails "$AOE" train -q -m start -d triplets.tsv -o out --method promptbert-sup
fails "$AOE" train -q -m mlm -d triplets.tsv -o out --method promptbert-sup --pooling cls
fails "$AOE" train -q -m mlm -d triplets.tsv -o out --method promptbert-sup --prompt 'a {text}'
fails "$AOE" train -q -m mlm -d triplets.tsv -o out --method promptbert-sup --teacher start
fails "$AOE" train -q -m sup -d triplets.tsv -o out --method simcse-sup
fails "$AOE" train -q -m sup -d texts.txt -o out --method promptbert
fails "$AOE" embed -q -m sup --pooling cls texts.txt
fails "$AOE" embed -q -m sup --prompt 'a {text}' texts.txt
fails "$AOE" whiten -q -m sup -o out texts.txt
# The start of training warns that other programs do not subtract the embedding of the empty prompt.
"$AOE" train -m mlm -d triplets.tsv -o out --method promptbert-sup --max-steps 1 -t 1 2>&1 >/dev/null |
    grep -o 'they do not subtract the embedding.*'
