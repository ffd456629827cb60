# SPDX-License-Identifier: MIT
# Tests tokenizers other than WordPiece, in directories without a model. They are byte-level BPE in vocab.json and
# merges.txt, and Unigram in tokenizer.json.
. "$SRC/tests/cli/support/model.sh"
mkdir gpt sentence
printf '{"a": 0, "b": 1, "\\u0120": 2, "\\u0120a": 3, "ab": 4}' >gpt/vocab.json
fails "$AOE" tokenize -m gpt texts
printf '#version: 0.2\n\304\240 a\na b\n' >gpt/merges.txt
printf 'ab ab\nb\n' | "$AOE" tokenize -m gpt
printf 'ab ab\n\nb\n' | fails "$AOE" tokenize -m gpt
printf '"ab ab"\n""\n"b"\n' | "$AOE" tokenize -m gpt --jsonl
printf '""\n' | fails "$AOE" tokenize -m gpt --jsonl --no-specials
printf 'ab ab\n' | "$AOE" tokenize -m gpt --tokens
printf '"a\\u0000 \\n"\n' | "$AOE" tokenize -m gpt --jsonl --json
printf 'a b ab a b\n' | "$AOE" tokenize -m gpt --json --max-length 3
printf '\n' | fails "$AOE" tokenize -m gpt --no-specials
cat >sentence/tokenizer.json <<'END'
{"pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always"},
 "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0], ["▁", -2], ["▁the", -3], ["s", -4], ["e", -5]]}}
END
printf 'the these es\n' | "$AOE" tokenize -m sentence --tokens
printf 'the \377\n' | fails "$AOE" tokenize -m sentence
sed -i 's/Metaspace/UnicodeScripts/' sentence/tokenizer.json
fails "$AOE" tokenize -m sentence gpt/merges.txt
