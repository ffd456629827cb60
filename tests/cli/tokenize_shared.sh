# SPDX-License-Identifier: MIT
# Every id list of bert-base-uncased, from tokenizer.json and from vocab.txt.
. "$SRC/tests/cli/support/model.sh"
needs_shared golden/tokenizers/bert-base-uncased.jsonl
needs_shared tokenizers/bert-base-uncased/vocab.txt
golden=$AOE_SHARED/golden/tokenizers/bert-base-uncased.jsonl
tokenizer=$AOE_SHARED/tokenizers/bert-base-uncased
# {"text": "...", "ids": [...]}: the text ends before the last `"ids"`
sed 's/^{ *"text": *\(".*"\), *"ids": *\[.*$/\1/' "$golden" >texts.jsonl
sed 's/^.*"ids": *\(\[[^]]*\]\)}$/\1/; s/ //g' "$golden" >ids
test "$(wc -l <ids)" -gt 100
"$AOE" tokenize -m "$tokenizer" --jsonl texts.jsonl | cmp - ids
mkdir old
cp "$tokenizer/vocab.txt" "$tokenizer/tokenizer_config.json" old
"$AOE" tokenize -m old --jsonl texts.jsonl | cmp - ids
