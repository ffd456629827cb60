#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Four network namespaces on a bridge act as four computers with 1 Gb/s. Four ranks exchange the gradients and the
# weights of an optimizer step. The times, bytes and results are compared with `aoe info --plan`. Requires root,
# iproute2 and nftables. BUILD is the build directory, in which `make check-mpi` has built the shim of Open MPI and
# tests/mpi/ranks. SHAPE is the shape of the model.
#
#   1. the bytes that a rank sends equal the plan, and the network cards of all namespaces send at most 10% more
#      (headers, acknowledgements)
#   2. with TIMES=1, the times are within 20% of the plan. This needs a computer on which nothing else runs
#   3. if one packet of 1,000 is lost, the result has the same bits
#   4. a rank that stops is named by the others
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/${BUILD:-build}
ranks=$build/tests/mpi/ranks aoe=$build/aoe
export AOE_MPI=$build/mpi/openmpi/libaoe-mpi.so
n=4 shape=${SHAPE:-bert-base} rate=1gbit
id=aoe$$
network=198.18.77 # 198.18.0.0/15 is reserved for measurements
work=$(mktemp -d)
passed=0 failed=0

clean() {
    local i
    for i in $(seq $n); do ip netns del $id-$i 2>/dev/null || true; done
    ip link del $id 2>/dev/null || true
    rm -rf "$work"
}
trap clean EXIT

if ! ip link add $id type bridge 2>/dev/null; then
    echo "SKIP: this user cannot create networks (tests/mpi/namespaces.sh)"
    exit 0
fi
ip link set $id up
for i in $(seq $n); do
    ip netns add $id-$i
    ip link add $id.$i type veth peer name net0 netns $id-$i
    ip link set $id.$i master $id up
    ip -n $id-$i addr add $network.$i/24 dev net0
    ip -n $id-$i link set net0 up
    ip -n $id-$i link set lo up
    # both directions: the queue of a network card shapes what it sends
    tc qdisc add dev $id.$i root tbf rate $rate burst 256kb latency 50ms
    tc -n $id-$i qdisc add dev net0 root tbf rate $rate burst 256kb latency 50ms
done

# enter I COMMAND...: runs a command in namespace I, with a host name of its own
cat >"$work/enter" <<END
#!/bin/sh
i=\$1
shift
exec ip netns exec $id-\$i unshare --uts sh -c 'hostname node\$0; exec "\$@"' "\$i" "\$@"
END
# the agent with which mpirun starts its daemon on another computer: agent ADDRESS COMMAND
cat >"$work/agent" <<END
#!/bin/sh
address=\$1
shift
exec "$work/enter" "\${address##*.}" sh -c "\$*"
END
chmod +x "$work/enter" "$work/agent"
hosts=$(for i in $(seq $n); do printf '%s%s.%s:1' "$([ "$i" = 1 ] || echo ,)" $network "$i"; done)

launch() { # launch ARGUMENT...: runs the ranks, one in each namespace; sets code, and writes $work/out and $work/err
    code=0
    timeout -k 5 300 "$work/enter" 1 mpirun.openmpi --allow-run-as-root --bind-to none --host "$hosts" -np $n \
        --mca plm_rsh_agent "$work/agent" --mca btl tcp,self --mca btl_tcp_if_include $network.0/24 \
        --mca oob_tcp_if_include $network.0/24 -x AOE_MPI "$ranks" "$@" >"$work/out" 2>"$work/err" </dev/null ||
        code=$?
}

sent() { # sent I: number of bytes that the network card of namespace I has sent
    ip netns exec $id-"$1" cat /proc/net/dev | awk '$1 == "net0:" { print $10 }'
}

check() { # check NAME CONDITION...: counts a test that passes if the condition is true
    local name=$1
    shift
    if "$@"; then passed=$((passed + 1)); else
        failed=$((failed + 1))
        echo "FAILED: $name"
        cat "$work/out" "$work/err"
    fi
}

is() { awk "BEGIN { exit !($*) }"; }

value() { # value NAME: the number after NAME in the output of the ranks
    tr ' ' '\n' <"$work/out" | awk -v name="$1" 'last == name { print; exit } { last = $0 }'
}

"$aoe" info --shape "$shape" --plan --length 8 --dtype f32 --ranks $n --network 1Gb --rate 1 --json >"$work/plan"
planned() { # planned GROUP PHASE: a number of the plan; GROUP is sent (bytes) or seconds
    grep -o "\"$1\":{[^}]*}" "$work/plan" | grep -o "\"$2\":[0-9.e-]*" | cut -d: -f2
}
bytes=$(($(planned sent gradients) + $(planned sent weights)))

# The fastest of three runs counts, because other programs may use the cores.
for run in 1 2 3; do
    before=$(for i in $(seq $n); do sent "$i"; done | paste -sd+)
    launch traffic "$shape"
    after=$(for i in $(seq $n); do sent "$i"; done | paste -sd+)
    check "run $run" [ "$code" = 0 ]
    echo "run $run: $(cat "$work/out")"
    check "bytes of the gradients" [ "$(value gradients)" = "$(planned sent gradients)" ]
    check "bytes of the weights" [ "$(value weights)" = "$(planned sent weights)" ]
    # the plan has the largest number of bytes of a rank; the blocks are not divided evenly
    check "bytes of the network cards" is "($after) - ($before) >= 0.9 * $bytes * $n &&" \
        "($after) - ($before) <= 1.1 * $bytes * $n"
    for phase in gradient weight; do
        seconds=$(value ${phase}_seconds)
        eval "best=\${best_$phase-}"
        if [ -z "$best" ] || is "$seconds < $best"; then eval "best_$phase=$seconds"; fi
    done
done
hash=$(value hash)
for phase in gradient weight; do
    eval "best=\$best_$phase"
    want=$(planned seconds ${phase}s)
    echo "${phase}s: $best s, planned $want s"
    [ -z "${TIMES-}" ] || check "time of the ${phase}s" is "$best <= 1.2 * $want && $best >= 0.8 * $want"
done

for i in $(seq $n); do
    ip netns exec $id-$i nft -f - <<END
table inet loss {
    chain input {
        type filter hook input priority 0;
        meta l4proto tcp numgen random mod 1000 < 1 counter drop
    }
}
END
done
launch traffic "$shape"
echo "0.1% loss: $(cat "$work/out")"
check "packet loss" [ "$code" = 0 ]
check "bits with packet loss" [ "$(value hash)" = "$hash" ]
lost=$(for i in $(seq $n); do ip netns exec $id-$i nft list table inet loss; done |
    awk '/counter/ { for (k = 1; k < NF; k++) if ($k == "packets") sum += $(k + 1) } END { print sum }')
echo "$lost packets were dropped"
check "packets were dropped" [ "$lost" -gt 0 ]
for i in $(seq $n); do ip netns exec $id-$i nft delete table inet loss; done

launch stop 2
check "a rank stops" grep -qF "rank 2 (node3) does not respond" "$work/err"
check "a rank stops: exit code" [ "$code" != 0 ]
echo "namespaces: $passed passed, $failed failed"
[ $failed = 0 ]
