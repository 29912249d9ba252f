#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI 5 and later ignore OMPI_MCA_rmaps_base_oversubscribe, by which Open MPI 4 starts more
# ranks than there are slots.
#   findings/openmpi-oversubscribe.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root sid openmpi-bin=6.0.0~rc2-2
ranks=$(($(nproc) + 1))
within mpirun.openmpi --version | head -n 1
within env OMPI_MCA_rmaps_base_oversubscribe=1 mpirun.openmpi -np $ranks true
old=$?
within env PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe mpirun.openmpi -np $ranks true
new=$?
echo "mpirun -np $ranks on $(nproc) processors: exit code $old with OMPI_MCA_rmaps_base_oversubscribe=1"
echo "exit code $new with PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe"
[ $old != 0 ] && [ $new = 0 ]
