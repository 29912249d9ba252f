#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# rendezvous-kill NET: any process of a job may die, at any time, and signals may reach any of the
# processes that the user started: all others end, with an exit code that says so, and none is left.
set -u
. "$(dirname "$0")/rendezvous-functions.sh"
net=$1
export GASNET_EXITTIMEOUT=5

# leading SIZE program arguments: the process of rank 0 of a job, which leads on this host.
leading()
{
    use "$net"
    call 0 0 "$@"
    called 1
}

# running: a job of three ranks that have joined it and sleep; those of 1 and 2 are members.
running()
{
    leading 3 "$conform" ready 100
    call 1 1 3 "$conform" ready 100
    call 2 2 3 "$conform" ready 100
    wait_ready 3
}

# died RANK COMM OWN OTHERS TEXT...: SIGKILL ends that process; then the process of that rank ends
# with code OWN, and the others with OTHERS.
died()
{
    local rank=$1 comm=$2 own=$3 others=$4 pid
    running
    pid=$(victim "$rank" "$comm")
    [ -n "$pid" ] || fault "rank $rank has no process $comm"
    kill -KILL "$pid"
    ends "$own" "$rank"
    all_end "$others"
    told "${@:5}"
}
for rank in 0 2; do
    died $rank conform_exit 137 137 "rank $rank of 3 (process "
    died $rank gasnet-ranks 137 137 'the supervisor of the ranks (process '
done
died 2 gasnet-helper 137 1 'rank 2 on host '
died 2 gasnet-guard 137 1 'rank 2 on host '
died 0 gasnet-helper 1 1 'rank 0 on host '
died 0 gasnet-guard 137 1 'rank 0 on host '
died 0 gasnet-master 137 1 'was killed by signal 9; the job is ended' \
    'rank 1 has lost its connection to rank 0' 'rank 2 has lost its connection to rank 0'

# A signal to one process ends the job, whichever it is.
for rank in 0 1; do
    for sig in TERM:143 HUP:129; do
        running
        kill -${sig%:*} "${process[$rank]}"
        all_end ${sig#*:}
        told
    done
done

# Before the job starts.
leading 3 "$conform" pid
call 1 1 3 "$conform" pid
called 2
kill -KILL "${process[1]}"
ends 137 1
all_end 1
told 'the process of rank 1 on host '
leading 3 "$conform" pid
call 1 1 3 "$conform" pid
called 2
kill -TERM "${process[0]}"
ends 143 0
all_end 1
told 'the process of rank 0 on host '
leading 3 "$conform" pid
call 1 1 3 "$conform" pid
called 2
kill -KILL "$(victim 0 gasnet-master)"
ends 137 0
all_end 1
told 'was killed by signal 9; the job is ended' 'rank 1 has lost its connection to rank 0'
use "$net"
call 1 1 2 "$conform" pid # nobody listens yet
sleep 0.3
kill -TERM "${process[1]}"
all_end 143
told
exit 0
