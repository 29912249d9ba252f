# SPDX-License-Identifier: BSD-3-Clause
# To be sourced by a finding: a chroot of Debian with pinned packages, in a temporary folder that
# goes when the finding ends. It needs root, mmdebstrap, namespaces and some minutes.
#   make_root SUITE PACKAGE[=VERSION] ...   exits with 2 if the packages cannot be had
#   within COMMAND ...                      runs it there: a /dev/shm, processes and a network of its own
#   $root                                   the chroot's folder, for files that a finding writes
set -u
folder=$(mktemp -d) || exit 2
trap 'rm -rf --one-file-system "$folder"' EXIT
root=$folder/root

# Prints the mirror of Debian that apt on this host uses.
mirror()
{
    apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 'Created-By: Packages' |
        sed -n 's/^Debian|Debian|//p' | head -n 1
}

# Lists of packages of sid may be a snapshot, whose date is over. Packages come behind the base, as
# some (Open MPI's) cannot be configured with it in one step.
make_root()
{
    mmdebstrap --quiet --variant=apt --aptopt='Acquire::Check-Valid-Until "false";' "$1" "$root" \
        "deb $(mirror) $1 main" >"$folder/log" 2>&1 &&
        chroot "$root" apt-get update -qq >>"$folder/log" 2>&1 &&
        chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
            "${@:2}" >>"$folder/log" 2>&1 && return
    echo "the packages cannot be installed: ${*:2}"
    tail -n 5 "$folder/log"
    exit 2
}

# The command ends after 120 s, and is not process 1 of its namespace, below which timeout of new
# coreutils starts nothing. Open MPI's launcher refuses root unless variables permit it.
within()
{
    unshare --net --mount --pid --fork --kill-child bash -c 'ip link set lo up && mount -t proc proc "$0/proc" &&
        mount -t sysfs sysfs "$0/sys" && mkdir -p "$0/dev/shm" && mount -t tmpfs tmpfs "$0/dev/shm" &&
        chroot "$0" env HOME=/root OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
            PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 timeout 120 "$@"
        exit $?' "$root" "$@" </dev/null
}
