# SPDX-License-Identifier: MIT
# covers: cli/text/ranges
# Tests `aoe embed --precision`. A static model with exact vectors gives the same bytes on every CPU. The ranges come
# from the texts, from a calibration file with texts or embeddings, or from a file. Other tests compare the values with
# sentence-transformers (tests/vectors/quantize_test.c, tests/peers/test_quantization.py).
. "$SRC/tests/cli/support/model.sh"
cat >words.txt <<'END'
cat 0.5 -1 0.25 3 0 1 -2 8 -0.125 1
dog -0.5 1 0.75 -3 0 2 2 -8 0.125 -1
bird 0 0.5 0.5 1.5 0 3 0 0.5 0 7
fish 1.5 -0.25 -0.25 -1.5 0 -1 1 4 0.0625 0
END
"$AOE" convert -q words.txt --dtype f32 -o model
printf 'cat\ndog\nbird\nfish\n' >texts.txt
printf 'bird\ncat\n' >queries.txt
bytes() { tail -c +129 "$1" | od -An -v -t "$2" -w"$3"; } # bytes FILE TYPE COLUMNS: prints the rows of a .npy file

for precision in float32 int8 uint8 binary ubinary; do
    echo "$precision"
    "$AOE" embed -q -m model --precision $precision --format tsv texts.txt 2>warnings | tee $precision.tsv
    cat warnings
    "$AOE" embed -q -m model --precision $precision texts.txt -o $precision.npy 2>warnings
    "$AOE" embed -q -m model --precision $precision --format npy <texts.txt 2>warnings | cat >pipe.npy
    cmp pipe.npy $precision.npy
    head -c 128 $precision.npy | tail -c 118 | sed 's/ *$//'
    "$AOE" embed -q -m model --precision $precision --json texts.txt 2>warnings >$precision.jsonl
    sed 's/.*"embedding":\[\([^]]*\)\].*/\1/' $precision.jsonl | tr ',' '\t' | cmp - $precision.tsv
done
"$AOE" embed -q -m model --precision float32 texts.txt | cmp - float32.jsonl
"$AOE" embed -q -m model texts.txt | cmp - float32.jsonl
sed 's/"embedding":\[[^]]*\]/"embedding":[]/' int8.jsonl
bytes int8.npy d1 10 | awk '{ $1 = $1; print }' | tr ' ' '\t' | cmp - int8.tsv
bytes uint8.npy u1 10 | awk '{ $1 = $1; print }' | tr ' ' '\t' | cmp - uint8.tsv
bytes binary.npy d1 2 | awk '{ $1 = $1; print }' | tr ' ' '\t' | cmp - binary.tsv
bytes ubinary.npy u1 2 | awk '{ $1 = $1; print }' | tr ' ' '\t' | cmp - ubinary.tsv

echo "ranges"
embed() { "$AOE" embed -q -m model --precision int8 --format tsv "$@"; }
embed texts.txt --save-ranges ranges.json >saved.tsv
cmp saved.tsv int8.tsv
cat ranges.json
embed queries.txt --ranges ranges.json
# Ranges from a file, from texts, and from embeddings with 4 and 8 bytes per value give the same bytes.
embed queries.txt --ranges ranges.json >queries.tsv
mkdir made
embed queries.txt --calibrate texts.txt --save-ranges made/ranges.npy | cmp - queries.tsv
embed queries.txt --ranges made/ranges.npy | cmp - queries.tsv
bytes made/ranges.npy f4 40 | awk '{ $1 = $1; print }'
embed queries.txt --calibrate float32.npy 2>warnings | cmp - queries.tsv
cat warnings
printf 'id,sentence\n1,cat\n2,dog\n3,bird\n4,fish\n' >table.csv
embed queries.txt --calibrate table.csv 2>warnings | cmp - queries.tsv
embed table.csv --columns sentence --calibrate table.csv 2>warnings | cmp - int8.tsv
embed queries.txt --calibrate - <texts.txt 2>warnings | cmp - queries.tsv
echo '[[0,0,0,0,0,0,0,0,0,0],[1,1,1,1,1,1,1,1,1,1]]' >unit.json
embed queries.txt --ranges unit.json
for n in $(seq 25); do cat texts.txt; done >hundred.txt
embed hundred.txt | head -n 4 | cmp - int8.tsv # no warning
embed queries.txt --calibrate hundred.txt | cmp - queries.tsv

echo "options of embeddings"
"$AOE" embed -q -m model --dims 3 --normalize texts.txt -o short.npy
embed --dims 3 --normalize queries.txt --calibrate short.npy --save-ranges short.json
embed --dims 3 --normalize queries.txt --calibrate texts.txt --save-ranges again.json 2>warnings
cmp short.json again.json
tiny_model tiny
awk 'BEGIN { for (i = 0; i < 5000; i++) { printf "line %d", i;
    for (j = 0; j < (i % 50 ? i % 7 : 40); j++) printf " word%d", j; print "" } }' >lines.txt
