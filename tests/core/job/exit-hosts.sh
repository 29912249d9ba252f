#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# exit-hosts: jobs that mpirun starts on several hosts. The bootstrap carries an exit to the ranks
# of one host only, so ranks tell each other over the network. The hosts are namespaces of process
# ids. mpirun's exit code is 0 only if all ranks left in good order.
#   exit-hosts.sh CONDUIT [WAY ...]    these ways of exit_ways; default: all that matter.
#                                      EXIT_HOSTS_SECONDS: for a job (50)
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
host='unshare --pid --fork --kill-child'
$host true 2>/dev/null || skip "this user may not make spaces of process numbers"
(by_mpirun openmpi 1 true) >/dev/null || skip "Open MPI was not found when this build was configured, or has no mpirun here"
prepare_mpirun
without_ucx
export OMPI_MCA_btl=self,tcp
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=$1
shift
[ $# -gt 0 ] || set -- all one thread return return-all traffic early

# job CODE WAY RANK: all four ranks must print their last words.
job()
{
    expect "$1" timeout -s KILL "${EXIT_HOSTS_SECONDS:-50}" mpirun.openmpi --oversubscribe --bind-to none -np 4 \
        $host "$AQ_BUILD/exit_ways" "$2" "$3" "$1"
    [ "$(grep -c '^[0-3] begins$' "$work/out")" = 4 ] || fail "words are lost: $2 $3 $1"
    ! grep -q '^\*\*\* GASNet:' "$work/err" || fail "messages where there should be none: $2 $3 $1"
    for _ in $(seq 100); do # mpirun does not wait for those it ends
        pgrep -s 0 -x exit_ways >/dev/null || return 0
        sleep 0.05
    done
    fail "a process is left: $2 $3 $1"
}

export GASNET_EXITTIMEOUT=10
for way; do
    job 0 "$way" 2
done
job 0 one 0
job 9 one 3

# mpirun ends a rank that does not poll.
GASNET_EXITTIMEOUT=0.5 expect 7 timeout -s KILL "${EXIT_HOSTS_SECONDS:-50}" mpirun.openmpi --oversubscribe --bind-to none -np 3 \
    $host "$AQ_BUILD/exit_ways" spin 1 7
says "some ranks do not leave the job"
