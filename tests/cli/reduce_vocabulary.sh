# SPDX-License-Identifier: MIT
# Tests `aoe convert` with --vocabulary, --vocab-size and --count-on. The tokens that remain keep their embeddings, and
# texts of remaining tokens have equal vectors.
. "$SRC/tests/cli/support/model.sh"
tiny_model model --layers 3
small_table texts.tsv 100
"$AOE" convert model --vocab-size 300 --count-on texts.tsv -o small
"$AOE" convert -q model --vocab-size 300 --count-on texts.tsv -o json --json
diff -r small json
"$AOE" info small | grep -E '^(vocabulary|layers|stored)' | sed 's/  */ /g'
# The tokens of the smaller vocabulary are in the order of the complete vocabulary, and the special tokens are first.
head -n 6 small/vocab.txt | tr '\n' ' '
awk 'NR == FNR { at[$0] = NR; next } !at[$0] || at[$0] <= last { print "unexpected: " $0 } { last = at[$0] }
    END { print FNR " tokens in order" }' model/vocab.txt small/vocab.txt
# Without tokenizer.json, the ids are those of the lines of vocab.txt.
cut -f 2 texts.tsv | tail -n +2 >examples.txt
"$AOE" tokenize -q -m small examples.txt >ids
mkdir txt
cp small/vocab.txt small/tokenizer_config.json txt
"$AOE" tokenize -q -m txt examples.txt | cmp - ids
# Texts whose tokens remain have equal tokens and vectors.
"$AOE" tokenize -q -m model --tokens examples.txt >before
"$AOE" tokenize -q -m small --tokens examples.txt | paste -d '\n' before - |
    awk 'NR % 2 { first = $0; next } first == $0 { print NR / 2 }' >equal
for dir in model small; do
    "$AOE" embed -q -m $dir --format tsv examples.txt |
        awk 'NR == FNR { keep[$1]; next } FNR in keep' equal - >$dir.vectors
done
cmp model.vectors small.vectors
echo "$(wc -l <equal) of $(wc -l <examples.txt) texts have equal tokens"
# A vocabulary of all tokens gives a copy.
size=$(wc -l <model/vocab.txt)
"$AOE" convert -q model --vocab-size "$size" --count-on texts.tsv -o all
cmp model/model.safetensors all/model.safetensors
diff -r -q model all
# The number of counted texts and the order of the files do not matter if the counts are equal, and lower ids win ties.
printf 'a a\nb\n' >one.txt
printf 'b\n\na a\n' >two.txt
"$AOE" convert -q model --vocab-size 200 --count-on one.txt -o one
"$AOE" convert -q model --vocab-size 200 --count-on two.txt -o two
diff -r one two
# A list of tokens, together with layers, components and another data type.
sed -n '200,209p' model/vocab.txt >list.txt
"$AOE" convert model --vocabulary list.txt --take-layers 0,2 --dims 16 --dtype bf16 -o listed
grep -c -x -F -f list.txt listed/vocab.txt
"$AOE" convert -q model --vocabulary list.txt --count-on texts.tsv --json -o counted
"$AOE" info listed | grep -E '^(vocabulary|layers|embedding|stored)' | sed 's/  */ /g'
"$AOE" train -q -m listed -d texts.tsv -o trained --max-steps 1 -t 1 >/dev/null
# Rejected files and options.
rejected() {
    fails "$AOE" convert -q model "$@" -o out
    is_absent out
}
printf 'a\nnot-a-token\n' >list.txt
rejected --vocabulary list.txt
printf 'a\nb\na\n' >list.txt
rejected --vocabulary list.txt
printf 'a\n\nb\n' >list.txt
rejected --vocabulary list.txt
printf 'a\nb\377\n' >list.txt
rejected --vocabulary list.txt
: >list.txt
rejected --vocabulary list.txt
rejected --vocabulary missing.txt
rejected --vocab-size 10 --count-on texts.tsv
rejected --vocab-size 100000 --count-on texts.tsv
rejected --vocab-size 300 --count-on -
rejected --vocab-size 300 --count-on missing.txt
# Models whose vocabulary cannot be reduced: bigram embeddings, and a WhitespaceTokenizer.
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "premise", "hypothesis"; next } { print NR % 3, $2, $3 }' texts.tsv \
    >nli.tsv
"$AOE" train -q -m model -d nli.tsv -o dan --method dan --bigrams 16 --max-steps 1 -t 1 >/dev/null
fails "$AOE" convert -q dan --vocab-size 300 --count-on texts.tsv -o out
"$AOE" train -q -m model -d nli.tsv -o words --method dan --bigrams 0 --max-steps 1 -t 1 >/dev/null
"$AOE" convert -q words --vocab-size 300 --count-on texts.tsv -o reduced
"$AOE" embed -q -m reduced examples.txt >/dev/null
rm -f words/tokenizer.json words/vocab.txt words/tokenizer_config.json words/special_tokens_map.json
echo '{"vocab": ["PADDING_TOKEN", "the", "a"], "stop_words": [], "do_lower_case": false}' \
    >words/whitespacetokenizer_config.json
sed -i 's/TransformersTokenizerWrapper/WhitespaceTokenizer/' words/wordembedding_config.json
fails "$AOE" convert -q words --vocab-size 2 --count-on texts.tsv -o out
is_absent out
for options in '--vocab-size 300' '--count-on texts.tsv' '--dtype f32 --count-on texts.tsv' \
    '--vocab-size 9 --vocabulary list.txt' '--dtype f32 --columns a'; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" convert -q model $options -o out || code=$?
    echo "exit code $code"
done
