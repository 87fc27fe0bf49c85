#!/bin/sh
# Log files, error files, restarts, and what is said of the first failure. reports_test.sh TUTTIRUN
# CASE
. "$(dirname "$0")/launch.sh"

case_the_report_names_the_first_failure_and_shows_its_last_lines() {
    launch --nproc-per-node 2 sh -c '
        [ "$RANK" = 1 ] || exec tail -f /dev/null
        for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22; do
            echo "line $i" >&2; done
        exit 3'
    expect_code 3
    time='[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}'
    place="on $(uname -n) exited with code 3 at $time"
    expect_line err "^tuttirun: first failure: rank 1 \(local rank 1, pid [0-9]+\) $place\$"
    expect_no_line err '^tuttirun:     line [12]$'
    [ "$(grep -c '^tuttirun:     line ' "$folder/err")" -eq 20 ] || fail "not the last 20 lines"
    expect_line err '^tuttirun:     line 22$'
}

case_the_report_shows_what_a_rank_wrote_to_its_error_file() {
    launch sh -c '
        printf "{\"message\": {\"message\": \"bad \\\\\"x\\\\\"\\\\nthen\", \"extraInfo\": {}}}" \
            >"$TORCHELASTIC_ERROR_FILE"
        kill -9 $$'
    expect_code 137
    expect_line err '^tuttirun: first failure: rank 0 .* was killed by signal 9 \(SIGKILL\) at '
    expect_line err '^tuttirun:     bad "x"$'
    expect_line err '^tuttirun:     then$'
    [ -z "$(find "$folder" -name 'tuttirun.*')" ] || fail "a temporary folder was left behind"
}

case_an_error_file_that_is_no_json_is_shown_as_it_is() {
    launch sh -c '
        printf "{\"message\": \"unfinished, \"code\": 3}" >"$TORCHELASTIC_ERROR_FILE"
        exit 3'
    expect_code 3
    expect_line err '^tuttirun:     \{"message": "unfinished, "code": 3\}$'
}

case_an_error_file_that_is_a_pipe_holds_nobody_up() {
    launch sh -c '
        rm -f "$TORCHELASTIC_ERROR_FILE"
        mkfifo "$TORCHELASTIC_ERROR_FILE"
        exit 3'
    expect_code 3
    expect_line err '^tuttirun: first failure: rank 0 .* exited with code 3 at '
    expect_no_line err 'what it said of it'
}

case_of_a_long_error_file_the_start_is_shown() {
    launch sh -c '
        { echo start; head -c 50000000 /dev/zero | tr "\0" x; } >"$TORCHELASTIC_ERROR_FILE"
        exit 3'
    expect_code 3
    expect_line err '^tuttirun:     start$'
    expect_line err '^tuttirun:     x*\.\.\. .cut here.$'
    [ "$(wc -c <"$folder/err")" -lt 20000 ] || fail "too much of it is shown"
}

case_logs_are_kept_by_rank() {
    launch --nproc-per-node 2 --log-dir "$folder/logs" --rdzv-id job --redirects 1 --tee=0:2 \
        sh -c 'echo "out $RANK"; echo "err $RANK" >&2; echo "$TORCHELASTIC_ERROR_FILE" >&2'
    expect_code 0
    [ ! -s "$folder/out" ] || fail "what was redirected was shown"
    logs=$folder/logs/job/attempt_0
    [ "$(cat "$logs/1/stdout.log")" = 'out 1' ] || fail "stdout of rank 1 is not in its log"
    [ "$(head -n 1 "$logs/0/stderr.log")" = 'err 0' ] || fail "stderr of rank 0 is not in its log"
    [ ! -e "$logs/1/stderr.log" ] || fail "stderr of rank 1 was not to be logged"
    expect_line err '^\[rank 0\] err 0$'
    expect_line err '^\[rank 1\] err 1$'
    expect_line err "^\[rank 1\] $logs/1/error\.json\$"
}

