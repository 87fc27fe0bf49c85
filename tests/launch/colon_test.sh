#!/bin/sh
# Are several programs, with ":" between them, one job? colon_test.sh TUTTIRUN CASE
. "$(dirname "$0")/launch.sh"

unset OMP_NUM_THREADS

# make_program NAME LINES: a script of that name, for ranks.
make_program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/$1"
    chmod +x "$folder/$1"
}

# A program that tells its name and arguments, and its place.
make_teller() { # name
    # shellcheck disable=SC2016
    make_program "$1" '
        echo "${0##*/}$(for word in "$@"; do printf " [%s]" "$word"; done)"
        echo "rank $RANK/$WORLD_SIZE local $LOCAL_RANK/$LOCAL_WORLD_SIZE node $GROUP_RANK" \
            "$ROLE_NAME $ROLE_RANK/$ROLE_WORLD_SIZE threads $OMP_NUM_THREADS"'
}

expect_refusal() { # pattern arguments...
    pattern=$1
    shift
    launch "$@"
    expect_code 2
    expect_line err "^tuttirun: $pattern"
    [ "$(wc -l <"$folder/err")" -eq 2 ] || fail "more than a sentence and where to read on"
    expect_no_line out .
}

case_the_ranks_of_all_programs_are_one_job() {
    for name in first second third; do make_teller $name; done
    launch --nproc-per-node 2 "$folder/first" -x 'a b' : --nproc_per_node=3 --role solver \
        "$folder/second" : --role default "$folder/third" a:b :c ''
    expect_code 0
    [ ! -s "$folder/err" ] || fail "something was said"
    for rank in 0 1; do expect_line out "^\[rank $rank\] first \[-x\] \[a b\]\$"; done
    for rank in 2 3 4; do expect_line out "^\[rank $rank\] second\$"; done
    expect_line out '^\[rank 5\] third \[a:b\] \[:c\] \[\]$'
    for place in '0/6 local 0/6 node 0 default 0/3' '1/6 local 1/6 node 0 default 1/3' \
        '2/6 local 2/6 node 0 solver 0/3' '3/6 local 3/6 node 0 solver 1/3' \
        '4/6 local 4/6 node 0 solver 2/3' '5/6 local 5/6 node 0 default 2/3'; do
        expect_line out "^\[rank ${place%%/*}\] rank $place threads 1\$"
    done
}

case_two_programs_of_one_rank_have_one_thread_each() {
    for name in first second; do make_teller $name; done
    launch "$folder/first" : --nproc-per-node 1 "$folder/second"
    expect_code 0
    for rank in 0 1; do expect_line out "^\[rank $rank\] .* threads 1\$"; done
}

case_two_dashes_before_a_program_pass_it_a_colon() {
    for name in first second; do make_teller $name; done
    launch --nproc-per-node 2 -- "$folder/first" : "$folder/second" :
    expect_code 0
    [ ! -s "$folder/err" ] || fail "something was said"
    for rank in 0 1; do expect_line out "^\[rank $rank\] first \[:\] \[$folder/second\] \[:\]\$"; done
    launch "$folder/first" -- : -- "$folder/second" : :
    expect_code 0
    expect_line out '^\[rank 0\] first \[--\]$'
    expect_line out '^\[rank 1\] second \[:\] \[:\]$'
}

case_a_program_that_may_have_been_an_argument_is_noticed() {
    for name in first second; do make_teller $name; done
    launch "$folder/first" 1 : "$folder/second" 2
    expect_code 0
    expect_line err \
        '^tuttirun: ".*/second" follows ":" and is a program with one rank; "--" before a program '
    expect_line out '^\[rank 1\] second \[2\]$'
    launch "$folder/first" 1 : no_such_program_of_tutti
    expect_code 127
    expect_line err '"no_such_program_of_tutti" follows ":" and is a program'
    expect_no_line out .
}

case_a_program_that_is_missing_is_refused() {
    expect_refusal 'the program before the first ":" is missing$' : true
    expect_refusal 'the program before the first ":" is missing$' --nproc-per-node 2 : true
    expect_refusal 'the program after the last ":" is missing; "--" before a program' true :
    expect_refusal 'the program after the last ":" is missing' true : --nproc-per-node 2
    expect_refusal 'the program between two ":" is missing; "--" before a program' true : : true
}

case_options_of_the_job_stand_before_the_first_program() {
    for option in --nnodes=1 --node_rank=0 --master-port=0 --rdzv-id=a --on-failure=shrink \
        --max-restarts=2 --bind-to=core --tee=3 --log-dir=/a --signals-to-handle=INT --help; do
        name=$(echo "${option%%=*}" | tr _ -)
        expect_refusal \
            "$name is of the whole job: it stands before the first program, not after \":\"\$" \
            true : "$option" true
    done
    expect_refusal '--tee is of the whole job' true : -t 3 true
    expect_refusal 'unknown option --epochs after ":"; "--" before a program' true : --epochs 3
    expect_refusal '--nproc-per-node needs a value$' true : --nproc-per-node : true
    expect_refusal '--nproc-per-node is "x", not a whole number' true : --nproc-per-node x true
    expect_refusal 'of --module, --run-path and --no-python one' true : -m --no-python true
    expect_refusal 'the sum of all --nproc-per-node is 4097, ' \
        --nproc-per-node 4096 true : --nproc-per-node 1 true
    expect_refusal '--tee names local rank 3, and the sum of all --nproc-per-node is 3' \
        --tee 3:1 --nproc-per-node 2 true : --nproc-per-node 1 true
}

