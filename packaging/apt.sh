# shellcheck shell=bash
# apt, for the scripts that install something and have a function "fail MESSAGE" of their own. A source that is dead or
# was renamed ends nothing here: the caller looks at what is there in the end.

apt_patience=(-o Acquire::Retries=2 -o Acquire::http::Timeout=30 -o Acquire::https::Timeout=30)
# shellcheck disable=SC2034
signed_by_debian=signed-by=/usr/share/keyrings/debian-archive-keyring.gpg
apt_words=''

# Runs apt-get as root and unattended. What it prints goes into $apt_words.
apt_get() {
    local as_root=() limit=0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || { apt_words="E: apt-get $1 needs root: be root, or install sudo"; return 1; }
        as_root=(sudo)
    fi
    [ "$1" != update ] || limit=600
    apt_words=$("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive timeout --foreground $limit \
        apt-get -q -y "${apt_patience[@]}" -o DPkg::Lock::Timeout=300 "$@" 2>&1 </dev/null)
}

# The last complaints of apt-get, or all it said last.
apt_complaints() {
    grep -E '^[EW]: ' <<<"$apt_words" | tail -n 20 | grep . || tail -n 20 <<<"$apt_words"
}

# Reads the lists of those sources that answer.
apt_update() {
    apt_get update --allow-releaseinfo-change && ! grep -q '^W: Failed to fetch' <<<"$apt_words" && return
    echo "apt-get update cannot read all sources; the others will do if they have what is missing:" >&2
    apt_complaints >&2
}

# Installs packages. If that fails, the caller looks at what is missing.
apt_install() { apt_get install --no-install-recommends "$@" || true; }

# Debian's mirrors, as the machine's apt has them in its lists.
debian_mirrors() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Label: Debian' | sort -u
}

# Whether apt knows a mirror of Debian, after it has read its lists if need be.
knows_a_mirror() { [ -n "$(debian_mirrors)" ] || { apt_update; [ -n "$(debian_mirrors)" ]; }; }

# configure_suites FOLDER LINE SUITE...: an apt that reads these suites alone, from the mirrors that the machine's apt
# knows. Its lists, cache and configuration are in FOLDER; the machine's stay as they are. LINE begins a line of its
# sources.
configure_suites() {
    local folder=$1 line=$2 mirror suite
    shift 2
    knows_a_mirror || fail "apt knows no mirror of Debian: one of its sources has to answer apt-get update"
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    for mirror in $(debian_mirrors); do
        for suite in "$@"; do echo "$line $mirror $suite main"; done
    done >"$folder/sources.list"
    cat >"$folder/apt.conf" <<CONF
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
Dir::Etc::sourcelist "$folder/sources.list";
Dir::Etc::sourceparts "-";
Dir::State::lists "$folder/lists";
Dir::Cache "$folder/cache";
Acquire::Check-Valid-Until "false";
APT::Sandbox::User "root";
CONF
}

# apt_of FOLDER COMMAND ARGUMENT...: a command of that apt.
apt_of() {
    local folder=$1 limit=0
    shift
    [ "$2" != update ] || limit=600
    timeout --foreground $limit "$@" -c="$folder/apt.conf" -q "${apt_patience[@]}"
}
