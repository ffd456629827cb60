# SPDX-License-Identifier: MIT
# tags: network
# covers: cli/model/cmd_models
# Tests `aoe pull` and `aoe models` with a local server (tests/servers/hub.c) that implements the protocol of the
# Hugging Face
# Hub: redirects to another port, restricted models, failures, interrupted downloads, and the layout of the cache.
. "$SRC/tests/cli/support/model.sh"
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE XDG_CACHE_HOME AOE_MODEL HF_TOKEN HUGGING_FACE_HUB_TOKEN HF_TOKEN_PATH
unset HF_HUB_OFFLINE TRANSFORMERS_OFFLINE HF_HUB_DISABLE_IMPLICIT_TOKEN
export HOME="$PWD/home"
commit=0123456789abcdef0123456789abcdef01234567
case $BUILD in /*) build=$BUILD ;; *) build=$SRC/$BUILD ;; esac

# serve [FAULT...]: starts the server, sets HF_ENDPOINT to its address, and clears its log
serve() {
    [ -z "${server-}" ] || { kill "$server" && wait "$server"; }
    rm -f url log
    "$build/tests/servers/hub" url /dev/null log hub "$@" &
    server=$!
    while [ ! -s url ]; do sleep 0.05; done
    HF_ENDPOINT=$(cat url)
    export HF_ENDPOINT
}

# cache NAME: uses an empty cache
cache() {
    export HF_HOME="$PWD/$1"
    rm -rf "$HF_HOME"
    mkdir "$HF_HOME"
}
mkdir -p hub/acme
tiny_model hub/acme/tiny
echo '{"training": 1}' >hub/acme/tiny/training_args.bin
mkdir hub/acme/tiny/onnx
echo x >hub/acme/tiny/onnx/model.onnx

echo "layout of the cache"
serve
cache first
fails "$AOE" info -m acme/tiny 2>message
grep -c 'to download it: aoe pull acme/tiny' message
"$AOE" pull -q acme/tiny | sed "s|$PWD/||"
(cd first/hub && find . ! -type d ! -name '*.lock' | sed 's/blobs\/[0-9a-f]*/blobs\/ETAG/' | LC_ALL=C sort)
readlink "first/hub/models--acme--tiny/snapshots/$commit/1_Pooling/config.json" | sed 's/blobs\/[0-9a-f]*/blobs\/ETAG/'
cat first/hub/models--acme--tiny/refs/main
echo
for file in model.safetensors config.json tokenizer.json 1_Pooling/config.json; do
    [ ! -e hub/acme/tiny/$file ] || cmp hub/acme/tiny/$file first/hub/models--acme--tiny/snapshots/$commit/$file
done
"$AOE" similarity -q -m acme/tiny@main 'a plane' 'a plane'
"$AOE" models
"$AOE" models --json | sed 's/"bytes":[0-9]*/"bytes":N/; s|"directory":"[^"]*|"directory":"D|'
echo "a second time, nothing is downloaded"
rm log
"$AOE" pull acme/tiny --json | sed 's/.*"downloaded":/downloaded /; s/}//'
grep -c 'storage' log || true

echo "the token is sent to the endpoint only"
cp -r hub/acme hub/gated
cp -r hub/acme hub/private
cache token
fails "$AOE" pull gated/tiny
fails "$AOE" pull private/tiny
HF_TOKEN=bad fails "$AOE" pull private/tiny
echo good >token/token
rm log
"$AOE" pull -q gated/tiny >output
grep -c 'hub .* token$' log >/dev/null
grep 'hub' log | grep -vc 'token$' || true
grep 'storage' log | grep -c 'token' || true
grep -rl good token log output | LC_ALL=C sort

echo "missing models"
fails "$AOE" pull acme/none
fails "$AOE" pull acme/tiny@v9
fails "$AOE" pull ../tiny
HF_HUB_OFFLINE=1 fails "$AOE" pull acme/tiny
TRANSFORMERS_OFFLINE=yes "$AOE" pull gated/tiny | sed "s|$PWD/||"
HF_ENDPOINT=http://example.com fails "$AOE" pull acme/tiny

echo "a renamed repository"
mkdir -p hub/renamed
cp -r hub/acme/tiny hub/renamed/tiny
cache renamed
"$AOE" pull -q renamed/tiny | sed "s|$PWD/||"

