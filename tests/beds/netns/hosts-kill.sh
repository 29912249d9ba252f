#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All ways in which a job is killed: launcher, helper, supervisor or rank killed, network lost, the
# launcher killed at random moments. After 10 seconds no process is left on any host.
#   hosts-kill [KILLS]    so many random kills, 15 without a number; by hand: bed 4 hosts-kill.sh 50
set -u
. "$AQ_SRC/tests/beds/netns/bed-functions.sh"
all=$(hosts 1 4)

# Starts a job by a tree of depth 2, whose ranks sleep and have one child process each.
job()
{
    GASNET_SSH_OUT_DEGREE=2 start_job 4 "$run" -n 4 -H "$all" sh -c 'sleep 1000 & echo ready; wait'
}

job
kill -KILL "$sup"
job_ends 137

job
kill -KILL "$(find_on n1 gasnet-helper)"
job_ends 1
grep -q 'host n1: the connection to it is lost' "$work/err" || fail "no message names the lost host"

job
kill -KILL "$(find_on n4 gasnet-ranks)"
job_ends 137
grep -q 'on host n4: the supervisor of the ranks .* was killed by signal 9' "$work/err" || fail "no message names the supervisor"

job
kill -KILL "$(find_on n2 sh)"
job_ends 137
grep -q 'on host n2: rank 1 of 4 .* was killed by SIGKILL' "$work/err" || fail "no message names the rank"

# Ranks that ignore the request to end; and all processes at once.
GASNET_TERM_TIMEOUT=0.5 start_job 4 "$run" -n 4 -H "$all" bash -c 'trap "" TERM QUIT; echo ready; while :; do sleep 1; done'
kill -TERM "$sup"
job_ends 143

# The network of a host is lost: the host and the others notice that without help, which takes the
# kernel some seconds; meanwhile strangers call. So does a helper that has greeted and gets no
# answer.
export GASNET_UDP_HOST_TIMEOUT=2
mkfifo "$work/silence"
exec 7<>"$work/silence"
on_host n4 "$AQ_BUILD/gasnetrun" --helper <&7 >"$work/greeting" 2>&1 &
job
lost=$sup
on_host n3 ip link set eth0 down

# stranger TEXT: a program on n4 calls the launcher with an invented proof; the launcher refuses it
# with TEXT, and the job starts nevertheless. The launcher listens only while hosts start, which may
# be over before the call: then another job is started.
stranger()
{
    local text=$1 code _
    for _ in $(seq 20); do
        code=0
        GASNET_SPAWN_PORTS=50300 "$run" -n 2 -H n1,n2 "$hello" >"$work/stranger" 2>&1 &
        sup=$!
        for _ in $(seq 300); do
            on_host n4 bash -c 'exec 3<>/dev/tcp/10.77.0.254/50300 &&
                printf "\2\0\0\0\0\0\0\44%036d\4\0\0\0\0\0\0\40%032d" 0 0 >&3 && cat <&3' >/dev/null 2>&1 && break
            kill -0 "$sup" 2>/dev/null || break
        done
        wait "$sup" || code=$?
        [ $code -eq 0 ] || fail "a stranger ends the job with $code"
        grep -q "a connection from 10.77.0.4 is refused: $text" "$work/stranger" && return
    done
    fail "a stranger is not refused: $text"
}
stranger 'it is not a host that is being started'
GASNET_SPAWN_PROMISCUOUS=1 stranger 'it did not authenticate with the key'

sup=$lost
job_ends 1
exec 7>&-
grep -q '^aqueduct-helper' "$work/greeting" || fail "a helper does not greet"
grep -q 'host n3: the connection to it is lost' "$work/err" || fail "no message names the lost host"
unset GASNET_UDP_HOST_TIMEOUT
on_host n3 ip link set eth0 up
on_host n3 ip addr show eth0 | grep -q 10.77.0.3 || on_host n3 ip addr add 10.77.0.3/24 dev eth0

# At random moments during the start and shortly after it: ms is one and a half times the time of
# a start.
RANDOM=${AQ_SEED:-1}
begin=${EPOCHREALTIME/./}
expect 0 "$run" -n 2 -H n1,n2 true
ms=$(((${EPOCHREALTIME/./} - begin) * 3 / 2000))
[ $ms -lt 1000 ] || ms=999
for i in $(seq "${1:-15}"); do
    "$run" -n 2 -H n1,n2 sleep 1000 >"$work/out" 2>"$work/err" </dev/null &
    sup=$!
    sleep "0.$(printf %03d $((RANDOM % ms)))"
    kill -KILL "$sup"
    wait "$sup" 2>/dev/null
    sup=
    [ $((i % 5)) -ne 0 ] || none_left
done
exit 0
