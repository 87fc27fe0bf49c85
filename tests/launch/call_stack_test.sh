#!/bin/sh
# Does a line say from where a failed call came, if TORCH_SHOW_CPP_STACKTRACES asks for it?
# call_stack_test.sh TUTTIRUN CASE WORKER
. "$(dirname "$0")/launch.sh"
worker=$3
from=' \(called by call_apart <- main <- .*\)$'

case_a_mismatch_is_said_with_the_callers_functions_in_one_line() {
    export TORCH_SHOW_CPP_STACKTRACES=1
    launch --nproc-per-node 2 --on-failure shrink "$worker" apart
    expect_line err "^\\[rank [01]\\] tutti: all_reduce #2 .* called all_reduce #2 .*$from"
    for rank in 0 1; do expect_line err "^\\[rank $rank\\] tutti: all_reduce #2 .*$from"; done
    TUTTI_LOG_LEVEL=error launch --nproc-per-node 2 "$worker" apart
    expect_line err "^\\[rank [01]\\] .*all_reduce #2 .*$from"
}

case_nothing_is_said_unless_it_is_asked_for() {
    for value in '' 0; do
        export TORCH_SHOW_CPP_STACKTRACES=$value
        launch --nproc-per-node 2 "$worker" apart
        expect_code 3
        expect_no_line err 'called by'
    done
}

"$2"
