# SPDX-License-Identifier: MIT
# Tests empty texts. embed, eval, similarity and tokenize must accept them and print one warning with their number.
# train must reject them.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
printf '\none two\n\n' | "$AOE" embed -m model | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'
printf '\n' | "$AOE" embed -m model --format tsv | wc -l
printf '\none two\n' | "$AOE" tokenize -m model --tokens
printf 'sentence1\tsentence2\tscore\na\tb\t1\n\tc d\t3\ne\t\t2\n' >pairs.tsv
"$AOE" eval sts -m model pairs.tsv | sed 's/[0-9.-]*  *[0-9.-]*$/R R/'
fails "$AOE" train -m model -d pairs.tsv -o out
is_absent out
"$AOE" similarity -m model '' '' | sed 's/  */ /'
# White space is what str.isspace of Python defines: U+00A0, U+3000 and U+001F count, U+200B (zero width space) does
# not.
printf '\302\240 \302\240\n\343\200\200\n\037\n\342\200\213\n' >spaces.txt
"$AOE" embed -q -m model spaces.txt --dims 1 >/dev/null
printf 'sentence1\tsentence2\tscore\na\tb\t1\n\302\240\tc d\t3\ne\tf\t2\n' >pairs.tsv
"$AOE" eval sts -m model pairs.tsv | sed 's/[0-9.-]*  *[0-9.-]*$/R R/'
fails "$AOE" train -m model -d pairs.tsv -o out
"$AOE" data check pairs.tsv | head -n 1
"$AOE" similarity -m model "$(sed -n 1p spaces.txt)" a >/dev/null
