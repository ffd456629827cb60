# SPDX-License-Identifier: MIT
# Tests `aoe search`: modes, filters, formats, many queries, reranking, the refresh of an index, and exit codes.
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
search() { "$AOE" search "$@"; }
# hide: removes what depends on the time and the folder of the test
here=$PWD
hide() { sed "s|$here|PWD|g; s/\"modified\":\"[^\"]*\"/TIME/g"; }
# finds CODE ARGUMENT...: prints the names of the documents that a search finds; the test fails unless the exit code is
# CODE
finds() {
    expected=$1 code=0
    shift
    search --files "$@" || code=$?
    [ $code = "$expected" ] || echo "exit $code"
}
mkdir -p notes/sub
printf '# Pets\n\nThe cat sleeps.\n\n## Dogs\n\nA puppy and a dog renew the certificate.\n' >notes/pets.md
printf 'The wolf is wild.\n' >notes/sub/wild.txt
"$AOE" index -q notes >/dev/null
# By words, by meaning, by both.
search --mode lexical certificate
search --mode dense -k 1 kitten
search -k 2 wolf --explain
# Several arguments are one query; the words of the query select the lines.
search --mode lexical --snippet 1 the certificate
search --mode lexical --snippet 0 -- the certificate
finds 0 --mode lexical wild
finds 1 --mode lexical absent
finds 1 -q --mode lexical absent
finds 1 -q --mode dense --min-score 0.9999 wolf puppy
finds 2 -q --min-score 0.35 wolf puppy
search --mode lexical --json certificate | hide
search --mode lexical --jsonl --explain certificate | hide
# The index is found from a folder below it, and names are relative to the current folder.
(cd notes/sub && search --files --mode lexical wild certificate | hide)
# The keys name and path of a condition are those of JSON.
finds 0 --mode lexical --where "name = 'pets.md' and path = '$here/notes/pets.md'" certificate
finds 1 --mode lexical --where "name = '$here/notes/pets.md' or path = 'pets.md'" certificate
# Metadata.
printf 'key\tbody\tyear\na1\tthe cat\t2019\na2\tthe cat\t2021\na3\tthe kitten\t2023\n' >table.tsv
"$AOE" index -q -o t.index table.tsv --text-column body --id-column key >/dev/null
finds 0 -i t.index --where 'year >= 2021' cat
finds 0 -i t.index --where 'year >= 2021' --mode dense --fast cat
finds 0 -i t.index --where 'year < 2021' cat
finds 1 -i t.index --where 'year < 1900' cat
finds 2 -i t.index --where 'year <' cat
finds 1 -i t.index --where "name like 't*'" cat
finds 2 -i t.index --where 'yaer < 1900' cat
finds 0 -i t.index --weights 0,1 -k 1 kitten
search -i t.index --jsonl -k 1 kitten | grep -o '"fields":.*'
# Many queries.
printf 'cat\nabsent\nkitten\n' >queries.txt
search -i t.index --mode lexical --queries queries.txt --snippet 1
search -i t.index --mode lexical --jsonl - <queries.txt | sed 's/"id".*//'
search -i t.index --mode lexical --json --queries - <queries.txt | cut -c 1-40
printf '{"_id":"q1","text":"kitten"}\n' >queries.jsonl
search -i t.index --mode lexical --files --queries queries.jsonl
search -i t.index --mode lexical --files --queries queries.txt
search -i t.index --mode lexical --files --json --queries queries.txt
search -i t.index --mode lexical --explain 'absent kitten Absent' | sed 's/id .*/id/'
# A stream of queries is answered query by query.
mkfifo pipe
search -q -i t.index --mode lexical --files - <pipe >answers &
pid=$!
exec 9>pipe
echo kitten >&9
tries=0
while [ ! -s answers ] && [ $tries -lt 500 ]; do
    sleep 0.01
    tries=$((tries + 1))
done
cat answers
"$AOE" index -q -o t.index >/dev/null # the search that waits does not keep the lock
exec 9>&-
wait $pid
# Refresh: changes are found, unless --refresh never is given.
printf 'A tiger in a zoo.\n' >notes/zoo.txt
finds 1 --mode lexical --refresh never zoo
finds 0 --mode lexical zoo
rm notes/zoo.txt
finds 1 --refresh always --mode lexical zoo
# Without changes, lexical search needs no model.
mv model away
finds 0 --mode lexical wild
finds 2 wild 2>&1 | hide
mv away model
# A read-only index and a busy index are searched as they are.
printf 'A tiger in a zoo.\n' >notes/zoo.txt
exec 8<.aoe-index
flock -n 8
finds 1 --mode lexical zoo
finds 2 --refresh always --mode lexical zoo 2>&1 | sed 's/process ([0-9]*)/process/; s|/.*/||'
exec 8<&-
# Reranking with a cross-encoder.
cp -r "$SRC/tests/golden/cross_encoders/bert" cross
printf 'text\nw1 w2 w3\nw1 w9\nw4 w1\n' >words.tsv
"$AOE" index -q -o w.index words.tsv >/dev/null
search -i w.index --mode lexical --rerank cross --class 1 --dtype f32 --json --explain w1 | hide |
    sed 's/\([a-z0-9_]*score\|bm25\)":\(-\{0,1\}[0-9]*\.[0-9]\{4\}\)[0-9]*/\1":\2/g; s/"id":"[^"]*",//g'
finds 0 -i w.index --mode lexical --rerank cross --class 1 -k 1 --rerank-top 3 w1
finds 1 -q -i w.index --mode lexical --rerank cross --class 1 --min-score 2 w1
finds 2 -i w.index --mode lexical --rerank cross w1
# An index without sources is searched as it is, without the model.
"$AOE" index -q -o w.index --remove "$PWD/words.tsv"
mv model away
finds 1 -i w.index --mode lexical w1
mv away model
# Errors.
finds 2 -i missing x
finds 2
finds 2 --queries queries.txt x
finds 2 --queries missing.txt -i t.index
finds 2 --jsonl x
finds 2 --weights 1 x
finds 2 --weights 0,0 x
finds 2 --weights 1,1 --mode dense x
finds 2 --rerank-top 5 x
finds 2 -k 0 x
finds 2 ''
(cd / && finds 2 x)
