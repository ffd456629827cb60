# SPDX-License-Identifier: MIT
# Tests a search while another program has locked the database of the index: it answers from the last commit within a
# second or, if the lock also prevents reading, fails with one error.
python3 -c 'import sqlite3' 2>/dev/null || { echo "SKIP: python3 with its module sqlite3 is not installed"; exit 77; }
. "$SRC/tests/cli/support/model.sh"
word_model model
mkdir notes
printf 'The cat.\n' >notes/a.txt
"$AOE" index -q -m model notes >/dev/null
# lock SQL: executes the SQL, and keeps the connection until `unlock`
lock() {
    rm -f locked
    mkfifo hold
    python3 -c '
import sqlite3, sys
c = sqlite3.connect(".aoe-index/index.db", isolation_level=None)
for sql in sys.argv[1].split(";"):
    c.execute(sql)
open("locked", "w").close()
open("hold").read()' "$1" &
    while ! [ -e locked ]; do sleep 0.05; done
}
unlock() {
    : >hold
    wait
    rm hold
}
# limited ARGUMENT...: prints the seconds if the program takes too long. The default of the library is 3 s.
limited() {
    start=$(date +%s%N) code=0
    "$AOE" "$@" || code=$?
    ms=$((($(date +%s%N) - start) / 1000000))
    [ $code = 0 ] || echo "exit $code"
    [ $ms -lt 2900 ] || echo "$ms ms"
}
printf 'The cat and the wolf.\n' >notes/b.txt
for sql in 'BEGIN IMMEDIATE' 'BEGIN EXCLUSIVE' 'BEGIN EXCLUSIVE;CREATE TABLE t (a)'; do
    lock "$sql"
    limited search --mode lexical --files cat
    limited search --mode lexical --files --refresh never cat
    limited get a.txt
    unlock
done
lock 'BEGIN;SELECT count(*) FROM meta' # another reader
limited search --mode lexical --files cat
unlock
lock 'PRAGMA locking_mode = EXCLUSIVE;BEGIN EXCLUSIVE'
limited search --mode lexical --files cat
limited get a.txt
unlock
limited search --mode lexical --files cat
