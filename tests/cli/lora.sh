# SPDX-License-Identifier: MIT
# Tests LoRA adapters. They are trained, resumed, trained further, merged, and used as the model of other commands.
# Other tests cover rejected options and the planned memory of a 7B model.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
cut -f 1 train.tsv | tail -n +2 | head -n 20 >texts.txt
train() { # train OUTPUT OPTION...: trains on train.tsv
    output=$1
    shift
    "$AOE" train -q -d train.tsv --batch-size 16 --lr 1e-3 -o "$output" "$@"
}
expect_equal() { cmp "$1/adapter_model.safetensors" "$2/adapter_model.safetensors" && echo "equal adapters"; }
train adapters -m start --epochs 2 --lora-r 4 -t 1 >/dev/null
(cd adapters && echo *)
(cd adapters/checkpoints/step-8 && echo *)
sed -n 's/^ *"\(r\|lora_[a-z]*\|task_type\|target_modules\)"/\1/p; s/^ *\("[a-z.]*"\),*$/  \1/p' \
    adapters/adapter_config.json
train threads -m start --epochs 2 --lora-r 4 -t 3 >/dev/null
expect_equal adapters threads
# The checkpoint after 8 steps is removed, so the run is resumed from the checkpoint after 5 steps.
train stopped -m start --epochs 2 --lora-r 4 --save-every 5 --keep-checkpoints 2 >/dev/null
rm -r stopped/checkpoints/step-8 stopped/adapter_model.safetensors
fails train stopped -m start --epochs 2 --lora-r 8 --resume
fails train stopped -m start --epochs 2 --resume
train stopped -m start --epochs 2 --lora-r 4 --resume >/dev/null
expect_equal adapters stopped
# Adapters can be used as a model. The merged model must compute equal vectors.
"$AOE" merge adapters -o merged
"$AOE" merge adapters --dtype bf16 -q --json -o small
for type in f32 bf16; do
    "$AOE" embed -q -m adapters --dtype $type texts.txt >a
    "$AOE" embed -q -m merged --dtype $type texts.txt >b
    "$AOE" embed -q -m start --dtype $type texts.txt >c
    cmp a b && echo "equal vectors"
    cmp -s a c || echo "the vectors differ from the base model"
done
"$AOE" eval sts -q --dtype f32 -m adapters train.tsv >a
"$AOE" eval sts -q --dtype f32 -m merged train.tsv >b
cmp a b
"$AOE" tokenize -m adapters texts.txt | head -n 1
"$AOE" info adapters | sed -n '/^base/s|  .*/|  |p; /^adapters/p; /^parameters/p; /^pooling/p'
"$AOE" info -q adapters --json | sed 's/.*\("lora_r":[0-9]*\).*/\1/'
# further training of adapters
train more -m adapters --epochs 1 --load-8bit >/dev/null
cmp -s more/adapter_model.safetensors adapters/adapter_model.safetensors || echo "the adapters changed"
grep -c '"load_8bit": true' more/aoe.json
# adapters of a cross-encoder
train scores -m start --epochs 1 --lora-r 2 --method cross-encoder >/dev/null
(cd scores && echo *)
grep -o '"task_type": "[A-Z_]*"' scores/adapter_config.json
"$AOE" merge -q scores -o pairs
"$AOE" info -q scores | sed -n '/^adapters/p; /^cross-encoder/p'
for model in scores pairs; do "$AOE" rerank -q -m $model --dtype f32 --pairs train.tsv \
    --format tsv >$model.tsv 2>/dev/null; done
cmp scores.tsv pairs.tsv && echo "equal scores"
mv start base
fails "$AOE" embed -m adapters texts.txt 2>err
sed "s|$(pwd -P)/||" err
"$AOE" embed -q -m adapters --base base --dtype f32 texts.txt >c
"$AOE" embed -q -m merged --dtype f32 texts.txt >b
cmp b c && echo "equal vectors"
fails "$AOE" merge base -o new
fails "$AOE" merge adapters -o merged
fails "$AOE" embed -m merged --base base texts.txt
fails train new -m adapters --base base --lora-r 4
fails train new -m base --load-8bit
fails train new -m base --lora-dropout 0.2
fails "$AOE" info base --plan --load-8bit
"$AOE" info base --plan --lora-dropout 0.2 || echo "exit code $?"
fails train new -m base --lora-r 4 --lora-targets q_proj
fails "$AOE" pretrain -q -m adapters --base base -d texts.txt -o new
is_absent new
"$AOE" info --shape llama2-7b --dtype bf16 --texts 32 --length 32 --lora-r 32 |
    awk '/^  total/ { print ($2 < 24 * 1024) ? "bf16: below 24 GB" : $0 }'
"$AOE" info --shape llama2-7b --dtype bf16 --texts 32 --length 32 --lora-r 32 --load-8bit |
    awk '/^  total/ { print ($2 < 16 * 1024) ? "int8: below 16 GB" : $0 }'
"$AOE" info merged --plan --texts 4 --length 8 --lora-r 2 | grep -c 'frozen weights  *[1-9]\|frozen weights  *0.[1-9]'
"$AOE" info --shape nothing || echo "exit code $?"
"$AOE" info merged --stored f32 || echo "exit code $?"
