# SPDX-License-Identifier: MIT
# covers: cli/model/cmd_whiten
# Tests the training methods. Each method must improve the score of the untrained model on examples/, and its log must
# contain the losses of the method. Whitening must add a dense layer without training. Options that a method does not
# use must be rejected.
. "$SRC/tests/cli/support/model.sh"
# The help lists the methods by group, each on one line.
"$AOE" train --help | sed -n '/^methods for/,/^docs/p' |
    awk '/^methods for/ { print; next } /^  [a-z]/ { n++; if (length > 100) print "too long: " $0 }
        /^   / { print "second line: " $0 }
        END { print n " methods" }'
pairs=train.tsv
cp "$SRC/examples/train.tsv" "$pairs"
tiny_model start --pooling last-max
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "premise", "hypothesis"; next }
    { print ($1 >= 3.5 ? "entailment" : $1 < 1.5 ? "contradiction" : "neutral"), $2, $3 }' "$pairs" >nli.tsv
awk -F '\t' -v OFS='\t' 'NR == 1 { print "query", "positive", "negative"; next }
    $1 >= 3.5 { if (other != "") print $2, $3, other } $1 < 2 { other = $3 }' "$pairs" >triplets.tsv
score() { # score MODEL: prints the Spearman correlation on the pairs
    "$AOE" eval sts -q --json -m "$1" "$pairs" | sed 's/.*"spearman":\([^,]*\),.*/\1/'
}
before=$(score start)
improves() { # improves MODEL: prints "better" if the score is more than 0.05 above that of the untrained model
    awk -v b="$before" -v a="$(score "$1")" \
        -v m="$1" 'BEGIN { print m ": " (a > b + 0.05 ? "better" : "no better: " b " " a) }'
}
# trains METHOD FILE [OPTION...]: trains with METHOD on FILE. Prints whether the score improved, and the names of all
# losses that are not 0 in the first step.
trains() {
    method=$1
    file=$2
    shift 2
    "$AOE" train -q -m start -d "$file" -o "$method" --method "$method" -t 1 "$@" >/dev/null
    improves "$method"
    sed -n '/"event":"step"/{p;q}' "$method/train-log.jsonl" | grep -o '"[a-z]*":[^,]*' |
        sed -nE 's/"(cosine|ibn|angle|contrastive|classification|regression|vectors|similarities)":(.*)/\1 \2/p' |
        awk '$2 > 0 { printf " %s", $1 } END { print "" }'
}
trains angle "$pairs" --epochs 4 --batch-size 16 --lr 2e-3
trains cosent "$pairs" --epochs 4 --batch-size 16 --lr 2e-3
trains sbert-regression "$pairs" --epochs 4 --batch-size 16 --lr 2e-3
trains sbert-classification nli.tsv --epochs 10 --batch-size 16 --lr 2e-3
"$AOE" train -q -m start -d nli.tsv -o features --method sbert-classification --features u,v,product --batch-size 16 \
    --max-steps 1 -t 1 >/dev/null
grep -A4 '"features"' features/aoe.json | tr -d ' \n'; echo
# The number of examples per class is logged and recorded. A file may have only one class if another file has other
# classes.
grep -v '^contradiction\|^neutral' nli.tsv >entailment.tsv
"$AOE" train -m start -d nli.tsv -d entailment.tsv -o classes --method sbert-classification --max-steps 1 \
    -t 1 2>&1 >/dev/null | grep 'per class'
tr -d ' \n' <classes/aoe.json | grep -o '"class_examples":[^]]*]'
fails "$AOE" train -q -m start -d entailment.tsv -o out --method sbert-classification
printf 'text1\ttext2\tlabel\na\tb\t0\nb\tc\t3\n' >numbers.tsv
# Classes without examples are named in one warning for all files.
"$AOE" train -m start -d numbers.tsv -d numbers.tsv label-map=3=1 -o gap --method sbert-classification --classes 6 \
    --max-steps 1 -t 1 2>&1 >/dev/null |
    grep 'no examples'
