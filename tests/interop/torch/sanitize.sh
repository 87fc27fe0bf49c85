# shellcheck shell=sh
# Sourced by inside with TUTTI_SANITIZE=address: sets what the module and the programs in C are compiled with,
# and by which command Python runs. What the sanitizers say goes into reports; those in which this code is named are
# printed in the end, and fail. Python and PyTorch, which are not instrumented, leak by themselves.
type=None
[ "$TUTTI_SANITIZE" = address ] || {
    echo "TUTTI_SANITIZE is address, not $TUTTI_SANITIZE" >&2
    exit 2
}
flags="-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all"
preload=
for library in asan ubsan stdc++; do preload="$preload:$(c++ -print-file-name="lib$library.so")"; done
python="env LD_PRELOAD=${preload#:} PYTHONMALLOC=malloc python3"  # Python's own allocator hides leaks
rm -f "$work"/report.*
export ASAN_OPTIONS="log_path=$work/report:detect_odr_violation=0" LSAN_OPTIONS=exitcode=0
export UBSAN_OPTIONS="log_path=$work/report:print_stacktrace=1"

print_reports() {
    code=$?
    for report in "$work"/report.*; do
        [ -e "$report" ] || break
        awk 'BEGIN { RS = "" } /tutti_torch|libtutti|peer/ { print; bad = 1 } END { exit bad }' "$report" >&2 || code=1
    done
    exit "$code"
}
trap print_reports EXIT
