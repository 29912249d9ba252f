#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Finding: the library of PMI-2 that Debian has (libpmi2, of Slurm) cannot start below mpirun of
# MPICH 4.2 and later. PMI2_Init returns 14 (PMI2_ERR_OTHER). The launcher's answer to "fullinit"
# has the key "debugged" in MPICH 4.0.2 and lacks it in 4.2.1, which is the likely reason.
#
# Makes a chroot of Debian 13 in a temporary folder and runs a program that calls PMI2_Init there.
# Exits with 0 if it behaves so, with 1 if not any more, with 2 if the chroot cannot be made.
set -u
pinned="mpich=4.3.0+really4.2.1-1 libpmi2-0-dev=24.11.5-4+deb13u1"
folder=$(mktemp -d) || exit 2
trap 'rm -rf --one-file-system "$folder"' EXIT
mirror=$(apt-get indextargets --format '$(SITE)' | head -n 1)
root=$folder/root

mmdebstrap --variant=apt --include="gcc libc6-dev $pinned" trixie "$root" \
    "deb $mirror trixie main" >"$folder/log" 2>&1 || {
    tail -n 5 "$folder/log"
    exit 2
}
cat >"$root/tmp/start.c" <<'C'
#include <slurm/pmi2.h>
#include <stdio.h>
int main(void)
{
    int spawned, size, rank, program;
    int error = PMI2_Init(&spawned, &size, &rank, &program);
    printf("PMI2_Init returns %d\n", error);
    return error;
}
C
run() { unshare --net --mount --pid --fork --kill-child bash -c \
    'ip link set lo up; mount -t proc proc "$0/proc"; mount -t tmpfs tmpfs "$0/dev/shm"; exec chroot "$0" timeout 60 "$@"' "$root" "$@"; }
run gcc -o /tmp/start /tmp/start.c -lpmi2 || exit 2
run dpkg-query -W mpich libpmi2-0t64
echo "mpirun.mpich -np 1 start:"
run mpirun.mpich -np 1 /tmp/start >"$folder/out" 2>&1
cat "$folder/out"
grep -qx 'PMI2_Init returns 14' "$folder/out"
