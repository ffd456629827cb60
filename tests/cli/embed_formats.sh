# SPDX-License-Identifier: MIT
# covers: cli/text/vector_output
# Tests the output of `aoe embed`. The three formats must contain equal numbers. With several files and stdin, the
# vectors must have the order of the input. Other tests cover --dims, --normalize and -o.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
printf 'A plane is taking off.\r\nHe said "no"\tand left.\n' >one.txt
printf '\357\273\277Gr\303\274\303\237e\nlast line without an end' >two.txt
"$AOE" embed -q -m model one.txt two.txt >all.jsonl
cat one.txt | "$AOE" embed -q -m model - two.txt >piped.jsonl
cmp all.jsonl piped.jsonl
sed 's/"embedding":\[[^]]*\]/"embedding":[]/' all.jsonl
"$AOE" embed -q -m model --json one.txt two.txt | cmp - all.jsonl

echo "tsv"
"$AOE" embed -q -m model --format tsv one.txt two.txt >all.tsv
sed 's/.*"embedding":\[\([^]]*\)\].*/\1/' all.jsonl | tr ',' '\t' | cmp - all.tsv
awk -F'\t' '{ print NF }' all.tsv
"$AOE" embed -q -m model --format tsv --dims 3 one.txt two.txt >three.tsv
cut -f 1-3 all.tsv | cmp - three.tsv

echo "npy"
"$AOE" embed -q -m model --format npy -o all.npy one.txt two.txt
"$AOE" embed -q -m model -o named.npy one.txt two.txt
cmp named.npy all.npy
"$AOE" embed -q -m model -o named.tsv one.txt two.txt
cmp named.tsv all.tsv
gzip -c one.txt >one.txt.gz
"$AOE" embed -q -m model one.txt.gz -o gz.npy
"$AOE" embed -q -m model one.txt -o one.npy
cmp one.npy gz.npy
"$AOE" embed -q -m model --format npy one.txt two.txt >stdout.npy
cat one.txt two.txt | "$AOE" embed -q -m model --format npy | cat >pipe.npy
cmp all.npy stdout.npy
head -c 128 all.npy | tail -c 118
ls | grep tmp || true
test $(wc -c <all.npy) = $((128 + 4 * 32 * 4))
od -An -v -t f4 -w128 -j 128 all.npy | awk '{ $1 = $1; print }' >npy.txt
awk '{ $1 = $1; print }' all.tsv >tsv.txt
paste -d ' ' npy.txt tsv.txt |
    awk '{ for (i = 1; i <= 32; i++) if ($i - $(i + 32) > 1e-6 || $(i + 32) - $i > 1e-6) print "differs", NR, i }'

echo "norms"
norms() { awk '{ s = 0; for (i = 1; i <= NF; i++) s += $i * $i; printf "%.5f\n", sqrt(s) }'; }
"$AOE" embed -q -m model --format tsv --normalize one.txt | norms
"$AOE" embed -q -m model --format tsv --normalize --dims 5 one.txt | norms
"$AOE" embed -q -m model --format tsv --no-normalize one.txt | cmp - all.tsv 2>&1 | grep -c EOF

echo "empty input"
: | "$AOE" embed -m model
: >empty.txt
"$AOE" embed -m model --format tsv empty.txt
for name in empty.tsv empty.jsonl; do
    : >$name
    "$AOE" embed -m model --format tsv $name
done
: | "$AOE" embed -q -m model --format npy -o none.npy
head -c 128 none.npy | tail -c 118
: | "$AOE" embed -m model --format npy --dims 7 | wc -c
printf 'a\0 \0b\0\n\0' >utf16.txt
fails "$AOE" embed -q -m model utf16.txt
echo old >kept.tsv
fails "$AOE" embed -q -m model -o kept.tsv missing.txt
fails "$AOE" embed -q -m model -o one.txt/dir.tsv one.txt
fails "$AOE" embed -q -m model -o . one.txt
fails "$AOE" embed -q -m model --dims 33 one.txt
fails "$AOE" embed -q -m model --format tsv -o ./kept.tsv one.txt kept.tsv
cat kept.tsv
