# SPDX-License-Identifier: MIT
# covers: cli/train/train_options
# Tests settings after the files of -d and --dev, such as columns=... for a dev file. Other tests cover several --dev
# options (the last one is used), file names that contain =, and a response file after a list of files. Resuming a run
# with other options must be rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
printf 'q\tp\tn\nthe cat\ta cat\ta man\nthe dog\ta dog\ta plane\nthe bird\ta bird\ta cow\n' >triplets.tsv
printf 'a\tb\tc\nthe cat\ta cat\tyes\nthe dog\tthe cow\tno\nthe bird\ta cat\tno\n' >dev.tsv
train() { "$AOE" train -q -m start --max-steps 2 "$@" |
    sed 's/  *[0-9.:-]* s$//; s/ in [0-9]* s;/;/; s/Spearman [-0-9.]* at step [12]/Spearman R at step N/' | tail -n 1; }
train -d triplets.tsv columns=query=q,positive=p,negative=n \
    --dev dev.tsv columns=text1=a,text2=b,label=c label-map=yes=1,no=0 -o triplets
printf 'q\tp\tn\na girl\ttwo girls\ta boy\n' >lr=1.tsv
echo '--columns query=q,positive=p,negative=n' >args
train -d lr=1.tsv @args -o named
train -d triplets.tsv lr=1.tsv weight=2 @args --dev missing.tsv \
    --dev dev.tsv columns=text1=a,text2=b,label=c label-map=yes=1,no=0 -o last
train -d triplets.tsv @args -o other --epochs 1
fails "$AOE" train -q -m start --max-steps 3 -d triplets.tsv @args -o other --resume
"$AOE" train -q -m start --max-steps 1 -d triplets.tsv @args -o one | sed 's/ in [0-9]* s;/;/'
# A warmup longer than the run causes a warning. The warning must contain the flag, not the name of the option field in
# the library.
"$AOE" train -q -m start --max-steps 3 -d triplets.tsv @args -o warm --warmup 1e9 2>&1 >/dev/null | grep warmup >&2
test -f warm/model.safetensors
