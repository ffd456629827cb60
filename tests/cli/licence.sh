# SPDX-License-Identifier: MIT
# A LICENSE beside a model's weights goes along with what is made of them, and the README says whose it is; the record of a
# mean; numbers in READMEs as in aoe.json. The card of the model that comes with aoe is the recipe's, and its links lead somewhere.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
licence() { grep -h '^This model is derived' "$1/README.md" && cmp start/LICENSE "$1/LICENSE"; }
train() { "$AOE" train -q -d train.tsv --max-steps 1 "$@" >notes; }
echo 'Terms of the start.' >start/LICENSE
train -m start -o tuned
licence tuned
grep -c 'LICENSE' start/README.md || echo "a model made from nothing has none"
train -m start -o stopped --save-every 1
rm stopped/model.safetensors
train -m start -o stopped --save-every 1 --resume # from a checkpoint
licence stopped
train -m tuned --lora-r 2 -o adapters
licence adapters
"$AOE" merge -q adapters -o merged
licence merged
"$AOE" convert -q tuned --dtype bf16 -o small
licence small
"$AOE" whiten -q -m start train.tsv -o white
licence white
cut -f 2 train.tsv >texts.txt
"$AOE" pretrain -q -m start -d texts.txt --held-out 0 --max-steps 1 -o further >notes
licence further
# a mean names the models; the licence of the first that has one, and a word where another one's differs
train -m start -o ./other --seed 1
rm tuned/LICENSE
"$AOE" merge -q tuned ./other start -o mean
licence mean
sed -n '/"mean_of"/,/]/p' mean/aoe.json
sed -n '/"mean_of"/,/]/p' mean/README.md
grep -c '"seed": 42' mean/aoe.json
grep -c '"seed": 1,' mean/aoe.json
echo 'Other terms.' >other/LICENSE
"$AOE" merge -q start ./other -o terms
# without a licence, nothing of the kind; a model that takes the place of one takes its licence away
train -m tuned -o terms --force
is_absent terms/LICENSE
grep 'derived' terms/README.md || echo 'no licence'
fails "$AOE" init -q --hidden 32 --layers 1 --tokenizer start -o "$(mkdir new && touch new/LICENSE && echo new)"
# numbers, tags
grep -hE '"(lr|tau_cosine)"' tuned/README.md tuned/aoe.json | sort -u | sed 's/^ *//' | sort -u
"$AOE" init -q --shape ran-mini --layers 1 --hidden 32 --heads 1 --tokenizer start -o ran
sed -n '/^tags/,/^---/p' ran/README.md
# the model that comes with aoe
model=$SRC/models/aoe-mini-en
cmp "$SRC/recipes/aoe-mini-en/README.md" "$model/README.md"
cmp "$SRC/recipes/aoe-mini-en/LICENSE.weights" "$model/LICENSE"
sed -n '1,/^---$/p; /^license/p' "$model/README.md" | sort -u
grep -o '](\.[^)]*)' "$model/README.md" | tr -d '()]' | while read -r link; do
    [ -e "$model/$link" ] && [ -e "$SRC/recipes/aoe-mini-en/$link" ] || echo "leads nowhere: $link"
done
sed -n '/"mean_of"/,/]/p' "$model/aoe.json"
