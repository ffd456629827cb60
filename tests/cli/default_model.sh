# SPDX-License-Identifier: MIT
# tags: slow
# Tests the default model. The program must find it after installation and in the source tree. Its size must be below
# 16 MB. Similar sentences must have higher scores than other sentences. The model can be trained further.
. "$SRC/tests/cli/support/model.sh"
export AOE_CPU=c # results do not depend on the CPU
model=$SRC/models/aoe-small-en
[ "$(cat $(find "$model" -type f) | wc -c)" -lt 16000000 ] && echo 'below 16 MB'
mkdir -p installed/bin installed/share/aoe tree/build
ln -s "$SRC/models" installed/share/aoe/models
ln -s "$SRC/models" tree/models
ln -s "$SRC/include" tree/include # identifies a source tree
cp "$AOE" installed/bin/aoe
cp "$AOE" tree/build/aoe
for aoe in installed/bin/aoe tree/build/aoe; do
    "$aoe" info | sed -n 's/^directory .*models\//found /p'
done
aoe=tree/build/aoe
"$aoe" info | grep -E '^(architecture|stored|pooling|max length)' | sed 's/  */ /g'
echo 'A plane is taking off.' | "$aoe" tokenize --tokens
echo 'A plane is taking off.' | "$aoe" embed -q | tr ',' '\n' | wc -l
cosine() { "$aoe" similarity "$1" "$2" | awk '/^cosine/ { print $2 }'; }
similar=$(cosine 'A plane is taking off.' 'An aircraft departs.')
other=$(cosine 'A plane is taking off.' 'She cooks rice for dinner.')
awk -v a="$similar" -v b="$other" 'BEGIN { print (a > b + 0.3 ? "similar above other" : a " and " b) }'
# The score must be higher than the score of word overlap, which is 55.7 (examples/README.md), and than that of a model
# that was trained from random weights, which is 62.5 (recipes/aoe-mini-en).
"$aoe" eval sts -q --json "$SRC/examples/test.tsv" | sed 's/.*"spearman":\([0-9.]*\).*/\1/' |
    awk '{ print ($1 > 0.65 ? "better than word overlap and aoe-mini-en" : "Spearman " $1) }'
# The model can be fine-tuned and pretrained further.
unset AOE_CPU # tier c is slow
"$aoe" train -q -d "$SRC/examples/train.tsv" --batch-size 8 --max-steps 1 -o tuned >notes && "$aoe" info tuned |
    grep -c '^architecture *bert'
tail -n +2 "$SRC/examples/train.tsv" | cut -f 2 >sentences.txt
"$aoe" pretrain -q -d sentences.txt --batch-size 8 --max-steps 1 -o further >notes && "$aoe" info further |
    grep -c '^architecture *bert'
