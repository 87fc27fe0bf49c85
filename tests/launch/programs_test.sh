#!/bin/sh
# Does a tutti program meet under any launcher? programs_test.sh TUTTIRUN CASE ALL_REDUCE; exits
# with 77 where a launcher is missing.
. "$(dirname "$0")/launch.sh"

program=$3
skipped=77

# The sum of what four ranks give, from each of them, in the output of a launcher.
expect_sums() {
    for rank in 0 1 2 3; do expect_line out "rank $rank of 4: sum = 10"; done
}

need() {
    command -v "$1" >/dev/null || {
        echo "there is no $1"
        exit $skipped
    }
}

forget_launchers() {
    names='RANK|WORLD_SIZE|(MASTER|SLURM|OMPI|PMI|PMIX|MPI)_[A-Z_]*'
    for name in $(env | sed -nE "s/^($names)=.*/\1/p"); do unset "$name"; done
}

case_it_meets_across_nodes_of_tuttirun() {
    mkfifo "$folder/place"
    "$tuttirun" --nnodes 2 --node-rank 0 --master-port 0 --nproc-per-node 3 "$program" \
        >"$folder/out" 2>"$folder/place" &
    read -r line <"$folder/place"
    code=0
    "$tuttirun" --nnodes 2 --node-rank 1 --master-port "${line##*:}" "$program" \
        >"$folder/out.1" 2>"$folder/err" || code=$?
    expect_code 0
    wait $! || fail "node 0 failed"
    cat "$folder/out.1" >>"$folder/out"
    expect_sums
}

case_it_meets_again_after_a_restart() {
    export program
    launch --nproc-per-node 4 --max-restarts 1 sh -c '
        [ "$RANK$TORCHELASTIC_RESTART_COUNT" != 20 ] || kill -9 $$
        exec "$program"'
    expect_code 0
    expect_sums
}

case_it_meets_by_the_variables_of_slurm() {
    forget_launchers
    MASTER_PORT=$("$tuttirun" sh -c 'echo "$MASTER_PORT"' | sed 's/.* //')
    export MASTER_PORT SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=$$ SLURM_STEP_ID=0
    export SLURM_STEP_NODELIST=localhost
    for rank in 1 2 3; do
        SLURM_PROCID=$rank "$program" >"$folder/out.$rank" &
    done
    SLURM_PROCID=0 "$program" >"$folder/out"
    wait
    cat "$folder"/out.? >>"$folder/out"
    expect_sums
}

case_it_meets_under_mpich() {
    need mpiexec.hydra
    forget_launchers
    mpiexec.hydra -n 4 "$program" >"$folder/out" 2>"$folder/err" || fail "mpiexec.hydra failed"
    expect_sums
}

case_it_meets_under_open_mpi() {
    need mpirun.openmpi
    forget_launchers
    mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 "$program" \
        >"$folder/out" 2>"$folder/err" || fail "mpirun.openmpi failed"
    expect_sums
}

"$2"
