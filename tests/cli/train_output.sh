# SPDX-License-Identifier: MIT
# covers: cli/train/training_run
# Tests the output of `aoe train`. Evaluations and the final result are printed on stdout, as text or as JSON. The
# first line on stderr describes the run, and --quiet suppresses it. The saved model must be the model with the best
# dev score.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
cp "$SRC/examples/test.tsv" dev.tsv
options="-m start -d train.tsv --dev dev.tsv --batch-size 8 --epochs 3 --lr 1e-3 --eval-every 6"
# shellcheck disable=SC2086
"$AOE" train $options -o text >text.out
awk '/^ / { print $1, $2, NR == 1 ? $3 " " $4 " " $5 : "" }' text.out
sed -n 's/in [0-9]* s; dev Spearman [-0-9.]* at step [0-9]*;/in S; dev Spearman R at step N;/p' text.out
grep -c ' best$' text.out >improvements
test "$(cat improvements)" -ge 1
# shellcheck disable=SC2086
"$AOE" train $options -o json --json -q >json.out
sed 's/\("[a-z_]*spearman"\|"dev_pearson"\|"seconds"\):[-0-9.e]*/\1:R/g; s/"best_step":[0-9]*/"best_step":N/' json.out
# Both runs must save equal weights. The printed score must be the score of the saved model.
cmp text/model.safetensors json/model.safetensors
best=$(sed -n 's/.*"event":"done".*"dev_spearman":\([^,]*\),.*/\1/p' json.out)
"$AOE" eval sts -m json dev.tsv --json | sed 's/.*"spearman":\([^,]*\),.*/\1/' >score
echo "$best" | cmp - score
# The log must contain every step.
grep -c '"event":"step"' json/train-log.jsonl
