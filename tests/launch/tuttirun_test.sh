#!/bin/sh
# Does the launcher keep its word on one node? tuttirun_test.sh TUTTIRUN CASE
. "$(dirname "$0")/launch.sh"

case_every_rank_gets_the_environment_of_torchrun() {
    unset OMP_NUM_THREADS
    export RANK=stale KEPT=kept
    launch --nproc-per-node 3 env
    expect_code 0
    for setting in RANK=2 LOCAL_RANK=2 GROUP_RANK=0 ROLE_RANK=2 ROLE_NAME=default \
        LOCAL_WORLD_SIZE=3 WORLD_SIZE=3 GROUP_WORLD_SIZE=1 ROLE_WORLD_SIZE=3 \
        MASTER_ADDR=127.0.0.1 'MASTER_PORT=[1-9][0-9]*' TORCHELASTIC_RESTART_COUNT=0 \
        TORCHELASTIC_MAX_RESTARTS=0 'TORCHELASTIC_RUN_ID=.+' TORCHELASTIC_USE_AGENT_STORE=True \
        OMP_NUM_THREADS=1 KEPT=kept; do
        expect_line out "^\[rank 2\] $setting\$"
    done
    for rank in 0 1 2; do expect_line out "^\[rank $rank\] RANK=$rank\$"; done
    expect_no_line out stale
}

case_threads_of_openmp_are_left_to_a_single_rank_and_to_the_user() {
    unset OMP_NUM_THREADS
    launch env
    expect_no_line out OMP_NUM_THREADS
    export OMP_NUM_THREADS=7
    launch --nproc-per-node=2 env
    expect_line out '^\[rank 1\] OMP_NUM_THREADS=7$'
}

case_lines_carry_their_rank_and_keep_their_stream() {
    launch --nproc_per_node=2 sh -c 'echo one; echo two >&2; echo; printf "the rest"'
    expect_code 0
    for rank in 0 1; do
        expect_line out "^\[rank $rank\] one\$"
        expect_line err "^\[rank $rank\] two\$"
        expect_line out "^\[rank $rank\] \$"
        expect_line out "^\[rank $rank\] the rest\$"
    done
    [ "$(wc -l <"$folder/out")" -eq 6 ] || fail "more or fewer lines than were written"
    expect_no_line err one
}

case_long_lines_of_several_ranks_are_not_mixed() {
    launch --nproc-per-node 3 sh -c 'for i in 1 2 3 4 5; do
        head -c 300000 /dev/zero | tr "\0" "$RANK"; echo; done'
    expect_code 0
    for rank in 0 1 2; do
        whole=$(awk -v text="^\\\\[rank $rank\\\\] $rank+\$" \
            '$0 ~ text && length == 300009' "$folder/out" | wc -l)
        [ "$whole" -eq 5 ] || fail "$whole whole lines of rank $rank instead of 5"
    done
}

case_a_reader_that_leaves_ends_the_job() {
    launch_in_background --nproc-per-node 2 sh -c 'while echo more; do :; done'
    wait_for_lines more 3
    exec 3<&-
    code=0
    wait "$launcher" || code=$?
    expect_code 141
}

case_output_that_cannot_be_written_is_a_failure() {
    code=0
    "$tuttirun" echo lost >/dev/full 2>"$folder/err" || code=$?
    expect_code 1
    expect_line err '^tuttirun: cannot write to standard output: .* \(ENOSPC\)$'
    code=0
    "$tuttirun" sh -c 'echo lost; exit 3' >/dev/full 2>"$folder/err" || code=$?
    expect_code 3
    for option in --help --version; do
        code=0
        "$tuttirun" $option >/dev/full 2>"$folder/err" || code=$?
        expect_code 1
        expect_line err '^tuttirun: cannot write to standard output: .* \(ENOSPC\)$'
    done
}

# Nothing ends its line, and it waits to be read before it goes on.
case_a_question_is_seen_before_it_is_answered() {
    mkfifo "$folder/answer"
    launch_in_background --nproc-per-node 2 sh -c '
        if [ "$RANK" = 0 ]; then
            printf "\303\251t\303\251? "
            read -r answer <"$folder/answer"
            printf "%s\n" "$answer"
        fi'
    question='[rank 0] été? '
    [ "$(head -c 16 <&3)" = "$question" ] || fail "the question is not there"
    echo yes >"$folder/answer"
    finish
    expect_code 0
    [ "$(cat "$folder/out")" = yes ] || fail "not the answer alone: $(cat "$folder/out")"
}

