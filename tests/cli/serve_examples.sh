# SPDX-License-Identifier: MIT
# Runs the requests of docs/serve-examples.md in order, against a server with the models and indexes that the page
# names, and compares each answer with the one on the page. White space, numbers with a fraction, vectors, times and
# names that differ from run to run are not compared. Also compares the routes in docs/serve.md with those in
# /openapi.json, and a vector with `aoe embed`.
command -v curl >/dev/null || { echo "SKIP: curl is not installed"; exit 77; }
export NO_PROXY='*' LC_ALL=C
mkdir notes
printf '# Certificates\n\nThe certificate expires every 90 days.\n' >notes/certificates.md
"$AOE" index -q -o notes/.aoe-index notes >summary
cp -r "$SRC/tests/golden/cross_encoders/logit_score" cross
. "$SRC/tests/cli/support/serve.sh"
serve_start -m "aoe-small-en=$SRC/models/aoe-small-en" -m rerank=cross -i notes=notes/.aoe-index -i mail=mail --writable

# normalize: removes what differs from run to run, from an answer in stdin
normalize() {
    tr -d '\n' | sed -E -e 's/^ +//; s/ +$//; s/([[{,:]) +/\1/g; s/ +([]}])/\1/g' \
        -e 's/-?[0-9]+(\.[0-9]+)?e[-+]?[0-9]+/#/g; s/-?[0-9]+\.[0-9]+/#/g' \
        -e 's/\[(-?[0-9]+|#)(,(-?[0-9]+|#)){8,}\]/[#]/g; s/\[#(,#)*(,\.\.\.)?\]/[#]/g' \
        -e 's/("(total|load)_duration":)[0-9]+/\1#/g; s/("(id|modified)":")[0-9a-fTZ:-]{12,}"/\1#"/g' \
        -e 's/"embedding":"[^"]*"/"embedding":"#"/g; s/"id":[0-9]+/"id":#/g' \
        -e 's/"total_tokens":[0-9]+}/"total_tokens":#}/g' \
        -e 's/"highlights":\[[]0-9,[]*\]/"highlights":#/g'
}

# writes block N to the files N.sh and N.json
awk '/^```sh$/ { file = sprintf("%02d.sh", ++n); next } /^```json$/ { file = sprintf("%02d.json", n); next }
     /^```$/ { file = ""; next } file { print > file }' "$SRC/docs/serve-examples.md"
for command in [0-9]*.sh; do
    name=${command%.sh}
    sed "s|http://127.0.0.1:8080|$url|; s|^curl |&--fail-with-body |" "$command" >request
    if ! sh -eu request >answer; then
        echo "$name failed: $(cat answer)"
    elif [ -e "$name.json" ] && [ "$(normalize <"$name.json")" != "$(normalize <answer)" ]; then
        echo "$name: $(sed -n 1p "$command")"
        echo "page:   $(normalize <"$name.json")"
        echo "answer: $(normalize <answer | head -c 2000)"
    fi
done
echo "$(ls [0-9]*.sh | wc -l) requests"

# the first column of the table of routes, one METHOD PATH per line
sed -n '/^## Routes/,/^### /s/^| \(`[^|]*\) |.*/\1/p' "$SRC/docs/serve.md" | tr -d ' `' | tr ',' '\n' |
    awk '/^(GET|POST|DELETE)/ { match($0, /^[A-Z]+/); method = substr($0, 1, RLENGTH); $0 = substr($0, RLENGTH + 1) }
         { print method, $0 }' | sort -u >documented
curl -s "$url/openapi.json" | sed 's/"\(\/[^"]*\)":{"/\n\1 /g' | sed -n 's/^\(\/[^ ]*\) \(.*\)/\1\t\2/p' |
    awk -F '\t' '{ if ($2 ~ /^get"/ || $2 ~ /"get":\{"operationId/) print "GET", $1
                   if ($2 ~ /^post"/ || $2 ~ /"post":\{"operationId/) print "POST", $1
                   if ($2 ~ /^delete"/ || $2 ~ /"delete":\{"operationId/) print "DELETE", $1 }' | sort -u >offered
diff documented offered && echo "the table has all $(wc -l <offered) routes"

printf 'What is Deep Learning?\n' | "$AOE" embed -q -m "$SRC/models/aoe-small-en" -f npy | tail -c 1536 >want
curl -s "$url/v1/embeddings" -H 'Content-Type: application/json' \
    -d '{"input": "What is Deep Learning?", "encoding_format": "base64"}' |
    sed 's/.*"embedding":"\([^"]*\)".*/\1/' | base64 -d >got
cmp want got && echo "the vector is that of aoe embed"
kill $pid
wait $pid && echo "stopped"
