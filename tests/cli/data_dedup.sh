# SPDX-License-Identifier: MIT
# Tests `aoe data dedup` with equal rows, pairs with swapped texts, several ways of comparing texts, conflicting
# labels, several file formats, and errors.
. "$SRC/tests/cli/support/model.sh"
printf 'label\tsentence1\tsentence2\tid\n1\ta\tb\t1\n1.0\tb\ta\t2\n0\ta\tb\t3\n1\tA\tb\t4\n0\tc\td\t5\n0\tc\td\t6\n' \
    >in.tsv
"$AOE" data dedup in.tsv -o out.tsv
cat out.tsv
"$AOE" data dedup in.tsv --ordered --same case --conflicts keep
"$AOE" data dedup in.tsv --conflicts drop -o out.tsv.gz --json --max 0
gzip -dc out.tsv.gz
"$AOE" data dedup in.tsv --columns sentence2 -q
printf 'a\n\na\n\nb' >list.txt
"$AOE" data dedup list.txt -q
"$AOE" data dedup - -q <list.txt | cmp - list.txt || echo fewer
"$AOE" data dedup in.tsv -o out.tsv
# An error must not change an existing output file.
cp out.tsv kept.tsv
printf 'text1\ttext2\tlabel\na\tb\t1\na\tb\t0\n' >twins.tsv
fails "$AOE" data dedup twins.tsv --conflicts drop -o kept.tsv
fails "$AOE" data dedup missing.tsv -o kept.tsv
ln out.tsv twin.tsv
fails "$AOE" data dedup out.tsv -o out.tsv
fails "$AOE" data dedup out.tsv -o ./twin.tsv
cmp out.tsv kept.tsv
printf 'text1\ttext2\na\n' >bad.tsv
fails "$AOE" data dedup bad.tsv -o kept.tsv
fails "$AOE" data dedup bad.tsv --skip-bad-rows -o kept.tsv
cmp out.tsv kept.tsv
find . -name '*tmp*'
