# SPDX-License-Identifier: MIT
# Tests `aoe data convert` with all file formats, compression, columns, pairs, positives and triplets. A model is
# trained on the output. Bad input and a full disk must not change an existing output file.
. "$SRC/tests/cli/support/model.sh"
word_model model
printf 'score\tsentence1\tsentence2\tgenre\n5.00\tcat\t"kitten", soft\ta\n1\tdog\twolf\tb\n4.2\tdog\tpuppy\ta\n' >in.tsv
"$AOE" data convert in.tsv -o a.csv
cat a.csv
"$AOE" data convert a.csv -o b.jsonl.gz
"$AOE" data convert b.jsonl.gz -o c.tsv.zst -q
"$AOE" data convert c.tsv.zst -o d.tsv --json
cmp in.tsv d.tsv
gzip -dc b.jsonl.gz
"$AOE" data convert in.tsv -f jsonl --keep sentence1,score --rename sentence1=text
"$AOE" data convert in.tsv --keep sentence2 -f txt -q
# pairs, positives and triplets
"$AOE" data convert in.tsv --to positives -o p.tsv
"$AOE" data convert in.tsv --to positives --threshold 1 -f csv -q
"$AOE" data convert in.tsv --to triplets -f jsonl
"$AOE" data convert in.tsv --to triplets --json --columns text1=sentence2,text2=sentence1 -o none.tsv || echo none
"$AOE" data convert p.tsv --to triplets -o t.tsv
cat t.tsv
"$AOE" data convert t.tsv --to pairs -f tsv
printf '%b\n' '{"premise":"p","hypothesis":"e","label":"entailment"}' \
    '{"premise":"P.","hypothesis":"n","label":"neutral"}' '{"premise":"P.","hypothesis":"c","label":"contradiction"}' \
    >nli.jsonl
"$AOE" data convert nli.jsonl --to triplets --same letters -f tsv
"$AOE" data convert nli.jsonl --to pairs --label-map neutral=0.5 -f tsv -q
# A model can be trained on the output.
"$AOE" train -q -m model -d t.tsv -o tuned --epochs 2 --batch-size 2 --allow-duplicates | sed 's/ in [0-9]* s//'
# An error must not change an existing output file.
cp d.tsv kept.tsv
printf '{"a":"x\\ty"}\n' >tab.jsonl
fails "$AOE" data convert tab.jsonl -o kept.tsv
fails "$AOE" data convert missing.tsv -o kept.tsv
fails "$AOE" data convert in.tsv -o ./in.tsv
cmp in.tsv d.tsv
fails "$AOE" data convert nli.jsonl --to triples -o kept.tsv # the old name of triplets
fails "$AOE" data convert in.tsv --keep sentence3 -o kept.tsv
fails "$AOE" data convert in.tsv --rename score=sentence1 -o kept.tsv
fails "$AOE" data convert in.tsv -o /dev/null/out.tsv
head -c 30 b.jsonl.gz >torn.jsonl.gz
fails "$AOE" data convert torn.jsonl.gz -o kept.tsv
cmp d.tsv kept.tsv
"$AOE" data convert in.tsv -f csv -q >/dev/full || echo full
printf 'a\tb\n1\n2\t3\n' >bad.tsv
fails "$AOE" data convert bad.tsv -o kept.tsv
"$AOE" data convert bad.tsv -o kept.tsv --skip-bad-rows
find . -name '*tmp*'
