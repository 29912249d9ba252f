#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-pmi: jobs that mpirun starts and whose ranks join over PMIx (Open MPI) or PMI-1 (MPICH),
# without any MPI: exit codes, leftovers, a launcher that is killed.
set -u
. "$(dirname "$0")/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
ulimit -c 0

job()
{
    expect "$@"
    no_rank_left 20
}

# launcher_killed mpirun ...: a killed launcher forwards no more output, so the ranks write into a
# file.
launcher_killed()
{
    "$@" bash -c 'exec "$@" 2>>"$0"' "$work/told" "$conform" compute 9 0 >"$work/out" 2>"$work/err" &
    sup=$!
    for _ in $(seq 200); do
        [ "$(pgrep -cf "^$conform ")" -lt 2 ] || break
        sleep 0.05
    done
    sleep 1 # they are more than just begun
    kill -KILL "$sup"
    wait "$sup" 2>/dev/null
    sup=
    no_rank_left 100
}

# killed_code MPI: mpirun's exit code for a rank that dies of signal 9, as gasnetrun(1) says. MPICH
# omits 128 and combines the code with the 9 with which it ends the others.
killed_code()
{
    case $1 in
    openmpi) echo 137 ;;
    mpich) echo 9 ;;
    esac
}

# late_codes MPI: mpirun's exit codes if a rank exits with 9 and another does not leave. MPICH combines
# the 9 with that of SIGKILL, or takes 1, and 4.2 also 0, in its place, as gasnetrun(1) says.
late_codes()
{
    case $1-$(mpirun.mpich --version 2>/dev/null | sed -n 's/^ *Version: *//p') in
    openmpi-*) echo '9' ;;
    mpich-4.2.*) echo '9|1|0' ;;
    mpich-*) echo '9|1' ;;
    esac
}

# late_job MPI mpirun ...: rank 1 exits with 9, and rank 0 does not leave.
late_job()
{
    local mpi=$1 code=0
    shift
    GASNET_EXITTIMEOUT=0.2 "$@" "$conform" compute 1 9 >"$work/out" 2>"$work/err" || code=$?
    [[ $code =~ ^($(late_codes "$mpi"))$ ]] || fail "exit code $code instead of 9: a rank that is late"
    no_rank_left 20
    grep -q "some ranks do not leave the job" "$work/err" || fail "no message names a late rank"
}

# one_pmi PMI MPI mpirun ...: a part of its own, so it has its own program: no rank of that is left.
one_pmi()
{
    local pmi=$1 mpi=$2
    shift 2
    cp "$conform" "$work" || exit 1
    conform=$work/conform_exit
    by_mpirun "$mpi" 1 true # sets its environment in this shell
    mkdir "$work/$pmi" && cp "$AQ_BUILD"/modules/aq_mpi_pmi*.so "$work/$pmi" || exit 1
    export GASNET_MODULE_PATH=$work/$pmi
    expect 0 "$@" -np 4 "$AQ_BUILD/hello"
    [ "$(grep -c 'of 4' "$work/out")" = 4 ] || fail "$pmi does not start one job of 4 ranks"
    export GASNET_SPAWNER=pmi
    GASNET_SUPERNODE_MAXSIZE=1 GASNET_CONDUIT=udp expect 0 "$@" -np 2 "$AQ_BUILD/conform-seq" am_args rma_segment
    for _ in 1 2 3; do # some are in init yet when others leave
        job 3 "$@" -np 3 "$conform" code 3
        silent_but_mpirun
    done
    job 5 "$@" -np 3 "$conform" one 1 5
    job 0 "$@" -np 2 "$conform" children 6
    [ "$(grep -c 'goes on' "$work/out")" = 2 ] || fail "a child of a rank has ended the job: $pmi"
    job 0 "$@" -np 2 "$conform" return 0
    job 7 "$@" -np 2 "$conform" return 7
    late_job "$mpi" "$@" -np 2
    job "$(killed_code "$mpi")" "$@" -np 2 "$conform" signal 1 9
    launcher_killed "$@" -np 2
    # What is below MPICH's launcher ends the ranks itself.
    [ "$pmi" = pmi1 ] || [ "$(grep -c 'the launcher of the job .* has ended' "$work/told")" = 1 ] ||
        fail "not one message of a lost launcher"
}

silent_but_mpirun()
{
    ! grep -q GASNet "$work/err" || fail "messages where there should be none"
}

found=
if [ ! -e "$AQ_BUILD/modules/aq_mpi_pmix.so" ]; then
    left_out "PMIx" "it was not found when this build was configured"
elif mpi_is_usable openmpi; then
    beside one_pmi pmix openmpi mpirun.openmpi --oversubscribe --bind-to none
    found=pmix
fi
if mpi_is_usable mpich; then
    beside one_pmi pmi1 mpich mpirun.mpich
    found=pmi1
fi
all_beside

# Without a launcher, and with a descriptor that belongs to something else.
lone()
{
    expect 65 env GASNET_SPAWNER=pmi "$@" "$conform" code 0
    says 'no launcher serves this process (PMIx: '
    says 'PMI-1: no launcher answers'
}
export GASNET_MODULE_PATH=$AQ_BUILD/modules
lone
lone PMI_FD=1 PMI_RANK=0 PMI_SIZE=2
lone PMI_FD=77 PMI_RANK=0 PMI_SIZE=2
[ -n "$found" ] || skip "there is neither Open MPI's mpirun nor MPICH's"
exit 0
