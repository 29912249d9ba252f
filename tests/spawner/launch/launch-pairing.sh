#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-pairing: a program that is linked for another conduit than the launcher's name says prints
# one line about that, and runs. A pair that the user asked for, or one that matches, prints
# nothing.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
unset GASNET_CONDUIT
smp=$AQ_BUILD/conform_exit udp=$AQ_BUILD/conform_exit_udp

# expect_warning LINKED USED LAUNCHER command ...: rank 0 prints one line with the remedy; the job
# does its work.
expect_warning()
{
    local linked=$1 used=$2 launcher=$3
    expect 0 "${@:4}"
    says "is linked for conduit $linked but runs over $used, because $launcher starts it; start it with gasnetrun_$linked, link it for $used, or set GASNET_CONDUIT=$used"
    grep -q '^\*\*\* GASNet: rank 0 of 3 .*: warning: conform_exit' "$work/err" || fail "not rank 0 names the program"
    [ "$(wc -l <"$work/out")" -eq 3 ] || fail "not all ranks have run"
}

# quiet command ...: the same job prints no message.
quiet()
{
    expect 0 "$@"
    silent
    [ "$(wc -l <"$work/out")" -eq 3 ] || fail "not all ranks have run"
}

for nodes in 255 1; do
    export GASNET_SUPERNODE_MAXSIZE=$nodes
    expect_warning smp udp gasnetrun_udp "$AQ_BUILD/gasnetrun_udp" -n 3 "$smp" pid
    expect_warning smp udp amudprun "$AQ_BUILD/amudprun" -np 3 "$smp" pid
    expect_warning smp udp gasnetrun_udp env GASNET_CONDUIT=smp "$AQ_BUILD/gasnetrun_udp" -n 3 "$smp" pid
    quiet "$AQ_BUILD/gasnetrun_udp" -n 3 "$udp" pid
    quiet "$AQ_BUILD/amudprun" -np 3 "$udp" pid
    quiet env GASNET_CONDUIT=udp "$AQ_BUILD/gasnetrun_udp" -n 3 "$smp" pid
    quiet "$AQ_BUILD/gasnetrun_smp" -conduit=udp -n 3 "$smp" pid
    quiet env GASNET_QUIET=1 "$AQ_BUILD/gasnetrun_udp" -n 3 "$smp" pid
    quiet "$AQ_BUILD/gasnetrun_udp" -n 3 env GASNET_CONDUIT=udp GASNET_SPAWN_CONDUIT= "$smp" pid
done
export GASNET_SUPERNODE_MAXSIZE=255
expect_warning udp smp gasnetrun_smp "$AQ_BUILD/gasnetrun_smp" -n 3 "$udp" pid
quiet "$AQ_BUILD/gasnetrun_smp" -n 3 "$smp" pid
GASNET_PSHM_NODES=3 quiet "$smp" pid
quiet "$udp" 3 pid

# Conduit smp joins neither hosts nor neighborhoods, no matter how the program is linked.
for program in "$smp" "$udp"; do
    expect 2 "$AQ_BUILD/gasnetrun_smp" -n 3 -N 3 -H a,b,c "$program" pid
    says "conduit smp joins processes of one host"
    GASNET_SUPERNODE_MAXSIZE=1 expect 65 "$AQ_BUILD/gasnetrun_smp" -n 3 "$program" pid
    says "conduit smp cannot reach across 3 neighbourhoods"
    [ ! -s "$work/out" ] || fail "the program ran nevertheless"
done

# The launcher's choice does not apply to a job that a rank starts.
expect 0 "$AQ_BUILD/gasnetrun_udp" -n 2 "$smp" env GASNET_SPAWN_CONDUIT
! grep -q gasnetrun "$work/out" || fail "GASNET_SPAWN_CONDUIT is still set after init"

# The same if mpirun starts the ranks.
for mpi in openmpi mpich; do
    mpi_is_usable $mpi || continue
    by_mpirun $mpi 1 true # sets its environment in this shell
    case $mpi in
    openmpi) export MPIRUN_CMD="mpirun.openmpi --oversubscribe --bind-to none -np %N %C" ;;
    mpich) export MPIRUN_CMD="mpirun.mpich -np %N %C" ;;
    esac
    expect_warning smp mpi gasnetrun_mpi "$AQ_BUILD/gasnetrun_mpi" -n 3 "$smp" pid
    expect_warning udp mpi gasnetrun_mpi "$AQ_BUILD/gasnetrun_mpi" -n 3 "$udp" pid
    quiet env GASNET_CONDUIT=mpi "$AQ_BUILD/gasnetrun_mpi" -n 3 "$smp" pid
done
exit 0
