#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPICH 5 and Open MPI 6 both provide the standard ABI as libmpi_abi.so.1. Where both are installed,
# that name leads to Open MPI, for a program that was linked with MPICH's too: mpirun of MPICH then
# starts two jobs of one rank in place of one of two.
#   findings/mpi-abi-soname.sh     as root; needs mmdebstrap and some minutes. 0: it is still so.
set -u
packages='gcc libc6-dev mpich=5.0.2-2 libmpich-dev=5.0.2-2 libopenmpi40=6.0.0~rc2-2'
work=$(mktemp -d) || exit
trap 'umount "$work"/root/{dev/shm,proc,sys} 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
mirror=$(apt-get indextargets --format '$(ORIGIN)|$(LABEL)|$(SITE)' 'Created-By: Packages' | sed -n 's/^Debian|Debian|//p' | head -n 1)
# sid is a snapshot here, whose date may be over.
mmdebstrap --quiet --variant=minbase --aptopt='Acquire::Check-Valid-Until "false"' --include="$packages" \
    sid "$work/root" "deb $mirror sid main" >"$work/log" 2>&1 || {
    echo "the packages cannot be installed: $packages"
    exit 2
}
mkdir -p "$work/root/dev/shm" && mount -t tmpfs tmpfs "$work/root/dev/shm" && mount -t proc proc "$work/root/proc" &&
    mount -t sysfs sysfs "$work/root/sys" || exit 2
cat >"$work/root/start.c" <<'C'
#include <mpi.h>
#include <stdio.h>
int main(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int size, length;
    MPI_Init(NULL, NULL);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_library_version(text, &length);
    printf("a job of %d: %.15s\n", size, text);
    return MPI_Finalize();
}
C
within() { chroot "$work/root" timeout 120 "$@" </dev/null; }
abi=$(echo "$work"/root/usr/lib/*/mpi_abi_mpich)
abi=${abi#"$work/root"}
within gcc -o /start "-I$abi/include" /start.c "-L$abi/lib" -lmpi_abi || exit 2
within dpkg-query -W libmpich12 libopenmpi40
within sh -c 'readlink /usr/lib/*/libmpi_abi.so.1'
within mpirun.mpich -np 2 /start >"$work/out" 2>"$work/errors"
grep '^a job of' "$work/out"
[ "$(grep -c '^a job of 1: Open MPI' "$work/out")" = 2 ]
