# SPDX-License-Identifier: MIT
# covers: cli/search/server
# Tests the options for PostgreSQL without a server: wrong URLs and names, a server that does not answer, and that no
# message contains the password. tests/peers/test_postgres.py uses a real server.
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
unset PGHOST PGPORT PGUSER PGPASSWORD PGPASSFILE PGDATABASE PGSERVICE PGOPTIONS
# fails CODE ARGUMENT...: runs aoe and compares the exit code; if libpq is not installed, its message is replaced by the
# expected one
fails() {
    expected=$1 code=0
    shift
    "$AOE" "$@" 2>message || code=$?
    [ $code = "$expected" ] || echo "exit $code"
    if grep -q s3cret message; then echo "the message contains the password"; fi
    cat message
}
mkdir notes
echo 'The cat sleeps.' >notes/a.txt
"$AOE" index -q notes >/dev/null
if "$AOE" index -q --to postgresql://me:s3cret@127.0.0.1:1/db 2>&1 | grep -q libpq5; then
    echo "SKIP: libpq is not installed"
    exit 77
fi
fails 1 index -q --to postgresql://me:s3cret@127.0.0.1:1/db | sed 's/no connection: .*/no connection/'
fails 2 search -q --from postgresql://me:s3cret@127.0.0.1:1/db cat | sed 's/no connection: .*/no connection/'
fails 1 index -q --to 'host=localhost password=s3cret'
fails 1 index -q --to 'postgresql://me:s3cret%zz@host/db'
fails 1 index -q --to postgresql://127.0.0.1:1/db --table 'a;b'
fails 2 search --from postgresql://127.0.0.1:1/db --table 'a.b.c' cat
fails 2 index --table x
fails 2 index --replace
fails 2 index --stats --to postgresql://127.0.0.1:1/db
fails 2 search --table x cat
fails 2 search --from postgresql://127.0.0.1:1/db -i x cat
fails 2 search --from postgresql://127.0.0.1:1/db --refresh never cat
fails 2 search --from postgresql://127.0.0.1:1/db --fast cat
