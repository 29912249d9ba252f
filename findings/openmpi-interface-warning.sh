#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# mpirun of Open MPI 6 turns OMPI_MCA_oob_tcp_if_include, which the user has set, into a variable of
# PMIx of which each rank then warns, by a name that the user has never written.
# PRTE_MCA_prte_if_include gives mpirun the same interface without that.
#   findings/openmpi-interface-warning.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root sid gcc libc6-dev openmpi-bin=6.0.0~rc2-2 libopenmpi-dev=6.0.0~rc2-2
cat >"$root/start.c" <<'C'
#include <mpi.h>
int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    return MPI_Finalize();
}
C
within mpicc.openmpi -o /start /start.c || exit 2
within mpirun.openmpi --version | head -n 1

# warnings VARIABLE: how often the name of PMIx is in the output of a job of 2 ranks.
warnings()
{
    within env "$1=lo" mpirun.openmpi -np 2 /start >"$folder/out" 2>&1
    grep -c 'Deprecated variable: ptl_tcp_if_include' "$folder/out"
}
old=$(warnings OMPI_MCA_oob_tcp_if_include)
new=$(warnings PRTE_MCA_prte_if_include)
echo "2 ranks: $old warnings of ptl_tcp_if_include with OMPI_MCA_oob_tcp_if_include=lo, $new with PRTE_MCA_prte_if_include=lo"
[ "$old" = 2 ] && [ "$new" = 0 ]
