#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The library of PMI-2 that Debian has (libpmi2, of Slurm) cannot start below mpirun of MPICH 4.2 and
# later. PMI2_Init returns 14 (PMI2_ERR_OTHER). The launcher's answer to "fullinit" has the key
# "debugged" in MPICH 4.0.2 and lacks it in 4.2.1, which is the likely reason.
#   findings/pmi2-mpich.sh     0: it is still so; 1: not any more; 2: it cannot be run here
. "$(dirname "$0")/debian.sh"
make_root trixie gcc libc6-dev mpich=4.3.0+really4.2.1-1 libpmi2-0-dev=24.11.5-4+deb13u1
cat >"$root/start.c" <<'C'
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
within gcc -o /start /start.c -lpmi2 || exit 2
within dpkg-query -W mpich libpmi2-0t64
within mpirun.mpich -np 1 /start >"$folder/out" 2>&1
cat "$folder/out"
grep -qx 'PMI2_Init returns 14' "$folder/out"
