#!/bin/bash
# Do ranks meet where only some ports are open, and learn quickly where they are not? ports_test.sh
# MEET: two ranks on each of two hosts that let in nobody but at MASTER_PORT and a range. Exits with
# 77 where there are no namespaces or no nft.
. "$(dirname "$0")/hosts.sh"

need_hosts
command -v nft >/dev/null || skip 'there is no nft (nftables)'
wire wire
for one in 0 1; do
    host $one
    plug $one eth0 wire 10.77.0.$((one + 1))/24
    on $one nft -f - 2>"$folder/why" <<'END' || skip "nft refuses the rules: $(head -n 1 "$folder/why")"
table inet host {
    set open { type inet_service; flags interval; elements = { 29500 } }
    chain refuse { reject with icmpx admin-prohibited; }
    chain input {
        type filter hook input priority 0; policy accept;
        iif lo accept
        ct state established,related accept
        tcp dport @open accept
        meta l4proto tcp jump refuse
    }
}
END
done
variables=(MASTER_ADDR=10.77.0.1 TORCHELASTIC_USE_AGENT_STORE=False)

# others ANSWER: what happens to callers at other ports.
others() {
    for one in 0 1; do on $one nft "flush chain inet host refuse; add rule inet host refuse $1"; done
}

# open PORTS: beside MASTER_PORT.
open() {
    for one in 0 1; do on $one nft "flush set inet host open; add element inet host open { 29500, $1 }"; done
}

# all [VARIABLE=VALUE...]: four ranks.
all() {
    for rank in 0 1 2 3; do start $((rank / 2)) $rank "$@"; done
}

# fail WHAT PATTERN: every rank that was started fails, and one says so.
fail() {
    local pid bad=0
    for pid in "${pids[@]}"; do wait "$pid" && bad=1; done
    pids=()
    grep -Eqh "$2" "$folder"/rank? || bad=1
    for rank in "$folder"/rank?; do grep -Eq "^TUTTI_ERR_[A-Z_]+: ." "$rank" || bad=1; done
    [ $bad -eq 0 ] || { echo "FAILED: $1"; cat "$folder"/rank?; exit 1; }
    echo "$1: $(grep -Eh "$2" "$folder"/rank? | head -n 1)"
    rm "$folder"/rank?
}

open 30000-30009
for answer in 'reject with icmpx admin-prohibited' 'reject with tcp reset' drop; do
    others "$answer"
    all TUTTI_PORT_RANGE=30000-30009
    meet || { echo "FAILED: with a range, and \"$answer\" beside it"; cat "$folder"/rank?; exit 1; }
    rm "$folder"/rank?
done
echo 'ranks meet in a range'

# Without the variable the group's half an hour would pass.
for answer in 'reject with icmpx admin-prohibited' 'reject with tcp reset'; do
    others "$answer"
    for rank in 0 1; do start $rank $rank WORLD_SIZE=2; done
    fail "other ports are closed" '^TUTTI_ERR_.*cannot reach rank 0: connecting to 10\.77\.0\.1:[0-9]+: .*(EHOSTUNREACH|ECONNREFUSED)'
done

# Rank 0 takes the first port, for control; data go to others.
others 'reject with tcp reset'
open 30000
all TUTTI_PORT_RANGE=30000-30009
fail 'the ports for data are closed' 'rank [0-3] cannot connect to rank [0-3]: connecting to 10\.77\.0\.[12]:300[0-9]+.*ECONNREFUSED'

for rank in 0 1; do start 0 $rank WORLD_SIZE=2 TUTTI_PORT_RANGE=30000; done
fail 'a range of one port' '^TUTTI_ERR_NETWORK: .*port 30000 of TUTTI_PORT_RANGE is in use'
start 0 0 TUTTI_PORT_RANGE=30009-30000
fail 'a malformed range' '^TUTTI_ERR_INVALID_ARGUMENT: .*TUTTI_PORT_RANGE is "30009-30000"'
