# The common part of the scripts of this folder; to be sourced. SCRIPT TUTTIRUN CASE runs one case,
# a function below; every function named case_... is a test of ctest. Nothing is timed: who must
# wait, waits for a line or for the end of a fifo. A rank that is to live until it is ended runs
# `tail -f /dev/null`.
set -eu

tuttirun=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export folder TMPDIR="$folder"

fail() {
    echo "$1" >&2
    for file in "$folder"/out* "$folder"/err*; do
        [ ! -f "$file" ] || { echo "--- $file" && cut -c 1-200 "$file"; } >&2
    done
    exit 1
}

# launch arguments...: runs tuttirun to its end; its exit code lands in $code.
launch() {
    code=0
    "$tuttirun" "$@" >"$folder/out" 2>"$folder/err" </dev/null || code=$?
}

# launch_in_background arguments...: its output arrives on descriptor 3; the pid lands in $launcher.
# The shell ignores SIGINT and SIGQUIT for what it starts in the background; a terminal does not.
launch_in_background() {
    mkfifo "$folder/both"
    env --default-signal=INT,QUIT "$tuttirun" "$@" >"$folder/both" 2>&1 </dev/null &
    launcher=$!
    exec 3<"$folder/both"
}

# wait_for_lines pattern count: reads descriptor 3 until so many lines have matched.
wait_for_lines() {
    seen=0
    while [ "$seen" -lt "$2" ]; do
        IFS= read -r line <&3 || fail "the output ended before \"$1\" came $2 times"
        case $line in *$1*) seen=$((seen + 1)) ;; esac
    done
}

# Waits for the end of the launcher in the background; the rest of its output lands in out.
finish() {
    cat <&3 >"$folder/out"
    code=0
    wait "$launcher" || code=$?
}

# start_node N arguments...: node N in the background; its output arrives on descriptor 3 + N.
start_node() {
    node=$1
    shift
    mkfifo "$folder/node.$node"
    env --default-signal=INT,QUIT "$tuttirun" "$@" >"$folder/node.$node" 2>&1 </dev/null \
        5>&- 6<&- &
    eval "launcher_$node=$!"
    eval "exec $((3 + node))<\"$folder/node.$node\""
}

# wait_for_line N pattern: reads the output of node N until a line matches; it lands in $line.
wait_for_line() {
    while IFS= read -r line <&$((3 + $1)); do
        echo "$line" >>"$folder/out.$1"
        case $line in *$2*) return ;; esac
    done
    fail "the output of node $1 ended before \"$2\" came"
}

# start_two_nodes arguments...: static nodes that have all else in common.
start_two_nodes() {
    start_node 0 --nnodes 2 --node-rank 0 --master-port 0 "$@"
    wait_for_line 0 'the nodes meet at '
    start_node 1 --nnodes 2 --node-rank 1 --master-port "${line##*:}" "$@"
}

# finish_node N code: waits for its end; the rest of its output lands in out.N.
finish_node() {
    eval "cat <&$((3 + $1))" >>"$folder/out.$1"
    code=0
    eval "wait \$launcher_$1" || code=$?
    [ "$code" -eq "$2" ] || fail "exit code $code of node $1 instead of $2"
}

expect_code() {
    [ "$code" -eq "$1" ] || fail "exit code $code instead of $1"
}

expect_line() { # file pattern
    grep -Eq -- "$2" "$folder/$1" || fail "no line in $1 matches: $2"
}

expect_no_line() {
    ! grep -Eq -- "$2" "$folder/$1" || fail "a line in $1 matches: $2"
}

# hold_port: prints a port that nobody else is given until the script ends: a process in the
# background has bound it and does not listen, so that whoever is told of it can.
hold_port() {
    command -v python3 >/dev/null || {
        echo 'skipped: there is no python3' >&2
        exit 77
    }
    python3 -c '
import os, select, socket, sys
script = os.pidfd_open(int(sys.argv[1]))
holder = socket.socket()
holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
holder.bind(("", 0))
print(holder.getsockname()[1], flush=True)
if os.fork() == 0:
    os.close(1)
    select.select([script], [], [])' $$
}

# A fifo ends when the last process that holds it has ended. Until wait_until_released the shell
# holds it, too.
make_held_fifo() {
    mkfifo "$folder/held"
    exec 5<>"$folder/held" 6<"$folder/held"
}

wait_until_released() {
    exec 5>&-
    cat <&6
}
