# SPDX-License-Identifier: MIT
# More lines than a window: order is kept, a text's vector is the same alone, among others and for any number of threads.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
awk 'BEGIN { for (i = 1; i <= 2500; i++) { printf "line %d", i; for (j = 0; j < i % 17; j++) printf " word%d", j; print "" } }' >lines.txt
"$AOE" embed -q -m model --format tsv -t 1 lines.txt >one.tsv
"$AOE" embed -q -m model --format tsv -t 2 lines.txt >two.tsv
"$AOE" embed -q -m model --format tsv -t 3 --batch-tokens 100 <lines.txt >three.tsv
cmp one.tsv two.tsv
cmp one.tsv three.tsv
wc -l <one.tsv
for n in 1 1024 1025 2048 2049 2500; do
    sed -n ${n}p lines.txt | "$AOE" embed -q -m model --format tsv >alone.tsv
    sed -n ${n}p one.tsv | cmp - alone.tsv
done
sort -r lines.txt >reversed.txt
"$AOE" embed -q -m model reversed.txt | sed 's/{"text":"\([^"]*\)".*/\1/' | cmp - reversed.txt
