# SPDX-License-Identifier: MIT
# Tests a training run that is killed with SIGKILL at random times and resumed. Its output must have the bytes of an
# uninterrupted run, for any number of threads. AOE_TEST_SEED=N repeats a failure.
. "$SRC/tests/cli/support/model.sh"
seed=${AOE_TEST_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
echo "AOE_TEST_SEED=$seed" >&2
tiny_model start
cp "$SRC/examples/test.tsv" dev.tsv
options="-q -m start -d $SRC/examples/train.tsv --dev dev.tsv --epochs 4 --lr 1e-3
    --batch-size 16 --save-every 10 --eval-every 20"
# shellcheck disable=SC2086
"$AOE" train $options -o whole --threads 1 >/dev/null
# shellcheck disable=SC2086
"$AOE" train $options -o two --threads 2 >/dev/null
cmp whole/model.safetensors two/model.safetensors

steps_done() {
    if [ -f killed/train-log.jsonl ]; then grep -c '"event":"step"' killed/train-log.jsonl || :; else echo 0; fi
}

kills=0
# The run has 148 steps. Kill n happens at a random time within a random step from 30 (n - 1) + 1 to 30 n.
for n in 1 2 3 4; do
    target=$(awk -v s="$seed" -v n=$n 'BEGIN { srand(s * 10 + n); print int(30 * (n - 1 + rand())) + 1 }')
    # shellcheck disable=SC2086
    "$AOE" train $options -o killed --resume --threads $((n % 2 + 1)) >/dev/null &
    pid=$!
    while kill -0 $pid 2>/dev/null && [ "$(steps_done)" -lt "$target" ]; do sleep 0.005; done
    sleep "$(awk -v s="$seed" -v n=$n 'BEGIN { srand(s * 100 + n); printf "%.3f", 0.02 * rand() }')"
    kill -KILL $pid 2>/dev/null || :
    code=0
    wait $pid || code=$?
    [ $code = 0 ] || kills=$((kills + 1))
    [ $code = 0 ] || [ $code = 137 ] || exit 3
done
echo "killed $kills times" >&2
test $kills -ge 1
# shellcheck disable=SC2086
"$AOE" train $options -o killed --resume --threads 1 >/dev/null
cmp whole/model.safetensors killed/model.safetensors
cmp whole/tokenizer.json killed/tokenizer.json