case_logs_without_a_folder_are_kept_and_said_where() {
    launch -r 3 sh -c 'echo hidden; exit 4'
    expect_code 4
    expect_no_line out hidden
    place=$(sed -n 's/^tuttirun: logs are in //p' "$folder/err")
    [ "$(cat "$place/none/attempt_0/0/stdout.log")" = hidden ] || fail "no log in \"$place\""
}

case_a_log_that_cannot_be_written_costs_the_log_alone() {
    bytes=$( (
        trap '' XFSZ # whoever ignores it hears of the limit from write
        ulimit -f 1
        "$tuttirun" -t 1 --log-dir "$folder/logs" sh -c 'head -c 99999 /dev/zero | tr "\0" x' \
            2>"$folder/err" || echo "code $?"
    ) | wc -c)
    [ "$bytes" -eq 100009 ] || fail "$bytes bytes instead of 100009"
    expect_line err '^tuttirun: cannot write ".*/none/attempt_0/0/stdout.log": .*\(EFBIG\)'
}

case_a_limit_of_file_sizes_costs_the_log_and_not_the_launcher() {
    bytes=$( (
        ulimit -f 1
        "$tuttirun" -t 1 --log-dir "$folder/logs" sh -c 'head -c 99999 /dev/zero | tr "\0" x' \
            2>"$folder/err" || echo "code $?"
    ) | wc -c)
    [ "$bytes" -eq 100009 ] || fail "$bytes bytes instead of 100009"
    expect_line err '^tuttirun: cannot write ".*/stdout.log": .*\(EFBIG\): .*\(ulimit -f\)'
}

case_the_filter_shows_some_ranks_alone() {
    launch --nproc-per-node 3 --local-ranks-filter 0,2 sh -c 'echo shown; [ "$RANK" != 1 ] ||
        { echo why >&2; exit 6; }'
    expect_code 6
    expect_line out '^\[rank 2\] shown$'
    expect_no_line out 'rank 1'
    expect_line err '^tuttirun:     why$'
}

