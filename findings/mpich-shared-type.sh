#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPICH 5.0.2 of Debian splits by MPI_COMM_TYPE_SHARED into communicators of one rank each, though all
# ranks run on one host; MPICH 4 puts them into one.
#   findings/mpich-shared-type.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root sid gcc libc6-dev mpich=5.0.2-2 libmpich-dev=5.0.2-2
cat >"$root/split.c" <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    MPI_Comm host;
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_size(host, &size);
    printf("ranks that share memory: %d\n", size);
    return MPI_Finalize();
}
C
within mpicc.mpich -o /split /split.c || exit 2
within dpkg-query -W mpich
within mpirun.mpich -np 4 /split >"$folder/out" 2>&1
cat "$folder/out"
[ "$(grep -cx 'ranks that share memory: 1' "$folder/out")" = 4 ]
