#!/bin/sh
# Do the others go on, end or start again when a rank fails, as --on-failure says?
# on_failure_test.sh TUTTIRUN CASE SURVIVOR
. "$(dirname "$0")/launch.sh"
survivor=$3

case_the_death_of_rank_0_leaves_the_others_to_end_the_job_well() {
    launch --nproc-per-node 4 --on-failure=shrink "$survivor" 0
    expect_code 0
    expect_line err '^tuttirun: rank 0 \(pid [0-9]+\) was killed by signal 9 \(SIGKILL\): '
    expect_line err '^tuttirun: first failure: rank 0 .* was killed by signal 9 \(SIGKILL\) at '
    expect_line err '^tuttirun: 3 of 4 ranks ended with exit code 0$'
    for rank in 1 2 3; do expect_line out "^\[rank $rank\] 3 ranks are left\$"; done
}

case_one_after_the_other_dies_until_one_is_left() {
    launch --nproc-per-node 4 --on-failure shrink "$survivor" 2 0 3
    expect_code 0
    expect_line err '^tuttirun: first failure: rank 2 .* was killed by signal 9 \(SIGKILL\) at '
    expect_line err '^tuttirun: later failure: rank 0 .* was killed by signal 9 \(SIGKILL\) at '
    expect_line err '^tuttirun: later failure: rank 3 .* was killed by signal 9 \(SIGKILL\) at '
    expect_line out '^\[rank 1\] 1 ranks are left$'
    for rank in 0 2 3; do
        count=$(grep -c "^tuttirun: rank $rank .* was killed by" "$folder/err")
        [ "$count" -eq 1 ] || fail "the death of rank $rank is said $count times"
    done
}

# The store is the launcher's, so that it does not end with rank 0.
case_those_that_are_left_meet_at_the_store_again() {
    launch --nproc-per-node 4 --on-failure=shrink "$survivor" 0 again 1 again
    expect_code 0
    for rank in 2 3; do expect_line out "^\[rank $rank\] 2 ranks are left\$"; done
}

case_nobody_is_left() {
    launch --nproc-per-node 3 --on-failure=shrink "$survivor" 1 0 2
    expect_code 137
    expect_line err '^tuttirun: first failure: rank 1 '
    expect_line err '^tuttirun: 0 of 3 ranks ended with exit code 0$'
}

case_a_death_ends_the_others_unless_they_are_to_go_on() {
    for policy in '' --on-failure=restart --on-failure=kill; do
        launch --nproc-per-node 3 $policy sh -c '
            [ "$RANK" != 1 ] || kill -9 $$; exec tail -f /dev/null'
        expect_code 137
        expect_line err '^tuttirun: first failure: rank 1 .* was killed by signal 9 \(SIGKILL\) at '
        expect_no_line err 'go on|later failure|exit code 0'
    done
}

case_kill_restarts_nothing() {
    launch --nproc-per-node 2 --max-restarts 3 --on-failure=kill sh -c '
        echo "of $TORCHELASTIC_MAX_RESTARTS"; [ "$RANK" != 1 ] || exit 4; exec tail -f /dev/null'
    expect_code 4
    expect_no_line err again
    expect_line out '^\[rank 0\] of 0$'
}

