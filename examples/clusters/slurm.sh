#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#SBATCH --job-name=hello
#SBATCH --nodes=3
#SBATCH --ntasks-per-node=2
#SBATCH --time=5
# A job of Slurm: sbatch slurm.sh. The launcher starts one helper on each node by srun, which needs
# neither ssh nor PMI, and puts ranks where Slurm has processors for tasks.
set -eu
export GASNET_SPAWNER=slurm
exec gasnetrun_udp -n "$SLURM_NTASKS" hello
