# SPDX-License-Identifier: MIT
# tags: slow recipes
# Tests recipes/paper. Its README must list exactly the existing files. The command of each file is run for one step,
# with small models and data sets instead of the real ones.
. "$SRC/tests/cli/support/model.sh"
recipes=$SRC/recipes/paper
(cd "$recipes" && ls -- *.args) | sort >files
grep -o '`[a-z][^`/]*\.args`' "$recipes/README.md" | tr -d '`' | sort -u >named
cmp files named
grep -c . files
export AOE_MODELS=models AOE_DATA=data AOE_WORK=work TASK=stsb
mkdir models data data/nli data/stsb data/llm
tiny_model models/bert-base-uncased --positions 128 --layers 2
"$AOE" init -q --shape tinyllama-1.1b --hidden 32 --layers 1 --heads 2 --kv-heads 1 --intermediate 48 --positions 128 \
    --tokenizer models/bert-base-uncased -o models/Llama-2-7b-hf
"$AOE" init -q --shape ran-mini --hidden 32 --layers 1 --heads 2 --head-size 8 --window 8 --positions 128 \
    --tokenizer models/bert-base-uncased -o models/ran-base
small_table data/stsb/train.tsv 24
cp data/stsb/train.tsv data/stsb/dev.tsv
for annotator in chatgpt llama chatglm ensemble; do cp data/stsb/train.tsv data/llm/$annotator.tsv; done
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "sentence1", "sentence2"; next }
    { print ($1 > 3 ? "entailment" : $1 > 2 ? "neutral" : "contradiction"), $2, $3 }' data/stsb/train.tsv \
        >data/nli/train.tsv
awk -F '\t' 'NR == 1 { print "sent0,sent1,hard_neg"; next } { print "\"" $2 "\",\"" $3 "\",\"not " $2 "\"" }' \
    data/stsb/train.tsv |
    sed 's/""\([^,]\)/"\1/g' >data/nli_for_simcse.csv
mkdir -p data/senteval/SICK
awk -F '\t' \
    -v OFS='\t' \
    'NR == 1 { print "pair_ID", "sentence_A", "sentence_B", "relatedness_score", "entailment_judgment"; next }
    { print NR, $2, $3, $1, "E" }' data/stsb/train.tsv >data/senteval/SICK/SICK_test_annotated.txt
awk -F '\t' 'NR > 1 { print $2 }' data/stsb/train.tsv >data/wiki1m_for_simcse.txt
printf 'the 1 2\na 3 4\nof 5 6\n' | gzip >data/glove.840B.300d.txt.gz
for model in distilbert-base-uncased bert-base-mlm; do
    "$AOE" pretrain -q -m models/bert-base-uncased -d data/wiki1m_for_simcse.txt -o models/$model --max-steps 1 \
        --held-out 0 -t 1 >/dev/null
done
# promptbert-sup needs a masked-LM head
rm -r models/bert-base-uncased && mv models/bert-base-mlm models/bert-base-uncased
while IFS= read -r file; do
    command=$(sed -n "1s,^# aoe \([a-z ]*\) @recipes/paper/$file: ..*,\1,p" "$recipes/$file")
    step="--batch-size 4 --accumulate 1 --cache-chunk 2 --max-steps 1 --warmup 0 -t 1"
    case $command in
    whiten) step="--dims 4" ;;
    flow) step="--levels 1" ;;
    convert | 'eval suite') step= ;;
    train) ;;
    *) echo "$file: the first line names no command" && exit 3 ;;
    esac
    # shellcheck disable=SC2086
    "$AOE" $command "@$recipes/$file" $step --quiet >/dev/null
done <files
ls work | wc -l
"$AOE" info work/table2-angle-llama2-7b --base models/Llama-2-7b-hf | grep -E '^(prompt|pooling|max length)' |
    sed 's/  */ /g'
"$AOE" info work/table2-simcse-sup-bert | grep -E '^modules' | sed 's/  */ /g'
