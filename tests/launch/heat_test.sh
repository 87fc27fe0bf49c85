#!/bin/sh
# Do any number of ranks compute the same heat? heat_test.sh TUTTIRUN HEAT
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

for ranks in 1 2 3 7; do
    "$1" --nproc-per-node "$ranks" "$2" >"$folder/out.$ranks"
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
