#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The cable of a host is cut for a while and mended, under a job by ssh and a job of a universe: both
# go on, because GASNET_UDP_HOST_TIMEOUT is longer than the outage, and each warns meanwhile. A cable
# that stays cut for much longer than the setting ends a job.
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
. "$AQ_SRC/tests/spawner/universe/universe-functions.sh"
busy=$AQ_BUILD/conform_busy
command -v nft >/dev/null || { echo "nft is not installed (package nftables)"; exit 77; }

# cut HOST: drops all packets that arrive there or leave, until mend.
cut()
{
    on_host "$1" nft -f - <<'RULES' || fail "the cable cannot be cut"
table inet wall {
    chain arriving { type filter hook input priority 0; policy drop; iif lo accept; }
    chain leaving { type filter hook output priority 0; policy drop; oif lo accept; }
}
RULES
}

mend()
{
    on_host "$1" nft delete table inet wall || fail "the cable cannot be mended"
}

# await FILE: waits until the messages of that job have the warning.
await()
{
    for _ in $(seq 400); do
        ! grep -q 'host n2 has not answered for [0-9]* seconds: the network to it is down, ' "$1" || return 0
        sleep 0.05
    done
    fail "no warning in $(basename "$1") while the cable is cut: $(head -3 "$1")"
}

export GASNET_UDP_HOST_TIMEOUT=12
expect 0 "$boot" -H n1,n2
start_job 2 "$run" -n 2 -H n1,n2 "$busy" ask 15
mv "$work/out" "$work/out-universe" && mv "$work/err" "$work/err-universe"
universe=$sup
start_job 2 "$run" -spawner=ssh -n 2 -H n1,n2 "$busy" ask 15
cut n2
sleep 8 # GASNET_UDP_HOST_TIMEOUT is not over yet
await "$work/err"
await "$work/err-universe"
mend n2
job=$sup sup=$universe
code=0
wait "$job" || code=$?
[ $code -eq 0 ] || fail "exit code $code of the job by ssh: $(cat "$work/err")"
sup=
code=0
wait "$universe" || code=$?
[ $code -eq 0 ] || fail "exit code $code of the job in a universe: $(cat "$work/err-universe")"
await_table "0 front idle" "1 n1 ready" "2 n2 ready"
expect 0 "$halt"
none_left
unset GASNET_UNIVERSE

export GASNET_UDP_HOST_TIMEOUT=1
start_job 2 "$run" -n 2 -H n1,n2 sh -c 'echo ready; exec sleep 1000'
cut n2
job_ends 1
grep -q 'host n2: the connection to it is lost' "$work/err" || fail "no message names the lost host"
exit 0
