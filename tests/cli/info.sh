# SPDX-License-Identifier: MIT
# Tests `aoe info`. It prints the source of each setting and the memory plan, also as JSON. The model is selected in
# three ways.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
AOE_CPU=c "$AOE" info model --dtype f32 | sed 's/  */ /g'
rm model/aoe.json
"$AOE" info -m model --pooling last-max --max-length 9 --no-normalize | grep -E '^(pooling|max length|normalize)' |
    sed 's/  */ /g'
# In the memory plan, only the packed copies and the workspaces depend on the instruction set and on the number of
# threads.
"$AOE" info model | sed -n 's/^computed in  *\(f32\|bf16\)$/computed in TYPE/p'
plan() { "$AOE" info model --dtype "$1" --json --plan --texts 8 --length 16; }
AOE_MODEL=model "$AOE" info --dtype f32 --json --plan --texts 8 --length 16 >f32
plan f32 | cmp - f32
plan bf16 >bf16
for type in f32 bf16; do
    sizes='packed|activations|training_packed|working|objectives|training|training_recompute|evaluation'
    sed -E 's/"tier":"[a-z0-9]*"/"tier":"TIER"/; s/"('$sizes')":[1-9][0-9]*/"\1":N/g' $type
    sed 's/.*"plan"//; s/[{}":]/ /g' $type | tr ',' '\n' | awk '{ v[$1] = $2 }
        END {
            sum = v["parameters"] + v["gradients"] + v["moments"] + v["training_packed"] + v["kept"] + v["working"]
            print sum + v["objectives"] == v["training"] ? "adds up" : "does not add up"
        }'
done
"$AOE" info model --dtype bf16 --plan --texts 8 --length 16 | tail -n 18 | sed 's/  *[0-9.]* MiB/ N MiB/; s/ *$//'
fails "$AOE" info missing
# The default model is the only installed model or, if several are installed, the model with the name default.
mkdir -p prefix/bin prefix/share/aoe/models
cp "$AOE" prefix/bin/aoe
found() { # prints the name of the default model
    prefix/bin/aoe info | sed -n 's/^directory .*models\//found /p'
}
fails prefix/bin/aoe info
cp -r model prefix/share/aoe/models/first
found
cp -r model prefix/share/aoe/models/second
fails prefix/bin/aoe info
cp -r model prefix/share/aoe/models/default
found
# JSON contains the shortest decimal number that is converted to the same value.
"$AOE" info model --json | grep -o '"dropout":[0-9.]*'
# The second encoder of a method has parameters of its own, and that of diffcse also activations. dan trains word
# embeddings and bigrams without the encoder, infersent an LSTM.
kept=$("$AOE" info --shape bert-tiny --dtype f32 --texts 8 --length 16 --json | sed 's/.*"kept":\([0-9]*\).*/\1/')
for method in angle ct diffcse dan infersent; do
    "$AOE" info --shape bert-tiny --dtype f32 --texts 8 --length 16 --method $method --json |
        sed 's/.*"parameters":\([0-9]*\).*"kept":\([0-9]*\).*/\1 \2/' |
        awk -v method=$method -v kept="$kept" '{ print method, $1, $2 / kept }'
done
code=0
"$AOE" info -m model --method ct || code=$?
echo "exit code $code"
"$AOE" info -m model --plan --method infersent | grep '^ training'
sizes() { "$AOE" info -m model --plan --texts 8 --json "$@" | grep -o '"texts":8,"length":[0-9]*'; }
sizes --method promptbert
sizes --method promptbert --length 20
# Without --texts, the plan is for a batch of the method, in which a pair of a cross-encoder is one text.
for method in angle simcse-sup ct ct-in-batch is-bert consert-sup cross-encoder gist; do
    echo "$method $("$AOE" info --shape bert-tiny --length 16 --method $method | sed -n 's/^memory for *//p')"
done
fails "$AOE" info --shape bert-tiny --method promptbert

