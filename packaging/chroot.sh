# shellcheck shell=bash
# Roots of Debian to build and to try packages in, for scripts that have a function "fail MESSAGE" of their own. A root
# is made once and stays as it was made: what happens in it happens in a layer above, which is thrown away. Its mounts
# are in a namespace of their own and end with the command; its /dev is its own.

# make_root FOLDER SUITE: a small Debian, complete or not there at all.
make_root() {
    local folder=$1 suite=$2 mirror
    [ ! -e "$folder" ] || return 0
    command -v debootstrap >/dev/null || fail "debootstrap is missing: install the package debootstrap"
    mirror=$(debian_mirrors | grep -v -e security -e backports | head -n 1)
    [ -n "$mirror" ] || fail "apt knows no mirror of Debian: one of its sources has to answer apt-get update"
    rm -rf --one-file-system "$folder.new"
    debootstrap --variant=minbase "$suite" "$folder.new" "$mirror" >"$folder.log" 2>&1 ||
        { tail -n 20 "$folder.log" >&2; fail "debootstrap cannot make a Debian $suite in $folder.new"; }
    # Nothing that is installed starts.
    printf '#!/bin/sh\nexit 101\n' >"$folder.new/usr/sbin/policy-rc.d"
    chmod +x "$folder.new/usr/sbin/policy-rc.d"
    # A root that a power cut spoils is made anew: dpkg need not wait for the disk.
    echo force-unsafe-io >"$folder.new/etc/dpkg/dpkg.cfg.d/unsafe-io"
    mv "$folder.new" "$folder"
}

# in_root FOLDER COMMAND...: for good, with the network.
in_root() {
    local folder=$1
    shift
    cp -L /etc/resolv.conf "$folder/etc/resolv.conf"
    unshare --mount -- sh -c '
        set -eu
        folder=$1
        shift
        mount -t proc proc "$folder/proc"
        exec chroot "$folder" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive "$@"
    ' in_root "$folder" "$@"
}

# above_root FOLDER LAYER COMMAND...: in the layer above, which is kept, and without a network but its own loopback.
# What lies in LAYER/shared is /shared in there; a compiler cache at $TUTTI_DEB_CCACHE is /ccache.
above_root() { in_layer --net "$@"; }

# online_above_root FOLDER LAYER COMMAND...: the same with this machine's network.
online_above_root() { in_layer --mount "$@"; }

# in_layer OPTION FOLDER LAYER COMMAND...: OPTION is one more of unshare's.
in_layer() {
    local option=$1 folder=$2 layer=$3
    shift 3
    mkdir -p "$layer/above" "$layer/work" "$layer/root" "$layer/shared"
    unshare --mount --pid --fork --kill-child "$option" -- sh -c '
        set -eu
        option=$1 folder=$2 layer=$3 cache=$4
        shift 4
        mount -t overlay overlay -o "lowerdir=$folder,upperdir=$layer/above,workdir=$layer/work" "$layer/root"
        mount -t proc proc "$layer/root/proc"
        mkdir -p "$layer/root/dev/shm" "$layer/root/shared" "$layer/root/ccache"
        mount -t tmpfs tmpfs "$layer/root/dev/shm"
        mount --bind "$layer/shared" "$layer/root/shared"
        [ -z "$cache" ] || mount --bind "$cache" "$layer/root/ccache"
        if [ "$option" = --net ]; then
            ip link set lo up
        else
            cp -L /etc/resolv.conf "$layer/root/etc/resolv.conf"
        fi
        chroot "$layer/root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive DEB_BUILD_OPTIONS="${DEB_BUILD_OPTIONS:-}" "$@"
    ' in_layer "$option" "$folder" "$layer" "${TUTTI_DEB_CCACHE:-}" "$@"
}

# remove_layer LAYER: its mounts ended with the namespace.
remove_layer() { rm -rf --one-file-system "$1"; }
