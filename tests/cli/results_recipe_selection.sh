# SPDX-License-Identifier: MIT
# tags: slow recipes
# Tests the tables supervised and unlabelled of recipes/results with a tiny encoder: the learning rate of each arm is
# the one with the best score on the selection set, and no run reads STS-B dev.
. "$SRC/tests/cli/support/model.sh"
for program in jq "${AWK:-mawk}"; do
    command -v "$program" >program || { echo "SKIP: $program is not installed"; exit 77; }
done
export AOE_MODELS="$PWD/models" AOE_DATA="$PWD/data" AOE_WORK="$PWD/work" ENCODERS=bert-mini SEEDS=1 STEPS=2 JOBS=2
mkdir models work data data/stsb data/nli_part
tiny_model start
cut -f 2 "$SRC/examples/test.tsv" >corpus.txt
# PromptBERT and DiffCSE need a masked-LM head
"$AOE" pretrain -q -m start -d corpus.txt -o models/bert-mini --max-steps 2 -t 1 >/dev/null
cp -r start models/all-MiniLM-L6-v2
# The pairs of STS-B test, STS12, STS14 and STS15, and of the year 2014 in STS-B dev, are the first pairs of the
# examples. The pairs of the year 2012train are the following ones.
small_table data/stsb/test.tsv 12
pairs() { # pairs FIRST LAST YEAR: these pairs of the examples with the columns of STS-B
    awk -F '\t' -v OFS='\t' -v first="$1" -v last="$2" \
        -v year="$3" 'NR - 1 >= first && NR - 1 <= last { print $1, $2, $3, "genre", "file", year, NR }' \
        "$SRC/examples/train.tsv"
}
header='score\tsentence1\tsentence2\tgenre\tfile\tyear\tid\n'
{ printf "$header"; pairs 1 12 2014; pairs 101 106 2012train; } >data/stsb/dev.tsv
{ printf "$header"; pairs 1 6 2012train; pairs 107 120 2012train; } >data/stsb/train.tsv
for year in 12 14 15; do
    folder=data/sts12_14_15/senteval/STS$year-en-test
    mkdir -p $folder
    tail -n +2 data/stsb/test.tsv | cut -f 2,3 >$folder/STS.input.one.txt
    tail -n +2 data/stsb/test.tsv | cut -f 1 >$folder/STS.gs.one.txt
done
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "premise", "hypothesis", "source", "in_eval"; next }
    { print ($1 > 3 ? "entailment" : $1 > 2 ? "neutral" : "contradiction"), $2, $3, "s", 0 }' data/stsb/test.tsv \
        >data/nli_part/pairs_train.tsv
awk -F '\t' -v OFS='\t' 'NR == 1 { print "premise", "entailment", "contradiction", "source", "in_eval"; next }
    { print $2, $3, "not " $2, "s", 0 }' data/stsb/test.tsv >data/nli_part/triples.tsv
cut -f 2 data/stsb/test.tsv >work/unlabelled.txt
"$SRC/recipes/results/run.sh" supervised unlabelled 2>err || { cat err; exit 3; }
grep 'rows kept' err
head -n 1 work/selection.tsv
grep -c . work/selection.tsv

for table in supervised unlabelled; do
    echo "== $table: whether the learning rate of each arm has the best score (both rates can have it)," \
        "and the file with the score"
    for grid in work/runs-rate-$table-bert-mini/*; do
        arm=${grid##*/}
        best=$(jq -sc '(map(.score) | max) as $best | map(select(.score == $best).point.lr)' "$grid/results.jsonl")
        jq -r --arg arm "$arm" --argjson best "$best" '"\($arm): \(.options.lr | IN($best[]))"' \
            "work/runs-$table-bert-mini/runs/${arm}_seed=42/record.json"
        cat "$grid"/runs/*/record.json |
            jq -r '.files | keys[] | select(test("/selection.tsv$|/stsb/")) | sub(".*/"; "")' | uniq -c | tr -s ' '
    done
    echo "files of the table from STS-B"
    cat work/runs-$table-bert-mini/runs/*/record.json |
        jq -r '.files | keys[] | select(contains("/stsb/")) | sub(".*/"; "")' | sort -u
done
