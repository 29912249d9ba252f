# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for the tests of job exits, in addition to those of the launch tests:
#   prepare CONDUIT SPAWNER     sets launch (the words that start a job, without -n and the program)
#                               and program
# SPAWNER: fork; ssh (two hosts, or one for conduit smp; the hosts of a bed, else this host through
# a shell of the test); custom; rendezvous; openmpi or mpich, whose mpirun starts the ranks.
. "$(dirname "${BASH_SOURCE[0]}")/../../spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"

start_by_ssh()
{
    [ -n "${AQ_BED-}" ] || {
        export GASNET_WORKERIP=127.0.0.1 GASNET_SSH_CMD=$work/shell
        printf '#!/bin/bash\nexec sh -c "${!#}"\n' >"$work/shell" && chmod +x "$work/shell"
    }
    launch+=(-spawner=ssh -H "$([ "$1" = smp ] && echo n1 || echo n1,n2)")
}

start_by_mpirun()
{
    by_mpirun "$1" 1 true || exit # sets its environment in this shell
    unset OMPI_MCA_odls_base_sigkill_timeout
    export UCX_DEBUG_SIGNO=0 # else UCX stops at SIGHUP for a debugger
    case $1 in
    openmpi) MPIRUN_CMD="mpirun.openmpi --oversubscribe --bind-to none -np %N %C" ;;
    mpich) MPIRUN_CMD="mpirun.mpich -np %N %C" ;;
    esac
    export MPIRUN_CMD
    launch+=(-spawner=mpi)
}

prepare()
{
    program=$work/exit_ways
    cp --remove-destination "$AQ_BUILD/exit_ways" "$program" || exit 1
    export EXIT_MARK=$work # all processes of the jobs have it in their environment
    export GASNET_SUPERNODE_MAXSIZE=$([ "$1" = smp ] || echo 1)
    export GASNET_EXITTIMEOUT=${GASNET_EXITTIMEOUT:-10} GASNET_QUIET=1
    ulimit -c 0
    launch=("$AQ_BUILD/gasnetrun_$1")
    case $2 in
    fork) launch+=(-spawner=fork) ;;
    ssh) start_by_ssh "$1" ;;
    custom)
        export GASNET_CSPAWN_CMD='for i in $(seq %N); do %C & done; wait' GASNET_MASTERIP=127.0.0.1
        launch+=(-spawner=custom)
        ;;
    rendezvous)
        # What calls a master that was killed ends after this time.
        export GASNET_CONDUIT=$1 GASNET_KEY_FILE=$work/key GASNET_CONNECT_TIMEOUT=7
        (umask 077 && head -c 24 /dev/urandom >"$GASNET_KEY_FILE")
        launch=("$AQ_SRC/tests/spawner/rendezvous/rendezvous-run.sh")
        ;;
    *) start_by_mpirun "$2" ;;
    esac
}

# Process ids of the jobs, on all hosts of the bed.
processes()
{
    local pid name
    for pid in $(grep -lsF "EXIT_MARK=$work" /proc/[0-9]*/environ | cut -d/ -f3); do
        { read -r name <"/proc/$pid/comm"; } 2>/dev/null || continue
        case $name in grep | cut | sleep | timeout) ;; *) echo "$pid" ;; esac
    done
}

# nothing_left TENTHS WHAT: fails unless they end within that time.
nothing_left()
{
    local try left
    for try in $(seq "$1"); do
        left=$(processes)
        [ -n "$left" ] || return 0
        sleep 0.1
    done
    fail "a process is left: $2: $(ps -o pid,args $left)"
}
