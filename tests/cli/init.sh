# SPDX-License-Identifier: MIT
# Tests `aoe init` with sizes, seeds, the tokenizer of another model, --force, --cased, and named shapes.
. "$SRC/tests/cli/support/model.sh"
tiny_model a
tiny_model b
tiny_model c --seed 7
cmp a/model.safetensors b/model.safetensors
cmp -s a/model.safetensors c/model.safetensors && echo "expected other weights with another seed"
cmp a/tokenizer.json c/tokenizer.json
"$AOE" info a | grep -E '^(hidden|layers|heads|intermediate|vocabulary|positions|dropout|architecture)' |
    sed 's/  */ /g'
"$AOE" init -q --hidden 128 --layers 1 --tokenizer a --dropout 0 -o d
cmp a/tokenizer.json d/tokenizer.json
"$AOE" info d | grep -E '^(hidden|heads|intermediate|vocabulary|positions|dropout)' | sed 's/  */ /g'
"$AOE" init -q --shape bert-tiny --layers 1 --tokenizer a -o e
"$AOE" info e | grep -E '^(hidden|layers|heads|intermediate)' | sed 's/  */ /g'
cp "$SRC/examples/README.md" .
head -n 20 "$SRC/examples/train.tsv" >part.tsv
"$AOE" init -q --hidden 32 --layers 1 --cased --vocab-size 300 --vocab-from part.tsv README.md -o f || echo "no table"
mv README.md words.txt
"$AOE" init --hidden 32 --layers 1 --cased --vocab-size 300 --vocab-from part.tsv words.txt -o f
echo 'The the' | "$AOE" tokenize -m f --no-specials --tokens
before=$(cksum <f/model.safetensors)
"$AOE" init -q --hidden 32 --layers 1 --tokenizer a --seed 9 --force -o f
test "$before" != "$(cksum <f/model.safetensors)"
ls -A f
