#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-udp-frames: the number of messages and puts per datagram of conduit udp, and of datagrams
# per put, from gasnet_perf and the counters.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
export GASNET_SUPERNODE_MAXSIZE=1

# frames TEST SIZE [COUNT]: sets $frames to what gasnet_perf prints about so many (2000), in tenths.
frames()
{
    expect 0 "$run" -n 2 "$AQ_BUILD/gasnet_perf" --frames --iters "${3:-2000}" --size "$2" "$1"
    frames=$(awk -v name="$1-frames" '$1 == name { print int(10 * $3) }' "$work/out")
    [ -n "$frames" ] || fail "gasnet_perf --frames prints nothing about $1"
    grep -qx 'gasnet_perf: conduit udp, ranks 2' "$work/out" || fail "gasnet_perf names another conduit"
}

frames put-rate 8 # 64 between two waits
[ "$frames" = 640 ] || fail "$frames tenths of a put shared a datagram, where 64 puts could"
frames put 8 # each is waited for
[ "$frames" = 10 ] || fail "$frames tenths of a blocking put shared a datagram"
frames am-flood 8 # (has no size)
[ "$frames" -gt 1000 ] || fail "only $frames tenths of a Short of a flood shared a datagram"

# Long data: the first put of each 64 leaves alone at once, the others share datagrams while it is on
# its way; a blocking put never waits for company. A put of 64 KiB is a full datagram and a rest: of
# 64 of them, the rests of 63 share one.
frames put-rate 4096 640
[ "$frames" -ge 90 ] || fail "$frames tenths of a put of 4 KiB shared a datagram, where 15 puts fit"
frames put 4096
[ "$frames" = 10 ] || fail "$frames tenths of a blocking put of 4 KiB shared a datagram"
frames put-rate 65536 512
[ "$frames" -ge 18 ] || fail "each put of 64 KiB took two datagrams: $frames tenths of a frame in each"

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

# The answers to gets of 4 KiB share datagrams, too: 64 in 5 of them.
expect 0 env GASNET_STATS=1 "$run" -n 2 "$AQ_BUILD/gasnet_perf" --iters 500 --size 4096 get-rate
frames=$(count 1 '(\([0-9]*\)\.[0-9]* a datagram)')
[ "$frames" -ge 9 ] || fail "$frames answers to gets of 4 KiB shared a datagram, where 15 fit"

# Blocks of half a message are packed into full ones.
expect 0 env GASNET_STATS=1 "$run" -n 2 "$AQ_BUILD/gasnet_perf" --iters 200 --blocks 64 \
    --size 32768 put-vector
bytes=$(($(count 0 'a datagram), \([0-9]*\) bytes') / $(count 0 'sent \([0-9]*\) datagrams')))
[ "$bytes" -ge 60000 ] || fail "$bytes bytes in a datagram with blocks of 32 KiB, where 65000 fit"
exit 0
