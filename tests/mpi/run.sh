#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Tests libaoe-mpi.so and `aoe train --distributed mpi` with Open MPI and with MPICH (make check-mpi). BUILD is the
# build directory; it contains mpi/NAME/libaoe-mpi.so for both, and tests/mpi/ranks. QUICK=1: fewer numbers of ranks
# (CI).
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${BUILD:-build}
ranks=$build/tests/mpi/ranks aoe=$build/aoe
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

pass() { passed=$((passed + 1)); }
fail() { # fail NAME: reports a failed test with the output of the last run
    failed=$((failed + 1))
    echo "FAILED: $1 (exit code $code)"
    sed 's/^/    /' "$work/out" "$work/err"
}

# run SECONDS COMMAND...: sets code, and writes $work/out and $work/err. The command gets no input. If it does not end
# in time, code is "late".
run() {
    local limit=$1 start=$SECONDS
    shift
    code=0
    timeout -k 5 "$limit" "$@" >"$work/out" 2>"$work/err" </dev/null || code=$?
    [ $((SECONDS - start)) -lt "$limit" ] || code=late
}

# launch MPI P SECONDS ARGUMENT...: runs P ranks of tests/mpi/ranks.c with the mpirun of an MPI
launch() { start "$1" "$2" "$3" "$ranks" "${@:4}"; }

# start MPI P SECONDS COMMAND...: runs P ranks of a command with the mpirun of an MPI
start() {
    local mpi=$1 n=$2 limit=$3
    shift 3
    case $mpi in
    openmpi)
        run "$limit" mpirun.openmpi --oversubscribe --allow-run-as-root --bind-to none --mca btl tcp,self \
            --mca mpi_yield_when_idle 1 -np "$n" "$@"
        ;;
    mpich) run "$limit" mpirun.mpich -np "$n" "$@" ;;
    esac
}

# rejects NAME CODE TEXT: checks the exit code of the last run, and that its messages contain TEXT
rejects() {
    if [ "$code" = "$2" ] && grep -qF -- "$3" "$work/err"; then pass; else fail "$1"; fi
}

# ends NAME TEXT: the last run ended before its time limit, with an error, and printed exactly one line of aoe, which
# contains TEXT
ends() {
    if [ "$code" != 0 ] && [ "$code" != late ] && [ "$(grep -c '^aoe: ' "$work/err")" = 1 ] &&
        grep -qF -- "$2" "$work/err"; then pass; else fail "$1"; fi
}

# same DIRECTORY DIRECTORY: the files are equal, except for the times in the log
same() {
    diff -rq -x train-log.jsonl "$1" "$2" >"$work/out" &&
        diff <(times "$1/train-log.jsonl") <(times "$2/train-log.jsonl") >>"$work/out"
}
times() { sed -E 's/"(seconds|tokens_per_second|pairs_per_second|time|[a-z_]*seconds[a-z_]*)": *[0-9.e+-]+//g' "$1"; }

# train_with MPI: training and pretraining with several ranks have the bits of one process, also if a rank is killed and
# another number of ranks resumes the run; options that do not fit, and ranks that differ, are reported once
train_with() {
    local mpi=$1 n common
    common=(-q --max-steps 12 -b 16 --shards 8 --threads 1 --save-every 3)
    [ -d "$work/one" ] || {
        "$aoe" train -m "$work/start" -d "$work/train.tsv" -o "$work/one" "${common[@]}" >/dev/null
        "$aoe" pretrain -m "$work/start" -d "$work/texts.txt" -o "$work/words" --held-out 0 "${common[@]}" >/dev/null
    }
    for n in 3 4; do
        rm -rf "$work/out-$n"
        start "$mpi" $n 60 "$aoe" train -m "$work/start" -d "$work/train.tsv" -o "$work/out-$n" --distributed mpi \
            "${common[@]}"
        if [ "$code" = 0 ] && same "$work/one" "$work/out-$n"; then pass; else fail "$mpi: train with $n ranks"; fi
    done
    rm -rf "$work/out-2"
    start "$mpi" 2 60 "$aoe" pretrain -m "$work/start" -d "$work/texts.txt" -o "$work/out-2" --held-out 0 \
        --distributed mpi "${common[@]}"
    if [ "$code" = 0 ] && same "$work/words" "$work/out-2"; then pass; else fail "$mpi: pretrain"; fi

    start "$mpi" 4 60 "$aoe" train -m "$work/start" -d "$work/train.tsv" -o "$work/no" --distributed mpi \
        "${common[@]}" --shards 2
    ends "$mpi: fewer shards than ranks" "--shards is 2, but the run has 4 ranks"
    start "$mpi" 3 60 sh -c '[ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 2 ] || export AOE_CPU=c; exec "$@"' sh \
        "$aoe" train -m "$work/start" -d "$work/train.tsv" -o "$work/no" --distributed mpi "${common[@]}"
    ends "$mpi: another CPU tier" "rank 2 ($(hostname)) computes with c, but rank 0"
    start "$mpi" 3 60 sh -c 'm=$1; shift; [ "$OMPI_COMM_WORLD_RANK$PMI_RANK" != 1 ] || m=missing; exec "$@" -m $m' sh \
        "$work/start" "$aoe" train -d "$work/train.tsv" -o "$work/no" --distributed mpi "${common[@]}"
    ends "$mpi: no model in one rank" "missing: no such directory"
    start "$mpi" 2 60 taskset -c 0 "$aoe" train -m "$work/start" -d "$work/train.tsv" -o "$work/bound" \
        --distributed mpi -q --max-steps 1 -b 16 --shards 8
    if [ "$code" = 0 ] && { [ "$(nproc --all)" = 1 ] ||
        [ "$(grep -c "a rank may use only 1 of the" "$work/err")" = 1 ]; }; then pass; else fail "$mpi: one CPU"; fi
    rm -rf "$work/bound"
    start "$mpi" 2 60 taskset -c 0 "$aoe" train -m "$work/start" -d "$work/train.tsv" -o "$work/bound" \
        --distributed mpi -q --max-steps 1 -b 16 --shards 8 --threads 1
    if [ "$code" = 0 ] && ! grep -q "a rank may use" "$work/err"; then pass; else fail "$mpi: --threads 1"; fi
    rm -rf "$work/bound"
    start "$mpi" 2 60 "$aoe" train -m "$work/start" -d "$work/train.tsv" -o "$work/no" "${common[@]}"
    if [ "$code" = 1 ] && grep -q "2 copies of this command were started" "$work/err"; then pass; else
        fail "$mpi: copies without --distributed"
    fi
}