# The estimate depends on the options of `aoe train` that change the memory of training.
parts() { # parts METHOD OPTION...: prints the parts of an estimate, one per line
    method=$1
    shift
    "$AOE" info --shape bert-tiny --dtype f32 --length 16 --json --method "$method" "$@" |
        sed 's/.*"plan"://; s/[{}"]//g' | tr ',' '\n'
}
changed() { # changed METHOD OPTION...: prints the parts that the options change
    parts "$1" >usual
    parts "$@" >other
    echo "$*:$(diff usual other | sed -n 's/^> \([a-z_]*\):.*/ \1/p' | tr -d '\n')"
}
changed angle --batch-size 8
changed angle --cache-chunk 8
changed angle --optimizer sgd
changed angle --adaptive-layers
changed angle --adaptive-layers --layers-per-step 2
changed angle --ese
changed angle --ese --ese-dims 16
changed simcse-sup --no-projection
changed infersent --lstm-dims 64
changed dan --bigrams 1024
changed sbert-classification --classes 7
changed sbert-classification --features u,v
printf '%s\n' '--method infersent' '--lstm-dims 64' >lstm.args
"$AOE" info --shape bert-tiny --dtype f32 --length 16 --json @lstm.args | sed 's/.*"plan"://; s/[{}"]//g' |
    tr ',' '\n' >by_file
parts infersent --lstm-dims 64 | cmp - by_file
rejected() { # rejected OPTION...: prints the exit code
    code=0
    "$AOE" info "$@" || code=$?
    echo "$code: $*"
}
rejected --shape bert-tiny --optimizer sgd --dtype int8
rejected --shape bert-tiny --texts 8 --batch-size 8
rejected --shape bert-tiny --lstm-dims 64
rejected --shape bert-tiny --layers-per-step 2
rejected --shape bert-tiny --classes 3
rejected -m model --batch-size 8

# The plan of a run of several processes: memory, bytes and times
ranks() {
    "$AOE" info --shape bert-tiny --dtype f32 --length 16 --batch-size 32 --json --ranks "$@" |
        sed 's/.*"step":{"ranks/{"ranks/'
}
ranks 1
ranks 3 --network 10Gb --rate 1000
ranks 4 --shards 8 --network 1Gb --rate 1000
"$AOE" info --shape bert-tiny --dtype f32 --length 16 --ranks 2 --network 100Gb --rate 5e6 | sed -n '/step of/,$p'
for speed in 10GB 10 Gb fast -1Gb 1e3Gb 0Gb; do
    code=0
    "$AOE" info --shape bert-tiny --ranks 2 --network $speed || code=$?
    echo "exit code $code"
done
fails "$AOE" info --shape bert-tiny --ranks 4 --shards 2
# Accumulated batches, pretraining and the head of a cross-encoder are part of the plan.
ranks 2 --accumulate 3 --network 1Gb --rate 1000
ranks 2 --pretrain --network 1Gb --rate 1000 --shards 4
plan_of() {
    "$AOE" info --shape bert-tiny --dtype f32 --length 16 --batch-size 32 --json "$@" |
        grep -o '"\(texts\|parameters\|gradients\|moments\)":[0-9]*' | paste -sd' '
}
plan_of
plan_of --accumulate 2 --shards 4
plan_of --method cross-encoder
plan_of --method cross-encoder --classes 3
plan_of --pretrain
for options in --method=angle --accumulate=2 --texts=4 --lora-r=2 --cache-chunk=2; do
    code=0
    "$AOE" info --shape bert-tiny --pretrain $options || code=$?
    echo "exit code $code"
done
fails "$AOE" info --shape tinyllama-1.1b --pretrain --length 16
fails "$AOE" info --shape ran-mini --method cross-encoder --length 16
code=0
"$AOE" info -m model --pretrain || code=$?
echo "exit code $code"
for options in "--ranks 2" "--network 1Gb" "--rate 5"; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" info model $options || code=$?
    echo "exit code $code"
done
