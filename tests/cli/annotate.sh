# SPDX-License-Identifier: MIT
# tags: network
# covers: cli/data/chat_job cli/data/cmd_score
# Tests `aoe data annotate` and `aoe data score` with a local chat endpoint. 50 texts of examples/ become pairs, and a
# model is trained on these pairs. No request may be sent twice, even if a run is killed or interrupted and then
# resumed. The API key must not be written to any file.
. "$SRC/tests/cli/support/model.sh"
key=sk-0123456789-secret
# serve NAME [KEY|- [TROUBLE [DELAY]]]: starts an endpoint (tests/servers/chat.c), which logs its requests in NAME.log.
# Sets $api to its address and $server to its process id.
serve() {
    rm -f "$1.url" "$1.log"
    name=$1
    shift
    : >"$name.log"
    "$BUILD/tests/servers/chat" "$name.url" "$name.log" "$@" &
    server=$!
    while [ ! -e "$name.url" ]; do sleep 0.05; done
    api=$(cat "$name.url")/v1
}
requests() { # requests NAME: prints the number of requests answered with status 200 so far
    grep -c ' 200$' "$1.log"
}
hide_host() { sed 's/127\.0\.0\.1:[0-9]*/HOST/g'; }
trap 'kill $server 2>/dev/null || true' EXIT
awk -F '\t' 'NR > 1 { print $2 }' "$SRC/examples/train.tsv" | awk '!seen[$0]++' | head -n 50 >texts.txt
models="numbered json-b source=second bullets-c"

serve first "$key"
export OPENAI_API_KEY="$key"
# shellcheck disable=SC2086
annotate() { "$AOE" data annotate texts.txt -m $models --api "$api" -n 3 --negatives 3 "$@"; }
annotate -o pairs.tsv --dry-run --price 0.5,1.5
is_absent pairs.tsv pairs.tsv.sqlite
requests first || true
annotate -q -o pairs.tsv --price 0.5,1.5
head -n 5 pairs.tsv
cut -f 3,4 pairs.tsv | sort | uniq -c | sed 's/^ *//'
requests first
annotate -q -o pairs.tsv --json
annotate -q -o other.tsv -j 16 --cache other.sqlite >/dev/null
cmp pairs.tsv other.tsv
"$AOE" data annotate texts.txt -m $models --api "$api" -n 3 --negatives 3 --cache pairs.tsv.sqlite \
    --form triplets >triplets.jsonl
head -n 2 triplets.jsonl
annotate -q --cache pairs.tsv.sqlite | head -n 1
requests first

# A model with random weights is trained on only these pairs. The scores are printed but not checked, because the
# endpoint generates its sentences by rules.
tiny_model start
spearman() { "$AOE" eval sts -q -m "$1" "$SRC/examples/test.tsv" --json | sed 's/.*"spearman":\([-0-9.]*\).*/\1/'; }
"$AOE" train -q -m start -d pairs.tsv -o tuned --epochs 4 --lr 3e-4 >/dev/null
echo "spearman before $(spearman start), after $(spearman tuned)" >&2

# data score
head -n 6 "$SRC/examples/test.tsv" >gold.tsv
"$AOE" data score gold.tsv -m numbered bullets --api "$api" -o scored.tsv --each
cut -f 1,6- scored.tsv
"$AOE" data score gold.tsv -m numbered price=100,100 bullets --api "$api" -o mixed.tsv | tail -n 1
"$AOE" data score gold.tsv -m numbered --api "$api" -o scored.jsonl --label gold --dry-run --json | hide_host
# After an error of the endpoint, the input or the output, there must be a message and no output file.
OPENAI_API_KEY=sk-wrong fails "$AOE" data annotate texts.txt -m numbered --api "$api" -o bad.tsv 2>&1 | hide_host
fails "$AOE" data annotate texts.txt -m unknown --api "$api" -o bad.tsv 2>&1 | hide_host
fails "$AOE" data annotate texts.txt -m refuses --api "$api" -o bad.tsv 2>&1 | hide_host
fails "$AOE" data annotate texts.txt -m numbered --api http://example.com/v1 -o bad.tsv 2>&1 | hide_host
fails "$AOE" data annotate texts.txt -m numbered --api "$api" -o /dev/null/bad.tsv
fails "$AOE" data annotate missing.txt -m numbered --api "$api" -o bad.tsv
is_absent bad.tsv
# An output file that is an input file or the cache must be rejected.
cp pairs.tsv.sqlite kept.sqlite
fails "$AOE" data annotate pairs.tsv -m numbered --api "$api" -o ./pairs.tsv
fails "$AOE" data score scored.tsv -m numbered --api "$api" -o scored.tsv
fails "$AOE" data annotate texts.txt -m numbered --api "$api" -o "$PWD/bad.tsv" --cache bad.tsv 2>&1 |
    sed "s#$PWD#HERE#"
