#!/bin/bash
# How soon do the ranks of four hosts go on, when one of them is killed, and when all of a host are?
# recovery_on_hosts.sh BUILD [OPTION...], options of tests/bench/recovery: hosts are network
# namespaces on one wire, 16 ranks on each. Prints a table. Exits with 77 where there are none.
. "$(dirname "$0")/hosts.sh"
build=$1
shift

need_hosts
wire wire
names=
for one in 0 1 2 3; do
    host $one
    plug $one eth0 wire 10.79.0.$((one + 1))/24
    names+=${names:+,}$run$one
done
"$(dirname "$0")/../bench/recovery" -d "$build" --without-pytorch --hosts "$names" --ranks 64 \
    --killed 1,16 --backends any "$@"
