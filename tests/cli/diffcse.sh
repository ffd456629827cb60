# SPDX-License-Identifier: MIT
# Tests the method diffcse: both losses decrease, the results do not depend on threads and, in float32, on chunks, only
# the encoder is saved, and wrong generators, data and options are rejected.
. "$SRC/tests/cli/support/model.sh"
pairs=train.tsv
cp "$SRC/examples/train.tsv" "$pairs"
cut -f 2 "$pairs" >texts.txt
tiny_model start --pooling cls
"$AOE" pretrain -q -m start -d texts.txt -o generator --epochs 4 --lr 3e-3 -t 1 >/dev/null
"$AOE" train -q -m start -d "$pairs" -o diffcse --method diffcse --generator generator --epochs 4 --lr 2e-3 \
    -t 1 >/dev/null
sed -n 's/.*"event":"step".*"contrastive":\([^,]*\),.*"detection":\([^,]*\),.*/\1 \2/p' diffcse/train-log.jsonl |
    awk '{ a[NR] = $1; b[NR] = $2 } END { for (i = 1; i <= 8; i++) { f += a[i]; g += b[i]; l += a[NR - i + 1]
        m += b[NR - i + 1] }
         print (l < 0.8 * f && m < 0.95 * g ? "both losses decrease" : "the losses change: " f " " l ", " g " " m) }'
grep -o '"\(max_length\|method\|pooling\|w_detection\|mask_rate\|tau_ibn\|generator\)": *[^,]*' diffcse/aoe.json
tr -d ' \n' <diffcse/aoe.json | grep -o '"dropped_parts":[^]]*]'
ls diffcse
"$AOE" info -m diffcse | grep 'embedding size\|^pooling'
weights() { # weights DIR [OPTION...]: trains DIR
    dir=$1
    shift
    "$AOE" train -q -m start -d "$pairs" -o "$dir" --method diffcse --generator generator --lr 2e-3 "$@" >/dev/null
}
weights threads --epochs 4 -t 2
cmp diffcse/model.safetensors threads/model.safetensors
weights f32 --epochs 1 --dtype f32 -t 1
weights chunks --epochs 1 --dtype f32 -t 2 --cache-chunk 7
cmp f32/model.safetensors chunks/model.safetensors
"$AOE" train -m start -d "$pairs" -o log --method diffcse --generator generator --max-steps 1 -t 1 2>&1 >/dev/null |
    grep 'used in training only'
"$AOE" train --method diffcse --help | tr '\n' ' ' | grep -o 'DiffCSE, Chuang *et *al. *2022'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d "$pairs" -o out "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --method diffcse --generator generator --w-ibn 1
rejected --method simcse-unsup --generator generator
rejected --method diffcse --generator generator --mask-rate 2
fails "$AOE" train -q -m start -d "$pairs" -o out --method diffcse
fails "$AOE" train -q -m start -d "$pairs" -o out --method diffcse --generator start
rejected --method diffcse --generator generator --w-detection -1
fails "$AOE" train -q -m start -d "$pairs" -o out --method diffcse --generator generator --dropout 0
fails "$AOE" train -q -m start -d "$pairs" -o out --method diffcse --generator generator --matryoshka 8
fails "$AOE" train -q -m start -d "$pairs" -o out --method diffcse --generator generator --teacher start
fails "$AOE" train -q -m start -d "$pairs" -o out --method diffcse --generator generator --ese
tiny_model other --pooling cls --vocab-size 500
"$AOE" pretrain -q -m other -d texts.txt -o other-generator --max-steps 1 -t 1 >/dev/null
fails "$AOE" train -q -m start -d "$pairs" -o out --method diffcse --generator other-generator
"$AOE" init -q --shape ran-mini --hidden 32 --layers 2 --heads 2 --head-size 16 --tokenizer start -o ran
fails "$AOE" train -q -m ran -d "$pairs" -o out --method diffcse --generator generator
