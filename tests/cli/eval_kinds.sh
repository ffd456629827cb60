# SPDX-License-Identifier: MIT
# covers: cli/eval/cmd_pairs cli/eval/cmd_retrieval cli/eval/cmd_suite cli/eval/cmd_triplets
# Tests `aoe eval suite`, `pairs`, `retrieval` and `triplets`. The output formats are table, CSV, Markdown and JSON.
# Some input is missing, skipped or rejected.
. "$SRC/tests/cli/support/model.sh"
word_model model
short() { sed 's/\(0\.[0-9]\{9\}\)[0-9]*/\1/g'; } # removes the last digits of cosines, which depend on the CPU tier
eval_() { # eval_ KIND ARGUMENT...: evaluates the model
    kind=$1
    shift
    "$AOE" eval "$kind" -q -m model "$@"
}

# ---- pairs
printf 'label\tsentence1\tsentence2\n1\tcat\tkitten\n0\tcat\tdog\n1\tdog\twolf\n0\tcat\ttiger\n' >mrpc.tsv
printf 'question,sentence,label\ncat,tiger,entailment\ncat,"puppy, dog",not_entailment\ncat,dog,neutral\n' >qnli.csv
eval_ pairs mrpc.tsv
eval_ pairs mrpc.tsv qnli.csv
eval_ pairs mrpc.tsv qnli.csv --json | short
eval_ pairs qnli.csv --format csv
printf 'text1\ttext2\tlabel\ncat\tkitten\t4\ncat\tdog\t1\n' >graded.tsv
fails "$AOE" eval pairs -m model graded.tsv
eval_ pairs graded.tsv --positive-from 3 --format markdown
printf 'text1\ttext2\tlabel\ncat\tkitten\t0\ncat\tdog\t0\n' >negative.tsv
eval_ pairs negative.tsv
eval_ pairs negative.tsv --json | short
printf 'text1\ttext2\tlabel\ncat\tcat\t1\ndog\tdog\t0\n' >equal.tsv
eval_ pairs equal.tsv
mkdir other
cp mrpc.tsv other
eval_ pairs mrpc.tsv other/mrpc.tsv qnli.csv --format csv | cut -d, -f1

# ---- triplets
printf 'query\tpositive\tnegative\ncat\tkitten\ttiger\ndog\twolf\tpuppy\ncat\tdog\tdog\n' >triplets.tsv
eval_ triplets triplets.tsv
eval_ triplets triplets.tsv triplets.tsv --format csv
eval_ triplets triplets.tsv ./triplets.tsv --format csv | cut -d, -f1
eval_ triplets triplets.tsv --json | short
printf 'query\tpositive\tnegative\ncat\t\ttiger\n' >empty.tsv
"$AOE" eval triplets -m model empty.tsv
fails "$AOE" eval triplets -m model triplets.tsv graded.tsv

# ---- retrieval
printf 'image\tcaption\na|1\tcat\nb\tdog\na|1\tkitten\nb\twolf\nc\ttiger\n' >captions.tsv
eval_ retrieval captions.tsv --query first --recall-at 1,2
eval_ retrieval captions.tsv --query all --recall-at 1 --top 3 --format markdown
eval_ retrieval captions.tsv --query all --json
eval_ retrieval captions.tsv --query all --count-query --top 1 --format csv
eval_ retrieval captions.tsv --seed 7 --threads 1 >seven
eval_ retrieval captions.tsv --seed 7 --threads 2 | cmp - seven
mkdir -p beir/qrels
printf '%b\n' '{"_id":"1","title":"cat","text":"kitten"}' '{"_id":"2","title":"","text":"dog"}' \
    '{"_id":"3","title":"","text":"wolf"}' >beir/corpus.jsonl
printf '{"_id":"q1","text":"puppy"}\n{"_id":"q2","text":"cat"}\n{"_id":"q3","text":"tiger"}\n' >beir/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\t3\t1\nq2\t1\t2\nq3\t1\t0\n' >beir/qrels/test.tsv
"$AOE" eval retrieval -m model beir/
eval_ retrieval beir captions.tsv --query all --doc-prompt 'wolf {text}'
# judgments of a missing text and of a missing query, an unreadable judgment, and an id that occurs twice
printf 'query-id\tcorpus-id\tscore\nq1\t9\t1\nq2\t1\t2\nq9\t1\t1\n' >beir/qrels/dev.tsv
"$AOE" eval retrieval -m model beir --split dev
printf 'q2\t1\tgood\n' >>beir/qrels/dev.tsv
printf '{"_id":"3","title":"","text":"fox"}\n' >>beir/corpus.jsonl
fails "$AOE" eval retrieval -m model beir --split dev
"$AOE" eval retrieval -m model beir --split dev --skip-bad-rows --json
fails "$AOE" eval retrieval -m model beir --split train
fails "$AOE" eval retrieval -m model graded.tsv

# ---- similarities
for similarity in cosine dot euclidean manhattan; do
    eval_ triplets triplets.tsv --similarity "$similarity" --json | sed 's/\(\.[0-9]\{9\}\)[0-9]*/\1/g'
    eval_ retrieval captions.tsv --query all --similarity "$similarity" --json | grep -o '"similarity":[^,]*' || true
done
"$AOE" eval sts -m model mrpc.tsv --similarity maxsim || echo "exit code $?"
fails "$AOE" eval retrieval -m model beir --mode lexical --similarity dot

# ---- suite
subset() { # subset YEAR NAME SCORES: writes a data set of four pairs; an empty line of SCORES is a pair without a score
    mkdir -p "data/STS/STS$1-en-test"
    printf 'cat\tkitten\ncat\ttiger\ncat\twolf\ncat\tdog\n' >"data/STS/STS$1-en-test/STS.input.$2.txt"
    printf '%b' "$3" >"data/STS/STS$1-en-test/STS.gs.$2.txt"
}
subset 13 FNWN '5\n4\n\n1\n'
subset 13 OnWN '1\n4\n3\n5\n'
subset 13 headlines '5\n4\n3\n1\n'
mkdir data/SICK
printf '%b\n' 'pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment' '1\tcat\tkitten\t5\tE' \
    '2\tcat\tdog\t1.5\tN' \
    >data/SICK/SICK_test_annotated.txt
"$AOE" eval suite -q -m model data
eval_ suite data --setting wmean --metric pearson --format csv 2>/dev/null
eval_ suite data --setting all --subsets --format markdown 2>/dev/null
eval_ suite data --json 2>/dev/null | short
rm data/STS/STS13-en-test/STS.input.OnWN.txt
fails "$AOE" eval suite -m model data
fails "$AOE" eval suite -m model model
fails "$AOE" eval suite -m model data nowhere
printf '%b\n' 'pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment' '1\tcat\tcat\t5\tE' \
    '2\tdog\tdog\t1.5\tN' \
    >other/SICK_test_annotated.txt
"$AOE" eval suite -q -m model other --setting all
eval_ sts mrpc.tsv other/mrpc.tsv --format csv | cut -d, -f1
"$AOE" eval sts -q -m model mrpc.tsv data/STS/../../qnli.csv --format csv
