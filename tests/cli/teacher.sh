# SPDX-License-Identifier: MIT
# Tests distillation from a teacher with another number of dimensions and another tokenizer. The student is trained on
# unlabeled data with only the teacher's loss, then with all losses. A run can be resumed after the teacher's directory
# was moved. Unusable teachers must be rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
"$AOE" init --quiet --hidden 24 --layers 1 --heads 2 --intermediate 32 --positions 64 \
    --vocab-from "$SRC/examples/test.tsv" --vocab-size 300 --seed 7 -o big
small_table train.tsv 64
awk -F '\t' -v OFS='\t' 'NR == 1 { print "query", "positive" } NR > 1 { print $1, $2 }' train.tsv >texts.tsv
alone="--w-cosine 0 --w-ibn 0 --w-angle 0 --w-cln 0"
# shellcheck disable=SC2086
"$AOE" train -m start -d texts.tsv -o alone --teacher big $alone --lr 1e-3 --epochs 8 --dropout 0 \
    -t 1 >/dev/null 2>notes
grep -F 'with the teacher' notes
# The teacher's loss must decrease, and it must be the only loss.
sed -n 's/.*"event":"step".*"loss":\([^,]*\),.*"teacher":\([^,]*\),.*/\1 \2/p' alone/train-log.jsonl >terms
awk '$1 != $2 { print "the total loss differs from the teacher loss: " $0 }
     NR <= 2 { first += $2 } { last = $2 + before; before = $2 }
     END { print NR " steps"; if (!(last < first / 2)) print "the loss did not decrease: " first " " last }' terms
sed -n 's/^ *"\(w_teacher\|distill\)": *\([^,]*\),*$/\1 \2/p' alone/aoe.json
# With the teacher's loss and the other losses, the weights must not depend on the number of threads.
"$AOE" train -q -m start -d train.tsv -o one --teacher big --w-teacher 3 -t 1 >/dev/null
"$AOE" train -q -m start -d train.tsv -o two --teacher big --w-teacher 3 -t 2 --batch-tokens 64 >/dev/null
cmp one/model.safetensors two/model.safetensors
# The run is resumed after the teacher was moved to another directory.
mv big bigger
rm one/model.safetensors
"$AOE" train -q -m start -d train.tsv -o one --teacher bigger --w-teacher 3 --resume >/dev/null
cmp one/model.safetensors two/model.safetensors
fails "$AOE" train -q -m start -d train.tsv -o one --teacher start --w-teacher 3 --resume 2>error
sed 's/"[0-9a-f]\{16\}"/"F"/g' error >&2
# Each command must print one error.
fails "$AOE" train -q -m start -d train.tsv -o out --teacher nowhere
fails "$AOE" train -q -m start -d train.tsv -o out --teacher bigger --distill kl
rm bigger/vocab.txt bigger/tokenizer*
fails "$AOE" train -q -m start -d train.tsv -o out --teacher bigger
is_absent out
# The teacher has the number of dimensions of the student, so --distill kl can compare the components of the vectors.
"$AOE" train -q -m start -d train.tsv -o kl --teacher one --distill kl >/dev/null
sed -n 's/^ *"\(w_teacher\|distill\)": *\([^,]*\),*$/\1 \2/p' kl/aoe.json