# The output is not read; the ranks end well, and their output comes after that.
case_output_that_nobody_reads_is_a_failure() {
    mkfifo "$folder/word"
    for ignored in '' PIPE; do
        # A pipe of its own: the guard of the launcher before may still be about to close the other.
        mkfifo "$folder/both$ignored"
        (
            [ -z "$ignored" ] || trap '' "$ignored"
            exec "$tuttirun" sh -c 'read -r word <"$folder/word"; echo "$word"'
        ) >"$folder/both$ignored" 2>"$folder/err" &
        launcher=$!
        exec 3<"$folder/both$ignored"
        exec 3<&-
        echo lost >"$folder/word"
        code=0
        wait "$launcher" || code=$?
        expect_code 141
    done
    expect_line err '^tuttirun: cannot write to standard output: .* \(EPIPE\)$'
}

case_standard_input_goes_to_rank_0_alone() {
    echo words | "$tuttirun" --nproc-per-node 2 cat >"$folder/out"
    [ "$(cat "$folder/out")" = "[rank 0] words" ] || fail "not what was put in"
}

case_the_exit_code_of_the_failing_rank_is_passed_on() {
    launch --nproc-per-node 3 sh -c '[ "$RANK" != 1 ] || exit 3; exec tail -f /dev/null'
    expect_code 3
    expect_line err '^tuttirun: rank 1 \(pid [0-9]+\) exited with code 3: sh$'
    expect_no_line err 'rank [02]'
}

case_a_rank_killed_by_a_signal_is_named() {
    launch --nproc-per-node 4 sh -c '[ "$RANK" != 2 ] || kill -9 $$; exec tail -f /dev/null'
    expect_code 137
    expect_line err '^tuttirun: rank 2 \(pid [0-9]+\) was killed by signal 9 \(SIGKILL\): sh$'
    expect_no_line err 'rank [013]'
}

# The survivors notice the death of rank 2 by the end of a fifo that only it holds open.
case_the_rank_that_died_is_named_before_those_that_failed_because_of_it() {
    mkfifo "$folder/fifo.0" "$folder/fifo.1"
    launch --nproc-per-node 3 sh -c '
        if [ "$RANK" = 2 ]; then
            exec 4>"$folder/fifo.0" 5>"$folder/fifo.1"
            kill -9 $$
        fi
        cat "$folder/fifo.$RANK"
        exit 7'
    expect_code 137
    sed -n 1p "$folder/err" | grep -q '^tuttirun: rank 2 .* was killed by signal 9 (SIGKILL)' ||
        fail "rank 2 is not named first"
    expect_line err '^tuttirun: rank 0 \(pid [0-9]+\) exited with code 7 afterwards$'
    expect_line err '^tuttirun: rank 1 \(pid [0-9]+\) exited with code 7 afterwards$'
}

# end_while_the_launcher_is_stopped ending_of_rank_0 ending_of_rank_1: rank 1 ends first, then rank
# 0; the launcher, stopped meanwhile, finds both dead at one look.
end_while_the_launcher_is_stopped() {
    export ending_0="$1" ending_1="$2"
    mkfifo "$folder/end.0" "$folder/end.1"
    launch_in_background --nproc-per-node 2 sh -c '
        echo $$ >"$folder/pid.$RANK"
        echo ready
        read -r word <"$folder/end.$RANK"
        eval "eval \$ending_$RANK"'
    wait_for_lines ready 2
    kill -s STOP "$launcher"
    for rank in 1 0; do
        echo end >"$folder/end.$rank"
        until grep -q '^State:.*Z' "/proc/$(cat "$folder/pid.$rank")/status"; do :; done
    done
    kill -s CONT "$launcher"
    finish
}

case_of_ranks_found_dead_together_the_one_a_signal_killed_was_first() {
    end_while_the_launcher_is_stopped 'kill -9 $$' 'exit 7'
    expect_code 137
    expect_line out '^tuttirun: rank 0 \(pid [0-9]+\) was killed by signal 9 \(SIGKILL\): sh$'
    expect_line out '^tuttirun: rank 1 \(pid [0-9]+\) exited with code 7 afterwards$'
}

case_of_ranks_found_dead_together_the_one_that_ended_first_was_first() {
    end_while_the_launcher_is_stopped 'exit 8' 'exit 7'
    expect_code 7
    expect_line out '^tuttirun: rank 1 \(pid [0-9]+\) exited with code 7: sh$'
    expect_line out '^tuttirun: rank 0 \(pid [0-9]+\) exited with code 8 afterwards$'
}

