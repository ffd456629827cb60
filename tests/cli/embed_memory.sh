# SPDX-License-Identifier: MIT
# Tests that the memory of `aoe embed` does not grow with the input. The peak for many texts must be at most 1.2 times
# the peak for a few texts, for short and for long lines. The test reads the peak while the program waits for more
# input.
. "$SRC/tests/cli/support/model.sh"
if [ -n "${SAN-}" ]; then
    echo "SKIP: sanitizers do not release freed memory"
    exit 77
fi
if ! grep -q VmHWM /proc/self/status 2>/dev/null; then
    echo "SKIP: /proc does not contain the peak resident memory"
    exit 77
fi
tiny_model model

# peak FILE: embeds the lines of FILE and prints the peak resident memory in KiB. The peak is read before the last
# lines are processed, because they are still in the pipe.
peak() {
    rm -f in
    mkfifo in
    # shellcheck disable=SC2086
    "$AOE" embed -q -m model --format tsv -t 2 ${options-} in >out.tsv 2>warnings &
    pid=$!
    exec 3>in
    cat "$1" >&3
    sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status
    exec 3>&-
    wait $pid
    test "$(wc -l <out.tsv)" = "$(wc -l <"$1")"
}

# grows FEW MANY: prints "no" if the peak for the file MANY is at most 1.2 times the peak for FEW
grows() {
    few=$(peak "$1")
    many=$(peak "$2")
    if [ $((10 * many)) -le $((12 * few)) ]; then echo "no"; else echo "yes: $few to $many KiB"; fi
}

awk 'BEGIN { for (i = 1; i <= 200000; i++) print "line", i, "of", i % 97, "words and some more" }' >many.txt
head -n 10000 many.txt >few.txt
grows few.txt many.txt
# The embeddings are in a temporary file until all texts are read.
options="--precision int8"
grows few.txt many.txt
options=
awk 'BEGIN { for (i = 1; i <= 60; i++) { printf "line %d", i; for (j = 0; j < 200000; j++) printf " words"
    print "" } }' >many.txt
head -n 8 many.txt >few.txt
grows few.txt many.txt
