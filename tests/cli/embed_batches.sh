# SPDX-License-Identifier: MIT
# covers: cli/common/text_batch
# Tests `aoe embed` with more lines, and with more bytes, than it reads at a time. The output must have the order of
# the input. The vector of a text must depend neither on the other texts nor on the number of threads. An error message
# must contain the line.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
awk 'BEGIN { for (i = 1; i <= 9000; i++) { printf "line %d", i; for (j = 0; j < i % 17; j++) printf " word%d", j
    print "" } }' >lines.txt
"$AOE" embed -q -m model --format tsv -t 1 lines.txt >one.tsv
"$AOE" embed -q -m model --format tsv -t 2 lines.txt >two.tsv
"$AOE" embed -q -m model --format tsv -t 3 --batch-tokens 100 <lines.txt >three.tsv
cmp one.tsv two.tsv
cmp one.tsv three.tsv
wc -l <one.tsv
for n in 1 4096 4097 8192 8193 9000; do
    sed -n ${n}p lines.txt | "$AOE" embed -q -m model --format tsv >alone.tsv
    sed -n ${n}p one.tsv | cmp - alone.tsv
done
sort -r lines.txt >reversed.txt
"$AOE" embed -q -m model reversed.txt | sed 's/{"text":"\([^"]*\)".*/\1/' | cmp - reversed.txt

# Each line has 300,000 bytes, so only a few lines are read at a time.
awk 'BEGIN { for (i = 1; i <= 50; i++) { printf "line %d", i; for (j = 0; j < 50000; j++) printf " words"
    print "" } }' >long.txt
"$AOE" embed -q -m model --format tsv long.txt >long.tsv 2>warnings
cat warnings
wc -l <long.tsv
for n in 1 14 15 28 29 50; do
    sed -n ${n}p long.txt | "$AOE" embed -q -m model --format tsv >alone.tsv 2>warnings
    sed -n ${n}p long.tsv | cmp - alone.tsv
done

# Line 6,000 is invalid, so the error occurs after vectors of earlier lines were computed. The input is a file, then a
# pipe.
{ head -n 5999 lines.txt; printf 'not \377 UTF-8\n'; } >bad.txt
fails "$AOE" embed -q -m model --format tsv -o bad.tsv bad.txt
cat bad.txt | fails "$AOE" embed -q -m model --format tsv -o bad.tsv
is_absent bad.tsv