case_a_rank_that_ignores_sigterm_is_killed() {
    mkfifo "$folder/deaf"
    launch --nproc-per-node 2 --shutdown-timeout 0 sh -c '
        if [ "$RANK" = 0 ]; then cat "$folder/deaf"; exit 4; fi
        trap "" TERM
        echo deaf >"$folder/deaf"
        exec tail -f /dev/null'
    expect_code 4
    expect_line err '^tuttirun: rank 1 \(pid [0-9]+\) had to be killed$'
}

# With the standard time from SIGTERM to SIGKILL: it is not needed, for the rank is set going.
case_a_stopped_rank_is_named_and_ended() {
    mkfifo "$folder/go"
    launch_in_background --nproc-per-node 2 --shutdown-timeout 3600 sh -c '
        if [ "$RANK" = 0 ]; then cat "$folder/go"; exit 5; fi
        kill -STOP $$'
    wait_for_lines 'is stopped by signal 19 (SIGSTOP)' 1
    echo go >"$folder/go"
    finish
    expect_code 5
    expect_line out '^tuttirun: rank 0 \(pid [0-9]+\) exited with code 5: sh$'
    expect_line out '^tuttirun: rank 1 \(pid [0-9]+\) had been stopped by signal 19 \(SIGSTOP\)$'
}

