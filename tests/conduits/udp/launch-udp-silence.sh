#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# launch-udp-silence: a network that carries no datagrams keeps a job from starting, with a message
# that names the remedy. A rank that computes for long is reported once, without other consequences.
set -u
. "$(dirname "$0")/../../spawner/launch/launch-functions.sh"
run=$AQ_BUILD/gasnetrun_udp
export GASNET_CONDUIT=udp # for programs that are linked for smp
busy=$AQ_BUILD/conform_busy
export GASNET_SUPERNODE_MAXSIZE=1

# Nothing arrives: one sentence names the silent ranks, and no program runs.
for ranks in 2 5; do
    expect 1 env GASNET_UDP_FAULT_DROP=100 GASNET_CONNECT_TIMEOUT=0.3 "$run" -n $ranks "$AQ_BUILD/hello"
    grep -qE 'nothing was heard of rank [0-9] at 127\.0\.0\.1:[0-9]+ for 0.3 s \(GASNET_CONNECT_TIMEOUT\)' "$work/err" ||
        fail "no message names the silent rank"
    says 'GASNET_UDP_PORTS'
    says 'GASNET_WORKERIP'
    [ ! -s "$work/out" ] || fail "the program ran nevertheless"
done

# Each rank warns once while it waits.
expect 1 env GASNET_UDP_FAULT_DROP=100 GASNET_CONNECT_TIMEOUT=0.6 GASNET_UDP_SILENCE_WARN=0.2 "$run" -n 2 "$AQ_BUILD/hello"
[ "$(grep -c 'warning: nothing was heard of rank [01] at 127' "$work/err")" = 2 ] || fail "not one warning for each rank"

# A network that loses many datagrams, and one without connection attempts.
for options in GASNET_UDP_FAULT_DROP=50 GASNET_CONNECT_TIMEOUT=0; do
    expect 0 env $options "$run" -n 4 "$AQ_BUILD/hello"
    silent
done

# A rank that computes is sent more than its socket holds: the sender warns once, and the job goes
# on.
GASNET_UDP_SILENCE_WARN=0.5 start 2 "$run" -n 2 "$busy" crowd 60 4000 4096
for _ in $(seq 400); do
    [ ! -s "$work/err" ] || break
    sleep 0.05
done
sleep 1
says 'has not answered for 0.5 s: it computes without polling, or is stopped, or its host'
grep -qE 'rank 1 of 2 .* warning: rank 0 at 127\.0\.0\.1:[0-9]+ has not' "$work/err" || fail "rank 0 is not named"
kill -TERM "$sup" || fail "the job has ended"
wait "$sup"
sup=
none_left
expect 0 env GASNET_UDP_SILENCE_WARN=0 "$run" -n 2 "$busy" away 1 1000
silent
exit 0
