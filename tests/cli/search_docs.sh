# SPDX-License-Identifier: MIT
# Runs the five examples of docs/search.md without changes. Each prints at least one line.
cp -r "$SRC/examples" "$SRC/include" .
mkdir bin
ln -s "$AOE" bin/aoe
export PATH="$PWD/bin:$PATH" AOE_MODEL="$SRC/models/aoe-small-en"
awk '/^## Five examples/ { on = 1 } /^## The index directory/ { on = 0 } on && /^       / { print substr($0, 8) }' \
    "$SRC/docs/search.md" >commands
while IFS= read -r command; do
    sh -c "$command" </dev/null >result 2>notes || { echo "failed: $command" && cat notes; }
    printf "%s: %s\n" "$([ -s result ] && echo prints || echo prints nothing)" "$command"
done <commands
