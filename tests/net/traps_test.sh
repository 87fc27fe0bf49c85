#!/bin/bash
# Do ranks find each other where names, interfaces and addresses lead astray? traps_test.sh MEET
# [TRAP...]: each function trap_... below makes hosts, starts ranks 0 and 1 on the first and 2 and 3
# on the others, and all must get the right sum. What it took is printed, not judged. Exits with 77
# where there are no network namespaces.
. "$(dirname "$0")/hosts.sh"

# Two hosts on one wire, 10.77.0.1 and .2.
two_hosts() {
    wire wire
    host a
    host b
    plug a eth0 wire 10.77.0.1/24
    plug b eth0 wire 10.77.0.2/24
}

start_all() { # [VARIABLE=VALUE...]
    start a 0 "$@"
    start a 1 "$@"
    start b 2 "$@"
    start b 3 "$@"
}

trap_plain() {
    two_hosts
    start_all MASTER_ADDR=10.77.0.1
    meet
}

trap_own_name_is_127_0_1_1() {
    two_hosts
    knows a '127.0.1.1 node-a'
    knows b '127.0.1.1 node-b' '10.77.0.1 node-a'
    start_all MASTER_ADDR=node-a
    meet
}

trap_own_name_is_127_0_0_1() {
    two_hosts
    knows a '127.0.0.1 node-a'
    knows b '10.77.0.1 node-a'
    start_all MASTER_ADDR=node-a
    meet
}

trap_name_has_an_address_that_nobody_answers_at() {
    two_hosts
    give wire bridge 10.77.0.254/24 # a gateway that passes nothing on
    wire other
    plug a eth1 other 10.99.0.1/24
    on b ip route add default via 10.77.0.254
    for host in a b; do knows $host '10.99.0.1 node-a' '10.77.0.1 node-a'; done
    start_all MASTER_ADDR=node-a
    meet
}

# As Docker makes one on every host; the file says nothing of ways.
trap_bridge_with_the_same_address_on_each_host() {
    wire wire
    for host in a b; do
        host $host
        on $host ip link add name docker0 type bridge
        give $host docker0 172.17.0.1/16
        on $host ip link set docker0 up
    done
    plug a eth0 wire 10.77.0.1/24
    plug b eth0 wire 10.77.0.2/24
    method=file://$folder/meeting
    start_all
    meet
}

