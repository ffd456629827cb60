# SPDX-License-Identifier: MIT
# Tests losses on the hidden states of all layers (--adaptive-layers, --ese) and the poolings over two layers and of the
# token [MASK]. The options must be in the training record and their terms in the log, and wrong options must be
# rejected.
. "$SRC/tests/cli/support/model.sh"
pairs=train.tsv
cp "$SRC/examples/train.tsv" "$pairs"
tiny_model start --pooling mean --layers 3
score() { # score MODEL [OPTION...]: prints the Spearman correlation on the pairs
    model=$1
    shift
    "$AOE" eval sts -q --json -m "$model" "$@" "$pairs" 2>/dev/null | sed 's/.*"spearman":\([^,]*\),.*/\1/'
}
# train NAME OPTION...: trains the model NAME, and prints whether the score improved and how often the log has terms
train() {
    name=$1
    shift
    "$AOE" train -q -m start -d "$pairs" -o "$name" -t 1 --batch-size 16 --lr 2e-3 "$@" >/dev/null
    awk -v b="$(score start)" -v a="$(score "$name")" -v m="$name" \
        'BEGIN { print m ": " (a > b + 0.05 ? "better" : "no better: " b " " a) }'
    awk '/"event":"step"/ { n++ } /"layers":/ { terms++ }
        END { print n == terms ? "terms in every step" : terms " of " n }' \
        "$name/train-log.jsonl"
}
train adaptive --epochs 4 --adaptive-layers --layers-per-step 2 --layer-prior log --layer-temperature 1 --w-layer-kl 2
tr -d ' \n' <adaptive/aoe.json | grep -o '"adaptive_layers":[^}]*}'
train ese --epochs 4 --ese --ese-dims 8
tr -d ' \n' <ese/aoe.json | grep -o '"ese":[^}]*}'
train both --epochs 4 --adaptive-layers --matryoshka 32,8 --matryoshka-per-step 1
# A method whose loss has a training head, and a method with two encoders
train classes --epochs 4 --adaptive-layers --method sbert-regression --cache-chunk 4 --recompute
"$AOE" train -q -m start -d "$pairs" -o ct --method ct-in-batch --adaptive-layers --matryoshka 32,8 --max-steps 2 \
    -t 1 >/dev/null
for pooling in last-two-avg layer1-last-avg; do
    echo 'a small test' | "$AOE" embed -q -m start --pooling $pooling | wc -l
    "$AOE" train -q -m start -d "$pairs" -o $pooling --pooling $pooling --max-steps 2 -t 1 >/dev/null
    tr -d ' \n' <$pooling/modules.json | grep -o '"type":"[^"]*"'
    grep -h '"format_version"\|"pooling":\|"layer_start"' $pooling/aoe.json $pooling/1_WeightedLayerPooling/config.json
done
score start --pooling mask --prompt '{text} [MASK]' | grep -c .
echo 'a small test' >texts.txt
fails "$AOE" embed -q -m start --pooling mask texts.txt
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d "$pairs" -o out "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --layers-per-step 2
rejected --ese-dims 8
rejected --adaptive-layers --layer-prior steep
fails "$AOE" train -q -m start -d "$pairs" -o out --ese
fails "$AOE" train -q -m start -d "$pairs" -o out --ese --ese-dims 7
fails "$AOE" train -q -m start -d "$pairs" -o out --ese --ese-dims 8 --adaptive-layers
fails "$AOE" train -q -m start -d "$pairs" -o out --ese --ese-dims 8 --matryoshka 32,8
fails "$AOE" train -q -m start -d "$pairs" -o out --adaptive-layers --layers-per-step 9
fails "$AOE" train -q -m start -d "$pairs" -o out --adaptive-layers --pooling first-last-avg
fails "$AOE" train -q -m start -d "$pairs" -o out --adaptive-layers --method simcse-unsup
"$AOE" init -q --shape ran-mini --hidden 32 --layers 2 --heads 2 --head-size 16 --tokenizer start -o ran
fails "$AOE" train -q -m ran -d "$pairs" -o out --adaptive-layers
fails "$AOE" embed -q -m ran --pooling last-two-avg texts.txt
# A pretrained model keeps the pooling and the module, although pretraining uses the last hidden state.
cut -f 2 "$pairs" >plain.txt
"$AOE" pretrain -q -m last-two-avg -d plain.txt -o pretrained --max-steps 1 -t 1 >/dev/null 2>&1
rm pretrained/aoe.json
"$AOE" info pretrained | sed -n 's/^pooling  *//p'
ls pretrained/1_WeightedLayerPooling
# The first layers and components of a model are a model of their own: the mean of its vectors and of the vectors of the
# complete model is that of layer1-last-avg pooling.
"$AOE" convert start --layers 1 -o one
"$AOE" convert -q start --layers 2 --dims 8 --dtype bf16 -o cut
"$AOE" convert start --layers 3 --dims 32 --json -o whole
cmp start/model.safetensors whole/model.safetensors
for dir in one start; do
    "$AOE" embed -q -m $dir --format tsv texts.txt >$dir.vectors
