# SPDX-License-Identifier: MIT
# Tests that evaluations of pairs use the scores of a cross-encoder.
. "$SRC/tests/cli/support/model.sh"
model=$SRC/tests/golden/cross_encoders/logit_score
printf '%b\n' 'text1\ttext2\tlabel' 'capital of Peru\tLima is the capital.\t1' 'who?\tno one\t2' 'red\tblue\t3' \
    'book\ta novel\t4' >pairs.tsv
"$AOE" rerank -q -m "$model" --dtype f32 --pairs pairs.tsv --json >scores
# the labels have the order of the scores
awk -F'"score": *' 'NR > 0 { split($2, x, ","); print NR, x[1] }' scores | sort -g -k2 |
    awk '{ rank[$1] = NR } END { for (i = 1; i <= 4; i++) print rank[i] }' >ranks
(printf 'text1\ttext2\tlabel\n' && tail -n +2 pairs.tsv | paste - ranks |
    awk -F'\t' -v OFS='\t' '{ print $1, $2, $4 }') >ordered.tsv
"$AOE" eval sts -q -m "$model" --dtype f32 ordered.tsv --format csv
"$AOE" eval sts -q -m "$model" --dtype f32 ordered.tsv --threads 3 --json >one
"$AOE" eval sts -q -m "$model" --dtype f32 ordered.tsv --batch-tokens 1 --json | cmp - one
printf 'query\tpositive\tnegative\ncapital of Peru\tLima is the capital.\tblue\n' >triplets.tsv
"$AOE" eval triplets -q -m "$model" --dtype f32 triplets.tsv --json | grep -o '"accuracy":[^,}]*'
# a cross-encoder with several outputs has no single score
fails "$AOE" eval sts -q -m "$SRC/tests/golden/cross_encoders/bert" ordered.tsv
