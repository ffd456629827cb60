# SPDX-License-Identifier: MIT
# The five examples of README.md as they stand there: they run, and training raises the correlation.
cp -r "$SRC/examples" examples
export AOE_MODEL="$SRC/models/aoe-mini-en" # what build/aoe finds by itself
mkdir build
ln -s "$AOE" build/aoe
awk '/^## Five examples/ { on = 1 } /^Beyond them/ { on = 0 } on && /^    build\/aoe|^    tail / { print substr($0, 5) }' \
    "$SRC/README.md" >commands
wc -l <commands
score() { build/aoe eval sts -q --json -m "$1" examples/test.tsv | sed 's/.*"spearman":\([0-9.]*\).*/\1/'; }
while IFS= read -r command; do
    echo "$command" >&2
    sh -c "$command" </dev/null >>results 2>>notes || { cat notes; exit 3; }
done <commands
awk -v before="$(score "$AOE_MODEL")" -v after="$(score my-model)" 'BEGIN { exit !(after > before) }'
head -c 6 vectors.npy | tail -c 5
echo
# the texts most like the first one: itself, then others of a lower cosine
sed -n '/^- The texts of a file/,/^- /s/^      //p' "$SRC/README.md" >nearest.sh
sh nearest.sh >nearest
wc -l <nearest
head -n 1 nearest >first
sed -n 2p examples/test.tsv | cut -f 2 | sed 's/^/1.0000  /' | cmp - first
sort -rg nearest | cmp - nearest
grep -c 'cosine\|^examples/test.tsv\|^directory' results
