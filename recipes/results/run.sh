#!/bin/sh
# SPDX-License-Identifier: MIT
# run.sh [TABLE...]: creates the tables of docs/results.md as Markdown files in $AOE_WORK (build/results). This script
# and the .args files of this folder define the runs. Finished runs are not repeated. See README.md.
#     AOE_DATA=DIR AOE_MODELS=DIR recipes/results/run.sh [TABLE...]
#   TABLE      lr, weights, objectives, pooling, isp, batch, methods, mrpc, quora, untrained, nli, retrieval (default:
#              all of these), and finetune, finetune_weights, truncated, supervised, unlabelled, fitted, for
#              ENCODERS="all-MiniLM-L6-v2 all-mpnet-base-v2 bert-mini" SEEDS=3
#   STEPS      training steps of the tables nli and supervised (default: 500)
#   SENTENCES  number of sentences of the tables unlabelled and fitted (default: 65536)
#   ENCODERS   aoe-mini-en, bert-mini, all-MiniLM-L6-v2, all-mpnet-base-v2 (default: the first two)
#   SEEDS      number of seeds; the first is 42 (default: 5)
#   JOBS       number of concurrent runs (default: one per CPU)
set -eu
cd "$(dirname "$0")/../.."
AOE_WORK=${AOE_WORK:-build/results}
# shellcheck source=recipes/steps.sh
. recipes/steps.sh
mkdir -p "$AOE_WORK"
recipe=recipes/results
SEEDS=${SEEDS:-5}
JOBS=${JOBS:-$(nproc)}
STEPS=${STEPS:-500}
ENCODERS=${ENCODERS:-aoe-mini-en bert-mini}
SENTENCES=${SENTENCES:-65536}
export START LR POOLING TRAIN EPOCHS STEPS
sts=$AOE_DATA/sts12_14_15/senteval

encoder() { # encoder NAME: sets its directory, learning rate, pooling, the best weights of the tables "weights" and
            # "finetune_weights", the epochs of the table finetune, and the learning rates that the tables supervised
            # and unlabelled try
    FINETUNE=1 RATES=2e-5,1e-4 UNLABELLED_RATES=1e-5,5e-5 TUNED= FINETUNE_WEIGHTS=
    case $1 in
    aoe-mini-en) START=${AOE_MODELS:?folder that contains aoe-mini-en}/aoe-mini-en LR=4e-4 POOLING=last-avg \
        TUNED='--w-ibn 1 --w-angle 30' ;;
    bert-mini)
        START=${AOE_MODELS:?folder that contains bert-mini}/bert-mini LR=4e-4 POOLING=cls \
            TUNED='--w-ibn 0.3 --w-angle 1'
        RATES=1e-4,4e-4 UNLABELLED_RATES=3e-5,3e-4
        ;;
    all-MiniLM-L6-v2) START=${AOE_MODELS:?folder that contains all-MiniLM-L6-v2}/all-MiniLM-L6-v2 LR=1e-4 \
        POOLING=last-avg FINETUNE=2 FINETUNE_WEIGHTS='--w-ibn 0 --w-angle 30' ;;
    all-mpnet-base-v2) START=${AOE_MODELS:?folder that contains all-mpnet-base-v2}/all-mpnet-base-v2 LR=2e-5 \
        POOLING=last-avg ;;
    *)
        echo "run.sh: unknown encoder '$1'; ENCODERS can be aoe-mini-en, bert-mini, all-MiniLM-L6-v2," \
            all-mpnet-base-v2 >&2
        exit 2
        ;;
    esac
}

# compare TABLE RUNS ARGS --test FILE... --arm ARM...: writes the Markdown file of one table and encoder. Tables with
# the same ARGS and test files share the directory RUNS, so an arm that occurs in several tables is trained once.
compare() {
    out=$AOE_WORK/$1-$name runs=$AOE_WORK/$2-$name args=$3
    shift 3
    "$aoe" compare -o "$runs" --seeds "$SEEDS" --jobs "$JOBS" --format markdown --keep "${KEEP:-none}" "$@" \
        -- "@$recipe/$args.args" >"$out.part"
    mv "$out.part" "$out.md"
    echo "$out.md" >&2
}
# on_stsb TABLE ARM...: compares arms that are trained and tested on STS-B; the first one is the reference arm
on_stsb() {
    table=$1
    shift
    compare "$table" runs-stsb stsb --test "$AOE_DATA/stsb/test.tsv" --arm "$@"
}

