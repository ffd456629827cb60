# SPDX-License-Identifier: MIT
# Tests `--dtype int8`. Vectors must not depend on the number of threads or on the other texts. A model that is stored
# as int8 and a copy of it in float32 must give equal vectors. The first line of the messages and `aoe info` name the
# type. Training and models that are not transformers are rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
printf 'a dog\nthe old cat\na very long text about a dog and a cat in a house\n\nfish\n' >texts.txt
"$AOE" embed -v -m model --dtype int8 -t 1 --format tsv texts.txt >one.tsv 2>messages
sed -n 's/.*dtype: \(int8 and \)[a-z0-9]* (\([a-z]*\)).*/\1... (\2)/p' messages
"$AOE" embed -q -m model --dtype int8 -t 3 --batch-tokens 8 --format tsv texts.txt | cmp - one.tsv
sed -n 3p one.tsv >third.tsv
sed -n 3p texts.txt | "$AOE" embed -q -m model --dtype int8 --format tsv | cmp - third.tsv
"$AOE" embed -q -m model --dtype f32 --format tsv texts.txt >f32.tsv
cmp -s f32.tsv one.tsv || echo "int8 and f32 differ"
"$AOE" info model --dtype int8 | sed -n 's/^computed in  *int8 and [a-z0-9]*$/computed in int8 and TYPE/p'
"$AOE" info model --dtype int8 --json | grep -o '"dtype":"[a-z0-9]*"'

echo "stored as int8"
"$AOE" convert -q model --dtype int8 -o small
"$AOE" convert -q small --dtype f32 -o large
for model in small large; do
    "$AOE" embed -q -m $model --dtype int8 --format tsv texts.txt >$model.tsv
done
cmp small.tsv large.tsv

echo "other commands"
printf 'a dog\ta cat\nthe cat\tthe old cat\n' >pairs.tsv
"$AOE" similarity -v -m model --dtype int8 "a dog" "a dog" 2>messages | head -1
grep -c '; dtype: int8 and [a-z0-9]* (option); CPU tier: ' messages
"$AOE" bench -q --shape bert-tiny --texts 2 --length 8 --runs 5 --dtype int8 --json | grep -o '"dtype":"[a-z0-9]*"'

echo "memory plan without training"
"$AOE" info model --dtype int8 --plan --texts 8 --length 16 | tail -n 6 | sed 's/  *[0-9.]* MiB/ N MiB/; s/ *$//'
"$AOE" info model --dtype int8 --plan --texts 8 --length 16 --json | grep -o '"plan":{.*' | sed 's/:[1-9][0-9]*/:N/g'

echo "rejected"
printf 'text1\ttext2\tlabel\na dog\ta cat\t1\nthe cat\tthe old cat\t0\n' >train.tsv
fails "$AOE" train -q -m model -d train.tsv --dtype int8 -o trained
fails "$AOE" train -q -m model -d train.tsv --method dan --dtype int8 -o trained
fails "$AOE" info --shape ran-mini --plan --dtype int8
"$AOE" info model --plan --dtype int8 --lora-r 8 || echo "exit code $?"
"$AOE" info model --plan --dtype int8 --method cross-encoder --length 16 | sed -n "s/^memory for  *//p"
printf 'cat 1 2\ndog 2 1\n' >words.txt
"$AOE" convert -q words.txt --dtype f32 -o static
fails "$AOE" embed -q -m static --dtype int8 texts.txt
fails "$AOE" bench --mode train --dtype int8
fails "$AOE" bench --shape ran-mini --dtype int8
