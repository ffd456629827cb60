# SPDX-License-Identifier: MIT
# Tests `aoe data split`. No text may be in two parts, rows must keep their bytes and their order, and a seed must
# determine the parts. Other tests cover compressed files and rows that cannot be separated because they have common
# texts. After an error, no part may be written.
. "$SRC/tests/cli/support/model.sh"
awk 'BEGIN { print "text1\ttext2\tlabel"
    for (i = 0; i < 300; i++) printf "text %d\tText  %d\t%d\n", i % 150, i, i % 2 }' >pairs.tsv
"$AOE" data split pairs.tsv -o parts
"$AOE" data check parts/train.tsv parts/dev.tsv parts/test.tsv --ignore duplicate,conflict
tail -q -n +2 parts/*.tsv | sort >all
tail -n +2 pairs.tsv | sort | cmp - all
for part in train dev test; do
    grep -F -x -f parts/$part.tsv pairs.tsv | cmp - parts/$part.tsv
done
"$AOE" data split pairs.tsv -o again --threads 1 -q >out
cmp parts/dev.tsv again/dev.tsv
"$AOE" data split pairs.tsv -o again --seed 1 >/dev/null
cmp -s parts/dev.tsv again/dev.tsv && echo "expected other parts with another seed"
gzip -c pairs.tsv >pairs.tsv.gz
"$AOE" data split pairs.tsv.gz -o parts --shares left=1,right=1 --same exact -f csv
gzip -dc parts/left.tsv.gz parts/right.tsv.gz | grep -c text
# Rows with equal ids must be in one part. Near duplicates must be in one part.
printf '%b\n' '{"text":"one two three four","id":1}' '{"text":"a","id":1}' '{"text":"b","id":2}' \
    '{"text":"Two, three; four one!","id":3}' '{"text":"c","id":4}' >ids.jsonl
"$AOE" data split ids.jsonl -o ids --shares a=1,b=1 --group id --near 0.9 --json
cat ids/a.jsonl ids/b.jsonl | sort | cmp - ids.sorted 2>/dev/null || cat ids/a.jsonl ids/b.jsonl | sort
awk 'BEGIN { print "query,positive"; for (i = 0; i < 90; i++) printf "hub,%d\n", i;
    for (i = 0; i < 10; i++) printf "q%d,p%d\n", i, i }' >hub.csv
"$AOE" data split hub.csv -o hub --shares train=50,test=50
# After an error, no part may be written.
printf 'text1\ttext2\na\tb\nb\tc\n' >one.tsv
fails "$AOE" data split one.tsv -o new
is_absent new
fails "$AOE" data split missing.tsv -o new
is_absent new
mkdir old
echo kept >old/train.tsv
mkdir old/test.tsv
fails "$AOE" data split pairs.tsv -o old
cat old/train.tsv
fails "$AOE" data split parts/../pairs.tsv -o /dev/null/new
cp pairs.tsv parts/train.tsv
fails "$AOE" data split parts/train.tsv -o parts
cmp pairs.tsv parts/train.tsv
fails "$AOE" data split pairs.tsv -o new --group id
find . -name '*tmp*'
