# SPDX-License-Identifier: MIT
# covers: modeldir/readme
# Tests licenses and model cards. The files LICENSE and NOTICE of a model must be copied to every model that is derived
# from it, and README.md must state their origin. A merged model must record its source models. Numbers in README.md
# must be equal to the numbers in aoe.json. The card of the default model must be equal to the card in its recipe, and
# its links must point to existing files.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
# license DIR: checks that LICENSE and NOTICE are copies of those of start, and prints the README's sentence about the
# origin
license() {
    grep -h '^This model is derived' "$1/README.md" && cmp start/LICENSE "$1/LICENSE" && cmp start/NOTICE "$1/NOTICE"
}
train() { "$AOE" train -q -d train.tsv --max-steps 1 "$@" >notes; }
echo 'Terms of the start.' >start/LICENSE
echo 'Attributions of the start.' >start/NOTICE
train -m start -o tuned
license tuned
grep 'NOTICE' tuned/README.md
grep -c 'LICENSE' start/README.md || echo "a model with random weights has no license"
train -m start -o stopped --save-every 1
rm stopped/model.safetensors
train -m start -o stopped --save-every 1 --resume # from a checkpoint
license stopped
train -m tuned --lora-r 2 -o adapters
license adapters
"$AOE" merge -q adapters -o merged
license merged
"$AOE" convert -q tuned --dtype bf16 -o small
license small
"$AOE" whiten -q -m start train.tsv -o white
license white
cut -f 2 train.tsv >texts.txt
"$AOE" pretrain -q -m start -d texts.txt --held-out 0 --max-steps 1 -o further >notes
license further
# A merged model records its source models. It gets the license and the notices of the first source model that has them.
# A source model with another license or other notices causes a warning.
train -m start -o ./other --seed 1
rm tuned/LICENSE tuned/NOTICE
"$AOE" merge -q tuned ./other start -o mean
license mean
sed -n '/"mean_of"/,/]/p' mean/aoe.json
sed -n '/"mean_of"/,/]/p' mean/README.md
grep -c '"seed": 42' mean/aoe.json
grep -c '"seed": 1,' mean/aoe.json
echo 'Other terms.' >other/LICENSE
echo 'Other attributions.' >other/NOTICE
"$AOE" merge -q start ./other -o terms
# If a model without a license replaces a model with a license, LICENSE and NOTICE must be removed.
train -m tuned -o terms --force
is_absent terms/LICENSE terms/NOTICE
grep 'derived' terms/README.md || echo 'no license'
fails "$AOE" init -q --hidden 32 --layers 1 --tokenizer start -o "$(mkdir new && touch new/LICENSE && echo new)"
# numbers and tags in README.md
grep -hE '"(lr|tau_cosine)"' tuned/README.md tuned/aoe.json | sort -u | sed 's/^ *//' | sort -u
"$AOE" init -q --shape ran-mini --layers 1 --hidden 32 --heads 1 --tokenizer start -o ran
sed -n '/^tags/,/^---/p' ran/README.md
# the default model
model=$SRC/models/aoe-small-en recipe=$SRC/recipes/aoe-small-en
cmp "$recipe/README.md" "$model/README.md"
cmp "$recipe/LICENSE.weights" "$model/LICENSE"
cmp "$recipe/NOTICE" "$model/NOTICE"
sed -n '1,/^---$/p; /^license/p' "$model/README.md" | sort -u
grep -o '](\.[^)]*)' "$model/README.md" | tr -d '()]' | while read -r link; do
    [ -e "$model/$link" ] && [ -e "$recipe/$link" ] || echo "broken link: $link"
done
grep -ho 'sentence-transformers/all-[A-Za-z0-9-]*' "$model/NOTICE" "$model/README.md" | sort -u # the teachers
