#!/bin/sh
# Does a tutti program meet under any launcher, and a script of PyTorch under tuttirun?
# programs_test.sh TUTTIRUN CASE ALL_REDUCE LIBTUTTI; exits with 77 where a launcher is missing.
# PyTorch is looked for in a root of its own: TUTTI_PYTORCH_ROOT names it. What a case runs is
# written to the file TUTTI_COMMANDS, if that is set (`environments` shows it).
. "$(dirname "$0")/launch.sh"

program=$3
library=${4:-} # none in builds that watch: an MPI program is not built so
here=$(cd "$(dirname "$0")" && pwd)
skipped=77
trap 'rm -rf "$folder" ${away:+"$away"}' EXIT

# The sum of what four ranks give, from each of them, in the output of a launcher.
expect_sums() {
    for rank in 0 1 2 3; do expect_line out "rank $rank of 4: sum = 10"; done
}

shows() {
    [ -z "${TUTTI_COMMANDS:-}" ] || echo "$*" >>"$TUTTI_COMMANDS"
}

skip() {
    echo "$1"
    exit $skipped
}

need() {
    command -v "$1" >/dev/null || skip "there is no $1"
}

forget_launchers() {
    names='RANK|WORLD_SIZE|(MASTER|SLURM|OMPI|PMI|PMIX|MPI)_[A-Z_]*'
    for name in $(env | sed -nE "s/^($names)=.*/\1/p"); do unset "$name"; done
}