case_when_nobody_is_left_all_start_again() {
    launch --nproc-per-node 2 --max-restarts 2 --on-failure=shrink sh -c '
        echo "attempt $TORCHELASTIC_RESTART_COUNT"
        [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 5
        exit "$RANK"'
    expect_code 0
    expect_line err '^tuttirun: starting all ranks again, restart 1 of 2$'
    expect_no_line err 'restart 2 of 2'
    expect_line out '^\[rank 1\] attempt 1$'
    expect_line err '^tuttirun: 1 of 2 ranks ended with exit code 0$'
}

# Rank 2 fails when rank 1 has, and is one more that failed.
case_a_rank_that_does_not_go_on_is_one_more_failure() {
    mkfifo "$folder/fifo.0" "$folder/fifo.2"
    launch --nproc-per-node 3 --on-failure=shrink sh -c '
        if [ "$RANK" = 1 ]; then
            exec 4>"$folder/fifo.0" 5>"$folder/fifo.2"
            printf "{\"message\": \"it was full\"}" >"$TORCHELASTIC_ERROR_FILE"
            kill -9 $$
        fi
        cat "$folder/fifo.$RANK"
        [ "$RANK" = 0 ] || { echo "and so do I" >&2; exit 7; }'
    expect_code 0
    expect_line err '^tuttirun: first failure: rank 1 .* was killed by signal 9 \(SIGKILL\) at '
    expect_line err '^tuttirun:     it was full$'
    expect_line err '^tuttirun: later failure: rank 2 .* exited with code 7 at '
    expect_line err '^tuttirun: 1 of 3 ranks ended with exit code 0$'
}

case_a_failure_is_said_when_it_happens() {
    mkfifo "$folder/word"
    launch_in_background --nproc-per-node 2 --on-failure=shrink sh -c '
        [ "$RANK" = 0 ] || exit 8
        cat "$folder/word"'
    wait_for_lines 'tuttirun: 1 of 2 ranks of this node go on' 1
    echo end >"$folder/word"
    finish
    expect_code 0
    expect_line out '^tuttirun: first failure: rank 1 .* exited with code 8 at '
}

case_a_rank_that_fails_before_all_have_met_is_not_waited_for() {
    export survivor
    launch --nproc-per-node 3 --on-failure=shrink sh -c '
        [ "$RANK" != 1 ] || exit 3; exec "$survivor"'
    expect_code 3
    expect_line err 'rank 1 has ended, before all had met'
    expect_line err '^tuttirun: 0 of 3 ranks ended with exit code 0$'
}

case_a_signal_ends_all_whatever_follows_from_failures() {
    for signal in TERM:143 INT:130; do
        rm -f "$folder/both"
        launch_in_background --nproc-per-node 3 --on-failure=shrink --max-restarts 3 sh -c '
            [ "$RANK" != 1 ] || exit 4
            trap "exit 1" TERM INT; echo ready; tail -f /dev/null & wait'
        wait_for_lines 'tuttirun: 2 of 3 ranks of this node go on' 1
        kill -s "${signal%:*}" "$launcher"
        finish
        expect_code "${signal#*:}"
        expect_line out '^tuttirun: first failure: rank 1 .* exited with code 4 at '
        expect_no_line out again
    done
}

case_a_program_that_cannot_be_run_is_no_failure_to_go_on_after() {
    launch --nproc-per-node 2 --on-failure=shrink no_such_program_of_tutti
    expect_code 127
}

case_a_failure_leaves_the_other_nodes_alone() {
    start_two_nodes --nproc-per-node 2 --on-failure=shrink "$survivor" 2 0
    for node in 0 1; do
        finish_node $node 0
        expect_line out.$node '^tuttirun: .* failure: rank 2 .local rank 0, pid .* on node 1 '
        expect_line out.$node '^tuttirun: .* failure: rank 0 .local rank 0, pid .* on node 0 '
        expect_line out.$node '^tuttirun: 2 of 4 ranks ended with exit code 0$'
    done
    expect_line out.0 '^\[rank 1\] 2 ranks are left$'
    expect_line out.1 '^\[rank 3\] 2 ranks are left$'
}

case_one_node_fails_as_a_whole_and_the_job_has_not() {
    start_two_nodes --nproc-per-node 2 --on-failure=shrink sh -c 'exit "$GROUP_RANK"'
    for node in 0 1; do
        finish_node $node 0
        expect_line out.$node '^tuttirun: 2 of 4 ranks ended with exit code 0$'
    done
}

# The kernel and the guard end its ranks.
case_the_end_of_another_nodes_tuttirun_leaves_this_one_alone() {
    start_two_nodes --nproc-per-node 2 --on-failure=shrink \
        --rdzv-conf keep_alive_interval=1,keep_alive_max_attempt=6 "$survivor" -
    wait_for_line 1 ready
    wait_for_line 0 ready
    kill -s KILL "$launcher_1"
    finish_node 0 0
    expect_line out.0 '^tuttirun: node 1 .* gave no sign of life for 6 s; the others go on$'
    expect_line out.0 '^tuttirun: first failure: node 1 .* gave no sign of life for 6 s$'
    expect_line out.0 '^tuttirun: 2 of 4 ranks ended with exit code 0$'
    expect_line out.0 '^\[rank 1\] 2 ranks are left$'
    finish_node 1 137
}

# The node that serves the store: the others go on without either.
case_the_end_of_the_stores_tuttirun_leaves_the_other_node_alone() {
    start_two_nodes --nproc-per-node 2 --on-failure=shrink "$survivor" -
    wait_for_line 0 ready
    wait_for_line 1 ready
    kill -s KILL "$launcher_0"
    finish_node 1 0
    expect_line out.1 '^tuttirun: lost the other nodes: '
    expect_line out.1 '^tuttirun: 2 of 2 ranks of this node ended with exit code 0$'
    expect_line out.1 '^\[rank 3\] 2 ranks are left$'
    finish_node 0 137
}

case_a_node_that_is_silent_for_a_while_is_one_of_them_again() {
    for node in 0 1; do mkfifo "$folder/word.$node"; done
    start_two_nodes --on-failure=shrink \
        --rdzv-conf keep_alive_interval=1,keep_alive_max_attempt=3 sh -c '
        echo ready; cat "$folder/word.$RANK"'
    wait_for_line 1 ready
    kill -s STOP "$launcher_1"
    wait_for_line 0 'gave no sign of life for 3 s; the others go on'
    kill -s CONT "$launcher_1"
    wait_for_line 0 'is there again'
    for node in 0 1; do echo end >"$folder/word.$node"; done
    for node in 0 1; do
        finish_node $node 0
        expect_no_line out.$node failure
    done
}

case_nodes_disagree_about_failures() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 --on-failure=shrink true
    wait_for_line 0 'the nodes meet at '
    start_node 1 --nnodes 2 --node-rank 1 --master-port "${line##*:}" true
    finish_node 0 1
    expect_line out.0 'node 1 .* was started with --on-failure restart or kill, this one with shrink$'
    finish_node 1 1
}

"$2"
