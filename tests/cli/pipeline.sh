# SPDX-License-Identifier: MIT
# tags: threads
# Tests init, train, eval, embed and similarity in sequence on examples/. Training must improve the correlation on the
# training pairs, and the model must store its settings. The output of similarity must be the cosine of the vectors
# that embed prints.
. "$SRC/tests/cli/support/model.sh"
tiny_model start --json | sed 's/:[0-9][0-9]*/:N/g'
rm -rf start
tiny_model start
"$AOE" train -m start -d "$SRC/examples/train.tsv" -o model --epochs 4 --batch-size 16 --lr 2e-3 \
    --pooling cls-last-avg --prompt 'say: {text}' --max-length 40 --normalize --json >events.jsonl 2>notes
grep -c positive notes
sed 's/"seconds":[^,]*,/"seconds":S,/' events.jsonl
"$AOE" eval sts -m start "$SRC/examples/train.tsv" --json >before.json
"$AOE" eval sts -m model "$SRC/examples/train.tsv" --json >after.json
score() { sed 's/.*"spearman":\([^,]*\),.*/\1/' "$1"; }
awk -v b="$(score before.json)" -v a="$(score after.json)" \
    'BEGIN { print (a > b + 0.1 ? "better" : "no better: " b " " a) }'
"$AOE" info model | grep -E '^(pooling|max length|prompt|normalize|embedding)' | sed 's/  */ /g'
"$AOE" embed -q -m model --format tsv >two.tsv <<'END'
A plane is taking off.
An air plane is taking off.
END
"$AOE" similarity -m model --json 'A plane is taking off.' 'An air plane is taking off.' >similarity.json
sed 's/:[-0-9.e]*/:N/g' similarity.json
awk -F'\t' -v c="$(sed 's/.*"cosine":\([^,]*\),.*/\1/' similarity.json)" '
    NR == 1 { split($0, x) }
    NR == 2 { for (i = 1; i <= NF; i++) s += x[i] * $i; d = s - c;
        print (d < 1e-5 && -d < 1e-5 ? "equal cosine" : "differs " s " " c) }' two.tsv
"$AOE" similarity -m model --angle-form phase 'A plane is taking off.' 'An air plane is taking off.' |
    sed 's/  *[-0-9.]*$/ N/'
ls model
