#!/bin/bash
# Inside the first of two virtual machines: jobs on both, over conduit ibv. They are right when their network loses
# packets; and they end with the reason when a process is killed, or the network goes.
set -u
. "$AQ_SRC/tests/run-functions.sh"
export GASNET_WAITMODE=block # or ranks that wait take the processors that carry the packets

fail()
{
    echo "check-ibv-hosts: $*"
    cat out err 2>/dev/null
    exit 1
}

on_g2()
{
    ssh -F /run/bed/ssh_config g2 "$@"
}

# So many bad packets in a hundred, of those that leave: loses OURS THEIRS; nothing of both is 0.
loses()
{
    tc qdisc replace dev eth0 root netem loss "$1%" && on_g2 tc qdisc replace dev eth0 root netem loss "$2%"
}

# Packets that were lost on the way out since the last call of loses.
lost()
{
    tc -s qdisc show dev eth0 | sed -n 's/.*(dropped \([0-9]*\),.*/\1/p'
}

# Starts a job of two ranks that are busy with each other; $launcher.
start()
{
    : >out 2>err # here, since it counts lines before the job may have come to that
    gasnetrun_ibv -n 2 -H g1,g2 conform_busy ask 100 >out 2>err &
    launcher=$!
    for _ in $(seq 300); do
        [ "$(wc -l <out)" -lt 2 ] || return 0
        sleep 0.1
    done
    fail "the job did not start"
}

# ends CODES PATTERN: the job does, with one of these codes and such a line.
ends()
{
    local code=0
    wait "$launcher" || code=$?
    [[ $code =~ ^($1)$ ]] || fail "the exit code is $code, not $1"
    grep -qE -- "$2" err || fail "nobody says '$2'"
}

# No rank is left over there.
none_there()
{
    for _ in $(seq 50); do
        on_g2 pgrep -x conform_busy >left || return 0
        sleep 0.2
    done
    fail "on g2 these ranks are left: $(xargs <left)"
}

gasnetrun_ibv -n 2 -H g1,g2 hostname >out 2>err || fail "a job on two hosts ends with $?"
[ "$(sort out | xargs)" = 'g1 g2' ] || fail "there is not one rank on each host"
counters_say 4 ' connected to 3 peers by 3 queue pairs' -n 4 -H g1,g2 conform-seq am_args rma_segment || exit

# What is lost at the end of a message is sent again after 0.27 seconds.
export GASNET_QP_TIMEOUT=16
loses 1 1 || fail "the network loses nothing"
gasnetrun_ibv -n 2 -H g1,g2 conform-seq am_args am_long rma_values || exit
[ "$(lost)" -gt 0 ] || fail "of 100 packets 1 should be lost, but none was"
loses 5 0 || fail "the network loses nothing"
gasnetrun_ibv -n 2 -H g1,g2 conform-seq am_medium rma_nbi || exit
[ "$(lost)" -gt 0 ] || fail "of 100 packets 5 should be lost, but none was"
loses 0 0

start
on_g2 pkill -KILL -x conform_busy
ends 137 ' on host g2: rank 1 of 2 .* was killed by SIGKILL '
none_there

# The launcher hears of nothing: what is left of the rank is a connection.
start
kill -STOP "$launcher"
on_g2 pkill -KILL -x conform_busy
sleep 4
kill -CONT "$launcher"
ends '1|137' ' rank 0 of 2 .*: the connection to rank 1 is lost '
none_there

# The device goes: nobody is killed, and the launcher hears of nothing before the ranks do.
export GASNET_QP_RETRY_COUNT=2
start
on_g2 rdma link delete rxe0
ends 1 ' rank [01] of 2 .*: the connection to rank [01] is lost '
none_there
on_g2 rdma link add rxe0 type rxe netdev eth0

# The network goes, and comes back when the job is over.
start
on_g2 'setsid bash -c "sleep 1; ip link set eth0 down; sleep 20; ip link set eth0 up" >/dev/null 2>&1 &'
ends 1 '(the connection to rank [01] is lost |host g2: the connection to it is lost)'
for _ in $(seq 100); do
    on_g2 true 2>/dev/null && break
    sleep 0.5
done
none_there
