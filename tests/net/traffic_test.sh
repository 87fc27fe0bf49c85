#!/bin/bash
# Does a group over several hosts send no more over the network than it must? traffic_test.sh TRAFFIC
# [RATE]: hosts are network and process namespaces, so that ranks of different ones do not see each
# other's memory; no backend is named, and what went over each host's interface is counted. For
# comparison it is shown, not judged, for gloo. RATE, such as 200mbit, limits every host's line.
# Exits with 77 where there are no namespaces.
. "$(dirname "$0")/hosts.sh"
traffic=$meet
rate=${2-}
count=1000000

# ranks BACKEND PLACEMENT [judge]: "0101" is ranks 0 and 2 on the first host, 1 and 3 on the second.
# All ranks of a host are in one process namespace.
ranks() {
    local placement=$2 host ranks rank
    pids=()
    rm -f "$folder"/rank*
    for host in 0 1 2; do
        ranks=
        for ((rank = 0; rank < ${#placement}; ++rank)); do
            [ "${placement:rank:1}" = $host ] && ranks+=" $rank"
        done
        [ -n "$ranks" ] || continue
        RANKS=$ranks FOLDER=$folder env -u TUTTI_HOSTS -u TUTTI_SOCKET_IFNAME -u GLOO_SOCKET_IFNAME \
            WORLD_SIZE=${#placement} MASTER_ADDR=10.77.0.1 MASTER_PORT=29500 \
            TUTTI_HEARTBEAT_TIMEOUT_MS=30000 \
            ip netns exec "$run$host" unshare --pid --fork --kill-child --mount-proc bash -c '
                for rank in $RANKS; do RANK=$rank timeout -k 5 100 "$@" >"$FOLDER/rank$rank" 2>&1 & done
                wait' ranks "$traffic" env:// eth0 $count "$1" "$placement" "${@:3}" </dev/null &
        pids+=($!)
    done
    wait "${pids[@]}" || true
    pids=()
}

need_hosts
unshare --pid --fork --mount-proc true 2>/dev/null || skip 'no process namespaces here'

wire wire
for one in 0 1 2; do
    host $one
    plug $one eth0 wire 10.77.0.$((one + 1))/24
    [ -z "$rate" ] || on $one tc qdisc add dev eth0 root tbf rate "$rate" burst 128kb latency 100ms
done

bad=0
for placement in 0011 0101 0001 012210; do
    ranks any $placement judge
    echo "--- placement $placement, no backend named"
    cat "$folder"/rank* | grep -v ' done$' || true
    for ((rank = 0; rank < ${#placement}; ++rank)); do
        grep -q "^rank $rank of ${#placement} over hierarchy: done$" "$folder/rank$rank" && continue
        echo "FAILED: rank $rank is not done"
        bad=1
    done
done
ranks gloo 0101
echo "--- placement 0101, over gloo"
cat "$folder"/rank* | grep -v ' done$' || true
exit $bad
