#!/bin/sh
# Is the limit that ends a job named, to all ranks that it ends? And does a job leave nothing where
# nobody looks after it? limits_test.sh TUTTIRUN CASE TOGETHER
. "$(dirname "$0")/launch.sh"

together=$3
skipped=77

skip() {
    echo "skipped: $1"
    exit $skipped
}

# make_control_group what file...: a control group, of version 1 or 2, with one of the files, which
# limits `what`. In $group and $limit.
make_control_group() {
    [ "$(id -u)" -eq 0 ] || skip 'control groups need root'
    what=$1
    shift
    for above in /sys/fs/cgroup/pids /sys/fs/cgroup/memory /sys/fs/cgroup; do
        group=$above/tutti-limits-$$
        mkdir "$group" 2>/dev/null || continue
        trap 'rmdir "$group"; rm -rf "$folder"' EXIT
        for limit in "$@"; do
            [ ! -f "$group/$limit" ] || return 0
        done
        rmdir "$group"
        trap 'rm -rf "$folder"' EXIT
    done
    skip "there is no control group that limits $what"
}

# in_control_group command...: its output in out.
in_control_group() {
    code=0
    (
        sh -c 'echo $PPID' >"$group/cgroup.procs"
        exec "$@"
    ) >"$folder/out" 2>&1 </dev/null || code=$?
    leave_control_group
}

# All that was in the group has ended, or soon will.
leave_control_group() {
    while [ -s "$group/cgroup.procs" ]; do :; done
}

case_a_control_group_s_limit_of_processes_is_named() {
    make_control_group processes pids.max
    for most in 2 4 8 12 64; do
        echo $most >"$group/$limit"
        in_control_group "$tuttirun" --nproc-per-node 4 "$together" tcp
        if [ $most -eq 64 ]; then
            expect_code 0
        else
            [ "$code" -ne 0 ] || fail "a job of 4 ranks in $most processes and threads"
            expect_line out "the control group $group may have $most processes and threads"
            expect_no_line out 'ulimit -u'
        fi
    done
}

# Each could have it alone. To use what is not there ends a process.
case_a_control_group_s_limit_of_memory_is_named() {
    make_control_group memory memory.max memory.limit_in_bytes
    echo $((256 << 20)) >"$group/$limit"
    export TOGETHER_BYTES
    for backend in shm tcp gloo hierarchy; do
        TOGETHER_BYTES=$((160 << 20))
        in_control_group "$tuttirun" --nproc-per-node 2 "$together" $backend
        expect_code 3
        expect_line out "the ranks of the control group $group \\($limit\\) want $((320 << 20)) bytes"
        TOGETHER_BYTES=$((16 << 20))
        in_control_group "$tuttirun" --nproc-per-node 2 "$together" $backend
        expect_code 0
    done
}

case_a_stack_that_does_not_fit_is_named() {
    code=0
    (
        # shellcheck disable=SC3045
        ulimit -s 274877906944 || exit $skipped # no address space is so large
        exec "$tuttirun" --nproc-per-node 2 "$together" tcp
    ) >"$folder/out" 2>&1 </dev/null || code=$?
    [ "$code" -ne $skipped ] || skip 'the limit of stacks cannot be raised'
    [ "$code" -ne 0 ] || skip 'threads have stacks of their own size here'
    expect_line out 'no room for its stack of [0-9]+ KiB \(ulimit -s\)'
    expect_no_line out 'ulimit -u'
}

# expect_all_told ranks: each that could not make the group names the limit.
expect_all_told() {
    rank=0
    while [ $rank -lt "$1" ]; do
        ! grep '^init: ' "$folder/out$rank" | grep -qv '(ulimit -n)' ||
            fail "rank $rank is not told (ulimit -n $most)"
        rank=$((rank + 1))
    done
}

# shellcheck disable=SC2016
limited='[ "$RANK" -ne 0 ] || ulimit -n $most; "$together" tcp >"$folder/out$RANK" 2>&1 && echo done >"$folder/out$RANK"'

# A rank that fails before the others have come may have nothing by which to tell them but the store,
# which may be its own.
case_too_few_descriptors_of_rank_0_are_told_to_all_that_come() {
    export together folder most
    MASTER_PORT=$(hold_port)
    export MASTER_PORT MASTER_ADDR=127.0.0.1 WORLD_SIZE=3
    for most in 16 20 24 28 32 36; do
        for RANK in 2 1 0; do
            export RANK
            sh -c "$limited" 2>/dev/null &
        done
        wait
        expect_all_told 3
    done
}

# The store is the launcher's, the coordinator rank 0's.
case_too_few_descriptors_of_the_coordinator_are_told_to_all_that_wait() {
    export together folder most
    for most in 18 20 22 24 26 28 30 32 34 36; do
        launch --nproc-per-node 6 sh -c "$limited; exit 0"
        expect_code 0
        expect_all_told 6
    done
}

# The first process of many containers waits for one child, and takes no other.
# shellcheck disable=SC2016
case_nothing_is_left_where_nobody_reaps() {
    command -v python3 >/dev/null || skip 'there is no python3'
    unshare -pfm --mount-proc true 2>/dev/null || skip 'no process namespaces here'
    export tuttirun together
    unshare -pfm --mount-proc python3 -c '
import os, sys
child = os.fork()
if child == 0: os.execvp("sh", ["sh", "-c", sys.argv[1]])
os.waitpid(child, 0)
for process in os.listdir("/proc"):
    if process.isdigit() and process != "1":
        print("left: " + open("/proc/" + process + "/stat").read())' '
        "$tuttirun" --nproc-per-node 2 true
        "$tuttirun" --nproc-per-node 2 sh -c "exit 3"
        "$tuttirun" --nproc-per-node 2 sh -c "true & exit 0"
        "$together" spawn -
        mkfifo "$folder/lines"
        "$tuttirun" --nproc-per-node 2 sh -c "echo here; exec tail -f /dev/null" >"$folder/lines" &
        read -r line <"$folder/lines"
        kill -TERM $!
        wait $!' >"$folder/out" 2>"$folder/err" </dev/null
    expect_no_line out left:
}

"$2"
