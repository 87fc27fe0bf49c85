#!/bin/sh
# Do 1 rank and several reach the same model, to rounding, and does it recognise digits? Does it also
# with gradients that are compressed, and with a backend for each type of device?
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

# A part of 360 images.
accuracy_in() {
    awk '/\] test accuracy:/ { print $5 }' "$1"
}
"$tuttirun" --nproc-per-node "$1" "$train_digits" --power-sgd 2 >"$folder/out.compressed"
echo "$1 ranks, PowerSGD:"
tail -n 2 "$folder/out.compressed"
echo "$(accuracy_in "$folder/out.1") $(accuracy_in "$folder/out.compressed")" |
    awk 'NF != 2 || $2 < $1 - 0.5 { exit 1 }' || fail "PowerSGD costs more than 0.5 % of accuracy"

"$tuttirun" --nproc-per-node "$1" "$train_digits" --backend cpu:shm,cuda:null >"$folder/out.map"
[ "$(accuracy_in "$folder/out.1")" = "$(accuracy_in "$folder/out.map")" ] ||
    fail "$1 ranks reach another accuracy with a device map"

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
