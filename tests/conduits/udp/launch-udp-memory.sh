#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-udp-memory: arrived data of conduit udp takes bounded memory for all peers together, and
# data without room is not lost.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
busy=$AQ_BUILD/conform_busy
export GASNET_SUPERNODE_MAXSIZE=1 GASNET_STATS=1

# flood BYTES RANKS command ...: 16 ranks flood rank 0, which does not poll for a second; its
# datagrams then take at most that many bytes. Sets $took.
flood()
{
    local bound=$1
    shift
    expect 0 env GASNET_UDP_RECEIVE_MEMORY="$bound" "$run" -n 17 "$busy" "$@"
    grep -qx "served $((16 * $3))" "$work/out" || fail "rank 0 did not have all messages"
    took=$(sed -n 's/^udp: rank 0 in all: .*arrived datagrams took up to \([0-9]*\) bytes.*/\1/p' "$work/err")
    [ -n "$took" ] || fail "no memory in the counters"
    [ "$took" -le "$bound" ] || fail "$took bytes are above the bound of $bound"
}

flood 3145728 crowd 1 300 4000
[ "$took" -gt 2097152 ] || fail "nothing was kept at all"
# The same where the kernel buffers little and drops most.
export GASNET_UDP_RCVBUF=64KB
flood 3145728 crowd 1 300 4000
