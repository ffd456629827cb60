# SPDX-License-Identifier: MIT
# Tests `aoe tokenize --jsonl` with text pairs. The token types of the second text are 1. If the pair is too long,
# the longer text is truncated first, and then both texts.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
printf '["the cat", "a dog"]\n["", "a dog"]\n["", ""]\n' >pairs.jsonl
"$AOE" tokenize -m model --jsonl --json --tokens pairs.jsonl | sed 's/"ids":\[[0-9,]*\],//'
printf '["a a a a a", "the the"]\n["the the", "a a a a a"]\n["a a a", "the the the"]\n' >long.jsonl
for n in 8 7 6 4 3; do
    "$AOE" tokenize -m model --jsonl --json --tokens --max-length $n long.jsonl |
        sed 's/.*"truncated":\(true\|false\).*"tokens":/\1 /; s/}$//'
done
fails "$AOE" tokenize -m model --jsonl --max-length 2 long.jsonl
printf '["a", "b", "c"]\n' >bad.jsonl
fails "$AOE" tokenize -m model --jsonl bad.jsonl
# the same ids from vocab.txt
mkdir files
cp model/vocab.txt model/tokenizer_config.json files
"$AOE" tokenize -m model --jsonl pairs.jsonl >ids
"$AOE" tokenize -m files --jsonl pairs.jsonl | cmp - ids
