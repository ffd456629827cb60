# SPDX-License-Identifier: MIT
# Tests that the tokenizers of four models produce the reference ids. Each tokenizer is opened from tokenizer.json and
# from the older vocabulary files.
. "$SRC/tests/cli/support/model.sh"

# check NAME FILE...: compares the ids of the tokenizer NAME, opened from tokenizer.json, with the reference ids. If
# there are older vocabulary files FILE..., also opens the tokenizer from only these files.
check() {
    name=$1
    shift
    needs_shared "golden/tokenizers/$name.jsonl"
    needs_shared "tokenizers/$name/tokenizer.json"
    golden=$AOE_SHARED/golden/tokenizers/$name.jsonl
    tokenizer=$AOE_SHARED/tokenizers/$name
    # A line is {"text": "...", "ids": [...]}. The text ends before the last `"ids"`, because the text itself may
    # contain `"ids"`.
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