case_signals_are_passed_on() {
    for signal in TERM:15 INT:2 QUIT:3 HUP:1; do
        rm -f "$folder/both"
        number=${signal#*:}
        export signal="${signal%:*}"
        launch_in_background --nproc-per-node 2 --shutdown-timeout 3600 sh -c '
            trap "echo got $signal; exit 0" "$signal"
            echo ready
            tail -f /dev/null & wait'
        wait_for_lines ready 2
        kill -s "$signal" "$launcher"
        finish
        expect_code $((128 + number))
        for rank in 0 1; do expect_line out "^\[rank $rank\] got $signal\$"; done
    done
}

case_a_second_interrupt_kills() {
    launch_in_background --nproc-per-node 2 --shutdown-timeout 3600 sh -c '
        trap "" INT; echo ready; exec tail -f /dev/null'
    wait_for_lines ready 2
    kill -s INT "$launcher"
    wait_for_lines 'got signal 2' 1
    kill -s INT "$launcher"
    finish
    expect_code 130
    expect_line out '^tuttirun: rank 0 \(pid [0-9]+\) had to be killed$'
}

case_a_signal_that_was_ignored_at_the_start_stays_ignored() {
    trap '' HUP
    launch_in_background sh -c 'echo ready; exec tail -f /dev/null'
    wait_for_lines ready 1
    kill -s HUP "$launcher"
    kill -s TERM "$launcher"
    finish
    expect_code 143
    expect_no_line out 'signal 1 '
}

case_the_ranks_die_with_the_launcher() {
    make_held_fifo
    launch_in_background --nproc-per-node 2 sh -c '
        exec 4>"$folder/held"; echo ready; exec tail -f /dev/null'
    wait_for_lines ready 2
    kill -s KILL "$launcher"
    wait_until_released
}

case_what_a_rank_leaves_behind_ends_with_it() {
    make_held_fifo
    launch_in_background sh -c 'exec 4>"$folder/held"; tail -f /dev/null & exit 0'
    finish
    expect_code 0
    wait_until_released
}

# The processes below a shell that a signal ends at once.
case_a_program_below_a_script_has_the_time_to_end() {
    mkfifo "$folder/go.0" "$folder/go.1"
    cat >"$folder/program" <<'END'
trap 'read -r word <"$folder/go.$RANK"; echo "saved after $word"; exit 0' TERM
echo ready
tail -f /dev/null & wait
END
    launch_in_background --nproc-per-node 2 --shutdown-timeout 3600 bash -c '
        echo $$ >"$folder/pid.$RANK"; sh "$folder/program"; exit 0'
    wait_for_lines ready 2
    kill -s TERM "$launcher"
    for rank in 0 1; do
        while [ -e "/proc/$(cat "$folder/pid.$rank")" ]; do :; done
    done
    for rank in 0 1; do echo "the script" >"$folder/go.$rank"; done
    finish
    expect_code 143
    for rank in 0 1; do expect_line out "^\[rank $rank\] saved after the script\$"; done
}

case_a_program_below_a_script_that_does_not_end_is_killed() {
    make_held_fifo
    launch_in_background --shutdown-timeout 1 bash -c '
        sh -c "trap \"\" TERM; exec 4>\"$folder/held\"; echo ready; exec tail -f /dev/null"; exit 0'
    wait_for_lines ready 1
    kill -s TERM "$launcher"
    finish
    expect_code 143
    wait_until_released
}

case_a_program_below_a_script_ends_when_another_rank_fails() {
    make_held_fifo
    mkfifo "$folder/fail"
    launch_in_background --nproc-per-node 2 bash -c '
        if [ "$RANK" = 1 ]; then read -r word <"$folder/fail"; exit 6; fi
        sh -c "exec 4>\"$folder/held\"; echo ready; exec tail -f /dev/null"; exit 0'
    wait_for_lines ready 1
    echo now >"$folder/fail"
    finish
    expect_code 6
    wait_until_released
}

# `tail` would notice that nobody reads its output any more.
case_a_program_below_a_script_dies_with_the_launcher() {
    make_held_fifo
    mkfifo "$folder/never"
    launch_in_background --nproc-per-node 2 bash -c '
        sh -c "exec 4>\"$folder/held\" 7<>\"$folder/never\"; echo ready; read -r word <&7"; exit 0'
    wait_for_lines ready 2
    kill -s KILL "$launcher"
    wait_until_released
}

case_signals_of_the_user_reach_the_ranks_and_end_nothing() {
    for option in '' --signals-to-handle=SIGTERM,SIGALRM; do
        for signal in USR1 USR2 ALRM; do
            [ "$signal" != ALRM ] || [ -n "$option" ] || continue
            rm -f "$folder/both"
            export signal
            # In bash, read may miss a signal that comes right before it waits; wait of sh does not.
            launch_in_background $option --nproc-per-node 2 --shutdown-timeout 0 sh -c '
                trap "echo got $signal; echo goes on; exit 0" "$signal"
                echo ready
                tail -f /dev/null & wait'
            wait_for_lines ready 2
            kill -s "$signal" "$launcher"
            finish
            expect_code 0
            for rank in 0 1; do
                expect_line out "^\[rank $rank\] got $signal\$"
                expect_line out "^\[rank $rank\] goes on\$"
            done
        done
    done
}

state_of() {
    sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status"
}

case_ctrl_z_stops_the_ranks_and_they_go_on_with_the_launcher() {
    mkfifo "$folder/go.0" "$folder/go.1"
    launch_in_background --nproc-per-node 2 sh -c '
        echo $$ >"$folder/pid.$RANK"; echo ready
        read -r word <"$folder/go.$RANK"; echo "$word"'
    wait_for_lines ready 2
    kill -s TSTP "$launcher"
    for process in "$launcher" "$(cat "$folder/pid.0")" "$(cat "$folder/pid.1")"; do
        until [ "$(state_of "$process")" = T ]; do :; done
    done
    kill -s CONT "$launcher"
    for rank in 0 1; do echo further >"$folder/go.$rank"; done
    finish
    expect_code 0
    for rank in 0 1; do expect_line out "^\[rank $rank\] further\$"; done
    expect_no_line out 'is stopped'
}

case_a_program_that_cannot_be_run_is_named() {
    launch --nproc-per-node 2 no_such_program_of_tutti
    expect_code 127
    expect_line err '^tuttirun: cannot run "no_such_program_of_tutti": .*\(ENOENT\)$'
    launch "$folder"
    expect_code 127
    expect_line err '\(EACCES\)$'
    printf '#!/no/such/interpreter\n' >"$folder/script"
    chmod +x "$folder/script"
    launch --nproc-per-node 2 "$folder/script"
    expect_code 127
    expect_line err 'cannot run ".*/script": .*\(ENOENT\)$'
}

case_a_wrong_command_line_is_refused() {
    launch --no-such-option true
    expect_code 2
    expect_line err '^tuttirun: unknown option --no-such-option$'
    launch
    expect_code 2
    expect_line err '^tuttirun: the program to run is missing$'
}

case_help_and_version_are_there() {
    launch --help
    expect_code 0
    expect_line out '^usage: tuttirun'
    launch --version
    expect_code 0
    expect_line out '^tuttirun [0-9]+\.[0-9]+\.[0-9]+$'
}

"$2"