is_absent bad.tsv
fails "$AOE" data annotate texts.txt -m numbered --api "$api" -o pairs.tsv.sqlite --cache pairs.tsv.sqlite -f tsv
cmp pairs.tsv.sqlite kept.sqlite
"$AOE" data annotate texts.txt -m numbered --api "$api" -o some.tsv -n 2 --negatives 0 --max-total-tokens 2000 \
    --max-tokens 100 -j 8
"$AOE" data annotate texts.txt -m numbered price=0,0 --api "$api" -o some.tsv -n 2 --negatives 0 --max-cost 1 -q |
    tail -n 1
annotate -q -o troubled.tsv --cache other.sqlite >/dev/null
kill $server
usage() { # usage ARGUMENT...: expects a usage error: exit code 2
    code=0
    "$AOE" data "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
usage annotate texts.txt --api "$api" -o bad.tsv
env -u OPENAI_BASE_URL "$AOE" data annotate texts.txt -m a -o bad.tsv || echo $?
usage annotate texts.txt -m a --api "$api"
usage annotate texts.txt -m a --api "$api" --cache c.sqlite --json
usage annotate texts.txt -m a --api "$api" -o bad.txt
usage annotate texts.txt -m a --api "$api" -o bad.tsv --format xml
usage annotate texts.txt -m a --api "$api" -o bad.tsv --price 3
usage annotate texts.txt -m a price=x --api "$api" -o bad.tsv
usage annotate texts.txt -m a --key-env AOE_NO_SUCH_KEY --api "$api" -o bad.tsv
usage annotate texts.txt -m a --key-env "$key" --api "$api" -o bad.tsv
usage annotate texts.txt -m a --form triplets --negative-label 1 --api "$api" -o bad.tsv
usage annotate texts.txt -m a key-env=AOE_NO_SUCH_KEY --api "$api" -o bad.tsv
usage annotate texts.txt -m a key-env="$key" --api "$api" -o bad.tsv
usage annotate texts.txt -m a key="$key" --api "$api" -o bad.tsv
usage annotate texts.txt -m a "$key=" --api "$api" -o bad.tsv
usage annotate texts.txt -m a colour=red --api "$api" -o bad.tsv
usage annotate texts.txt -m a --api "$api" -o bad.tsv -n 0 --negatives 0
usage score gold.tsv -m a --api "$api" -o bad.tsv --label ''
fails "$AOE" data annotate texts.txt -m a --api "$api" -o bad.tsv --max-cost 1

# Failed requests must be repeated. The endpoint first answers each request with a rate limit and with a server error.
# The pairs must be equal to the pairs from an endpoint without failures.
head -n 2 texts.txt >two.txt
few() { "$AOE" data annotate two.txt -m numbered stream --api "$api" -n 3 --negatives 3 -q "$@"; }
serve second - 0
env -u OPENAI_API_KEY "$AOE" data annotate two.txt -m numbered stream --api "$api" -n 3 --negatives 3 -q \
    -o plain.tsv >/dev/null
kill $server
serve third - 3
few -o troubled.tsv -j 8 >/dev/null
cmp plain.tsv troubled.tsv
cut -d ' ' -f 3 third.log | sort | uniq -c | sed 's/^ *//'
kill $server

# A run is killed, resumed, interrupted, and resumed again. Requests that were already answered must not be sent again.
serve slow "$key" 0 0.05
stop() { # stop SIGNAL COUNT: starts the run and sends it SIGNAL after COUNT requests were answered
    # shellcheck disable=SC2086
    env --default-signal=INT "$AOE" data annotate texts.txt -m $models --api "$api" -n 3 --negatives 3 -q -o late.tsv \
        -j 2 >/dev/null 2>>stopped &
    pid=$!
    while [ "$(requests slow)" -lt "$2" ]; do sleep 0.02; done
    kill -"$1" $pid
    code=0
    wait $pid || code=$?
    echo "exit code $code"
}
stop KILL 20 2>/dev/null
is_absent late.tsv
stop INT 60
sed 's/[0-9][0-9]*/N/' stopped
is_absent late.tsv
annotate -q -o late.tsv >/dev/null
# at most two were in progress when the run was killed
awk -v n="$(requests slow)" 'BEGIN { print (n >= 300 && n <= 302 ? "about 300 answers" : n " answers") }'
sed 1d pairs.tsv | sort >want
sed 1d late.tsv | sort >got
cmp want got
cmp pairs.tsv late.tsv
kill $server

# No file may contain the key.
grep -rlF "$key" . || echo "no file has the key"
ls -A | grep -c tmp || true
for command in annotate score; do
    "$AOE" data $command --help >one
    awk 'NR == 1; length > 100 { print "a line has " length " columns" }' one
    grep -c . one | awk '{ exit $1 < 30 }'
done
