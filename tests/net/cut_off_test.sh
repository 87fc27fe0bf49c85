#!/bin/bash
# Is a whole host lost when its network is? cut_off_test.sh WORKER, the one of tests/faults: ranks 0
# to 2 are on one host, 3 and 4 on another. The first host's line is cut, its processes go on. The
# others learn that rank 0 is silent, and before they have tried each of its neighbours in turn,
# that all ranks of its host are cut off. Exits with 77 where there are no namespaces.
. "$(dirname "$0")/hosts.sh"
worker=$meet

need_hosts

wire wire
for one in 0 1; do
    host $one
    plug $one eth0 wire 10.78.0.$((one + 1))/24
done

# rank HOST RANK STEP...
rank() {
    mkfifo "$folder/to$2"
    RANK=$2 WORLD_SIZE=5 MASTER_ADDR=10.78.0.1 MASTER_PORT=29500 TUTTI_HEARTBEAT_TIMEOUT_MS=3000 \
        ip netns exec "$run$1" timeout -k 5 100 "$worker" "${@:3}" \
        <>"$folder/to$2" >"$folder/rank$2" 2>&1 &
    pids+=($!)
}
for one in 0 1 2; do rank 0 $one init 'group from=2' pause; done
for one in 3 4; do rank 1 $one init 'group from=2' 'loop barrier' destroy; done

# await RANK PATTERN: it prints such a line.
await() {
    local look
    for ((look = 0; look < 6000; ++look)); do
        grep -Eq "$2" "$folder/rank$1" && return
        sleep 0.01
    done
    echo "FAILED: rank $1 says, instead of \"$2\": $(grep -v '^\.' "$folder/rank$1")"
    exit 1
}
for one in 0 1 2; do await $one '^= pause 0'; done
for one in 3 4; do await $one '^= group 0'; done
on 0 ip link set eth0 down
for one in 3 4; do await $one '^= barrier [0-9]+ 0 .*rank 2 is cut off, as its host is'; done
for one in 3 4; do await $one '^= destroy 0'; done
echo 'all ranks of the host were lost together'
