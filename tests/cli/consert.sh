# SPDX-License-Identifier: MIT
# Tests the methods consert and consert-sup: the log, the training record, the defaults, SentEval folders as texts, and
# the sequence of both methods. Options that a method does not use and views that a model does not support must be
# rejected.
. "$SRC/tests/cli/support/model.sh"
pairs=train.tsv
small_table "$pairs" 120
tiny_model start --pooling mean
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "premise", "hypothesis"; next }
    { print ($1 >= 3.5 ? "entailment" : $1 < 1.5 ? "contradiction" : "neutral"), $2, $3 }' "$pairs" >nli.tsv
trains() { # trains DIR METHOD FILE [OPTION...]: prints the losses of the first step that are not 0, and the views
    dir=$1
    method=$2
    file=$3
    shift 3
    "$AOE" train -q -d "$file" -o "$dir" --method "$method" -t 1 --epochs 1 --lr 1e-3 "$@" >/dev/null
    echo "$dir:"
    sed -n '/"event":"step"/{p;q}' "$dir/train-log.jsonl" | grep -o '"[a-z]*":[^,]*' |
        sed -n 's/"\(cosine\|ibn\|angle\|contrastive\|classification\|regression\)":\(.*\)/\1 \2/p' |
        awk '$2 > 0 { printf " %s", $1 } END { print "" }'
    grep -A10 '"views"' "$dir/aoe.json" | tr -d ' \n' | sed 's/],.*/]/'
    echo
}
trains unsup consert "$pairs" -m start --batch-size 32
grep -o '"\(hidden_dropout\|w_ibn\|tau_ibn\|isp\|form\)": *[a-z0-9."]*' unsup/aoe.json
trains joint consert-sup nli.tsv -m start --batch-size 16 --views none,token-cut:0.3
grep -A6 '"features"' joint/aoe.json | tr -d ' \n' | sed 's/],.*/]/'; echo
trains again consert "$pairs" -m joint --batch-size 32 --views none,feature-cut:0.1 --dropout 0.1
"$AOE" info again | grep -E '^(modules|embedding|pooling)' | sed 's/  */ /g'
is_absent joint/head.safetensors
"$AOE" train --method consert --help | tr '\n' ' ' | sed 's/.*(default: \([0-9]*\)) *--allow-dup.*/batch size \1/'; echo
# Threads do not change the weights, and in float32 neither do chunks.
weights() { # weights DIR [OPTION...]: trains DIR
    dir=$1
    shift
    "$AOE" train -q -m start -d "$pairs" -o "$dir" --method consert --epochs 1 --lr 1e-3 --batch-size 32 "$@" >/dev/null
}
weights threads -t 2 --recompute
cmp unsup/model.safetensors threads/model.safetensors && echo identical
weights f32 -t 1 --dtype f32
weights chunks -t 2 --dtype f32 --cache-chunk 5
cmp f32/model.safetensors chunks/model.safetensors && echo identical
# A folder of SentEval's STS data stands for all sentences, also of pairs without a score.
mkdir -p sts/STS16
for i in 1 2 3 4; do printf 'the cat %s\ta dog %s\tsource\n' $i $i; done >sts/STS16/STS.input.answers.txt
printf '5\n\n\n3\n' >sts/STS16/STS.gs.answers.txt
printf 'main\tMSRvid\t2012\t1\t5.0\ta man\ta woman\n' >sts/sts-dev.csv
trains folder consert sts -m start --batch-size 4 --max-steps 2
grep -o '"\(examples\|data\)": *[0-9]*' folder/aoe.json | tail -1
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d "$pairs" -o out "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --method cosent --views none,none
rejected --method consert --views shuffle
rejected --method consert --views shuffle,none,none
rejected --method consert --views shuffle,feature-cut
rejected --method consert --classes 3
rejected --method consert --w-cosine 1
fails "$AOE" train -m start -d "$pairs" -o out --method consert --views none,none
fails "$AOE" train -m start -d start -o out --method consert
fails "$AOE" train -m start -d sts -o out --method cosent
fails "$AOE" train -m start -d "$pairs" -o out --method consert --views none,token-cut:1.5
fails "$AOE" train -m start -d "$pairs" -o out --method consert-sup
fails "$AOE" train -m start -d nli.tsv -o out --method consert-sup --teacher start
fails "$AOE" train -m start -d nli.tsv -o out --method consert-sup --features u
"$AOE" init -q --shape ran-mini --hidden 32 --layers 1 --heads 2 --vocab-from "$pairs" --vocab-size 300 -o ran
fails "$AOE" train -m ran -d "$pairs" -o out --method consert
is_absent out
