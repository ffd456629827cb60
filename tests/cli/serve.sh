# SPDX-License-Identifier: MIT
# tags: threads
# Tests `aoe serve`: errors before the server listens, the resolved configuration, opening the models anew after SIGHUP,
# and the end after SIGTERM. tests/serve/server_test.c tests the requests.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
here=$PWD
fails "$AOE" serve -m a=model --tls-cert a.pem
fails "$AOE" serve -m a=model -m a=model
fails "$AOE" serve -m a=model -i /nonexistent
fails "$AOE" serve -m =model
"$AOE" serve -m tiny=model --check --threads 1 |
    sed "s|$here|PWD|g; s/\"dtype\": \"[^\"]*\"/\"dtype\": \"TYPE\"/" |
    sed "s/\"libmicrohttpd\": \"[^\"]*\"/\"libmicrohttpd\": \"VERSION\"/"
# wait_for TEXT FILE: waits until the file contains the text
wait_for() {
    tries=0
    while ! grep -q "$1" "$2" 2>/dev/null && [ $tries -lt 500 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
}
# the shell makes background jobs ignore SIGINT
env --default-signal=INT,HUP "$AOE" serve -m tiny=model --port 0 --json >out 2>err &
pid=$!
wait_for address out
sed 's/[0-9][0-9]*}$/PORT}/; s/127.0.0.1:[0-9]*/127.0.0.1:PORT/' out
kill -HUP $pid
wait_for anew err
kill -TERM $pid
wait_for finishing err
kill -HUP $pid 2>/dev/null || true # must not end the program while it finishes its requests
code=0
wait $pid || code=$?
echo "exit code $code"
sed "s/^libmicrohttpd .*/libmicrohttpd VERSION/" err
# with --quiet, the server prints no notes
"$AOE" serve -q -m tiny=model --port 0 --json >quiet 2>quiet.err &
pid=$!
wait_for address quiet
kill -TERM $pid
wait $pid || code=$?
echo "quiet: exit code $code, $(wc -l <quiet.err) lines"
