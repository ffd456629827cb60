# SPDX-License-Identifier: MIT
# Tests the truncation of long texts to --max-length. The prompt must never be truncated. embed must print the number
# of truncated texts. tokenize must truncate texts only if --max-length is given.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
printf 'the cat and the dog and the bird\nthe cat\n' >two.txt
"$AOE" embed -m model --max-length 5 two.txt | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'
"$AOE" embed -m model -q --prompt 'the: {text}' --max-length 8 two.txt | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'
"$AOE" tokenize -m model --tokens two.txt
"$AOE" tokenize -m model --tokens --max-length 5 two.txt
"$AOE" tokenize -m model --tokens --max-length 5 --prompt 'the: {text}' --json two.txt
"$AOE" tokenize -m model --tokens --no-specials two.txt
fails "$AOE" tokenize -m model --max-length 1 two.txt
fails "$AOE" tokenize -m model --prompt 'no place' two.txt
awk 'BEGIN { for (i = 0; i < 100; i++) printf "cat "; print "" }' | "$AOE" tokenize -m model | tr ',' '\n' | wc -l
# With --chunk mean, all tokens are used, and the output contains the number of chunks.
"$AOE" embed -m model --max-length 5 --chunk mean two.txt | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'
"$AOE" embed -m model -q --max-length 5 --chunk mean --chunk-overlap 2 two.txt |
    sed 's/"embedding":\[[^]]*\]/"embedding":[]/'
"$AOE" similarity -m model -q --max-length 5 --chunk mean 'the cat and the dog and the bird' 'the cat' | grep -c cosine
fails "$AOE" embed -m model --max-length 5 --chunk mean --chunk-overlap 5 two.txt
fails "$AOE" embed -m model --max-length 5 --chunk-overlap 2 two.txt
code=0
"$AOE" embed -m model --chunk all two.txt || code=$?
echo $code
# Evaluations and training must print how many texts were truncated. The query of a triplet must be counted once.
printf '%b\n' 'text1\ttext2\tlabel' 'the cat and the dog and the bird\tthe cat\t1' \
    'the bird\tthe cat and the dog and the bird\t0' >pairs.tsv
"$AOE" eval sts -m model --max-length 5 pairs.tsv pairs.tsv --json | sed 's/.*"skipped"/"skipped"/'
"$AOE" eval pairs -m model --max-length 5 pairs.tsv --json | sed 's/.*"skipped"/"skipped"/'
"$AOE" eval sts -m model --max-length 5 --chunk mean pairs.tsv --json | sed 's/.*"skipped"/"skipped"/'
printf 'query\tpositive\tnegative\nthe cat and the dog and the bird\tthe cat\ta bird\n' >triplets.tsv
"$AOE" eval triplets -m model --max-length 5 triplets.tsv --json | sed 's/.*"skipped"/"skipped"/'
printf 'group\ttext\na\tthe cat and the dog and the bird\na\tthe cat\nb\ta bird\nb\tbirds\n' >groups.tsv
"$AOE" eval retrieval -m model --max-length 5 groups.tsv --json | sed 's/.*"skipped"/"skipped"/'
"$AOE" similarity -m model --max-length 5 'the cat and the dog and the bird' 'the cat' --json |
    sed 's/.*"truncated"/"truncated"/'
"$AOE" similarity -m model --max-length 5 --chunk mean '' 'the cat and the dog and the bird' | grep -c cosine
small_table train.tsv 16
"$AOE" train -q -m model --max-length 40 -d train.tsv --dev pairs.tsv --epochs 2 -o whole | grep -c best
"$AOE" train -q -m model --max-length 5 --batch-size 32 -d train.tsv --dev pairs.tsv --epochs 2 -o cut 2>&1 |
    grep -c 'dev\|pairs.tsv: 2 of 4 texts were truncated'
