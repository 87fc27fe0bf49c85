#!/bin/sh
# Do ranks run on the processors that --bind-to gives them? binding_test.sh TUTTIRUN CASE
. "$(dirname "$0")/launch.sh"

unset OMP_NUM_THREADS # which nproc would print
allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)

# A rank that tells its processors: "on LIST" and "count NUMBER".
tell=$folder/tell
cat >"$tell" <<'END'
sed -n 's/^Cpus_allowed_list:[[:space:]]*/on /p' /proc/self/status
echo "count $(env -u OMP_NUM_THREADS nproc)"
END

need_cores() {
    cores=$(for number in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g; s/-/../g'); do
        seq "${number%%.*}" "${number##*.}"
    done | while read -r processor; do
        cd "/sys/devices/system/cpu/cpu$processor/topology" 2>/dev/null || exit 0
        cat core_cpus_list 2>/dev/null || cat thread_siblings_list
    done | sort -u | wc -l)
    [ "$cores" -ge "$1" ] || {
        echo "there are no $1 cores"
        exit 77
    }
}

# Each rank has a line "on LIST", and no two have the same.
expect_all_apart() { # number of ranks
    [ "$(sed -n 's/.*on //p' "$folder/out" | sort -u | wc -l)" -eq "$1" ] || fail "some share"
    [ "$(grep -c '] on ' "$folder/out")" -eq "$1" ] || fail "more or fewer lines"
}

case_ranks_are_not_bound_unless_asked() {
    for option in '' '--bind-to none'; do
        # shellcheck disable=SC2086
        launch --nproc-per-node 2 $option sh "$tell"
        expect_code 0
        for rank in 0 1; do expect_line out "^\[rank $rank\] on $allowed\$"; done
    done
}

case_each_rank_has_cores_of_its_own() {
    need_cores 2
    launch --nproc-per-node 2 --bind-to core sh "$tell"
    expect_code 0
    expect_all_apart 2
    [ "$(awk '/count/ { sum += $NF } END { print sum }' "$folder/out")" -eq "$(nproc)" ] ||
        fail "not all processors are used"
}

case_a_single_rank_has_all_that_tuttirun_has() {
    launch --bind-to core sh "$tell"
    expect_line out "\] on $allowed\$"
    first=${allowed%%[-,]*}
    code=0
    taskset -c "$first" "$tuttirun" --bind-to core sh "$tell" >"$folder/out" 2>"$folder/err" ||
        code=$?
    expect_code 0
    expect_line out "\] on $first\$"
}

case_ranks_are_bound_again_after_a_restart() {
    need_cores 2
    export tell
    # shellcheck disable=SC2016
    launch --nproc-per-node 2 --max-restarts 1 --bind-to core sh -c '
        [ "$TORCHELASTIC_RESTART_COUNT" -eq 1 ] || exit 3
        . "$tell"'
    expect_code 0
    expect_all_apart 2
}

case_more_ranks_than_cores_are_refused() {
    code=0
    taskset -c "${allowed%%[-,]*}" "$tuttirun" --nproc-per-node 2 --bind-to core true \
        >"$folder/out" 2>"$folder/err" || code=$?
    expect_code 2
    expect_line err '^tuttirun: --bind-to core: 2 ranks on this node .* may use 1$'
}

# One node is as none.
case_ranks_of_a_numa_node_have_all_of_it() {
    nodes=$(cat /sys/devices/system/node/node*/cpulist 2>/dev/null | grep -c .) || true
    export PET_BIND_TO=numa
    launch --nproc-per-node 3 sh "$tell"
    expect_code 0
    if [ "$nodes" -le 1 ]; then
        for rank in 0 1 2; do expect_line out "^\[rank $rank\] on $allowed\$"; done
    fi
}

"$2"
