#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# start-many NET: 1,024 ranks on this host start, and what rank 0 keeps of each peer by the end of
# init is bounded. Over udp they are in neighbourhoods of 16.
set -u
. "$(dirname "$0")/../launch/launch-functions.sh"
export GASNET_QUIET=1 GASNET_CONDUIT=$1 GASNET_SUPERNODE_MAXSIZE=0
[ "$1" = smp ] || export GASNET_SUPERNODE_MAXSIZE=16
case $1 in
udp) most=48 ;; # 32 of the core, 8 of udp, a little of the groups
smp) most=64 ;; # 32 of the core, and the tables of ranks that share memory
esac

# allocated RANKS: sets $bytes.
allocated()
{
    expect 0 "$AQ_BUILD/gasnetrun_$GASNET_CONDUIT" -n "$1" "$AQ_BUILD/peer_bytes"
    [ "$(grep '^rank' "$work/out" | sort -u | wc -l)" -eq "$1" ] || fail "not all of $1 ranks have started"
    bytes=$(sed -n "s/^allocated $1 //p" "$work/out")
}

allocated 64
few=$bytes
allocated 1024
each=$(((bytes - few) / 960))
[ "$each" -ge 32 ] && [ "$each" -le $most ] || fail "a peer takes $each bytes instead of 32 to $most"
exit 0
