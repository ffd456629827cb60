#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests the job scripts of examples/cluster, `--part auto/N` and MPI with a real Slurm of one node. It starts munged,
# slurmctld and slurmd with a configuration and a key of its own in a temporary directory, and stops them at the end.
# Requires root, Debian's slurm-wlm and munge, Open MPI and MPICH. BUILD is the build directory, which contains
# mpi/NAME/libaoe-mpi.so for both MPIs. If Slurm cannot run, the script prints SKIP and the reason.
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD build=$PWD/${BUILD:-build} scripts=$PWD/examples/cluster
passed=0 failed=0

skip() {
    echo "SKIP: Slurm was not tested: $1"
    exit 0
}
[ "$(id -u)" = 0 ] || skip "slurmd requires root"
for program in munged mungekey slurmctld slurmd sbatch srun mpirun.openmpi mpirun.mpich; do
    command -v $program >/dev/null || skip "$program is not installed"
done

work=$(mktemp -d)
daemons=()
clean() {
    scancel -u root >/dev/null 2>&1 || true
    for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
        kill "${daemons[i]}" 2>/dev/null || true
        wait "${daemons[i]}" 2>/dev/null || true
    done
    cd /
    rm -rf "$work"
}
trap clean EXIT
export SLURM_CONF=$work/etc/slurm.conf
unset SLURM_ARRAY_TASK_ID SLURM_PROCID SLURM_STEP_NUM_TASKS JOB_COMPLETION_INDEX
mkdir -p "$work/etc" "$work/state" "$work/spool" "$work/run" "$work/log" "$work/jobs"
chmod 755 "$work" "$work/run"
host=$(hostname -s)
read -r port1 port2 < <(python3 -c 'import socket
a, b = socket.socket(), socket.socket()
a.bind(("127.0.0.1", 0)), b.bind(("127.0.0.1", 0))
print(a.getsockname()[1], b.getsockname()[1])')
cat >"$SLURM_CONF" <<END
ClusterName=aoe
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port1
SlurmdPort=$port2
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/run/munge
CredType=cred/munge
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/run/slurmctld.pid
SlurmdPidFile=$work/run/slurmd.pid
SlurmctldLogFile=$work/log/slurmctld
SlurmdLogFile=$work/log/slurmd
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=2
MailProg=/bin/true
ReturnToService=2
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END

# daemon NAME COMMAND...: starts a daemon that writes to log/NAME.out
daemon() {
    local name=$1
    shift
    "$@" >"$work/log/$name.out" 2>&1 &
    daemons+=($!)
}
# eventually SECONDS COMMAND...: repeats a command until it succeeds; returns 1 after this time
eventually() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.2
    done
}
mungekey --create --keyfile "$work/etc/key" 2>"$work/log/key" || skip "mungekey: $(head -1 "$work/log/key")"
daemon munged munged -F --force --key-file "$work/etc/key" --socket "$work/run/munge" --seed-file "$work/run/seed" \
    --pid-file "$work/run/munged.pid" --num-threads 2
eventually 10 munge -n -S "$work/run/munge" || skip "munged did not start: $(tail -1 "$work/log/munged.out")"
daemon slurmctld slurmctld -D -f "$SLURM_CONF"
daemon slurmd slurmd -D -f "$SLURM_CONF" -N "$host"
is_idle() { [ "$(sinfo -h -o %T)" = idle ]; }
eventually 30 is_idle || skip "Slurm did not start: $(tail -1 "$work/log/slurmctld") $(tail -1 "$work/log/slurmd")"

export AOE=$build/aoe PATH=$build:$PATH OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=tcp,self
cd "$work/jobs"

check() { # check NAME COMMAND...: counts a test that passes if the command succeeds
    local name=$1
    shift
    if "$@" >"$work/log/check" 2>&1; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED: $name"
        sed 's/^/    /' "$work/log/check"
        { tail -n 20 slurm-*.out out 2>/dev/null || true; } | sed 's/^/    /'
    fi
    rm -f slurm-*.out
}
fails() { ! "$@"; }
says() { grep -qF -- "$2" "$1"; } # says FILE TEXT
# batch OPTION...: submits a job and waits for its end; its exit code is that of the job
batch() { timeout 60 sbatch --quiet --wait --cpus-per-task=1 --time=10 "$@"; }
# same DIRECTORY DIRECTORY: trained models and checkpoints are equal
same() { diff -rq -x train-log.jsonl "$1" "$2"; }

"$AOE" init -q --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 --vocab-size 500 -o start \
    --vocab-from "$root/examples/train.tsv"
cut -f 2 "$root/examples/test.tsv" >texts.txt
head -n 200 "$root/examples/train.tsv" >train.tsv
head -n 100 "$root/examples/test.tsv" >dev.tsv
options=(-m start -d train.tsv -q --max-steps 12 -b 16 --shards 4 --threads 1 --save-every 3)

# A job array whose task 2 fails at first
"$AOE" embed -q -m start texts.txt -o whole.npy
cat >once <<END
#!/bin/sh
[ "\$SLURM_ARRAY_TASK_ID" != 2 ] || [ -e second ] || { touch second; kill -KILL \$\$; }
exec "$AOE" "\$@"
END
chmod +x once
check "array with a failed task" fails env AOE="$PWD/once" sbatch --quiet --wait --cpus-per-task=1 --time=5 \
    --array=0-3 "$scripts/embed.sbatch" start texts.txt array.npy 4
