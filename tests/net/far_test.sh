#!/bin/bash
# Calls between two hosts that are far from each other: far_test.sh BENCH FAR_LINE [MICROSECONDS [RATE
# [OP [SIZES [ITERATIONS]]]]]. The line takes so long each way (500 us), and carries no more than RATE,
# such as 1gbit. Every result is checked, and no call may be faster than its line, but a broadcast, whose
# data may be there before the call. Exits with 77 where there are no namespaces.
. "$(dirname "$0")/hosts.sh"
bench=$meet
far_line=$2
delay=${3-500}
rate=${4-}
ops=${5-all_reduce,all_gather,broadcast,sendrecv_pingpong}
sizes=${6-8,16384,1048576}
iterations=${7-10}

need_hosts
[ -c /dev/net/tun ] || skip 'there is no /dev/net/tun'
for host in 0 1; do host $host; done
"$far_line" "${run}0" "${run}1" "$delay" >"$folder/line" 2>&1 &
line=$!
disown
trap 'kill -9 $line 2>/dev/null || true; leave' EXIT
until grep -q ready "$folder/line"; do
    kill -0 $line 2>/dev/null || skip "no interface of our own: $(cat "$folder/line")"
done
for host in 0 1; do
    on $host ip addr add 10.80.0.$((host + 1)) peer 10.80.0.$((2 - host)) dev line
    on $host ip link set line up
    [ -z "$rate" ] || on $host tc qdisc add dev line root tbf rate "$rate" burst 256kb latency 50ms
done

bad=0
for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 MASTER_ADDR=10.80.0.1 MASTER_PORT=29500 TUTTI_HEARTBEAT_TIMEOUT_MS=30000 \
        ip netns exec "$run$rank" timeout -k 5 "${FAR_TEST_LIMIT:-100}" "$bench" --backend tcp --op "$ops" \
        --sizes "$sizes" --iterations "$iterations" --csv - >"$folder/rank$rank" 2>&1 </dev/null &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
pids=()
cat "$folder/rank0"
[ $bad -eq 0 ] || { echo "FAILED: a rank"; cat "$folder/rank1"; exit 1; }
awk -F, -v delay="$delay" '$5 ~ /^[0-9.]+$/ { calls++; if ($2 != "broadcast" && $6 < delay) { print "FAILED: faster than its line: " $0; bad = 1 } }
    END { if (calls == 0) { print "FAILED: nothing was measured"; bad = 1 } exit bad }' "$folder/rank0"
