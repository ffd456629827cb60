# SPDX-License-Identifier: MIT
# tags: slow network
# Tests all steps of recipes/annotate-stsb with a few texts, a tiny model, and a local chat endpoint. A second run must
# repeat no step.
. "$SRC/tests/cli/support/model.sh"
"$BUILD/tests/servers/chat" url log sk-recipe &
server=$!
trap 'kill $server 2>/dev/null || true' EXIT
while [ ! -e url ]; do sleep 0.05; done
export AOE_DATA="$PWD/data" AOE_MODELS="$PWD/models" AOE_WORK="$PWD/work" SECRET=sk-recipe LIMIT=12 SIZE=2
export OPTIONS="--max-steps 2 --epochs 1 --batch-size 8 -t 1 -q"
mkdir -p data/stsb models
for part in train dev test; do small_table data/stsb/$part.tsv 24; done
tiny_model models/bert-base-uncased --positions 128
run() { "$SRC/recipes/annotate-stsb/run.sh" "$@"; }
code=0
run 2>errors || code=$?
grep '^run.sh' errors
echo "exit code $code"
for name in CHATGPT LLAMA CHATGLM; do
    export "${name}_API=$(cat url)/v1" "${name}_KEY_ENV=SECRET"
done
export CHATGPT_MODEL=numbered LLAMA_MODEL=bullets CHATGLM_MODEL=json CHATGPT_PRICE=1,2
run --dry-run | grep calls
is_absent data/llm/chatgpt.tsv log.part
run 2>errors | sed 's/-\{0,1\}[0-9][0-9]*\.[0-9][0-9]/NN.NN/'
grep -c '^== ' errors
head -n 1 data/llm/chatglm.tsv
cut -f 3,4 data/llm/*.tsv | sort | uniq -c | sed 's/^ *//'
grep -c ' 200$' log
test "$(tail -n +2 data/llm/ensemble.tsv | cut -f 1,2 | sort | uniq -d | wc -l)" = 0 || echo "a pair occurs twice"
run 2>errors | wc -l
grep '^== ' errors || echo "nothing repeated"