"$AOE" train -m start -d nli.tsv -d entailment.tsv -o gap --force --method sbert-classification --max-steps 1 \
    -t 1 2>&1 >/dev/null |
    grep 'no examples' || echo "no warning"
# The labels of a dev file are scores, also if the training method uses them as classes.
on_dev() { # on_dev OPTION...: prints the notes about the labels of the dev file nli.tsv
    "$AOE" train -m start -d nli.tsv -o classes --force --method sbert-classification --max-steps 1 \
        -t 1 "$@" 2>&1 >/dev/null |
        grep 'score' || echo "no note"
}
on_dev --dev nli.tsv
on_dev --dev nli.tsv --label-map neutral=2
on_dev --dev nli.tsv label-map=neutral=0.5 --label-map neutral=2
on_dev --dev nli.tsv --label-map neutral=0
trains simcse-unsup "$pairs" --epochs 4 --batch-size 64 --lr 3e-3
trains simcse-sup triplets.tsv --epochs 4 --batch-size 16 --lr 2e-3 --hard-negative 0.5
trains contrastive triplets.tsv --epochs 4 --batch-size 16 --lr 2e-3
trains symmetric triplets.tsv --epochs 4 --batch-size 16 --lr 2e-3
"$AOE" train -q -m start -d triplets.tsv -o joint --method symmetric --directions all --joint --batch-size 16 \
    -t 1 >/dev/null
grep -o '"\(directions\|joint\)": *[a-z0-9]*' joint/aoe.json
trains gist triplets.tsv --epochs 4 --batch-size 16 --lr 2e-3 --teacher angle --guide-margin 0.05 --guide-relative
grep -o '"\(guide_margin\|guide_relative\|tau_ibn\|w_teacher\)": *[a-z0-9.]*' gist/aoe.json
# The log contains the fraction of the negatives that the guide leaves out. A warning, once in a run, says that none are
# left.
left_out() { sed -n 's/.*"event":"step".*"left_out":\([^,]*\),.*/\1/p' "$1/train-log.jsonl"; }
left_out gist |
    awk '{ bad += !($1 > 0 && $1 < 1) } END { print "left out: " (NR > 0 && !bad ? "a fraction" : bad " bad of " NR) }'
"$AOE" train -q -m start -d triplets.tsv -o none --method gist --teacher angle --guide-margin 3 --batch-size 16 \
    --max-steps 3 -t 1 >/dev/null
left_out none | tr '\n' ' '; grep -c '"contrastive":0.0,' none/train-log.jsonl
# The defaults are those of the method, also if a response file names the method.
printf -- '--method gist\n' >gist.args
"$AOE" train -q -m start -d triplets.tsv -o args @gist.args --teacher angle --batch-size 16 --max-steps 1 \
    -t 1 >/dev/null
grep -o '"\(tau_ibn\|w_teacher\)": *[a-z0-9.]*' args/aoe.json
"$AOE" train --method gist --help | tr '\n' ' ' | sed "s/.*contrastive losses (default: *\([0-9.]*\)).*/tau-ibn \1/";
    echo
# The help of a method does not list the options that the method rejects. The help without a method lists all options.
listed() { "$AOE" train "$@" --help | sed -n 's/^      --\([a-z0-9-]*\).*/\1/p' | sort; }
listed >every
for method in angle consert gist is-bert distill; do
    listed --method $method >listed
    echo "$method leaves out:" $(comm -13 listed every)
done
trains distill "$pairs" --epochs 4 --batch-size 16 --lr 2e-3 --teacher angle
# A model with random weights does not learn to score pairs with ct in this time, but the loss must decrease.
"$AOE" train -q -m start -d "$pairs" -o ct --method ct --epochs 2 --batch-size 16 --lr 1e-3 -t 1 >/dev/null
sed -n 's/.*"event":"step".*"contrastive":\([^,]*\),.*/\1/p' ct/train-log.jsonl |
    awk '{ loss[NR] = $1 } END { for (i = 1; i <= 20; i++) { first += loss[i]; last += loss[NR - i + 1] }
         change = "changes from " first / 20 " to " last / 20
         print "ct: the loss " (last < 0.8 * first ? "decreases" : change) }'
