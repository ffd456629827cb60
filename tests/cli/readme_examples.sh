# SPDX-License-Identifier: MIT
# The five examples of README.md as they stand there: they run, and training raises the correlation.
cp -r "$SRC/examples" examples
mkdir build
ln -s "$AOE" build/aoe
awk '/^## Five examples/ { on = 1 } /^Every command has/ { on = 0 } on && /^    build\/aoe|^    tail / { print substr($0, 5) }' \
    "$SRC/README.md" >commands
wc -l <commands
score() { build/aoe eval sts -q --json -m "$1" examples/test.tsv | sed 's/.*"spearman":\([0-9.]*\).*/\1/'; }
while IFS= read -r command; do
    echo "$command" >&2
    sh -c "$command" </dev/null >>results 2>>notes || { cat notes; exit 3; }
done <commands
awk -v before="$(score start)" -v after="$(score my-model)" 'BEGIN { exit !(after > before + 0.03) }'
head -c 6 vectors.npy | tail -c 5
echo
grep -c . results
