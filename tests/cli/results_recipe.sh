# SPDX-License-Identifier: MIT
# tags: slow recipes
# Tests recipes/results. Every table is computed with one seed, a tiny encoder and small data sets instead of the real
# ones. A second run must train nothing.
. "$SRC/tests/cli/support/model.sh"
export AOE_MODELS="$PWD/models" AOE_DATA="$PWD/data" AOE_WORK="$PWD/work" ENCODERS=bert-mini SEEDS=1 STEPS=2
mkdir models data data/stsb data/mrpc data/qqp_part data/nli_part data/flickr30k
tiny_model models/bert-mini
small_table data/stsb/train.tsv 12
cp data/stsb/train.tsv data/stsb/dev.tsv
cp data/stsb/train.tsv data/stsb/test.tsv
awk -F '\t' -v OFS='\t' 'NR > 1 { $1 = $1 > 2.5 } { print }' data/stsb/train.tsv >data/mrpc/train.tsv
for file in mrpc/test qqp_part/train qqp_part/dev; do cp data/mrpc/train.tsv data/$file.tsv; done
awk -F '\t' -v OFS='\t' 'NR == 1 { print "label", "premise", "hypothesis", "source", "in_eval"; next }
    { print ($1 > 3 ? "entailment" : $1 > 2 ? "neutral" : "contradiction"), $2, $3, "s", NR == 2 }' \
    data/stsb/train.tsv >data/nli_part/pairs_train.tsv
awk -F '\t' -v OFS='\t' 'NR == 1 { print "premise", "entailment", "contradiction", "source", "in_eval"; next }
    { print $2, $3, "not " $2, "s", NR == 2 }' data/stsb/train.tsv >data/nli_part/triples.tsv
for year in 12 14 15; do
    folder=data/sts12_14_15/senteval/STS$year-en-test
    mkdir -p $folder
    tail -n +2 data/stsb/test.tsv | cut -f 2,3 >$folder/STS.input.one.txt
    tail -n +2 data/stsb/test.tsv | cut -f 1 >$folder/STS.gs.one.txt
done
awk -F '\t' -v OFS='\t' 'NR == 1 { print "image", "caption"; next } { print int(NR / 4), $2; print int(NR / 4), $3 }' \
    data/stsb/test.tsv >data/flickr30k/test.tsv
run() { "$SRC/recipes/results/run.sh" "$@" 2>err || { cat err; exit 3; }; }
run
for table in objectives pooling isp batch methods mrpc quora nli; do
    echo "$table: $(grep -o '^| [^|]* | [^|]*' work/$table-bert-mini.md | sed '1,2d; s/.*| //' | sort -u |
        tr -s '\n ' ' ')"
done
grep -c '^| *test.tsv' work/untrained-bert-mini.md
cut -d , -f 1,2,4 work/retrieval-bert-mini.csv; cut -d "|" -f 2,3 work/retrieval-bert-mini.md
head -n 1 work/pairs_train.tsv
grep -c . work/pairs_train.tsv work/triplets.tsv
find work -name record.json | sort | xargs cksum >before
run
find work -name record.json | sort | xargs cksum | cmp - before
grep -c . before
