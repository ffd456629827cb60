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
grep -E '"(base_model_name_or_path|revision)"' adapters/adapter_config.json
grep -hE 'base_model|"teacher"' adapters/README.md
if grep -r "$PWD" adapters/adapter_config.json adapters/README.md; then exit 3; fi
"$AOE" similarity -m adapters 'a plane' 'a plane'
"$AOE" merge -q adapters --base acme/tiny -o merged
"$AOE" merge -q acme/tiny merged -o average
grep -h "acme/tiny" merged/README.md average/README.md

echo "adapters keep their commit when the branch moves"
later=$repository/snapshots/fedcba9876543210fedcba9876543210fedcba98
mkdir "$later"
tiny_model "$later" --seed 2
printf %s fedcba9876543210fedcba9876543210fedcba98 >"$repository/refs/main"
"$AOE" info --json -m adapters | sed 's/.*"base":"//; s/".*//' | sed "s|$PWD/||"
mv "$repository/snapshots/$commit" elsewhere
fails "$AOE" info -m adapters
mv elsewhere "$repository/snapshots/$commit"
rm -r "$later"
printf %s $commit >"$repository/refs/main"

echo "a trained model names its base"
"$AOE" train -q -m acme/tiny -d "$SRC/examples/train.tsv" -o trained --max-steps 1 >log
grep -h 'base_model' trained/README.md
"$AOE" train -q -m acme/tiny -d "$SRC/examples/train.tsv" -o trained --max-steps 1 --resume >log 2>&1 || tail -1 log
"$AOE" convert -q --dtype bf16 acme/tiny -o converted
sed -n '/^base_model/p' converted/README.md

echo "the cache may contain only a part of a model"
part=$HOME/.cache/huggingface/hub/models--acme--part
mkdir -p "$part/snapshots/$commit" "$part/refs" "$part/.no_exist/$commit"
printf %s $commit >"$part/refs/main"
cp "$repository/snapshots/$commit"/*.json "$repository/snapshots/$commit/model.safetensors" "$part/snapshots/$commit"
rm "$part/snapshots/$commit/modules.json" "$part/snapshots/$commit/aoe.json"
"$AOE" similarity -q -m acme/part 'a plane' 'a plane'
"$AOE" similarity -q -m acme/part --pooling cls 'a plane' 'a plane'
touch "$part/.no_exist/$commit/modules.json"
"$AOE" similarity -q -m acme/part 'a plane' 'a plane'
rm "$part/.no_exist/$commit/modules.json"
mkdir "$part/trees"
echo '[{"path": "config.json"}]' >"$part/trees/$commit.json"
"$AOE" similarity -q -m acme/part 'a plane' 'a plane'

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
