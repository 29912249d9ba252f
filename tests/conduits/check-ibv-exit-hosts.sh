#!/bin/bash
# Inside the first of two virtual machines: however a job on both ends, its exit code is right, the output is there,
# no process is left on either, nor anything in their verbs devices; also when the network is cut meanwhile.
set -u
. "$AQ_SRC/tests/launch/launch-functions.sh"
export GASNET_WAITMODE=block GASNET_EXITTIMEOUT=8 # ranks that wait leave the processors to who carries packets

on_g2()
{
    ssh -F /run/bed/ssh_config g2 "$@"
}

# Nothing is left of that program, nor in any device.
nothing_left()
{
    ! pgrep -x "$1" >/dev/null || fail "a process is left on g1: $job"
    device_holds "$here_before"
    for _ in $(seq 50); do
        left=$(on_g2 "pgrep -x $1; rdma resource show")
        [ "$left" != "$there_before" ] || return 0
        sleep 0.2
    done
    fail "on g2 there is '$left', and was '$there_before': $job"
}

# leaves CODE WAY LEAVER SPEAKERS: a job of the way's, and the ranks whose words must be there.
leaves()
{
    job="exit_ways $2 $3 $1"
    expect "$1" gasnetrun_ibv -n 2 -H g1,g2 exit_ways "$2" "$3" "$1"
    [ "$(sort "$work/out" | xargs)" = "$4" ] || fail "the words are not '$4': $job"
    nothing_left exit_ways
}

here_before=$(device) there_before=$(on_g2 rdma resource show)
leaves 4 one 1 '0 begins 1 begins'
leaves 5 traffic 0 '0 begins 1 begins'
leaves 137 kill 1 '0 begins 1 begins'

# A rank that leaves when the network is cut cannot tell the other host; no rank stays longer than the exit timeout.
job='an exit without a network'
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
