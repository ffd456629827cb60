# SPDX-License-Identifier: MIT
# Tests the first line that `aoe train` prints. It must state the pooling, the data type and the instruction set, and
# the reason for each of them. A warning must say that other programs do not support first-last-avg pooling.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 16
options="-m start -d train.tsv --max-steps 1 --batch-size 8"
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -o auto 2>&1 >/dev/null | head -n 1
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -o bf16 --dtype bf16 --pooling cls 2>&1 >/dev/null | head -n 1
# shellcheck disable=SC2086
AOE_CPU=c "$AOE" train $options -o both --pooling first-last-avg 2>&1 >/dev/null | head -n 2
