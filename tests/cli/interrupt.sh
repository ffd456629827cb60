# SPDX-License-Identifier: MIT
# tags: threads
# covers: cli/common/interrupt
# Tests that SIGINT, SIGTERM, SIGHUP and SIGUSR1 stop training. The stopped run must save a checkpoint and print how to
# resume it. The resumed run must give the weights of an uninterrupted run. Resuming a run with other options must be
# rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
options="-q -t 1 -m start -d train.tsv --batch-size 8 --epochs 60 --lr 1e-3 --save-every 100000"
# shellcheck disable=SC2086
"$AOE" train $options -o whole >/dev/null
# stop SIGNAL STEP: starts or resumes the run, sends SIGNAL to it after training step STEP, and prints its exit code
stop() {
    # shellcheck disable=SC2086
    # the shell makes background jobs ignore SIGINT
    env --default-signal=INT,HUP,USR1 "$AOE" train $options -o stopped --resume &
    pid=$!
    tries=0
    while ! grep -q "\"step\":$2" stopped/train-log.jsonl 2>/dev/null && [ $tries -lt 500 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    kill -"$1" $pid
    code=0
    wait $pid || code=$?
    echo "exit code $code"
}
stop TERM 50
is_absent stopped/model.safetensors
ls stopped/checkpoints | wc -l
stop INT 150
stop HUP 200
stop USR1 250
fails "$AOE" train -q -m start -d train.tsv --batch-size 8 --epochs 60 --lr 2e-3 -o stopped --resume
fails "$AOE" train -q -m start -d train.tsv --batch-size 8 --epochs 60 --lr 1e-3 -o stopped
# shellcheck disable=SC2086
"$AOE" train $options -o stopped --resume >/dev/null
cmp whole/model.safetensors stopped/model.safetensors
