# shellcheck shell=bash
# Where things are put, and whether that can be written; for scripts that have a function "fail MESSAGE" of their own.

# The folder of what is built or unpacked once for all source trees.
cache_folder() {
    local home=${HOME:-} caches=${XDG_CACHE_HOME:-}
    if [ -n "${TUTTI_CACHE:-}" ]; then
        [[ $TUTTI_CACHE = /* ]] || fail "TUTTI_CACHE must be an absolute path, not $TUTTI_CACHE"
        echo "$TUTTI_CACHE"
        return
    fi
    [ -n "$home" ] || home=$(getent passwd "$(id -u)" | cut -d : -f 6)
    [[ $caches = /* ]] || caches=  # a relative path counts as none, by the specification of that variable
    [ -n "$caches$home" ] ||
        fail "HOME is not set, and user $(id -u) has no home: set TUTTI_CACHE to a folder for what is built only once"
    echo "${caches:-$home/.cache}/tutti"
}

# Whether a folder, which is made if needed, can be written. If not, prints the system's words.
can_write() {
    local words
    words=$({ mkdir -p "$1" && rm "$(mktemp "$1/.tutti-XXXXXX")"; } 2>&1) && return
    words=${words%%$'\n'*}
    echo "${words##*: }"
    return 1
}

# The megabytes that are free where a folder is.
megabytes_free() { df --output=avail -B M "$1" 2>/dev/null | tail -n 1 | tr -dc 0-9; }

# need_room FOLDER MEGABYTES WHAT ADVICE: fails if FOLDER cannot be written or has less room than that.
need_room() {
    local folder=$1 wanted=$2 free words
    words=$(can_write "$folder") || fail "$3, $folder, cannot be written ($words): $4"
    free=$(megabytes_free "$folder")
    [ "${free:-$wanted}" -ge "$wanted" ] ||
        fail "$3, $folder, has $free MB left and needs $wanted MB: make room there, or $4"
}
