# SPDX-License-Identifier: MIT
# covers: cli/search/mcp_tools cli/search/place
# Tests `aoe mcp` with stored exchanges: the revisions with `initialize`, the stateless revision, the three tools,
# errors of tools, hostile input, and the end of the server. tests/peers/test_mcp.py uses the client of the Python
# package mcp.
. "$SRC/tests/cli/support/model.sh"
export AOE_MODEL="$PWD/model"
tiny_model model
mkdir -p project/docs
cd project
printf '# Certificates\n\n## Renewal\n\nThe certificate expires after 90 days.\nRun certbot to renew it.\n' >docs/tls.md
printf '# Garden\n\nWater the tomatoes in the \033[31mevening.\n' >docs/garden.md
: >docs/empty.md
"$AOE" index -q . >/dev/null
mcp() { "$AOE" mcp "$@"; }
# request ID METHOD PARAMS: prints a request
request() { printf '{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s}}\n' "$@"; }
# call ID TOOL ARGUMENTS: prints a call of a tool
call() { request "$1" tools/call "\"name\":\"$2\",\"arguments\":{$3}"; }
# meta REVISION: prints the parameter _meta of the stateless revision
meta() {
    printf '"_meta":{"io.modelcontextprotocol/protocolVersion":"%s",' "$1"
    printf '"io.modelcontextprotocol/clientCapabilities":{}}'
}
# fixed: replaces values that differ between runs
fixed() {
    sed -e 's/"id":"[0-9a-f]\{12\}"/"id":"ID"/g; s/(id [0-9a-f]*)/(id ID)/g; s/"score":[-0-9.e]*/"score":N/g' \
        -e 's/[0-9-]*T[0-9:]*Z/TIME/g; s/at byte [0-9]*/at byte N/' -e "s,$PWD,HERE,g; s,$AOE_MODEL,MODEL,"
}
# texts: prints only the id, isError and the text of the answers of tools
texts() {
    start='^{"jsonrpc":"2.0","id":\([^,]*\),"result":{"content":\[{"type":"text","text":"'
    sed -e "s/$start"'\(.*\)"}\],"isError":\([a-z]*\).*/\1 \3 \2/' | fixed
}
echo '--- handshake'
{
    request 0 initialize '"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}'
    echo '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    request '"list"' tools/list ''
    request 1 ping ''
    printf '{"jsonrpc":"2.0","id":2,"method":"prompts/list"}' # the last line has no line end
} | mcp
echo '--- stateless'
{
    request 1 server/discover "$(meta 2026-07-28)"
    request 2 tools/list "$(meta 2027-01-01)"
    lexical='"name":"search","arguments":{"query":"tomatoes","mode":"lexical"}'
    request 3 tools/call "$(meta 2026-07-28),$lexical"
} | mcp | fixed
echo '--- tools'
{
    call 1 search '"query":"renew the certificate","k":1'
    call 2 search '"query":"certbot","mode":"lexical"'
    call 3 search '"query":"certbot","mode":"dense","k":1'
    call 4 get '"place":"docs/tls.md:5"'
    call 5 get '"place":"docs/tls.md:5:1","context":0'
    call 6 search '"query":"nowhere","mode":"lexical"'
    call 7 status ''
    call 8 get '"place":"docs/tls.md","context":0'
    call 9 get '"place":"docs/tls.md:4:999999999"'
    call 10 get '"place":"docs/empty.md"'
} | mcp | texts
echo '--- errors of tools'
{
    call 1 search ''
    call 2 search '"query":"a","k":100'
    call 3 search '"query":"a","where":"year >"'
    call 5 get '"place":"docs/missing.md:1"'
    call 6 get '"place":"../../etc/passwd:1"'
    call 7 get '"place":"docs/tls.md:99"'
    call 8 status '"verbose":1'
    call 9 delete '"place":"docs/tls.md"'
} | mcp 2>/dev/null | texts
echo '--- hostile input'
{
    printf '\n{\n[]\n"text"\n\377\n\000\n'
    call 1 search '"query":"a\u0000b"'
    call 2 search '"query":"\") OR 1; DROP TABLE passages; --","mode":"lexical"'
    head -c 1200000 /dev/zero | tr '\0' '[' # too long
    echo
    head -c 100000 /dev/zero | tr '\0' '[' # too deep
    echo
    echo '{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":1,"a":2}}'
    echo '{"jsonrpc":"2.0","id":4,"method":"ping"}'
} | mcp 2>/dev/null | texts
echo '--- other folders'
cd ..
call 1 search '"query":"certbot","mode":"lexical"' | mcp -i project/.aoe-index | texts
mkdir empty
cd empty
call 1 status '' | mcp 2>/dev/null | texts
call 1 status '' | mcp -i missing 2>/dev/null | texts
# A changed file is found by the next search.
cd ../project
{
    call 1 search '"query":"marmalade","mode":"lexical"'
    until [ -e answered ]; do sleep 0.05; done
    echo 'Cook the marmalade.' >docs/kitchen.md
    call 2 search '"query":"marmalade","mode":"lexical"'
} | mcp | while read -r line; do
    touch answered
    printf '%s\n' "$line"
done | texts
# The index is created again with another model, while the server runs.
word_model "$PWD/other"
rm answered
{
    call 1 search '"query":"certbot","mode":"dense","k":1'
    until [ -e answered ]; do sleep 0.05; done
    rm -r .aoe-index
    "$AOE" index -q -m "$PWD/other" docs >/dev/null
    call 2 search '"query":"certbot","mode":"dense","k":1'
} | env -u AOE_MODEL "$AOE" mcp | while read -r line; do
    touch answered
    printf '%s\n' "$line"
done | texts
# If the client does not read, the server ends without a message.
{ call 1 status '' && call 2 status '' && sleep 0.2 && call 3 status ''; } | mcp | head -n 1 >first
wc -l <first
mcp extra </dev/null || echo "exit code $?"
