# SPDX-License-Identifier: MIT
# covers: cli/train/distributed
# Tests that `aoe train` and `aoe pretrain` reject several copies that write to one directory, and a transport that is
# not available. tests/mpi/run.sh tests runs with MPI.
. "$SRC/tests/cli/support/model.sh"
unset OMPI_COMM_WORLD_SIZE PMI_SIZE SLURM_STEP_NUM_TASKS SLURM_NTASKS
small_table train.tsv 20
tiny_model start
cut -f 2 train.tsv | tail -n +2 >texts.txt
fails env OMPI_COMM_WORLD_SIZE=4 "$AOE" train -q -m start -d train.tsv -o out --max-steps 1
fails env PMI_SIZE=2 "$AOE" train -q -m start -d train.tsv -o out --max-steps 1
fails env SLURM_STEP_NUM_TASKS=8 "$AOE" pretrain -q -m start -d texts.txt -o out --max-steps 1
ls out 2>/dev/null || echo "no output"
# One copy, and a batch script, which runs once
OMPI_COMM_WORLD_SIZE=1 SLURM_NTASKS=4 "$AOE" train -q -m start -d train.tsv -o out --max-steps 1 -b 8 >/dev/null
ls out/model.safetensors
fails env AOE_MPI=/nowhere/libaoe-mpi.so "$AOE" train -q -m start -d train.tsv -o no --max-steps 1 --distributed mpi
"$AOE" train -q -m start -d train.tsv -o no --max-steps 1 --distributed tcp || echo "exit code $?"
"$AOE" pretrain -q -m start -d texts.txt -o no --max-steps 1 --network-timeout -1 || echo "exit code $?"
