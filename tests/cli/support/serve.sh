# SPDX-License-Identifier: MIT
# serve_start OPTION...: starts `aoe serve` on a free port, waits until it listens, and sets $pid and $url. The server
# ends with the script.
serve_start() {
    env --default-signal=HUP "$AOE" serve --json --port 0 "$@" >out 2>err &
    pid=$!
    trap 'kill $pid 2>/dev/null || true' EXIT
    tries=0
    while ! grep -q address out && [ $tries -lt 500 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    url=$(sed 's/.*"address": *"\([^"]*\)".*/\1/' out)
}
