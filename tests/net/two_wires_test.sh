#!/bin/bash
# Do two ranks use both wires between their hosts, if both are named? two_wires_test.sh BENCH [RATE]:
# what each wire carries is counted; a tenth must go over each. RATE, such as 400mbit, limits each
# wire's lines. Exits with 77 where there are no namespaces.
. "$(dirname "$0")/hosts.sh"
bench=$meet
rate=${2-}

need_hosts
for wire in 0 1; do wire wire$wire; done
for host in 0 1; do
    host $host
    for wire in 0 1; do
        plug $host eth$wire wire$wire 10.8$wire.0.$((host + 1))/24
        [ -z "$rate" ] || on $host tc qdisc add dev eth$wire root tbf rate "$rate" burst 256kb latency 50ms
    done
done

sent() { on 0 cat "/sys/class/net/$1/statistics/tx_bytes"; }

# run INTERFACES: what went over each wire, and how long it took.
run() {
    local rank before0 before1 bad=0
    before0=$(sent eth0) before1=$(sent eth1)
    for rank in 0 1; do
        RANK=$rank WORLD_SIZE=2 MASTER_ADDR=10.80.0.1 MASTER_PORT=29500 TUTTI_HEARTBEAT_TIMEOUT_MS=30000 \
            TUTTI_SOCKET_IFNAME=$1 ip netns exec "$run$rank" timeout -k 5 100 "$bench" --backend tcp \
            --op all_reduce --sizes 16777216 --iterations 12 >"$folder/rank$rank" 2>&1 </dev/null &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
    pids=()
    over0=$(($(sent eth0) - before0)) over1=$(($(sent eth1) - before1))
    echo "--- $1: $over0 and $over1 bytes"
    grep MiB "$folder/rank0" || bad=1
    [ $bad -eq 0 ] || { echo "FAILED: a rank"; cat "$folder"/rank*; exit 1; }
}

run eth0,eth1
if [ $((10 * over0)) -lt $((over0 + over1)) ] || [ $((10 * over1)) -lt $((over0 + over1)) ]; then
    echo "FAILED: less than a tenth of it went over one wire"
    exit 1
fi
run eth0
[ "$over1" -lt 100000 ] || { echo "FAILED: the wire that was not named was used"; exit 1; }
