# SPDX-License-Identifier: MIT
# Tests the output of `aoe search` on a terminal: links, highlighted words, the width, NO_COLOR, and escapes.
. "$SRC/tests/cli/support/model.sh"
if ! command -v script >/dev/null; then
    echo "SKIP: the program script is missing; install bsdutils"
    exit 77
fi
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
mkdir 'my notes'
printf '# Renewal\n\nRenew the Certificate of the server before it ends; the old one \033[31m expires.\n' \
    >'my notes/a%%.md'
"$AOE" index -q 'my notes' >/dev/null
# terminal COMMAND: runs a shell command on a terminal with 60 columns and prints its output with visible escapes
terminal() {
    script -qec "stty cols 60; $1" /dev/null </dev/null | tr -d '\r' | cat -v |
        sed "s|file://[^/]*$(pwd -P)|file://HOST/PWD|"
}
TERM=xterm
export TERM
unset NO_COLOR
terminal "'$AOE' search --mode lexical renew certificate"
NO_COLOR=1 terminal "'$AOE' search --mode lexical --explain renew certificate" |
    sed 's/id [0-9a-f]*/id/; s/BM25 [0-9.]*/BM25/'
TERM=dumb terminal "'$AOE' search --mode lexical renew certificate"
terminal "'$AOE' search --mode lexical --files renew"
terminal "'$AOE' search --mode lexical --json renew" | grep -c '\^\[' || true
terminal "'$AOE' get \"my notes/a%%.md:3\""
