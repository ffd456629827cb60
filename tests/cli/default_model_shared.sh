# SPDX-License-Identifier: MIT
# tags: slow
# Tests that the default model reaches the zero-shot scores of its model card (recipes/aoe-mini-en/README.md) on public
# test sets.
. "$SRC/tests/cli/support/model.sh"
needs_shared data/stsb/test.tsv
needs_shared data/sts12_14_15/senteval
data=$AOE_SHARED/data
"$AOE" eval sts -q --json -m "$SRC/models/aoe-mini-en" "$data/stsb/test.tsv" "$data"/sts12_14_15/senteval/STS*-en-test |
    sed 's/.*"name":"\([^"]*\)".*"spearman":\([0-9.]*\).*/\1 \2/' |
    awk '$1 == "test.tsv" { print ($2 >= 0.75 ? "STS-B test at least 75" : "STS-B test " $2) }
         $1 ~ /^STS1[^\/]*$/ { n++; sum += $2 }
         END { print (n == 3 && sum / n >= 0.68 ? "mean of three at least 68" : "mean of " n " " sum / n) }'
