# SPDX-License-Identifier: MIT
# Tests that no command drops a column that carries information without a word. For every combination of texts (pair,
# positive, triplet, tuple) and label (none, label, score, integers of natural language inference), and for every
# command, the result is "used", "named as unused" or "rejected". Also tests the names of negatives and the keys of
# .jsonl files.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
# table TEXTS LABEL: writes a table with 4 rows to TEXTS-LABEL.tsv
table() {
    case $1 in
    pair) names='sentence1 sentence2' ;;
    positive) names='anchor positive' ;;
    triplet) names='anchor positive negative' ;;
    tuple) names='anchor positive negative_2 negative_10 negative_1' ;;
    esac
    case $2 in
    none) label= ;;
    nli) label=label ;;
    *) label=$2 ;;
    esac
    echo "$names${label:+ $label}" | tr ' ' '\t' >"$1-$2.tsv"
    i=0
    for word in cat dog puppy wolf; do
        row=
        for name in $names; do
            row="$row$word $name	"
        done
        case $2 in
        none) row=${row%	} ;;
        nli) row=$row$((i % 3)) ;;
        *) row=$row$((i % 2)) ;;
        esac
        i=$((i + 1))
        echo "$row" >>"$1-$2.tsv"
    done
}
# result FILE COMMAND...: prints what COMMAND does with the last column of FILE
result() {
    file=$1
    last=$(head -n 1 "$file" | tr '\t' '\n' | tail -n 1)
    shift
    if ! "$@" >out 2>err; then
        if grep -q "$last\|unrecognized\|no column\|integers up to 2\|plain texts\|trains on" err; then
            echo rejected; else cat err; fi
    elif grep "not used: .*'$last'" err >/dev/null; then
        echo unused
    elif grep "from .*'$last'" err >/dev/null; then
        echo used
    else
        echo "IGNORED"
        cat err
    fi
}
for kind in none label score teacher_score is_duplicate nli; do
    for texts in pair positive triplet tuple; do
        table $texts $kind
        f=$texts-$kind.tsv
        for method in angle contrastive symmetric cosent cross-encoder sbert-classification simcse-unsup; do
            echo "$f train $method: $(result $f "$AOE" train -m model -d $f -o o --force --max-steps 1 \
                --method $method \
                $([ $method != sbert-classification ] || echo --classes 3) \
                --allow-duplicates $([ $method != simcse-unsup ] || echo --dropout 0.1))"
        done
        echo "$f eval sts: $(result $f "$AOE" eval sts -m model $f)"
        echo "$f eval pairs: $(result $f "$AOE" eval pairs -m model $f --positive-from 1)"
        echo "$f eval triplets: $(result $f "$AOE" eval triplets -m model $f)"
        echo "$f data mine: $(result $f "$AOE" data mine -m model $f)"
        echo "$f data convert: $(result $f "$AOE" data convert $f --to positives -o p.tsv)"
        for command in check stats dedup; do
            echo "$f data $command: $(result $f "$AOE" data $command $f)"
        done
        echo "$f embed: $(result $f "$AOE" embed -m model $f)"
    done
done >table.txt
cat table.txt
# Names of negatives, their order, and the columns that --columns ignores or selects.
check() { # check FILE [OPTION...]: prints the notes, or the error, of reading FILE as training data
    echo "$@"
    "$AOE" train -m model -d "$@" -o o --force --max-steps 1 --allow-duplicates --method contrastive 2>&1 |
        grep -e "$1" || true
}
printf 'Query,id,NEG_2,Positive,neg1,hard_negative_3,negative\na,1,b,c,d,e,f\ng,2,h,i,j,k,l\n' >names.csv
check names.csv
check names.csv columns=negative=neg1,negative=NEG_2
check names.csv columns=ignore=neg1,ignore=id
printf 'query,positive,negative_passages\na,b,c\nd,e,f\n' >passages.csv
check passages.csv
check passages.csv columns=negative=negative_passages
check passages.csv columns=ignore=negative_passages
check positive-label.tsv form=positives
check triplet-label.tsv columns=ignore=label
printf 'query,positive,negative,scores\na,b,c,0.5\n' >scores.csv
check scores.csv
# Names of labels, in training and in the evaluation of triplets.
for name in is_duplicate isSimilar class Target grade entailment_judgment cosine; do
    printf 'query,positive,%s\na,b,0\nc,d,1\n' $name >pair-name.csv
    check pair-name.csv
    printf 'query,positive,negative,%s\na,b,c,1\nd,e,f,0\n' $name >triplet-name.csv
    "$AOE" eval triplets -q -m model triplet-name.csv 2>&1 || true
done
"$AOE" eval triplets -m model --json triplet-name.csv --columns ignore=cosine 2>&1 |
    sed -e "/^pooling: /d" -e "s/,\"accuracy.*//"
check pair-name.csv columns=label=cosine
# data dedup compares the label of positives.
printf 'query,positive,is_duplicate\na,b,0\na,b,1\na,b,1\n' >duplicates.csv
"$AOE" data dedup -q --conflicts keep duplicates.csv
"$AOE" data dedup -q --columns ignore=is_duplicate duplicates.csv
# Keys that only later rows have.
printf '{"query":"a","positive":"b"}\n{"query":"c","positive":"d","id":7,"negative":"e"}\n' >late.jsonl
check late.jsonl
check late.jsonl columns=ignore=negative
sed 's/negative/score/' late.jsonl >late-score.jsonl
check late-score.jsonl
"$AOE" data check late.jsonl 2>&1 | head -n 2
# Lists of negatives and of labels.
printf '%b\n' '{"query":"a","pos":["b","c"],"neg":["d","e"],"neg_scores":[1,2],"prompt":"x"}' \
    '{"query":"f","pos":["g"],"neg":["h","i"]}' >lists.jsonl
check lists.jsonl
printf '{"query":"j","pos":["k"],"neg":["l"]}\n' | cat lists.jsonl - >uneven.jsonl
check uneven.jsonl
check uneven.jsonl columns=negative=neg
printf '{"anchor":"a","positive":["b","c"],"labels":[1,0]}\n' >labels.jsonl
check labels.jsonl
"$AOE" data convert tuple-none.tsv --to triplets -o t.tsv -q >/dev/null
head -n 4 t.tsv
"$AOE" eval triplets -q --json -m model tuple-none.tsv | sed 's/,"accuracy.*//'
# Integer labels of natural language inference.
for label in label gold_label score; do
    for texts in 'premise,hypothesis' 'sentence1,sentence2' 'text1,text2'; do
        printf '%s,%s\na,b,0\nc,d,1\ne,f,2\ng,h,-1\n' "$texts" $label >nli.csv
        echo "$texts,$label"
        "$AOE" data convert nli.csv --to positives -f tsv -q 2>&1 | head -n 1
    done
done
printf 'premise,hypothesis,label\na,b,0\nc,d,1\ne,f,2\ng,h,-1\n' >nli.csv
"$AOE" data convert nli.csv --to positives -f tsv -q --label-map 0=1,1=0.5,2=0,-1=drop
printf 'sentence1,sentence2,label\na,b,0\nc,d,1\ne,f,2\ng,h,5\n' >sts.csv
"$AOE" data convert sts.csv --to positives -f tsv -q
# The notes are on stderr, each once, and not with -q.
"$AOE" data stats names.csv names.csv --json 2>notes | head -c 1
cat notes
"$AOE" data stats -q names.csv 2>notes >/dev/null
cat notes
