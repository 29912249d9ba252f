#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# observe-trace-clocks: the clocks of the hosts of a trace are those of the first one, within the
# error that it states. Each rank is a host, whose clock is 100 s ahead of the one before it, and
# runs 0.02 % faster.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
. "$AQ_SRC/tests/run-functions.sh"
host="unshare --pid --time --fork --kill-child"
$host true 2>/dev/null || skip "this user may not make spaces of process numbers and times"
(by_mpirun openmpi 1 true) >/dev/null || skip "Open MPI was not found when this build was configured, or has no mpirun here"
prepare_mpirun
without_ucx
export OMPI_MCA_btl=self,tcp
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=udp GASNET_EXITTIMEOUT=10

# job SKEW PROGRAM ...
job()
{
    local skew=$1
    shift
    # shellcheck disable=SC2016
    expect 0 env GASNET_TRACE="$work/trace" GASNET_TRACE_SKEW="$skew" timeout -s KILL 50 \
        mpirun.openmpi --oversubscribe --bind-to none -np 3 \
        sh -c 'exec '"$host"' --monotonic $((100 * OMPI_COMM_WORLD_RANK)) "$@"' sh "$@"
    silent
}

# Puts what each host says about its clock into the file clocks, a line for each rank: offset,
# drift, error. Sets $slack, by which the times of two hosts may differ.
read_clocks()
{
    sed -n 's/.*"name":"aqueduct".*"rank":\([0-9]*\),.*"clock_offset_ns":\([-0-9]*\),"clock_drift_ppb":\([-0-9]*\),"clock_error_ns":\([0-9]*\),.*/\1 \2 \3 \4/p' "$work/trace" >"$work/clocks"
    slack=$(awk '{ if ($4 > most) most = $4; n++ } END { print 2 * most; exit n != 3 }' "$work/clocks") || fail "not the clocks of 3 ranks"
}

# offsets_are SECONDS: what each host adds to its clock, but for the error that it states.
offsets_are()
{
    read_clocks
    awk -v step="$1" '{ off = $2 + $1 * step * 1e9; if (off < 0) off = -off
        print "rank " $1 ": off by " off " ns, at most " $4 " ns"
        if (off > $4 || $4 > 50e6 || ($1 && !$4)) bad = 1 } END { exit bad }' "$work/clocks" || fail "clocks are off"
}

job '' "$AQ_BUILD/traffic_work" 1
offsets_are 100
sed -n '/^[0-9]*,[0-9]*,/p' "$work/out" >"$work/expected"
awk -v ranks=3 -v slack="$slack" -f "$AQ_SRC/tests/other/observe/trace-check.awk" "$work/expected" "$work/trace" || fail "the trace is wrong"
job 5000000000 "$AQ_BUILD/traffic_work" 1
offsets_are 105

# The ranks work for a while: no message arrives before it was sent.
job 0,200000 "$AQ_BUILD/traffic_work" 1 lasts
read_clocks
awk -v slack="$slack" '
    function value(key) { match($0, "\"" key "\":\"?[0-9.]*"); return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3) }
    { id = value("id"); sub(/^"/, "", id) }
    /"ph":"s"/ { sent[id] = value("ts") }
    /"ph":"f"/ { handled[id] = value("ts") }
    END { for (id in handled) { pairs++; if (handled[id] * 1000 + slack < sent[id] * 1000) { print id; bad = 1 } }
          print pairs " pairs"; exit bad || pairs < 100 }' "$work/trace" || fail "a message arrives before it was sent"
