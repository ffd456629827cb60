#!/bin/sh
# SPDX-License-Identifier: MIT
# lora.sh [--prepare] [DIR]: trains adapters on a frozen random LLaMA with 1.1B parameters (22 layers, hidden size 2048,
# 32 heads, 4 key and value heads, feed-forward size 5632; bf16), for 20 steps of 16 pairs (32 tokens per text). Prints
# the peak resident memory, the tokens per second, and the speed of the matmuls as a percentage of two figures that
# gemm_bench measures in the same run: the peak with operands in registers, and the fastest matmul. Matmuls count 2
# operations per weight and token forward and 2 backward, because frozen weights have no gradients. The model (2 GB) is
# created in DIR/model unless it exists; without DIR, in a temporary directory. With --prepare, only creates DIR/model
# and DIR/pairs.tsv. INIT="OPTION...": additional options of aoe init, for a smaller model; only with --prepare
# TRAIN="OPTION...": additional options of aoe train, for example --load-8bit
set -eu
build=$(cd "$(dirname "$0")/.." && pwd)/${BUILD:-build}
examples=$(cd "$(dirname "$0")/../examples" && pwd)
only_prepare=
[ "${1:-}" != --prepare ] || { only_prepare=1 && shift; }
if [ $# -gt 0 ]; then
    work=$1
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
cd "$work"
steps=20 pairs=16 length=32

# Distinct texts of far more than 32 tokens, which --max-length truncates.
tail -n +2 "$examples/train.tsv" | awk -F '\t' -v n=$((steps * pairs)) '
    { label[NR] = $1; text[NR] = $2 " " $3 }
    END {
        print "sentence1\tsentence2\tscore"
        for (i = 1; i <= n; i++) {
            a = i " "; b = i " other "
            for (k = 0; k < 8; k++) { a = a text[(i + k) % NR + 1] " "; b = b text[(i + 3 * k) % NR + 1] " " }
            print a "\t" b "\t" label[i % NR + 1]
        }
    }' >pairs.tsv

# peak FILE COMMAND...: runs COMMAND and writes its peak resident memory in kB to FILE
peak() {
    file=$1
    shift
    "$@" &
    pid=$!
    while kill -0 $pid 2>/dev/null; do
        sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' /proc/$pid/status >"$file.new" 2>/dev/null || true
        [ ! -s "$file.new" ] || mv "$file.new" "$file"
        sleep 0.2
    done
    wait $pid
}

echo 0 >init
# shellcheck disable=SC2086
[ -e model/model.safetensors ] || peak init "$build/aoe" init -q --shape tinyllama-1.1b ${INIT-} --dtype bf16 \
    --vocab-from "$examples/train.tsv" --vocab-size 2000 -o model
[ -z "$only_prepare" ] || exit 0
# shellcheck disable=SC2086
peak train "$build/aoe" train -q -m model -d pairs.tsv -o adapters --force --batch-size $pairs --max-steps $steps \
    --max-length $length --lora-r 32 --lr 2e-4 --dtype bf16 ${TRAIN-} >/dev/null
tier=$("$build/aoe" bench --json --shape bert-tiny --texts 2 --length 8 --runs 5 |
    sed 's/.*"tier": *"\([a-z0-9]*\)".*/\1/')
"$build/bench/gemm_bench" 0 "$tier" bf16 >matmuls
case " ${TRAIN:-} " in *" --load-8bit "*) rows=--load-8bit ;; *) rows= ;; esac
# shellcheck disable=SC2086
"$build/aoe" info model --dtype bf16 --texts $((2 * pairs)) --length $length --plan --lora-r 32 $rows |
    sed -n 's/^  all of training *//p' >plan
sed -n 's/.*"event": *"step".*"tokens_per_second": *\([0-9.e+]*\).*/\1/p' adapters/train-log.jsonl | tail -n +2 |
    sort -g >rates
ls -l adapters/adapter_model.safetensors | awk '{ print $5 }' >saved
awk -v init="$(cat init)" -v train="$(cat train)" -v plan="$(cat plan)" -v saved="$(cat saved)" '
    FILENAME == "matmuls" && $1 == "registers" { limit = $(NF - 1) }
    FILENAME == "matmuls" && FNR > 1 && $1 != "registers" && $(NF - 1) + 0 > fastest { fastest = $(NF - 1) + 0 }
    FILENAME == "rates" { rate[++n] = $1 }
    END {
        weights = 22 * (2 * 2048 * 2048 + 2 * 256 * 2048 + 3 * 2048 * 5632)
        speed = rate[int((n + 1) / 2)]
        gflops = 4 * weights * speed / 1e9
        if (!limit) limit = fastest
        if (init) printf "peak memory of init        %8.2f GiB\n", init / 1048576
        printf "peak memory of training    %8.2f GiB (plan: %s)\n", train / 1048576, plan
        printf "adapters saved             %8.1f MiB\n", saved / 1048576
        printf "tokens per second, median  %8.1f over %d steps\n", speed, n
        printf "matmuls                    %8.1f GFLOP/s\n", gflops
        printf "of the peak from registers %8.1f%% (%.1f GFLOP/s)\n", 100 * gflops / limit, limit
        printf "of the fastest matmul      %8.1f%% (%.1f GFLOP/s)\n", 100 * gflops / fastest, fastest
    }' matmuls rates
