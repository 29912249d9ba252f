#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs inside the virtual machine: a rank is killed in the middle of traffic over conduit ibv. The
# job ends, and a message names the rank: a message of the launcher, or of the conduit if the
# launcher cannot see the death.
set -u
# Nothing closes a connection that datagrams have made: the device learns of the death when it has
# sent a packet several times, here for about a second.
[ "${GASNET_IBV_CONNECT-}" != ud ] || export GASNET_QP_TIMEOUT=16 GASNET_QP_RETRY_COUNT=3

fail()
{
    echo "check-ibv-lost: $*"
    cat err
    exit 1
}

# start MODE ...: starts a job of conform_busy in this mode. Sets $launcher, and in $victim the
# process of the rank that will be killed.
start()
{
    : >out 2>err # the loop may count lines before the job has opened its files
    gasnetrun_ibv -n 2 conform_busy "$@" >out 2>err &
    launcher=$!
    for _ in $(seq 200); do
        [ "$(wc -l <out)" -ge 2 ] && break
        sleep 0.1
    done
    victim=$(pgrep -P $launcher | tail -n 1)
    [ -n "$victim" ] || fail "the job did not start"
}

# kill_unseen SECONDS: kills the rank; the launcher is stopped meanwhile, for so many seconds.
kill_unseen()
{
    kill -STOP $launcher
    kill -KILL "$victim"
    sleep "$1"
    kill -CONT $launcher
}

# check_end PATTERN: the job fails, and a line matches. Sets $code.
check_end()
{
    wait $launcher
    code=$?
    [ $code != 0 ] || fail "the exit code is 0"
    grep -qE "$1" err || fail "no line matches '$1'"
    ! pgrep conform_busy >/dev/null || fail "a rank is left"
}

start ask 60
kill -KILL "$victim"
check_end 'rank [01] of 2 .*(signal 9|SIGKILL)'

# With datagrams rank 0 learns of the death with the first operation that fails.
if [ "${GASNET_IBV_CONNECT-}" = ud ]; then
    GASNET_EXITTIMEOUT=2 GASNET_CONNECT_STATIC=1 start call 2
    kill_unseen 6
    check_end 'rank 0 of 2 .*: the connection to rank 1 is lost \(transport retry counter exceeded, by port 1 of rxe0\)'
else
    start ask 60
    kill_unseen 4
    check_end 'rank [01] of 2 .*: the connection to rank [01] is lost \('
fi

# The first call to the rank comes after its death, so that there is no connection to it. The
# launcher hears of the death late, but before the exit timeout, and reports it.
export GASNET_EXITTIMEOUT=20
start call 3
kill_unseen 5
check_end 'rank 1 of 2 .*(signal 9|SIGKILL)'
[ $code = 137 ] || fail "the exit code is $code, not 137"
! grep -q 'rank 0 of 2' err || fail "rank 0 reports a death that the launcher reports too"

# The launcher does not hear of the death before the exit timeout: rank 0 reports it. With datagrams
# rank 0 cannot know so early: a process that has ended and one that is slow are equally silent.
[ "${GASNET_IBV_CONNECT-}" != ud ] || exit 0
export GASNET_EXITTIMEOUT=2
start call 2
kill_unseen 6
check_end 'rank 0 of 2 .*: rank 1 cannot be reached at 10\.84\.0\.1 from 10\.84\.0\.1, port 1 of rxe0 \('
