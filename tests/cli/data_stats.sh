# SPDX-License-Identifier: MIT
# Tests `aoe data stats`. It prints statistics of rows, labels and text lengths in every output format. With a model,
# lengths are also in tokens. The counts for examples/ are compared with counts by awk.
. "$SRC/tests/cli/support/model.sh"
word_model model
printf 'premise,hypothesis,label\na cat,the dog runs,entailment\na cat,"x\ny",contradiction\nb,c,neutral\nb,c,maybe\n' \
    >nli.csv
printf 'one\n\ntwo words\n' >list.txt
"$AOE" data stats nli.csv list.txt
"$AOE" data stats nli.csv list.txt -m model --longer 2 --only lengths -f markdown
"$AOE" data stats nli.csv --label-map maybe=0,neutral=1 --only rows -f csv
"$AOE" data stats nli.csv --only labels
"$AOE" data stats list.txt --only labels
"$AOE" data stats nli.csv list.txt -m model --longer 2 --json
awk 'BEGIN { print "text1\ttext2\tlabel"; for (i = 0; i < 42; i++) printf "a\tb\t%s\n", i / 2 }' >scores.tsv
"$AOE" data stats scores.tsv --only labels --bins 4
"$AOE" data stats scores.tsv --only rows --threshold 10
# Compares the counts for examples/ with counts by awk.
cp "$SRC/examples/test.tsv" sts.tsv
"$AOE" data stats sts.tsv --json >got
awk -F '\t' 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
    { n++; for (k = 1; k <= 2; k++) { t = $column["sentence" k]; if (!(t in seen)) { seen[t] = 1; distinct++ }
        words += split(t, w, " ") } }
    END { printf "\"rows\":%d,\"skipped\":0,\"texts\":%d,\"distinct\":%d %.6f\n", n, 2 * n, distinct,
        words / 2 / n }' "$SRC/examples/test.tsv" >want
read -r counts mean <want
grep -q -F "$counts" got || echo "not found: $counts"
sed 's/.*"words":{"mean":\([0-9.]*\).*/\1/' got | awk -v m="$mean" \
    '{ d = $1 - m; if (d < -1e-6 || d > 1e-6) print $1, m }'
printf 'text1\ttext2\na\n' >bad.tsv
fails "$AOE" data stats nli.csv bad.tsv
fails "$AOE" data stats missing.tsv
fails "$AOE" data stats nli.csv -m missing
fails "$AOE" data stats bad.tsv --skip-bad-rows
