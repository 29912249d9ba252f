#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-trace: the trace of a program that knows what it sends has each of its operations, and an
# arrow from each message to its handler. With little memory for events, what is left fits together.
#   observe-trace.sh RANKS THREADS START ...   START: the function that starts a job, with its words
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/checks/check-functions.sh"
ranks=$1 threads=$2
shift 2

# traces WHAT WORD ...: a job, whose trace is checked with these words for awk.
traces()
{
    name="$ranks ranks of $threads threads, $1"
    shift
    GASNET_TRACE=$work/trace job "$start" "$ranks" traffic_work "$threads"
    [ "$code" = 0 ] || complain "the exit code is $code"
    [ ! -s "$work/err" ] || complain "there is a message"
    sed -n '/^[0-9]*,[0-9]*,/p' "$work/out" >"$work/expected"
    awk -v ranks="$ranks" "$@" -f "$AQ_SRC/tests/other/observe/trace-check.awk" "$work/expected" "$work/trace" >"$work/found" || {
        complain "the trace is wrong"
        tail -5 "$work/found"
    }
    ! command -v python3 >/dev/null || python3 -m json.tool "$work/trace" /dev/null || complain "the trace is no JSON"
    tail -1 "$work/found"
}

start=$*
traces whole -v some=0
GASNET_TRACE_SIZE=4096 traces cut -v some=1
conclude traces
