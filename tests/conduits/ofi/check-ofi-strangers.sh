#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-ofi-strangers: a program without the key of the job sends messages to a rank over provider
# tcp;ofi_rxm: too long for an inbox, as long as one, and short; other programs send bytes that are
# no messages, or nothing. The job goes on, and counts what it has dropped.
set -u
. "$AQ_SRC/tests/spawner/launch/launch-functions.sh"
export GASNET_MODULE_PATH=$AQ_BUILD/modules GASNET_CONDUIT=ofi GASNET_OFI_PROVIDER='tcp;ofi_rxm'
export GASNET_SUPERNODE_MAXSIZE=1 GASNET_OFI_WAIT=fd GASNET_STATSFILE=$work/counts%

# Sets $ports to those at which the ranks listen.
find_ports()
{
    local pid
    ports=
    for pid in $pids; do
        ports="$ports $(ss -Hltnp | sed -n "s/^.*:\([0-9]*\) .*pid=$pid,.*/\1/p" | head -n 1)"
    done
    [ "$(wc -w <<<"$ports")" = 2 ] || fail "the ranks listen at '$ports'"
}

dropped()
{
    awk '$2 == "dropped" { sum += $3 } END { print sum + 0 }' "$work"/counts*
}

start 2 "$AQ_BUILD/gasnetrun_ofi" -n 2 "$AQ_BUILD/conform_busy" reach 100 50 8
wait_lines 2
find_ports
sent=0
for port in $ports; do
    for bytes in 8 16384 16385 100000 3000000; do
        timeout 60 "$AQ_BUILD/tests/conduits/ofi/ofi_stranger" "$GASNET_OFI_PROVIDER" 127.0.0.1 "$port" $bytes 5 >"$work/stranger" ||
            fail "the stranger: $(cat "$work/stranger")"
        sent=$((sent + 5))
    done
    for _ in $(seq 5); do
        exec {idle}<>"/dev/tcp/127.0.0.1/$port" || fail "the rank no longer listens"
        (head -c 2000 /dev/urandom >"/dev/tcp/127.0.0.1/$port") 2>/dev/null
    done
done
# shellcheck disable=SC2086
kill -USR1 $pids
ended 0
silent
[ "$(dropped)" -ge $sent ] || fail "$(dropped) of $sent messages are counted as dropped"
exit 0
