# SPDX-License-Identifier: MIT
# Tests how `aoe grid` selects the best model. A model with an undefined score must never be selected. Every call must
# print the best model.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
# Every text begins with the same word. Truncated to 3 tokens, all texts are equal, so the score is undefined.
head -n 21 "$SRC/examples/test.tsv" | awk -F '\t' -v OFS='\t' 'NR > 1 { $2 = "a " $2; $3 = "a " $3 } { print }' \
    >prefixed.tsv
grid() { # grid OPTION...: runs aoe grid with prefixed.tsv as evaluation file
    "$AOE" grid -q -t 1 --score prefixed.tsv "$@" -- -m start -d train.tsv --dtype f32 --max-steps 2 2>/dev/null
}
models() { # models DIR: prints the models that the grid in DIR kept
    find "$1/runs" -name model.safetensors | sort
}

# The score of the first run is undefined. Its model must not be kept as the best model.
grid -o nan --over max-length=3 --keep all | tail -n 1
grid -o nan --over max-length=3,16,8 --keep best >table
sed -n "s|max-length=[0-9]*, seed 42,|RUN,|; s|max-length=[0-9]*_|max-length=N_|; s|^the model of the best run|&|p" \
    table
best=$(sed -n 's/^the model of the best run, .*, is in //p' table)
test -f "$best/model.safetensors"
models nan | sed 's/=16_\|=8_/=N_/'

# --keep all must remove no model. Both calls must print the best run.
grid -o all --over max-length=8,16 --keep all >first
grid -o all --over max-length=8,16 --keep all >second
cmp first second
grep -c '^the model of the best run' first
models all
