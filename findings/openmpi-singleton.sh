#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI 5.0.7: each start of an MPI program without mpirun leaves a file of 16 MiB in /dev/shm,
# though the program ends by MPI_Finalize. A host whose programs start so fills its memory.
#   findings/openmpi-singleton.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root trixie gcc libc6-dev openmpi-bin=5.0.7-1 libopenmpi-dev=5.0.7-1
cat >"$root/one.c" <<'C'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
C
within mpicc.openmpi -o /one /one.c || exit 2
within dpkg-query -W openmpi-bin
within sh -c '/one; /one; /one; find /dev/shm -type f -size +1M -printf "%s\n"' >"$folder/out"
echo "files left by three starts, in bytes:" $(grep -x '[0-9]*' "$folder/out")
[ "$(grep -cx '[0-9]*' "$folder/out")" -ge 3 ]
