#!/bin/bash
# launch-udp-frames: the number of messages and puts per datagram of conduit udp, and of datagrams
# per put, from gasnet_perf and the counters.
set -u
. "$(dirname "$0")/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
export GASNET_SUPERNODE_MAXSIZE=1

# frames TEST SIZE: sets $frames to what gasnet_perf prints about it.
frames()
{
    expect 0 "$run" -n 2 "$AQ_BUILD/gasnet_perf" --frames --iters 2000 --size "$2" "$1"
    frames=$(awk -v name="$1-frames" '$1 == name { print int($3) }' "$work/out")
    [ -n "$frames" ] || fail "gasnet_perf --frames prints nothing about $1"
    grep -qx 'gasnet_perf: conduit udp, ranks 2' "$work/out" || fail "gasnet_perf names another conduit"
}

frames put-rate 8 # 64 between two waits
[ "$frames" = 64 ] || fail "$frames puts shared a datagram, where 64 could"
frames put 8 # each is waited for
[ "$frames" = 1 ] || fail "$frames blocking puts shared a datagram"
frames am-flood 8 # (has no size)
[ "$frames" -gt 100 ] || fail "only $frames Shorts of a flood shared a datagram"

# A blocking put is one datagram, answered by one acknowledgement and nothing else. (The start and
# the warm-up add a few of both.)
expect 0 env GASNET_STATS=1 "$run" -n 2 "$AQ_BUILD/gasnet_perf" --iters 2000 --size 8 put
count() { sed -n "s/^udp: rank $1 in all: .*$2.*/\\1/p" "$work/err"; }
puts=$(count 0 'sent \([0-9]*\) datagrams')
answers=$(count 1 ' bytes, \([0-9]*\) acknowledgements; received')
replies=$(count 1 'sent \([0-9]*\) datagrams')
[ "$puts" -ge 2000 ] || fail "2000 puts made $puts datagrams"
[ "$answers" -ge $((puts - puts / 20)) ] && [ "$answers" -le $((puts + puts / 20)) ] ||
    fail "$puts datagrams with puts were answered by $answers acknowledgements"
[ "$replies" -lt 100 ] || fail "a put was answered by data: $replies datagrams"
exit 0
