# SPDX-License-Identifier: MIT
# Tests teacher embeddings in parts: `aoe train --part I/N` writes the blocks of its part to --teacher-cache and does
# not train. The training that follows reads them, and gives the weights of a run that computed them itself.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
awk 'BEGIN { print "text1\ttext2\tlabel"
    for (i = 0; i < 6000; i++) printf "a cat %d\tthe dog %d\t%.1f\n", i, i, i % 3 / 2 }' >pairs.tsv
options="-m model -d pairs.tsv --teacher model --w-cosine 0 --w-ibn 0 --w-angle 0 --max-steps 2 --seed 1"
train() { # train OPTION...
    # shellcheck disable=SC2086
    "$AOE" train -q -t 1 $options "$@"
}
train --teacher-cache whole -o one >/dev/null
train --teacher-cache parts -o two --part 2/3
find parts -type f | wc -l
SLURM_PROCID=0 train --teacher-cache parts -o two --part auto/3
train --teacher-cache parts -o two --part 0/3
find parts -type f | wc -l
is_absent two
train --teacher-cache parts -o two --part 1/3
diff -r whole parts
train --teacher-cache parts -o two >/dev/null
cmp one/model.safetensors two/model.safetensors

echo "errors"
# code COMMAND...: runs COMMAND and prints its exit code
code() {
    code=0
    "$@" || code=$?
    echo $code
}
code train -o three --part 0/3
code train --teacher-cache parts -o three --part 3/3
code train --teacher-cache parts -o three --part 0/3 --distributed mpi
code "$AOE" train -q -m model -d pairs.tsv --teacher-cache parts -o three --part 0/3
code "$AOE" grid -q -o grid --over lr=1e-3 -- -m model -d pairs.tsv --teacher model --teacher-cache parts --part 0/3
is_absent three grid
