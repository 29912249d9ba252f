#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Open MPI 6 refuses more ranks than slots with exit code 77, which test drivers take for "skipped".
#   findings/openmpi-slots.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root sid openmpi-bin=6.0.0~rc2-2
ranks=$(($(nproc) + 1))
within mpirun.openmpi --version | head -n 1
within mpirun.openmpi -np $ranks true
code=$?
echo "mpirun -np $ranks on $(nproc) processors: exit code $code"
[ $code = 77 ]
