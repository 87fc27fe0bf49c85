#!/bin/sh
# Does a job run where the system refuses calls, as an old kernel or a container's filter does, and
# is what it cannot do without named? refusals_test.sh TUTTIRUN CASE TOGETHER FORBID BACKEND...
. "$(dirname "$0")/launch.sh"

together=$3
forbid=$4
case=$2
shift 4
backends=$*

# For these there is no second way: see the cases below.
needed='clone3|eventfd2|signalfd4'

# run errno calls program...: the output is a pipe, whose end is the end of all that hold it.
run() {
    code=0
    errno=$1 calls=$2
    shift 2
    { "$forbid" "$errno" "$calls" "$@" 2>&1 </dev/null || echo "ended with $?"; } |
        cat >"$folder/out"
    ! grep -q '^ended with 77$' "$folder/out" || {
        cat "$folder/out"
        exit 77
    }
    code=$(sed -n 's/^ended with //p' "$folder/out")
    code=${code:-0}
}

# shellcheck disable=SC2086
run_all() {
    run "$1" "$2" "$tuttirun" --nproc-per-node 3 "$together" $backends
    [ "$code" -eq 0 ] || fail "a job without $2 ($1)"
}

# shellcheck disable=SC2086
run_spawning() {
    run "$1" "$2" "$together" spawn $backends
    [ "$code" -eq 0 ] || fail "tutti_spawn without $2 ($1)"
}

refuse_each() {
    for calls in $("$forbid" calls | grep -Evx "$needed"); do run_all "$1" "$calls"; done
    run_all "$1" "$("$forbid" calls | grep -Evx "$needed" | paste -s -d ,)"
}

case_calls_that_a_filter_refuses_are_not_needed() {
    refuse_each EPERM
}

case_calls_that_an_old_kernel_lacks_are_not_needed() {
    refuse_each ENOSYS
    run_all ENOSYS clone3
}

case_processes_are_spawned_without_handles_for_them() {
    for errno in EPERM ENOSYS; do
        for calls in pidfd_open pidfd_send_signal pidfd_open,pidfd_send_signal; do
            run_spawning "$errno" "$calls"
        done
    done
}

# expect_named errno call
expect_named() {
    run "$1" "$2" "$tuttirun" --nproc-per-node 2 "$together" -
    [ "$code" -eq 1 ] || fail "exit code $code without $2 ($1)"
    expect_line out "^tuttirun: .* refuses .*$3.* \($1\)\$"
}

case_ranks_that_cannot_be_bound_are_named() {
    run EPERM sched_setaffinity "$tuttirun" --bind-to core true
    [ "$code" -eq 1 ] || fail "exit code $code without sched_setaffinity"
    expect_line out '^tuttirun: cannot bind a rank by sched_setaffinity to processor.*\(EPERM\)$'
    run ENOSYS sched_getaffinity "$tuttirun" --bind-to core true
    [ "$code" -eq 2 ] || fail "exit code $code without sched_getaffinity"
    expect_line out '^tuttirun: --bind-to: the system does not tell '
}

case_calls_that_a_job_cannot_do_without_are_named() {
    expect_named EPERM clone3 clone3
    for errno in EPERM ENOSYS; do
        expect_named "$errno" eventfd2 eventfd
        expect_named "$errno" signalfd4 signalfd
    done
}

"$case"