done
"$AOE" embed -q -m start --pooling layer1-last-avg --format tsv texts.txt >mean.vectors
paste one.vectors start.vectors mean.vectors | awk -F '\t' '{ n = NF / 3
    for (i = 1; i <= n; i++) { d = ($i + $(i + n)) / 2 - $(i + 2 * n); worst = d * d > worst ? d * d : worst }
} END { print n ((worst < 1e-10) ? " components agree" : " components differ: " worst) }'
"$AOE" convert -q start --dims 8 -o short
"$AOE" embed -q -m short --format tsv texts.txt | awk -F '\t' '{ print NF }'
"$AOE" info cut | grep -E '^(layers|embedding|stored)' | sed 's/  */ /g'
"$AOE" train -q -m cut -d "$pairs" -o further --max-steps 1 -t 1 >/dev/null
"$AOE" init -q --shape qwen2.5-0.5b --hidden 32 --layers 2 --heads 2 --intermediate 64 --tokenizer start -o llama
fails "$AOE" convert -q llama --layers 1 -o out
fails "$AOE" convert -q start --layers 4 -o out
fails "$AOE" convert -q start --dims 33 -o out
fails "$AOE" convert -q ran --layers 1 -o out
fails "$AOE" convert -q last-two-avg --layers 1 -o out
# Any layers can be selected. The first layers are equal to --layers, and all layers to a copy.
"$AOE" convert start --take-layers 0,2 -o taken
"$AOE" convert -q start --take-layers 0,1 --dims 8 -o first
"$AOE" convert -q start --layers 2 --dims 8 -o expected
diff -r first expected
"$AOE" convert -q start --take-layers 0,1,2 -o whole --force
"$AOE" convert -q start --dtype f32 -o expected --force
diff -r whole expected
cmp start/model.safetensors whole/model.safetensors
"$AOE" train -q -m taken -d "$pairs" --teacher start -o student --max-steps 1 -t 1 >/dev/null
fails "$AOE" convert -q start --take-layers 0,3 -o out
fails "$AOE" convert -q start --take-layers 1,1 -o out
fails "$AOE" convert -q start --take-layers 1,0 -o out
fails "$AOE" convert -q ran --take-layers 0 -o out
code=0
"$AOE" convert -q start --take-layers 0,x -o out || code=$?
"$AOE" convert -q start --take-layers 0 --layers 1 -o out || code=$code,$?
echo "exit codes $code"
is_absent out
# A norm follows the last layer of this model, so only a start model for training can be made of some of its layers.
"$AOE" convert llama --take-layers 1 -o half
# config.json of a truncated model has the new number of layers, also under other names.
sed 's/"num_hidden_layers"/"num_layers": 3, "num_hidden_layers"/' start/config.json >config.json
cp config.json start/config.json
"$AOE" convert -q start --layers 2 -o two 2>/dev/null
grep -o '"num[a-z_]*layers": *[0-9]*' two/config.json | sort
