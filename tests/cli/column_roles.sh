# SPDX-License-Identifier: MIT
# Tests the roles of columns in files that a new user often has: preferences (prompt, chosen, rejected), pairs without
# labels and triplets where labeled pairs are required.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
train() { # train FILE [OPTION...]: prints the note or the error about the columns of FILE
    echo "$@"
    "$AOE" train -m model -d "$@" -o o --force --max-steps 1 --allow-duplicates --method contrastive 2>&1 |
        grep -e "\.csv: " || true
}
printf 'prompt,chosen,rejected\nthe cat,a cat,a dog\nthe dog,a dog,a cat\n' >preferences.csv
train preferences.csv
printf 'query,response,rejected\nthe cat,a cat,a dog\nthe dog,a dog,a cat\n' >responses.csv
train responses.csv columns=positive=response
printf 'prompt,chosen,rejected,chosen_score,rejected_score\nthe cat,a cat,a dog,5,1\nthe dog,a dog,a cat,4,2\n' \
    >scores.csv
train scores.csv
# Another name of a query takes precedence over prompt.
printf 'prompt,query,chosen,rejected\nx,the cat,a cat,a dog\ny,the dog,a dog,a cat\n' >instructions.csv
train instructions.csv
# The advice for pairs without labels works.
printf 'sentence1,sentence2\nthe cat,a cat\nthe dog,a dog\n' >pairs.csv
train pairs.csv
train pairs.csv columns=query=sentence1,positive=sentence2
# Triplets where labeled pairs are required.
printf 'sentence1,sentence2,label\nthe cat,a cat,1\nthe dog,a cat,0\n' >labeled.csv
train labeled.csv --dev preferences.csv
"$AOE" eval sts -q -m model preferences.csv 2>&1 || true
# Fields that are separated by spaces.
printf 'sentence1 sentence2 score\ncat cats 1\ndog cat 0\n' >spaces.tsv
"$AOE" eval sts -q -m model spaces.tsv 2>&1 || true
"$AOE" eval sts -q -m model spaces.tsv --delimiter ' ' --json | grep -c spearman
# A directory instead of its files.
mkdir notes
"$AOE" embed -q -m model --whole-files notes 2>&1 || true
"$AOE" embed -q -m model notes/ 2>&1 || true
