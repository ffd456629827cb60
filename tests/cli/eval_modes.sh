# SPDX-License-Identifier: MIT
# covers: cli/eval/cmd_retrieval
# Tests `aoe eval retrieval --mode`: lexical search finds what the queries contain, the dense mode is the default, and
# the weights of the hybrid mode decide between both.
. "$SRC/tests/cli/support/model.sh"
word_model model
mkdir -p beir/qrels
printf '%b\n' '{"_id":"1","title":"cat","text":"kitten"}' '{"_id":"2","title":"","text":"dog and puppy"}' \
    '{"_id":"3","title":"","text":"snake_case 部署"}' >beir/corpus.jsonl
printf '{"_id":"q1","text":"puppy"}\n{"_id":"q2","text":"Case"}\n{"_id":"q3","text":"署"}\n' \
    >beir/queries.jsonl
printf '{"_id":"q4","text":"wolf"}\n' >>beir/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\t2\t1\nq2\t3\t1\nq3\t3\t1\nq4\t2\t1\n' >beir/qrels/test.tsv
retrieval() { "$AOE" eval retrieval -q -m model beir "$@"; }
retrieval --mode lexical
retrieval >dense
retrieval --mode dense | cmp - dense
retrieval --mode hybrid --weights 1,0 | cmp - dense
retrieval --mode hybrid --weights 0.1,1 --json >hybrid
retrieval --mode hybrid --weights 0.2,2 --json | cmp - hybrid
grep -c '"mrr"' hybrid
for weights in 1 1,2,3 0,0 -1,1 nan,1 1,x; do
    "$AOE" eval retrieval -m model beir --mode hybrid --weights "$weights" || echo "exit code $?"
done
"$AOE" eval retrieval -m model beir --mode words || echo "exit code $?"
