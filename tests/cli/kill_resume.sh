# SPDX-License-Identifier: MIT
# A run killed with SIGKILL at random moments and resumed ends with the bytes of a run that was never stopped, and the
# number of threads changes nothing. AOE_TEST_SEED repeats a failure.
. "$SRC/tests/cli/support/model.sh"
seed=${AOE_TEST_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
echo "AOE_TEST_SEED=$seed" >&2
tiny_model start
cp "$SRC/examples/test.tsv" dev.tsv
options="-q -m start -d $SRC/examples/train.tsv --dev dev.tsv --epochs 4 --lr 1e-3 --batch-size 16 --save-every 10 --eval-every 20"
began=$(date +%s%N)
# shellcheck disable=SC2086
"$AOE" train $options -o whole --threads 1 >/dev/null
took=$((($(date +%s%N) - began) / 1000000))
# shellcheck disable=SC2086
"$AOE" train $options -o two --threads 2 >/dev/null
cmp whole/model.safetensors two/model.safetensors
kills=0
for n in 1 2 3 4; do
    # between 5% and 85% of the time the whole run took
    pause=$(awk -v s="$seed" -v n=$n -v t="$took" 'BEGIN { srand(s * 10 + n); printf "%.3f", t * (0.05 + 0.8 * rand()) / 1000 }')
    code=0
    # shellcheck disable=SC2086
    timeout -s KILL "$pause" "$AOE" train $options -o killed --resume --threads $((n % 2 + 1)) >/dev/null || code=$?
    [ $code = 0 ] || kills=$((kills + 1))
    [ $code = 0 ] || [ $code = 137 ] || exit 3
done
echo "killed $kills times" >&2
test $kills -ge 1
# shellcheck disable=SC2086
"$AOE" train $options -o killed --resume --threads 1 >/dev/null
cmp whole/model.safetensors killed/model.safetensors
cmp whole/tokenizer.json killed/tokenizer.json