# A method for plain texts says that it ignores the labels of a table.
ignored() { "$AOE" train -m start -d "$1" -o ignored --force --method simcse-unsup --max-steps 1 -t 1 2>&1 >/dev/null |
    grep ignored || echo "no note"; }
ignored "$pairs"
ignored triplets.tsv
trains ct-in-batch "$pairs" --epochs 2 --batch-size 64 --lr 2e-3
"$AOE" train -q -m start -d "$pairs" -o sizes --matryoshka 32,16:0.5,8 --matryoshka-per-step 2 -t 1 \
    --max-steps 2 >/dev/null
tr -d ' \n' <sizes/aoe.json | grep -o '"matryoshka":.*"matryoshka_per_step":2'
"$AOE" train -q -m start -d "$pairs" -o sizes --force --matryoshka 8 -t 1 --max-steps 1 >/dev/null
"$AOE" whiten -q -m start "$pairs" -o whitened --json | sed 's/"variance_kept":.*/"variance_kept":S}/'
"$AOE" whiten -q -m start "$pairs" nli.tsv -k 8 -o small
"$AOE" info small | grep -E '^(modules|embedding|pooling)' | sed 's/  */ /g'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d "$pairs" -o out "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --method cosent --w-ibn 2
rejected --method sbert-regression --tau-cosine 0.1
rejected --method angle --no-projection
rejected --method simcse-unsup --ibn-threshold 3
rejected --method contrastive --w-angle 0.5
rejected --method simcse
rejected --label-max 5
rejected --method contrastive --directions all
rejected --method symmetric --directions query-to-document,sideways
rejected --method symmetric --guide-margin 0.1
rejected --method gist --directions all
rejected --method ct --tau-ibn 0.1
rejected --method ct-in-batch --negatives 3
rejected --method gist --vector-loss squares
rejected --method distill --tau-ibn 0.1
rejected --matryoshka 32,x
rejected --matryoshka 32:
rejected --matryoshka-per-step 1
fails "$AOE" train -m start -d "$pairs" -o out --matryoshka 16,64
rejected --method cosent --features u,v
rejected --method sbert-classification --features u,max
fails "$AOE" train -m start -d nli.tsv -o out --method sbert-classification --features absdiff
fails "$AOE" train -m start -d triplets.tsv -o out --method gist
fails "$AOE" train -m start -d triplets.tsv -o out --method symmetric --directions all
fails "$AOE" train -m start -d triplets.tsv -o out --method sbert-regression
fails "$AOE" train -m start -d "$pairs" -o out --method sbert-classification
fails "$AOE" train -m start -d nli.tsv -o out --method sbert-classification --classes 2
fails "$AOE" train -m start -d numbers.tsv -o out --method sbert-classification --classes 2
fails "$AOE" train -m start -d "$pairs" -o out --method sbert-regression --label-max 4
printf 'query\tpositive\nthe cat\ta cat\nthe dog\ta dog\n' >positives.tsv
fails "$AOE" train -m start -d positives.tsv -o out --method simcse-sup --hard-negative 0.5
# A loss without in-batch negatives accepts equal texts in a batch.
for i in 1 2 3 4 5 6 7 8; do printf 'the cat\ta cat\tdog %s\n' $i; done | sed '1i query\tpositive\tnegative' >often.tsv
"$AOE" train -q -m start -d often.tsv -o often --method cosent -t 1 --batch-size 8 2>&1 | sed 's/ in [0-9]* s;/;/'
fails "$AOE" whiten -m whitened "$pairs" -o out
fails "$AOE" whiten -m start "$pairs" -o out -k 33
is_absent out
