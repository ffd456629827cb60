# SPDX-License-Identifier: MIT
# Memory does not grow with the input: the peak after many texts is at most 1.2 times the peak after few, for short lines
# and for long ones. The program is asked while it still waits for more input.
. "$SRC/tests/cli/support/model.sh"
if [ -n "${SAN-}" ]; then
    echo "SKIP: sanitizers keep freed memory"
    exit 77
fi
if ! grep -q VmHWM /proc/self/status 2>/dev/null; then
    echo "SKIP: /proc does not tell the peak of memory here"
    exit 77
fi
tiny_model model

# peak FILE: KiB resident at most while the lines of FILE were embedded, but for what a pipe holds
peak() {
    rm -f in
    mkfifo in
    "$AOE" embed -q -m model --format tsv -t 2 in >out.tsv 2>warnings &
    pid=$!
    exec 3>in
    cat "$1" >&3
    sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status
    exec 3>&-
    wait $pid
    test "$(wc -l <out.tsv)" = "$(wc -l <"$1")"
}

# grows FEW MANY: compares the peaks
grows() {
    few=$(peak "$1")
    many=$(peak "$2")
    if [ $((10 * many)) -le $((12 * few)) ]; then echo "no"; else echo "yes: $few to $many KiB"; fi
}

awk 'BEGIN { for (i = 1; i <= 200000; i++) print "line", i, "of", i % 97, "words and some more" }' >many.txt
head -n 10000 many.txt >few.txt
grows few.txt many.txt
awk 'BEGIN { for (i = 1; i <= 60; i++) { printf "line %d", i; for (j = 0; j < 200000; j++) printf " words"; print "" } }' >many.txt
head -n 8 many.txt >few.txt
grows few.txt many.txt
