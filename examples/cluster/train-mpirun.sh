#!/bin/sh
# SPDX-License-Identifier: MIT
# train-mpirun.sh HOSTS OUTPUT OPTION...: runs `aoe train -o OUTPUT OPTION...` with one process on each host in the file
# HOSTS (one name per line), without a scheduler. If the run fails after it has written a checkpoint, it is resumed
# on the hosts that still respond. Requires Open MPI. See docs/cluster.md.
#   PER_HOST=2  processes per host (default: 1)
set -u
if [ $# -lt 3 ]; then
    echo "usage: train-mpirun.sh HOSTS OUTPUT OPTION..." >&2
    exit 2
fi
hosts=$1 output=$2 count=${PER_HOST:-1}
shift 2

# newest: prints the name of the newest checkpoint
newest() {
    find "$output/checkpoints" -maxdepth 1 -name 'step-*' 2>/dev/null | sort -V | tail -n 1
}

alive=$(mktemp)
trap 'rm -f "$alive"' EXIT
while :; do
    while read -r host; do
        if ssh -n -o BatchMode=yes -o ConnectTimeout=10 "$host" true; then
            echo "$host slots=$count"
        else
            echo "$host does not respond" >&2
        fi
    done <"$hosts" >"$alive"
    before=$(newest)
    mpirun --hostfile "$alive" --map-by "ppr:$count:node" --bind-to none \
        "${AOE:-aoe}" train --distributed mpi --resume -o "$output" "$@" && exit 0
    if [ "$(newest)" = "$before" ]; then
        echo "the run failed before it wrote a checkpoint" >&2
        exit 1
    fi
    echo "the run resumes from $(newest)" >&2
    sleep "${PAUSE:-5}"
done
