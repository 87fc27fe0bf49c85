# shellcheck shell=bash
# What the tests of packaging share; each sources this file. They work on a cache of their own, and programs in
# $folder/bin stand for those of the machine.
set -euo pipefail
# shellcheck disable=SC2034
packaging=$(cd "$(dirname "$0")/../../packaging" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TUTTI_CACHE=$folder/cache PATH=$folder/bin:$PATH
unset XDG_CACHE_HOME TUTTI_GLOO_VERSION TUTTI_GLOO_SHA256
mkdir -p "$folder/bin" "$TUTTI_CACHE"

fail() { printf '%s\n' "$@" >&2; exit 1; }

# stand_in NAME: the program NAME is what stdin says.
stand_in() { { echo '#!/bin/bash'; cat; } >"$folder/bin/$1"; chmod +x "$folder/bin/$1"; }

# says WORDS COMMAND...: COMMAND succeeds and says WORDS.
says() {
    local words=$1 said
    shift
    said=$("$@" 2>&1) || fail "$* failed:" "$said"
    grep -qF -- "$words" <<<"$said" || fail "$* does not say \"$words\", but:" "$said"
}

# refuses WORDS COMMAND...: COMMAND fails and says WORDS.
refuses() {
    local words=$1 said
    shift
    ! said=$("$@" 2>&1) || fail "$* does not fail, and says:" "$said"
    grep -qF -- "$words" <<<"$said" || fail "$* does not say \"$words\", but:" "$said"
}
