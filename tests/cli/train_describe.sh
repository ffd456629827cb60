# SPDX-License-Identifier: MIT
# covers: model/describe
# Tests the first line that `aoe train` prints. It must state the pooling, the data type and the instruction set, and
# the reason for each of them. A warning must say that other programs do not support first-last-avg pooling. For each
# method, a line lists the parts that are saved and those that only training uses.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 16
options="-m start -d train.tsv --max-steps 1 --batch-size 8"
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -o auto 2>&1 >/dev/null | head -n 1
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -o bf16 --dtype bf16 --pooling cls 2>&1 >/dev/null | head -n 1
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -o both --pooling first-last-avg 2>&1 >/dev/null | head -n 3
# The pooling of a method is not an option of the user.
for method in angle consert promptbert cross-encoder; do
    # shellcheck disable=SC2086
    AOE_CPU=c "$AOE" train $options -o "$method" --method "$method" 2>&1 >/dev/null |
        grep -o "^pooling: [^;]*\|^saved.*"
    tr -d ' \n' <"$method/aoe.json" | grep -o '"kept_parts":[^]]*],"dropped_parts":[^]]*]'
done
tr -cs '[:lower:]' '\n' <train.tsv | LC_ALL=C sort -u | awk '/./ { print $1, NR, NR % 7 }' >vectors.txt
"$AOE" convert -q vectors.txt -o vectors >/dev/null
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -m vectors -o words 2>&1 >/dev/null | grep "^pooling\|^saved"
# The warning is not repeated when the model is saved.
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -o both --force --pooling first-last-avg 2>&1 >/dev/null | grep -c 'other programs'
# A limit that is higher than the best tier of the CPU has no effect. Only one of the two names exists in an
# architecture.
for tier in amx neonbf16; do AOE_CPU=$tier "$AOE" similarity -v -m start a b 2>&1 >/dev/null |
    grep -o 'highest of this CPU' || true; done
