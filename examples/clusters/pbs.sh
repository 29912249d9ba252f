#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#PBS -N hello
#PBS -l select=3:ncpus=2:mpiprocs=2
#PBS -l walltime=5:00
# A job of PBS: qsub pbs.sh. (For Torque the second line is: -l nodes=3:ppn=2.) The launcher starts
# one helper on each host by PBS's Task Management interface; each line of PBS_NODEFILE is a slot.
set -eu
cd "${PBS_O_WORKDIR:-.}"
export GASNET_SPAWNER=tm
exec gasnetrun_udp -n "$(wc -l <"$PBS_NODEFILE")" hello
