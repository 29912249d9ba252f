#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that mpirun starts by ssh on several hosts of the bed: one job over all of them, its exit
# codes, and no process is left. Spawner mpi, and spawner pmi by PMIx and PMI-2.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
prepare_mpirun
export OMPI_MCA_btl=tcp,self OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_oob_tcp_if_include=10.77.0.0/24
export OMPI_MCA_plm_rsh_agent="ssh $GASNET_SSH_OPTIONS" UCX_NET_DEVICES=all
remote=$work/remote
printf '#!/bin/sh\nexec ssh %s "$@"\n' "$GASNET_SSH_OPTIONS" >"$remote" && chmod +x "$remote" || exit 1

# ends CODE MPI RANKS program ...: mpirun starts the program on both hosts, and ends with CODE.
ends()
{
    local code=$1 mpi=$2 ranks=$3 start
    shift 3
    case $mpi in
    openmpi) start="mpirun.openmpi --bind-to none --host n1:2,n2:2 --map-by node -x GASNET_MODULE_PATH
        -x GASNET_SPAWNER -x GASNET_CONDUIT -x GASNET_EXITTIMEOUT" ;;
    mpich) start="mpirun.mpich -launcher ssh -launcher-exec $remote -localhost 10.77.0.254 -hosts n1:2,n2:2" ;;
    esac
    expect "$code" $start -np "$ranks" "$@"
}

# can MPI MODULE: whether both are available; otherwise reports what is left out.
can()
{
    if [ ! -e "$AQ_BUILD/modules/aq_mpi_$2.so" ]; then
        left_out "jobs of $1 by $2" "$2 was not found when this build was configured"
    elif ! command -v "mpirun.$1" >/dev/null; then
        left_out "jobs of $1 by $2" "there is no mpirun.$1"
    else
        return 0
    fi
    return 1
}

jobs()
{
    local mpi=$1
    export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=udp GASNET_SPAWNER=$2
    GASNET_EXITTIMEOUT=20 ends 0 "$mpi" 4 bash -c 'hostname; exec "$0"' "$hello"
    [ "$(grep -c 'of 4, greeted' "$work/out")" = 4 ] || fail "not one job of 4 ranks by $mpi and $2"
    [ "$(grep -cx n1 "$work/out") $(grep -cx n2 "$work/out")" = '2 2' ] || fail "not 2 ranks on each host"
    GASNET_EXITTIMEOUT=20 ends 6 "$mpi" 4 "$conform" code 6
    # The exit of one rank reaches the ranks of the other host.
    GASNET_EXITTIMEOUT=20 ends 5 "$mpi" 4 "$conform" one 1 5
    ! grep -q 'some ranks do not leave the job' "$work/err" || fail "ranks do not hear of the exit of one"
    # mpirun ends ranks that do not poll.
    GASNET_EXITTIMEOUT=0.3 ends 9 "$mpi" 4 "$conform" compute 1 9
    grep -q 'some ranks do not leave the job' "$work/err" || fail "no message says that mpirun has to end ranks"
    none_left 20
    found=yes
}

# Conduit mpi, whose messages MPI carries to the other host.
by_conduit()
{
    export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=mpi GASNET_SPAWNER=mpi
    GASNET_EXITTIMEOUT=20 ends 0 "$1" 4 "$AQ_BUILD/conform-seq" am_args am_medium rma_values
    GASNET_EXITTIMEOUT=20 ends 6 "$1" 4 "$conform" code 6
    none_left 20
}

# gasnet_top shows the ranks of its host, and says where the others are.
watched()
{
    local turn job
    export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=udp GASNET_SPAWNER=mpi
    [ -x "$AQ_BUILD/gasnet_top" ] || return 0
    (ends 1 openmpi 4 "$AQ_BUILD/watched_work" missing) & # the code of mpirun that got SIGTERM
    job=$!
    for ((turn = 0; turn < 200; turn++)); do
        grep -q ready "$work/out" && break
        sleep 0.1
    done
    on_host n2 "$AQ_BUILD/gasnet_top" --once >"$work/seen" 2>&1 || fail "gasnet_top ends with $?: $(cat "$work/seen")"
    grep -q '^watched_work: 4 ranks, 2 shown' "$work/seen" || fail "gasnet_top does not show the ranks of n2"
    grep -q '^2 of 4 ranks are on other hosts, .*; look there: ssh -t n1 gasnet_top watched_work$' "$work/seen" ||
        fail "gasnet_top does not name the other host: $(cat "$work/seen")"
    kill -TERM $(pgrep -s 0 -f '^mpirun.openmpi .*watched_work')
    wait $job || fail "mpirun does not end with its code for SIGTERM"
    none_left 20
}

found=
for mpi in openmpi mpich; do
    case $mpi in openmpi) pmi=pmix ;; mpich) pmi=pmi2 ;; esac
    ! can $mpi $mpi || { jobs $mpi mpi && by_conduit $mpi; }
    ! can $mpi $pmi || jobs $mpi pmi
done
! can openmpi openmpi || watched
[ -n "$found" ] || skip "there is no MPI"
exit 0
