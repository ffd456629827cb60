# SPDX-License-Identifier: MIT
# covers: cli/search/index_session
# Tests that an interrupted `aoe index` stores its work, and that the same command completes the index. A killed run
# leaves the last commit.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
mkdir notes
for i in $(seq 1 100); do
    { echo "Note $i" && tail -n +"$i" "$SRC/examples/train.tsv" | head -n 40; } >"notes/$i.txt"
done
# stop SIGNAL: starts the index, sends SIGNAL to it as soon as its directory exists, and prints its exit code
stop() {
    # the shell makes background jobs ignore SIGINT
    env --default-signal=INT "$AOE" index -q -t 1 notes >out 2>err &
    pid=$!
    tries=0
    while [ ! -e .aoe-index/index.db ] && [ $tries -lt 500 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    sleep 0.05
    kill -"$1" $pid
    code=0
    { wait $pid; } 2>/dev/null || code=$?
    echo "exit code $code"
}
stop INT
grep -o 'interrupted.*' err
grep -c '^documents: [0-9]* added' out
"$AOE" index -q --verify
stop KILL
"$AOE" index -q --verify
"$AOE" index -q notes | grep -o '100 documents'
"$AOE" search -q --mode lexical -k 1 --files '"Note 99"'
# The index is equal to one that was created without interruptions.
"$AOE" index -q -o whole.index notes >/dev/null
"$AOE" index -o whole.index --export jsonl >whole
"$AOE" index --export jsonl | cmp - whole