case_without_prefixes_lines_are_as_the_ranks_wrote_them() {
    launch --nproc-per-node 2 --no-prefix sh -c 'echo "{\"rank\":$RANK}" >&2; echo out'
    expect_code 0
    [ "$(sort "$folder/err")" = '{"rank":0}
{"rank":1}' ] || fail "other lines on standard error"
    [ "$(sort -u "$folder/out")" = out ] || fail "other lines on standard output"
}

case_settings_say_where_they_come_from() {
    export PET_NNODES=1 TUTTI_PROGRESS=70 TORCH_CPP_LOG_LEVEL=ERROR
    unset TUTTI_LOG_LEVEL
    launch --settings --nproc-per-node 3
    expect_code 0
    expect_line out '^--nproc-per-node  *3  *option$'
    expect_line out '^--nnodes  *1  *environment$'
    expect_line out '^--max-restarts  *0  *default$'
    expect_line out '^TUTTI_PROGRESS  *70  *environment$'
    expect_line out '^TUTTI_LOG_LEVEL  *ERROR  *environment \(TORCH_CPP_LOG_LEVEL\)$'
    expect_line out '^TUTTI_PLACEMENT  *1  *default$'
    launch --settings --nproc-per-node none
    expect_code 2
}

case_all_ranks_are_started_again_with_a_fresh_store() {
    launch --nproc-per-node 2 --max-restarts=2 sh -c '
        count=$TORCHELASTIC_RESTART_COUNT
        echo "attempt $count of $TORCHELASTIC_MAX_RESTARTS at $MASTER_PORT"
        [ "$count" != 2 ] || exit 0
        [ "$RANK" = 0 ] || exit 9
        exec tail -f /dev/null'
    expect_code 0
    for attempt in 0 1 2; do
        for rank in 0 1; do expect_line out "^\[rank $rank\] attempt $attempt of 2 at "; done
    done
    expect_line err '^tuttirun: starting all ranks again, restart 2 of 2$'
    [ "$(sed 's/.* at //' "$folder/out" | sort -u | wc -l)" -eq 3 ] || fail "not three ports"
}

case_no_restart_is_left_at_last() {
    launch --max-restarts 1 sh -c 'exit $((3 + TORCHELASTIC_RESTART_COUNT))'
    expect_code 4
    expect_line err 'starting all ranks again, restart 1 of 1'
}

case_a_fixed_port_serves_every_attempt() {
    port=$(hold_port)
    launch --master-port "$port" --max-restarts 1 sh -c '
        echo "at $MASTER_PORT"; exit $((1 - TORCHELASTIC_RESTART_COUNT))'
    expect_code 0
    [ "$(grep -c "at $port\$" "$folder/out")" -eq 2 ] || fail "not twice at $port"
}

case_a_signal_is_no_reason_to_start_again() {
    launch_in_background --max-restarts 3 sh -c 'echo ready; exec tail -f /dev/null'
    wait_for_lines ready 1
    kill -s TERM "$launcher"
    finish
    expect_code 143
    expect_no_line out again
}

case_a_program_that_cannot_be_run_is_not_tried_again() {
    launch --max-restarts 3 no_such_program_of_tutti
    expect_code 127
    expect_no_line err again
}

case_options_come_from_the_environment_too() {
    export PET_NPROC_PER_NODE=3 PET_ROLE=trainer
    launch sh -c 'echo "$WORLD_SIZE $ROLE_NAME"'
    expect_line out '^\[rank 2\] 3 trainer$'
    launch --nproc-per-node 1 sh -c 'echo "$WORLD_SIZE $ROLE_NAME"'
    expect_line out '^\[rank 0\] 1 trainer$'
}

case_cpu_respects_the_affinity_mask() {
    first=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
    code=0
    taskset -c "$first" "$tuttirun" --nproc-per-node cpu sh -c 'echo "of $WORLD_SIZE"' \
        >"$folder/out" 2>"$folder/err" || code=$?
    expect_code 0
    expect_line out '^\[rank 0\] of 1$'
}

case_only_the_signals_named_are_handled() {
    launch_in_background --signals-to-handle SIGINT,USR1 sh -c '
        trap "echo heard; exit 0" USR1; echo ready; tail -f /dev/null & wait'
    wait_for_lines ready 1
    kill -s USR1 "$launcher"
    wait_for_lines heard 1
    finish
    expect_code 0
    rm "$folder/both"
    launch_in_background --signals-to-handle INT sh -c 'echo ready; exec tail -f /dev/null'
    wait_for_lines ready 1
    kill -s TERM "$launcher"
    finish
    expect_code 143
    expect_no_line out 'got signal'
}

case_a_file_of_python_is_given_to_python() {
    mkdir "$folder/bin"
    printf '#!/bin/sh\necho "python3 $*"\n' >"$folder/bin/python3"
    chmod +x "$folder/bin/python3"
    : >"$folder/train.py"
    PATH="$folder/bin:$PATH" launch "$folder/train.py" --epochs 3
    expect_code 0
    expect_line out "^\[rank 0\] python3 -u $folder/train.py --epochs 3\$"
    launch --no-python "$folder/train.py"
    expect_code 127
    PATH="$folder/bin:$PATH" launch -m package.module --epochs 3
    expect_line out '^\[rank 0\] python3 -u -m package.module --epochs 3$'
    PATH="$folder/bin:$PATH" launch --run-path no_suffix
    expect_line out '^\[rank 0\] python3 -u no_suffix$'
    PYTHON_EXEC="$folder/bin/python3" launch --run-path no_suffix
    expect_line out '^\[rank 0\] python3 -u no_suffix$'
}

case_a_node_has_the_name_it_is_given() {
    launch --local-addr node-of-mine sh -c 'exit 3'
    expect_code 3
    expect_line err '^tuttirun: first failure: rank 0 .* on node-of-mine exited with code 3 at '
}

"$2"