case_each_program_may_have_as_many_ranks_as_there_are_processors() {
    make_teller tell
    first=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\).*/\1/p' /proc/self/status)
    export CUDA_VISIBLE_DEVICES=
    code=0
    taskset -c "$first" "$tuttirun" --nproc-per-node cpu "$folder/tell" : --nproc-per-node auto \
        "$folder/tell" : --nproc-per-node 2 "$folder/tell" >"$folder/out" 2>"$folder/err" || code=$?
    expect_code 0
    expect_line out '^\[rank 1\] rank 1/4 '
    expect_refusal '--nproc-per-node is "gpu", and there is none$' true : --nproc-per-node gpu true
    export CUDA_VISIBLE_DEVICES=0,1,2
    launch "$folder/tell" : --nproc-per-node gpu "$folder/tell"
    expect_code 0
    expect_line out '^\[rank 3\] rank 3/4 '
}

case_variables_set_the_options_of_the_job_and_of_the_first_program() {
    for name in first second; do make_teller $name; done
    export PET_NPROC_PER_NODE=2 PET_ROLE=trainer PET_LOCAL_RANKS_FILTER=1,2
    launch "$folder/first" : --nproc-per-node 1 "$folder/second"
    expect_code 0
    expect_no_line out '^\[rank 0\]'
    expect_line out '^\[rank 1\] rank 1/3 .* trainer 1/2 '
    expect_line out '^\[rank 2\] rank 2/3 .* default 0/1 '
}

case_each_program_is_given_to_python_or_not() {
    make_program python3 'echo "python3 $*"'
    make_teller train.py
    PATH="$folder:$PATH" launch -m package.module 1 : --run-path "$folder/train.py" 2 : \
        --nproc-per-node 1 "$folder/train.py" 3
    expect_code 0
    expect_line out '^\[rank 0\] python3 -u -m package.module 1$'
    expect_line out "^\[rank 1\] python3 -u $folder/train.py 2\$"
    expect_line out '^\[rank 2\] train.py \[3\]$'
    make_program python3 'exit 5'
    PATH="$folder:$PATH" launch -m package.module : --nproc-per-node 1 tail -f /dev/null
    expect_code 5
    expect_line err '^tuttirun: rank 0 \(pid [0-9]+\) exited with code 5: package.module$'
    expect_line err '^tuttirun: first failure: rank 0 .* of package.module on '
}

case_all_ranks_are_bound_apart() {
    # shellcheck disable=SC2016
    make_program tell 'sed -n "s/^Cpus_allowed_list:[[:space:]]*/on /p" /proc/self/status'
    allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    code=0
    taskset -c "${allowed%%[-,]*}" "$tuttirun" --bind-to core true : --nproc-per-node 1 true \
        >"$folder/out" 2>"$folder/err" || code=$?
    expect_code 2
    expect_line err '^tuttirun: --bind-to core: 2 ranks on this node .* may use 1$'
    launch --bind-to core "$folder/tell" : --nproc-per-node 1 "$folder/tell"
    if [ "$code" -eq 2 ] && grep -q 'need a core each' "$folder/err"; then
        echo "there are no 2 cores"
        exit 77
    fi
    expect_code 0
    [ "$(sed -n 's/.*\] on //p' "$folder/out" | sort -u | wc -l)" -eq 2 ] || fail "they share"
}

case_standard_input_goes_to_the_first_program() {
    echo words | "$tuttirun" cat : --nproc-per-node 2 cat >"$folder/out"
    [ "$(cat "$folder/out")" = "[rank 0] words" ] || fail "not what was put in"
}

case_streams_are_chosen_by_local_rank() {
    launch --log-dir "$folder/logs" --redirects 0:1,2:1 echo first : --nproc-per-node 2 echo second
    expect_code 0
    [ "$(cat "$folder/out")" = '[rank 1] second' ] || fail "not rank 1 alone is shown"
    [ "$(cat "$folder/logs/none/attempt_0/0/stdout.log")" = first ] || fail "no log of rank 0"
    [ "$(cat "$folder/logs/none/attempt_0/2/stdout.log")" = second ] || fail "no log of rank 2"
}

case_the_program_of_the_rank_that_failed_is_named() {
    make_program good 'exec tail -f /dev/null'
    # shellcheck disable=SC2016
    make_program bad '[ "$RANK" = 3 ] || exec tail -f /dev/null; echo why >&2; exit 3'
    launch --nproc-per-node 2 "$folder/good" : --nproc-per-node 2 "$folder/bad" x
    expect_code 3
    expect_line err "^tuttirun: rank 3 \(pid [0-9]+\) exited with code 3: $folder/bad\$"
    expect_line err "^tuttirun: first failure: rank 3 \(local rank 3, pid [0-9]+\) of $folder/bad on "
    expect_line err '^tuttirun:     why$'
}

