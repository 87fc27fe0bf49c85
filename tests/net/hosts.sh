# Hosts for the network tests, to be sourced by bash: each is a network namespace with files of its
# own under /etc, all named for this run alone and gone at its end. SCRIPT MEET.
set -euo pipefail

meet=$1
run=tutti-$$-$RANDOM-
folder=$(mktemp -d)
hosts=() pids=()

skip() {
    echo "skipped: $1"
    exit 77
}

remove_hosts() {
    local host
    for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || true; done
    pids=()
    for host in "${hosts[@]}"; do
        ip netns del "$run$host" 2>/dev/null || true
        rm -rf "/etc/netns/$run$host"
    done
    hosts=()
}

leave() {
    remove_hosts
    rm -rf "$folder"
}

on() { # HOST COMMAND...
    local host=$1
    shift
    ip netns exec "$run$host" "$@"
}

set_kernel() { # HOST NAME=VALUE...: of /proc/sys/net
    local host=$1 one
    shift
    for one in "$@"; do on "$host" sh -c "echo ${one#*=} >/proc/sys/net/${one%%=*}"; done
}

# A host with nothing but loopback and a hosts file that knows localhost alone.
host() { # HOST
    flock /run ip netns add "$run$1" # the first of all makes the folder that they share
    hosts+=("$1")
    mkdir -p "/etc/netns/$run$1"
    echo '127.0.0.1 localhost' >"/etc/netns/$run$1/hosts"
    : >"/etc/netns/$run$1/resolv.conf"
    set_kernel "$1" ipv4/ip_forward=0 ipv6/conf/default/accept_dad=0 ipv6/conf/all/accept_dad=0 \
        ipv4/conf/all/rp_filter=0 ipv4/conf/default/rp_filter=0
    on "$1" ip link set lo up
}

knows() { # HOST LINE...: more lines of its hosts file
    local host=$1
    shift
    printf '%s\n' "$@" >>"/etc/netns/$run$host/hosts"
}

# A wire is a host of its own, with a bridge. Nothing passes from one wire to another.
wire() { # WIRE [ADDRESS...]
    host "$1"
    on "$1" ip link add name bridge type bridge
    on "$1" ip link set bridge up
    give "$1" bridge "${@:2}"
}

give() { # HOST INTERFACE [ADDRESS/LENGTH...]
    local address
    for address in "${@:3}"; do on "$1" ip addr add "$address" dev "$2"; done
}

plug() { # HOST INTERFACE WIRE [ADDRESS/LENGTH...]
    on "$3" ip link add name "$1.$2" type veth peer name "$2" netns "$run$1"
    on "$3" ip link set "$1.$2" master bridge
    on "$3" ip link set "$1.$2" up
    give "$1" "$2" "${@:4}"
    on "$1" ip link set "$2" up
}

# More than a megabyte has passed: more than meeting takes, less than a big sum.
carried_megabytes() { # HOST INTERFACE
    local bytes=0 one
    for one in $(on "$1" cat /sys/class/net/"$2"/statistics/{tx,rx}_bytes); do
        bytes=$((bytes + one))
    done
    [ $bytes -gt 1000000 ]
}

method=env://
count=1
variables=() # of all ranks
through=()   # a command that runs each rank

# start HOST RANK [VARIABLE=VALUE...]. Nobody is to die here, however busy the machine is.
start() {
    local how=$method
    [ "$method" = env:// ] || how="$method?rank=$2&world_size=4"
    env -u TUTTI_SOCKET_IFNAME -u GLOO_SOCKET_IFNAME -u TUTTI_STORE_BIND \
        RANK="$2" WORLD_SIZE=4 MASTER_PORT=29500 TUTTI_HEARTBEAT_TIMEOUT_MS=30000 \
        "${variables[@]}" "${@:3}" \
        ip netns exec "$run$1" "${through[@]}" timeout -k 5 100 "$meet" "$how" "$count" \
        >"$folder/rank$2" 2>&1 </dev/null &
    pids+=($!)
}

# Waits for the ranks; false if one failed or has another sum.
meet() {
    local pid bad=0 rank
    for pid in "${pids[@]}"; do wait "$pid" || bad=1; done
    pids=()
    for rank in 0 1 2 3; do
        grep -Eq "^rank $rank of 4 over tcp: sum 10, [0-9]+ ms$" "$folder/rank$rank" || bad=1
    done
    return $bad
}

slowest() { sed -nE 's/^rank .*, ([0-9]+) ms$/\1/p' "$folder"/rank[0-3] | sort -n | tail -n 1; }

# Ends the script as skipped where there can be no hosts; from here on they go with it.
need_hosts() {
    [ "$(id -u)" -eq 0 ] || skip 'network namespaces need root'
    command -v ip >/dev/null || skip 'there is no ip (iproute2)'
    command -v flock >/dev/null || skip 'there is no flock (util-linux)'
    trap leave EXIT
    trap 'exit 130' INT TERM
    host probe 2>"$folder/why" || skip "no network namespaces: $(cat "$folder/why")"
    remove_hosts
}
