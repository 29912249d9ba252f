#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-slurm: jobs that srun starts in a private Slurm (tests/beds/slurm), over PMIx, PMI-2 and
# PMI-1, without any MPI: exit codes, leftovers, placement by the allocation, and srun without PMI.
set -u
[ "${1-}" = inside ] || exec "$AQ_SRC/tests/beds/slurm/run" -- "$0" inside
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
ulimit -c 0

# The test's own program, because others may run the same one at this time.
cp "$conform" "$work" && mkdir "$work/modules" || exit 1
conform=$work/conform_exit
export GASNET_MODULE_PATH=$work/modules

job()
{
    expect "$@"
    no_rank_left 50
    wait_for_slurm
}

# Slurm does not start a step properly while it still ends another.
wait_for_slurm()
{
    for _ in $(seq 200); do
        [ -n "$(squeue -h)" ] || return
        sleep 0.05
    done
    fail "Slurm does not end a job"
}

# killed CODE srun ...: one rank dies, and the others do not wait for it.
killed()
{
    job "$1" timeout 60 "${@:2}"
}

# one_pmi PLUGIN: with what GASNET_MODULE_PATH has.
one_pmi()
{
    local srun="srun --mpi=$1" aborted left late
    expect 0 $srun -n 4 "$AQ_BUILD/hello"
    [ "$(grep -c 'of 4' "$work/out")" = 4 ] || fail "srun --mpi=$1 does not start one job of 4 ranks"
    GASNET_SUPERNODE_MAXSIZE=1 GASNET_CONDUIT=udp job 0 $srun -n 2 "$AQ_BUILD/conform-seq" am_args rma_segment
    GASNET_SPAWNER=fork expect 0 $srun -n 2 "$AQ_BUILD/hello"
    [ "$(grep -c 'of 1' "$work/out")" = 2 ] || fail "GASNET_SPAWNER=fork does not make jobs of one rank"
    job 3 $srun -n 3 "$conform" code 3
    job 5 $srun -n 3 "$conform" one 1 5
    job 7 $srun -n 2 "$conform" return 7
    job 6 $srun -n 2 "$conform" quit 0 15 6
    # As gasnetrun(1) says: srun ends with the largest code; PMIx kills the other ranks, hence 137.
    case $1 in
    pmix) aborted=137 left=137 late=137 ;;
    pmi2) aborted=134 left=4 late=9 ;;
    esac
    killed 137 $srun -n 3 "$conform" signal 1 9
    killed 139 $srun -n 3 "$conform" signal 1 11
    killed $aborted $srun -n 3 "$conform" abort 0
    killed $left $srun -n 2 "$conform" _exit 1 4
    GASNET_EXITTIMEOUT=0.2 killed $late $srun -n 2 "$conform" compute 1 9
    PMIRUN_CMD="$srun -n %N %C" job 4 "$AQ_BUILD/gasnetrun_udp" -n 3 -spawner=pmi "$conform" code 4
}

# srun ends with 0 even if the list is empty, and older versions print it to standard error.
has_plugin()
{
    srun --mpi=list 2>&1 | grep -qw "$1" && return
    left_out "srun --mpi=$1" "this Slurm has no plugin of that name"
    return 1
}

expect 1 srun -n 2 "$AQ_BUILD/hello"
grep -q 'srun started 2 tasks, but gave them no way to find each other; give' "$work/err" || fail "no remedy for srun without PMI"
expect 0 srun -n 1 "$AQ_BUILD/hello"
wait_for_slurm
# GASNet's own way, without PMI: the program calls srun through GASNET_CSPAWN_CMD.
cp "$AQ_BUILD/conform_exit_udp" "$work/custom" || exit 1
for command in 'srun -n %N %C' 'srun -N1 -n%N --overcommit %C'; do
    GASNET_SPAWNFN=C GASNET_CSPAWN_CMD=$command GASNET_WORKER_RANK=SLURM_PROCID expect 0 "$work/custom" 4 pid
    [ "$(cut -d' ' -f1 "$work/out" | sort -n | xargs)" = "0 1 2 3" ] || fail "$command does not start ranks 0 to 3"
    wait_for_slurm
done
GASNET_SPAWNFN=C GASNET_CSPAWN_CMD='srun -N%N %C' job 3 "$AQ_BUILD/amudprun" -np 1 "$work/custom" code 3
GASNET_SPAWNFN=C GASNET_CSPAWN_CMD='srun -n %N %C' job 9 "$AQ_BUILD/gasnetrun_udp" -n 3 "$work/custom" one 2 9
GASNET_SPAWNFN=C GASNET_CSPAWN_CMD='srun -n 1 %C' GASNET_CONNECT_TIMEOUT=3 job 1 "$work/custom" 2 pid
says '1 of 2 processes had arrived within 3 seconds'

found=
for pmi in pmix pmi2; do
    [ -e "$AQ_BUILD/modules/aq_mpi_$pmi.so" ] || {
        left_out "$pmi" "it was not found when this build was configured"
        continue
    }
    has_plugin $pmi || continue
    cp "$AQ_BUILD/modules/aq_mpi_$pmi.so" "$work/modules" || exit 1
    one_pmi $pmi
    rm "$work/modules"/*
    found=$pmi
done
if has_module aq_mpi_pmi2.so; then # which goes before
    left_out 'PMI-1' 'the installed library has a module for PMI-2, which goes before'
elif has_plugin pmi2; then # the same plugin serves PMI-1, for which the library needs no module
    one_pmi pmi2
    found=pmi1
fi
[ -n "$found" ] || skip 'this Slurm has neither plugin pmix nor pmi2'
exit 0
