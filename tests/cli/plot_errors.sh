# SPDX-License-Identifier: MIT
# Tests errors of `aoe plot`. For bad input and wrong usage, it must print one line and write no file.
. "$SRC/tests/cli/support/model.sh"
word_model model
usage() { # usage ARGUMENT...: expects a usage error: exit code 2
    code=0
    "$AOE" plot "$@" </dev/null || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
printf 'text1\ttext2\nb\tc\n' >no-label.tsv
printf 'text1\ttext2\tlabel\n' >no-rows.tsv
printf 'text1\ttext2\tlabel\ncat\tdog\t7\n' >high.tsv
printf 'a\tb\nc\td\n' >no-text.tsv
: >empty.tsv
: >empty.txt
mkdir no-log no-steps no-json grids
printf '{"event":"start","step":0}\n' >no-steps/train-log.jsonl
printf '{"event":"step","step":1,"loss":1}\nnonsense\n' >no-json/train-log.jsonl
fails "$AOE" plot density -m model no-label.tsv -o out
fails "$AOE" plot density -m model no-rows.tsv -o out
fails "$AOE" plot density -m model high.tsv -o out
fails "$AOE" plot density -m model empty.tsv -o out
fails "$AOE" plot density -m model missing.tsv -o out
cp high.tsv high.data
fails "$AOE" plot density -m model high.data -o out
fails "$AOE" plot density -m model high.data --input-format tsv -o out
fails "$AOE" plot lengths -m model high.data -o out
fails "$AOE" plot lengths -m model high.data --input-format csv --delimiter ';' -o out
fails "$AOE" plot density -m missing high.tsv --scale 0,7 -o out
fails "$AOE" plot lengths -m model no-text.tsv -o out
fails "$AOE" plot lengths -m model no-label.tsv --columns text1,text3 -o out
fails "$AOE" plot lengths -m model no-rows.tsv -o out
fails "$AOE" plot lengths -m model empty.txt -o out
fails "$AOE" plot lengths -m missing empty.txt -o out
fails "$AOE" plot curve no-log -o out
fails "$AOE" plot curve no-steps -o out
fails "$AOE" plot curve no-json -o out
fails "$AOE" plot grid grids -o out
: >grids/results.jsonl
fails "$AOE" plot grid grids -o out
printf '{"point":{"x":1},"seed":1,"score":null}\n' >grids/results.jsonl
fails "$AOE" plot grid grids -o out
printf '{"point":{"x":1,"y":2,"z":3},"seed":1,"score":1}\n{"point":{"x":2,"y":2,"z":3},"seed":1,"score":1}\n' \
    >grids/results.jsonl
fails "$AOE" plot grid grids -o out
fails "$AOE" plot grid grids --x x --y w -o out
printf '{"x":1}\n' >>grids/results.jsonl
fails "$AOE" plot grid grids -o out
fails "$AOE" plot saturation -o /dev/null/out
fails "$AOE" plot saturation -o out.pdf
fails "$AOE" plot saturation -o no-log/
fails "$AOE" plot saturation -o "two
lines"
mkdir out.svg
fails "$AOE" plot saturation -o out
rmdir out.svg
find . -name 'out*'
usage
usage heatmap
usage densty
usage density -o out
usage density a.tsv
usage density a.tsv b.tsv -o out
usage density a.tsv --scale 1 -o out
usage density a.tsv --scale 5,1 -o out
usage density a.tsv -m 1 -m 2 -m 3 -m 4 -m 5 -m 6 -m 7 -m 8 -m 9 -o out
usage saturation --dims 3 -o out
usage curve run --characters --json -o out
usage grid run --x a -o out
usage grid run --x a --y a -o out
printf '{"point":{"x":true,"y":"a"},"seed":1,"score":2}\n{"point":{"x":false,"y":"b"},"seed":1,"score":1}\n' \
    >grids/results.jsonl
printf 'cat\tdog\n' | cat high.tsv - >ragged.tsv
(PATH=; fails "$AOE" plot density -m model ragged.tsv --skip-bad-rows --scale 0,7 -o fine)
(PATH=; fails "$AOE" plot grid grids -o fine)
grep '"on"' fine.dat
