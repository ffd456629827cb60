# SPDX-License-Identifier: MIT
# Tests a static model with seven tokens and two dimensions in every command. No special tokens may be added, and
# unknown words must be dropped. The embedding of a text without known words must be the zero vector.
. "$SRC/tests/cli/support/model.sh"
mkdir model
printf '[UNK]\n[CLS]\n[SEP]\ncat\ndog\nrun\n##s\n' >model/vocab.txt
# The embeddings [7, 2] are cat (1 0), dog (0 1), run (2 2) and ##s (0 -2). The rows of the three special tokens are (4
# 4) and must not be used.
printf '\110\0\0\0\0\0\0\0%s        ' '{"embeddings":{"dtype":"F32","shape":[7,2],"data_offsets":[0,56]}}' |
    head -c 80 >model/model.safetensors
one='\0\0\200\077' two='\0\0\0\100' minus='\0\0\0\300' four='\0\0\200\100' zero='\0\0\0\0'
# shellcheck disable=SC2059
printf "$four$four$four$four$four$four$one$zero$zero$one$two$two$zero$minus" >>model/model.safetensors
printf 'Cat\ncat dog\nruns\na cat, a dog!\n\nnothing\n' >texts.txt
"$AOE" embed -m model texts.txt
"$AOE" embed -m model --normalize --format tsv texts.txt
"$AOE" tokenize -m model --tokens texts.txt
"$AOE" tokenize -m model texts.txt
"$AOE" tokenize -m model --max-length 1 texts.txt | tail -n 3
"$AOE" similarity -m model cat 'dog cat' | sed 's/  */ /'
"$AOE" similarity -m model cat nothing | sed 's/  */ /'
printf 'text1\ttext2\tlabel\ncat\tdog\t1\ncat dog\tdog\t3\nruns\tcat\t4\n\tcat\t0\nnothing\tdog\t2\n' >pairs.tsv
"$AOE" eval sts -m model pairs.tsv
AOE_CPU=c "$AOE" info model | sed 's/  */ /g'
"$AOE" info model --json --plan --texts 4 --length 600 |
    sed 's/.*"plan"://; s/"\(objectives\|training\|training_recompute\|evaluation\)":[1-9][0-9]*/"\1":N/g'
# Each command must print one error.
fails "$AOE" embed -m model --pooling cls texts.txt
fails "$AOE" train -q -m model -d pairs.tsv -o out
is_absent out
printf 'text1\ttext2\tlabel\ncat\tdog\t1\nruns\tnothing\t3\n' >unknown.tsv
fails "$AOE" train -q -m model -d unknown.tsv -o out
is_absent out
# After training, a static model must still be a static model.
printf 'text1\ttext2\tlabel\ncat\tdog cat\t1\ndog\trun\t3\nruns\tcat\t4\n' >train.tsv
"$AOE" train -q -m model -d train.tsv -o out --epochs 5 --lr 0.1 --threads 1 | sed 's/ in [0-9]* s//'
"$AOE" train -q -m model -d train.tsv -o out2 --epochs 5 --lr 0.1 --threads 2 | sed 's/ in [0-9]* s//'
cmp out/model.safetensors out2/model.safetensors
find out -maxdepth 1 -type f | LC_ALL=C sort
"$AOE" info out | grep -E '^(architecture|pooling|max|stored)' | sed 's/  */ /g'
"$AOE" eval sts -m out train.tsv | awk '{ print $1, $2, $3 }'
"$AOE" embed -m out texts.txt | tail -n 1
