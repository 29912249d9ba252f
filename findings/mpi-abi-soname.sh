#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPICH 5 and Open MPI 6 both provide the standard ABI as libmpi_abi.so.1. Where both are installed,
# that name leads to Open MPI, for a program that was linked with MPICH's too: mpirun of MPICH then
# starts two jobs of one rank in place of one of two.
#   findings/mpi-abi-soname.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root sid gcc libc6-dev mpich=5.0.2-2 libmpich-dev=5.0.2-2 libopenmpi40=6.0.0~rc2-2
cat >"$root/start.c" <<'C'
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
abi=$(echo "$root"/usr/lib/*/mpi_abi_mpich)
abi=${abi#"$root"}
within gcc -o /start "-I$abi/include" /start.c "-L$abi/lib" -lmpi_abi || exit 2
within dpkg-query -W libmpich12 libopenmpi40
within sh -c 'readlink /usr/lib/*/libmpi_abi.so.1'
within mpirun.mpich -np 2 /start >"$folder/out" 2>"$folder/errors"
grep '^a job of' "$folder/out"
[ "$(grep -c '^a job of 1: Open MPI' "$folder/out")" = 2 ]
