# SPDX-License-Identifier: MIT
# Tests `aoe data mine`. It writes triplets as JSONL and TSV and prints a summary. The tests cover the options that
# select negatives, a corpus, and training on the output. Bad input must not change an existing output file.
. "$SRC/tests/cli/support/model.sh"
word_model model
printf 'text1\ttext2\tlabel\ncat\tkitten\t5\ndog\tpuppy\t4\ncat\ttiger\t1\nCat\twolf\t0\n' >pairs.tsv
"$AOE" data mine -m model pairs.tsv
"$AOE" data mine -m model pairs.tsv -f tsv -n 2 -q --threads 1 >two.tsv
"$AOE" data mine -m model pairs.tsv -o two2.tsv -n 2 --threads 2
cmp two.tsv two2.tsv
cat two.tsv
# removes the last digits of cosines, which depend on the CPU tier
short() { sed 's/\(0\.[0-9]\{6\}\)[0-9]*/\1/g' "$@"; }
"$AOE" data mine -m model pairs.tsv -o scored.tsv --scores --from-queries --skip 1 --json >summary
short summary scored.tsv
"$AOE" data mine -m model pairs.tsv -o out.jsonl --max-score 0.8 --scores
short out.jsonl
"$AOE" data mine -m model pairs.tsv -o out.jsonl --margin 0 --threshold 1
cat out.jsonl
# Lists of alternative texts must be kept. The corpus is a compressed text file or a table.
printf '{"query":["cat","kitten"],"positive":["kitten","tiger"]}\n{"query":"dog","positive":["a \\t dog","puppy"]}\n' \
    >lists.jsonl
printf 'puppy\n\nwolf\n' | gzip -c >corpus.txt.gz
printf 'body\nCat\n' >corpus.tsv
"$AOE" data mine -q -m model lists.jsonl pairs.tsv --corpus corpus.txt.gz --sample --seed 3
"$AOE" data mine -q -m model lists.jsonl --corpus corpus.tsv --corpus-columns text=body
"$AOE" data mine -q -m model pairs.tsv --columns text1=text2,text2=text1 --form pairs
# With --tuples, a row contains all negatives.
"$AOE" data mine -q -m model pairs.tsv -n 2 --tuples
"$AOE" data mine -q -m model pairs.tsv -n 2 --tuples -o tuples.tsv
cat tuples.tsv
"$AOE" train -m model -d tuples.tsv -o tuned3 --max-steps 1 --allow-duplicates 2>&1 | grep tuples.tsv
fails "$AOE" data mine -q -m model pairs.tsv -n 9 --tuples
# A model can be trained on the output.
"$AOE" train -q -m model -d two.tsv -o tuned --epochs 2 --batch-size 2 --allow-duplicates | sed 's/ in [0-9]* s//'
"$AOE" train -q -m model -d out.jsonl -o tuned2 --epochs 2 --batch-size 2 --allow-duplicates | sed 's/ in [0-9]* s//'
# An error must not change an existing output file.
cp two.tsv kept.tsv
fails "$AOE" data mine -m model lists.jsonl -o kept.tsv
fails "$AOE" data mine -m model pairs.tsv -o kept.tsv --margin 2
fails "$AOE" data mine -m model pairs.tsv missing.tsv -o kept.tsv
fails "$AOE" data mine -m model pairs.tsv --threshold 6 -o kept.tsv
fails "$AOE" data mine -m model pairs.tsv --corpus pairs.tsv -o kept.tsv
fails "$AOE" data mine -m missing pairs.tsv -o kept.tsv
fails "$AOE" data mine -m model pairs.tsv -o /dev/null/out.tsv
fails "$AOE" data mine -m model pairs.tsv -f tsv -o /dev/full
fails "$AOE" data mine -q -m model pairs.tsv >/dev/full
cmp two.tsv kept.tsv
cp pairs.tsv before.tsv
fails "$AOE" data mine -m model pairs.tsv -o ./pairs.tsv
fails "$AOE" data mine -m model two.tsv --corpus pairs.tsv -o pairs.tsv
cmp pairs.tsv before.tsv
printf 'query\tpositive\ncat\tkitten\ndog\t\n' >bad.tsv
fails "$AOE" data mine -m model bad.tsv
"$AOE" data mine -m model bad.tsv pairs.tsv --skip-bad-rows | wc -l
find . -name '*tmp*'
