# SPDX-License-Identifier: MIT
# Tests what `aoe train` says about its data: which rows are not used and why, and what to do if all labels are equal.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
train() { "$AOE" train -m model -o trained --force --batch-size 2 "$@" 2>&1 | sed '/^pooling:/d; s/ in [0-9]* s;/;/'; }
printf 'first,second,score\na dog,the dog,1\na car,the bus,0.1\na cat,a bird,0.2\nthe cow,a cow,0.9\na bus\nx,y,-\n' \
    >rows.csv
train -d rows.csv 'columns=text1=first,text2=second,label=score' --method simcse-sup --ibn-threshold 0.5 \
    --label-map -=drop --skip-bad-rows
sed -n '1s/.*\("pairs.*threshold\).*/\1/p' trained/train-log.jsonl
train -d rows.csv 'columns=text1=first,text2=second,label=score' --label-map -=drop --skip-bad-rows
# all labels are equal: the options of the message work
printf 'the question\tcontext\tvalue\na dog\tthe dog\t1\na car\tthe bus\t1\n' >equal.tsv
columns='text1=the question,text2=context,label=value'
train -d equal.tsv --columns "$columns"
train -q -d equal.tsv --columns 'query=the question,positive=context,ignore=value'
train -q -d equal.tsv --columns "$columns" --w-cosine 0 --w-angle 0
# a document is not a table; the message lists the formats
cp equal.tsv table.md
"$AOE" train -q -m model -d table.md -o unused || echo "exit $?"
"$AOE" eval sts -q -m model table.md || echo "exit $?"
is_absent unused
