#!/bin/sh
# Do tuttiruns of several nodes, here all on the loopback interface, make one job?
# nodes_test.sh TUTTIRUN CASE
. "$(dirname "$0")/launch.sh"

case_nodes_of_different_sizes_number_their_ranks() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 --nproc-per-node 2 --role a env
    wait_for_line 0 'the nodes meet at '
    port=${line##*:}
    start_node 1 --nnodes 2:2 --node-rank 1 --rdzv-endpoint "127.0.0.1:$port" --role b env
    finish_node 0 0
    finish_node 1 0
    for setting in WORLD_SIZE=3 GROUP_WORLD_SIZE=2 "MASTER_PORT=$port" MASTER_ADDR=127.0.0.1; do
        for rank in 0 1; do expect_line out.0 "^\[rank $rank\] $setting\$"; done
        expect_line out.1 "^\[rank 2\] $setting\$"
    done
    for setting in LOCAL_WORLD_SIZE=2 GROUP_RANK=0 LOCAL_RANK=1 ROLE_RANK=1 ROLE_WORLD_SIZE=2; do
        expect_line out.0 "^\[rank 1\] $setting\$"
    done
    for setting in LOCAL_WORLD_SIZE=1 GROUP_RANK=1 LOCAL_RANK=0 ROLE_RANK=0 ROLE_WORLD_SIZE=1; do
        expect_line out.1 "^\[rank 2\] $setting\$"
    done
}

case_nodes_of_c10d_get_their_ranks_as_they_arrive() {
    port=$(hold_port)
    for node in 0 1 2; do
        start_node $node --nnodes 3 --rdzv-backend c10d --rdzv-endpoint "localhost:$port" \
            --rdzv-id job sh -c 'echo "$RANK $GROUP_RANK $WORLD_SIZE $TORCHELASTIC_RUN_ID"'
    done
    for node in 0 1 2; do finish_node $node 0; done
    ranks=$(sed -n 's/^\[rank \([0-2]\)\] \1 \1 3 job$/\1/p' "$folder"/out.? | sort | tr -d '\n')
    [ "$ranks" = 012 ] || fail "ranks \"$ranks\" instead of 012"
}

# Another program holds the port while the nodes start: nobody can serve, and nobody answers there.
case_nodes_of_c10d_outlive_a_port_that_is_taken_for_a_moment() {
    mkfifo "$folder/port" "$folder/free"
    python3 -c '
import os, select, socket, sys
script = os.pidfd_open(int(sys.argv[1]))
taken = socket.socket()
taken.bind(("", 0))
print(taken.getsockname()[1], flush=True)
sys.stdin.read()
# From here on whoever is told of it can listen, and still nobody else is given it.
taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
select.select([script], [], [])' $$ <"$folder/free" >"$folder/port" &
    exec 7>"$folder/free"
    read -r port <"$folder/port"
    for node in 0 1; do
        TUTTI_LOG_LEVEL=info start_node $node --nnodes 2 --rdzv-backend c10d \
            --rdzv-endpoint "127.0.0.1:$port" true 7>&-
        wait_for_line $node 'connecting to it'
    done
    exec 7>&-
    for node in 0 1; do finish_node $node 0; done
}

case_a_failure_on_one_node_ends_all_and_all_name_it() {
    start_two_nodes --nproc-per-node 2 sh -c '
        [ "$RANK" = 3 ] || exec tail -f /dev/null
        echo why >&2; exit 5'
    for node in 0 1; do
        finish_node $node 5
        expect_line out.$node \
            "first failure: rank 3 .local rank 1, pid [0-9]+. on node 1 .$(uname -n). exited with"
        expect_line out.$node '^tuttirun:     why$'
    done
    expect_line out.0 '^tuttirun: there was a failure on node 1 '
}

case_a_signal_to_one_tuttirun_ends_all() {
    start_two_nodes sh -c 'echo ready; exec tail -f /dev/null'
    wait_for_line 0 ready
    wait_for_line 1 ready
    kill -s TERM "$launcher_1"
    finish_node 0 143
    finish_node 1 143
    expect_line out.0 '^tuttirun: node 1 .* got signal 15 \(SIGTERM\)$'
}

case_a_node_that_is_ready_waits_for_the_others() {
    make_held_fifo
    mkfifo "$folder/word"
    start_two_nodes sh -c '
        if [ "$RANK" = 0 ]; then exec 4>"$folder/held"; else cat "$folder/word"; fi
        echo done'
    wait_for_line 0 done
    wait_until_released
    echo still there >"$folder/word"
    finish_node 0 0
    finish_node 1 0
    expect_line out.1 '^\[rank 1\] still there$'
}

case_who_is_missing_is_said() {
    launch --nnodes 3 --node-rank 0 --master-port 0 --rdzv-conf join_timeout=5 true
    expect_code 1
    expect_line err '^tuttirun: timed out waiting for the nodes at .*: 1 of 3 came, without 1, 2$'
    port=$(hold_port)
    launch --nnodes 2 --node-rank 1 --master-port "$port" --rdzv-conf timeout=3 true
    expect_code 1
    expect_line err 'ECONNREFUSED'
}