# A folder in PyTorch's root, $away from outside and $inside from there, with what is named. What is
# beside sitecustomize.py are scripts as people write them, unmodified.
need_pytorch() {
    [ -n "${TUTTI_PYTORCH_ROOT:-}" ] || skip "TUTTI_PYTORCH_ROOT names no root with PyTorch"
    [ "$(id -u)" -eq 0 ] || skip "chroot needs root"
    away=$(mktemp -d "$TUTTI_PYTORCH_ROOT/tmp/tutti.XXXXXX")
    inside=${away#"$TUTTI_PYTORCH_ROOT"}
    in_root="chroot $TUTTI_PYTORCH_ROOT env LD_LIBRARY_PATH=$inside PYTHONPATH=$inside"
    # In that root the host's name may be known to nobody, and PyTorch asks for it.
    in_root="$in_root GLOO_SOCKET_IFNAME=lo"
    cp "$@" "$here/pytorch/sitecustomize.py" "$away"
    # The libraries that a program needs beside the C and C++ run time, unless it is there.
    ldd "$1" 2>/dev/null | sed -nE 's/.* => (.*lib(tutti|uv)\.so[^ ]*) .*/\1/p' |
        while read -r needed; do
            [ -n "$(find "$TUTTI_PYTORCH_ROOT"/usr/lib* -name "${needed##*/}" -print -quit)" ] ||
                cp "$needed" "$away"
        done
}

in_pytorch() {
    # shellcheck disable=SC2086
    $in_root "$@"
}

# Four times the program, with the variables that srun gives its tasks; $1 is the list of nodes.
run_as_slurm_does() {
    forget_launchers
    MASTER_PORT=$(hold_port)
    export MASTER_PORT SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=$$ SLURM_STEP_ID=0
    export SLURM_STEP_NUM_NODES="$2" "$3=$1"
    shows "SLURM_PROCID=R SLURM_STEP_NUM_TASKS=4 SLURM_STEP_NUM_NODES=$2 $3=$1 all_reduce"
    for rank in 1 2 3; do
        SLURM_PROCID=$rank "$program" >"$folder/out.$rank" &
    done
    SLURM_PROCID=0 "$program" >"$folder/out"
    wait
    cat "$folder"/out.? >>"$folder/out"
    expect_sums
}

# Whichever rank it is, on one node or on another: the others would wait for half an hour.
# As something that reads logs gets them: no prefixes, and the rank in each line.
case_the_log_of_ranks_is_lines_of_json() {
    need jq
    export TUTTI_LOG_LEVEL=trace TUTTI_LOG_FORMAT=json
    launch --nproc-per-node 4 --no-prefix "$program"
    expect_code 0
    ranks=$(jq -r 'select(.level and .time and .host and .pid and .message and .world_size == 4).rank' \
        "$folder/err") || fail "a line is not JSON"
    [ "$(echo "$ranks" | wc -l)" -eq "$(wc -l <"$folder/err")" ] || fail "a field is missing"
    [ "$(echo "$ranks" | sort -u | tr '\n' ' ')" = "0 1 2 3 " ] || fail "not all ranks log"
}

case_a_rank_that_ends_before_init_is_named_to_the_others() {
    for absent in 1 0; do
        # shellcheck disable=SC2016
        launch --nproc-per-node 3 sh -c '[ "$RANK" = "$0" ] || exec "$1"' $absent "$program"
        [ "$code" -ne 0 ] || fail "rank $absent was not missed"
        expect_line err "rank $absent has ended, before all had met"
    done
}

case_it_meets_under_tuttirun() {
    shows tuttirun --nproc-per-node 4 all_reduce
    launch --nproc-per-node 4 "$program"
    expect_code 0
    expect_sums
}

case_it_meets_with_the_ranks_of_another_program() {
    cp "$program" "$folder/other"
    shows tuttirun --nproc-per-node 1 all_reduce : --nproc-per-node 3 other
    launch --nproc-per-node 1 "$program" : --nproc-per-node 3 "$folder/other"
    expect_code 0
    expect_sums
}

case_it_meets_in_processes_of_its_own() {
    shows ./spawn 3
    "$(dirname "$program")/spawn" 3 >"$folder/out" 2>"$folder/err" || fail "spawn failed"
    expect_line out '^3 processes: pi = 3\.141593$'
}

case_it_meets_by_the_variables_of_torchrun() {
    forget_launchers
    MASTER_PORT=$(hold_port)
    export MASTER_PORT MASTER_ADDR=127.0.0.1 WORLD_SIZE=4
    shows RANK=R WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=P all_reduce
    for rank in 1 2 3; do
        RANK=$rank "$program" >"$folder/out.$rank" &
    done
    RANK=0 "$program" >"$folder/out"
    wait
    cat "$folder"/out.? >>"$folder/out"
    expect_sums
}

case_it_meets_across_nodes_of_tuttirun() {
    shows tuttirun --nnodes 2 --node-rank R --nproc-per-node 3 / 1 all_reduce
    mkfifo "$folder/place"
    "$tuttirun" --nnodes 2 --node-rank 0 --master-port 0 --nproc-per-node 3 "$program" \
        >"$folder/out" 2>"$folder/place" &
    first=$!
    exec 3<"$folder/place"
    read -r line <&3
    cat <&3 >"$folder/err.0" & # the end of a pipe that is written to would end the job
    code=0
    "$tuttirun" --nnodes 2 --node-rank 1 --master-port "${line##*:}" "$program" \
        >"$folder/out.1" 2>"$folder/err" || code=$?
    expect_code 0
    wait $first || fail "node 0 failed"
    cat "$folder/out.1" >>"$folder/out"
    expect_sums
}

case_it_meets_again_after_a_restart() {
    export program
    shows tuttirun --nproc-per-node 4 --max-restarts 1 "sh -c '... kill -9 ...; all_reduce'"
    launch --nproc-per-node 4 --max-restarts 1 sh -c '
        [ "$RANK$TORCHELASTIC_RESTART_COUNT" != 20 ] || kill -9 $$
        exec "$program"'
    expect_code 0
    expect_sums
}

case_it_meets_by_the_variables_of_slurm() {
    run_as_slurm_does localhost 1 SLURM_STEP_NODELIST
}

# The first of the list is rank 0's; all of 127.0.0.0/8 is this machine.
case_it_meets_by_slurms_list_of_nodes() {
    run_as_slurm_does '127.0.0.[1-2,7]' 3 SLURM_JOB_NODELIST
}

case_it_meets_by_the_variables_of_pmi() {
    forget_launchers
    MASTER_PORT=$(hold_port)
    export MASTER_PORT PMI_SIZE=4 MPI_LOCALNRANKS=4
    shows PMI_RANK=R PMI_SIZE=4 MPI_LOCALNRANKS=4 all_reduce
    for rank in 1 2 3; do
        PMI_RANK=$rank "$program" >"$folder/out.$rank" &
    done
    PMI_RANK=0 "$program" >"$folder/out"
    wait
    cat "$folder"/out.? >>"$folder/out"
    expect_sums
}

case_it_meets_under_mpich() {
    need mpirun.mpich
    forget_launchers
    shows mpirun.mpich -n 4 all_reduce
    mpirun.mpich -n 4 "$program" >"$folder/out" 2>"$folder/err" || fail "mpirun.mpich failed"
    expect_sums
}

case_it_meets_under_open_mpi() {
    need mpirun.openmpi
    forget_launchers
    shows mpirun.openmpi -n 4 all_reduce
    mpirun.openmpi --allow-run-as-root --oversubscribe -n 4 "$program" \
        >"$folder/out" 2>"$folder/err" || fail "mpirun.openmpi failed"
    expect_sums
}

case_it_meets_under_torchrun() {
    need_pytorch "$program"
    ! in_pytorch ldd "$inside/all_reduce" | grep -q 'not found' || skip "it does not run there"
    forget_launchers
    shows torchrun --no-python --local-addr 127.0.0.1 --nproc-per-node 4 all_reduce
    in_pytorch torchrun --no-python --local-addr 127.0.0.1 --nproc-per-node 4 "$inside/all_reduce" \
        >"$folder/out" 2>"$folder/err" || fail "torchrun failed"
    expect_sums
}

case_a_script_of_pytorch_trains_under_tuttirun() {
    need_pytorch "$here/pytorch/train.py"
    shows tuttirun --nproc-per-node 4 python3 train.py
    # shellcheck disable=SC2086
    launch --nproc-per-node 4 $in_root python3 "$inside/train.py"
    expect_code 0
    for rank in 0 1 2 3; do expect_line out "^\[rank $rank\] rank $rank of 4: loss fell"; done
    [ "$(sed -n 's/.*weights //p' "$folder/out" | sort -u | wc -l)" -eq 1 ] ||
        fail "the ranks have different weights"
}

case_a_script_of_pytorch_starts_again_on_two_nodes() {
    need_pytorch "$here/pytorch/train.py"
    mkfifo "$folder/place"
    shows tuttirun --nnodes 2 --node-rank R --nproc-per-node 2 --max-restarts 1 python3 train.py
    export FAIL_ONCE=1
    # shellcheck disable=SC2086
    "$tuttirun" --nnodes 2 --node-rank 0 --master-port 0 --nproc-per-node 2 --max-restarts 1 \
        $in_root python3 "$inside/train.py" >"$folder/out" 2>"$folder/place" &
    exec 3<"$folder/place"
    read -r line <&3
    cat <&3 >"$folder/err.0" &
    code=0
    # shellcheck disable=SC2086
    "$tuttirun" --nnodes 2 --node-rank 1 --master-port "${line##*:}" --nproc-per-node 2 \
        --max-restarts 1 $in_root python3 "$inside/train.py" >"$folder/out.1" 2>"$folder/err" || code=$?
    expect_code 0
    wait
    cat "$folder/out.1" >>"$folder/out"
    for rank in 0 1 2 3; do expect_line out "rank $rank of 4: loss fell .* restart 1"; done
    expect_line err.0 '^tuttirun: first failure: rank 3 .* exited with code 1 at '
    expect_line err.0 'RuntimeError: a bad day'
}

# meet_by_the_all_gather_of COMPILER LAUNCHER...: a program whose ranks know each other by MPI.
meet_by_the_all_gather_of() {
    need "$1"
    need "$2"
    [ -n "$library" ] || skip "not with a library that sanitizers watch"
    "$1" -I"$here/../../include" "$here/../../examples/c/mpi_all_reduce.c" "$library" \
        -Wl,-rpath,"$(dirname "$library")" -o "$folder/program" 2>"$folder/err" ||
        skip "$1 does not compile: $(cat "$folder/err")"
    shift
    forget_launchers
    shows "$@" -n 4 mpi_all_reduce
    "$@" -n 4 "$folder/program" >"$folder/out" 2>"$folder/err" || fail "$1 failed"
    expect_sums
}

case_it_meets_by_the_all_gather_of_mpich() {
    meet_by_the_all_gather_of mpicc.mpich mpiexec.hydra
}

case_it_meets_by_the_all_gather_of_open_mpi() {
    meet_by_the_all_gather_of mpicc.openmpi mpirun.openmpi --allow-run-as-root --oversubscribe
}

"$2"
