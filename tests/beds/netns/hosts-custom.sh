#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Jobs that a command of the user starts by ssh on two hosts of the bed (spawner custom): one job
# over both, its exit codes, and no process is left. ssh does not pass the environment on, so the
# command carries the key.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
export GASNET_SPAWNFN=C GASNET_CSPAWN_KEY=command GASNET_CONNECT_TIMEOUT=20 GASNET_EXITTIMEOUT=20
export GASNET_WAITMODE=block # ranks that wait leave the processors to the others

# Two processes on each host, which start in any order.
by_ssh='for host in n1 n2 n2 n1; do ssh -n $GASNET_SSH_OPTIONS $host %C & done; wait'
export GASNET_CSPAWN_CMD=$by_ssh

expect 0 "$run" -n 4 bash -c 'hostname; exec "$0"' "$hello"
silent
[ "$(grep -c 'of 4, greeted' "$work/out")" = 4 ] || fail "not one job of 4 ranks"
[ "$(grep -cx n1 "$work/out") $(grep -cx n2 "$work/out")" = '2 2' ] || fail "not 2 ranks on each host"
expect 0 "$run" -n 4 "$AQ_BUILD/conform-seq" query_position am_args am_long
expect 0 "${conform}_udp" 4 pid
[ "$(cut -d' ' -f1 "$work/out" | sort -n | xargs)" = "0 1 2 3" ] || fail "a program without a launcher is not ranks 0 to 3"
expect 6 "$run" -n 4 "$conform" code 6
for rank in 0 3; do
    expect 5 "$run" -n 4 "$conform" one $rank 5
    expect 137 "$run" -n 4 "$conform" signal $rank 9
done
none_left

# The rank that a process wants to be: those of n2 are the first.
GASNET_CSPAWN_CMD='i=0; for host in n2 n2 n1 n1; do ssh -n $GASNET_SSH_OPTIONS $host GASNET_WORKER_RANK=$i %C & i=$((i + 1)); done; wait' \
    CSPAWN_ROUTE_OUTPUT=1 expect 0 "$run" -n 4 -l hostname
[ "$(sort "$work/out" | xargs)" = '[0] n2 [1] n2 [2] n1 [3] n1' ] || fail "ranks are not where the command says"

# A signal to the launcher, and its death.
start_job 4 "$run" -n 4 sh -c 'echo ready; exec "$0" sleep 100' "$conform"
kill -TERM "$sup"
job_ends 143
start_job 4 "$run" -n 4 sh -c 'echo ready; exec "$0" sleep 100' "$conform"
kill -KILL "$sup"
job_ends 137

# A job that does not start: the launcher prints one sentence, whichever the hosts are.
without_key()
{
    GASNET_CSPAWN_KEY=environment GASNET_CONNECT_TIMEOUT=5 expect 1 "$run" -n 4 "$hello"
    says 'has called without the key of the job'
}
too_few()
{
    GASNET_CSPAWN_CMD='ssh -n $GASNET_SSH_OPTIONS n1 %C & ssh -n $GASNET_SSH_OPTIONS n2 %C & wait' GASNET_CONNECT_TIMEOUT=5 \
        expect 1 "$run" -n 3 "$hello"
    says '2 of 3 processes had arrived within 5 seconds (GASNET_CONNECT_TIMEOUT)'
}
beside without_key
beside too_few
all_beside
none_left
exit 0
