# SPDX-License-Identifier: MIT
# Tests that commands find a model in the cache of the Hugging Face Hub by its name: -m, operands, AOE_MODEL, --teacher,
# --base and the base model in adapter_config.json. A local directory takes precedence. No command downloads a model.
. "$SRC/tests/cli/support/model.sh"
unset HF_HUB_CACHE HUGGINGFACE_HUB_CACHE HF_HOME XDG_CACHE_HOME AOE_MODEL
export HOME="$PWD/home"
commit=0123456789abcdef0123456789abcdef01234567
repository=$HOME/.cache/huggingface/hub/models--acme--tiny
mkdir -p "$repository/snapshots" "$repository/refs"
tiny_model "$repository/snapshots/$commit"
printf %s $commit >"$repository/refs/main"

where() { # prints the directory of the model that a command opened
    sed "s|.*\"directory\":\"$PWD/||; s/\".*//"
}
"$AOE" info --json -m acme/tiny | where
"$AOE" info --json acme/tiny@main | where
AOE_MODEL=acme/tiny@$commit "$AOE" info --json | where
echo 'a plane' | "$AOE" tokenize -m acme/tiny >tokens
test -s tokens
"$AOE" similarity -m acme/tiny 'a plane' 'a plane'

echo "adapters of a base model in the cache"
"$AOE" train -q -m acme/tiny -d "$SRC/examples/train.tsv" -o adapters --lora-r 2 --max-steps 1 --teacher acme/tiny >log
sed "s|\"base_model_name_or_path\":.*|\"base_model_name_or_path\": \"acme/tiny\",|" adapters/adapter_config.json >new
mv new adapters/adapter_config.json
"$AOE" similarity -m adapters 'a plane' 'a plane'
"$AOE" merge -q adapters --base acme/tiny -o merged
"$AOE" merge -q acme/tiny merged -o average

echo "a local directory takes precedence"
mkdir acme
cp -r merged acme/tiny
"$AOE" info --json -m acme/tiny | sed 's/.*"directory":"//; s/".*//'

echo "missing models"
fails "$AOE" info acme/other
fails "$AOE" info -m acme/tiny@v2
fails "$AOE" train -d "$SRC/examples/train.tsv" -o out --teacher acme/other
rm -r acme
rm "$repository/snapshots/$commit/model.safetensors"
fails "$AOE" info -m acme/tiny
