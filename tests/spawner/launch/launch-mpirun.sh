#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-mpirun: jobs that each installed mpirun starts: exit codes, leftovers, udp and smp; and
# spawner mpi of the launcher: its command and what it refuses.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"

# The test's own program, because others may run the same one at this time.
own_program()
{
    cp --remove-destination "$AQ_BUILD/conform_exit" "$work" || exit
    conform=$work/conform_exit
}
own_program

# mpirun adds text to that of the library. No rank may stay; ranks that mpirun has not waited for
# get a moment to end.
mpi_job()
{
    expect "$@"
    no_rank_left 20
}

one_mpi()
{
    own_program
    expect 0 by_mpirun "$1" 4 "$AQ_BUILD/hello"
    [ "$(grep -c 'of 4' "$work/out")" = 4 ] || fail "mpirun of $1 does not start one job of 4 ranks"
    expect 0 env GASNET_SUPERNODE_MAXSIZE=1 GASNET_CONDUIT=udp bash -c \
        '. "$AQ_SRC/tests/run-functions.sh"; by_mpirun "$@"' - "$1" 2 "$AQ_BUILD/conform-seq" am_args rma_segment
    mpi_job 3 by_mpirun "$1" 3 "$conform" code 3
    mpi_job 0 by_mpirun "$1" 3 "$conform" code 0
    mpi_job 1 by_mpirun "$1" 2 "$conform" code 256
    mpi_job 5 by_mpirun "$1" 3 "$conform" one 1 5
    mpi_job 0 by_mpirun "$1" 2 "$conform" children 6
    [ "$(grep -c 'goes on' "$work/out")" = 2 ] || fail "a child of a rank has ended the job: $1"
    mpi_job 0 by_mpirun "$1" 2 "$conform" return 0
    mpi_job 7 by_mpirun "$1" 2 "$conform" return 7
    mpi_job 6 by_mpirun "$1" 2 "$conform" quit 0 15 6
    GASNET_EXITTIMEOUT=0.2 mpi_job 9 by_mpirun "$1" 2 "$conform" compute 1 9
    grep -q "some ranks do not leave the job" "$work/err" || fail "no message names a late rank"
    # The code of a rank that is killed depends on MPICH's mpirun (gasnetrun(1)).
    [ "$1" = mpich ] || mpi_job 137 by_mpirun "$1" 2 "$conform" signal 1 9
    one_report "$1"
}

# SIGUSR2 makes a rank over conduit mpi print its queues and go on.
one_report()
{
    local rank
    begin on_mpi "$1" 2 "$conform" sleep 2
    for _ in $(seq 200); do
        sleep 0.05
        for rank in $(pgrep -f "^$conform "); do
            (($((16#$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$rank/status"))) & 1 << 11)) && kill -USR2 "$rank"
        done 2>/dev/null
        [ "$(grep -c 'mpi: .* receives posted; .* requests may be sent' "$work/err")" -lt 2 ] || break
    done
    grep -q 'rank 1 of 2 .*mpi: .* receives posted; .* requests may be sent' "$work/err" || fail "rank 1 does not tell of its queues"
    wait "$sup" || fail "a job that was asked for reports ends with another code than 0"
    sup=
}

found=
for mpi in openmpi mpich; do
    mpi_is_usable $mpi || continue
    beside one_mpi $mpi
    found=$mpi
done
all_beside
[ -n "$found" ] || skip "there is no MPI"
by_mpirun $found 1 true # sets its environment in this shell

# The launcher, and the replacements of letters.
run=$AQ_BUILD/gasnetrun_udp
file=$work/'my hosts'
export GASNET_NODEFILE=$file
MPIRUN_CMD='env "A=%H" mpirun.'$found' -np %N %P %A' expect 0 "$run" -n 2 -t -spawner=mpi hello 'a b'
grep -qxF "gasnetrun: the command: env 'A=$file' mpirun.$found -np 2 hello 'a b'" "$work/out" ||
    fail "the command is not what MPIRUN_CMD says"
MPIRUN_CMD="mpirun.$found -np %N %C" expect 5 "$run" -n 1 -spawner=mpi "$conform" code 5
# A job that a rank starts is its own, with the conduit and spawner that the user has chosen.
for chosen in X= GASNET_SPAWNER=fork; do
    for conduit in udp mpi; do
        MPIRUN_CMD="mpirun.$found -np %N %C" expect 0 env "$chosen" "$AQ_BUILD/gasnetrun_$conduit" -n 2 -spawner=mpi \
            "$conform" command "$AQ_BUILD/gasnetrun_smp -n 3 $conform env GASNET_SPAWNER"
        [ "$(sort "$work/out" | xargs)" = "$([ $chosen = X= ] && echo 0 1 2 || echo 0 fork 1 fork 2 fork)" ] ||
            fail "a rank of a job by mpirun cannot start a job of its own: $conduit, $chosen"
    done
done
MPIRUN_CMD='env X=%N%% %A' expect 0 "$run" -n 7 -spawner=mpi hello sh -c 'echo "$X:$1"' - 'a  "b'
[ "$(cat "$work/out")" = '7%:a  "b' ] || fail "arguments do not reach the program as they were"
PMIRUN_CMD='echo %N %P' MPIRUN_CMD=false expect 0 "$run" -n 3 -spawner=pmi hello
[ "$(cat "$work/out")" = '3 hello' ] || fail "PMIRUN_CMD does not go before MPIRUN_CMD"
PMIRUN_CMD= MPIRUN_CMD='echo %N' expect 0 "$run" -n 3 -spawner=pmi hello
MPIRUN_CMD='false %N' GASNET_UDP_SPAWNER=mpi expect 1 "$run" -n 1 "$conform" code 0

refused()
{
    expect 2 "${@:2}"
    says "$1"
}

refused 'MPIRUN_CMD: %Z has no meaning here' env MPIRUN_CMD='true %Z' "$run" -n 2 -spawner=mpi hello
refused 'a quote is not closed in MPIRUN_CMD' env MPIRUN_CMD="'true" "$run" -n 2 -spawner=mpi hello
refused 'PMIRUN_CMD: %Z has no meaning here' env MPIRUN_CMD=true PMIRUN_CMD='true %Z' "$run" -n 2 -spawner=pmi hello
refused "the program 'nopmi' (PMIRUN_CMD) is not in PATH" env MPIRUN_CMD=true PMIRUN_CMD=nopmi "$run" -n 2 -spawner=pmi hello
refused "the program 'nompi' (MPIRUN_CMD) is not in PATH" env MPIRUN_CMD=nompi "$run" -n 2 -spawner=mpi hello
refused '%H stands for GASNET_NODEFILE, which is not set' env GASNET_NODEFILE= MPIRUN_CMD='true %H' "$run" -n 2 -spawner=mpi hello
refused 'option -c: this spawner leaves the binding' env MPIRUN_CMD=true "$run" -c 1 -n 2 -spawner=mpi hello

# There is no module for the MPI of that mpirun.
if has_module aq_mpi_mpich.so; then
    left_out 'a job of MPICH without a module for it' 'the installed library has one'
else
    expect 65 env GASNET_SPAWNER=mpi GASNET_MODULE_PATH="$work" PMI_RANK=0 PMI_SIZE=1 "$conform" code 0
    says 'this installation has no module for MPICH'
fi
exit 0
