# SPDX-License-Identifier: MIT
# Long texts are cut to --max-length, never the prompt; embed counts them, tokenize cuts only when told.
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
# in windows over all of it: said in the output
"$AOE" embed -m model --max-length 5 --chunk mean two.txt | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'
"$AOE" embed -m model -q --max-length 5 --chunk mean --chunk-overlap 2 two.txt | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'
"$AOE" similarity -m model -q --max-length 5 --chunk mean 'the cat and the dog and the bird' 'the cat' | grep -c cosine
fails "$AOE" embed -m model --max-length 5 --chunk mean --chunk-overlap 5 two.txt
fails "$AOE" embed -m model --max-length 5 --chunk-overlap 2 two.txt
code=0
"$AOE" embed -m model --chunk all two.txt || code=$?
echo $code
