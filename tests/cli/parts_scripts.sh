# SPDX-License-Identifier: MIT
# Tests the job scripts in examples/cluster: shellcheck finds nothing in them, the tasks of the job array and the shell
# loop compute all parts, with local hosts as well as without, and the joined output has the bytes of one process.
. "$SRC/tests/cli/support/model.sh"
scripts=$SRC/examples/cluster
if command -v shellcheck >/dev/null; then shellcheck "$scripts"/*.sbatch "$scripts"/*.sh; fi
tiny_model "a model"
cut -f 1 "$SRC/examples/test.tsv" >texts.txt
"$AOE" embed -q -m "a model" texts.txt -o whole.npy
export AOE
for i in 0 1 2; do
    SLURM_ARRAY_TASK_ID=$i "$scripts/embed.sbatch" "a model" texts.txt array.npy 3 2>/dev/null
done
"$AOE" embed -q --join -o array.npy
cmp whole.npy array.npy
"$scripts/embed-loop.sh" "a model" texts.txt loop.npy 2 2>/dev/null
cmp whole.npy loop.npy
# a command ssh that runs the command on this machine
printf '#!/bin/sh\necho "$2" >>hosts\nsh -c "$3"\n' >ssh
chmod +x ssh
PATH=$PWD:$PATH HOSTS="a b" "$scripts/embed-loop.sh" "a model" texts.txt hosts.npy 3 2>/dev/null
cmp whole.npy hosts.npy
sort hosts
for script in embed.sbatch embed-loop.sh grid.sbatch train-mpi.sbatch train-mpirun.sh; do
    code=0
    "$scripts/$script" one || code=$?
    echo $code
done
