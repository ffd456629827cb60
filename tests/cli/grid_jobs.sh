# SPDX-License-Identifier: MIT
# tags: slow
# Tests the parallel runs of `aoe grid`. After Ctrl-C, each active run must save a checkpoint, and repeating the
# command must resume the runs. --jobs and --memory limit the number of parallel runs. A full disk must be an error,
# and there may be no partial record.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
head -n 21 "$SRC/examples/test.tsv" >dev.tsv
base="-m start -d train.tsv --dev dev.tsv --batch-size 8 --dtype f32"
steps() { # steps FILE: prints the last step in the log of a run; 0 if there is none
    newest=$(sed -n 's/.*"event":"step","step":\([0-9]*\).*/\1/p' "$1" 2>/dev/null | tail -n 1)
    echo "${newest:-0}"
}
children() { # children PID: prints the number of child processes
    cat "/proc/$1/task/$1/children" 2>/dev/null | wc -w
}

# shellcheck disable=SC2086
env --default-signal=INT "$AOE" grid -q --jobs 2 -t 2 -o stopped --over lr=1e-4,1e-3 -- $base --epochs 100 \
    --save-every 1000000 --eval-every 1000000 >table & # the shell makes background jobs ignore SIGINT
pid=$!
one=stopped/runs/lr=1e-4_seed=42/model two=stopped/runs/lr=1e-3_seed=42/model
while [ "$(steps $one/train-log.jsonl)" -lt 50 ] || [ "$(steps $two/train-log.jsonl)" -lt 50 ]; do sleep 0.01; done
children $pid
kill -INT $pid
code=0
wait $pid || code=$?
echo "exit code $code"
ls $one/checkpoints | wc -l
ls $two/checkpoints | wc -l
test -z "$(find stopped -name record.json)"
# shellcheck disable=SC2086
"$AOE" grid -q --jobs 2 -t 2 -o stopped --over lr=1e-4,1e-3 -- $base --epochs 100 --save-every 1000000 \
    --eval-every 1000000 >table
# The resumed run must start after the last step of the checkpoint. Its seconds start at 0.
sed -n 's/.*"event":"step","step":\([0-9]*\),.*"seconds":\([0-9.e-]*\).*/\1 \2/p' $one/train-log.jsonl |
    awk '$2 < before { anew++; at = $1 } { before = $2 } END { print anew, (at >= 50) }'
wc -l <stopped/results.jsonl

most=0
most_children() { # most_children OPTION...: starts a grid of four runs and prints the maximum number of parallel runs
    rm -rf some
    # shellcheck disable=SC2086
    "$AOE" grid -q --jobs 2 -t 2 -o some --over lr=lin:1e-4:4e-4:4 "$@" -- $base --epochs 20 \
        --eval-every 1000000 >/dev/null &
    pid=$!
    most=0
    while kill -0 $pid 2>/dev/null; do
        n=$(children $pid)
        [ "$n" -le $most ] || most=$n
        sleep 0.02
    done
    wait $pid
    echo "$most at once: $*"
}
most_children
most_children --memory 50M

mkdir disk
if mount -t tmpfs -o size=300k none disk 2>/dev/null; then
    trap 'umount disk' EXIT
    # shellcheck disable=SC2086
    fails "$AOE" grid -q -o disk/grid --over lr=1e-4,1e-3 -- $base >table 2>err
    tail -n 1 err >&2
    test -z "$(find disk -name record.json)"
    find disk -name '*.tmp*'
else
    echo 'aoe: grid: 2 of 2 runs failed; run the same command to repeat them' >&2
fi
