# SPDX-License-Identifier: MIT
# Tests `aoe get`: lines of a document, passages by their id, surroundings, tables and errors.
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
get() { "$AOE" get "$@" 2>err || { code=$?; sed "s|$PWD|PWD|g" err >&2; return $code; }; }
mkdir notes
{ for i in $(seq 1 60); do printf 'Line %d of the cat, the dog and the wolf.\n' "$i"; done; } >notes/long.txt
printf '# Pets\n\nThe cat sleeps.\n\n## Dogs\n\nA puppy.\n' >notes/pets.md
printf '<h1>Title</h1>\n<p>The <b>tiger</b>\n\n\nsleeps.\n' >notes/page.html
"$AOE" index -q notes --passage-tokens 40 >/dev/null
# Lines are printed once, although passages overlap.
get notes/long.txt:10:3 --context 0
get notes/long.txt:10:30 --context 0 | grep -c '^Line'
get notes/long.txt:20:2 --context 2
get notes/long.txt:1 --context 0 | head -n 3
get notes/long.txt:60:5
# The passage with an id, with and without its surroundings.
id=$("$AOE" search --mode lexical --jsonl -k 1 puppy | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
get "$id"
get "$id" --context 0
get "$id" --json | sed "s|$PWD|PWD|; s/\"id\":\"$id\"/ID/; s/\"modified\":\"[^\"]*\"/TIME/"
get notes/page.html:1
(cd notes && get pets.md:3:1 --context 0)
get notes/pets.md:3:1 notes/long.txt:5:1 --context 0
# Passages of one long line are joined; the id of one of them gives this passage.
{
    printf '# Note\n\n'
    for i in $(seq 1 90); do printf 'Sentence %d of topic%d has a tiger. ' "$i" "$i"; done
    echo End.
} >line.md
"$AOE" index -q -o line.index line.md --passage-tokens 100 >/dev/null
get -i line.index line.md | tail -n +2 | cmp - line.md
get -i line.index line.md:3 --context 0 | grep -c topic71
id=$("$AOE" search -i line.index --mode lexical --jsonl -k 1 topic71 | sed 's/.*"id":"\([0-9a-f]*\)".*/\1/')
get -i line.index "$id" | grep -o 'topic7[0-2] '
get -i line.index "$id" | grep -c 'topic1 ' || true
for name in README CONTRIBUTING; do
    "$AOE" index -q -o text.index "$SRC/$name.md" >/dev/null
    get -i text.index "$name.md" | grep -v "$name.md:[0-9]" | tr -s ' \n' '\n\n' >words
    tr -s ' \n' '\n\n' <"$SRC/$name.md" | cmp - words
    rm -r text.index
done
# Words that are divided between passages are printed as they were.
{
    printf 'See '
    for i in $(seq 1 40); do
        printf '[a%d](docs/long/path/number%d/of-a-document-with-a-name.md#part-%d-of-it), ' "$i" "$i" "$i"
    done
    printf 'end.\n\n'
    for i in $(seq 1 30); do printf 'part%d_of_a_long_word_' "$i"; done
    printf ' end\n'
} >divided.md
"$AOE" index -q -o divided.index divided.md --passage-tokens 40 >/dev/null
get -i divided.index divided.md | grep -v '^divided.md:[0-9]' | cmp - divided.md
# A row that repeats itself, and rows of equal cells, are printed whole, with the white space between two passages.
{
    for i in $(seq 1 40); do printf '| column %d ' "$i"; done
    printf '|\n'
    for i in $(seq 1 40); do printf '| --- '; done
    printf '|\n'
    for i in $(seq 1 40); do printf '| cat '; done
    printf '|   end\n'
    for i in $(seq 1 60); do printf 'dog   '; done
    printf 'wolf\n'
    for line in 1 2 3; do
        for i in $(seq 1 150); do printf 'cat dog '; done
        printf 'cat\n'
    done
} >columns.md
for n in 20 33 40 60 100; do
    "$AOE" index -q -o columns.index columns.md --passage-tokens $n >/dev/null
    get -i columns.index columns.md | grep -v '^columns.md:[0-9]' | cmp - columns.md
    rm -r columns.index
done
# The paths in a copied index may be those of somebody else: the files are not read, so a space is a guess.
cp -r divided.index copied.index
get -i copied.index divided.md | grep -v '^divided.md:[0-9]' >copied.md
cmp -s copied.md divided.md && echo "the file was read"
tr -d ' \n' <divided.md >divided
tr -d ' \n' <copied.md | cmp - divided
for name in annotate experiments github-issues hub numerics results tasks; do cp "$SRC/docs/$name.md" .; done
"$AOE" index -q -o docs.index annotate.md experiments.md github-issues.md hub.md numerics.md results.md \
    tasks.md --passage-tokens 40 >/dev/null
for name in annotate experiments github-issues hub numerics results tasks; do
    get -i docs.index $name.md | grep -v "^$name.md:[0-9]" | tr -s ' \n' '\n\n' >words
    tr -s ' \n' '\n\n' <$name.md | cmp - words
done
# Tables.
printf 'text\nthe cat\nthe dog\n' >table.tsv
"$AOE" index -q -o t.index table.tsv >/dev/null
name=$("$AOE" search -i t.index --mode lexical --files dog)
echo "$name"
get -i t.index "$name"
# The names that a search prints for rows are places; so is the path of the table with the line of a row.
get -i t.index table.tsv:2 table.tsv:3
mkdir sub
(cd sub && get -i ../t.index table.tsv:3 ../table.tsv:2)
get -i t.index table.tsv:3 -n
get -i t.index --json table.tsv:3 | sed "s|$PWD|PWD|; s/.*\"name\"/name/"
"$AOE" search -i t.index --mode lexical --json dog | sed "s|$PWD|PWD|; s/\"score\".*//; s/\"id\":\"[^\"]*\",//"
fails get -i t.index table.tsv:9
# Line numbers, also of blank lines; the lines of a web page are not those of its text.
printf '# Pets\n   \nA cat.\n\n' >notes/blank.md
: >notes/empty.txt
printf -- '---\npath: other\nyear: 2020\nmodified: 2019-12-31\n---\n\nA wolf.\n' >notes/front.md
printf '\n\n' >notes/empty.md
"$AOE" index -q
get notes/blank.md --line-numbers
get notes/pets.md:2:3 --context 0 -n
get notes/page.html:1 -n
# The keys of front matter do not replace those of the file.
get notes/front.md --json | sed 's/.*"fields"/fields/; s/"modified":"[^"]*"/TIME/'
"$AOE" search --mode lexical --files --where "meta.modified < '2020-01-01' and modified > '2020-01-01'" wolf
# Documents without passages.
for place in notes/empty.txt empty.md notes/empty.txt:1; do
    get "$place" || echo "exit $?"
    get --json "$place" || echo "exit $?"
done
get notes/pets.md:1:1 notes/empty.txt --context 0 || echo "exit $?"
# The names of two documents with the same id: 48 bits of a hash.
mkdir equal
echo 'A wolf runs.' >equal/27956192.txt
echo 'A puppy sleeps.' >equal/32001580.txt
"$AOE" index -q -o equal.index equal
"$AOE" search -i equal.index --mode lexical --jsonl wolf puppy | grep -o '"id":"[^"]*","name":"[^"]*"'
get -i equal.index 5199477c9a5e || echo "exit $?"
get -i equal.index 27956192.txt:1
# Errors.
fails get notes/long.txt:100000
fails get missing.txt:1
fails get 0123456789ab
get -i missing notes/long.txt:1 || echo "exit $?"
get notes/pets.md:1:1 missing.md >none || echo "exit $?"
"$AOE" get notes/pets.md >/dev/full 2>none || echo "exit $?"
get --nothing || echo "exit $?"
get notes/pets.md | head -n 2
for place in notes/long.txt: notes/long.txt:0 notes/long.txt:x notes/long.txt:1:0 long.txt:1:2:3 0123456789abc "" \
    notes/pts.md pets.md2:1 nots/long.txt; do
    get "$place" || echo "exit $?"
done