lr() {
    "$aoe" grid -o "$AOE_WORK/runs-lr-$name" --over lr=1e-4,2e-4,4e-4,8e-4 --seeds 2 --jobs "$JOBS" \
        -- "@$recipe/stsb.args" >"$AOE_WORK/lr-$name.part"
    mv "$AOE_WORK/lr-$name.part" "$AOE_WORK/lr-$name.txt"
}
weights() { # weights of the in-batch negatives and angle losses, with a cosine loss of weight 1
    "$aoe" grid -o "$AOE_WORK/runs-weights-$name" --over w-ibn=0,0.3,1 w-angle=0,0.3,1,3,10,30,100,300 --seeds 1 \
        --jobs "$JOBS" -- "@$recipe/stsb.args" \
        >"$AOE_WORK/weights-$name.part"
    mv "$AOE_WORK/weights-$name.part" "$AOE_WORK/weights-$name.txt"
}
objectives() {
    on_stsb objectives angle: untrained 'no-ibn: --w-ibn 0' 'no-angle: --w-angle 0' 'no-cosine: --w-cosine 0' \
        'cosine: --w-ibn 0 --w-angle 0' 'ibn: --w-cosine 0 --w-angle 0' 'angle-alone: --w-cosine 0 --w-ibn 0' \
        'little-ibn: --w-ibn 0.1' "tuned: $TUNED"
}
pooling() {
    on_stsb pooling 'cls: --pooling cls' 'cls-last-avg: --pooling cls-last-avg' \
        'last-avg: --pooling last-avg' 'last-max: --pooling last-max' 'first-last-avg: --pooling first-last-avg'
}
isp() {
    on_stsb isp angle: 'no-isp: --no-isp' 'threshold-3: --ibn-threshold 3' \
        'no-threshold: --no-isp --ibn-threshold 0' 'angle-phase: --angle-form phase'
}
batch() {
    on_stsb batch angle: '8: --batch-size 8' '16: --batch-size 16' '50: --batch-size 50' '256: --batch-size 256'
}
methods() {
    on_stsb methods angle: untrained 'cosent: --method cosent' 'sbert-regression: --method sbert-regression' \
        'simcse-unsup: --method simcse-unsup'
}
finetune() { # from a model that is already a sentence encoder
    EPOCHS=$FINETUNE
    compare finetune runs-finetune finetune --test "$AOE_DATA/stsb/test.tsv" \
        --arm angle: untrained 'cosent: --method cosent' 'sbert-regression: --method sbert-regression' \
        'simcse-unsup: --method simcse-unsup' ${FINETUNE_WEIGHTS:+"tuned: $FINETUNE_WEIGHTS"}
}
finetune_weights() { # weights of the in-batch negatives and angle losses for the table finetune, selected on STS-B dev
    EPOCHS=$FINETUNE
    "$aoe" grid -o "$AOE_WORK/runs-finetune-weights-$name" --over w-ibn=0,0.3,1 w-angle=0,1,30 --seeds 1 \
        --jobs "$JOBS" -- "@$recipe/finetune.args" \
        >"$AOE_WORK/finetune_weights-$name.part"
    mv "$AOE_WORK/finetune_weights-$name.part" "$AOE_WORK/finetune_weights-$name.txt"
}
truncated() { # the table finetune with and without Matryoshka losses, evaluated with fewer components
    EPOCHS=$FINETUNE sizes=384,192,96,48 runs=$AOE_WORK/runs-truncated-$name
    for seed in $(seq 42 $((41 + SEEDS))); do
        for arm in matryoshka angle; do
            out=$runs/${arm}_seed=$seed options=
            [ $arm = angle ] || options="--matryoshka $sizes"
            # shellcheck disable=SC2086
            step "$out/config.json" "$aoe" train -q "@$recipe/finetune.args" -o "$out" --seed "$seed" $options >&2
            "$aoe" eval sts -q --format csv --dtype bf16 -m "$out" --dims "$sizes" "$AOE_DATA/stsb/test.tsv" |
                awk -F , -v OFS=, -v arm=$arm 'NR > 1 { print arm, $3, $5 }'
        done
    done | awk -F , -v first=arm "$pivot" >"$AOE_WORK/truncated-$name.md"
    echo "$AOE_WORK/truncated-$name.md" >&2
}
# arm NAME VALUES OPTIONS: prints an arm whose learning rate is the one of VALUES whose trained model has the best score
# on the selection set (recipes/overlaps/selection.sh), with one seed
arm() {
    step "$AOE_WORK/selection.tsv" recipes/overlaps/selection.sh "$AOE_WORK/selection.tsv"
    # shellcheck disable=SC2086 # the options contain no spaces and quotes
    rate=$("$aoe" grid -q -o "$AOE_WORK/runs-rate-$table-$name/$1" --over "lr=$2" --score "$AOE_WORK/selection.tsv" \
        --jobs "$JOBS" --keep none --json -- "@$recipe/$table.args" $3 | sed -n 's/^{"best":{"lr":\([^}]*\)}.*/\1/p')
    printf '%s: --lr %s %s' "$1" "${rate:?no score of the arm $1}" "$3"
}
supervised() { # methods for labelled pairs and triplets of NLI
    [ -e "$AOE_WORK/triplets.tsv" ] || "$recipe/prepare.sh"
    pairs="--data $AOE_WORK/pairs_train.tsv" triplets="--data $AOE_WORK/triplets.tsv"
    angle=$(arm angle "$RATES" "$pairs") # one assignment per line, so that a failure ends the script
    sbert=$(arm sbert-classification "$RATES" "--method sbert-classification $pairs")
    simcse=$(arm simcse-sup "$RATES" "--method simcse-sup $triplets")
    consert=$(arm consert-sup "$RATES" "--method consert-sup $pairs")
    cosent=$(arm cosent "$RATES" "--method cosent $pairs --label-map entailment=1,neutral=0.5,contradiction=0")
    regression=$(arm sbert-regression "$RATES" "--method sbert-regression $pairs")
    contrastive=$(arm contrastive "$RATES" "--method contrastive $triplets")
    symmetric=$(arm symmetric "$RATES" "--method symmetric $triplets")
    gist=$(arm gist "$RATES" "--method gist --teacher $AOE_MODELS/all-MiniLM-L6-v2 $triplets")
    infersent=$(arm infersent 0.1,0.5 "--method infersent --lstm-dims 512 --pooling last-max --dtype f32 $pairs")
    dan=$(arm dan 1e-4,1e-3 "--method dan $pairs")
    set --
    if [ "$name" = bert-mini ]; then # the method needs a masked-LM head
        promptbert=$(arm promptbert-sup "$RATES" "--method promptbert-sup --pooling mask $triplets")
        set -- "$promptbert"
    fi
    compare supervised runs-supervised supervised --test "$AOE_DATA/stsb/test.tsv" "$sts/STS12-en-test" \
        "$sts/STS14-en-test" "$sts/STS15-en-test" \
        --arm "$angle" "untrained: $pairs" "$sbert" "$simcse" "$consert" "$infersent" "$dan" "$cosent" "$regression" \
        "$contrastive" "$symmetric" "$gist" "$@"
}
unlabelled() { # methods for plain texts
    [ -e "$AOE_WORK/unlabelled.txt" ] || SENTENCES=$SENTENCES "$recipe/prepare.sh"
    simcse=$(arm simcse-unsup "$UNLABELLED_RATES" '--method simcse-unsup')
    consert=$(arm consert "$UNLABELLED_RATES" '--method consert')
    ct=$(arm ct "$UNLABELLED_RATES" '--method ct --batch-size 8 --max-steps 256')
    ct_in_batch=$(arm ct-in-batch "$UNLABELLED_RATES" '--method ct-in-batch')
    is_bert=$(arm is-bert "$UNLABELLED_RATES" '--method is-bert')
    diffcse=$(arm diffcse "$UNLABELLED_RATES" "--method diffcse --generator $AOE_MODELS/bert-mini")
    promptbert=$(arm promptbert "$UNLABELLED_RATES" '--method promptbert --pooling mask')
    compare unlabelled runs-unlabelled unlabelled --test "$AOE_DATA/stsb/test.tsv" "$sts/STS12-en-test" \
        "$sts/STS14-en-test" "$sts/STS15-en-test" \
        --arm "$simcse" untrained "$consert" "$ct" "$ct_in_batch" "$is_bert" "$diffcse" "$promptbert"
}
# modules after the pooling that are fitted to the texts of the table unlabelled (Wikipedia) or of the table supervised
fitted() {
           # (NLI), without training the encoder
    [ -e "$AOE_WORK/unlabelled.txt" ] || SENTENCES=$SENTENCES "$recipe/prepare.sh"
    runs=$AOE_WORK/runs-fitted-$name
    mkdir -p "$runs"
    for texts in Wikipedia NLI; do
        file=$AOE_WORK/unlabelled.txt
        [ $texts = Wikipedia ] || file=$AOE_WORK/pairs_train.tsv
        step "$runs/whitening_$texts/all/config.json" "$aoe" whiten -q -m "$START" --pooling last-avg --max-length 64 \
            --dtype bf16 -o "$runs/whitening_$texts/all" "$file" >&2
        for seed in $(seq 42 $((41 + SEEDS))); do
            step "$runs/flow_$texts/$seed/config.json" "$aoe" flow -q -m "$START" --pooling last-avg --max-length 64 \
                --dtype bf16 --seed "$seed" -o "$runs/flow_$texts/$seed" "$file" >&2
        done
    done
    for arm in untrained whitening_Wikipedia whitening_NLI flow_Wikipedia flow_NLI; do
        for model in "$runs/$arm"/*; do
            [ $arm != untrained ] || model=$START
            "$aoe" eval sts -q --format csv --dtype bf16 --pooling last-avg \
                -m "$model" "$AOE_DATA/stsb/test.tsv" "$sts/STS12-en-test" "$sts/STS14-en-test" "$sts/STS15-en-test" |
                awk -F , -v OFS=, -v arm="$arm" 'NR > 1 && $1 != "all" && $1 !~ "/" { print arm, $1, $3 }'
        done
    done | awk -F , -v first=arm "$pivot" >"$AOE_WORK/fitted-$name.md"
    echo "$AOE_WORK/fitted-$name.md" >&2
}
mrpc() {
    TRAIN=$AOE_DATA/mrpc/train.tsv EPOCHS=2
    compare mrpc runs-mrpc pairs --test "$AOE_DATA/mrpc/test.tsv" \
        --arm angle: untrained 'cosent: --method cosent' 'sbert-regression: --method sbert-regression' \
        'sbert-classification: --method sbert-classification' 'simcse-unsup: --method simcse-unsup' \
        'contrastive: --method contrastive'
}
quora() {
    TRAIN=$AOE_DATA/qqp_part/train.tsv EPOCHS=1
    compare quora runs-quora pairs --test "$AOE_DATA/qqp_part/dev.tsv" \
        --arm angle: untrained 'cosent: --method cosent' 'sbert-regression: --method sbert-regression' \
        'sbert-classification: --method sbert-classification' 'simcse-unsup: --method simcse-unsup' \
        'contrastive: --method contrastive'
}
nli() {
    [ -e "$AOE_WORK/triplets.tsv" ] || "$recipe/prepare.sh"
    pairs=$AOE_WORK/pairs_train.tsv triplets=$AOE_WORK/triplets.tsv
    KEEP=all compare nli runs-nli nli --test "$sts/STS12-en-test" "$sts/STS14-en-test" "$sts/STS15-en-test" \
        --arm "angle: --data $pairs" \
        "untrained: --data $pairs" \
        "cosent: --method cosent --data $pairs --label-map entailment=1,neutral=0.5,contradiction=0" \
        "sbert-classification: --method sbert-classification --data $pairs" \
        "sbert-regression: --method sbert-regression --data $pairs" \
        "simcse-unsup: --method simcse-unsup --data $pairs" "simcse-sup: --method simcse-sup --data $triplets" \
        "contrastive: --method contrastive --data $triplets" "angle-triplets: --data $triplets" \
        "angle-ibn-35: --w-cosine 0 --w-ibn 35 --data $pairs"
}
untrained() { # without training: poolings, and whitening fitted on the texts of NLI
    [ -e "$AOE_WORK/pairs_train.tsv" ] || "$recipe/prepare.sh"
    out=$AOE_WORK/untrained-$name whitened=$AOE_WORK/whitened-$name
    [ -e "$whitened/config.json" ] ||
        "$aoe" whiten -q -m "$START" --pooling first-last-avg --dtype bf16 --max-length 64 \
            -o "$whitened" "$AOE_WORK/pairs_train.tsv"
    for pooling in cls last-avg first-last-avg whitened; do
        printf '\n%s\n\n' "$pooling"
        case $pooling in
        whitened) set -- -m "$whitened" ;;
        *) set -- -m "$START" --pooling "$pooling" ;;
        esac
        "$aoe" eval sts -q --format markdown "$@" --dtype bf16 "$AOE_DATA/stsb/test.tsv" "$sts/STS12-en-test" \
            "$sts/STS14-en-test" "$sts/STS15-en-test"
    done >"$out.part"
    mv "$out.part" "$out.md"
    echo "$out.md" >&2
}
retrieval() { # mean and standard deviation over the seeds, for the models of the table nli
    [ -e "$AOE_WORK/nli-$name.md" ] || nli
    out=$AOE_WORK/retrieval-$name
    for model in "$START" "$AOE_WORK/runs-nli-$name"/runs/*/model; do
        [ -e "$model/config.json" ] || continue
        arm=${model%/model} && arm=${arm##*/} && arm=${arm%_seed=*}
        [ "$model" != "$START" ] || arm=untrained
        "$aoe" eval retrieval -q --format csv -m "$model" --dtype bf16 "$AOE_DATA/flickr30k/test.tsv" >"$out.one.part"
        sed "1d; s/^/$arm,/" "$out.one.part"
    done >"$out.csv.part"
    rm "$out.one.part"
    mv "$out.csv.part" "$out.csv"
    awk -F , "$means" "$out.csv" >"$out.md"
    echo "$out.md" >&2
}
# Reads lines ROW,COLUMN,SCORE and prints the means and standard deviations as a Markdown table. first: name of the
# first column.
# shellcheck disable=SC2016
pivot='
    !($1 in seen) { seen[$1]; row[++rows] = $1 }
    !($2 in known) { known[$2]; column[++columns] = $2 }
    $3 !~ /^-?[0-9]/ { print "run.sh: " $1 ", " $2 ": the score is " $3 >"/dev/stderr"; exit failed = 1 }
    { n[$1, $2]++; sum[$1, $2] += $3; square[$1, $2] += $3 * $3 }
    END {
        if (failed) exit 1
        head = "| " first " |"; line = "| --- |"
        for (c = 1; c <= columns; c++) { head = head " " column[c] " |"; line = line " ---: |" }
        print head "\n" line
        for (r = 1; r <= rows; r++) {
            text = "| " row[r] " |"
            for (c = 1; c <= columns; c++) {
                k = n[row[r], column[c]]; m = sum[row[r], column[c]] / k; v = square[row[r], column[c]] / k - m * m
                sd = sqrt(v > 0 ? v * k / (k - 1) : 0)
                text = text sprintf(" %.2f", m) (k > 1 ? sprintf(" (%.2f)", sd) : "") " |"
            }
            print text
        }
    }'
# shellcheck disable=SC2016
means='
    function cell(arm, i) {
        m = sum[arm, i] / n[arm]; v = square[arm, i] / n[arm] - m * m
        return sprintf("%.2f", m) (n[arm] > 1 ? sprintf(" (%.2f)", sqrt(v > 0 ? v * n[arm] / (n[arm] - 1) : 0)) : "")
    }
    BEGIN {
        print "| arm | seeds | strict | recall@1 | recall@5 | recall@10 | MRR@10 | nDCG@10 |"
        print "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    }
    !($1 in n) { order[++arms] = $1 }
    { n[$1]++; for (i = 5; i <= 10; i++) { sum[$1, i] += $i; square[$1, i] += $i * $i } }
    END {
        for (a = 1; a <= arms; a++) {
            arm = order[a]; line = "| " arm " | " n[arm]
            for (i = 5; i <= 10; i++) line = line " | " cell(arm, i)
            print line " |"
        }
    }'

[ $# -gt 0 ] || set -- lr weights objectives pooling isp batch methods mrpc quora untrained nli retrieval
for table; do
    for name in $ENCODERS; do
        encoder "$name"
        "$table"
    done
done
