#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# grow-ends CONDUIT: how a job ends that has grown, or that cannot grow.
set -u
. "$(dirname "$0")/launch-functions.sh"

export GASNET_CONDUIT=$1 GASNET_SUPERNODE_MAXSIZE=$([ "$1" = smp ] || echo 1)
export GROW_WORK_MARK=$work/mark

# ends CODE WAYS: two ranks that two others have joined
ends()
{
    rm -f "$GROW_WORK_MARK"
    expect "$1" "$AQ_BUILD/gasnetrun_$GASNET_CONDUIT" -n 2 --reserve 2 "$AQ_BUILD/grow_work" "$2" 2
    [ -e "$GROW_WORK_MARK" ] || fail "the job has not begun: $2"
}

ends 7 old
silent
ends 7 new
silent
ends 137 kill
says "rank 3 of 4"
ends 137 die
says "of 4"
grep -q SIGKILL "$work/err" || fail "the signal is not named"
ends 3 refuse
says "ended with exit code 3"
ends 7 leave
silent
ends 1 absent
says "a message to rank 2 of a job of 2 ranks, which has not started it yet"
ends 2 gasnet1
says "cannot use GASNet-1"
