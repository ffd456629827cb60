# SPDX-License-Identifier: MIT
# covers: cli/plot/gnuplot_run cli/plot/quote
# Tests `aoe plot` with gnuplot. Every kind of plot must create a well-formed SVG file and a PNG file. Running the
# script again must draw the pictures again. Shell or gnuplot syntax in file names must not be executed.
. "$SRC/tests/cli/support/model.sh"
command -v gnuplot >/dev/null || { echo "SKIP: gnuplot is not installed"; exit 77; }
word_model model
printf 'text1\ttext2\tlabel\ncat\tcat\t5\ncat\tdog\t0\ncat\tkitten\t4.4\nkitten\tpuppy\t0.5\ntiger\twolf\t2.5\n' \
    >pairs.tsv
mkdir run grid
for i in 1 2 3 4; do
    printf '{"event":"step","step":%d,"epoch":%d,"loss":%d,"cosine":%d,"ibn":0.%d}\n' $i $i $((9 - i)) $((7 - i)) $i
    printf '{"event":"eval","step":%d,"score":0.%d}\n' $i $i
done >run/train-log.jsonl
mkdir mlm
sed 's/"ibn"/"accuracy"/; s/"score":/"score":-/' run/train-log.jsonl >mlm/train-log.jsonl
for x in 1 2 x%d; do
    for y in 'a"b' "c'd" '`e`'; do printf '%s' "$y" | sed \
        's/["\\]/\\&/g; s/.*/{"point":{"x":"'$x'","y":"&"},"seed":1,"score":0.'${#x}'}\n/'; done
done >grid/results.jsonl
check() { # check NAME: checks the four files of a plot, and that the script draws the pictures again
    for suffix in dat gp svg png; do [ -s "$1.$suffix" ] || echo "no $1.$suffix"; done
    awk -f "$SRC/tests/cli/support/xml.awk" "./$1.svg"
    [ "$(head -c 4 "./$1.png" | tail -c 3)" = PNG ] || echo "$1.png is not a PNG file"
    rm "./$1.svg" "./$1.png"
    LC_ALL=C.UTF-8 gnuplot -d "./$1.gp" || echo "gnuplot fails on $1.gp"
    awk -f "$SRC/tests/cli/support/xml.awk" "./$1.svg"
    [ "$(head -c 4 "./$1.png" | tail -c 3)" = PNG ] || echo "$1.png is not a PNG file after running the script again"
}
"$AOE" plot density -m model -m model pairs.tsv -o density --title 'a "title"'
"$AOE" plot lengths -m model pairs.tsv --max-length 3 -o lengths.SVG
"$AOE" plot saturation --pairs 2 --dims 4 -o saturation.PNG
"$AOE" plot curve run -o curve
"$AOE" plot curve run run mlm -o runs --json
"$AOE" plot grid grid -o grid
for i in 1 2 3 4 5 6 7; do
    for dims in 8 16 20; do printf '{"name":"it'"'"'s a \\"name\\"","layers":%d,"dims":%d,"spearman":0.%d}\n' $i $dims \
        $((i + dims)); done
done >sizes.jsonl
"$AOE" plot matryoshka sizes.jsonl -o matryoshka --title 'a "title" 100%'
"$AOE" plot matryoshka sizes.jsonl -o sizes-of-layers --x layers | tail -n 1
cat >figures.json <<'END'
{"results": [{"input": "it's a \"name\" 100%", "engine": "aoe bf16", "threads": 1, "tokens_per_second": 300},
             {"input": "it's a \"name\" 100%", "engine": "other's %d", "threads": 1, "tokens_per_second": 99.5},
             {"input": "other", "engine": "aoe bf16", "threads": 1, "tokens_per_second": 0}]}
END
"$AOE" plot bench figures.json -o bench --title 'a "title" 100%'
for name in density lengths saturation curve runs grid matryoshka sizes-of-layers bench; do check $name; done
ls *.*
# The pictures contain the labels, tick labels and legends that the data and the parameters determine.
for name in density lengths saturation curve runs grid matryoshka sizes-of-layers bench; do
    echo "$name: $(grep -o '<text>[^<]*' $name.svg | sed 's/<text> *//' | tr '\n' '|')"
done
# In a heat map, the best cell and the cells that are not significantly lower have frames, and dark cells have white
# text.
mkdir seeds
for s in 1 2 3; do
    printf '{"point":{"a":%s,"b":%s},"seed":%s,"score":0.%s,"seconds":1}\n' 1 1 $s 80${s}7 2 1 $s 80$((4 - s))6 1 2 $s \
        70${s}7 2 2 $s 79994999
done >seeds/results.jsonl
"$AOE" plot grid seeds -o seeds/grid
echo "$(grep -c "stroke='rgb(213,  94,   0)'" seeds/grid.svg) frames, $(grep \
    -c 'fill="rgb(255,255,255)"' seeds/grid.svg) white texts"
"$AOE" plot curve run --characters --smooth 1 -o curve |
    awk '/\*/ { lines++ } END { print (lines > 9 ? "drawn" : "not drawn"); print }'
# A log without losses has no plot made of characters.
mkdir scores
grep '"eval"' run/train-log.jsonl >scores/train-log.jsonl
"$AOE" plot curve scores --characters -o scores/curve
# Equal or almost equal cosines are drawn as a narrow peak.
printf 'text1\ttext2\tlabel\ncat\tcat\t5\ncat\tcat\t5\ndog\tdog\t5\ncat\tdog\t0\n' >alike.tsv
printf '%b\n' 'text1\ttext2\tlabel' 'cat\tcat dog\t5' \
    'cat\tcat dog cat cat cat dog dog dog puppy puppy kitten kitten\t5' 'cat\tdog\t0' >near.tsv
for name in alike near; do "$AOE" plot density -m model $name.tsv -o $name >/dev/null && check $name; done
# An existing picture is replaced, but it must be kept if gnuplot fails.
cp curve.svg before.svg
"$AOE" plot curve run --title new -o curve >/dev/null
cmp -s curve.svg before.svg && echo "the picture was not replaced"
grep -q 'new' curve.svg
mkdir bin
printf '#!/bin/sh\necho "line 3: undefined variable" >&2\nexit 1\n' >bin/gnuplot
chmod +x bin/gnuplot
cp curve.svg before.svg
(PATH=$PWD/bin; fails "$AOE" plot curve run -o curve)
cmp curve.svg before.svg
# The file names contain shell and gnuplot syntax.
mkdir "a folder's {name} \`touch pwned\`"
cd "a folder's {name} \`touch pwned\`"
for name in "it's; system('touch pwned')" '| touch pwned' '< touch pwned' '$(touch pwned) `touch pwned`' '-e' \
    '~x @y #z' 'tail\' '100%d & <b>' 'größe'; do
    cp ../pairs.tsv "./$name.tsv"
    "$AOE" plot lengths -m ../model --title "$name" "./$name.tsv" -o "$name" >/dev/null
    check "$name"
    grep -c "gnuplot_plot_1" "./$name.svg"
done
cd ..
"$AOE" plot lengths -m model "a folder's"*/*.tsv -o "a folder's {name} \`touch pwned\`/all of them"
cd "a folder's"*
check "all of them"
cd ..
find . -name 'pwned*' -o -name '*tmp*'
