# SPDX-License-Identifier: MIT
# Tests RoBERTa and causal models in the commands init, pretrain, train, info, embed and convert. A causal model is
# also trained with bidirectional attention in its upper layers.
. "$SRC/tests/cli/support/model.sh"
cut -f 2 "$SRC/examples/train.tsv" | tail -n +2 >texts.txt
sizes="--hidden 32 --layers 2 --heads 4 --intermediate 48 --positions 66"
# shellcheck disable=SC2086
"$AOE" init -q --shape roberta-base $sizes --vocab-from texts.txt --vocab-size 500 -o start
"$AOE" info start --dtype f32 | grep -E '^(architecture|parameters|positions|pooling|max length|heads)' |
    sed 's/  */ /g'
"$AOE" pretrain -q -m start -d texts.txt -o base --dtype f32 --max-steps 2 --batch-size 64 --held-out 0.1 --no-pack \
    --json | sed 's/:[0-9][0-9.e+-]*/:N/g'
grep -o '"Roberta[A-Za-z]*"' start/config.json base/config.json
for name in roberta.embeddings.position_embeddings.weight lm_head.dense.weight lm_head.layer_norm.bias lm_head.bias; do
    grep -aq "\"$name\"" base/model.safetensors || echo "expected tensor: $name"
done
"$AOE" train -q -m base -d "$SRC/examples/train.tsv" -o tuned --batch-size 64 --max-steps 2 --dtype f32 >run
"$AOE" info tuned | grep '^architecture' | sed 's/  */ /g'
# causal models
# shellcheck disable=SC2086
"$AOE" init -q --shape qwen2.5-0.5b $sizes --kv-heads 2 --tokenizer start -o causal
"$AOE" info causal --dtype f32 |
    grep -E '^(architecture|parameters|heads|key-value|attention|pooling|max length|dropout)' | sed 's/  */ /g'
prompt='Summarize sentence "{text}" in one word:'
for threads in 1 2; do
    "$AOE" train -q -m causal -d "$SRC/examples/train.tsv" -o both$threads --bidirectional-from 1 --prompt "$prompt" \
        --batch-size 32 --max-steps 3 --dtype f32 --threads $threads >run
done
cmp both1/model.safetensors both2/model.safetensors
"$AOE" info both1 | grep -E '^(attention|pooling|prompt)' | sed 's/  */ /g'
grep -o '"bidirectional_from": *[0-9]*' both1/aoe.json
"$AOE" info both1 --json | grep -o '"causal":[a-z]*,"bidirectional_from":[a-z0-9]*'
"$AOE" info causal --json | grep -o '"causal":[a-z]*,"bidirectional_from":[a-z0-9]*'
# A long text is truncated. The part of the prompt after the text must not be truncated.
yes 'a very long text' | head -n 40 | tr '\n' ' ' >long.txt
"$AOE" embed -q -m both1 --format jsonl <long.txt | sed 's/.*\("tokens":[0-9]*,"truncated":[a-z]*\).*/\1/'
embed() { "$AOE" embed -q --format tsv --dtype f32 "$@" <texts.txt | cksum; }
test "$(embed -m both1)" = "$(embed -m both2 --threads 2)" || echo "expected equal vectors for 2 threads"
test "$(embed -m causal)" = "$(embed -m causal --bidirectional-from 2)" ||
    echo "expected equal vectors: no layer is bidirectional"
test "$(embed -m causal --pooling last-avg)" != "$(embed -m causal --pooling last-avg --bidirectional-from 0)" ||
    echo "expected other vectors with bidirectional attention"
"$AOE" convert both1 --dtype bf16 -o narrow >/dev/null 2>&1
"$AOE" convert narrow --dtype f32 -o wide >/dev/null 2>&1
bf16() { "$AOE" embed -q --format tsv --dtype bf16 "$@" <texts.txt | cksum; }
test "$(bf16 -m narrow)" = "$(bf16 -m wide)" || echo "expected equal vectors after conversion from bf16 to f32"
fails "$AOE" embed -q -m start --bidirectional-from 0 </dev/null
fails "$AOE" info causal --bidirectional-from 3
fails "$AOE" pretrain -q -m causal -d texts.txt -o other
"$AOE" info causal --bidirectional-from x || echo "exit code $?"
