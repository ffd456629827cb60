# SPDX-License-Identifier: MIT
# covers: cli/model/cmd_merge
# Tests that `aoe merge` with several models averages their weights. The result must not depend on the number of
# threads. Models that cannot be averaged must be rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
for seed in 1 2; do
    "$AOE" train -q -m start -d train.tsv --max-steps 2 --lr 1e-3 --seed $seed -o run-$seed >/dev/null
done
"$AOE" merge run-1 run-2 -o mean
"$AOE" merge -q run-1 run-2 -o threads -t 1
cmp mean/model.safetensors threads/model.safetensors && echo 'equal for any number of threads'
fails "$AOE" merge run-1 run-2 run-1/ -o new
cmp -s run-1/model.safetensors mean/model.safetensors || echo 'the mean differs from the first model'
"$AOE" merge run-1 run-2 start --dtype bf16 --json -o small
"$AOE" info small | sed -n 's/^stored as  *//p'
fails "$AOE" merge run-1 run-2 -o mean
fails "$AOE" merge run-1 run-2 -o run-2
fails "$AOE" merge run-1 missing -o new
fails "$AOE" merge run-1 -o new
# Settings that change embeddings must be equal.
"$AOE" train -q -m start -d train.tsv --max-steps 2 --pooling cls -o pooled -t 1 >/dev/null
fails "$AOE" merge run-1 pooled -o new
"$AOE" train -q -m start -d train.tsv --max-steps 2 --prompt 'query: {text}' -o prompted -t 1 >/dev/null
fails "$AOE" merge run-1 prompted -o new
"$AOE" train -q -m start -d train.tsv --max-steps 2 --method simcse-sup -o dense -t 1 >/dev/null
fails "$AOE" merge run-1 dense -o new
"$AOE" whiten -q -m run-1 train.tsv -o white
"$AOE" whiten -q -m run-1 train.tsv -o white-8 -k 8
fails "$AOE" merge run-1 white -o new
fails "$AOE" merge white white-8 -o new
"$AOE" train -q -m start -d train.tsv --max-steps 2 --method simcse-sup --seed 1 -o dense-1 -t 1 >/dev/null
"$AOE" merge -q dense dense-1 -o mean-dense
"$AOE" info mean-dense | grep '^modules'
tiny_model other --positions 32
fails "$AOE" merge run-1 other -o new
ls -d new 2>/dev/null || echo 'nothing written'
