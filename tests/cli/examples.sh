# SPDX-License-Identifier: MIT
# Tests the programs in examples/. Each program uses the default model and must print the result that its first comment
# describes.
examples=$(dirname "$AOE")/examples
export AOE_MODEL=$SRC/models/aoe-small-en
cut -f 2 "$SRC/examples/test.tsv" >texts.txt
"$examples/search" texts.index texts.txt 'a plane departs' 2>&1 |
    sed 's/(0.0[0-9]*)/(score)/; s/^texts.txt:[0-9]*/texts.txt:LINE/'
"$examples/similarity" 'A plane is taking off.' 'A plane is taking off.'
echo 'A plane is taking off.' | "$examples/embed" | awk '{ print (NF > 100 ? "a vector" : "too few components") }'
awk 'BEGIN { for (i = 0; i < 1500; i++) print "filler number " i; print "a plane departs" }' >many.txt
"$examples/search" many.index many.txt 'a plane departs' 2>/dev/null | head -n 2 | sed 's/(0.0[0-9]*)/(score)/'
echo "a plane lands" >>many.txt
"$examples/search" many.index many.txt 'a plane departs' 2>&1 >/dev/null
"$examples/train" "$SRC/examples/train.tsv" tuned 2 | grep -c '^step'
printf 'w5 w6\nw1\n' | "$examples/rerank" "$SRC/tests/golden/cross_encoders/bert" 'w1 w2' |
    awk '{ ok += $1 ~ /^-?[0-9.]+$/ } END { print NR " lines, " ok " scores" }'
if [ -x "$examples/similarity_cpp" ]; then "$examples/similarity_cpp" one one; else echo '1.0000  one | one'; fi
AOE_MODEL=missing "$examples/similarity" a b || echo "exit $?"
# A program that is linked with libaoe.a finds the default model in the source tree in which the library was built.
unset AOE_MODEL
cp "$examples/similarity" elsewhere
./elsewhere 'A plane is taking off.' 'A plane is taking off.'
