# SPDX-License-Identifier: MIT
# Tests `aoe eval rerank`: a first stage with an embedding model and with a run file, the metrics before and after
# reranking, the written run file, and errors.
. "$SRC/tests/cli/support/model.sh"
cp -r "$SRC/tests/golden/cross_encoders/bert" model
mkdir -p beir/qrels
i=0
for text in 'w1 w2' 'w3 w4 w5' 'w6' 'w7 w8' 'w9 w10 w11' 'w12'; do
    i=$((i + 1))
    echo "{\"_id\": \"d$i\", \"title\": \"w2$i\", \"text\": \"$text\"}"
done >beir/corpus.jsonl
for q in 1 2 3; do
    echo "{\"_id\": \"q$q\", \"text\": \"w$q w1$q\"}"
done >beir/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\td2\t1\nq1\td3\t2\nq2\td6\t1\nq3\td1\t0\n' >beir/qrels/test.tsv
# rerank ARGUMENT...: runs the evaluation; the times are removed
rerank() { "$AOE" eval rerank beir -m model --dtype f32 "$@" |
    sed 's/ *[0-9.]*$//; s/"seconds":[0-9.e-]*/"seconds":N/g'; }
# A first stage with a run file: lines in any order, and equal scores.
cat >first.run <<'END'
q2 Q0 d6 3 1.0 bm25
q1 Q0 d1 1 9.5 bm25
q1 Q0 d4 2 9.5 bm25
q1	Q0	d3	3	1e0	bm25

q1 Q0 d2 4 -2 bm25
q2 Q0 d5 1 3.5 bm25
q2 Q0 d1 2 2.5 bm25
q3 Q0 d1 1 2.5 bm25
END
rerank --run first.run --class 1 -o out.run
cut -d ' ' -f 1-4,6 out.run
# The scores are those of aoe rerank.
cut -d ' ' -f 5 out.run | head -n 4 >scores
"$AOE" rerank -q -m model --dtype f32 --query 'w1 w11' --class 1 -f tsv beir/corpus.jsonl >ranked || exit 3
printf 'w21 w1 w2\nw22 w3 w4 w5\nw23 w6\nw24 w7 w8\n' |
    "$AOE" rerank -q -m model --dtype f32 --query 'w1 w11' --class 1 -f tsv |
    sed 1d | cut -f 2 | cmp - scores
# The reranked run is a valid first stage.
rerank -q --run out.run --class 1 --json
rerank -q --run first.run --class 1 --top 2 --cutoff 1 --format csv
# A first stage with an embedding model: the same metrics as aoe eval retrieval.
tiny_model embedding
rerank -q --first embedding --class 1 --top 6 --json | grep -o '"first":{"ndcg":[0-9.]*,"mrr":[0-9.]*' |
    sed 's/"first":{//' >one
"$AOE" eval retrieval beir -q -m embedding --dtype f32 --json |
    sed 's/.*"mrr":\([0-9.]*\),"ndcg":\([0-9.]*\).*/"ndcg":\2,"mrr":\1/' | cmp - one
for threads in 1 3; do
    rerank -q --first embedding --class 1 --threads $threads -o threads$threads.run >threads$threads
done
cmp threads1 threads3
cmp threads1.run threads3.run
wc -l <threads1.run
# The prompts of the directory are used for queries and documents.
rm embedding/aoe.json
echo '{"prompts": {"query": "w1 ", "document": "w2 "}}' >embedding/config_sentence_transformers.json
rerank --first embedding --class 1 --top 2 >prompts
# Queries without documents, and truncated pairs.
grep -v q2 first.run >part.run
rerank -q --run part.run --class 1 --max-length 6
# Errors.
bad() { # bad LINE ARGUMENT...: adds a line to the run file, which must be rejected
    { cat first.run && echo "$1"; } >bad.run
    shift
    fails "$AOE" eval rerank beir -q -m model --run bad.run --class 1 "$@"
}
bad 'q1 Q0 d1 9 1.0 x'
bad 'q9 Q0 d1 9 1.0 x'
bad 'q1 Q0 d9 9 1.0 x'
bad 'q1 Q0 d5 9 high x'
bad 'q1 d5 9 1'
rerank --run bad.run --class 1 --skip-bad-rows | wc -l
fails "$AOE" eval rerank beir -q -m model --run missing.run --class 1
fails "$AOE" eval rerank beir -q -m model --run first.run
fails "$AOE" eval rerank beir -q -m model --run first.run --class 5
fails "$AOE" eval rerank missing -q -m model --run first.run --class 1
fails "$AOE" eval rerank beir -q -m embedding --run first.run
fails "$AOE" eval rerank beir -q -m model --run first.run --class 1 --split dev
for arguments in '' '--run first.run --first embedding' '--run first.run --top 0'; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" eval rerank beir -m model $arguments || code=$?
    [ $code = 2 ]
done
