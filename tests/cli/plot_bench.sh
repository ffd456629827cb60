# SPDX-License-Identifier: MIT
# Tests the data, the script and the errors of `aoe plot bench`. gnuplot is not in PATH, so the program must report an
# error, but must write the data and the script.
. "$SRC/tests/cli/support/model.sh"
plot() { # plot ARGUMENT...: runs aoe plot bench without gnuplot and prints the data
    code=0
    rm -f out.*
    PATH= "$AOE" plot bench "$@" -o out 2>err || code=$?
    [ $code = 1 ] && tail -n 1 err | grep -q '^aoe: gnuplot is not installed' || echo "exit code $code"
    grep -v gnuplot err || true
    cat out.dat
    grep -E '^(metric|rows|input[0-9]+|engine[0-9]+) =' out.gp
}
cat >figures.json <<'END'
{"cpu": "a CPU", "results": [
 {"measure": "embed", "input": "short", "engine": "aoe bf16", "threads": 1, "ms": [1, 2],
  "tokens_per_second": 1000.5, "cosine_min": null},
 {"measure": "embed", "input": "short", "engine": "aoe-like", "threads": 1, "tokens_per_second": 500,
  "cosine_min": 0.5},
 {"measure": "embed", "input": "short", "engine": "aoe bf16", "threads": 2, "tokens_per_second": 2000, "cosine_min": 1},
 {"measure": "embed", "input": "long", "engine": "aoe bf16", "threads": 2, "tokens_per_second": 1500},
 {"measure": "embed", "input": "long", "engine": "PyTorch f32", "threads": 2, "tokens_per_second": 750},
 {"measure": "train", "input": "steps", "engine": "aoe bf16", "threads": 4, "step_ms": 12.25}]}
END
echo "== the largest number of threads of the metric"
plot figures.json
echo "== one thread"
plot figures.json --thread-count 1
echo "== other metrics; a number that is null is not drawn"
plot figures.json --metric cosine_min --thread-count 1
plot figures.json --metric step_ms --title 'a title' | tail -n 3

echo "== errors"
rejected() { # rejected ARGUMENT...: expects exit code 1 and no file
    fails "$AOE" plot bench "$@" -o none
    is_absent none.dat none.gp
}
rejected missing.json
rejected figures.json --thread-count 3
rejected figures.json --metric speed
echo '{"results": [' >broken.json
rejected broken.json
echo '[1]' >array.json
rejected array.json
echo '{"results": []}' >empty.json
rejected empty.json
echo '{"results": [{"input": "a", "threads": 1, "tokens_per_second": 1}]}' >unnamed.json
rejected unnamed.json
echo '{"results": [{"input": "a", "engine": "b", "threads": 1, "tokens_per_second": 1},
  {"input": "a", "engine": "b", "threads": 1, "tokens_per_second": 2}]}' >twice.json
rejected twice.json
seq 13 | awk 'BEGIN { printf "{\"results\": [" }
    { printf "%s{\"input\": \"%d\", \"engine\": \"b\", \"threads\": 1, \"tokens_per_second\": 1}",
        (NR > 1 ? "," : ""), $1 }
    END { print "]}" }' >many.json
rejected many.json
code=0
"$AOE" plot bench -o out || code=$?
echo $code
