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
# Tables.
printf 'text\nthe cat\nthe dog\n' >table.tsv
"$AOE" index -q -o t.index table.tsv >/dev/null
name=$("$AOE" search -i t.index --mode lexical --files dog)
echo "$name"
get -i t.index "$name"
# Errors.
fails get notes/long.txt:100000
fails get missing.txt:1
fails get 0123456789ab
fails get -i missing notes/long.txt:1
get notes/pets.md | head -n 2
for place in notes/long.txt: notes/long.txt:0 notes/long.txt:x 0123456789abc ""; do
    get "$place" || echo "exit $?"
done
