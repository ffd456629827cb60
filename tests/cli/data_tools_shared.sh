# SPDX-License-Identifier: MIT
# Tests the data tools on public data sets. The expected counts were computed independently (docs/data.md). They are
# the rows of the STS-B test set that are also in the training set, the rows of QQP and MRPC by label, and the NLI
# triplets of SimCSE.
. "$SRC/tests/cli/support/model.sh"
needs_shared data/stsb
needs_shared data/nli_part
needs_shared data/mrpc
needs_shared data/qqp_part
data=$AOE_SHARED/data
fails "$AOE" data check "$data/stsb/train.tsv" "$data/stsb/test.tsv" --max 0 --ignore duplicate,conflict --range 0,5
fails "$AOE" data check "$data/stsb/train.tsv" "$data/stsb/test.tsv" --max 0 --ignore duplicate,conflict --ordered \
    --same exact
for name in stsb/train stsb/dev stsb/test mrpc/train mrpc/test qqp_part/train qqp_part/dev nli_part/pairs_train; do
    "$AOE" data stats "$data/$name.tsv" --only rows -f csv | tail -n 1 | cut -d , -f 2-
done
(cat "$data/nli_part/pairs_train.tsv" && tail -n +2 "$data/nli_part/pairs_heldout.tsv") >nli.tsv
"$AOE" data convert nli.tsv --to triplets --same letters -o letters.tsv
"$AOE" data convert nli.tsv --to triplets -o exact.tsv
tail -n +2 "$data/nli_part/triples.tsv" | cut -f 1-3 | sort >want
tail -n +2 letters.tsv | sort | comm -12 - want | wc -l
"$AOE" data convert nli.tsv -o nli.jsonl.zst -q >/dev/null
"$AOE" data convert nli.jsonl.zst -o nli.csv.gz -q >/dev/null
"$AOE" data convert nli.csv.gz -o back.tsv -q >/dev/null
cmp nli.tsv back.tsv
"$AOE" data split "$data/qqp_part/train.tsv" -o parts
"$AOE" data check parts/train.tsv parts/dev.tsv parts/test.tsv --ignore duplicate,conflict
