#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the first of two virtual machines, with jobs on both. However a job ends, its exit
# code is right, its output is complete, and no process and no resource of a verbs device is left on
# either machine; also if the network is cut during the exit.
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
# With block, ranks that wait leave the processors to the threads that carry packets.
export GASNET_WAITMODE=block GASNET_EXITTIMEOUT=8

on_g2()
{
    ssh -F /run/bed/ssh_config g2 "$@"
}

# nothing_left PROGRAM: no process of the program is left, and no device has resources of a job.
nothing_left()
{
    ! pgrep -x "$1" >/dev/null || fail "a process is left on g1: $job"
    device_holds "$here_before"
    for _ in $(seq 50); do
        left=$(on_g2 "pgrep -x $1; rdma resource show")
        [ "$left" != "$there_before" ] || return 0
        sleep 0.2
    done
    fail "g2 has '$left' instead of '$there_before': $job"
}

# leaves CODE WAY LEAVER OUTPUT: runs exit_ways, in which rank LEAVER ends the job in this way.
# Checks the exit code and the words that the job prints, sorted.
leaves()
{
    job="exit_ways $2 $3 $1"
    expect "$1" gasnetrun_ibv -n 2 -H g1,g2 exit_ways "$2" "$3" "$1"
    [ "$(sort "$work/out" | xargs)" = "$4" ] || fail "the output is not '$4': $job"
    nothing_left exit_ways
}

here_before=$(device) there_before=$(on_g2 rdma resource show)
leaves 4 one 1 '0 begins 1 begins'
leaves 5 traffic 0 '0 begins 1 begins'
leaves 137 kill 1 '0 begins 1 begins'

# A rank that leaves while the network is cut cannot tell the other host. No rank stays longer than
# the exit timeout.
job='an exit without a network'
export GASNET_UDP_HOST_TIMEOUT=3
start 1 gasnetrun_ibv -n 2 -H g1,g2 conform_busy ask 100
wait_lines 2
rank=$(pgrep -x conform_busy)
ip link set eth0 down
kill -QUIT "$rank"
code=0
wait "$sup" || code=$?
sup=
ip link set eth0 up
[ $code = 9 ] || fail "exit code $code instead of 9: $job"
for _ in $(seq 100); do
    on_g2 true 2>/dev/null && break
    sleep 0.5
done
nothing_left conform_busy
