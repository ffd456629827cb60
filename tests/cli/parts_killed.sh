# SPDX-License-Identifier: MIT
# Tests parts that are killed with SIGKILL at random times and started again. In each round, the output joined from
# the parts must have the bytes of one process, and no temporary files may remain. AOE_PART_ROUNDS=100 runs 100 rounds
# (default: 3). AOE_TEST_SEED=N repeats a failure.
. "$SRC/tests/cli/support/model.sh"
seed=${AOE_TEST_SEED:-$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')}
rounds=${AOE_PART_ROUNDS:-3}
echo "AOE_TEST_SEED=$seed" >&2
tiny_model model
awk 'BEGIN { for (i = 1; i <= 6000; i++) { printf "line %d", i; for (j = 0; j < i % 23; j++) printf " word%d", j
    print "" } }' >lines.txt
"$AOE" embed -q -m model lines.txt -o whole.npy
began=$(date +%s%N)
"$AOE" embed -q -t 1 -m model lines.txt -o whole.jsonl
seconds=$(awk -v ns=$(($(date +%s%N) - began)) 'BEGIN { print ns / 1e9 }')

# random FROM TO KEY: prints a number that depends on the seed and the key
random() {
    awk -v s="$seed" -v k="$3" -v a="$1" -v b="$2" \
        'BEGIN { srand(s * 1000 + k); printf "%.3f", a + (b - a) * rand() }'
}

kills=0 round=0
while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    format=$([ $((round % 2)) = 0 ] && echo npy || echo jsonl)
    n=$((round % 4 + 2)) done=0 try=0
    rm -f out.*
    while [ $done -lt $n ]; do
        try=$((try + 1))
        # two of three starts are killed: the first one of a round at once, the others at a random time
        code=0
        "$AOE" embed -q -t 1 -m model lines.txt -o out.$format --part $done/$n &
        pid=$!
        if [ $((try % 3)) != 0 ]; then
            if [ $try != 1 ]; then sleep "$(random 0 "$seconds" $((round * 100 + try)))"; fi
            kill -KILL $pid 2>/dev/null || :
        fi
        wait $pid || code=$?
        case $code in
        0) done=$((done + 1)) ;;
        137) kills=$((kills + 1)) ;;
        *) exit 3 ;;
        esac
    done
    # a process that is killed while it joins leaves no output, or the complete one
    "$AOE" embed -q --join -o out.$format &
    pid=$!
    sleep "$(random 0 0.02 $round)"
    kill -KILL $pid 2>/dev/null || :
    wait $pid || :
    if [ -e out.$format ]; then cmp whole.$format out.$format; fi
    "$AOE" embed -q --join -o out.$format
    cmp whole.$format out.$format
    if find . -name '*tmp*' | grep .; then exit 3; fi
done
echo "killed $kills times in $rounds rounds" >&2
test $kills -ge "$rounds"
echo "same bytes"
