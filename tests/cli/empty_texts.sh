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
