# SPDX-License-Identifier: MIT
# Tests that the memory of `aoe serve` does not grow with the number of reloads: after 12 reloads, each followed by
# requests to two models, it must be at most 1.2 times that after 4.
command -v curl >/dev/null || { echo "SKIP: curl is not installed"; exit 77; }
if [ -n "${SAN-}" ]; then
    echo "SKIP: sanitizers do not release freed memory"
    exit 77
fi
if ! grep -q VmRSS /proc/self/status 2>/dev/null; then
    echo "SKIP: /proc does not contain the resident memory"
    exit 77
fi
export NO_PROXY='*'
model=$SRC/models/aoe-small-en
. "$SRC/tests/cli/support/serve.sh"
serve_start -t 2 -m "one=$model" -m "two=$model"
for name in one two; do
    awk -v name=$name 'BEGIN { printf "{\"model\":\"%s\",\"inputs\":[", name
        for (i = 0; i < 32; i++) { printf "%s\"text %d", i ? "," : "", i
            for (j = 0; j < 10 * i; j++) printf " word"
            printf "\"" }
        print "]}" }' >$name.json
done

# send: sends requests to both models at the same time
send() {
    curl -sS -o one.answer --data-binary @one.json "$url/embed" &
    first=$!
    curl -sS -o two.answer --data-binary @two.json "$url/embed"
    wait $first
}

# reload TOTAL: reloads the models until it was done TOTAL times
reloads=0
reload() {
    while [ $reloads -lt "$1" ]; do
        kill -HUP $pid
        reloads=$((reloads + 1))
        tries=0
        while [ "$(grep -c anew err)" -lt $reloads ] && [ $tries -lt 500 ]; do
            sleep 0.02
            tries=$((tries + 1))
        done
        sleep 0.1
        send
    done
}

# memory: waits until old models are closed, and prints the resident memory in KiB
memory() {
    sleep 0.5
    sed -n 's/^VmRSS:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status
}

send
reload 4
few=$(memory)
reload 12
many=$(memory)
if [ $((10 * many)) -le $((12 * few)) ]; then echo "grows: no"; else echo "grows: yes: $few to $many KiB"; fi
kill $pid
wait $pid
trap - EXIT
cmp one.answer two.answer
