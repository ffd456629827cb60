# SPDX-License-Identifier: MIT
# covers: cli/plot/size_results
# Tests the data, the script and the errors of `aoe plot matryoshka`. gnuplot is not in PATH, so the program must report
# an error, but must write the data and the script.
. "$SRC/tests/cli/support/model.sh"
plot() { # plot ARGUMENT...: runs aoe plot matryoshka without gnuplot and prints the data
    code=0
    rm -f out.*
    PATH= "$AOE" plot matryoshka "$@" -o out 2>err || code=$?
    [ $code = 1 ] && tail -n 1 err | grep -q '^aoe: gnuplot is not installed' || echo "exit code $code"
    grep -v gnuplot err || true
    cat out.dat
    grep -E '^(xlabel|ylabel|x|tics|lines|label[0-9]+) =' out.gp
}
# The plot shows the numbers that aoe eval prints, as JSON and as CSV.
tiny_model model --pooling mean --layers 2
small_table table.tsv 60
"$AOE" eval sts -q -m model --layers 2,1 --dims 32,4,8 --json table.tsv 2>/dev/null >json.jsonl
"$AOE" eval sts -q -m model --layers 2,1 --dims 32,4,8 --format csv table.tsv 2>/dev/null >table.csv
round() { awk '!/^#/ && NF == 2 { printf "%d %.2f\n", $1, $2; next } { print }'; }
plot json.jsonl | round >from-json
plot table.csv | round >from-csv
cmp from-json from-csv
grep -v '^[0-9]' from-json
awk '!/^#/ && NF == 2 && /^[0-9]/' from-json | sort -n | awk '{ print $2 }' | sort >got
cut -d , -f 5 table.csv | tail -n +2 | sort | cmp - got && echo "the numbers are those of aoe eval"

echo "== several files, axes and rows"
printf '{"name":"a","layers":6,"dims":%d,"spearman":%s}\n' 96 0.8 384 0.86 192 0.85 >one.jsonl
sed 's/"layers":6/"layers":12/; s/0\.8/0.7/' one.jsonl >two.json
plot one.jsonl two.json
plot one.jsonl two.json --x layers
printf '{"name":"a","layers":%d,"dims":32,"accuracy":%s}\n' 3 0.5 1 0.25 2 null >layers.jsonl
plot layers.jsonl
plot layers.jsonl --x dims | grep '^lines\|^label'
for name in b all; do sed "s/\"a\"/\"$name\"/; s/0\\.8/0.6/" one.jsonl; done | cat one.jsonl - >inputs.jsonl
plot inputs.jsonl | head -n 2
plot inputs.jsonl --row b | head -n 2
{ echo; printf 'name,layers,dims,pairs,spearman\n"a, ""b""",0,%d,9,%s\n' 4 50.5 &&
    printf '"a, ""b""",0,8,9,undefined\n'; } >quoted.csv
plot quoted.csv | head -n 3
seq 20 | sed 's/.*/{"name":"a","layers":6,"dims":&,"spearman":0.5}/' >many.jsonl
plot many.jsonl | grep '^tics'

echo "== metrics of the other evaluations"
printf '%s%s\n' '{"name":"STS-B","layers":6,"dims":8,"path":"p","all":{"spearman":0.1,"pearson":0.2},' \
    '"wmean":{"spearman":0.3,"pearson":0.4}}' >suite.jsonl
sed 's/STS-B/average/; s/0\.1/0.5/' suite.jsonl >>suite.jsonl
plot suite.jsonl | sed -n 2,3p
plot suite.jsonl --row STS-B --metric wmean.pearson | sed -n 2,3p
printf '%b\n' 'subset,layers,dims,pairs,spearman' 'STS13/FNWN,6,8,3,11.00' '' \
    'setting,layers,dims,STS13,STS-B,average of 2' 'all,6,8,1.00,-,3.00' 'mean,6,8,4.00,-,6.00' >suite.csv
plot suite.csv | sed -n 2,3p
plot suite.csv --row mean --metric sts13 | sed -n 2,3p
plot suite.csv --row STS13/FNWN | sed -n 2,3p
printf '{"name":"beir","layers":6,"dims":8,"texts":3,"recall":{"1":0.5,"5":0.75},"ndcg":0.25}\n' >beir.jsonl
plot beir.jsonl | sed -n 2,3p
plot beir.jsonl --metric recall@5 | sed -n 2,3p
printf 'name,layers,dims,texts,recall@1,MRR@10,nDCG@10\nbeir,6,8,3,50.00,20.00,25.00\n' >beir.csv
plot beir.csv beir.jsonl | sed -n 2,7p
plot beir.csv --metric mrr | sed -n 2,3p

echo "== errors"
rejected() { # rejected ARGUMENT...: expects exit code 1 and no file
    fails "$AOE" plot matryoshka "$@" -o none
    is_absent none.dat none.gp
}
rejected missing.jsonl
rejected .
: >empty.jsonl
rejected empty.jsonl
printf 'name,layers,dims,pairs,spearman\n' >header.csv
rejected header.csv
rejected one.jsonl table.tsv
{ cat one.jsonl; echo 'nonsense'; } >mixed.jsonl
rejected mixed.jsonl
printf '[1]\n{"name":"a"}\n' >array.jsonl
rejected array.jsonl
printf '{"name":"a","spearman":0.5}\n' >no-size.jsonl
rejected no-size.jsonl
printf '{"name":"a","layers":1.5,"dims":8,"spearman":0.5}\n' >half.jsonl
rejected half.jsonl
printf 'name,layers,dims,spearman\na,6,8,50\na,6,16\n' >short.csv
rejected short.csv
printf 'name,layers,dims,spearman\n"a,6,8,50\n' >quote.csv
rejected quote.csv
printf 'name,pairs,spearman\na,6,50\n' >plain.csv
rejected plain.csv
printf 'name,layers,dims,spearman\na,6,x,50\n' >text.csv
rejected text.csv
cat one.jsonl one.jsonl >twice.jsonl
rejected twice.jsonl
cat one.jsonl beir.jsonl >two-inputs.jsonl
rejected two-inputs.jsonl
rejected two-inputs.jsonl --row c
rejected one.jsonl --metric cosine
rejected suite.csv --row mean --metric wmean.spearman
rejected suite.csv --row mean --metric STS-B
printf '{"name":"a","layers":6,"dims":8,"other":0.5,"inner":{"x":1}}\n' >other.jsonl
rejected other.jsonl
rejected one.jsonl beir.jsonl
seq 8 | sed 's/.*/{"name":"a","layers":&,"dims":8,"spearman":0.5}/' >eight.jsonl
rejected eight.jsonl --x dims
code=0
"$AOE" plot matryoshka -o out || code=$?
"$AOE" plot matryoshka one.jsonl || echo "$code $?"
"$AOE" plot matryoshka one.jsonl --x width -o out || echo $?
