#!/bin/bash
# Do connections live through a time without data, and is it noticed when one does not? idle_test.sh
# WORKER, the one of tests/faults: one rank on each of two hosts, and a router between them that, as
# firewalls do, forgets connections on which nothing has come for three seconds and swallows what
# comes on them later. Then it swallows the data and the store's connections, while the control
# connections go on: the ranks are named. A rank that is stopped while its connection is full is no
# dead line. Exits with 77 where there are no namespaces or no nft.
. "$(dirname "$0")/hosts.sh"
worker=$meet
forgets_s=3

need_hosts
for tool in nft ss; do command -v $tool >/dev/null || skip "there is no $tool"; done

host r
set_kernel r ipv4/ip_forward=1
for one in 0 1; do
    wire wire$one
    host $one
    plug $one eth0 wire$one 10.79.$one.2/24
    plug r eth$one wire$one 10.79.$one.1/24
    on $one ip route add default via 10.79.$one.1
done
on r nft -f - 2>"$folder/why" <<'END' || skip "nft refuses the rules: $(head -n 1 "$folder/why")"
table inet router {
    set swallowed { type inet_service; }
    chain forward {
        type filter hook forward priority 0; policy drop;
        tcp dport @swallowed drop
        tcp sport @swallowed drop
        ct state established accept
        tcp flags & (fin|syn|rst|ack) == syn accept
    }
}
END
set_kernel r netfilter/nf_conntrack_tcp_loose=0 netfilter/nf_conntrack_tcp_timeout_established=$forgets_s \
    2>/dev/null || skip 'this kernel does not let a namespace decide what a router forgets'

# job NAME MASTER_PORT BACKEND PORTS STEP...: both ranks of it. What they have open is probed each
# second, and may be silent for three.
job() {
    local rank
    for rank in 0 1; do
        mkfifo "$folder/to.$1.$rank"
        : >"$folder/$1.$rank"
        RANK=$rank WORLD_SIZE=2 MASTER_ADDR=10.79.0.2 MASTER_PORT=$2 TUTTI_FAULTS_BACKEND=$3 \
            TUTTI_PORT_RANGE=$4 TUTTI_CONNECTION_TIMEOUT_MS=3000 TUTTI_HEARTBEAT_TIMEOUT_MS=30000 \
            ip netns exec "$run$rank" timeout -k 5 100 "$worker" "${@:5}" \
            <>"$folder/to.$1.$rank" >"$folder/$1.$rank" 2>&1 &
        pids+=($!)
        disown # nobody is to be told when it is killed in the end
    done
}

# go_on NAME: to its next pause's end.
go_on() { for rank in 0 1; do echo >"$folder/to.$1.$rank"; done; }

# await NAME RANK PATTERN [TIMES]: so many lines are like that.
await() {
    local look
    for ((look = 0; look < 6000; ++look)); do
        [ "$(grep -Ec "$3" "$folder/$1.$2")" -lt "${4-1}" ] || return 0
        sleep 0.01
    done
    echo "FAILED: rank $2 over $1 says, instead of \"$3\": $(grep -v '^\.' "$folder/$1.$2")"
    exit 1
}

job tcp 29601 tcp 30100-30109 init 'call all_reduce' pause 'call all_reduce' pause 'call all_reduce' destroy
job gloo 29602 gloo 30200-30209 init 'call all_reduce' pause 'call all_reduce' pause 'call all_reduce' destroy
job store 29603 tcp 30300-30309 init store pause pause fetch pause
for job in tcp gloo store; do for rank in 0 1; do await $job $rank '^= pause 0'; done; done

sleep $((forgets_s + 2)) # nothing tells when a router forgets
for job in tcp gloo store; do go_on $job; done
for job in tcp gloo; do for rank in 0 1; do await $job $rank '^= all_reduce 0' 2; done; done
for job in tcp gloo store; do for rank in 0 1; do await $job $rank '^= pause 0' 2; done; done
echo 'a router that forgets after three seconds: connections were kept in its memory'

# Each rank takes the first free ports: the first for control, the next for data.
on r nft add element inet router swallowed '{ 30101, 30201, 29603 }'
for job in tcp gloo store; do go_on $job; done
for job in tcp gloo; do
    for rank in 0 1; do
        await $job $rank '^= all_reduce [0-9]+ [01] .*the connection between rank [01] and rank [01] broke: .*ETIMEDOUT'
    done
done
await store 1 '^= fetch [0-9]+ -1 .*10\.79\.0\.2.*ETIMEDOUT'
echo 'lines that swallow all were noticed, and the ranks named'

# A stopped rank reads nothing, so its connection fills; its system goes on to answer probes.
# It is stopped until that is in the middle of a message; a small window makes messages long.
set_kernel 1 "ipv4/tcp_rmem=4096 32768 32768"
job full 29604 tcp 30400-30409 init 'loop broadcast count=4000000'
await full 1 '^= init 0'
victim=$(cat "/proc/${pids[-1]}/task/${pids[-1]}/children")
is_full() {
    local look
    for ((look = 0; look < 20; ++look)); do
        ! on 0 ss -tno state established | grep -q persist || return 0
        sleep 0.01
    done
    return 1
}
for ((try = 1; ; ++try)); do
    await full 1 '^\.$' $try
    kill -STOP "${victim% }"
    is_full && break
    kill -CONT "${victim% }"
    [ $try -lt 100 ] || { echo 'FAILED: a connection to a stopped rank does not fill'; exit 1; }
done
sleep 5 # longer than a host may be silent
count=$(grep -c '^\.$' "$folder/full.1")
kill -CONT "${victim% }"
await full 1 '^\.$' $((count + 3))
if grep -h '^= broadcast' "$folder"/full.?; then
    echo 'FAILED: a connection to a stopped rank ended'
    exit 1
fi
echo "a stopped rank whose connection was full for five seconds went on (stopped $try times)"