"$AOE" embed --join -o array.npy 2>out || true
check "missing part" says out "1 of 4 parts are not complete: 2;"
job=$(sbatch --parsable --cpus-per-task=1 --array=2 "$scripts/embed.sbatch" start texts.txt array.npy 4)
check "join" batch --dependency="afterok:$job" --wrap="aoe embed --join -o array.npy"
check "bytes of the array" cmp whole.npy array.npy

# The tasks of a step
check "parts of a step" srun --quiet -n 3 "$AOE" embed -q -m start texts.txt -o step.npy --part auto/3
check "join of a step" "$AOE" embed -q --join -o step.npy
check "bytes of the step" cmp whole.npy step.npy
srun --quiet -n 3 "$AOE" embed -q -m start texts.txt -o no.npy --part auto/2 >out 2>&1 || true
check "index that is too large" says out "SLURM_PROCID"

# A grid
# shellcheck disable=SC2054
grid=(-t 1 --over lr=1e-4,1e-3 --seeds 2 -- -m start -d train.tsv --dev dev.tsv -b 16 --epochs 1)
"$AOE" grid -q -o one "${grid[@]}" | sed 's|one/|many/|g' >table
check "grid" batch --array=0-2 "$scripts/grid.sbatch" 3 -q -o many "${grid[@]}"
"$AOE" grid -q --join -o many "${grid[@]}" >joined 2>out || true
check "table of the grid" cmp table joined

# Training. PER_NODE processes run on the only node.
"$AOE" train -o whole "${options[@]}" >/dev/null
train=(--nodes=1 --ntasks-per-node=2 "$scripts/train-mpi.sbatch")
mpirun="mpirun.openmpi --oversubscribe --map-by ppr:2:node --bind-to none"
export AOE_MPI=$build/mpi/openmpi/libaoe-mpi.so
check "mpirun of Open MPI" env LAUNCH="$mpirun" timeout 60 sbatch --quiet --wait --cpus-per-task=1 --time=10 \
    "${train[@]}" openmpi "${options[@]}"
check "weights with mpirun" same whole openmpi
types=$(srun --mpi=list 2>&1)
echo "srun --mpi=list: $(tr -s ' \n\t' ' ' <<<"$types")"
if grep -qw pmix <<<"$types"; then
    check "srun --mpi=pmix" env LAUNCH="srun --mpi=pmix" timeout 60 sbatch --quiet --wait --cpus-per-task=1 \
        --time=10 "${train[@]}" pmix "${options[@]}"
    check "weights with pmix" same whole pmix
fi
if grep -qw pmi2 <<<"$types"; then
    check "srun --mpi=pmi2 with MPICH" env LAUNCH="srun --mpi=pmi2" AOE_MPI="$build/mpi/mpich/libaoe-mpi.so" \
        timeout 60 sbatch --quiet --wait --cpus-per-task=1 --time=10 "${train[@]}" pmi2 "${options[@]}"
    check "weights with pmi2" same whole pmi2
fi

# Copies that know nothing of each other
srun --quiet --mpi=none -n 2 "$AOE" train -o no "${options[@]}" >out 2>&1 || true
check "copies without --distributed" says out "2 copies of this command were started (SLURM_STEP_NUM_TASKS)"
srun --quiet --mpi=none -n 2 "$AOE" train -o no --distributed mpi "${options[@]}" >out 2>&1 || true
check "copies without PMI" says out "SLURM's PMI support" # Open MPI itself ends them
check "no output" fails test -e no/model.safetensors

# A job that receives the signal of the time limit is queued again, and resumes. Slurm delays its second start by two
# minutes, unless the start time is changed.
long=(-m start -d train.tsv -q --max-steps 1500 -b 16 --shards 4 --threads 1 --save-every 100)
"$AOE" train -o long "${long[@]}" >/dev/null
job=$(LAUNCH="$mpirun" sbatch --parsable --cpus-per-task=1 --time=10 --output=slurm-long.out "${train[@]}" stopped \
    "${long[@]}")
check "first checkpoint" eventually 60 test -e stopped/checkpoints/step-200
check "signal" scancel --signal=USR1 --batch "$job"
restarts() { scontrol show job "$job" | grep -q "Restarts=1"; }
check "job is queued again" eventually 60 restarts
completed() {
    scontrol update JobId="$job" StartTime=now || true
    scontrol show job "$job" | grep -q "JobState=COMPLETED"
}
check "job resumes" eventually 120 completed
check "weights after the resume" cmp long/model.safetensors stopped/model.safetensors

# Without a scheduler: a host does not respond, and a rank is killed after the first checkpoint
mkdir bin
# shellcheck disable=SC2016
printf '#!/bin/sh\n[ "$6" = localhost ]\n' >bin/ssh
cat >ranked <<END
#!/bin/sh
echo \$\$ >"pid.\$OMPI_COMM_WORLD_RANK"
exec "$AOE" "\$@"
END
chmod +x bin/ssh ranked
printf 'localhost\nnode9\n' >hosts
PATH=$PWD/bin:$PATH AOE=$PWD/ranked PER_HOST=2 PAUSE=1 timeout 120 "$scripts/train-mpirun.sh" hosts looped \
    "${long[@]}" >out 2>&1 &
loop=$!
check "checkpoint of the loop" eventually 60 test -e looped/checkpoints/step-200
kill -KILL "$(cat pid.1)"
check "loop" wait $loop
check "host that does not respond" says out "node9 does not respond"
check "loop resumes" says out "the run resumes from looped/checkpoints/step-"
check "weights of the loop" cmp long/model.safetensors looped/model.safetensors
echo "slurm: $passed passed, $failed failed"
[ $failed = 0 ]
