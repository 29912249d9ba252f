#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# endpoint-udp-counts: messages between further endpoints travel through the sockets of their
# windows, in every mode of authentication; and without a port for a window they travel through the
# sockets of endpoint 0.
set -u
. "$AQ_SRC/tests/run-functions.sh"
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp GASNET_SUPERNODE_MAXSIZE=1 GASNET_STATS=1 CONFORM_ENDPOINT=7

# frames PREFIX WORD: the frames that the line of GASNET_STATS with this prefix has behind the word.
frames()
{
    sed -n "s/^udp: $1: .*$2 [0-9]* datagrams[^;]*, \([0-9]*\) frames.*/\1/p" "$work/err"
}

# A window of each of two ranks: what one has sent the other one has received, and almost nothing
# has travelled between the endpoints 0.
for mode in encrypt full header token off; do
    GASNET_UDP_AUTH=$mode expect 0 "$run" -n 2 conform-seq handlers am_medium am_long am_flood_mixed
    for pair in '0 1' '1 0'; do
        from=${pair% *} to=${pair#* }
        sent=$(frames "rank $from endpoint 7 with rank $to endpoint 7" 'sent')
        got=$(frames "rank $to endpoint 7 with rank $from endpoint 7" 'received')
        other=$(frames "rank $from in all" 'sent')
        [ "${sent:-0}" -gt 5000 ] || fail "$mode: the window of rank $from has sent '$sent' frames"
        [ "$sent" = "$got" ] || fail "$mode: of $sent frames, $got have arrived at rank $to"
        [ "${other:-9999}" -lt 200 ] || fail "$mode: endpoint 0 of rank $from has sent '$other' frames"
    done
done

# One port for each rank leaves none for its window.
ports=$((20000 + $$ % 10000))
GASNET_UDP_PORTS=$ports-$((ports + 1)) expect 0 "$run" -n 2 conform-seq handlers am_medium
grep -q "GASNET_UDP_PORTS: every port from $ports to $((ports + 1)) is taken on interface lo; give a wider range" "$work/err" ||
    fail "no message says that the ports are taken"
sent=$(frames 'rank 0 in all' 'sent')
[ "${sent:-0}" -gt 200 ] || fail "endpoint 0 has sent '$sent' frames although there are no windows"
! grep -q 'rank 0 endpoint' "$work/err" || fail 'rank 0 has a window nevertheless'
exit 0
