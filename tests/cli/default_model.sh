# SPDX-License-Identifier: MIT
# tags: slow
# The model that comes with aoe: found when none is named, beside an installed program and in the source tree; its size; what
# it knows.
. "$SRC/tests/cli/support/model.sh"
export AOE_CPU=c # the figures below in every tier
model=$SRC/models/aoe-mini-en
[ "$(du -sb "$model" | cut -f 1)" -le 12000000 ] && echo 'within 12 MB'
mkdir -p installed/bin installed/share/aoe tree/build
ln -s "$SRC/models" installed/share/aoe/models
ln -s "$SRC/models" tree/models
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
alike=$(cosine 'A plane is taking off.' 'An aircraft departs.')
other=$(cosine 'A plane is taking off.' 'She cooks rice for dinner.')
awk -v a="$alike" -v b="$other" 'BEGIN { print (a > b + 0.3 ? "alike above other" : a " and " b) }'
# better than the overlap of words (55.7, examples/README.md)
"$aoe" eval sts -q --json "$SRC/examples/test.tsv" | sed 's/.*"spearman":\([0-9.]*\).*/\1/' |
    awk '{ print ($1 > 0.58 ? "knows more than words" : "Spearman " $1) }'
# it can be trained further, and pretrained
"$aoe" train -q -d "$SRC/examples/train.tsv" --max-steps 1 -o tuned >notes && "$aoe" info tuned | grep -c '^architecture *bert'
tail -n +2 "$SRC/examples/train.tsv" | cut -f 2 >sentences.txt
"$aoe" pretrain -q -d sentences.txt --max-steps 1 -o further >notes && "$aoe" info further | grep -c '^architecture *bert'
