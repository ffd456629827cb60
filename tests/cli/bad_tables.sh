# SPDX-License-Identifier: MIT
# Tests damaged tables in training and evaluation. The message must be one line with the file, the line and the column.
# The exit code must be 1, and no file may be written.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
small_table good.tsv 20
train() { # train FILE: expects training on FILE to fail and to write nothing
    fails "$AOE" train -q -m model -d "$1" -o out
    is_absent out
}
both() { # both FILE: expects FILE to be rejected as training data, as evaluation file and as dev set
    train "$1"
    fails "$AOE" eval sts -q -m model good.tsv "$1"
    fails "$AOE" train -q -m model -d good.tsv --dev "$1" -o out
    is_absent out
}
cut -f 1,2 good.tsv >column.tsv; both column.tsv
sed '7s/^[0-9.]*/high/' good.tsv >score.tsv; both score.tsv
sed '7s/^[0-9.]*//' good.tsv >noscore.tsv; both noscore.tsv
sed '7s/\t.*//' good.tsv >short.tsv; both short.tsv
sed "7s/ /$(printf '\377')/" good.tsv >utf8.tsv; both utf8.tsv
: >empty.tsv; both empty.tsv
head -n 1 good.tsv >header.tsv; both header.tsv
printf '{"text1":"a","text2":"b","label":1}\n{"text1":"a","text2":\n' >broken.jsonl; both broken.jsonl
printf '{"text1":"a","text2":"b"}\n' >key.jsonl; both key.jsonl
printf 'text1,text2,label\n"a,b,1\n' >quote.csv; both quote.csv
head -c 200 good.tsv >torn.tsv.gz; both torn.tsv.gz
cp good.tsv table.xlsx; both table.xlsx
both missing.tsv
mkdir folder.tsv; train folder.tsv
# These tables are errors only in training: an empty text, equal labels for all pairs, and a dev set with equal labels,
# for which the correlation is undefined.
awk -F'\t' -v OFS='\t' 'NR == 5 { $3 = "" } { print }' good.tsv >text.tsv; train text.tsv
awk -F'\t' -v OFS='\t' 'NR > 1 { $1 = 3 } { print }' good.tsv >equal.tsv; train equal.tsv
fails "$AOE" train -q -m model -d good.tsv --dev equal.tsv -o out
is_absent out
# Equal labels are accepted if the in-batch negatives loss is the only loss.
"$AOE" train -q -m model -d equal.tsv -o negatives --w-cosine 0 --w-angle 0 | sed 's/ in [0-9]* s//'
# --skip-bad-rows skips unreadable rows.
"$AOE" train -q -m model -d score.tsv -o skipped --skip-bad-rows | sed 's/ in [0-9]* s//'
fails "$AOE" train -q -m model -d good.tsv --columns text1=nope -o out
fails "$AOE" train -q -m model -d good.tsv --label-map high -o out
is_absent out
# a decimal comma, and a table without a header
printf 'text1\ttext2\tlabel\na\tb\t0,5\n' >comma.tsv; both comma.tsv
printf 'a cat\ta dog\t0.5\na car\ta bus\t2\n' >headless.tsv; both headless.tsv
code=0
"$AOE" embed -q -m model --batch-size 8 good.tsv || code=$?
test $code = 2
# SNLI names its label column gold_label, and marks pairs without a gold label with '-'.
printf '%b\n' '{"gold_label":"entailment","sentence1":"a man","sentence2":"a person"}' \
    '{"gold_label":"-","sentence1":"a car","sentence2":"a bus"}' \
    '{"gold_label":"contradiction","sentence1":"a cat","sentence2":"no cat"}' >snli.jsonl
both snli.jsonl
"$AOE" train -m model -d snli.jsonl -o snli --max-steps 1 --label-map -=drop 2>&1 >/dev/null | grep '^snli.jsonl'
"$AOE" train -m model -d snli.jsonl -o snli --force --max-steps 1 --skip-bad-rows 2>&1 >/dev/null | grep 'snli.jsonl'
# Plain texts are given to a method that does not train on them.
printf 'a cat\na dog\n' >plain.txt; train plain.txt
printf 'source\tsentence\nbook\ta cat\nbook\ta dog\n' >plain.tsv; train plain.tsv
printf 'text\tlabel\na cat\t1\n' >renamed.tsv
fails "$AOE" train -q -m model -d renamed.tsv --columns text1=text,text2=other -o out
is_absent out
