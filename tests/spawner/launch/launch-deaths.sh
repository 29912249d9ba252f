#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-deaths: the launcher tells the exit code of a job that mpirun starts from what ranks report
# and how they die, whatever the code of mpirun; and mpirun's code where no rank reports.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=udp GASNET_SUPERNODE_MAXSIZE=1 GASNET_QUIET=1
run=$AQ_BUILD/gasnetrun_udp
ulimit -c 0
prepare_mpirun

# wrong_code CODE: mpirun ends with that code in place of its own.
wrong_code()
{
    export MPIRUN_CMD="sh -c '\"\$@\"; exit $1' - mpirun.$mpi $options -np %N %C"
}

job()
{
    expect "$1" timeout -s KILL 60 "$run" -spawner=mpi -n 2 "$conform" "${@:2}"
}

one_mpi()
{
    wrong_code 9
    job 0 code 0
    job 3 code 3
    wrong_code 0
    job 1 code 256
    job 5 one 1 5
    job 4 _exit 1 4
    grep -q 'rank 1 of 2 (process [0-9]*) has ended with exit code 4' "$work/err" || fail "no message names the rank"
    job 143 signal 1 15
    # mpirun kills rank 0 by the same signal, so either may be taken for the first.
    job 137 signal 1 9
    grep -q 'rank [01] of 2 (process [0-9]*) has ended by signal 9' "$work/err" || fail "no message names the signal"
    job 134 abort 1
    GASNET_EXITTIMEOUT=0.2 job 6 compute 1 6
    GASNET_CATCH_EXIT=0 job 7 libc 7
    job 0 return 0
    # Behind a wrapper that stays, the programs get the signals.
    printf '#!/bin/sh\n"$@"\nexit $?\n' >"$work/wrap" && chmod +x "$work/wrap"
    export MPIRUN_CMD="mpirun.$mpi $options -np %N $work/wrap %C"
    begin "$run" -spawner=mpi -n 2 "$conform" saves 60
    wait_lines 2
    kill -USR2 "$sup"
    wait_lines 4
    [ "$(grep -c '^[01] USR2$' "$work/out")" = 2 ] || fail "SIGUSR2 did not reach both programs: $mpi"
    kill -TERM "$sup"
    code=0
    wait "$sup" || code=$?
    sup=
    [ $code = 7 ] || fail "exit code $code instead of 7 after SIGTERM: $mpi"
    [ "$(grep -c '^[01] saved$' "$work/out")" = 2 ] || fail "SIGTERM did not reach both programs: $mpi"
    # mpirun does not end.
    MPIRUN_CMD="sh -c '\"\$@\"; exec sleep 1000' - mpirun.$mpi $options -np %N %C" GASNET_EXITTIMEOUT=0.2 job 137 signal 1 9
    grep -q 'mpirun (process [0-9]*) still runs although rank [01] has ended' "$work/err" || fail "no message says that mpirun is ended"
}

found=
for mpi in openmpi mpich; do
    mpi_is_usable $mpi || continue
    options=
    [ $mpi != openmpi ] || options="--bind-to none"
    one_mpi
    found=$mpi
done

# No rank reports.
MPIRUN_CMD='sh -c "exit 5"' expect 5 "$run" -spawner=mpi -n 2 hello
MPIRUN_CMD='sh -c "exit 77"' expect 1 "$run" -spawner=mpi -n 2 hello
says 'mpirun ended with code 77 before a rank had joined the job'
MPIRUN_CMD='env' expect 0 "$run" -spawner=mpi -n 2 hello
grep -qE '^GASNET_SPAWN_REPORTS=gasnet-[0-9a-f]{32}$' "$work/out" || fail "ranks do not learn where to report"

# The socket that the environment names is not there, or is no name: the rank works.
[ -n "$found" ] || skip "there is no MPI"
for name in gasnet-00000000000000000000000000000000 gasnet-0 ''; do
    GASNET_SPAWN_REPORTS=$name expect 3 by_mpirun $found 2 "$conform" code 3
done
exit 0
