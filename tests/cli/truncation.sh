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
