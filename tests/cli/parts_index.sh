# SPDX-License-Identifier: MIT
# Tests that the vectors of `aoe index --vectors` can be computed in parts by `aoe embed`. The joined file has the bytes
# of one process, and the index that is built from it has the same vectors and the same metadata. Parts of another
# column or model do not reach the index, because they cannot be joined.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
tiny_model other --seed 7
awk 'BEGIN { print "key\tbody\tyear"
    for (i = 1; i <= 40; i++) { printf "k%d\ttext %d", i, i; for (j = 0; j < i % 11; j++) printf " plane%d", j
        print "\t" 1980 + i } }' >table.tsv
embed() { "$AOE" embed -q -m model table.tsv --columns "text=${column:-body}" "$@"; }
index() { "$AOE" index -q -m model table.tsv --text-column body --id-column key "$@" >/dev/null; }

embed -o whole.npy
for i in 0 1 2; do embed -o vectors.npy --part $i/3; done
"$AOE" embed -q --join -o vectors.npy
cmp whole.npy vectors.npy
index -o whole.index --vectors whole.npy
index -o parts.index --vectors vectors.npy
# A file of vectors begins with 64 bytes that contain the id of the index.
for file in codes signs values; do
    tail -c +65 whole.index/vectors-1.$file >rows
    test -s rows
    tail -c +65 parts.index/vectors-1.$file | cmp rows -
done
"$AOE" index -q -o whole.index --export jsonl >whole.jsonl
"$AOE" index -q -o parts.index --export jsonl | cmp whole.jsonl -
wc -l <whole.jsonl

echo "mismatches"
rm vectors.npy.part-1-of-3*
fails "$AOE" embed -q --join -o vectors.npy
"$AOE" embed -q -m other table.tsv --columns text=body -o vectors.npy --part 1/3
fails "$AOE" embed -q --join -o vectors.npy 2>message
sed 's/"[0-9a-f]\{16\}"/HASH/g' message >&2
rm vectors.npy.part-1-of-3*
column=key
embed -o vectors.npy --part 1/3
fails "$AOE" embed -q --join -o vectors.npy