case_nothing_starts_if_one_program_is_not_there() {
    launch echo started : --nproc-per-node 1 no_such_program_of_tutti : --nproc-per-node 1 echo started
    expect_code 127
    expect_line err '^tuttirun: cannot run "no_such_program_of_tutti": .*\(ENOENT\)$'
    expect_no_line out started
}

# The ranks before it have been started.
case_a_program_that_turns_out_to_be_none_ends_the_others() {
    make_held_fifo
    printf '#!/no/such/interpreter\n' >"$folder/bad"
    chmod +x "$folder/bad"
    # shellcheck disable=SC2016
    launch --max-restarts 3 --on-failure shrink sh -c 'exec 4>"$folder/held"; exec tail -f /dev/null' : \
        --nproc-per-node 2 "$folder/bad"
    expect_code 127
    expect_line err 'cannot run ".*/bad": .*\(ENOENT\)$'
    expect_no_line err again
    wait_until_released
}

case_all_programs_are_started_again() {
    # shellcheck disable=SC2016
    make_program good 'echo "good $RANK in attempt $TORCHELASTIC_RESTART_COUNT"
        [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exec tail -f /dev/null'
    # shellcheck disable=SC2016
    make_program bad 'echo "bad $RANK in attempt $TORCHELASTIC_RESTART_COUNT"
        [ "$TORCHELASTIC_RESTART_COUNT" = 1 ] || exit 9'
    launch --max-restarts 1 "$folder/good" : --nproc-per-node 1 "$folder/bad"
    expect_code 0
    expect_line out '^\[rank 0\] good 0 in attempt 1$'
    expect_line out '^\[rank 1\] bad 1 in attempt 1$'
    expect_line err "^tuttirun: first failure: rank 1 .* of $folder/bad on .* exited with code 9 at "
}

case_one_program_goes_on_without_another() {
    make_program killed 'kill -9 $$'
    # shellcheck disable=SC2016
    make_program good 'cat "$folder/word.$RANK"; echo done'
    for rank in 2 3; do mkfifo "$folder/word.$rank"; done
    launch_in_background --on-failure shrink --nproc-per-node 2 "$folder/killed" : \
        --nproc-per-node 2 "$folder/good"
    wait_for_lines ' was killed by signal 9 (SIGKILL): ' 2
    for rank in 2 3; do echo "go on" >"$folder/word.$rank"; done
    finish
    expect_code 0
    for rank in 2 3; do expect_line out "^\[rank $rank\] done\$"; done
    expect_line out "^tuttirun: first failure: rank [01] \(local .*\) of $folder/killed on "
    expect_line out "^tuttirun: later failure: rank [01] \(local .*\) of $folder/killed on "
    expect_line out '^tuttirun: 2 of 4 ranks ended with exit code 0$'
}

case_signals_reach_all_programs() {
    for name in first second; do
        make_program $name "trap 'echo $name got it; exit 0' TERM; echo ready
            tail -f /dev/null & wait"
    done
    launch_in_background --shutdown-timeout 3600 "$folder/first" : --nproc-per-node 1 "$folder/second"
    wait_for_lines ready 2
    kill -s TERM "$launcher"
    finish
    expect_code 143
    expect_line out '^\[rank 0\] first got it$'
    expect_line out '^\[rank 1\] second got it$'
}

case_nodes_have_programs_of_their_own() {
    for name in first second third; do make_teller $name; done
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 \
        "$folder/first" : --nproc-per-node 2 --role solver "$folder/second"
    wait_for_line 0 'the nodes meet at '
    start_node 1 --nnodes 2 --node-rank 1 --master-port "${line##*:}" \
        --role solver "$folder/second" : --nproc-per-node 1 "$folder/third"
    finish_node 0 0
    finish_node 1 0
    expect_line out.0 '^\[rank 0\] rank 0/5 local 0/3 node 0 default 0/2 '
    expect_line out.0 '^\[rank 1\] rank 1/5 local 1/3 node 0 solver 0/3 '
    expect_line out.0 '^\[rank 2\] rank 2/5 local 2/3 node 0 solver 1/3 '
    expect_line out.1 '^\[rank 3\] rank 3/5 local 0/2 node 1 solver 2/3 '
    expect_line out.1 '^\[rank 4\] rank 4/5 local 1/2 node 1 default 1/2 '
    expect_line out.1 '^\[rank 4\] third$'
}

case_all_nodes_name_the_program_that_failed() {
    make_program good 'exec tail -f /dev/null'
    make_program bad 'exit 6'
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 --nproc-per-node 2 "$folder/good"
    wait_for_line 0 'the nodes meet at '
    start_node 1 --nnodes 2 --node-rank 1 --master-port "${line##*:}" \
        "$folder/good" : --nproc-per-node 1 "$folder/bad"
    for node in 0 1; do
        finish_node $node 6
        expect_line out.$node \
            "first failure: rank 3 \(local rank 1, pid [0-9]+\) of $folder/bad on node 1 "
    done
}

"$2"
