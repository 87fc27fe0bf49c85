#!/bin/sh
# Do 1 rank and several reach the same model, to rounding, and does it recognise digits?
# train_digits_test.sh TUTTIRUN TRAIN_DIGITS RANKS...
set -eu
tuttirun=$1 train_digits=$2
shift 2

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

fail() {
    echo "$1" >&2
    exit 1
}

for ranks in 1 "$@"; do
    "$tuttirun" --nproc-per-node "$ranks" "$train_digits" --save "$folder/model.$ranks" \
        >"$folder/out.$ranks"
    echo "$ranks ranks:"
    tail -n 2 "$folder/out.$ranks"
    awk '/\] test accuracy:/ { found = 1; good = $5 > 95 } END { exit !(found && good) }' \
        "$folder/out.$ranks" || fail "$ranks ranks: the test accuracy is not above 95 %"
done

[ "$(wc -l <"$folder/model.1")" -eq 4810 ] || fail "the model has not 64*65 + 10*65 weights"
for ranks in "$@"; do
    paste "$folder/model.1" "$folder/model.$ranks" | awk -v ranks="$ranks" '
        function size(x) { return x < 0 ? -x : x }
        NF != 2 { bad = 1 }
        { difference = size($1 - $2); if (difference > largest) largest = difference }
        difference > 1e-9 * size($1) + 1e-12 { bad = 1 }
        END { print "1 and " ranks " ranks: weights differ by " largest " at most"; exit bad }' ||
        fail "1 and $ranks ranks reach different models"
done
