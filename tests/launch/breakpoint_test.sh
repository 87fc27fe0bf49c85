#!/bin/sh
# Does a rank stop in a debugger while the others wait, and is it taken for dead only if it is?
# breakpoint_test.sh TUTTIRUN CASE WORKER
. "$(dirname "$0")/launch.sh"
worker=$3

# Other tests run without a limit of silence; here a rank that is stopped must be missed.
export TUTTI_HEARTBEAT_TIMEOUT_MS=1000

# Leaks cannot be looked for in a debugger.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"

command -v gdb >/dev/null || {
    echo 'skipped: there is no gdb' >&2
    exit 77
}
gdb -batch -ex run --args true >"$folder/gdb" 2>&1 || true
grep -q 'exited normally' "$folder/gdb" || {
    echo 'skipped: no process may be traced here' >&2
    exit 77
}

# The limit of silence passes twice, for a rank that is stopped without a debugger.
cat >"$folder/silence" <<END
#!/bin/sh
for turn in 1 2; do
    "$tuttirun" --nproc-per-node 2 "$worker" silence >"$folder/witness" 2>&1
    grep -q 'rank 1 has not answered for 1000 ms' "$folder/witness" || {
        echo 'nobody was missed'
        kill "\$1"
    }
done
END
chmod +x "$folder/silence"

# debug PID command...: gdb with these commands.
debug() {
    process=$1
    shift
    for command; do
        set -- "$@" -ex "$command"
        shift
    done
    gdb -batch -p "$process" "$@" >"$folder/out.gdb" 2>"$folder/err.gdb" </dev/null
}

