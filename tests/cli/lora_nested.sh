# SPDX-License-Identifier: MIT
# Tests adapters of a model whose transformer is stored in the folder 0_Transformer, as older versions of
# sentence-transformers wrote it: adapter_config.json names this folder, which PEFT can open, and the directory of the
# model can be given as the base model.
. "$SRC/tests/cli/support/model.sh"
tiny_model plain
small_table pairs.tsv 8
cut -f 1 pairs.tsv | sed 1d >texts.txt
mkdir nested
cp -r plain nested/0_Transformer
cd nested/0_Transformer
mv 1_Pooling config_sentence_transformers.json ..
rm -f aoe.json
sed 's/"path": *""/"path": "0_Transformer"/' modules.json >../modules.json
rm modules.json
cd ../..
for model in plain nested; do
    "$AOE" train -q -m $model -d pairs.tsv -o $model-lora --max-steps 2 --lora-r 2 >/dev/null
    "$AOE" embed -q -m $model-lora --dtype f32 texts.txt >$model.vectors
done
cmp plain.vectors nested.vectors && echo "equal vectors"
grep -o '[a-z]*/0_Transformer' nested-lora/adapter_config.json
sed 's|/0_Transformer||' nested-lora/adapter_config.json >edited # as aoe wrote it before
mv edited nested-lora/adapter_config.json
"$AOE" embed -q -m nested-lora --dtype f32 texts.txt | cmp - nested.vectors && echo "the folder is found"
"$AOE" embed -q -m nested-lora --base nested --dtype f32 texts.txt | cmp - nested.vectors &&
    echo "the folder of the option is found"
"$AOE" merge -q nested-lora --dtype f32 -o merged
"$AOE" embed -q -m merged --dtype f32 texts.txt | cmp - nested.vectors && echo "equal vectors of the merged model"
