#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# MPICH 4.2 and later reports the end of a rank to its launcher in a handler of exit(), no longer in
# MPI_Finalize as MPICH 4.0 did. A rank that leaves by _exit(0) behind MPI_Finalize, as a program may
# that has closed its library in order, is then taken for one that died: mpirun ends with 9.
#   findings/mpich-exit-code.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root trixie gcc libc6-dev mpich=4.3.0+really4.2.1-1 libmpich-dev=4.3.0+really4.2.1-1
cat >"$root/leave.c" <<'C'
#include <mpi.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (argc > 1)
        _exit(0);
    return 0;
}
C
within mpicc.mpich -o /leave /leave.c || exit 2
within dpkg-query -W mpich

# wrong_codes ARGUMENT ...: in how many of 20 runs the launcher's code is not 0
wrong_codes()
{
    local wrong=0
    for _ in $(seq 20); do
        within mpirun.mpich -np 4 /leave "$@" >/dev/null 2>&1 || wrong=$((wrong + 1))
    done
    echo $wrong
}
returns=$(wrong_codes) leaves=$(wrong_codes now)
echo "wrong codes of 20 runs: return 0: $returns; _exit(0): $leaves"
[ "$returns" = 0 ] && [ "$leaves" -gt 0 ]
