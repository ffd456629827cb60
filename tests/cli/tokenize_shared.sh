# SPDX-License-Identifier: MIT
# Every id list of the four tokenizers, from tokenizer.json and from the older files.
. "$SRC/tests/cli/support/model.sh"

# check NAME FILE...: by tokenizer.json, and by the files alone when there are any
check() {
    name=$1
    shift
    needs_shared "golden/tokenizers/$name.jsonl"
    needs_shared "tokenizers/$name/tokenizer.json"
    golden=$AOE_SHARED/golden/tokenizers/$name.jsonl
    tokenizer=$AOE_SHARED/tokenizers/$name
    # {"text": "...", "ids": [...]}: the text ends before the last `"ids"`
    sed 's/^{ *"text": *\(".*"\), *"ids": *\[.*$/\1/' "$golden" >texts.jsonl
    sed 's/^.*"ids": *\(\[[^]]*\]\)}$/\1/; s/ //g' "$golden" >ids
    test "$(wc -l <ids)" -gt 100
    "$AOE" tokenize -m "$tokenizer" --jsonl texts.jsonl | cmp - ids
    [ $# != 0 ] || return 0
    mkdir old
    for file in "$@"; do cp "$tokenizer/$file" old; done
    "$AOE" tokenize -m old --jsonl texts.jsonl | cmp - ids
    rm -r old
}

check bert-base-uncased vocab.txt tokenizer_config.json
check roberta-base vocab.json merges.txt tokenizer_config.json special_tokens_map.json
check llama2
check qwen2.5
