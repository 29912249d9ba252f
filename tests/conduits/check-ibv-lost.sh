#!/bin/bash
# Inside the virtual machine: a rank is killed in the middle of traffic over conduit ibv. The job ends, and
# somebody names the rank: the launcher, or, when that cannot see it, the conduit.
set -u

fail()
{
    echo "check-ibv-lost: $*"
    cat err
    exit 1
}

# Starts the job, conform_busy in that mode; $launcher, and the process of the rank to be killed in $victim.
start()
{
    : >out 2>err # here, since it counts lines before the job may have come to that
    gasnetrun_ibv -n 2 conform_busy "$@" >out 2>err &
    launcher=$!
    for _ in $(seq 200); do
        [ "$(wc -l <out)" -ge 2 ] && break
        sleep 0.1
    done
    victim=$(pgrep -P $launcher | tail -n 1)
    [ -n "$victim" ] || fail "the job did not start"
}

# kill_unseen SECONDS: the rank is killed, and the launcher does not hear of it for so long.
kill_unseen()
{
    kill -STOP $launcher
    kill -KILL "$victim"
    sleep "$1"
    kill -CONT $launcher
}

# pattern of what must be said; $code
check_end()
{
    wait $launcher
    code=$?
    [ $code != 0 ] || fail "the exit code is 0"
    grep -qE "$1" err || fail "nobody says '$1'"
    ! pgrep conform_busy >/dev/null || fail "a rank is left"
}

start ask 60
kill -KILL "$victim"
check_end 'rank [01] of 2 .*(signal 9|SIGKILL)'

start ask 60
kill_unseen 4
check_end 'rank [01] of 2 .*: the connection to rank [01] is lost \('

# Nobody has spoken to the rank before it is killed, and it is called then. The launcher hears of its end late, but
# in time to say what it was.
export GASNET_EXITTIMEOUT=20
start call 3
kill_unseen 5
check_end 'rank 1 of 2 .*(signal 9|SIGKILL)'
[ $code = 137 ] || fail "the exit code is $code, not 137"
! grep -q 'rank 0 of 2' err || fail "a rank tells of what the launcher knows better"

# It does not hear of it in time.
export GASNET_EXITTIMEOUT=2
start call 2
kill_unseen 6
check_end 'rank 0 of 2 .*: rank 1 cannot be reached through the verbs device \('
