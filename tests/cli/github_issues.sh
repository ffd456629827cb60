# SPDX-License-Identifier: MIT
# tags: network
# Tests `aoe data github-issues` with a local server. It must write pairs to three files, send no request twice, and
# resume killed and interrupted runs. It must not write the access token to any file. Other tests cover --offline,
# --refresh, GraphQL, and training and evaluation on the collected pairs.
. "$SRC/tests/cli/support/model.sh"
build=$(dirname "$AOE")
# serve NAME [ARGUMENT...]: starts the server (tests/servers/github.c). Sets $url to its address, $log to the log of
# its requests, and $server to its process id.
serve() {
    name=$1
    shift
    log=$PWD/$name.log
    "$build/tests/servers/github" "$name.url" "$log" "$@" &
    server=$!
    tries=0
    while [ ! -s "$name.url" ] && [ $tries -lt 500 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    url=$(cat "$name.url")
}
collect() { "$AOE" data github-issues --api "$url" acme/rockets old/anvils "$@"; }
requests() { wc -l <"$log"; }
# prints the number of requests that were answered more than once
twice() { awk '$3 == 200' "$log" | sort | uniq -d | wc -l; }
unset GITHUB_TOKEN GH_TOKEN
export XDG_CACHE_HOME="$PWD/cache"

serve calm
collect --train train.tsv --validation dev.csv --test test.jsonl.gz --ids --json >summary
cat summary
head -n 1 train.tsv
grep -c . train.tsv
cut -f 3 train.tsv | sort | uniq -c
awk -F '\t' '$4 == "acme/anvils#8" || $4 == "acme/anvils#18"' train.tsv | cut -f 3-
gzip -dc test.jsonl.gz | grep -c '"label":1'
ls cache/aoe | sed 's/-.*//' | sort -u
# A second run must send no requests and write the same bytes.
before=$(requests)
collect --train train2.tsv --validation dev2.csv --test test2.jsonl.gz --ids
cmp train.tsv train2.tsv
cmp dev.csv dev2.csv
cmp test.jsonl.gz test2.jsonl.gz
echo "requests of the second run: $(($(requests) - before))"
# All triplets are written to one file. With --offline, only the cache is used.
collect -q --offline --form triplets --negatives-by near -n 2 --clean comments,images,templates --train all.jsonl
grep -c . all.jsonl
head -n 1 all.jsonl
fails collect -q --offline acme/nothing --train rest.tsv
echo "requests offline: $(($(requests) - before))"
# With --refresh, the server answers requests for unchanged pages without a body.
collect --refresh --train train2.tsv --validation dev2.csv --test test2.jsonl.gz --ids 2>refreshed
sed -n '/requests,/p' refreshed
# GraphQL must find the duplicates that REST does not report.
export GH_TOKEN=ghp_averysecretthing12345
collect --graphql --json | sed 's/"requests.*//'
# The message must contain the repositories that cannot be read. The pairs of all other repositories must be written.
code=0
collect acme/secret acme/quiet acme/nothing --train rest.tsv || code=$?
echo "exit code $code"
fails "$AOE" data github-issues --api "$url" acme/secret acme/quiet --train none.tsv
is_absent none.tsv
unset GH_TOKEN
# The cache must be rejected as output file. If an output file would be empty, the command must fail.
cp cache/aoe/github.sqlite before.sqlite
fails collect -q --offline --train ./cache/aoe/github.sqlite
cmp cache/aoe/github.sqlite before.sqlite
fails collect -q --offline --shares 98,1,1 --train most.tsv --validation few.tsv --test fewest.tsv
is_absent most.tsv
is_absent few.tsv
# No file may contain the token.
MY_TOKEN=ghp_averysecretthing12345 "$AOE" data github-issues --token-env MY_TOKEN --api "$url" acme/secret --refresh
fails "$AOE" data github-issues --token-env NO_TOKEN --api "$url" acme/secret --train s.tsv
fails "$AOE" data github-issues --token-env ghp_averysecretthing12345 --api "$url" acme/secret --train s.tsv
grep -rc ghp_averysecretthing12345 . | grep -v ':0$' && exit 1
kill $server
wait $server

# Killed and interrupted runs can be resumed.
serve slow 0.01
for signal in KILL TERM INT KILL; do
    target=$(($(requests) + 12))
    env --default-signal=INT "$AOE" data github-issues -q --cache slow.sqlite --api "$url" acme/rockets old/anvils \
        --train slow.tsv 2>stopped &
    pid=$!
    tries=0
    while [ "$(requests)" -lt $target ] && [ $tries -lt 1000 ]; do
        sleep 0.01
        tries=$((tries + 1))
    done
    kill -$signal $pid
    code=0
    { wait $pid; } 2>/dev/null || code=$?
    echo "exit code $code $(sed 's/[0-9][0-9]*/N/g' stopped)"
    is_absent slow.tsv
done
rm -f slow.tsv.tmp-* # left by the killed runs
"$AOE" data github-issues -q --cache slow.sqlite --api "$url" acme/rockets old/anvils --train slow.tsv \
    --validation slow.csv --test slow.jsonl.gz --ids
cmp slow.tsv train.tsv
cmp slow.csv dev.csv
cmp slow.jsonl.gz test.jsonl.gz
[ "$(twice)" -le 4 ] || echo "$(twice) requests were repeated" # at most the one in progress when a run ended
kill $server
wait $server
find . -name '*tmp*'

# The pairs can be used for training and evaluation.
"$AOE" data stats -q train.tsv | head -n 3
"$AOE" init --quiet --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 --vocab-from train.tsv \
    --vocab-size 300 -o model
"$AOE" train -q -m model -d train.tsv --dev dev.csv -o tuned --epochs 2 --max-length 64 | tail -n 1 |
    sed 's/ in [0-9]* s//; s/[0-9][0-9]*\.[0-9]*/N/g'
"$AOE" eval sts -q -m tuned test.jsonl.gz | sed 's/-*[0-9][0-9]*\.[0-9]*/N/g'
# usage errors
for wrong in "--train -" "--train a.tsv --test a.tsv" "--graphql --all-comments" "--offline --refresh" \
    "--preset angel" "--shares 1,2" "--clean all" "--form c"; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" data github-issues a/b $wrong || code=$?
    echo "exit code $code"
done
code=0
"$AOE" data github-issues || code=$?
echo "exit code $code"
fails "$AOE" data github-issues acme --train x.tsv
fails "$AOE" data github-issues a/b --train x.txt
fails "$AOE" data github-issues a/b --train /dev/null/x.tsv
fails "$AOE" data github-issues a/b --api http://api.example.org --train x.tsv
fails "$AOE" data github-issues a/b --api https://user:pw@api.example.org --train x.tsv
fails "$AOE" data github-issues a/b --api 'https://api.example.org/?key=pw' --train x.tsv
fails "$AOE" data github-issues a/b --cache train.tsv --train x.tsv
is_absent x.tsv
