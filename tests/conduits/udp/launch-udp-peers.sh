#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-udp-peers: silent peers of conduit udp. A peer that computes is waited for, with few
# datagrams; a peer that dies ends the job; with GASNET_UDP_PEER_TIMEOUT a stopped peer ends the job
# too.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
busy=$AQ_BUILD/conform_busy
export GASNET_SUPERNODE_MAXSIZE=1

# field WORDS: the number before these words, in the totals of rank 1.
field()
{
    sed -n "s/.*rank 1 in all:.* \([0-9]*\) $1.*/\1/p" "$work/err" | grep . || fail "no $1 in the counters"
}

# Stops rank 0 when all ranks are ready.
stop_first()
{
    wait_lines 2
    kill -STOP "${pids%% *}"
}

# A peer that does not call the library for some seconds: nothing is lost, and no peer is given up.
peer_computes()
{
    expect 0 env GASNET_STATS=1 "$run" -n 2 "$busy" away 4 1000
    grep -qx 'served 1000' "$work/out" || fail "rank 0 did not count 1000"
    [ "$(field 'datagrams ([0-9]* again')" -le 8 ] || fail "too many datagrams while nobody took them"
    # The same with more data than its socket holds, so that its peer waits and probes.
    expect 0 env GASNET_STATS=1 "$run" -n 2 "$busy" crowd 2 4000 4096
    grep -qx 'served 4000' "$work/out" || fail "rank 0 did not count 4000"
    [ "$(field 'epochs')" -ge 1 ] || fail "rank 1 did not ask once"
}

# A peer that is killed ends the job, also if it was stopped before.
peer_dies()
{
    start 2 "$run" -n 2 "$busy" ask 60
    wait_lines 2
    kill -KILL "${pids%% *}"
    ended 137
    says SIGKILL
    start 2 "$run" -n 2 "$busy" ask 60
    stop_first
    kill -KILL "${pids%% *}"
    ended 137
}

# A stopped peer is given up if the user asked for that, whether it owes an acknowledgement or not.
peer_stops()
{
    export GASNET_UDP_PEER_TIMEOUT=1
    start 2 "$run" -n 2 "$busy" ask 60
    stop_first
    ended 1
    says "rank 0 has not answered for 1 s (GASNET_UDP_PEER_TIMEOUT)"
    start 2 "$run" -n 2 "$busy" idle 60
    stop_first
    ended 1
    says "rank 0 has not answered for 1 s (GASNET_UDP_PEER_TIMEOUT)"
}

# Two silent peers that wait for each other stay.
peers_idle()
{
    export GASNET_UDP_PEER_TIMEOUT=2
    expect 0 "$run" -n 2 "$busy" idle 4
    silent
}

# A peer that was stopped itself stays, too.
peer_continues()
{
    export GASNET_UDP_PEER_TIMEOUT=2
    start 2 "$run" -n 2 "$busy" ask 4
    stop_first
    sleep 0.3
    kill -CONT "${pids%% *}"
    ended 0
}

# Each part mostly waits.
for part in peer_computes peer_dies peer_stops peers_idle peer_continues; do
    beside $part
done
all_beside