trap_default_route_on_an_interface_between_strangers() {
    two_hosts
    for host in a b; do # each on a wire of its own, all with the same network
        wire admin-$host 192.168.1.254/24
        plug $host admin admin-$host 192.168.1.$((${#hosts[@]} + 1))/24
        on $host ip route add default via 192.168.1.254
    done
    method=file://$folder/meeting
    start_all
    meet
}

trap_three_hosts_share_a_file() {
    two_hosts
    host c
    plug c eth0 wire 10.77.0.3/24
    method=file://$folder/meeting
    start a 0
    start b 1
    start b 2
    start c 3
    meet
}

trap_ipv6_only() {
    wire wire
    host a
    host b
    plug a eth0 wire fd77::1/64
    plug b eth0 wire fd77::2/64
    method='tcp://[fd77::1]:29500'
    start_all
    meet
}

dual_stack() {
    two_hosts
    give a eth0 fd77::1/64
    give b eth0 fd77::2/64
    for host in a b; do knows $host 'fd77::1 node-a' '10.77.0.1 node-a'; done
}

trap_dual_stack() {
    dual_stack
    start_all MASTER_ADDR=node-a
    meet
}

# Packets arrive, and no answer finds its way back: to who calls, IPv6 is a hole.
trap_dual_stack_where_ipv6_is_filtered() {
    dual_stack
    on a ip -6 route del fd77::/64 dev eth0
    start_all MASTER_ADDR=node-a
    meet
}

trap_dual_stack_where_one_host_has_no_ipv6() {
    dual_stack
    set_kernel b ipv6/conf/all/disable_ipv6=1
    start_all MASTER_ADDR=node-a
    meet
}

link_local_of() { on "$1" ip -6 -o addr show dev "$2" scope link | sed -E 's/.*inet6 ([^/ ]*).*/\1/'; }

# The same wire has another name on each host.
trap_link_local_ipv6() {
    wire wire
    host a
    host b
    plug a eth0 wire
    plug b lan7 wire
    local address=
    # The kernel gives it some time after the interface is up.
    until [ -n "$address" ]; do
        sleep 0.01
        address=$(link_local_of a eth0)
    done
    for rank in 0 1; do start a $rank MASTER_ADDR="$address%eth0"; done
    for rank in 2 3; do start b $rank MASTER_ADDR="$address%lan7"; done
    meet
}

# A name for the outside that no interface has: a router translates it.
translated() {
    command -v nft >/dev/null || {
        why='there is no nft'
        return 77
    }
    wire inside
    wire outside
    host a
    host b
    host router
    plug a eth0 inside 10.77.0.1/24
    plug b eth0 outside 198.51.100.1/24
    plug router in inside 10.77.0.254/24
    plug router out outside 198.51.100.254/24
    set_kernel router ipv4/ip_forward=1 ipv4/conf/all/send_redirects=0 ipv4/conf/in/send_redirects=0
    on a ip route add default via 10.77.0.254
    on b ip route add default via 198.51.100.254
}

trap_name_of_an_address_that_is_translated() {
    translated || return
    on router nft -f - <<'RULES'
table ip translate {
    chain in { type nat hook prerouting priority -100; ip daddr 203.0.113.7 dnat to 10.77.0.1; }
    chain out {
        type nat hook postrouting priority 100
        ip saddr 10.77.0.1 ip daddr 10.77.0.1 masquerade
        ip saddr 10.77.0.1 snat to 203.0.113.7
    }
    chain between {
        type filter hook forward priority 0; policy drop
        ct state established,related accept
        ct status dnat accept
        iifname "in" accept
    }
}
RULES
    for host in a b; do knows $host '203.0.113.7 node-a'; done
    start_all MASTER_ADDR=node-a
    meet
}

trap_ranks_behind_a_router_that_hides_them() {
    translated || return
    on router nft -f - <<'RULES'
table ip hide {
    chain out { type nat hook postrouting priority 100; oifname "out" masquerade; }
    chain between {
        type filter hook forward priority 0; policy drop
        ct state established,related accept
        iifname "in" accept
    }
}
RULES
    start b 0 MASTER_ADDR=198.51.100.1
    start b 1 MASTER_ADDR=198.51.100.1
    start a 2 MASTER_ADDR=198.51.100.1
    start a 3 MASTER_ADDR=198.51.100.1
    meet
}

# Numbers that no resolver would give: it must not be asked.
trap_no_name_resolution() {
    two_hosts
    give wire bridge 10.77.0.254/24
    for host in a b; do
        : >"/etc/netns/$run$host/hosts"
        echo 'nameserver 10.77.0.254' >"/etc/netns/$run$host/resolv.conf"
    done
    start_all MASTER_ADDR=10.77.0.1
    meet
}

packets_sent_by() { on "$1" cat /sys/class/net/"$2"/statistics/tx_packets; }

# As a container may be: localhost is no business of the name server, which would never answer. That
# nothing was sent to it means something where a question would have been.
localhost_means_this_host() { # COMMAND...: that makes the hosts file what it shall be
    wire wire
    host a
    set_kernel a ipv6/conf/all/disable_ipv6=1 ipv6/conf/default/disable_ipv6=1
    plug a eth0 wire 10.77.0.1/24
    on a ip neigh add 10.77.0.254 lladdr 02:00:00:00:00:01 dev eth0
    printf '%s\n' 'nameserver 10.77.0.254' 'options timeout:1 attempts:1' \
        >"/etc/netns/$run"a/resolv.conf
    : >"/etc/netns/$run"a/hosts
    through=("$@")
    for rank in 0 1 2 3; do start a $rank MASTER_ADDR=localhost; done
    meet || return
    [ "$(packets_sent_by a eth0)" -eq 0 ] || return
    on a "$@" getent ahosts localhost >"$folder/asked" || true
    [ "$(packets_sent_by a eth0)" -gt 0 ]
}

trap_localhost_with_an_empty_hosts_file() {
    localhost_means_this_host
}

# Each rank has its own mounts.
trap_localhost_without_a_hosts_file() {
    local etc=$folder/etc file
    mkdir -p "$etc"
    for file in nsswitch.conf host.conf; do
        if [ -e /etc/$file ]; then cp /etc/$file "$etc"; fi
    done
    printf '%s\n' 'nameserver 10.77.0.254' 'options timeout:1 attempts:1' >"$etc/resolv.conf"
    localhost_means_this_host sh -c 'mount --bind "$0" /etc && exec "$@"' "$etc"
}

trap_rank_0_knows_no_address_of_its_own() {
    two_hosts
    start a 0
    for rank in 1; do start a $rank MASTER_ADDR=10.77.0.1; done
    for rank in 2 3; do start b $rank MASTER_ADDR=10.77.0.1; done
    meet
}

trap_store_is_bound_to_one_address() {
    two_hosts
    knows a '127.0.1.1 node-a'
    knows b '10.77.0.1 node-a'
    start a 0 MASTER_ADDR=node-a TUTTI_STORE_BIND=10.77.0.1
    start a 1 MASTER_ADDR=10.77.0.1
    for rank in 2 3; do start b $rank MASTER_ADDR=node-a; done
    meet
}

two_wires() {
    two_hosts
    wire fast
    wire faster
    plug a fast0 fast 10.88.0.1/24
    plug b fast0 fast 10.88.0.2/24
    plug a fast1 faster 10.89.0.1/24
    plug b fast1 faster 10.89.0.2/24
    count=1000000
}

trap_interface_by_name() {
    two_wires
    start_all MASTER_ADDR=10.77.0.1 GLOO_SOCKET_IFNAME=fast0
    meet && carried_megabytes a fast0 && ! carried_megabytes a eth0 && ! carried_megabytes a fast1
}

trap_list_of_interfaces() {
    two_wires
    start_all MASTER_ADDR=10.77.0.1 TUTTI_SOCKET_IFNAME=fast0,fast1 GLOO_SOCKET_IFNAME=none
    meet && carried_megabytes a fast0 && carried_megabytes a fast1 && ! carried_megabytes a eth0
}

trap_interface_that_is_none() {
    two_hosts
    start_all MASTER_ADDR=10.77.0.1 TUTTI_SOCKET_IFNAME=eth0,eth9
    ! meet
    for rank in 0 1 2 3; do
        grep -q 'variable TUTTI_SOCKET_IFNAME is "eth0,eth9", and "eth9" is no interface' \
            "$folder/rank$rank" || return 1
        echo "rank $rank of 4: sum -, 0 ms" >>"$folder/rank$rank"
    done
}

need_hosts

shift
traps=("$@")
[ $# -gt 0 ] || mapfile -t traps < <(declare -F | sed -n 's/^declare -f trap_//p')
failed=0 worst=0 done_right=0
for one in "${traps[@]}"; do
    method=env:// count=1 why='' status=0 through=()
    rm -f "$folder"/rank* "$folder/meeting"
    "trap_$one" 2>"$folder/errors" || status=$?
    if [ $status -eq 0 ]; then
        took=$(slowest)
        printf '%-58s %6d ms\n' "${one//_/ }" "$took"
        [ "$took" -le "$worst" ] || worst=$took
        done_right=$((done_right + 1))
    elif [ $status -eq 77 ]; then
        printf '%-58s skipped: %s\n' "${one//_/ }" "$why"
    else
        printf '%-58s FAILED\n' "${one//_/ }"
        head -n 20 "$folder/errors" "$folder"/rank* | cut -c 1-600
        failed=$((failed + 1))
    fi
    remove_hosts
done
echo "$done_right of ${#traps[@]} traps passed by, $failed failed; the slowest meeting took $worst ms"
[ $failed -eq 0 ]