chunks() { "$AOE" embed -q -m tiny --chunk mean --dims 13 --normalize "$@" lines.txt; }
chunks --precision uint8 -o chunks.jsonl --save-ranges chunks.json # more texts than one batch
chunks --precision uint8 --ranges chunks.json | cmp - chunks.jsonl
chunks -o float32.npy
chunks --precision uint8 --calibrate float32.npy | cmp - chunks.jsonl
grep -c '"chunks":[2-9]' chunks.jsonl
sed 's/"embedding":\[[^]]*\]//' chunks.jsonl >without.jsonl
chunks | sed 's/"embedding":\[[^]]*\]//' | cmp - without.jsonl
chunks --format tsv | awk -F'\t' '{ for (b = 0; b < 2; b++) { byte = 0
    for (k = 8 * b + 1; k <= 8 * b + 8; k++) byte = 2 * byte + (k <= 13 && $k > 0)
    printf "%d%s", byte, b ? "\n" : "\t" } }' >expected.tsv
chunks --precision ubinary --format tsv | cmp - expected.tsv

echo "few texts"
: | embed
: | "$AOE" embed -q -m model --precision int8 -o none.npy
head -c 128 none.npy | tail -c 118 | sed 's/ *$//'
: | "$AOE" embed -q -m model --precision binary -o none.npy
head -c 128 none.npy | tail -c 118 | sed 's/ *$//'
: >empty.txt
echo cat >cat.txt
fails embed cat.txt
fails embed empty.txt --save-ranges none.json
fails embed texts.txt --calibrate cat.txt
fails embed texts.txt --calibrate empty.txt
is_absent none.json
embed empty.txt --ranges ranges.json

echo "errors"
fails embed texts.txt --dims 3 --ranges ranges.json
fails embed texts.txt --dims 3 --ranges made/ranges.npy
fails embed texts.txt --dims 3 --calibrate made/ranges.npy
fails embed texts.txt --ranges short.npy
fails embed texts.txt --dims 3 --ranges short.npy
fails embed texts.txt --ranges missing.json
fails embed texts.txt --calibrate missing.txt
fails embed texts.txt --calibrate missing.npy
fails embed texts.txt --calibrate int8.npy
printf '{"min": 1}' >object.json
fails embed texts.txt --ranges object.json
echo '[[0,0,0,0,0,0,0,0,0,"x"],[1,1,1,1,1,1,1,1,1,1]]' >word.json
fails embed texts.txt --ranges word.json
echo '[[1,1,1,1,1,1,1,1,1,1],[0,0,0,0,0,0,0,0,0,0]]' >swapped.json
fails embed texts.txt --ranges swapped.json
echo '[[0,0,0,0,0,0,0,0,0,0],[1,1,1,1,1,1,1,1,1,1e300]]' >large.json
fails embed texts.txt --ranges large.json
head -c 200 float32.npy >cut.npy
fails embed texts.txt --calibrate cut.npy
cp ranges.json kept.json
fails "$AOE" embed -q -m model --precision int8 -o kept.json --format tsv --ranges kept.json texts.txt
fails "$AOE" embed -q -m model --precision int8 -o kept.json --format tsv --save-ranges ./kept.json texts.txt
fails "$AOE" embed -q -m model --precision int8 -o texts.txt --format tsv --calibrate texts.txt queries.txt
cp texts.txt input.json
cp short.npy input.npy
fails embed input.json --save-ranges input.json
fails embed queries.txt --dims 3 --calibrate input.npy --save-ranges input.npy
cmp kept.json ranges.json
cmp input.json texts.txt
cmp input.npy short.npy
# If the texts cannot be embedded, neither file is written.
printf 'cat\n\377\n' | fails "$AOE" embed -q -m model --precision int8 -o bad.npy --save-ranges bad.json
is_absent bad.npy bad.json
# The temporary file is limited by the file size limit.
(ulimit -f 1 && ! "$AOE" embed -q -m model --precision int8 --format tsv hundred.txt) 2>&1 | cat
for options in '--calibrate texts.txt' '--ranges ranges.json' '--precision binary --ranges ranges.json' \
    '--precision ubinary --save-ranges ranges.json' '--precision float32 --calibrate texts.txt' '--precision int4' \
    '--precision int8 --ranges ranges.json --calibrate texts.txt' \
    '--precision int8 --ranges ranges.json --save-ranges new.json' \
    '--precision int8 --ranges ranges.txt' '--precision int8 --save-ranges ranges' '--precision int8 --calibrate -' \
    '--precision int8 --calibrate ranges.json'; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" embed -q -m model $options <texts.txt || code=$?
    echo "exit code $code" >&2
done
