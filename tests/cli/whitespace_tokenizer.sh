# SPDX-License-Identifier: MIT
# Tests models of word embeddings with the tokenizer WhitespaceTokenizer of sentence-transformers: tokens, embeddings,
# copies, further training, texts without tokens, and files that are rejected.
. "$SRC/tests/cli/support/model.sh"
printf 'the 1 2 0 1\na 3 4 1 0\nof 5 6 2 1\nis 0 1 2 3\nman 4 4 1 2\n' >glove.txt
"$AOE" convert -q glove.txt -o glove >/dev/null
printf 'label\tpremise\thypothesis\n0\ta man\tthe man\n1\tthe man is\ta a\n' >nli.tsv
"$AOE" train -q -m glove -d nli.tsv -o words --method infersent --lstm-dims 4 --max-steps 1 -t 1 >/dev/null
# The same model with another tokenizer. The vocabulary has 6 words.
rm -f words/tokenizer.json words/vocab.txt words/tokenizer_config.json words/special_tokens_map.json
cat >words/whitespacetokenizer_config.json <<'END'
{"vocab": ["PADDING_TOKEN", "the", "a", "Man", "man", "U.S."], "stop_words": ["of"], "do_lower_case": false}
END
sed 's/TransformersTokenizerWrapper/WhitespaceTokenizer/' words/wordembedding_config.json >edited &&
    mv edited words/wordembedding_config.json
"$AOE" info -m words | grep '^tokenizer\|^vocabulary'
printf 'The MAN, of the "U.S."\nA Man\nhorses!\n' >texts.txt
"$AOE" tokenize -q -m words texts.txt
"$AOE" embed -q -m words --dtype f32 texts.txt >first.jsonl
tail -n 1 first.jsonl
"$AOE" convert -q -m words -o copy --dtype f32 >/dev/null
"$AOE" embed -q -m copy --dtype f32 texts.txt | cmp - first.jsonl
cmp words/whitespacetokenizer_config.json copy/whitespacetokenizer_config.json
grep -o '"tokenizer_class": *[^,]*' copy/wordembedding_config.json
"$AOE" train -q -m words -d nli.tsv -o further --method infersent --max-steps 1 -t 1 >/dev/null
"$AOE" info -m further | grep '^tokenizer\|^vocabulary'
# Files that are rejected.
sed 's/WhitespaceTokenizer/PhraseTokenizer/' copy/wordembedding_config.json >edited &&
    cp edited copy/wordembedding_config.json
rm copy/aoe.json
fails "$AOE" embed -q -m copy texts.txt
echo '{"vocab": ["a", 5]}' >words/whitespacetokenizer_config.json
fails "$AOE" embed -q -m words texts.txt
echo '{"vocab": ["a", "b", "c", "d", "e", "f", "g"]}' >words/whitespacetokenizer_config.json
echo 'a G' >long.txt
fails "$AOE" embed -q -m words long.txt
rm words/whitespacetokenizer_config.json
fails "$AOE" embed -q -m words texts.txt
