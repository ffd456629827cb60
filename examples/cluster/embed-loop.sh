#!/bin/sh
# SPDX-License-Identifier: MIT
# embed-loop.sh MODEL INPUT OUTPUT N: computes the embeddings of the texts in INPUT in N parts and joins them. Parts
# that are complete are skipped, so the same command continues after a failure. See docs/cluster.md.
# HOSTS="a b c": the hosts on which the parts are computed with ssh, at most one part per host at a time. All hosts must
# see the files under the same paths. Without HOSTS, the parts are computed on this machine, one after the other.
set -eu
if [ $# != 4 ]; then
    echo "usage: embed-loop.sh MODEL INPUT OUTPUT N" >&2
    exit 2
fi
model=$1 input=$2 output=$3 n=$4
aoe=${AOE:-aoe}
hosts=${HOSTS-}

# quoted TEXT: prints the text as one word of a shell command
quoted() {
    printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")"
}

# run_parts HOST FIRST STEP: computes the parts FIRST, FIRST + STEP, ... on a host; HOST "": this machine
run_parts() {
    i=$2
    while [ "$i" -lt "$n" ]; do
        if [ -z "$1" ]; then
            "$aoe" embed -m "$model" "$input" -o "$output" --part "$i/$n"
        else
            command="cd $(quoted "$PWD") && $(quoted "$aoe") embed -m $(quoted "$model") $(quoted "$input")"
            command="$command -o $(quoted "$output") --part $i/$n"
            # The quoted words are for the shell of the other host.
            # shellcheck disable=SC2029
            ssh -n "$1" "$command"
        fi
        i=$((i + $3))
    done
}

if [ -z "$hosts" ]; then
    run_parts "" 0 1
else
    # shellcheck disable=SC2086
    set -- $hosts
    count=$# first=0 pids=
    for host in "$@"; do
        run_parts "$host" $first $count &
        pids="$pids $!"
        first=$((first + 1))
    done
    failed=0
    for pid in $pids; do wait "$pid" || failed=1; done
    if [ $failed = 1 ]; then
        echo "some parts failed; run the same command again" >&2
        exit 1
    fi
fi
"$aoe" embed --join -o "$output"
