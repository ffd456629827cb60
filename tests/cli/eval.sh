# SPDX-License-Identifier: MIT
# covers: cli/eval/cmd_sts cli/eval/eval_common
# Tests `aoe eval sts`. The rows of the table must have the order of the arguments, followed by a row for all files
# together. Other tests cover undefined correlations, a SentEval folder with unscored lines, and --columns.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
small_table a.tsv 30
printf 'x,y,z\nthe cat,a cat,1\nthe dog,"a cat, too",0\nthe cow,a bird,0.5\n' >b.csv
numbers() { sed 's/-\{0,1\}[0-9][0-9]*\.[0-9][0-9]*/R/g; s/  */ /g'; }
"$AOE" eval sts -q -m model a.tsv | numbers
"$AOE" eval sts -q -m model b.csv --columns text1=x,text2=y,label=z --json | numbers
printf 'text1\ttext2\tlabel\nthe cat\ta cat\t2\nthe dog\ta dog\t2\n' >equal.tsv
"$AOE" eval sts -q -m model equal.tsv | numbers
"$AOE" eval sts -q -m model equal.tsv --json
printf 'text1\ttext2\tlabel\nthe cat\tthe cat\t1\nthe dog\tthe dog\t2\n' >same.tsv
"$AOE" eval sts -q -m model same.tsv equal.tsv | numbers
"$AOE" eval pairs -q -m model equal.tsv --positive-from 3 --format csv | cut -d , -f 1-4
mkdir STS99-en-test
printf 'the cat\ta cat\nthe dog\ta cow\nbirds\tthe bird\n' >STS99-en-test/STS.input.animals.txt
printf '5\n\n2\n' >STS99-en-test/STS.gs.animals.txt
printf 'a car\tthe car\nthe bus\ta cow\n' >STS99-en-test/STS.input.cars.txt
printf '5\n0\n' >STS99-en-test/STS.gs.cars.txt
"$AOE" eval sts -q -m model STS99-en-test/ a.tsv | numbers
"$AOE" eval sts -q -m model STS99-en-test --json | numbers
fails "$AOE" eval sts -q -m model b.csv a.tsv
