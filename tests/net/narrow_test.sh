#!/bin/bash
# Do calls over tcp end well where the kernel takes only a part of what a rank sends at once?
# narrow_test.sh TUTTIRUN BENCH. Exits with 77 where there are no network namespaces.
set -uo pipefail
if ! unshare --net true 2>/dev/null; then
    echo "skipped: no network namespaces here (unshare --net)"
    exit 77
fi
for most in 65536 32768; do
    # shellcheck disable=SC2016
    unshare --net sh -c 'ip link set lo up && echo "4096 16384 $0" >/proc/sys/net/ipv4/tcp_wmem && exec "$@"' "$most" \
        "$1" --standalone --nproc-per-node 3 "$2" --backend tcp --iterations 5 --sizes 1024,5000,60000,65536 \
        --op broadcast,reduce,gather,scatter,all_reduce >/dev/null ||
        { echo "FAILED: with send buffers of $most bytes"; exit 1; }
    echo "send buffers of $most bytes: right"
done
