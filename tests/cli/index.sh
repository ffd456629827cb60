# SPDX-License-Identifier: MIT
# covers: cli/search/index_export cli/search/index_session
# Tests `aoe index`: creation, updates, tables, options, maintenance, exports and errors.
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
here=$PWD
index() { "$AOE" index -q "$@"; }
# hide: removes what depends on the time and the folder of the test
hide() {
    sed "s|$here|PWD|g; s/[0-9-]*T[0-9:.]*Z/TIME/g; s/^\(database\|vectors\)  .*/\1/
        s/_bytes\":[0-9]*/_bytes\":N/g"
}
mkdir -p notes/sub
printf '# Pets\n\nThe cat sleeps.\n\n## Dogs\n\nA puppy and a dog.\n' >notes/pets.md
printf 'The wolf is wild.\n' >notes/sub/wild.txt
printf 'no text \0\1\2' >notes/binary.bin
index notes | hide
# Without PATH, the recorded folder is read again. The index is found from a folder below it.
index
(cd notes/sub && index -q | hide)
printf 'A new tiger.\n' >notes/new.txt
printf 'The wolf is tame.\n' >notes/sub/wild.txt
rm notes/pets.md
index --json | hide
# A table: the column of texts, the names of documents, and metadata.
printf 'key\tbody\tyear\na1\tthe cat\t2019\na2\tthe dog\t2021\n' >table.tsv
index -o t.index table.tsv --text-column body --id-column key --store int8 --stem --passage-tokens 100
index -o t.index --stats | hide
index -o t.index --stats --recall 2 --json | hide
index -o t.index --verify
# Exports contain the same vectors.
index -o t.index --export jsonl --export-to e.jsonl
index -q -o t.index --export jsonl | cmp - e.jsonl
hide <e.jsonl
index -o t.index --export npy --export-to e.npy
index -o t.index --export faiss --export-to e.faiss
hide <e.npy.jsonl
cmp e.npy.jsonl e.faiss.jsonl
tail -c 16 e.npy >npy
tail -c 16 e.faiss | cmp - npy
head -c 45 e.faiss | od -An -tx1
# Vectors that were computed elsewhere.
printf 'text\nthe wolf\nthe tiger\n' >other.tsv
"$AOE" embed -q other.tsv -o other.npy
index -o v.index other.tsv --vectors other.npy
"$AOE" search -i v.index --mode dense -k 1 --files puppy
# A changed row: a search leaves the table out, or warns that the model computed the vector.
cp other.tsv before.tsv
printf 'text\nthe wolf\nthe new puppy\n' >other.tsv
for refresh in auto always always; do
    echo "$refresh"
    "$AOE" search -i v.index --refresh $refresh --mode lexical -k 1 --files puppy 2>&1 || echo "exit $?"
done
cp before.tsv other.tsv
index -q -o v.index other.tsv --vectors other.npy
# Programs that convert files. A pattern of --exclude leaves files out.
mkdir more
printf 'xxx\n' >more/a.odd
printf 'yyy\n' >more/b.odd
printf 'zzz\n' >more/c.txt
index -o f.index more --exclude 'b.*' --filter "*.odd=sed -e 's/x/cat /g' -" --json | hide
"$AOE" search -i f.index --refresh never --mode lexical --files cat | sed "s|.*/||"
# Removal and compaction.
index -o t.index --remove a1 missing || echo "exit $?"
mkdir -p files/sub
for name in a b sub/c sub/d empty; do echo "cat $name" >files/$name.txt; done
: >files/empty.txt
index -q -o r.index files
index -o r.index --remove files/a.txt "$PWD/files/b.txt"
(cd files/sub && index -o ../../r.index --remove c.txt ../empty.txt)
index -o r.index --remove files/a.txt || echo "exit $?"
index -o r.index --remove files/sub/
index -o r.index --stats | grep -E 'documents|sources'
index -o r.index --remove "$PWD/files/"
index -o r.index --stats | grep -E 'documents|sources'
index -o t.index --compact | grep removed
index -o t.index --json --verify
# Another folder can be added although a recorded one is missing.
mkdir first second
printf 'The bird.\n' >first/a.txt
printf -- '---\nmap: {a: b}\n---\nThe fish.\n' >second/b.md
mkfifo second/fifo
index -o m.index first
"$AOE" index -o m.index --exclude 'x.*' second 2>&1 | grep -v pooling | hide
mv first third
fails index -o m.index 2>&1 | hide
index -o m.index second 2>&1 | hide
cp -r notes copied
cp -r .aoe-index copied
(cd copied && "$AOE" search -q --mode lexical --files tiger 2>&1 | hide)
# Lists are several values of a key.
printf '{"text":"the cow","tags":["x",2,"y"],"one":["z"],"o":{"n":1,"l":[1.5,2]}}\n' >list.jsonl
index -o l.index list.jsonl
"$AOE" search -q -i l.index --mode lexical --json --where "tags = 2 and tags = 'y'" cow | sed 's/.*"fields"/fields/'
# Errors.
printf 'foo\tbar\na\tb\n' >columns.tsv
fails index -o columns.index columns.tsv 2>&1 | hide
is_absent columns.index
# A run that fails, and removes its new index, does not disturb another run that creates the same index.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    rm -rf race.index
    "$AOE" index -q -o race.index columns.tsv >/dev/null 2>&1 &
    "$AOE" index -q -o race.index notes >/dev/null || echo "run $i: exit $?"
    wait
    "$AOE" search -i race.index --refresh never --mode lexical --files -k 1 tiger >/dev/null || echo "run $i: exit $?"
done
fails index -o none.index --stats
fails index -o none.index missing
is_absent none.index
fails index -o t.index table.tsv --store f32
tiny_model tiny
fails index -o t.index -m tiny table.tsv 2>&1 | hide
("$AOE" search -q -i t.index -m tiny cat 2>&1 || echo "exit $?") | hide
index -o v.index other.tsv --vectors other.npy --dims 1 || echo "exit $?"
code=0
index || code=$?
(cd / && index) || echo "exit $?"
index -o new.index || echo "exit $?"
index --compact --stats || echo "exit $?"
index --verify --text-column foo || echo "exit $?"
index --stats --exclude 'x*' || echo "exit $?"
index --remove '' || echo "exit $?"
index --stats notes || echo "exit $?"
index --recall 5 notes || echo "exit $?"
index --export npy || echo "exit $?"
index notes --filter '*.pdf' || echo "exit $?"
index notes --filter '*.pdf=cat' || echo "exit $?"
index notes --filter "*.pdf=cat ' -" || echo "exit $?"
index notes more --vectors other.npy || echo "exit $?"
# Words are reduced to stems, unless --no-stem is given.
for stem in --stem --no-stem; do
    index -o "s$stem" other.tsv $stem >/dev/null
    index -o "s$stem" --stats | grep '^words'
    "$AOE" search -i "s$stem" --mode lexical --files wolves tigers || echo "exit $?"
done