case_a_rank_is_given_once() {
    start_node 0 --nnodes 3 --node-rank 0 --master-port 0 true
    wait_for_line 0 'the nodes meet at '
    port=${line##*:}
    start_node 1 --nnodes 3 --node-rank 1 --master-port "$port" true
    wait_for_line 1 'node 1 of 3 waits for the others'
    launch --nnodes 3 --node-rank 1 --master-port "$port" true
    expect_code 1
    expect_line err 'is node 1 already: each needs a --node-rank of its own$'
    kill -s TERM "$launcher_0"
    finish_node 0 143
    finish_node 1 1
}

case_nodes_disagree_about_their_number() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 true
    wait_for_line 0 'the nodes meet at '
    start_node 1 --nnodes 3 --node-rank 1 --master-port "${line##*:}" true
    finish_node 0 1
    expect_line out.0 'node 1 .* was started with --nnodes 3, this one with 2$'
    finish_node 1 1
}

case_nodes_disagree_about_restarts() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 --max-restarts 2 true
    wait_for_line 0 'the nodes meet at '
    start_node 1 --nnodes 2 --node-rank 1 --master-port "${line##*:}" true
    finish_node 0 1
    expect_line out.0 'node 1 .* was started with --max-restarts 0, this one with 2$'
    finish_node 1 1
}

case_a_node_of_another_job_is_told_and_so_is_this_job() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 --rdzv-id a \
        --rdzv-conf join_timeout=10 true
    wait_for_line 0 'the nodes meet at '
    launch --nnodes 2 --node-rank 1 --master-port "${line##*:}" --rdzv-id b true
    expect_code 1
    expect_line err '^tuttirun: the nodes at .* are those of job "a", and this one is of job "b"'
    finish_node 0 1
    expect_line out.0 'came, without 1; a node of job "b" was refused, and this job is "a"$'
}

case_a_second_node_0_hears_of_node_ranks() {
    start_node 0 --nnodes 2 --master-port 0 true
    wait_for_line 0 'the nodes meet at '
    launch --nnodes 2 --master-port "${line##*:}" true
    expect_code 1
    expect_line err 'EADDRINUSE.*give each a --node-rank of its own, or all --rdzv-backend c10d$'
    kill -s TERM "$launcher_0"
    finish_node 0 143
}

case_an_interrupt_ends_the_waiting_for_nodes() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 true
    wait_for_line 0 'the nodes meet at '
    kill -s INT "$launcher_0"
    finish_node 0 130
}

case_a_rank_whose_tuttirun_was_interrupted_is_free_again() {
    start_node 0 --nnodes 3 --node-rank 0 --master-port 0 true
    wait_for_line 0 'the nodes meet at '
    port=${line##*:}
    start_node 1 --nnodes 3 --node-rank 1 --master-port "$port" true
    wait_for_line 1 'node 1 of 3 waits for the others'
    kill -s TERM "$launcher_1"
    finish_node 1 143
    rm "$folder/node.1"
    start_node 1 --nnodes 3 --node-rank 1 --master-port "$port" true
    start_node 2 --nnodes 3 --node-rank 2 --master-port "$port" true
    for node in 0 1 2; do finish_node $node 0; done
}

case_all_nodes_start_again() {
    start_two_nodes --max-restarts 2 sh -c '
        echo "attempt $TORCHELASTIC_RESTART_COUNT at $MASTER_PORT"
        [ "$TORCHELASTIC_RESTART_COUNT" != 2 ] || exit 0
        [ "$RANK" = 0 ] || kill -9 $$
        exec tail -f /dev/null'
    for node in 0 1; do
        finish_node $node 0
        for attempt in 0 1 2; do
            expect_line out.$node "^\[rank $node\] attempt $attempt at "
        done
        sed -n 's/.* attempt .* at //p' "$folder/out.$node" >"$folder/ports.$node"
    done
    cmp "$folder/ports.0" "$folder/ports.1" || fail "the nodes were at different stores"
    [ "$(sort -u "$folder/ports.0" | wc -l)" -eq 3 ] || fail "not three stores"
}

case_a_program_that_one_node_lacks_ends_all() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 --max-restarts 3 tail -f /dev/null
    wait_for_line 0 'the nodes meet at '
    start_node 1 --nnodes 2 --node-rank 1 --master-port "${line##*:}" --max-restarts 3 \
        no_such_program_of_tutti
    finish_node 0 127
    finish_node 1 127
    expect_line out.0 'first failure: node 1 .* cannot run "no_such_program_of_tutti"'
}

case_a_node_that_is_silent_is_lost() {
    start_two_nodes --rdzv-conf keep_alive_interval=1,keep_alive_max_attempt=6 sh -c '
        echo ready; exec tail -f /dev/null'
    wait_for_line 1 ready
    kill -s STOP "$launcher_1"
    finish_node 0 1
    expect_line out.0 '^tuttirun: node 1 .* gave no sign of life for 6 s$'
    kill -s KILL "$launcher_1"
    finish_node 1 137
}

case_the_end_of_the_node_with_the_store_ends_all() {
    start_two_nodes sh -c 'echo ready; exec tail -f /dev/null'
    wait_for_line 0 ready
    wait_for_line 1 ready
    kill -s KILL "$launcher_0"
    finish_node 1 1
    expect_line out.1 '^tuttirun: lost the other nodes: '
    finish_node 0 137
}

"$2"