# await_breakpoint: the process of the rank that waits lands in $stopping.
await_breakpoint() {
    wait_for_lines ' this rank waits for a debugger on host ' 1
    stopping=${line##*gdb -p }
    stopping=${stopping%% *}
}

# process_of RANK JOB: of a rank that has namespaces of its own.
process_of() {
    for one in /proc/[0-9]*; do
        [ "$(readlink "$one/exe")" = "$worker" ] || continue
        tr '\0' '\n' <"$one/environ" >"$folder/environ" 2>/dev/null || continue
        grep -qx "RANK=$1" "$folder/environ" || continue
        grep -qx "TORCHELASTIC_RUN_ID=$2" "$folder/environ" || continue
        echo "${one#/proc/}"
        return
    done
    fail "there is no process of rank $1"
}

expect_stop() {
    expect_line out.gdb 'received signal SIGTRAP'
    expect_line out.gdb '^#[0-9]+ .* where_the_user_stops '
}

stop_and_go_on() { # ranks rank command
    launch_in_background --nproc-per-node "$1" "$worker" "$2"
    await_breakpoint
    debug "$stopping" continue bt "shell $folder/silence $launcher" "$3"
    finish
    expect_stop
    expect_code 0
    rank=0
    while [ "$rank" -lt "$1" ]; do
        expect_line out "rank $rank is done\$"
        rank=$((rank + 1))
    done
}

case_the_only_rank_stops_and_goes_on() { stop_and_go_on 1 0 continue; }
case_rank_0_of_two_stops_and_goes_on() { stop_and_go_on 2 0 continue; }
case_rank_1_of_two_stops_and_goes_on() { stop_and_go_on 2 1 detach; }
case_rank_0_of_four_stops_and_goes_on() { stop_and_go_on 4 0 detach; }
case_rank_1_of_four_stops_and_goes_on() { stop_and_go_on 4 1 continue; }

# Nobody watches the others through the kernel: all ping, as between hosts.
stop_among_strangers() {
    unshare --pid --fork true 2>/dev/null || {
        echo 'skipped: there can be no namespace of process numbers' >&2
        exit 77
    }
    launch_in_background --nproc-per-node 3 --rdzv-id "$$" unshare --pid --fork --kill-child \
        "$worker" "$1"
    await_breakpoint
    stopping=$(process_of "$1" "$$")
    debug "$stopping" continue bt "shell $folder/silence $launcher" detach
    finish
    expect_stop
    expect_code 0
}
case_rank_0_of_three_that_ping_stops_and_goes_on() { stop_among_strangers 0; }
case_rank_1_of_three_that_ping_stops_and_goes_on() { stop_among_strangers 1; }

stop_and_die() {
    launch_in_background --nproc-per-node 3 --on-failure shrink "$worker" "$1"
    await_breakpoint
    debug "$stopping" continue bt "shell $folder/silence $launcher" "shell kill -9 $stopping"
    finish
    expect_stop
    for rank in 0 1 2; do
        [ "$rank" -eq "$1" ] || expect_line out \
            "rank $rank\] breakpoint: .*PEER_LOST: breakpoint #[0-9]+ .*: rank $1 died"
    done
}
case_rank_0_is_named_if_it_is_killed_while_it_stops() { stop_and_die 0; }
case_rank_1_is_named_if_it_is_killed_while_it_stops() { stop_and_die 1; }

# Rank 1 has to coordinate from then on: be it the one that stops, or does it wait for that one, for
# longer than for others.
stop_while_rank_0_dies() {
    launch_in_background --nproc-per-node 4 --rdzv-id "$$" --on-failure shrink "$worker" "$1"
    await_breakpoint
    victim=$(process_of 0 "$$")
    debug "$stopping" continue bt "shell kill -9 $victim" "shell $folder/silence $launcher" \
        "shell $folder/silence $launcher" "shell $folder/silence $launcher" detach
    finish
    expect_stop
    for rank in 1 2 3; do
        expect_line out "rank $rank\] breakpoint: .*PEER_LOST: breakpoint #[0-9]+ .*: rank 0 died"
    done
    expect_no_line out 'rank [123] (died|has not)'
}
case_rank_1_stops_while_rank_0_dies() { stop_while_rank_0_dies 1; }
case_rank_2_stops_while_rank_0_dies() { stop_while_rank_0_dies 2; }

# Three ranks that add up until end_sums.
start_sums() {
    mkfifo "$folder/in"
    exec 7<>"$folder/in"
    mkfifo "$folder/both"
    "$tuttirun" --nproc-per-node 3 "$@" "$worker" - >"$folder/both" 2>&1 <"$folder/in" &
    launcher=$!
    exec 3<"$folder/both"
}

end_sums() {
    echo over >&7
    finish
    expect_code 0
}

# No rank expects a debugger.
attach_and_go_on() {
    start_sums
    wait_for_lines "rank $1 is process " 1
    debug "${line##* }" "shell $folder/silence $launcher" bt detach
    end_sums
    expect_line out.gdb '^#[0-9]+ .* main '
}
case_rank_0_is_held_by_a_debugger_that_comes_by_itself() { attach_and_go_on 0; }
case_rank_1_is_held_by_a_debugger_that_comes_by_itself() { attach_and_go_on 1; }
case_rank_2_is_held_by_a_debugger_that_comes_by_itself() { attach_and_go_on 2; }

# inspect arguments...: tuttirun with a job that another one runs; its exit code lands in $code.
inspect() {
    code=0
    "$tuttirun" "$@" >"$folder/out.job" 2>"$folder/err.job" </dev/null || code=$?
}

case_tuttirun_attaches_gdb_to_a_rank() {
    start_sums
    wait_for_lines ' is process ' 3
    inspect --attach 2 --job "$launcher" -- -batch -ex "shell $folder/silence $launcher" -ex bt
    expect_code 0
    expect_line err.job '^tuttirun: gdb on rank 2, host .*, process [0-9]+$'
    expect_line out.job '^#[0-9]+ .* main '
    end_sums
}

case_tuttirun_attaches_gdb_to_a_program_below_a_script() {
    start_sums --no-python sh -c '"$0" "$@"; exit $?'
    wait_for_lines 'rank 1 is process ' 1
    inspect --attach 1 --job "$launcher" -- -batch -ex bt
    expect_code 0
    expect_line err.job "^tuttirun: gdb on rank 1, host .*, process ${line##* }\$"
    end_sums
}

case_the_stacks_of_the_ranks_are_shown() {
    start_sums
    wait_for_lines ' is process ' 3
    inspect --stacks --job "$launcher"
    expect_code 0
    for rank in 0 1 2; do expect_line out.job "^rank $rank, host .*, process [0-9]+:\$"; done
    [ "$(grep -Ec '^#[0-9]+ .* main\>' "$folder/out.job")" -eq 3 ] || fail 'not three have main'
    inspect --stacks --job "$launcher" 1
    expect_code 0
    expect_line out.job '^rank 1, '
    expect_no_line out.job '^rank [02], '
    PATH=/nowhere inspect --stacks --job "$launcher" 1
    expect_code 1
    expect_line err.job '^tuttirun: stacks need eu-stack, of the package elfutils, or gdb; '
    end_sums
}

case_what_cannot_be_inspected_is_named() {
    start_sums
    wait_for_lines ' is process ' 3
    inspect --attach 3 --job "$launcher"
    expect_code 1
    expect_line err.job \
        'rank 3 does not run on this host; of the job of process [0-9]+ these do: 0, 1, 2$'
    inspect --stacks --job "$$"
    expect_code 1
    expect_line err.job "process $$ is no tuttirun of this user with living ranks\$"
    inspect --stacks --job "$launcher" first
    expect_code 2
    expect_line err.job 'a rank of --stacks is "first"'
    inspect --job "$launcher" true
    expect_code 2
    expect_line err.job '^tuttirun: --job is for --attach and --stacks$'
    "$tuttirun" "$worker" 0 >"$folder/another" 2>&1 &
    another=$!
    while inspect --stacks 9 && ! grep -q "$another (ranks 0)" "$folder/err.job"; do
        kill -0 "$another" || fail 'the other job has ended'
    done
    expect_line err.job 'several jobs run, name one by the process of its tuttirun with --job: '
    expect_line err.job "$launcher \\(ranks 0, 1, 2\\)"
    kill "$another"
    end_sums
}

"$2"
