#!/bin/bash
# Do ranks share memory where they can, and only there? containers_test.sh MEET TUTTIRUN: two ranks
# on one host, with the same process numbers and with numbers of their own, as in containers, and
# a whole job that has no /proc. Exits with 77 where there are no namespaces.
set -uo pipefail
meet=$1 tuttirun=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! unshare --pid --fork true 2>/dev/null; then
    echo "skipped: no process namespaces here (unshare --pid --fork)"
    exit 77
fi
bad=0

# pair NAME BACKEND EXPECTED: what both ranks must print. Rank 1 is behind "$inside".
inside=()
pair() {
    local meeting="$folder/$1" rank
    for rank in 0 1; do
        local way=()
        [ "$rank" = 1 ] && way=("${inside[@]}")
        RANK=$rank WORLD_SIZE=2 "${way[@]}" "$meet" "file://$meeting?rank=$rank&world_size=2" 1 "$2" \
            >"$meeting.$rank" 2>&1 &
    done
    wait
    for rank in 0 1; do
        if grep -Eq "$3" "$meeting.$rank"; then
            echo "$1, rank $rank: $(cat "$meeting.$rank")"
        else
            echo "FAILED: $1, rank $rank says, instead of \"$3\": $(cat "$meeting.$rank")"
            bad=1
        fi
    done
}

pair side_by_side any '^rank [01] of 2 over shm: sum 3'
pair side_by_side_by_name shm '^rank [01] of 2 over shm: sum 3'
inside=(unshare --pid --fork)
pair in_containers any '^rank [01] of 2 over tcp: sum 3'
pair in_containers_by_name shm \
    'UNSUPPORTED: .*backend shm joins ranks of one host: rank 0 does not see the memory of rank 1: .*another container'

# In a chroot, / is no mount, so only that of /proc is made private.
# shellcheck disable=SC2016
said=$(unshare --mount --propagation unchanged \
    sh -c 'mount --make-private /proc && umount -l /proc && exec "$0" --standalone --nproc-per-node 2 "$@"' \
    "$tuttirun" "$meet" env:// 1 any 2>&1)
if [ "$(grep -c 'rank [01] of 2 over .*: sum 3' <<<"$said")" -eq 2 ]; then
    echo "without /proc: $said"
elif grep -q "Can't open /proc/.* for reading" <<<"$said"; then
    echo "skipped: without /proc a sanitizer cannot look for leaks"
else
    echo "FAILED: without /proc two ranks say: $said"
    bad=1
fi
exit $bad