echo "a model that is not supported"
mkdir -p hub/acme/other
echo '{"model_type": "unheard"}' >hub/acme/other/config.json
cp hub/acme/tiny/model.safetensors hub/acme/other
fails "$AOE" pull acme/other
is_absent renamed/hub/models--acme--other/refs/main
ls renamed/hub/models--acme--other/blobs | wc -l

echo "a model without a tokenizer"
cp -r hub/acme/tiny hub/acme/plain
rm -f hub/acme/plain/tokenizer* hub/acme/plain/vocab*
fails "$AOE" pull acme/plain
is_absent "renamed/hub/models--acme--plain/snapshots/$commit/model.safetensors"

echo "busy server"
serve busy
cache busy
"$AOE" pull -q acme/tiny >output
cmp hub/acme/tiny/model.safetensors "busy/hub/models--acme--tiny/snapshots/$commit/model.safetensors"

echo "answers that end early"
serve cut=30000
cache cut
"$AOE" pull -q acme/tiny >output
cmp hub/acme/tiny/model.safetensors "cut/hub/models--acme--tiny/snapshots/$commit/model.safetensors"
grep -c 'storage GET .* bytes=' log >/dev/null

echo "a killed download continues"
serve slow
cache killed
for signal in KILL TERM; do
    "$AOE" pull -q acme/tiny >output 2>message &
    pid=$!
    while ! [ -s "$(echo killed/hub/models--acme--tiny/blobs/*.incomplete)" ]; do sleep 0.05; done
    sleep 0.3
    kill -$signal $pid
    wait $pid 2>/dev/null || true # the shell prints "Killed" here, but not if it noticed the end of the process earlier
    is_absent killed/hub/models--acme--tiny/refs/main
done
cat message
serve
"$AOE" pull -q acme/tiny >output
cmp hub/acme/tiny/model.safetensors "killed/hub/models--acme--tiny/snapshots/$commit/model.safetensors"
grep -c 'storage GET .* bytes=' log >/dev/null
find killed/hub -name '*.incomplete'

echo "a server without ranges"
partial=killed/hub/models--acme--tiny/blobs
name=$(basename "$(readlink "killed/hub/models--acme--tiny/snapshots/$commit/model.safetensors")")
head -c 5000 hub/acme/tiny/model.safetensors >$partial/$name.incomplete
rm $partial/$name
serve ignore-range
"$AOE" pull -q acme/tiny >output
cmp hub/acme/tiny/model.safetensors $partial/$name

echo "wrong answers"
serve wrong
cache wrong
fails "$AOE" pull -q acme/tiny 2>message
sed 's/is [0-9a-f]* instead of [0-9a-f]*/is A instead of B/' message
is_absent wrong/hub/models--acme--tiny/refs/main
find wrong/hub -name '*.incomplete'
serve traversal
fails "$AOE" pull -q acme/tiny
is_absent evil ../evil
serve no-etag
cache etag
fails "$AOE" pull -q acme/tiny

echo "a full disk"
serve
cache full
code=0
(ulimit -f 100 && "$AOE" pull -q acme/tiny) >output 2>message || code=$?
echo $code
sed "s|$PWD/||; s|blobs/[0-9a-f]*|blobs/ETAG|" message
is_absent full/hub/models--acme--tiny/refs/main
"$AOE" pull -q acme/tiny >output
cmp hub/acme/tiny/model.safetensors "full/hub/models--acme--tiny/snapshots/$commit/model.safetensors"

echo "several processes"
serve
cache many
"$AOE" pull -q acme/tiny >output1 &
one=$!
"$AOE" pull -q acme/tiny >output2 &
two=$!
"$AOE" pull -q acme/tiny >output3
wait $one
wait $two
cmp output1 output2
cmp output1 output3
cmp hub/acme/tiny/model.safetensors "many/hub/models--acme--tiny/snapshots/$commit/model.safetensors"

echo "adapters and their base model"
"$AOE" train -q -m hub/acme/tiny -d "$SRC/examples/train.tsv" -o hub/acme/lora --lora-r 2 --max-steps 1 >log2
sed 's|"base_model_name_or_path":.*|"base_model_name_or_path": "acme/tiny",|' hub/acme/lora/adapter_config.json >new
mv new hub/acme/lora/adapter_config.json
cache lora
"$AOE" pull -q acme/lora | sed "s|$PWD/||"
"$AOE" similarity -q -m acme/lora 'a plane' 'a plane'
"$AOE" models | cut -c1-40
kill "$server"
wait "$server"
