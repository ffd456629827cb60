# SPDX-License-Identifier: MIT
# Tests `aoe tokenize --decode`, which converts token ids to texts. It must read what `aoe tokenize` prints, and print
# JSON strings that `aoe tokenize --jsonl` reads. Also tests --offsets.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
printf 'The cat, a dog!\n\n[MASK] cats\n' >text.txt
"$AOE" tokenize -q -m model text.txt | "$AOE" tokenize -m model --decode
"$AOE" tokenize -q -m model --json text.txt >ids
"$AOE" tokenize -m model --decode --keep-specials <ids
"$AOE" tokenize -m model --decode ids | "$AOE" tokenize -q -m model --jsonl >again
"$AOE" tokenize -q -m model --decode again
printf '[0, 2000000000]\n[]\n' | "$AOE" tokenize -m model --decode --json --keep-specials
printf '[2000000000]\n' | "$AOE" tokenize -m model --decode -q
mkdir bytes
cat >bytes/tokenizer.json <<'END'
{"decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "vocab": {"a": 0, "Ċ": 1, "Ã": 2, "Ġ": 3}, "merges": []}}
END
printf '[0,1,2,3,0]\n' | "$AOE" tokenize -m bytes --decode
sed -i 's/ByteLevel/CTC/' bytes/tokenizer.json
printf '[0]\n' | fails "$AOE" tokenize -m bytes --decode
for line in '[1,' '"text"' '{"id": [1]}' '[1, "a"]' '[-1]' '[1.5]' '[9999999999]' '[[1]]'; do
    printf '[1]\n%s\n' "$line" | fails "$AOE" tokenize -m model --decode >/dev/null
done
# the range of each token in the text
printf 'The c\303\251 dogs!\n' | "$AOE" tokenize -m model --json --offsets --tokens
printf 'the cat\n' | "$AOE" tokenize -m model --json --offsets --tokens --prompt 'a {text} b' --max-length 5
printf '["the", "cat"]\n' | fails "$AOE" tokenize -m model --json --offsets --jsonl
for options in '--decode --jsonl' '--decode --tokens' '--decode --max-length 3' '--decode --whole-files' \
    --keep-specials --offsets; do
    code=0
    "$AOE" tokenize -m model $options || code=$?
    test $code = 2
done
