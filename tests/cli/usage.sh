# SPDX-License-Identifier: MIT
# covers: cli/common/dispatch cli/common/options cli/main
# Tests usage errors. The program must print one line on stderr, print nothing on stdout, and exit with code 2.
usage() { # usage ARGUMENT...: runs the program and expects exit code 2
    code=0
    "$AOE" "$@" </dev/null || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
usage 2>/dev/null
usage trian
usage frobnicate
usage --quiet train
usage help trian
usage help train again
usage data help mnie
usage embed --formt npy
usage embed --xyzzy
usage embed -Z
usage embed --format
usage embed --format json
usage embed --normalize=1
usage embed --normalize --no-normalize
usage train -data x
usage embed --dims 0
usage embed --dims many
usage embed --threads 1025
usage embed --dtype f16
usage embed --pooling middle
usage embed --json --format npy
usage train
usage train -d data.tsv
usage train -d data.tsv -o out --resume --force
usage train data.tsv -o out
usage pretrain texts.txt -o out
for option in learning-rate output_dir num-train-epochs max-seq-length lora-rank; do
    usage train --$option 1 # names of other programs
done
usage embed --learning-rate 1
usage rerank --top-k 5
usage train -d data.tsv -o out --lr fast
usage train -d data.tsv -o out --lr -1
usage train -d data.tsv -o out --seed -1
usage train -d data.tsv -o out --dropout 1
usage train -d data.tsv -o out --cache-chunk 0
usage train -d data.tsv -o out --recompute=yes
usage train -d data.tsv -o out --dtype half
usage train -d data.tsv -o out --w-cosine 0 --w-ibn 0 --w-angle 0 --w-cln 0
usage train -d data.tsv -o out --w-cosine 0 --w-ibn 0 --w-angle 0 --w-cln 0 --teacher big --w-teacher 0
usage train -d data.tsv -o out --w-teacher 2
usage train -d data.tsv -o out --teacher big --distill logits
usage train -d data.tsv -o out --patience 2
usage train -d data.tsv -o out --method cosent --w-ibn 1
usage train -d data.tsv -o out --w-teacher 1
usage train -d data.tsv -o out --lora-alpha 4
usage train -d data.tsv -o out --angle-form sharp
usage train -d data.tsv -o out more
usage train -d data.tsv wieght=3 -o out
usage train -d data.tsv prmpt=3 zzzz=4 -o out
usage train -d data.tsv zzzz=4 -o out
usage train -d data.tsv -o out --dev dev.tsv weight=2
usage train -d data.tsv -o out --dev dev.tsv colums=text1=a
usage train -d data.tsv -o out --max-minutes 0
usage embed -o vectors.foo
usage embed -o dir.npy/vectors.json
usage info --texts 64
usage info model --length 8
usage data
usage data mnie
usage data frobnicate
usage data --json mine
usage data mine
usage data mine a.tsv --json
usage data mine a.tsv -o out.csv
usage data mine a.tsv --skip 50
usage data mine a.tsv --min-score 0.5 --max-score 0.4
usage data mine a.tsv --corpus-columns text=a
usage data mine a.tsv --form lists
usage data convert a.tsv
usage data convert a.tsv b.tsv -f csv
usage data convert a.tsv -o out.xlsx
usage data convert a.tsv -o out.csv -f csv
usage data convert a.tsv -f csv --json
usage data convert a.tsv -f csv --threshold 1
usage data convert a.tsv -f csv --to texts
usage data split a.tsv
usage data split a.tsv -o out --shares train=1,train=2
usage data split a.tsv -o out --shares train=0
usage data split a.tsv -o out --shares ../train=1
usage data split a.tsv -o out --near 1.5
usage data split a.tsv -o out --same alike
usage data split a.tsv -o out --json -f csv
usage data dedup a.tsv -o out.csv
usage data dedup a.tsv --json
usage data dedup a.tsv --conflicts last
usage data stats
usage data stats a.tsv --json --only rows
usage data check
usage data check a.tsv --ignore leaks
usage data check a.tsv --range 5
usage data check a.tsv --range 5,0
usage eval
usage eval sts
usage eval nli file
usage eval stss file
usage eval --json sts file
usage eval sts file --json --format csv
usage eval sts file --format html
usage eval suite
usage eval suite dir --setting most
usage eval suite dir --metric kendall
usage eval pairs
usage eval triplets
usage eval triplets file --label-map a=1
usage eval retrieval
usage eval retrieval file --recall-at 0
usage eval retrieval file --recall-at 1,,2
usage eval retrieval file --top 0
usage eval retrieval file --query last
for command in embed similarity tokenize rerank 'data check' 'data dedup' 'data stats' 'eval sts' 'eval rerank' info \
    merge models; do
    # shellcheck disable=SC2086
    usage $command --seed 1 # the results are not random
done
usage similarity one
usage similarity one two three
usage verify
usage bench --shape huge
usage bench --mode walk
usage bench --runs 4
usage init -o new --vocab-from text.txt
usage init --shape bert-tiny -o new
usage init --shape bert-tiny --vocab-from text.txt
usage init --shape bert-tiny --vocab-from text.txt --tokenizer old -o new
usage init --hidden 30 --layers 1 --heads 4 --vocab-from text.txt -o new
usage convert . -o new
usage convert model --dtype bf16
usage convert model --dtype f16 -o new
usage convert model -m other --dtype f32 -o new
usage convert model other --dtype f32 -o new
