# SPDX-License-Identifier: MIT
# Tests that the tokenizers of four models produce the reference ids, from tokenizer.json and from the older vocabulary
# files.
. "$SRC/tests/cli/support/model.sh"

# check NAME FILE...: compares the ids from tokenizer.json, and from only the older files FILE... if there are any
check() {
    name=$1
    shift
    needs_shared "golden/tokenizers/$name.jsonl"
    needs_shared "tokenizers/$name/tokenizer.json"
    golden=$AOE_SHARED/golden/tokenizers/$name.jsonl
    tokenizer=$AOE_SHARED/tokenizers/$name
    # a line is {"text": "...", "ids": [...]}; the text can contain `"ids"`, so it ends before the last one
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