"$aoe" init -q --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 --vocab-from examples/train.tsv \
    --vocab-size 500 -o "$work/start"
head -n 200 examples/train.tsv >"$work/train.tsv"
cut -f 2 "$work/train.tsv" | tail -n +2 >"$work/texts.txt"
for mpi in openmpi mpich; do
    other=$([ $mpi = openmpi ] && echo mpich || echo openmpi)
    export AOE_MPI=$build/mpi/$mpi/libaoe-mpi.so
    case $mpi-${QUICK-} in
    *-) counts="1 2 3 4 5 8" ;;
    openmpi-*) counts="1 3 4" ;;
    *) counts="4" ;;
    esac
    for n in $counts; do
        launch $mpi "$n" 120 collectives
        if [ "$code" = 0 ] && grep -qx "$n ranks: ok" "$work/out"; then pass; else fail "$mpi: $n ranks"; fi
    done
    run 60 "$ranks" open # without mpirun
    if [ "$code" = 0 ] && grep -qx "1 ranks" "$work/out"; then pass; else fail "$mpi: without mpirun"; fi

    launch $mpi 4 20 error 2
    ends "$mpi: error of a rank" "rank 2 ($(hostname)): the disk is full"
    launch $mpi 4 20 kill 2
    if [ "$code" != 0 ] && [ "$code" != late ]; then pass; else fail "$mpi: rank is killed"; fi
    for rank in 0 2; do
        launch $mpi 4 30 stop $rank
        ends "$mpi: rank $rank stops" \
            "no progress for 2 seconds in the gradients of step 812: rank $rank ($(hostname)) does not respond"
    done

    train_with $mpi

    # The mpirun of another MPI starts ranks that know nothing of each other.
    launch $other 2 60 open
    rejects "$mpi: mpirun of $other" 1 "has one rank, but"

    # Shims that do not fit: another version of the interface, another version of MPI, no shim, no MPI
    mkdir -p "$work/comm" "$work/version"
    sed 's/AOEI_MPI_VERSION = 1/AOEI_MPI_VERSION = 99/' src/comm/mpi_shim.h >"$work/comm/mpi_shim.h"
    mpicc.$mpi -shared -fPIC -I"$work" mpi/aoe_mpi.c -o "$work/interface.so"
    sed -E 's/^(#define VERSION) +(TEXT_OF.*|MPICH_VERSION)/\1 "99"/' mpi/aoe_mpi.c >"$work/version/aoe_mpi.c"
    mpicc.$mpi -shared -fPIC -Isrc "$work/version/aoe_mpi.c" -o "$work/version.so"
    echo 'int missing_mpi;' >"$work/missing.c"
    cc -shared -fPIC -Wl,-soname,libmissing-mpi.so.1 "$work/missing.c" -o "$work/libmissing-mpi.so"
    mpicc.$mpi -shared -fPIC -Isrc mpi/aoe_mpi.c -Wl,--no-as-needed "$work/libmissing-mpi.so" -o "$work/no-mpi.so"
    rm "$work/libmissing-mpi.so"
    AOE_MPI=$work/interface.so launch $mpi 2 60 open
    rejects "$mpi: other interface" 1 "has version 99 of its interface"
    AOE_MPI=$work/version.so launch $mpi 2 60 open
    rejects "$mpi: other MPI" 1 "but the loaded MPI is"
    AOE_MPI=$work/none.so launch $mpi 2 60 open
    rejects "$mpi: no file" 1 "there is no such file"
    AOE_MPI=$work/no-mpi.so launch $mpi 2 60 open
    rejects "$mpi: MPI is not installed" 1 "libmissing-mpi.so.1: cannot open shared object file"
    AOE_MPI='' launch $mpi 2 60 open
    rejects "$mpi: no shim" 1 "libaoe-mpi.so was not found"
done
echo "mpi: $passed passed, $failed failed"
[ $failed = 0 ]
