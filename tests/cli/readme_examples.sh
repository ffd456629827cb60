# SPDX-License-Identifier: MIT
# Runs the example commands of README.md without changes, except those that need the Hugging Face Hub. Their training
# run must improve the correlation. README.md must fit on two screens.
# tags: slow
cp -r "$SRC/examples" examples
cp -r "$SRC/docs" docs
export AOE_MODEL="$SRC/models/aoe-small-en" # the default model, which build/aoe finds without this variable
mkdir build
ln -s "$AOE" build/aoe
awk '/^## Five examples/ { on = 1 } /^## Use something else/ { on = 0 }
    on && /^       build\/aoe/ && !/sentence-transformers\// { print substr($0, 8) }' "$SRC/README.md" >commands
wc -l <commands
[ "$(wc -l <"$SRC/README.md")" -le 80 ] || echo "README.md has more than 80 lines"
score() { build/aoe eval sts -q --json -m "$1" examples/test.tsv | sed 's/.*"spearman":\([0-9.]*\).*/\1/'; }
while IFS= read -r command; do
    echo "$command" >&2
    sh -c "$command" </dev/null >>results 2>>notes || { cat notes; exit 3; }
done <commands
awk -v before="$(score "$AOE_MODEL")" -v after="$(score my-model)" 'BEGIN { exit !(after > before) }'
head -c 6 vectors.npy | tail -c 5
echo
grep -c '^cosine\|^test.tsv' results
