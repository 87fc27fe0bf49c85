#!/bin/sh
# Do several ranks compute the same heat as 1? heat_test.sh TUTTIRUN HEAT RANKS...
set -eu
tuttirun=$1 heat=$2
shift 2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for ranks in 1 "$@"; do
    "$tuttirun" --nproc-per-node "$ranks" "$heat" >"$folder/out.$ranks"
    [ "$(grep -c 'warmest cell of the far half [1-9]' "$folder/out.$ranks")" -eq 4 ] || {
        echo "$ranks ranks did not print four warm cells:"
        cat "$folder/out.$ranks"
        exit 1
    }
    diff "$folder/out.1" "$folder/out.$ranks" || {
        echo "1 and $ranks ranks compute different heat"
        exit 1
    }
done
